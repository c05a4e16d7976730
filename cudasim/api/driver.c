/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The CUDA driver, libcuda.so.1.
 *
 * Entry points with a body are here; those that do nothing or are not simulated are in driver.def. Declarations follow
 * cuda.h; handles and device addresses are uint64_t, enums are int. Every context is its device's primary context.
 */
#define _GNU_SOURCE                   /* dladdr */
#include "capture/array_bytes.h"
#include "cudasim/core/entry.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CONTEXT_FIRST = 0x1000,          /* the primary context of device n is CONTEXT_FIRST + n */
    CONTEXTS_MAX = 64,
};

#define NO_PLACE CODE_INVALID_VALUE

struct alloc_prop {
    int type, handle_types, location_type, location_id;
    void *metadata;
    unsigned char flags[8];
};

struct pool_props {
    int      type, handle_types, location_type, location_id;
    void    *security;
    size_t   max_bytes;
    unsigned char reserved[56];
};

static int is_initialised;           /* cuInit was called; before that, the driver's functions refuse */

/* This thread's stack of contexts; the last one is current. If the runtime is loaded, the current one is always the
 * primary context of the thread's device. */
static __thread struct {
    uint64_t pushed[CONTEXTS_MAX];
    int      n;
} contexts;

static uint64_t context_of(int device)
{
    return CONTEXT_FIRST + (uint64_t)device;
}

static bool context_is_valid(uint64_t context)
{
    return context >= CONTEXT_FIRST && context - CONTEXT_FIRST < (uint64_t)cudasim_device_count();
}

static uint64_t context_current(void)
{
    return cudasim_has_runtime() ? context_of(cudasim_current_device())
         : contexts.n > 0 ? contexts.pushed[contexts.n - 1] : 0;
}

/* Every call that touches a device checks this first. */
static int check(void)
{
    if (!is_initialised && !cudasim_has_runtime())
        return CODE_NOT_INITIALIZED;
    const enum cudasim_code code = cudasim_init();
    return code != CODE_SUCCESS ? (int)code : context_current() == 0 ? CODE_INVALID_CONTEXT : CODE_SUCCESS;
}

/* For calls that need no context. */
static int check_init(void)
{
    return !is_initialised && !cudasim_has_runtime() ? CODE_NOT_INITIALIZED : (int)cudasim_init();
}

static int check_device(int device)
{
    const int code = check_init();
    return code != CODE_SUCCESS ? code
         : device >= 0 && device < cudasim_device_count() ? CODE_SUCCESS : CODE_INVALID_DEVICE;
}

/* ---- start, versions, errors ---- */

ENTRY(int, cuInit, unsigned flags)
{
    if (flags != 0)
        return CODE_INVALID_VALUE;
    const enum cudasim_code code = cudasim_init();
    if (code == CODE_SUCCESS)
        __atomic_store_n(&is_initialised, 1, __ATOMIC_RELAXED);
    return (int)code;
}

ENTRY(int, cuDriverGetVersion, int *version)
{
    NEEDS(version);
    *version = CUDASIM_DRIVER_VERSION;
    return CODE_SUCCESS;
}

ENTRY(int, cuGetErrorString, int code, const char **text)
{
    NEEDS(text);
    *text = cudasim_code_text(code);
    return *text != NULL ? CODE_SUCCESS : CODE_INVALID_VALUE;
}

ENTRY(int, cuGetErrorName, int code, const char **name)
{
    NEEDS(name);
    *name = cudasim_code_driver_name(code);
    return *name != NULL ? CODE_SUCCESS : CODE_INVALID_VALUE;
}

/* ---- devices ---- */

ENTRY(int, cuDeviceGetCount, int *n)
{
    NEEDS(n);
    const int code = check_init();
    *n = code == CODE_SUCCESS ? cudasim_device_count() : 0;
    return code;
}

ENTRY(int, cuDeviceGet, int *device, int ordinal)
{
    NEEDS(device);
    const int code = check_device(ordinal);
    if (code == CODE_SUCCESS)
        *device = ordinal;
    return code;
}

ENTRY(int, cuDeviceGetName, char *name, int n, int device)
{
    NEEDS(name);
    const int code = check_device(device);
    if (code == CODE_SUCCESS)
        snprintf(name, (size_t)n, "%s", cudasim_device_name());
    return code;
}

ENTRY(int, cuDeviceGetUuid, unsigned char *uuid, int device)
{
    NEEDS(uuid);
    const int code = check_device(device);
    if (code != CODE_SUCCESS)
        return code;
    cudasim_device_uuid(device, uuid);
    return CODE_SUCCESS;
}

ENTRY(int, cuDeviceGetUuid_v2, unsigned char *uuid, int device)
{
    return cuDeviceGetUuid(uuid, device);
}

ENTRY(int, cuDeviceTotalMem_v2, size_t *bytes, int device)
{
    NEEDS(bytes);
    uint64_t free_bytes, total_bytes;
    int code = check_device(device);
    if (code == CODE_SUCCESS)
        code = (int)cudasim_memory_info(device, &free_bytes, &total_bytes);
    if (code == CODE_SUCCESS)
        *bytes = total_bytes;
    return code;
}

ENTRY(int, cuDeviceGetAttribute, int *value, int attribute, int device)
{
    NEEDS(value);
    const int code = check_device(device);
    return code != CODE_SUCCESS ? code : (int)cudasim_attribute(attribute, device, value);
}

ENTRY(int, cuDeviceGetPCIBusId, char *text, int n, int device)
{
    NEEDS(text);
    const int code = check_device(device);
    if (code != CODE_SUCCESS)
        return code;
    if (n < 13)
        return CODE_INVALID_VALUE;
    snprintf(text, (size_t)n, "0000:%02X:00.0", (unsigned)device + 1);
    return CODE_SUCCESS;
}

ENTRY(int, cuDeviceCanAccessPeer, int *can, int device, int peer)
{
    NEEDS(can);
    const int code = check_device(device);
    if (code == CODE_SUCCESS)
        *can = cudasim_peer_possible(device, peer);
    return code;
}

/* ---- contexts ---- */

ENTRY(int, cuDevicePrimaryCtxRetain, uint64_t *context, int device)
{
    NEEDS(context);
    const int code = check_device(device);
    if (code == CODE_SUCCESS)
        *context = context_of(device);
    return code;
}

ENTRY(int, cuDevicePrimaryCtxRelease_v2, int device)
{
    return check_device(device);
}

ENTRY(int, cuDevicePrimaryCtxReset_v2, int device)
{
    const int code = check_device(device);
    return code != CODE_SUCCESS ? code : (int)cudasim_reset(device);
}

ENTRY(int, cuDevicePrimaryCtxSetFlags_v2, int device, unsigned flags)
{
    (void)flags;
    return check_device(device);
}

ENTRY(int, cuDevicePrimaryCtxGetState, int device, unsigned *flags, int *is_active)
{
    NEEDS(flags);
    NEEDS(is_active);
    const int code = check_device(device);
    *flags = 0;
    *is_active = code == CODE_SUCCESS && (cudasim_has_runtime() || contexts.n > 0);
    return code;
}

ENTRY(int, cuCtxGetCurrent, uint64_t *context)
{
    NEEDS(context);
    const int code = check_init();
    *context = code == CODE_SUCCESS ? context_current() : 0;
    return code;
}

static int context_make_current(uint64_t context)
{
    return context_is_valid(context) ? (int)cudasim_set_device((int)(context - CONTEXT_FIRST)) : CODE_INVALID_CONTEXT;
}

ENTRY(int, cuCtxPushCurrent_v2, uint64_t context)
{
    int code = check_init();
    if (code == CODE_SUCCESS && contexts.n == CONTEXTS_MAX)
        code = CODE_OUT_OF_MEMORY;
    if (code == CODE_SUCCESS)
        code = context_make_current(context);
    if (code == CODE_SUCCESS)
        contexts.pushed[contexts.n++] = context;
    return code;
}

