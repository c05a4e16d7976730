/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Memory of the simulated CUDA: device segments, host memory, copies.
 *
 * Host and managed memory is real. Managed memory stays on the host, where it is until a kernel touches it, and takes
 * nothing of a device.
 */
#include "cudasim/state.h"

#include "base/units.h"
#include "cudasim/graphs.h"
#include "cudasim/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LAUNCH_NS = 5000 };           /* a copy's cost apart from its bytes: about that of a launch on a server card */

/* On the virtual clock copies run at 25 GB/s, as measured for large pinned copies over PCI Express 4.0 x16. */
static uint64_t copy_time_ns(uint64_t bytes)
{
    return LAUNCH_NS + bytes / 25;
}

enum cudasim_code cudasim_segment_take(int device, uint64_t bytes, uint64_t pool, uint64_t *addr)
{
    struct cudasim_device *d = &cudasim.devices[device];
    struct cudasim_allocation *a = calloc(1, sizeof *a);
    if (a == NULL || !address_map_reserve(&cudasim.pointers)) {
        free(a);
        return CODE_OUT_OF_MEMORY;
    }
    enum err e = device_segment_alloc(d->device, bytes, &a->segment);
    if (e == ERR_OK && align_up(bytes, DEVICE_PAGE_BYTES) > d->end_addr - a->segment.addr) {
        fprintf(stderr, "replay cudasim: device %d has no addresses left; "
                        "with addresses=first-fit it reuses freed ones\n", device);
        device_segment_free(d->device, &a->segment);
        e = ERR_DEVICE_OOM;
    }
    if (e != ERR_OK) {
        free(a);
        cudasim_note((struct call_record){ .kind = CALL_OOM, .space = pool == 0 ? CALL_SPACE_DEVICE : CALL_SPACE_POOL,
                                           .device = (uint8_t)device, .bytes = bytes, .other = pool });
        return cudasim_code_of(e);
    }
    a->kind = MEMORY_DEVICE;
    a->device = device;
    a->bytes = bytes;
    a->pool = pool;
    a->number = d->numbers++;
    *addr = a->segment.addr;
    cudasim_address_given(d, *addr, bytes);
    address_map_put(&cudasim.pointers, *addr, bytes, a);
    cudasim_note((struct call_record){ .kind = pool == 0 ? CALL_ALLOC : CALL_SEGMENT, .device = (uint8_t)device,
                                       .addr = *addr, .bytes = bytes, .other = pool });
    return CODE_SUCCESS;
}

void cudasim_segment_give(struct address_extent *e)
{
    struct cudasim_allocation *a = e->value;
    cudasim_note((struct call_record){ .kind = a->pool == 0 ? CALL_FREE : CALL_SEGMENT_FREE,
                                       .device = (uint8_t)a->device, .addr = e->addr, .bytes = e->bytes,
                                       .other = a->pool });
    cudasim_ipc_withdraw(a->share);
    device_segment_free(cudasim.devices[a->device].device, &a->segment);
    values_drop(e->addr, e->bytes);
    address_map_remove(&cudasim.pointers, e);
    free(a);
}

enum cudasim_code cudasim_malloc(uint64_t bytes, uint64_t *addr)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    return cudasim_end(cudasim_segment_take(cudasim_current_device(), bytes, 0, addr));
}

/* Memory that the program merely registered was not allocated here, and no call takes memory for a variable: neither is
 * recorded. */
static void host_note(enum call_kind kind, const struct cudasim_allocation *a, uint64_t addr)
{
    if (a->kind != MEMORY_REGISTERED && !a->is_variable)
        cudasim_note((struct call_record){ .kind = (uint8_t)kind, .device = (uint8_t)a->device, .addr = addr,
                                           .space = a->kind == MEMORY_MANAGED ? CALL_SPACE_MANAGED : CALL_SPACE_HOST,
                                           .bytes = a->bytes });
}

