/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The CUDA runtime, libcudart.so.11.0, .12 and .13: one source, compiled once for each CUDART_MAJOR.
 *
 * Entry points with a body are here; those that do nothing or are not simulated are in runtime.def. Declarations follow
 * cuda_runtime_api.h; handles and device addresses are uint64_t, enums are int.
 */
#include "cudasim/api/device_prop.h"
#include "cudasim/core/entry.h"

#include <stdio.h>
#include <string.h>

struct dim3 {
    unsigned x, y, z;
};

struct extent {
    size_t width, height, depth;
};

struct pitched {
    void  *ptr;
    size_t pitch, width, height;
};

struct pointer_attributes {
    int   type, device;
    void *device_pointer, *host_pointer;
#if CUDART_MAJOR >= 13
    long  reserved[8];
#endif
};

/* The part on which all versions agree. Later versions have more members, which are left alone. */
struct function_attributes {
    size_t shared_bytes, constant_bytes, local_bytes;
    int    max_threads, registers, ptx, binary, cache_mode, max_dynamic_shared, carveout;
};

struct location {
    int type, id;
};

struct pool_props {
    int      type, handle_types;
    struct location location;
    void    *security;
    size_t   max_bytes;
    unsigned char reserved[56];
};

enum { LOCATION_DEVICE = 1 };

#define NO_PLACE cudasim_remember(CODE_INVALID_VALUE)

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);

__attribute__((constructor)) static void runtime_loaded(void)
{
    cudasim_runtime_loaded();
}

/* ---- devices ---- */

ENTRY(int, cudaGetDeviceCount, int *n)
{
    NEEDS(n);
    const enum cudasim_code code = cudasim_init();
    *n = code == CODE_SUCCESS ? cudasim_device_count() : 0;
    return cudasim_remember(code);
}

ENTRY(int, cudaGetDevice, int *device)
{
    NEEDS(device);
    *device = cudasim_current_device();
    return cudasim_remember(cudasim_init());
}

ENTRY(int, cudaSetDevice, int device)
{
    return cudasim_remember(cudasim_set_device(device));
}

ENTRY(int, cudaInitDevice, int device, unsigned flags, unsigned more)
{
    int unused;
    (void)flags, (void)more;
    return cudasim_remember(cudasim_attribute(1, device, &unused));
}

ENTRY(int, cudaChooseDevice, int *device, const void *wanted)
{
    NEEDS(device);
    (void)wanted;
    *device = 0;
    return cudasim_remember(cudasim_init());
}

ENTRY(int, cudaDeviceReset, void)
{
    return cudasim_remember(cudasim_reset(cudasim_current_device()));
}

ENTRY(int, cudaDeviceSynchronize, void)
{
    return cudasim_remember(cudasim_device_sync());
}

ENTRY(int, cudaDriverGetVersion, int *version)
{
    NEEDS(version);
    *version = CUDASIM_DRIVER_VERSION;
    return CODE_SUCCESS;
}

/* The last minor version of each major one. */
ENTRY(int, cudaRuntimeGetVersion, int *version)
{
    NEEDS(version);
    *version = CUDART_MAJOR >= 13 ? 13000 : CUDART_MAJOR == 12 ? 12080 : 11080;
    return CODE_SUCCESS;
}

ENTRY(int, cudaGetLastError, void)
{
    return cudasim_last_error(true);
}

ENTRY(int, cudaPeekAtLastError, void)
{
    return cudasim_last_error(false);
}

ENTRY(const char *, cudaGetErrorString, int code)
{
    const char *text = cudasim_code_text(code);
    return text != NULL ? text : "unrecognized error code";
}

ENTRY(const char *, cudaGetErrorName, int code)
{
    const char *name = cudasim_code_runtime_name(code);
    return name != NULL ? name : "unrecognized error code";
}

ENTRY(int, cudaDeviceCanAccessPeer, int *can, int device, int peer)
{
    NEEDS(can);
    const int n = cudasim_device_count();
    if (device < 0 || device >= n || peer < 0 || peer >= n)
        return cudasim_remember(CODE_INVALID_DEVICE);
    *can = cudasim_peer_possible(device, peer);
    return CODE_SUCCESS;
}

ENTRY(int, cudaDeviceEnablePeerAccess, int peer, unsigned flags)
{
    if (flags != 0)
        return cudasim_remember(CODE_INVALID_VALUE);
    return cudasim_remember(cudasim_peer_enable(cudasim_current_device(), peer));
}

ENTRY(int, cudaDeviceDisablePeerAccess, int peer)
{
    return cudasim_remember(cudasim_peer_disable(cudasim_current_device(), peer));
}

ENTRY(int, cudaDeviceGetP2PAttribute, int *value, int attribute, int from, int to)
{
    NEEDS(value);
    *value = cudasim_peer_possible(from, to) && attribute == 2;      /* cudaDevP2PAttrAccessSupported */
    return cudasim_remember(cudasim_peer_possible(from, to) ? CODE_SUCCESS : CODE_INVALID_DEVICE);
}

ENTRY(int, cudaDeviceGetStreamPriorityRange, int *least, int *greatest)
{
    if (least != NULL)
        *least = 0;
    if (greatest != NULL)
        *greatest = -5;
    return CODE_SUCCESS;
}

ENTRY(int, cudaDeviceGetPCIBusId, char *text, int n, int device)
{
    NEEDS(text);
    if (device < 0 || device >= cudasim_device_count())
        return cudasim_remember(CODE_INVALID_DEVICE);
    if (n < 13)
        return cudasim_remember(CODE_INVALID_VALUE);
    snprintf(text, (size_t)n, "0000:%02X:00.0", (unsigned)device + 1);
    return CODE_SUCCESS;
}

ENTRY(int, cudaDeviceGetByPCIBusId, int *device, const char *text)
{
    NEEDS(device);
    unsigned domain, bus;
    if (text == NULL || sscanf(text, "%x:%x", &domain, &bus) != 2 || bus == 0 || (int)bus > cudasim_device_count())
        return cudasim_remember(CODE_INVALID_VALUE);
    *device = (int)bus - 1;
    return CODE_SUCCESS;
}

ENTRY(int, cudaDeviceGetAttribute, int *value, int attribute, int device)
{
    NEEDS(value);
    return cudasim_remember(cudasim_attribute(attribute, device, value));
}

/* Limits as documented: bytes for the stack and for printf's and malloc's heaps, counts for the others. */
ENTRY(int, cudaDeviceGetLimit, size_t *value, int limit)
{
    static const size_t limits[] = { 1024, 1048576, 8388608, 2, 2048, 128, 0 };
    if (value == NULL || limit < 0 || limit > 6)
        return cudasim_remember(CODE_INVALID_VALUE);
    *value = limits[limit];
    return CODE_SUCCESS;
}

static int attribute_of(int attribute, int device)
{
    int value = 0;
    return cudasim_attribute(attribute, device, &value) == CODE_SUCCESS ? value : 0;
}