ENTRY(int, cuCtxPopCurrent_v2, uint64_t *context)
{
    const int code = check_init();
    if (code != CODE_SUCCESS)
        return code;
    if (contexts.n == 0)
        return CODE_INVALID_CONTEXT;
    const uint64_t was = contexts.pushed[--contexts.n];
    if (context != NULL)
        *context = was;
    return contexts.n == 0 ? CODE_SUCCESS : context_make_current(contexts.pushed[contexts.n - 1]);
}

/* 0 takes the current context off the thread's stack. */
ENTRY(int, cuCtxSetCurrent, uint64_t context)
{
    int code = check_init();
    if (code != CODE_SUCCESS)
        return code;
    if (context == 0) {
        contexts.n = contexts.n > 0 ? contexts.n - 1 : 0;
        return CODE_SUCCESS;
    }
    code = context_make_current(context);
    if (code == CODE_SUCCESS) {
        contexts.n = contexts.n > 0 ? contexts.n : 1;
        contexts.pushed[contexts.n - 1] = context;
    }
    return code;
}

ENTRY(int, cuCtxCreate_v2, uint64_t *context, unsigned flags, int device)
{
    NEEDS(context);
    (void)flags;
    int code = check_device(device);
    if (code == CODE_SUCCESS)
        code = cuCtxPushCurrent_v2(context_of(device));
    if (code == CODE_SUCCESS)
        *context = context_of(device);
    return code;
}

ENTRY(int, cuCtxCreate_v4, uint64_t *context, const void *params, unsigned flags, int device)
{
    (void)params;
    return cuCtxCreate_v2(context, flags, device);
}

ENTRY(int, cuCtxCreate_v3, uint64_t *context, const void *affinities, int n, unsigned flags, int device)
{
    (void)affinities, (void)n;
    return cuCtxCreate_v2(context, flags, device);
}

ENTRY(int, cuCtxDestroy_v2, uint64_t context)
{
    if (!context_is_valid(context))
        return CODE_INVALID_CONTEXT;
    if (contexts.n > 0 && contexts.pushed[contexts.n - 1] == context)
        return cuCtxPopCurrent_v2(NULL);
    return CODE_SUCCESS;
}

ENTRY(int, cuCtxGetDevice, int *device)
{
    NEEDS(device);
    const int code = check();
    if (code == CODE_SUCCESS)
        *device = cudasim_current_device();
    return code;
}

/* These two take a context; NULL: the current one. */
ENTRY(int, cuCtxGetDevice_v2, int *device, uint64_t context)
{
    NEEDS(device);
    if (context == 0)
        return cuCtxGetDevice(device);
    if (!context_is_valid(context))
        return CODE_INVALID_CONTEXT;
    *device = (int)(context - CONTEXT_FIRST);
    return CODE_SUCCESS;
}

ENTRY(int, cuCtxSynchronize, void)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_device_sync();
}

ENTRY(int, cuCtxSynchronize_v2, uint64_t context)
{
    const int was = cudasim_current_device();
    const int code = context == 0 ? CODE_SUCCESS : context_make_current(context);
    if (code != CODE_SUCCESS)
        return code;
    const int synced = cuCtxSynchronize();
    return context == 0 || synced != CODE_SUCCESS ? synced : (int)cudasim_set_device(was);
}

ENTRY(int, cuCtxGetApiVersion, uint64_t context, unsigned *version)
{
    NEEDS(version);
    (void)context;
    *version = CUDASIM_DRIVER_VERSION;
    return CODE_SUCCESS;
}

ENTRY(int, cuCtxGetStreamPriorityRange, int *least, int *greatest)
{
    if (least != NULL)
        *least = 0;
    if (greatest != NULL)
        *greatest = -5;
    return check();
}

ENTRY(int, cuCtxEnablePeerAccess, uint64_t context, unsigned flags)
{
    if (!context_is_valid(context))
        return CODE_INVALID_CONTEXT;
    if (flags != 0)
        return CODE_INVALID_VALUE;
    return (int)cudasim_peer_enable(cudasim_current_device(), (int)(context - CONTEXT_FIRST));
}

ENTRY(int, cuCtxDisablePeerAccess, uint64_t context)
{
    if (!context_is_valid(context))
        return CODE_INVALID_CONTEXT;
    return (int)cudasim_peer_disable(cudasim_current_device(), (int)(context - CONTEXT_FIRST));
}

/* ---- memory ---- */

ENTRY(int, cuMemGetInfo_v2, size_t *free_bytes, size_t *total_bytes)
{
    NEEDS(free_bytes);
    NEEDS(total_bytes);
    uint64_t f, t;
    int code = check();
    if (code == CODE_SUCCESS)
        code = (int)cudasim_memory_info(cudasim_current_device(), &f, &t);
    if (code == CODE_SUCCESS) {
        *free_bytes = f;
        *total_bytes = t;
    }
    return code;
}

ENTRY(int, cuMemAlloc_v2, uint64_t *addr, size_t bytes)
{
    NEEDS(addr);
    cudasim_note_framework(__builtin_return_address(0));
    const int code = check();
    return code != CODE_SUCCESS ? code : bytes == 0 ? CODE_INVALID_VALUE : (int)cudasim_malloc(bytes, addr);
}

ENTRY(int, cuMemFree_v2, uint64_t addr)
{
    const int code = check();
    return code != CODE_SUCCESS || addr == 0 ? code : (int)cudasim_free(addr);
}

ENTRY(int, cuMemAllocPitch_v2, uint64_t *addr, size_t *pitch, size_t width, size_t height, unsigned element_bytes)
{
    NEEDS(addr);
    NEEDS(pitch);
    cudasim_note_framework(__builtin_return_address(0));
    uint64_t bytes;
    const int code = check();
    const size_t row = width > SIZE_MAX - 511 ? 0 : (width + 511) / 512 * 512;
    if (code != CODE_SUCCESS)
        return code;
    if (row == 0 || height == 0 || __builtin_mul_overflow(row, height, &bytes) ||
        (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
        return CODE_INVALID_VALUE;
    *pitch = row;
    return (int)cudasim_malloc(bytes, addr);
}

ENTRY(int, cuMemAllocManaged, uint64_t *addr, size_t bytes, unsigned flags)
{
    NEEDS(addr);
    void *p;
    int code = check();
    if (code == CODE_SUCCESS && (bytes == 0 || (flags != 1 && flags != 2)))
        code = CODE_INVALID_VALUE;
    if (code == CODE_SUCCESS)
        code = (int)cudasim_host_alloc(bytes, MEMORY_MANAGED, &p);
    if (code == CODE_SUCCESS)
        *addr = (uintptr_t)p;
    return code;
}

ENTRY(int, cuMemHostAlloc, void **out, size_t bytes, unsigned flags)
{
    NEEDS(out);
    const int code = check();
    return code != CODE_SUCCESS ? code : bytes == 0 || flags > 7 ? CODE_INVALID_VALUE
                                                                 : (int)cudasim_host_alloc(bytes, MEMORY_HOST, out);
}

ENTRY(int, cuMemAllocHost_v2, void **out, size_t bytes)
{
    return cuMemHostAlloc(out, bytes, 0);
}

ENTRY(int, cuMemFreeHost, void *p)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_host_free(p);
}

ENTRY(int, cuMemHostRegister_v2, void *p, size_t bytes, unsigned flags)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : flags > 15 ? CODE_INVALID_VALUE : (int)cudasim_host_register(p, bytes);
}

ENTRY(int, cuMemHostUnregister, void *p)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_host_unregister(p);
}