static void host_give(struct address_extent *e)
{
    struct cudasim_allocation *a = e->value;
    host_note(CALL_FREE, a, e->addr);
    if (a->kind != MEMORY_REGISTERED)
        munmap((void *)(uintptr_t)e->addr, align_up(a->bytes, 4096));
    address_map_remove(&cudasim.pointers, e);
    free(a);
}

enum cudasim_code cudasim_free(uint64_t addr)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct address_extent *e = address_map_at(&cudasim.pointers, addr);
    const struct cudasim_allocation *a = e == NULL ? NULL : e->value;
    if (a != NULL && a->kind == MEMORY_GRAPH)
        return cudasim_end(graph_memory_free(e, 0));
    if (a == NULL || a->is_variable || (a->kind != MEMORY_DEVICE && a->kind != MEMORY_MANAGED))
        return cudasim_end(CODE_INVALID_VALUE);
    const uint64_t pool = a->pool;
    if (a->kind == MEMORY_MANAGED)
        host_give(e);
    else if (pool == 0)
        cudasim_segment_give(e);
    cudasim_unlock();
    return pool == 0 ? CODE_SUCCESS : cudasim_free_async(addr, 0);
}

static enum cudasim_code host_enter(uint64_t addr, uint64_t bytes, enum cudasim_memory_kind kind, bool is_variable)
{
    struct cudasim_allocation *a = calloc(1, sizeof *a);
    if (a == NULL || !address_map_reserve(&cudasim.pointers)) {
        free(a);
        return CODE_OUT_OF_MEMORY;
    }
    a->kind = kind;
    a->is_variable = is_variable;
    a->device = cudasim_current_device();
    a->bytes = bytes;
    address_map_put(&cudasim.pointers, addr, bytes, a);
    host_note(CALL_ALLOC, a, addr);
    return CODE_SUCCESS;
}

/* Maps bytes of the host and enters them. The lock is held. */
static enum cudasim_code host_map(uint64_t bytes, enum cudasim_memory_kind kind, bool is_variable, uint64_t *addr)
{
    const uint64_t room = align_up(bytes, 4096);
    const int access = kind == MEMORY_VARIABLE ? PROT_NONE : PROT_READ | PROT_WRITE;
    void *p = room > PTRDIFF_MAX ? MAP_FAILED
            : mmap(NULL, room, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return CODE_OUT_OF_MEMORY;
    const enum cudasim_code code = host_enter((uintptr_t)p, bytes, kind, is_variable);
    if (code != CODE_SUCCESS)
        munmap(p, room);
    else
        *addr = (uintptr_t)p;
    return code;
}

enum cudasim_code cudasim_host_alloc(uint64_t bytes, enum cudasim_memory_kind kind, void **out)
{
    uint64_t addr = 0;
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    code = host_map(bytes, kind, false, &addr);
    if (code == CODE_SUCCESS)
        *out = (void *)(uintptr_t)addr;
    return cudasim_end(code);
}

/* Nobody may follow the address, as on a card; what the host copied there is kept as for any device address. */
enum cudasim_code cudasim_variable_place(uint64_t bytes, uint64_t *addr)
{
    return host_map(bytes == 0 ? 1 : bytes, MEMORY_VARIABLE, true, addr);
}

void cudasim_variable_give(uint64_t addr)
{
    struct address_extent *e = address_map_at(&cudasim.pointers, addr);
    values_drop(e->addr, e->bytes);
    host_give(e);
}

void *cudasim_managed_variable(uint64_t bytes)
{
    uint64_t addr = 0;
    cudasim_lock();
    const enum cudasim_code code = host_map(bytes == 0 ? 1 : bytes, MEMORY_MANAGED, true, &addr);
    cudasim_unlock();
    return code == CODE_SUCCESS ? (void *)(uintptr_t)addr : NULL;
}

enum cudasim_code cudasim_host_free(void *p)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct address_extent *e = address_map_at(&cudasim.pointers, (uintptr_t)p);
    const struct cudasim_allocation *a = e == NULL ? NULL : e->value;
    if (a != NULL && a->kind == MEMORY_HOST)
        host_give(e);
    else
        code = CODE_INVALID_VALUE;
    return cudasim_end(code);
}