static void fill_limits(struct device_prop *p, int device)
{
    const struct { int *member, attribute; } ints[] = {
        { &p->registers_per_block, 12 }, { &p->warp_size, 10 }, { &p->max_threads, 1 },
        { &p->max_block[0], 2 }, { &p->max_block[1], 3 }, { &p->max_block[2], 4 },
        { &p->max_grid[0], 5 }, { &p->max_grid[1], 6 }, { &p->max_grid[2], 7 },
        { &p->major, 75 }, { &p->minor, 76 }, { &p->multiprocessors, 16 }, { &p->can_map_host, 19 },
        { &p->concurrent_kernels, 31 }, { &p->has_ecc, 32 }, { &p->pci_bus, 33 }, { &p->copy_engines, 40 },
        { &p->unified_addressing, 41 }, { &p->bus_bits, 37 }, { &p->l2_bytes, 38 }, { &p->l2_persisting, 108 },
        { &p->threads_per_multiprocessor, 39 }, { &p->stream_priorities, 78 }, { &p->l1_global, 79 },
        { &p->l1_local, 80 }, { &p->registers_per_multiprocessor, 82 }, { &p->managed_memory, 83 },
        { &p->preemption, 90 }, { &p->registered_host_pointers, 91 }, { &p->cooperative, 95 },
        { &p->blocks_per_multiprocessor, 106 }, { &p->access_window, 109 },
#if CUDART_MAJOR < 13
        { &p->clock_khz, 13 }, { &p->overlap, 15 }, { &p->memory_clock_khz, 36 },
#endif
#if CUDART_MAJOR >= 12
        { &p->host_register, 99 }, { &p->memory_pools, 115 }, { &p->deferred_arrays, 121 }, { &p->cluster_launch, 120 },
#endif
    };
    const struct { size_t *member; int attribute; } sizes[] = {
        { &p->shared_per_block, 8 }, { &p->max_pitch, 11 }, { &p->constant_memory, 9 }, { &p->texture_alignment, 14 },
        { &p->texture_pitch_alignment, 51 }, { &p->surface_alignment, 30 }, { &p->shared_per_multiprocessor, 81 },
        { &p->shared_per_block_optin, 97 }, { &p->shared_reserved, 111 },
    };
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++)
        *ints[i].member = attribute_of(ints[i].attribute, device);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        *sizes[i].member = (size_t)attribute_of(sizes[i].attribute, device);
}

static int fill_prop(void *out, size_t n, int device)
{
    NEEDS(out);
    uint64_t free_bytes, total_bytes;
    const enum cudasim_code code = cudasim_memory_info(device, &free_bytes, &total_bytes);
    if (code != CODE_SUCCESS)
        return cudasim_remember(code);
    struct device_prop p = { .total_memory = total_bytes };
    snprintf(p.name, sizeof p.name, "%s", cudasim_device_name());
    cudasim_device_uuid(device, p.uuid);
    fill_limits(&p, device);
    memcpy(out, &p, n);
    return CODE_SUCCESS;
}

#if CUDART_MAJOR == 12
ENTRY(int, cudaGetDeviceProperties, void *out, int device)
{
    return fill_prop(out, offsetof(struct device_prop, host_register), device);
}
#else
ENTRY(int, cudaGetDeviceProperties, void *out, int device)
{
    return fill_prop(out, sizeof(struct device_prop), device);
}
#endif

ENTRY(int, cudaGetDeviceProperties_v2, void *out, int device)
{
    return fill_prop(out, sizeof(struct device_prop), device);
}

/* ---- memory ---- */

/* Hands an address out as a pointer. */
static int give(enum cudasim_code code, void **out, const uint64_t *addr)
{
    if (code == CODE_SUCCESS)
        *out = (void *)(uintptr_t)*addr;
    return cudasim_remember(code);
}

ENTRY(int, cudaMalloc, void **out, size_t bytes)
{
    NEEDS(out);
    cudasim_note_framework(__builtin_return_address(0));
    uint64_t addr = 0;
    return give(bytes == 0 ? cudasim_init() : cudasim_malloc(bytes, &addr), out, &addr);
}

ENTRY(int, cudaFree, void *p)
{
    return cudasim_remember(p == NULL ? cudasim_init() : cudasim_free((uintptr_t)p));
}

/* Rows begin at multiples of 512 bytes: the texture alignment. */
ENTRY(int, cudaMallocPitch, void **out, size_t *pitch, size_t width, size_t height)
{
    NEEDS(out);
    NEEDS(pitch);
    cudasim_note_framework(__builtin_return_address(0));
    uint64_t addr = 0, bytes;
    const size_t row = width > SIZE_MAX - 511 ? 0 : (width + 511) / 512 * 512;
    if (row == 0 || height == 0 || __builtin_mul_overflow(row, height, &bytes))
        return cudasim_remember(CODE_INVALID_VALUE);
    const enum cudasim_code code = cudasim_malloc(bytes, &addr);
    if (code == CODE_SUCCESS)
        *pitch = row;
    return give(code, out, &addr);
}

ENTRY(int, cudaMalloc3D, struct pitched *out, struct extent extent)
{
    NEEDS(out);
    size_t rows;
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
        return cudasim_remember(CODE_INVALID_VALUE);
    out->width = extent.width;
    out->height = extent.height;
    return cudaMallocPitch(&out->ptr, &out->pitch, extent.width, rows);
}

ENTRY(int, cudaMallocManaged, void **out, size_t bytes, unsigned flags)
{
    NEEDS(out);
    if (bytes == 0 || (flags != 1 && flags != 2))    /* cudaMemAttachGlobal, cudaMemAttachHost */
        return cudasim_remember(CODE_INVALID_VALUE);
    return cudasim_remember(cudasim_host_alloc(bytes, MEMORY_MANAGED, out));
}

ENTRY(int, cudaHostAlloc, void **out, size_t bytes, unsigned flags)
{
    NEEDS(out);
    if (flags > 7)                                   /* portable, mapped, write-combined */
        return cudasim_remember(CODE_INVALID_VALUE);
    if (bytes == 0) {
        *out = NULL;
        return cudasim_remember(cudasim_init());
    }
    return cudasim_remember(cudasim_host_alloc(bytes, MEMORY_HOST, out));
}

ENTRY(int, cudaMallocHost, void **out, size_t bytes)
{
    return cudaHostAlloc(out, bytes, 0);
}

ENTRY(int, cudaFreeHost, void *p)
{
    return cudasim_remember(p == NULL ? cudasim_init() : cudasim_host_free(p));
}

ENTRY(int, cudaHostRegister, void *p, size_t bytes, unsigned flags)
{
    return cudasim_remember(flags > 15 ? CODE_INVALID_VALUE : cudasim_host_register(p, bytes));
}

ENTRY(int, cudaHostUnregister, void *p)
{
    return cudasim_remember(cudasim_host_unregister(p));
}

static bool is_host_memory(enum cudasim_memory_kind kind)
{
    return kind == MEMORY_HOST || kind == MEMORY_REGISTERED;
}

ENTRY(int, cudaHostGetDevicePointer, void **out, void *p, unsigned flags)
{
    NEEDS(out);
    if (flags != 0 || !is_host_memory(cudasim_pointer((uintptr_t)p).kind))
        return cudasim_remember(CODE_INVALID_VALUE);
    *out = p;
    return CODE_SUCCESS;
}