ENTRY(int, cuMemHostGetDevicePointer_v2, uint64_t *addr, void *p, unsigned flags)
{
    NEEDS(addr);
    const enum cudasim_memory_kind kind = cudasim_pointer((uintptr_t)p).kind;
    if (flags != 0 || (kind != MEMORY_HOST && kind != MEMORY_REGISTERED))
        return CODE_INVALID_VALUE;
    *addr = (uintptr_t)p;
    return CODE_SUCCESS;
}

ENTRY(int, cuMemGetAddressRange_v2, uint64_t *base, size_t *bytes, uint64_t addr)
{
    const struct cudasim_pointer p = cudasim_pointer(addr);
    if (p.kind != MEMORY_DEVICE && p.kind != MEMORY_RANGE && p.kind != MEMORY_MANAGED && p.kind != MEMORY_SHARED &&
        p.kind != MEMORY_GRAPH)
        return CODE_NOT_FOUND;
    if (base != NULL)
        *base = p.base;
    if (bytes != NULL)
        *bytes = p.bytes;
    return CODE_SUCCESS;
}

/* CUpointer_attribute: context 1, memory type 2, device pointer 3, host pointer 4, buffer id 7, managed 8, device
 * ordinal 9, start 11, size 12, mapped 13. Returns the size of the value; 0: this memory has none. */
static size_t pointer_attribute(const struct cudasim_pointer *p, int attribute, uint64_t addr, uint64_t *value)
{
    const bool is_host = p->kind == MEMORY_HOST || p->kind == MEMORY_REGISTERED;
    *value = 0;
    switch (attribute) {
    case 1:  *value = context_of(p->device); return 8;
    case 2:  *value = is_host ? 1 : 2; return 4;
    case 3:  *value = addr; return 8;
    case 4:
        *value = is_host || p->kind == MEMORY_MANAGED ? addr : 0;
        return *value != 0 ? 8 : 0;
    case 7:  *value = p->number + 1; return 8;
    case 8:  *value = p->kind == MEMORY_MANAGED; return 1;
    case 9:  *value = (uint64_t)p->device; return 4;
    case 10: *value = p->kind == MEMORY_DEVICE && p->pool == 0; return 4;
    case 11: *value = p->base; return 8;
    case 12: *value = p->bytes; return 8;
    case 13: *value = 1; return 1;
    default: return 4;                               /* abilities that simulated memory lacks */
    }
}

ENTRY(int, cuPointerGetAttribute, void *out, int attribute, uint64_t addr)
{
    const struct cudasim_pointer p = cudasim_pointer(addr);
    uint64_t value = 0;
    if (p.kind == MEMORY_UNKNOWN || out == NULL)
        return CODE_INVALID_VALUE;
    const size_t n = pointer_attribute(&p, attribute, addr, &value);
    memcpy(out, &value, n);
    return n > 0 ? CODE_SUCCESS : CODE_INVALID_VALUE;
}

/* Of memory that CUDA does not know, and of what this memory has not, each value is 0, which is no error here. */
ENTRY(int, cuPointerGetAttributes, unsigned n_attributes, const int *attributes, void **out, uint64_t addr)
{
    const struct cudasim_pointer p = cudasim_pointer(addr);
    NEEDS(attributes);
    NEEDS(out);
    for (unsigned i = 0; i < n_attributes; i++) {
        uint64_t value = 0;
        const size_t n = pointer_attribute(&p, attributes[i], addr, &value);
        if (out[i] == NULL)
            return CODE_INVALID_VALUE;
        value = p.kind == MEMORY_UNKNOWN ? 0 : value;
        memcpy(out[i], &value, n > 0 ? n : sizeof value);
    }
    return CODE_SUCCESS;
}

ENTRY(int, cuPointerSetAttribute, const void *value, int attribute, uint64_t addr)
{
    (void)value, (void)attribute;
    return cudasim_pointer(addr).kind == MEMORY_UNKNOWN ? CODE_INVALID_VALUE : CODE_SUCCESS;
}

/* ---- arrays ---- */

/* CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR */
struct array_2d {
    size_t   width, height;
    unsigned format, n_channels;
};

struct array_3d {
    size_t   width, height, depth;
    unsigned format, n_channels, flags;
};

static int array_create(uint64_t *array, const struct array_3d *a, unsigned levels)
{
    const int code = check(), bits = a == NULL ? 0 : 8 * (int)array_channel_bytes(a->format);
    if (code != CODE_SUCCESS || a == NULL)
        return code != CODE_SUCCESS ? code : CODE_INVALID_VALUE;
    struct cudasim_array_facts f = { .kind = (int)a->format, .flags = a->flags, .levels = levels,
                                     .extent = { a->width, a->height, a->depth } };
    for (unsigned i = 0; i < 4 && i < a->n_channels; i++)
        f.bits[i] = bits;
    const enum cudasim_code made = cudasim_array_create(&f, array);
    return made == CODE_INVALID_CHANNELS ? CODE_INVALID_VALUE : (int)made;
}

ENTRY(int, cuArrayCreate_v2, uint64_t *array, const struct array_2d *a)
{
    const struct array_3d flat = a == NULL ? (struct array_3d){ 0 }
        : (struct array_3d){ .width = a->width, .height = a->height, .format = a->format, .n_channels = a->n_channels };
    return array_create(array, a == NULL ? NULL : &flat, 0);
}

ENTRY(int, cuArray3DCreate_v2, uint64_t *array, const struct array_3d *a)
{
    return array_create(array, a, 0);
}

static int array_free(uint64_t array, bool has_levels)
{
    const int code = check();
    const enum cudasim_code freed = code == CODE_SUCCESS ? cudasim_array_free(array, has_levels) : CODE_SUCCESS;
    return code != CODE_SUCCESS ? code : freed == CODE_INVALID_VALUE ? CODE_INVALID_HANDLE : (int)freed;
}

ENTRY(int, cuArrayDestroy, uint64_t array)
{
    return array_free(array, false);
}

ENTRY(int, cuMipmappedArrayCreate, uint64_t *array, const struct array_3d *a, unsigned levels)
{
    return array_create(array, a, levels == 0 ? 1 : levels);
}

ENTRY(int, cuMipmappedArrayDestroy, uint64_t array)
{
    return array_free(array, true);
}

ENTRY(int, cuMipmappedArrayGetLevel, uint64_t *out, uint64_t array, unsigned level)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_array_level(array, level, out);
}

/* ---- between processes ---- */

ENTRY(int, cuIpcGetMemHandle, struct cudasim_ipc_handle *out, uint64_t addr)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_ipc_export(addr, out);
}

/* The one flag, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, must be set. */
ENTRY(int, cuIpcOpenMemHandle, uint64_t *addr, struct cudasim_ipc_handle handle, unsigned flags)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : flags != 1 || addr == NULL ? CODE_INVALID_VALUE
         : (int)cudasim_ipc_import(&handle, addr);
}

ENTRY(int, cuIpcCloseMemHandle, uint64_t addr)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_ipc_close(addr);
}

ENTRY(int, cuIpcGetEventHandle, struct cudasim_ipc_handle *out, uint64_t event)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_ipc_export_event(event, out);
}

ENTRY(int, cuIpcOpenEventHandle, uint64_t *event, struct cudasim_ipc_handle handle)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : event == NULL ? CODE_INVALID_VALUE
         : (int)cudasim_ipc_import_event(&handle, event);
}

/* ---- copies ---- */

static int copy(uint64_t to, uint64_t from, size_t bytes, enum cudasim_direction d, uint64_t stream)
{
    const int code = check();
    if (code != CODE_SUCCESS)
        return code;
    return (int)cudasim_copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, d, stream);
}

ENTRY(int, cuMemcpy, uint64_t to, uint64_t from, size_t bytes)
{
    return copy(to, from, bytes, COPY_ANY, 0);
}

ENTRY(int, cuMemcpyAsync, uint64_t to, uint64_t from, size_t bytes, uint64_t stream)
{
    return copy(to, from, bytes, COPY_ANY, stream);
}