enum cudasim_code cudasim_host_register(void *p, uint64_t bytes)
{
    const uint64_t addr = (uintptr_t)p;
    if (p == NULL || bytes == 0 || bytes > UINT64_MAX - addr)
        return CODE_INVALID_VALUE;
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    return cudasim_end(address_map_overlaps(&cudasim.pointers, addr, bytes)
                           ? CODE_HOST_REGISTERED : host_enter(addr, bytes, MEMORY_REGISTERED, false));
}

enum cudasim_code cudasim_host_unregister(void *p)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct address_extent *e = address_map_at(&cudasim.pointers, (uintptr_t)p);
    const struct cudasim_allocation *a = e == NULL ? NULL : e->value;
    if (a != NULL && a->kind == MEMORY_REGISTERED)
        host_give(e);
    else
        code = CODE_HOST_NOT_REGISTERED;
    return cudasim_end(code);
}

struct cudasim_pointer cudasim_pointer(uint64_t addr)
{
    struct cudasim_pointer out = { .kind = MEMORY_UNKNOWN, .device = -1 };
    if (cudasim_begin() != CODE_SUCCESS)
        return out;
    const struct address_extent *e = address_map_find(&cudasim.pointers, addr);
    if (e != NULL) {
        const struct cudasim_allocation *a = e->value;
        out = (struct cudasim_pointer){ .kind = a->kind, .base = e->addr, .bytes = e->bytes, .device = a->device,
                                        .pool = a->pool, .number = a->number };
    }
    cudasim_unlock();
    return out;
}

uint64_t cudasim_segment(uint64_t addr, uint64_t *offset)
{
    const struct cudasim_pointer p = cudasim_pointer(addr);
    if (p.kind != MEMORY_DEVICE && p.kind != MEMORY_RANGE)
        return UINT64_MAX;
    *offset = addr - p.base;
    return p.number;
}

/* ---- copies ---- */

static bool is_on_device(enum cudasim_memory_kind kind)
{
    return kind == MEMORY_DEVICE || kind == MEMORY_RANGE || kind == MEMORY_VARIABLE || kind == MEMORY_SHARED ||
           kind == MEMORY_GRAPH;
}

/* Memory that the program has from elsewhere. It may know more of it than was registered. */
static bool is_of_program(enum cudasim_memory_kind kind)
{
    return kind == MEMORY_UNKNOWN || kind == MEMORY_REGISTERED;
}

static bool is_captured(uint64_t stream)
{
    uint64_t id, graph;
    int status = CAPTURE_NONE;
    return cudasim_capture_info(stream, &status, &id, &graph) == CODE_SUCCESS && status != CAPTURE_NONE;
}

static void drop_values(uint64_t addr, uint64_t bytes)
{
    cudasim_lock();
    values_drop(addr, bytes);
    cudasim_unlock();
}

/* What a copy does to memory. All device addresses are known, so an unknown address is the host's. A captured copy is
 * done when its graph runs: until then nobody knows what is there. */
static void copy_bytes(void *to, const void *from, uint64_t bytes, uint64_t stream)
{
    const struct cudasim_pointer t = cudasim_pointer((uintptr_t)to), f = cudasim_pointer((uintptr_t)from);
    if (is_on_device(t.kind) && is_captured(stream))
        drop_values((uintptr_t)to, bytes);
    else if (is_on_device(t.kind) && is_on_device(f.kind))
        values_copy((uintptr_t)to, (uintptr_t)from, bytes);
    else if (is_on_device(t.kind))
        values_put((uintptr_t)to, from, bytes);
    else if (is_on_device(f.kind))
        values_get(to, (uintptr_t)from, bytes);
    else
        memmove(to, from, bytes);
}

/* Whether a copy may use the address. What a device gave out must still be in an allocation; any other address may be
 * the program's own memory, unless the copy says that it is the device's side. */
static bool is_usable(uint64_t addr, bool is_device_side)
{
    return cudasim_pointer(addr).kind != MEMORY_UNKNOWN || (!is_device_side && !cudasim_was_given(addr));
}