ENTRY(int, cudaHostGetFlags, unsigned *flags, void *p)
{
    NEEDS(flags);
    *flags = 3;                                      /* portable, mapped: unified addressing makes all memory both */
    return cudasim_remember(is_host_memory(cudasim_pointer((uintptr_t)p).kind) ? CODE_SUCCESS : CODE_INVALID_VALUE);
}

ENTRY(int, cudaMemGetInfo, size_t *free_bytes, size_t *total_bytes)
{
    NEEDS(free_bytes);
    NEEDS(total_bytes);
    uint64_t f, t;
    const enum cudasim_code code = cudasim_memory_info(cudasim_current_device(), &f, &t);
    if (code == CODE_SUCCESS) {
        *free_bytes = f;
        *total_bytes = t;
    }
    return cudasim_remember(code);
}

ENTRY(int, cudaPointerGetAttributes, struct pointer_attributes *out, const void *p)
{
    NEEDS(out);
    static const int types[] = { [MEMORY_UNKNOWN] = 0, [MEMORY_DEVICE] = 2, [MEMORY_RANGE] = 2, [MEMORY_HOST] = 1,
                                 [MEMORY_MANAGED] = 3, [MEMORY_REGISTERED] = 1, [MEMORY_VARIABLE] = 2,
                                 [MEMORY_SHARED] = 2, [MEMORY_GRAPH] = 2 };
    const struct cudasim_pointer info = cudasim_pointer((uintptr_t)p);
    void *same = (void *)(uintptr_t)p;
    memset(out, 0, sizeof *out);
    out->type = types[info.kind];
    out->device = info.kind == MEMORY_UNKNOWN ? -2 : info.device;    /* cudaInvalidDeviceId */
    if (info.kind != MEMORY_UNKNOWN)
        out->device_pointer = same;
    if (types[info.kind] != types[MEMORY_DEVICE])
        out->host_pointer = same;
    return CODE_SUCCESS;
}

/* ---- between processes ---- */

ENTRY(int, cudaIpcGetMemHandle, struct cudasim_ipc_handle *out, void *p)
{
    return cudasim_remember(cudasim_ipc_export((uintptr_t)p, out));
}

/* The one flag, cudaIpcMemLazyEnablePeerAccess, must be set. */
ENTRY(int, cudaIpcOpenMemHandle, void **out, struct cudasim_ipc_handle handle, unsigned flags)
{
    uint64_t addr = 0;
    return give(out == NULL || flags != 1 ? CODE_INVALID_VALUE : cudasim_ipc_import(&handle, &addr), out, &addr);
}

ENTRY(int, cudaIpcCloseMemHandle, void *p)
{
    return cudasim_remember(cudasim_ipc_close((uintptr_t)p));
}

ENTRY(int, cudaIpcGetEventHandle, struct cudasim_ipc_handle *out, uint64_t event)
{
    return cudasim_remember(cudasim_ipc_export_event(event, out));
}

ENTRY(int, cudaIpcOpenEventHandle, uint64_t *event, struct cudasim_ipc_handle handle)
{
    return cudasim_remember(event == NULL ? CODE_INVALID_VALUE : cudasim_ipc_import_event(&handle, event));
}

/* ---- copies: done between host addresses; a device holds zeros ---- */

ENTRY(int, cudaMemcpy, void *to, const void *from, size_t bytes, int kind)
{
    return cudasim_remember(cudasim_copy(to, from, bytes, (enum cudasim_direction)kind, 0));
}

ENTRY(int, cudaMemcpyAsync, void *to, const void *from, size_t bytes, int kind, uint64_t stream)
{
    return cudasim_remember(cudasim_copy(to, from, bytes, (enum cudasim_direction)kind, stream));
}

ENTRY(int, cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    (void)to_device, (void)from_device;
    return cudasim_remember(cudasim_copy(to, from, bytes, COPY_WITHIN_DEVICE, 0));
}

ENTRY(int, cudaMemcpyPeerAsync, void *to, int to_device, const void *from, int from_device, size_t bytes,
      uint64_t stream)
{
    (void)to_device, (void)from_device;
    return cudasim_remember(cudasim_copy(to, from, bytes, COPY_WITHIN_DEVICE, stream));
}

ENTRY(int, cudaMemcpy2DAsync, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
      size_t height, int kind, uint64_t stream)
{
    return cudasim_remember(cudasim_copy_2d(to, to_pitch, from, from_pitch, width, height, (enum cudasim_direction)kind,
                                            stream));
}

ENTRY(int, cudaMemcpy2D, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
      int kind)
{
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, 0);
}

ENTRY(int, cudaMemset, void *to, int value, size_t bytes)
{
    return cudasim_remember(cudasim_set((uintptr_t)to, (unsigned)value, 1, bytes, 0));
}

ENTRY(int, cudaMemsetAsync, void *to, int value, size_t bytes, uint64_t stream)
{
    return cudasim_remember(cudasim_set((uintptr_t)to, (unsigned)value, 1, bytes, stream));
}

ENTRY(int, cudaMemset2DAsync, void *to, size_t pitch, int value, size_t width, size_t height, uint64_t stream)
{
    return cudasim_remember(cudasim_set_2d((uintptr_t)to, pitch, (unsigned)value, 1, width, height, stream));
}

ENTRY(int, cudaMemset2D, void *to, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2DAsync(to, pitch, value, width, height, 0);
}

ENTRY(int, cudaMemset3DAsync, struct pitched to, int value, struct extent extent, uint64_t stream)
{
    const struct cudasim_side side = { .p = to.ptr, .pitch = to.pitch, .height = to.height };
    const uint64_t box[] = { extent.width, extent.height, extent.depth };
    return cudasim_remember(cudasim_set_3d(&side, (unsigned)value, box, stream));
}

ENTRY(int, cudaMemset3D, struct pitched to, int value, struct extent extent)
{
    return cudaMemset3DAsync(to, value, extent, 0);
}

struct copy_3d {
    uint64_t from_array;
    struct extent from_place;        /* x, y in rows, z in layers: as an extent's width, height, depth */
    struct pitched from;
    uint64_t to_array;
    struct extent to_place;
    struct pitched to;
    struct extent extent;
    int kind;
};

/* Widths and places in x are in bytes; on an array's side in its elements, and the width too if there is an array. */
static uint64_t element_bytes(uint64_t array)
{
    struct cudasim_array_facts f;
    return array != 0 && cudasim_array_facts(array, &f) == CODE_SUCCESS ? cudasim_element_bytes(&f) : 1;
}

static struct cudasim_side side_of(uint64_t array, const struct pitched *p, const struct extent *place)
{
    return (struct cudasim_side){ .array = array, .p = p->ptr, .pitch = p->pitch, .height = p->height,
                                  .at = { place->width * element_bytes(array), place->height, place->depth } };
}

ENTRY(int, cudaMemcpy3DAsync, const struct copy_3d *c, uint64_t stream)
{
    if (c == NULL)
        return cudasim_remember(CODE_INVALID_VALUE);
    const struct cudasim_side to = side_of(c->to_array, &c->to, &c->to_place);
    const struct cudasim_side from = side_of(c->from_array, &c->from, &c->from_place);
    const uint64_t width = c->extent.width * element_bytes(c->to_array != 0 ? c->to_array : c->from_array);
    const uint64_t extent[] = { width, c->extent.height, c->extent.depth };
    return cudasim_remember(cudasim_copy_3d(&to, &from, extent, (enum cudasim_direction)c->kind, stream));
}