ENTRY(int, cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes)
{
    return copy(to, (uintptr_t)from, bytes, COPY_TO_DEVICE, 0);
}

ENTRY(int, cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, uint64_t stream)
{
    return copy(to, (uintptr_t)from, bytes, COPY_TO_DEVICE, stream);
}

ENTRY(int, cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes)
{
    return copy((uintptr_t)to, from, bytes, COPY_FROM_DEVICE, 0);
}

ENTRY(int, cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, uint64_t stream)
{
    return copy((uintptr_t)to, from, bytes, COPY_FROM_DEVICE, stream);
}

ENTRY(int, cuMemcpyDtoD_v2, uint64_t to, uint64_t from, size_t bytes)
{
    return copy(to, from, bytes, COPY_WITHIN_DEVICE, 0);
}

ENTRY(int, cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes, uint64_t stream)
{
    return copy(to, from, bytes, COPY_WITHIN_DEVICE, stream);
}

ENTRY(int, cuMemcpyPeer, uint64_t to, uint64_t to_context, uint64_t from, uint64_t from_context, size_t bytes)
{
    (void)to_context, (void)from_context;
    return copy(to, from, bytes, COPY_WITHIN_DEVICE, 0);
}

ENTRY(int, cuMemcpyPeerAsync, uint64_t to, uint64_t to_context, uint64_t from, uint64_t from_context, size_t bytes,
      uint64_t stream)
{
    (void)to_context, (void)from_context;
    return copy(to, from, bytes, COPY_WITHIN_DEVICE, stream);
}

static int set(uint64_t to, unsigned value, unsigned value_bytes, size_t n, uint64_t stream)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_set(to, value, value_bytes, n, stream);
}

ENTRY(int, cuMemsetD8_v2, uint64_t to, unsigned char value, size_t n)
{
    return set(to, value, 1, n, 0);
}

ENTRY(int, cuMemsetD8Async, uint64_t to, unsigned char value, size_t n, uint64_t stream)
{
    return set(to, value, 1, n, stream);
}

ENTRY(int, cuMemsetD16_v2, uint64_t to, unsigned short value, size_t n)
{
    return set(to, value, 2, n, 0);
}

ENTRY(int, cuMemsetD16Async, uint64_t to, unsigned short value, size_t n, uint64_t stream)
{
    return set(to, value, 2, n, stream);
}

ENTRY(int, cuMemsetD32_v2, uint64_t to, unsigned value, size_t n)
{
    return set(to, value, 4, n, 0);
}

ENTRY(int, cuMemsetD32Async, uint64_t to, unsigned value, size_t n, uint64_t stream)
{
    return set(to, value, 4, n, stream);
}

/* ---- virtual memory ---- */

ENTRY(int, cuMemGetAllocationGranularity, size_t *bytes, const struct alloc_prop *prop, int option)
{
    NEEDS(bytes);
    const int code = check_init();
    if (code != CODE_SUCCESS)
        return code;
    if (prop == NULL || option < 0 || option > 1)
        return CODE_INVALID_VALUE;
    *bytes = CUDASIM_GRANULARITY;
    return CODE_SUCCESS;
}

ENTRY(int, cuMemAddressReserve, uint64_t *addr, size_t bytes, size_t alignment, uint64_t wanted, uint64_t flags)
{
    NEEDS(addr);
    const int code = check_init();
    (void)wanted;                                    /* a hint */
    return code != CODE_SUCCESS ? code : flags != 0 ? CODE_INVALID_VALUE
                                                    : (int)cudasim_range_reserve(bytes, alignment, addr);
}

ENTRY(int, cuMemAddressFree, uint64_t addr, size_t bytes)
{
    const int code = check_init();
    return code != CODE_SUCCESS ? code : (int)cudasim_range_free(addr, bytes);
}

/* Device memory only: host memory and imported handles are not simulated here. */
ENTRY(int, cuMemCreate, uint64_t *handle, size_t bytes, const struct alloc_prop *prop, uint64_t flags)
{
    NEEDS(handle);
    cudasim_note_framework(__builtin_return_address(0));
    const int code = check_init();
    if (code != CODE_SUCCESS)
        return code;
    if (prop == NULL || prop->type != 1 || flags != 0)               /* CU_MEM_ALLOCATION_TYPE_PINNED */
        return CODE_INVALID_VALUE;
    if (prop->location_type != 1 || (prop->handle_types & ~1) != 0)  /* a device; at most a file descriptor */
        return CODE_NOT_SUPPORTED;
    return (int)cudasim_phys_create(prop->location_id, bytes, (prop->handle_types & 1) != 0, handle);
}

/* Descriptors only, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR. */
ENTRY(int, cuMemExportToShareableHandle, int *fd, uint64_t handle, int type, uint64_t flags)
{
    const int code = check_init();
    return code != CODE_SUCCESS ? code : type != 1 || flags != 0 ? CODE_INVALID_VALUE
         : (int)cudasim_phys_export(handle, fd);
}

ENTRY(int, cuMemImportFromShareableHandle, uint64_t *handle, void *fd, int type)
{
    const int code = check_init();
    return code != CODE_SUCCESS ? code : type != 1 ? CODE_INVALID_VALUE
         : (int)cudasim_phys_import((int)(intptr_t)fd, handle);
}

ENTRY(int, cuMemRelease, uint64_t handle)
{
    const int code = check_init();
    return code != CODE_SUCCESS ? code : (int)cudasim_phys_release(handle);
}

ENTRY(int, cuMemRetainAllocationHandle, uint64_t *handle, void *addr)
{
    NEEDS(handle);
    const int code = check_init();
    return code != CODE_SUCCESS ? code : (int)cudasim_phys_retain_at((uintptr_t)addr, handle);
}

ENTRY(int, cuMemGetAllocationPropertiesFromHandle, struct alloc_prop *prop, uint64_t handle)
{
    NEEDS(prop);
    int device = 0;
    const int code = (int)cudasim_phys_device(handle, &device);
    if (code == CODE_SUCCESS)
        *prop = (struct alloc_prop){ .type = 1, .location_type = 1, .location_id = device };
    return code;
}

ENTRY(int, cuMemMap, uint64_t addr, size_t bytes, size_t offset, uint64_t handle, uint64_t flags)
{
    const int code = check_init();
    return code != CODE_SUCCESS ? code : flags != 0 ? CODE_INVALID_VALUE
                                                    : (int)cudasim_map(addr, bytes, offset, handle);
}

ENTRY(int, cuMemUnmap, uint64_t addr, size_t bytes)
{
    const int code = check_init();
    return code != CODE_SUCCESS ? code : (int)cudasim_unmap(addr, bytes);
}

ENTRY(int, cuMemSetAccess, uint64_t addr, size_t bytes, const void *accesses, size_t n)
{
    const int code = check_init();
    return code != CODE_SUCCESS ? code : accesses == NULL || n == 0 ? CODE_INVALID_VALUE
                                                                    : (int)cudasim_check_mapped(addr, bytes);
}

/* ---- pools ---- */

ENTRY(int, cuMemAllocAsync, uint64_t *addr, size_t bytes, uint64_t stream)
{
    NEEDS(addr);
    cudasim_note_framework(__builtin_return_address(0));
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_malloc_async(bytes, 0, stream, addr);
}

ENTRY(int, cuMemAllocFromPoolAsync, uint64_t *addr, size_t bytes, uint64_t pool, uint64_t stream)
{
    NEEDS(addr);
    cudasim_note_framework(__builtin_return_address(0));
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_malloc_async(bytes, pool, stream, addr);
}

ENTRY(int, cuMemFreeAsync, uint64_t addr, uint64_t stream)
{
    const int code = check();
    return code != CODE_SUCCESS || addr == 0 ? code : (int)cudasim_free_async(addr, stream);
}