bool cudasim_is_within(uint64_t addr, uint64_t bytes)
{
    const struct cudasim_pointer p = cudasim_pointer(addr);
    return is_of_program(p.kind) || bytes <= p.bytes - (addr - p.base);
}

static bool are_rows_within(uint64_t addr, uint64_t pitch, uint64_t width, uint64_t height)
{
    uint64_t before, all;
    return !__builtin_mul_overflow(pitch, height - 1, &before) && !__builtin_add_overflow(before, width, &all) &&
           cudasim_is_within(addr, all);
}

static enum cudasim_code check_copy(const void *to, const void *from, enum cudasim_direction d)
{
    if (d < COPY_HOST_TO_HOST || d > COPY_ANY)
        return CODE_INVALID_DIRECTION;
    return to != NULL && from != NULL && is_usable((uintptr_t)to, d == COPY_TO_DEVICE || d == COPY_WITHIN_DEVICE) &&
                   is_usable((uintptr_t)from, d == COPY_FROM_DEVICE || d == COPY_WITHIN_DEVICE)
               ? CODE_SUCCESS : CODE_INVALID_VALUE;
}

enum cudasim_code cudasim_copy(void *to, const void *from, uint64_t bytes, enum cudasim_direction d, uint64_t stream)
{
    return cudasim_copy_2d(to, bytes, from, bytes, bytes, 1, d, stream);
}

enum cudasim_code cudasim_copy_2d(void *to, uint64_t to_pitch, const void *from, uint64_t from_pitch, uint64_t width,
                                  uint64_t height, enum cudasim_direction d, uint64_t stream)
{
    if (width == 0 || height == 0)
        return CODE_SUCCESS;
    if (width > to_pitch || width > from_pitch)
        return CODE_INVALID_PITCH;
    enum cudasim_code code = check_copy(to, from, d);
    if (code == CODE_SUCCESS && (!are_rows_within((uintptr_t)to, to_pitch, width, height) ||
                                 !are_rows_within((uintptr_t)from, from_pitch, width, height)))
        code = CODE_INVALID_VALUE;
    if (code == CODE_SUCCESS)
        code = cudasim_stream_work(stream, copy_time_ns(width * height), NODE_COPY);
    for (uint64_t row = 0; code == CODE_SUCCESS && row < height; row++)
        copy_bytes((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, stream);
    return code;
}

/* What a set does to memory; `bytes` of it are in one allocation. */
static void set_bytes(uint64_t to, unsigned value, unsigned value_bytes, uint64_t n)
{
    if (is_on_device(cudasim_pointer(to).kind))
        drop_values(to, n * value_bytes);
    else
        for (uint64_t i = 0; i < n; i++)
            memcpy((char *)(uintptr_t)to + i * value_bytes, &value, value_bytes);
}

enum cudasim_code cudasim_set_2d(uint64_t to, uint64_t pitch, unsigned value, unsigned value_bytes, uint64_t width,
                                 uint64_t height, uint64_t stream)
{
    const struct cudasim_pointer t = cudasim_pointer(to);
    uint64_t row, before, all;
    if (width == 0 || height == 0)
        return CODE_SUCCESS;
    if (t.kind == MEMORY_UNKNOWN || __builtin_mul_overflow(width, value_bytes, &row) || (height > 1 && row > pitch) ||
        __builtin_mul_overflow(pitch, height - 1, &before) || __builtin_add_overflow(before, row, &all) ||
        all > t.bytes - (to - t.base))
        return CODE_INVALID_VALUE;
    const enum cudasim_code code = cudasim_stream_work(stream, LAUNCH_NS, NODE_SET);
    for (uint64_t i = 0; code == CODE_SUCCESS && i < height; i++)
        set_bytes(to + i * pitch, value, value_bytes, width);
    return code;
}

enum cudasim_code cudasim_set(uint64_t to, unsigned value, unsigned value_bytes, uint64_t n, uint64_t stream)
{
    return cudasim_set_2d(to, 0, value, value_bytes, n, 1, stream);
}