ENTRY(int, cudaMemcpy3D, const struct copy_3d *c)
{
    return cudaMemcpy3DAsync(c, 0);
}

/* ---- arrays, textures, surfaces ---- */

struct channel { int x, y, z, w, kind; };

ENTRY(struct channel, cudaCreateChannelDesc, int x, int y, int z, int w, int kind)
{
    return (struct channel){ x, y, z, w, kind };
}

static int array_create(uint64_t *array, const struct channel *c, struct extent e, unsigned levels, unsigned flags)
{
    if (c == NULL)
        return cudasim_remember(CODE_INVALID_VALUE);
    const struct cudasim_array_facts f = { .bits = { c->x, c->y, c->z, c->w }, .kind = c->kind, .flags = flags,
                                           .extent = { e.width, e.height, e.depth }, .levels = levels };
    return cudasim_remember(cudasim_array_create(&f, array));
}

ENTRY(int, cudaMallocArray, uint64_t *array, const struct channel *c, size_t width, size_t height, unsigned flags)
{
    return array_create(array, c, (struct extent){ .width = width, .height = height }, 0, flags);
}

ENTRY(int, cudaMalloc3DArray, uint64_t *array, const struct channel *c, struct extent e, unsigned flags)
{
    return array_create(array, c, e, 0, flags);
}

/* More levels than halvings of the largest size are cut, as documented; no level is one. */
ENTRY(int, cudaMallocMipmappedArray, uint64_t *array, const struct channel *c, struct extent e, unsigned levels,
      unsigned flags)
{
    const size_t side = e.width > e.height ? e.width : e.height, largest = e.depth > side ? e.depth : side;
    unsigned most = 1;
    while (most < CUDASIM_LEVELS_MAX && largest >> most > 0)
        most++;
    return array_create(array, c, e, levels == 0 ? 1 : levels < most ? levels : most, flags);
}

ENTRY(int, cudaFreeArray, uint64_t array)
{
    return cudasim_remember(array == 0 ? cudasim_init() : cudasim_array_free(array, false));
}

ENTRY(int, cudaFreeMipmappedArray, uint64_t array)
{
    return cudasim_remember(array == 0 ? cudasim_init() : cudasim_array_free(array, true));
}

ENTRY(int, cudaGetMipmappedArrayLevel, uint64_t *out, uint64_t array, unsigned level)
{
    return cudasim_remember(cudasim_array_level(array, level, out));
}

/* Each answer may be NULL. */
ENTRY(int, cudaArrayGetInfo, struct channel *c, struct extent *e, unsigned *flags, uint64_t array)
{
    struct cudasim_array_facts f;
    const int code = cudasim_remember(cudasim_array_facts(array, &f));
    if (code == CODE_SUCCESS && c != NULL)
        *c = (struct channel){ f.bits[0], f.bits[1], f.bits[2], f.bits[3], f.kind };
    if (code == CODE_SUCCESS && e != NULL)
        *e = (struct extent){ f.extent[0], f.extent[1], f.extent[2] };
    if (code == CODE_SUCCESS && flags != NULL)
        *flags = f.flags;
    return code;
}

ENTRY(int, cudaGetChannelDesc, struct channel *c, uint64_t array)
{
    NEEDS(c);
    return cudaArrayGetInfo(c, NULL, NULL, array);
}

/* cudaResourceDesc: its type, and the array or the address first among what it is of. */
struct resource {
    int      type;
    uint64_t value;
};

ENTRY(int, cudaCreateTextureObject, uint64_t *texture, const struct resource *r, const void *how, const void *view)
{
    (void)how, (void)view;
    return cudasim_remember(r == NULL ? CODE_INVALID_VALUE : cudasim_view_create(r->type, r->value, texture));
}

ENTRY(int, cudaCreateSurfaceObject, uint64_t *surface, const struct resource *r)
{
    return cudasim_remember(r == NULL || r->type != 0 ? CODE_INVALID_VALUE : cudasim_view_create(0, r->value, surface));
}

ENTRY(int, cudaDestroyTextureObject, uint64_t texture)
{
    return cudasim_remember(texture == 0 ? CODE_SUCCESS : cudasim_view_destroy(texture));
}

ENTRY(int, cudaDestroySurfaceObject, uint64_t surface)
{
    return cudasim_remember(surface == 0 ? CODE_SUCCESS : cudasim_view_destroy(surface));
}

/* Offsets and widths are in bytes here. */
ENTRY(int, cudaMemcpy2DToArrayAsync, uint64_t array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
      size_t height, int kind, uint64_t stream)
{
    const struct cudasim_side to = { .array = array, .at = { x, y } };
    const struct cudasim_side side = { .p = (void *)(uintptr_t)from, .pitch = pitch };
    const uint64_t extent[] = { width, height, 1 };
    return cudasim_remember(array == 0 ? CODE_INVALID_VALUE
                                       : cudasim_copy_3d(&to, &side, extent, (enum cudasim_direction)kind, stream));
}

ENTRY(int, cudaMemcpy2DToArray, uint64_t array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
      size_t height, int kind)
{
    return cudaMemcpy2DToArrayAsync(array, x, y, from, pitch, width, height, kind, 0);
}

ENTRY(int, cudaMemcpy2DFromArrayAsync, void *to, size_t pitch, uint64_t array, size_t x, size_t y, size_t width,
      size_t height, int kind, uint64_t stream)
{
    const struct cudasim_side from = { .array = array, .at = { x, y } }, side = { .p = to, .pitch = pitch };
    const uint64_t extent[] = { width, height, 1 };
    return cudasim_remember(array == 0 ? CODE_INVALID_VALUE
                                       : cudasim_copy_3d(&side, &from, extent, (enum cudasim_direction)kind, stream));
}

ENTRY(int, cudaMemcpy2DFromArray, void *to, size_t pitch, uint64_t array, size_t x, size_t y, size_t width,
      size_t height, int kind)
{
    return cudaMemcpy2DFromArrayAsync(to, pitch, array, x, y, width, height, kind, 0);
}

/* ---- variables of kernels ---- */

ENTRY(int, cudaGetSymbolAddress, void **out, const void *symbol)
{
    NEEDS(out);
    uint64_t addr, bytes;
    const int code = cudasim_remember(cudasim_symbol(symbol, &addr, &bytes));
    if (code == CODE_SUCCESS)
        *out = (void *)(uintptr_t)addr;
    return code;
}

ENTRY(int, cudaGetSymbolSize, size_t *out, const void *symbol)
{
    NEEDS(out);
    uint64_t addr, bytes;
    const int code = cudasim_remember(cudasim_symbol(symbol, &addr, &bytes));
    if (code == CODE_SUCCESS)
        *out = bytes;
    return code;
}

ENTRY(int, cudaMemcpyToSymbolAsync, const void *symbol, const void *from, size_t n, size_t offset, int kind,
      uint64_t stream)
{
    uint64_t addr, bytes;
    const int code = cudasim_remember(cudasim_symbol(symbol, &addr, &bytes));
    return code != CODE_SUCCESS ? code : offset > bytes ? cudasim_remember(CODE_INVALID_VALUE)
                : cudaMemcpyAsync((void *)(uintptr_t)(addr + offset), from, n, kind, stream);
}