ENTRY(int, cuMemPoolCreate, uint64_t *pool, const struct pool_props *props)
{
    NEEDS(pool);
    const int code = check_init();
    return code != CODE_SUCCESS ? code : props == NULL || props->location_type != 1
                ? CODE_INVALID_VALUE : (int)cudasim_pool_create(props->location_id, pool);
}

ENTRY(int, cuMemPoolDestroy, uint64_t pool)
{
    return (int)cudasim_pool_destroy(pool);
}

ENTRY(int, cuDeviceGetDefaultMemPool, uint64_t *pool, int device)
{
    NEEDS(pool);
    const int code = check_device(device);
    return code != CODE_SUCCESS ? code : (int)cudasim_pool_default(device, pool);
}

ENTRY(int, cuDeviceGetMemPool, uint64_t *pool, int device)
{
    NEEDS(pool);
    const int code = check_device(device);
    return code != CODE_SUCCESS ? code : (int)cudasim_pool_current(device, pool);
}

ENTRY(int, cuDeviceSetMemPool, int device, uint64_t pool)
{
    const int code = check_device(device);
    return code != CODE_SUCCESS ? code : (int)cudasim_pool_set_current(device, pool);
}

ENTRY(int, cuMemPoolGetAttribute, uint64_t pool, int attribute, void *value)
{
    return (int)cudasim_pool_get(pool, attribute, value);
}

ENTRY(int, cuMemPoolSetAttribute, uint64_t pool, int attribute, void *value)
{
    return (int)cudasim_pool_set(pool, attribute, value);
}

ENTRY(int, cuMemPoolTrimTo, uint64_t pool, size_t keep_bytes)
{
    return (int)cudasim_pool_trim(pool, keep_bytes);
}

/* ---- streams and events ---- */

ENTRY(int, cuStreamCreate, uint64_t *stream, unsigned flags)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_stream_create(flags, 0, stream);
}

ENTRY(int, cuStreamCreateWithPriority, uint64_t *stream, unsigned flags, int priority)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_stream_create(flags, priority, stream);
}

ENTRY(int, cuStreamDestroy_v2, uint64_t stream)
{
    return (int)cudasim_stream_destroy(stream);
}

ENTRY(int, cuStreamQuery, uint64_t stream)
{
    return (int)cudasim_stream_query(stream);
}

ENTRY(int, cuStreamSynchronize, uint64_t stream)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_stream_sync(stream);
}

ENTRY(int, cuStreamWaitEvent, uint64_t stream, uint64_t event, unsigned flags)
{
    (void)flags;
    return (int)cudasim_stream_wait_event(stream, event);
}

ENTRY(int, cuStreamGetPriority, uint64_t stream, int *priority)
{
    NEEDS(priority);
    unsigned flags;
    int device;
    uint64_t id;
    return (int)cudasim_stream_facts(stream, &flags, priority, &device, &id);
}

ENTRY(int, cuStreamGetFlags, uint64_t stream, unsigned *flags)
{
    NEEDS(flags);
    int priority, device;
    uint64_t id;
    return (int)cudasim_stream_facts(stream, flags, &priority, &device, &id);
}

ENTRY(int, cuStreamGetId, uint64_t stream, uint64_t *id)
{
    NEEDS(id);
    unsigned flags;
    int priority, device;
    return (int)cudasim_stream_facts(stream, &flags, &priority, &device, id);
}

ENTRY(int, cuStreamGetCtx, uint64_t stream, uint64_t *context)
{
    NEEDS(context);
    unsigned flags;
    int priority, device = 0;
    uint64_t id;
    const int code = (int)cudasim_stream_facts(stream, &flags, &priority, &device, &id);
    *context = context_of(device);
    return code;
}

/* No stream is of a green context. */
ENTRY(int, cuStreamGetCtx_v2, uint64_t stream, uint64_t *context, uint64_t *green)
{
    if (green != NULL)
        *green = 0;
    return cuStreamGetCtx(stream, context);
}

ENTRY(int, cuStreamIsCapturing, uint64_t stream, int *status)
{
    NEEDS(status);
    uint64_t id, graph;
    return (int)cudasim_capture_info(stream, status, &id, &graph);
}

ENTRY(int, cuStreamBeginCapture_v2, uint64_t stream, int mode)
{
    return (int)cudasim_capture_begin(stream, 0, mode);
}

ENTRY(int, cuStreamBeginCaptureToGraph, uint64_t stream, uint64_t graph, const uint64_t *dependencies,
      const void *edges, size_t n_dependencies, int mode)
{
    (void)dependencies, (void)edges, (void)n_dependencies;
    return graph == 0 ? CODE_INVALID_VALUE : (int)cudasim_capture_begin(stream, graph, mode);
}

ENTRY(int, cuStreamEndCapture, uint64_t stream, uint64_t *graph)
{
    NEEDS(graph);
    return (int)cudasim_capture_end(stream, graph);
}

ENTRY(int, cuLaunchHostFunc, uint64_t stream, void (*function)(void *), void *argument)
{
    return (int)cudasim_host_function(stream, function, argument);
}

ENTRY(int, cuEventCreate, uint64_t *event, unsigned flags)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_event_create(flags, event);
}

ENTRY(int, cuEventDestroy_v2, uint64_t event)
{
    return (int)cudasim_event_destroy(event);
}

ENTRY(int, cuEventRecord, uint64_t event, uint64_t stream)
{
    return (int)cudasim_event_record(event, stream);
}

ENTRY(int, cuEventQuery, uint64_t event)
{
    return (int)cudasim_event_query(event);
}

ENTRY(int, cuEventSynchronize, uint64_t event)
{
    return (int)cudasim_event_sync(event);
}

ENTRY(int, cuEventElapsedTime, float *ms, uint64_t start, uint64_t end)
{
    NEEDS(ms);
    return (int)cudasim_event_elapsed(start, end, ms);
}

ENTRY(int, cuEventElapsedTime_v2, float *ms, uint64_t start, uint64_t end)
{
    NEEDS(ms);
    return (int)cudasim_event_elapsed(start, end, ms);
}

/* ---- graphs ---- */

ENTRY(int, cuGraphCreate, uint64_t *graph, unsigned flags)
{
    NEEDS(graph);
    return flags != 0 ? CODE_INVALID_VALUE : (int)cudasim_graph_create(graph);
}

ENTRY(int, cuGraphDestroy, uint64_t graph)
{
    return (int)cudasim_graph_destroy(graph);
}

ENTRY(int, cuGraphExecDestroy, uint64_t exec)
{
    return (int)cudasim_graph_destroy(exec);
}

ENTRY(int, cuGraphInstantiateWithFlags, uint64_t *exec, uint64_t graph, uint64_t flags)
{
    NEEDS(exec);
    return (int)cudasim_graph_instantiate(graph, flags, exec);
}

/* Its further arguments, an error node and a log buffer, are not written. */
ENTRY(int, cuGraphInstantiate_v2, uint64_t *exec, uint64_t graph)
{
    NEEDS(exec);
    return (int)cudasim_graph_instantiate(graph, 0, exec);
}

/* CUDA_GRAPH_INSTANTIATE_PARAMS */
struct instantiate_params {
    uint64_t flags, upload_stream, error_node;
    int      result;
};

ENTRY(int, cuGraphInstantiateWithParams, uint64_t *exec, uint64_t graph, struct instantiate_params *params)
{
    NEEDS(exec);
    enum { UPLOAD = 2 };
    if (params == NULL)
        return CODE_INVALID_VALUE;
    enum cudasim_code code = cudasim_graph_instantiate(graph, params->flags, exec);
    if (code == CODE_SUCCESS && (params->flags & UPLOAD) != 0)
        code = cudasim_graph_upload(*exec);
    params->error_node = 0;
    params->result = code != CODE_SUCCESS;           /* CUDA_GRAPH_INSTANTIATE_ERROR */
    return (int)code;
}

ENTRY(int, cuGraphUpload, uint64_t exec, uint64_t stream)
{
    (void)stream;
    return (int)cudasim_graph_upload(exec);
}

ENTRY(int, cuGraphClone, uint64_t *copy, uint64_t graph)
{
    NEEDS(copy);
    return (int)cudasim_graph_clone(graph, copy);
}

ENTRY(int, cuGraphExecUpdate, uint64_t exec, uint64_t graph, uint64_t *node, int *result)
{
    NEEDS(node);
    NEEDS(result);
    return (int)cudasim_graph_update(exec, graph, result, node);
}

ENTRY(int, cuGraphExecUpdate_v2, uint64_t exec, uint64_t graph, struct cudasim_update_info *info)
{
    int result = UPDATE_ERROR;
    uint64_t node = 0;
    const enum cudasim_code code = cudasim_graph_update(exec, graph, &result, &node);
    if (info != NULL)
        *info = (struct cudasim_update_info){ .result = result, .node = node };
    return (int)code;
}

/* Nodes that a program adds itself. What they would do comes after these arguments; nothing of it is done. */
#define GRAPH_ADD(name, type)                                                                               \
    ENTRY(int, name, uint64_t *node, uint64_t graph, const uint64_t *dependencies, size_t n_dependencies)   \
    {                                                                                                       \
        (void)dependencies, (void)n_dependencies;                                                           \
        return (int)cudasim_graph_add(graph, type, NULL, NULL, node);                                       \
    }
GRAPH_ADD(cuGraphAddKernelNode_v2, NODE_KERNEL)
GRAPH_ADD(cuGraphAddMemcpyNode, NODE_COPY)
GRAPH_ADD(cuGraphAddMemsetNode, NODE_SET)
GRAPH_ADD(cuGraphAddEmptyNode, NODE_EMPTY)
GRAPH_ADD(cuGraphAddEventRecordNode, NODE_RECORD)
GRAPH_ADD(cuGraphAddEventWaitNode, NODE_WAIT)
#undef GRAPH_ADD

struct host_node {
    void (*function)(void *);
    void *argument;
};

ENTRY(int, cuGraphAddHostNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies, size_t n_dependencies,
      const struct host_node *params)
{
    (void)dependencies, (void)n_dependencies;
    return params == NULL || params->function == NULL
               ? CODE_INVALID_VALUE
               : (int)cudasim_graph_add(graph, NODE_HOST, params->function, params->argument, node);
}

ENTRY(int, cuGraphAddChildGraphNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies,
      size_t n_dependencies, uint64_t child)
{
    (void)dependencies, (void)n_dependencies;
    return (int)cudasim_graph_add_child(graph, child, node);
}

ENTRY(int, cuGraphAddMemAllocNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies,
      size_t n_dependencies, struct cudasim_alloc_params *params)
{
    (void)dependencies, (void)n_dependencies;
    return (int)cudasim_graph_add_alloc(graph, params, node);
}

ENTRY(int, cuGraphAddMemFreeNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies, size_t n_dependencies,
      uint64_t addr)
{
    (void)dependencies, (void)n_dependencies;
    return (int)cudasim_graph_add_free(graph, addr, node);
}

ENTRY(int, cuGraphAddNode, uint64_t *node, uint64_t graph, const uint64_t *dependencies, size_t n_dependencies,
      struct cudasim_node_params *params)
{
    (void)dependencies, (void)n_dependencies;
    return (int)cudasim_graph_add_any(graph, params, node);
}

ENTRY(int, cuGraphAddNode_v2, uint64_t *node, uint64_t graph, const uint64_t *dependencies, const void *edges,
      size_t n_dependencies, struct cudasim_node_params *params)
{
    (void)dependencies, (void)edges, (void)n_dependencies;
    return (int)cudasim_graph_add_any(graph, params, node);
}

ENTRY(int, cuGraphGetNodes, uint64_t graph, uint64_t *nodes, size_t *n)
{
    return (int)cudasim_graph_nodes(graph, nodes, n);
}

ENTRY(int, cuGraphGetRootNodes, uint64_t graph, uint64_t *nodes, size_t *n)
{
    return (int)cudasim_graph_roots(graph, nodes, n);
}

ENTRY(int, cuGraphExecChildGraphNodeSetParams, uint64_t exec, uint64_t node, uint64_t child)
{
    (void)node;
    return (int)cudasim_graph_set_child(exec, child);
}

ENTRY(int, cuGraphNodeGetType, uint64_t node, int *type)
{
    return (int)cudasim_graph_node_type(node, type);
}

ENTRY(int, cuDeviceGetGraphMemAttribute, int device, int attribute, uint64_t *value)
{
    NEEDS(value);
    const int code = check_device(device);
    return code != CODE_SUCCESS ? code : (int)cudasim_graph_pool_get(device, attribute, value);
}

ENTRY(int, cuDeviceSetGraphMemAttribute, int device, int attribute, const uint64_t *value)
{
    const int code = check_device(device);
    return code != CODE_SUCCESS ? code : (int)cudasim_graph_pool_set(device, attribute, value);
}

ENTRY(int, cuDeviceGraphMemTrim, int device)
{
    const int code = check_device(device);
    return code != CODE_SUCCESS ? code : (int)cudasim_graph_pool_trim(device);
}

ENTRY(int, cuGraphLaunch, uint64_t exec, uint64_t stream)
{
    return (int)cudasim_graph_launch(exec, stream);
}

/* ---- modules and kernels ---- */

ENTRY(int, cuModuleLoadData, uint64_t *module, const void *image)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : module == NULL ? CODE_INVALID_VALUE
                                                        : (int)cudasim_module_load(image, SIZE_MAX, module);
}

ENTRY(int, cuModuleLoadDataEx, uint64_t *module, const void *image, unsigned n, const int *options, void **values)
{
    (void)n, (void)options, (void)values;
    return cuModuleLoadData(module, image);
}

ENTRY(int, cuModuleLoadFatBinary, uint64_t *module, const void *image)
{
    return cuModuleLoadData(module, image);
}

static int module_load_file(uint64_t *module, int file)
{
    struct stat facts;
    if (fstat(file, &facts) != 0 || facts.st_size <= 0)
        return CODE_INVALID_IMAGE;
    void *image = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (image == MAP_FAILED)
        return CODE_OUT_OF_MEMORY;
    const int code = (int)cudasim_module_load(image, (size_t)facts.st_size, module);
    munmap(image, (size_t)facts.st_size);
    return code;
}

static int module_load_path(uint64_t *module, const char *path)
{
    const int file = module == NULL || path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return module == NULL || path == NULL ? CODE_INVALID_VALUE : CODE_FILE_NOT_FOUND;
    const int code = module_load_file(module, file);
    close(file);
    return code;
}

ENTRY(int, cuModuleLoad, uint64_t *module, const char *path)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : module_load_path(module, path);
}

ENTRY(int, cuModuleUnload, uint64_t module)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_module_unload(module);
}

ENTRY(int, cuModuleGetFunction, uint64_t *function, uint64_t module, const char *name)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)cudasim_module_kernel(module, name, function);
}

ENTRY(int, cuModuleGetFunctionCount, unsigned *n, uint64_t module)
{
    return n == NULL ? CODE_INVALID_VALUE : (int)cudasim_module_kernels(module, NULL, 0, n);
}

ENTRY(int, cuModuleEnumerateFunctions, uint64_t *functions, unsigned most, uint64_t module)
{
    unsigned n;
    return functions == NULL ? CODE_INVALID_VALUE : (int)cudasim_module_kernels(module, functions, most, &n);
}