ENTRY(int, cudaMemcpyToSymbol, const void *symbol, const void *from, size_t n, size_t offset, int kind)
{
    return cudaMemcpyToSymbolAsync(symbol, from, n, offset, kind, 0);
}

ENTRY(int, cudaMemcpyFromSymbolAsync, void *to, const void *symbol, size_t n, size_t offset, int kind, uint64_t stream)
{
    uint64_t addr, bytes;
    const int code = cudasim_remember(cudasim_symbol(symbol, &addr, &bytes));
    return code != CODE_SUCCESS ? code : offset > bytes ? cudasim_remember(CODE_INVALID_VALUE)
                : cudaMemcpyAsync(to, (const void *)(uintptr_t)(addr + offset), n, kind, stream);
}

ENTRY(int, cudaMemcpyFromSymbol, void *to, const void *symbol, size_t n, size_t offset, int kind)
{
    return cudaMemcpyFromSymbolAsync(to, symbol, n, offset, kind, 0);
}

/* ---- pools ---- */

ENTRY(int, cudaMallocAsync, void **out, size_t bytes, uint64_t stream)
{
    NEEDS(out);
    cudasim_note_framework(__builtin_return_address(0));
    uint64_t addr = 0;
    return give(bytes == 0 ? cudasim_init() : cudasim_malloc_async(bytes, 0, stream, &addr), out, &addr);
}

ENTRY(int, cudaMallocFromPoolAsync, void **out, size_t bytes, uint64_t pool, uint64_t stream)
{
    NEEDS(out);
    cudasim_note_framework(__builtin_return_address(0));
    uint64_t addr = 0;
    return give(bytes == 0 ? cudasim_init() : cudasim_malloc_async(bytes, pool, stream, &addr), out, &addr);
}

ENTRY(int, cudaFreeAsync, void *p, uint64_t stream)
{
    return cudasim_remember(p == NULL ? cudasim_init() : cudasim_free_async((uintptr_t)p, stream));
}

ENTRY(int, cudaMemPoolCreate, uint64_t *pool, const struct pool_props *props)
{
    NEEDS(pool);
    if (props == NULL || props->location.type != LOCATION_DEVICE)
        return cudasim_remember(CODE_INVALID_VALUE);
    return cudasim_remember(cudasim_pool_create(props->location.id, pool));
}

ENTRY(int, cudaMemPoolDestroy, uint64_t pool)
{
    return cudasim_remember(cudasim_pool_destroy(pool));
}

ENTRY(int, cudaDeviceGetDefaultMemPool, uint64_t *pool, int device)
{
    NEEDS(pool);
    return cudasim_remember(cudasim_pool_default(device, pool));
}

ENTRY(int, cudaDeviceGetMemPool, uint64_t *pool, int device)
{
    NEEDS(pool);
    return cudasim_remember(cudasim_pool_current(device, pool));
}

ENTRY(int, cudaDeviceSetMemPool, int device, uint64_t pool)
{
    return cudasim_remember(cudasim_pool_set_current(device, pool));
}

ENTRY(int, cudaMemPoolGetAttribute, uint64_t pool, int attribute, void *value)
{
    return cudasim_remember(cudasim_pool_get(pool, attribute, value));
}

ENTRY(int, cudaMemPoolSetAttribute, uint64_t pool, int attribute, void *value)
{
    return cudasim_remember(cudasim_pool_set(pool, attribute, value));
}

ENTRY(int, cudaMemPoolTrimTo, uint64_t pool, size_t keep_bytes)
{
    return cudasim_remember(cudasim_pool_trim(pool, keep_bytes));
}

/* Access by other devices is granted; it costs no memory. */
ENTRY(int, cudaMemPoolSetAccess, uint64_t pool, const void *accesses, size_t n)
{
    uint64_t unused;
    (void)accesses, (void)n;
    return cudasim_remember(cudasim_pool_get(pool, POOL_USED_CURRENT, &unused));
}

ENTRY(int, cudaDeviceGetGraphMemAttribute, int device, int attribute, uint64_t *value)
{
    NEEDS(value);
    return cudasim_remember(cudasim_graph_pool_get(device, attribute, value));
}

ENTRY(int, cudaDeviceSetGraphMemAttribute, int device, int attribute, const uint64_t *value)
{
    return cudasim_remember(cudasim_graph_pool_set(device, attribute, value));
}

ENTRY(int, cudaDeviceGraphMemTrim, int device)
{
    return cudasim_remember(cudasim_graph_pool_trim(device));
}

/* ---- streams and events ---- */

ENTRY(int, cudaStreamCreate, uint64_t *stream)
{
    return cudasim_remember(cudasim_stream_create(0, 0, stream));
}

ENTRY(int, cudaStreamCreateWithFlags, uint64_t *stream, unsigned flags)
{
    return cudasim_remember(cudasim_stream_create(flags, 0, stream));
}

ENTRY(int, cudaStreamCreateWithPriority, uint64_t *stream, unsigned flags, int priority)
{
    return cudasim_remember(cudasim_stream_create(flags, priority, stream));
}

ENTRY(int, cudaStreamDestroy, uint64_t stream)
{
    return cudasim_remember(cudasim_stream_destroy(stream));
}

ENTRY(int, cudaStreamQuery, uint64_t stream)
{
    return cudasim_remember(cudasim_stream_query(stream));
}

ENTRY(int, cudaStreamSynchronize, uint64_t stream)
{
    return cudasim_remember(cudasim_stream_sync(stream));
}

ENTRY(int, cudaStreamWaitEvent, uint64_t stream, uint64_t event, unsigned flags)
{
    (void)flags;
    return cudasim_remember(cudasim_stream_wait_event(stream, event));
}

ENTRY(int, cudaStreamGetPriority, uint64_t stream, int *priority)
{
    NEEDS(priority);
    unsigned flags;
    int device;
    uint64_t id;
    return cudasim_remember(cudasim_stream_facts(stream, &flags, priority, &device, &id));
}

ENTRY(int, cudaStreamGetFlags, uint64_t stream, unsigned *flags)
{
    NEEDS(flags);
    int priority, device;
    uint64_t id;
    return cudasim_remember(cudasim_stream_facts(stream, flags, &priority, &device, &id));
}

ENTRY(int, cudaStreamGetId, uint64_t stream, uint64_t *id)
{
    NEEDS(id);
    unsigned flags;
    int priority, device;
    return cudasim_remember(cudasim_stream_facts(stream, &flags, &priority, &device, id));
}

ENTRY(int, cudaStreamGetDevice, uint64_t stream, int *device)
{
    NEEDS(device);
    unsigned flags;
    int priority;
    uint64_t id;
    return cudasim_remember(cudasim_stream_facts(stream, &flags, &priority, device, &id));
}

/* Work is finished at once, so the host function runs in the caller's thread before this returns. */
ENTRY(int, cudaLaunchHostFunc, uint64_t stream, void (*function)(void *), void *argument)
{
    return cudasim_remember(cudasim_host_function(stream, function, argument));
}