ENTRY(int, cuModuleGetGlobal_v2, uint64_t *addr, size_t *bytes, uint64_t module, const char *name)
{
    uint64_t a = 0, n = 0;
    int code = check();
    if (code == CODE_SUCCESS)
        code = (int)cudasim_module_variable(module, name, &a, &n);
    if (code == CODE_SUCCESS && addr != NULL)
        *addr = a;
    if (code == CODE_SUCCESS && bytes != NULL)
        *bytes = n;
    return code;
}

ENTRY(int, cuLibraryLoadData, uint64_t *library, const void *image, const void *j, const void *jv, unsigned nj,
      const void *o, const void *ov, unsigned no)
{
    (void)j, (void)jv, (void)nj, (void)o, (void)ov, (void)no;
    const int code = check_init();
    return code != CODE_SUCCESS ? code : library == NULL ? CODE_INVALID_VALUE
                                                         : (int)cudasim_module_load(image, SIZE_MAX, library);
}

ENTRY(int, cuLibraryLoadFromFile, uint64_t *library, const char *path, const void *j, const void *jv, unsigned nj,
      const void *o, const void *ov, unsigned no)
{
    (void)j, (void)jv, (void)nj, (void)o, (void)ov, (void)no;
    const int code = check_init();
    return code != CODE_SUCCESS ? code : module_load_path(library, path);
}

ENTRY(int, cuLibraryUnload, uint64_t library)
{
    return (int)cudasim_module_unload(library);
}

ENTRY(int, cuLibraryGetKernel, uint64_t *kernel, uint64_t library, const char *name)
{
    return (int)cudasim_module_kernel(library, name, kernel);
}

ENTRY(int, cuLibraryGetKernelCount, unsigned *n, uint64_t library)
{
    return cuModuleGetFunctionCount(n, library);
}

ENTRY(int, cuLibraryEnumerateKernels, uint64_t *kernels, unsigned most, uint64_t library)
{
    return cuModuleEnumerateFunctions(kernels, most, library);
}

ENTRY(int, cuLibraryGetGlobal, uint64_t *addr, size_t *bytes, uint64_t library, const char *name)
{
    return cuModuleGetGlobal_v2(addr, bytes, library, name);
}

/* A library's handle is that of its module, and a kernel's that of its function. */
ENTRY(int, cuLibraryGetModule, uint64_t *module, uint64_t library)
{
    NEEDS(module);
    unsigned n;
    const int code = (int)cudasim_module_kernels(library, NULL, 0, &n);
    if (code == CODE_SUCCESS)
        *module = library;
    return code;
}

ENTRY(int, cuKernelGetFunction, uint64_t *function, uint64_t kernel)
{
    NEEDS(function);
    struct cudasim_kernel_facts k;
    const int code = (int)cudasim_kernel_facts(kernel, &k, NULL, NULL);
    if (code == CODE_SUCCESS)
        *function = kernel;
    return code;
}

ENTRY(int, cuFuncGetName, const char **name, uint64_t function)
{
    struct cudasim_kernel_facts k;
    return name == NULL ? CODE_INVALID_VALUE : (int)cudasim_kernel_facts(function, &k, name, NULL);
}

ENTRY(int, cuFuncGetModule, uint64_t *module, uint64_t function)
{
    struct cudasim_kernel_facts k;
    return module == NULL ? CODE_INVALID_VALUE : (int)cudasim_kernel_facts(function, &k, NULL, module);
}

/* Of a kernel of a module, or of one that nvcc put into a program: cudaGetFuncBySymbol names it by a host function. */
static enum cudasim_code function_facts(uint64_t function, struct cudasim_kernel_facts *k)
{
    const enum cudasim_code code = cudasim_kernel_facts(function, k, NULL, NULL);
    return code == CODE_INVALID_HANDLE && cudasim_function_facts((const void *)(uintptr_t)function, k) == CODE_SUCCESS
         ? CODE_SUCCESS : code;
}

static enum cudasim_code function_set(uint64_t function, int attribute, int value)
{
    struct cudasim_kernel_facts k;
    const enum cudasim_code code = function_facts(function, &k);
    return code != CODE_SUCCESS ? code : cudasim_function_set((const void *)(uintptr_t)function, attribute, value);
}

/* CUfunction_attribute, from 0: most threads, shared, constant and local bytes, registers, PTX and binary version,
 * cache mode, most dynamic shared bytes. */
ENTRY(int, cuFuncGetAttribute, int *value, int attribute, uint64_t function)
{
    struct cudasim_kernel_facts k;
    int code = check();
    if (code == CODE_SUCCESS)
        code = value == NULL || attribute < 0 || attribute >= FUNCTION_ATTRIBUTES ? CODE_INVALID_VALUE
                                                         : (int)function_facts(function, &k);
    if (code != CODE_SUCCESS)
        return code;
    const int values[FUNCTION_ATTRIBUTES] = { k.max_threads, (int)k.shared_bytes, (int)k.constant_bytes,
                                              (int)k.local_bytes, k.registers, k.ptx, k.binary, 0,
                                              (int)k.dynamic_bytes, -1 };
    *value = values[attribute];
    return CODE_SUCCESS;
}

ENTRY(int, cuKernelGetAttribute, int *value, int attribute, uint64_t kernel, int device)
{
    (void)device;
    return cuFuncGetAttribute(value, attribute, kernel);
}

ENTRY(int, cuOccupancyMaxActiveBlocksPerMultiprocessor, int *n, uint64_t function, int threads, size_t shared)
{
    struct cudasim_kernel_facts k;
    int code = check();
    if (code == CODE_SUCCESS)
        code = n == NULL || threads < 1 ? CODE_INVALID_VALUE : (int)function_facts(function, &k);
    if (code == CODE_SUCCESS)
        *n = cudasim_resident_blocks(&k, threads, shared);
    return code;
}

ENTRY(int, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *n, uint64_t function, int threads, size_t shared,
      unsigned flags)
{
    (void)flags;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(n, function, threads, shared);
}

static int launch(struct cudasim_site *site, uint64_t function, const struct cudasim_launch *l, uint64_t stream)
{
    struct cudasim_kernel_facts k;
    int code = check();
    if (code == CODE_SUCCESS)
        code = (int)function_facts(function, &k);
    if (code == CODE_SUCCESS)
        code = (int)cudasim_launch_check(&k, l);
    if (code != CODE_SUCCESS)
        return code == CODE_INVALID_CONFIGURATION ? CODE_INVALID_VALUE : code;
    (void)cudasim_do_nothing(site);
    return (int)cudasim_stream_launch(stream, LAUNCH_NS);
}

ENTRY(int, cuLaunchKernel, uint64_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
      unsigned bz, unsigned shared, uint64_t stream, void **arguments, void **extra)
{
    static struct cudasim_site site = { .name = "cuLaunchKernel" };
    const struct cudasim_launch l = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .dynamic_bytes = shared };
    (void)arguments, (void)extra;
    return launch(&site, function, &l, stream);
}

ENTRY(int, cuLaunchCooperativeKernel, uint64_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
      unsigned by, unsigned bz, unsigned shared, uint64_t stream, void **arguments)
{
    static struct cudasim_site site = { .name = "cuLaunchCooperativeKernel" };
    const struct cudasim_launch l = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .dynamic_bytes = shared,
                                      .is_cooperative = true };
    (void)arguments;
    return launch(&site, function, &l, stream);
}

/* CUlaunchConfig. Its attributes say how blocks are scheduled, and change nothing here. */
struct launch_config {
    unsigned grid[3], block[3], shared;
    uint64_t stream;
};

ENTRY(int, cuLaunchKernelEx, const struct launch_config *c, uint64_t function, void **arguments, void **extra)
{
    static struct cudasim_site site = { .name = "cuLaunchKernelEx" };
    (void)arguments, (void)extra;
    if (c == NULL)
        return CODE_INVALID_VALUE;
    const struct cudasim_launch l = { .grid = { c->grid[0], c->grid[1], c->grid[2] },
                                      .block = { c->block[0], c->block[1], c->block[2] }, .dynamic_bytes = c->shared };
    return launch(&site, function, &l, c->stream);
}

ENTRY(int, cuFuncSetAttribute, uint64_t function, int attribute, int value)
{
    const int code = check();
    return code != CODE_SUCCESS ? code : (int)function_set(function, attribute, value);
}

ENTRY(int, cuKernelSetAttribute, int attribute, int value, uint64_t kernel, int device)
{
    const int code = check_device(device);
    return code != CODE_SUCCESS ? code : (int)cudasim_kernel_set(kernel, attribute, value);
}

/* ---- functions by name ---- */

/* `caller`: an address in the program or in a library of it, which has the runtime in it. */
static void say_who_asks(const void *caller)
{
    Dl_info info = { .dli_fname = NULL };
    const char *path = dladdr(caller, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "this program";
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    fprintf(stderr, "replay cudasim: NVIDIA's CUDA runtime is linked into %s and accepts NVIDIA's driver only:\n"
                    "  its calls fail. ", name);
    if (strncmp(name, "libcu", 5) == 0 || strncmp(name, "libnv", 5) == 0 || strncmp(name, "libnccl", 7) == 0)
        fprintf(stderr, "NVIDIA's library cannot be real here; its stand-in can: PyTorch gets it by --libraries "
                        "stand-in,\n  another program if --torch-libs names the folder of its objects that need the "
                        "library.\n");
    else
        fprintf(stderr, "Build it with `nvcc --cudart shared`, or with NVCC_APPEND_FLAGS=\"--cudart shared\" in the "
                        "environment.\n");
}

/* Tables of functions by a number of 16 bytes, which NVIDIA does not document. NVIDIA's runtime asks for them where it
 * is linked in. It goes on only if the driver proves to be NVIDIA's (cudasim/README.md), so none is given. */
ENTRY(int, cuGetExportTable, const void **table, const void *id)
{
    static struct cudasim_site site = { .name = "cuGetExportTable" };
    (void)table, (void)id;
    if (!site.is_seen)
        say_who_asks(__builtin_return_address(0));
    return cudasim_refuse(&site);
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);

/* ---- the rest, by table ---- */

#define DONE(name)
#define ANSWERS(name, ...)
#define SAME(name, as) SITE_SAME(name, as)
#define NOTHING(name)  SITE_NOTHING(name)
#define REFUSED(name)  SITE_REFUSED(name)
#include "cudasim/api/driver.def"
#undef DONE
#undef ANSWERS
#undef SAME
#undef NOTHING
#undef REFUSED

#define DONE(entry)         { #entry, (void (*)(void))entry },
#define ANSWERS(entry, ...) DONE(entry)
#define SAME(entry, as)     DONE(entry)
#define NOTHING(entry)      DONE(entry)
#define REFUSED(entry)      DONE(entry)
static const struct { const char *name; void (*function)(void); } driver_entries[] = {
#include "cudasim/api/driver.def"
};

enum { N_DRIVER_ENTRIES = sizeof driver_entries / sizeof driver_entries[0] };

/* The release of CUDA from which on a plain name means this form, as NVIDIA's cudaTypedefs.h of 13.0 has it. A _v2 that
 * is not here is of 3.2. */
static const struct { const char *name; int since; } late_forms[] = {
    { "cuCtxCreate_v3", 11040 }, { "cuCtxCreate_v4", 12050 }, { "cuCtxDestroy_v2", 4000 },
    { "cuCtxGetDevice_v2", 13000 }, { "cuCtxPopCurrent_v2", 4000 }, { "cuCtxPushCurrent_v2", 4000 },
    { "cuCtxSynchronize_v2", 13000 }, { "cuDeviceGetUuid_v2", 11040 }, { "cuDevicePrimaryCtxRelease_v2", 11000 },
    { "cuDevicePrimaryCtxReset_v2", 11000 }, { "cuDevicePrimaryCtxSetFlags_v2", 11000 },
    { "cuEventDestroy_v2", 4000 }, { "cuEventElapsedTime_v2", 12080 }, { "cuGetProcAddress_v2", 12000 },
    { "cuGraphAddDependencies_v2", 12030 }, { "cuGraphAddKernelNode_v2", 12000 }, { "cuGraphAddNode_v2", 12030 },
    { "cuGraphExecKernelNodeSetParams_v2", 12000 }, { "cuGraphExecUpdate_v2", 12000 },
    { "cuGraphGetEdges_v2", 12030 }, { "cuGraphInstantiate_v2", 11000 }, { "cuGraphKernelNodeGetParams_v2", 12000 },
    { "cuGraphKernelNodeSetParams_v2", 12000 }, { "cuGraphNodeGetDependencies_v2", 12030 },
    { "cuGraphNodeGetDependentNodes_v2", 12030 }, { "cuGraphRemoveDependencies_v2", 12030 },
    { "cuGraphicsResourceSetMapFlags_v2", 6050 }, { "cuIpcOpenMemHandle_v2", 11000 }, { "cuLinkAddData_v2", 6050 },
    { "cuLinkAddFile_v2", 6050 }, { "cuLinkCreate_v2", 6050 }, { "cuMemAdvise_v2", 12020 },
    { "cuMemHostRegister_v2", 6050 }, { "cuMemPrefetchAsync_v2", 12020 }, { "cuMemcpy3DBatchAsync_v2", 13000 },
    { "cuMemcpyBatchAsync_v2", 13000 }, { "cuStreamBatchMemOp_v2", 11070 }, { "cuStreamBeginCapture_v2", 10010 },
    { "cuStreamDestroy_v2", 4000 }, { "cuStreamGetCaptureInfo_v2", 11030 }, { "cuStreamGetCaptureInfo_v3", 12030 },
    { "cuStreamGetCtx_v2", 12050 }, { "cuStreamUpdateCaptureDependencies_v2", 12030 },
    { "cuStreamWaitValue32_v2", 11070 }, { "cuStreamWaitValue64_v2", 11070 }, { "cuStreamWriteValue32_v2", 11070 },
    { "cuStreamWriteValue64_v2", 11070 }, { "cuTexRefSetAddress2D_v3", 4010 },
};

static int form_since(const char *name, const char *suffix)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i < sizeof late_forms / sizeof late_forms[0]; i++)
        if (strncmp(late_forms[i].name, name, n) == 0 && strcmp(late_forms[i].name + n, suffix) == 0)
            return late_forms[i].since;
    return suffix[0] == '\0' ? 0 : 3020;
}

/* The entry called `name` and `suffix`; NULL if there is none. */
static void (*driver_find(const char *name, const char *suffix))(void)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i < N_DRIVER_ENTRIES; i++)
        if (strncmp(driver_entries[i].name, name, n) == 0 && strcmp(driver_entries[i].name + n, suffix) == 0)
            return driver_entries[i].function;
    return NULL;
}

/* The form of a function that its name means in the CUDA version that is asked for: a newer or older one takes other
 * arguments. */
ENTRY(int, cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags, int *status)
{
    static const char *const suffixes[] = { "_v4", "_v3", "_v2", "" };
    void (*found)(void) = NULL;
    (void)flags;
    if (name == NULL || function == NULL)
        return CODE_INVALID_VALUE;
    if (version >= 12000 && strcmp(name, "cuGraphInstantiate") == 0)         /* since then the name of another one */
        name = "cuGraphInstantiateWithFlags";
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0] && found == NULL; i++)
        if (version >= form_since(name, suffixes[i]))
            found = driver_find(name, suffixes[i]);
    memcpy(function, &found, sizeof found);
    if (status != NULL)
        *status = found != NULL ? 0 : 1;             /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
    if (found == NULL)
        cudasim_note_missing(name);
    return found != NULL || status != NULL ? CODE_SUCCESS : CODE_NOT_FOUND;
}

ENTRY(int, cuGetProcAddress, const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