ENTRY(int, cudaStreamAddCallback, uint64_t stream, void (*function)(uint64_t, int, void *), void *argument,
      unsigned flags)
{
    const enum cudasim_code code = function == NULL || flags != 0 ? CODE_INVALID_VALUE
                                 : cudasim_stream_work(stream, 0, NODE_HOST);
    if (code == CODE_SUCCESS)
        function(stream, CODE_SUCCESS, argument);
    return cudasim_remember(code);
}

ENTRY(int, cudaEventCreate, uint64_t *event)
{
    return cudasim_remember(cudasim_event_create(0, event));
}

ENTRY(int, cudaEventCreateWithFlags, uint64_t *event, unsigned flags)
{
    return cudasim_remember(cudasim_event_create(flags, event));
}

ENTRY(int, cudaEventDestroy, uint64_t event)
{
    return cudasim_remember(cudasim_event_destroy(event));
}

ENTRY(int, cudaEventRecord, uint64_t event, uint64_t stream)
{
    return cudasim_remember(cudasim_event_record(event, stream));
}

ENTRY(int, cudaEventRecordWithFlags, uint64_t event, uint64_t stream, unsigned flags)
{
    return cudasim_remember(flags > 1 ? CODE_INVALID_VALUE : cudasim_event_record(event, stream));
}

ENTRY(int, cudaEventQuery, uint64_t event)
{
    cudasim_note_event_asked(__builtin_return_address(0));
    return cudasim_remember(cudasim_event_query(event));
}

ENTRY(int, cudaEventSynchronize, uint64_t event)
{
    return cudasim_remember(cudasim_event_sync(event));
}

ENTRY(int, cudaEventElapsedTime, float *ms, uint64_t start, uint64_t end)
{
    NEEDS(ms);
    return cudasim_remember(cudasim_event_elapsed(start, end, ms));
}

ENTRY(int, cudaEventElapsedTime_v2, float *ms, uint64_t start, uint64_t end)
{
    return cudaEventElapsedTime(ms, start, end);
}

/* ---- capture and graphs ---- */

ENTRY(int, cudaStreamBeginCapture, uint64_t stream, int mode)
{
    return cudasim_remember(cudasim_capture_begin(stream, 0, mode));
}

ENTRY(int, cudaStreamBeginCaptureToGraph, uint64_t stream, uint64_t graph, const uint64_t *dependencies,
      const void *edges, size_t n_dependencies, int mode)
{
    (void)dependencies, (void)edges, (void)n_dependencies;
    return cudasim_remember(graph == 0 ? CODE_INVALID_VALUE : cudasim_capture_begin(stream, graph, mode));
}

ENTRY(int, cudaStreamEndCapture, uint64_t stream, uint64_t *graph)
{
    NEEDS(graph);
    return cudasim_remember(cudasim_capture_end(stream, graph));
}

ENTRY(int, cudaStreamIsCapturing, uint64_t stream, int *status)
{
    NEEDS(status);
    uint64_t id, graph;
    return cudasim_remember(cudasim_capture_info(stream, status, &id, &graph));
}

/* Every output except the status may be NULL. There are no dependencies: a capture only counts nodes. */
static int capture_info(uint64_t stream, int *status, uint64_t *id, uint64_t *graph, const void ***nodes,
                        const void ***edges, size_t *n_nodes)
{
    NEEDS(status);
    uint64_t capture_id = 0, captured = 0;
    const enum cudasim_code code = cudasim_capture_info(stream, status, &capture_id, &captured);
    if (code != CODE_SUCCESS)
        return cudasim_remember(code);
    if (id != NULL)
        *id = capture_id;
    if (graph != NULL)
        *graph = captured;
    if (nodes != NULL)
        *nodes = NULL;
    if (edges != NULL)
        *edges = NULL;
    if (n_nodes != NULL)
        *n_nodes = 0;
    return CODE_SUCCESS;
}

#if CUDART_MAJOR >= 13
ENTRY(int, cudaStreamGetCaptureInfo, uint64_t stream, int *status, uint64_t *id, uint64_t *graph, const void ***nodes,
      const void ***edges, size_t *n_nodes)
{
    return capture_info(stream, status, id, graph, nodes, edges, n_nodes);
}
#else
ENTRY(int, cudaStreamGetCaptureInfo, uint64_t stream, int *status, uint64_t *id)
{
    return capture_info(stream, status, id, NULL, NULL, NULL, NULL);
}
#endif

ENTRY(int, cudaStreamGetCaptureInfo_v2, uint64_t stream, int *status, uint64_t *id, uint64_t *graph,
      const void ***nodes, size_t *n_nodes)
{
    return capture_info(stream, status, id, graph, nodes, NULL, n_nodes);
}

ENTRY(int, cudaStreamGetCaptureInfo_v3, uint64_t stream, int *status, uint64_t *id, uint64_t *graph,
      const void ***nodes, const void ***edges, size_t *n_nodes)
{
    return capture_info(stream, status, id, graph, nodes, edges, n_nodes);
}

/* Returns the mode that was set before. */
ENTRY(int, cudaThreadExchangeStreamCaptureMode, int *mode)
{
    static __thread int current;
    if (mode == NULL || *mode < 0 || *mode > 2)
        return cudasim_remember(CODE_INVALID_VALUE);
    const int before = current;
    current = *mode;
    *mode = before;
    return CODE_SUCCESS;
}

ENTRY(int, cudaGraphCreate, uint64_t *graph, unsigned flags)
{
    NEEDS(graph);
    return cudasim_remember(flags != 0 ? CODE_INVALID_VALUE : cudasim_graph_create(graph));
}

ENTRY(int, cudaGraphDestroy, uint64_t graph)
{
    return cudasim_remember(cudasim_graph_destroy(graph));
}

ENTRY(int, cudaGraphExecDestroy, uint64_t exec)
{
    return cudasim_remember(cudasim_graph_destroy(exec));
}

ENTRY(int, cudaGraphInstantiateWithFlags, uint64_t *exec, uint64_t graph, uint64_t flags)
{
    NEEDS(exec);
    return cudasim_remember(cudasim_graph_instantiate(graph, flags, exec));
}

#if CUDART_MAJOR >= 12
ENTRY(int, cudaGraphInstantiate, uint64_t *exec, uint64_t graph, uint64_t flags)
{
    return cudaGraphInstantiateWithFlags(exec, graph, flags);
}
#else
/* Its further arguments, an error node and a log buffer, are not written. */
ENTRY(int, cudaGraphInstantiate, uint64_t *exec, uint64_t graph)
{
    return cudaGraphInstantiateWithFlags(exec, graph, 0);
}
#endif

/* cudaGraphInstantiateParams */
struct instantiate_params {
    uint64_t flags, upload_stream, error_node;
    int      result;
};

ENTRY(int, cudaGraphInstantiateWithParams, uint64_t *exec, uint64_t graph, struct instantiate_params *params)
{
    NEEDS(exec);
    enum { UPLOAD = 2 };
    if (params == NULL)
        return cudasim_remember(CODE_INVALID_VALUE);
    enum cudasim_code code = cudasim_graph_instantiate(graph, params->flags, exec);
    if (code == CODE_SUCCESS && (params->flags & UPLOAD) != 0)
        code = cudasim_graph_upload(*exec);
    params->error_node = 0;
    params->result = code != CODE_SUCCESS;           /* cudaGraphInstantiateError */
    return cudasim_remember(code);
}

ENTRY(int, cudaGraphUpload, uint64_t exec, uint64_t stream)
{
    (void)stream;
    return cudasim_remember(cudasim_graph_upload(exec));
}

#if CUDART_MAJOR >= 12
ENTRY(int, cudaGraphExecUpdate, uint64_t exec, uint64_t graph, struct cudasim_update_info *info)
{
    int result = UPDATE_ERROR;
    uint64_t node = 0;
    const enum cudasim_code code = cudasim_graph_update(exec, graph, &result, &node);
    if (info != NULL)
        *info = (struct cudasim_update_info){ .result = result, .node = node };
    return cudasim_remember(code);
}
#else
ENTRY(int, cudaGraphExecUpdate, uint64_t exec, uint64_t graph, uint64_t *node, int *result)
{
    NEEDS(node);
    NEEDS(result);
    return cudasim_remember(cudasim_graph_update(exec, graph, result, node));
}
#endif

ENTRY(int, cudaGraphClone, uint64_t *copy, uint64_t graph)
{
    NEEDS(copy);
    return cudasim_remember(cudasim_graph_clone(graph, copy));
}

/* Nodes that a program adds itself. What they would do comes after these arguments; nothing of it is done. */
#define GRAPH_ADD(name, type)                                                                               \
    ENTRY(int, name, uint64_t *node, uint64_t graph, const uint64_t *dependencies, size_t n_dependencies)   \
    {                                                                                                       \
        (void)dependencies, (void)n_dependencies;                                                           \
        return cudasim_remember(cudasim_graph_add(graph, type, NULL, NULL, node));                          \
    }
GRAPH_ADD(cudaGraphAddKernelNode, NODE_KERNEL)
GRAPH_ADD(cudaGraphAddMemcpyNode, NODE_COPY)
GRAPH_ADD(cudaGraphAddMemcpyNode1D, NODE_COPY)
GRAPH_ADD(cudaGraphAddMemcpyNodeFromSymbol, NODE_COPY)
GRAPH_ADD(cudaGraphAddMemcpyNodeToSymbol, NODE_COPY)
GRAPH_ADD(cudaGraphAddMemsetNode, NODE_SET)
GRAPH_ADD(cudaGraphAddEmptyNode, NODE_EMPTY)
GRAPH_ADD(cudaGraphAddEventRecordNode, NODE_RECORD)
GRAPH_ADD(cudaGraphAddEventWaitNode, NODE_WAIT)
#undef GRAPH_ADD

struct host_node {
    void (*function)(void *);
    void *argument;
};

ENTRY(int, cudaGraphAddHostNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies, size_t n_dependencies,
      const struct host_node *params)
{
    (void)dependencies, (void)n_dependencies;
    return cudasim_remember(params == NULL || params->function == NULL
                                ? CODE_INVALID_VALUE
                                : cudasim_graph_add(graph, NODE_HOST, params->function, params->argument, node));
}

ENTRY(int, cudaGraphAddChildGraphNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies,
      size_t n_dependencies, uint64_t child)
{
    (void)dependencies, (void)n_dependencies;
    return cudasim_remember(cudasim_graph_add_child(graph, child, node));
}

ENTRY(int, cudaGraphAddMemAllocNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies,
      size_t n_dependencies, struct cudasim_alloc_params *params)
{
    (void)dependencies, (void)n_dependencies;
    return cudasim_remember(cudasim_graph_add_alloc(graph, params, node));
}

ENTRY(int, cudaGraphAddMemFreeNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies,
      size_t n_dependencies, void *p)
{
    (void)dependencies, (void)n_dependencies;
    return cudasim_remember(cudasim_graph_add_free(graph, (uintptr_t)p, node));
}

ENTRY(int, cudaGraphAddNode_v2, uint64_t *node, uint64_t graph, const uint64_t *dependencies, const void *edges,
      size_t n_dependencies, struct cudasim_node_params *params)
{
    (void)dependencies, (void)edges, (void)n_dependencies;
    return cudasim_remember(cudasim_graph_add_any(graph, params, node));
}

#if CUDART_MAJOR >= 13
ENTRY(int, cudaGraphAddNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies, const void *edges,
      size_t n_dependencies, struct cudasim_node_params *params)
{
    return cudaGraphAddNode_v2(node, graph, dependencies, edges, n_dependencies, params);
}
#else
ENTRY(int, cudaGraphAddNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies, size_t n_dependencies,
      struct cudasim_node_params *params)
{
    return cudaGraphAddNode_v2(node, graph, dependencies, NULL, n_dependencies, params);
}
#endif

ENTRY(int, cudaGraphNodeGetType, uint64_t node, int *type)
{
    return cudasim_remember(cudasim_graph_node_type(node, type));
}

ENTRY(int, cudaGraphLaunch, uint64_t exec, uint64_t stream)
{
    return cudasim_remember(cudasim_graph_launch(exec, stream));
}

ENTRY(int, cudaGraphGetNodes, uint64_t graph, uint64_t *nodes, size_t *n)
{
    return cudasim_remember(cudasim_graph_nodes(graph, nodes, n));
}

#if CUDART_MAJOR >= 13
ENTRY(int, cudaGraphNodeGetDependencies, uint64_t node, uint64_t *nodes, void *edges, size_t *n)
{
    (void)edges;
#else
ENTRY(int, cudaGraphNodeGetDependencies, uint64_t node, uint64_t *nodes, size_t *n)
{
#endif
    (void)node, (void)nodes;
    NEEDS(n);
    *n = 0;
    return CODE_SUCCESS;
}

ENTRY(int, cudaUserObjectCreate, uint64_t *object, void *p, void (*destroy)(void *), unsigned refs, unsigned flags)
{
    NEEDS(object);
    (void)p, (void)destroy, (void)refs, (void)flags;
    *object = cudasim_new_name();
    return CODE_SUCCESS;
}

/* ---- kernels: nothing is computed ---- */

/* CUDA 13 on release 580 of the driver answered InvalidValue to every launch that the card does not take. */
static enum cudasim_code launch_refused(enum cudasim_code code)
{
    const bool is_told_apart = CUDART_MAJOR < 13 || code == CODE_COOPERATIVE_TOO_LARGE;
    return is_told_apart ? code : CODE_INVALID_VALUE;
}

/* `<<<...>>>` and the calls that mean the same. */
static int launch(struct cudasim_site *site, const void *function, const struct cudasim_launch *l, uint64_t stream)
{
    struct cudasim_kernel_facts k;
    enum cudasim_code code = cudasim_function_facts(function, &k);
    if (code == CODE_SUCCESS && (code = cudasim_launch_check(&k, l)) != CODE_SUCCESS)
        code = launch_refused(code);
    if (code == CODE_SUCCESS)
        code = (enum cudasim_code)cudasim_do_nothing(site);
    return cudasim_remember(code == CODE_SUCCESS ? cudasim_stream_launch(stream, LAUNCH_NS) : code);
}

static struct cudasim_launch launch_of(struct dim3 grid, struct dim3 block, size_t shared)
{
    return (struct cudasim_launch){ .grid = { grid.x, grid.y, grid.z }, .block = { block.x, block.y, block.z },
                                    .dynamic_bytes = shared };
}

ENTRY(int, cudaLaunchKernel, const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
      uint64_t stream)
{
    static struct cudasim_site site = { .name = "cudaLaunchKernel" };
    const struct cudasim_launch l = launch_of(grid, block, shared);
    (void)arguments;
    return launch(&site, function, &l, stream);
}

ENTRY(int, __cudaLaunchKernel, const void *kernel, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
      uint64_t stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

ENTRY(int, cudaLaunchCooperativeKernel, const void *function, struct dim3 grid, struct dim3 block, void **arguments,
      size_t shared, uint64_t stream)
{
    static struct cudasim_site site = { .name = "cudaLaunchCooperativeKernel" };
    struct cudasim_launch l = launch_of(grid, block, shared);
    (void)arguments;
    l.is_cooperative = true;
    return launch(&site, function, &l, stream);
}

/* cudaLaunchConfig_t. Its attributes say how blocks are scheduled, and change nothing here. */
struct launch_config {
    struct dim3 grid, block;
    size_t      shared;
    uint64_t    stream;
};

ENTRY(int, cudaLaunchKernelExC, const struct launch_config *config, const void *function, void **arguments)
{
    static struct cudasim_site site = { .name = "cudaLaunchKernelExC" };
    (void)arguments;
    if (config == NULL)
        return cudasim_remember(CODE_INVALID_VALUE);
    const struct cudasim_launch l = launch_of(config->grid, config->block, config->shared);
    return launch(&site, function, &l, config->stream);
}

ENTRY(int, cudaFuncSetAttribute, const void *function, int attribute, int value)
{
    return cudasim_remember(cudasim_function_set(function, attribute, value));
}

ENTRY(int, cudaKernelSetAttributeForDevice, const void *kernel, int attribute, int value, int device)
{
    return cudasim_remember(device < 0 || device >= cudasim_device_count()
                                ? CODE_INVALID_DEVICE : cudasim_function_set(kernel, attribute, value));
}

ENTRY(void **, __cudaRegisterFatBinary, void *binary)
{
    return cudasim_binary_register(binary);
}

ENTRY(void, __cudaUnregisterFatBinary, void **handle)
{
    cudasim_binary_unregister(handle);
}

/* The further arguments of the three say where a launch's configuration goes, and what kind of variable it is. */
ENTRY(void, __cudaRegisterFunction, void **handle, const void *function, const char *stub, const char *name)
{
    (void)stub;
    cudasim_kernel_register(handle, function, name);
}

ENTRY(void, __cudaRegisterVar, void **handle, const void *symbol, const char *stub, const char *name, int is_external,
      size_t bytes)
{
    (void)stub, (void)is_external;
    cudasim_variable_register(handle, symbol, name, bytes);
}

/* A __managed__ variable is a pointer of the program, which the runtime sets. It lies on the host, where managed memory
 * is until a kernel touches it; the context counts it. */
ENTRY(void, __cudaRegisterManagedVar, void **handle, void **pointer, const char *stub, const char *name,
      int is_external, size_t bytes)
{
    (void)handle, (void)stub, (void)name, (void)is_external;
    *pointer = cudasim_managed_variable(bytes);
}

ENTRY(char, __cudaInitModule, void **handle)
{
    (void)handle;
    return 1;
}

/* `<<<...>>>` pushes a configuration; the stub that launches pops it. */
static __thread struct {
    struct dim3 grid, block;
    size_t   shared;
    uint64_t stream;
} pushed;

ENTRY(unsigned, __cudaPushCallConfiguration, struct dim3 grid, struct dim3 block, size_t shared, uint64_t stream)
{
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}

ENTRY(int, __cudaPopCallConfiguration, struct dim3 *grid, struct dim3 *block, size_t *shared, void *stream)
{
    NEEDS(grid);
    NEEDS(block);
    NEEDS(shared);
    NEEDS(stream);
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    memcpy(stream, &pushed.stream, sizeof pushed.stream);
    return CODE_SUCCESS;
}

ENTRY(int, __cudaGetKernel, const void **kernel, const void *function)
{
    NEEDS(kernel);
    *kernel = function;
    return CODE_SUCCESS;
}

ENTRY(int, cudaGetKernel, const void **kernel, const void *function)
{
    NEEDS(kernel);
    *kernel = function;
    return CODE_SUCCESS;
}

ENTRY(int, cudaGetFuncBySymbol, const void **function, const void *symbol)
{
    NEEDS(function);
    *function = symbol;
    return CODE_SUCCESS;
}

ENTRY(int, cudaFuncGetAttributes, struct function_attributes *out, const void *function)
{
    NEEDS(out);
    struct cudasim_kernel_facts k;
    const int code = cudasim_remember(cudasim_function_facts(function, &k));
    if (code == CODE_SUCCESS)
        *out = (struct function_attributes){
            .shared_bytes = k.shared_bytes, .constant_bytes = k.constant_bytes, .local_bytes = k.local_bytes,
            .max_threads = k.max_threads, .registers = k.registers, .ptx = k.ptx, .binary = k.binary,
            .max_dynamic_shared = (int)k.dynamic_bytes, .carveout = -1,
        };
    return code;
}

ENTRY(int, cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *n, const void *function, int threads, size_t shared)
{
    NEEDS(n);
    struct cudasim_kernel_facts k;
    const int code = cudasim_remember(threads < 1 ? CODE_INVALID_VALUE : cudasim_function_facts(function, &k));
    if (code == CODE_SUCCESS)
        *n = cudasim_resident_blocks(&k, threads, shared);
    return code;
}

ENTRY(int, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *n, const void *function, int threads,
      size_t shared, unsigned flags)
{
    (void)flags;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, function, threads, shared);
}

/* ---- the driver's functions by name ---- */

static int driver_entry(const char *name, void **function, int version, uint64_t flags, int *status)
{
    int found = 1;                                   /* cudaDriverEntryPointSymbolNotFound */
    if (name == NULL || function == NULL)
        return cudasim_remember(CODE_INVALID_VALUE);
    (void)cuGetProcAddress_v2(name, function, version, flags, &found);
    if (status != NULL)
        *status = found;
    return CODE_SUCCESS;
}

#if CUDART_MAJOR >= 12
ENTRY(int, cudaGetDriverEntryPoint, const char *name, void **function, uint64_t flags, int *status)
{
    return driver_entry(name, function, CUDASIM_DRIVER_VERSION, flags, status);
}
#else
ENTRY(int, cudaGetDriverEntryPoint, const char *name, void **function, uint64_t flags)
{
    return driver_entry(name, function, CUDASIM_DRIVER_VERSION, flags, NULL);
}
#endif

ENTRY(int, cudaGetDriverEntryPointByVersion, const char *name, void **function, unsigned version, uint64_t flags,
      int *status)
{
    return driver_entry(name, function, (int)version, flags, status);
}

/* ---- the rest, by table ---- */

#define DONE(name)
#define ANSWERS(name, ...)
#define SAME(name, as) SITE_SAME(name, as)
#define NOTHING(name)  SITE_NOTHING(name)
#define REFUSED(name)  SITE_REFUSED(name)
#include "cudasim/api/runtime.def"
