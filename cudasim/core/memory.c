/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Memory of the simulated CUDA: device segments, host memory, copies.
 *
 * Host and managed memory is real. Managed memory stays on the host, where it is until a kernel touches it, and takes
 * nothing of a device.
 */
#include "cudasim/core/state.h"

#include "base/units.h"
#include "cudasim/core/graphs.h"
#include "cudasim/core/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* On the virtual clock copies run at 25 GB/s, as measured for large pinned copies over PCI Express 4.0 x16. */
static uint64_t copy_time_ns(uint64_t bytes)
{
    return LAUNCH_NS + bytes / 25;
}

/* A segment of the device as an allocation. The lock is held. */
static enum cudasim_code segment_take(int device, uint64_t bytes, uint64_t *addr)
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
        cudasim_note((struct call_record){ .kind = CALL_OOM, .space = CALL_SPACE_DEVICE, .device = (uint8_t)device,
                                           .bytes = bytes });
        return cudasim_code_of(e);
    }
    a->kind = MEMORY_DEVICE;
    a->device = device;
    a->bytes = bytes;
    a->number = d->numbers++;
    *addr = a->segment.addr;
    cudasim_address_given(d, *addr, bytes);
    address_map_put(&cudasim.pointers, *addr, bytes, a);
    cudasim_note((struct call_record){ .kind = CALL_ALLOC, .device = (uint8_t)device, .addr = *addr, .bytes = bytes });
    return CODE_SUCCESS;
}

void cudasim_segment_give(struct address_extent *e)
{
    struct cudasim_allocation *a = e->value;
    cudasim_note((struct call_record){ .kind = CALL_FREE, .device = (uint8_t)a->device, .addr = e->addr,
                                       .bytes = e->bytes });
    cudasim_ipc_withdraw(a->share);
    device_segment_free(cudasim.devices[a->device].device, &a->segment);
    values_drop(e->addr, e->bytes);
    address_map_remove(&cudasim.pointers, e);
    free(a);
}

void cudasim_segments_reset(int device)
{
    struct address_extent *e;
    for (uint64_t addr = UINT64_MAX; (e = address_map_below(&cudasim.pointers, addr)) != NULL;) {
        const struct cudasim_allocation *a = e->value;
        addr = e->addr;
        if (a->device == device && a->kind == MEMORY_DEVICE)
            cudasim_segment_give(e);
    }
}

enum cudasim_code cudasim_malloc(uint64_t bytes, uint64_t *addr)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    return cudasim_end(segment_take(cudasim_current_device(), bytes, addr));
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

/* Whether all pages of a range are mapped, so that a card could reach them. msync looks at each, and MS_ASYNC starts
 * nothing. */
static bool is_mapped(uint64_t addr, uint64_t bytes)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), before = addr % page_bytes;
    return bytes <= PTRDIFF_MAX - page_bytes && addr <= UINT64_MAX - bytes &&
           msync((void *)(uintptr_t)(addr - before), before + bytes, MS_ASYNC) == 0;
}

enum cudasim_code cudasim_host_register(void *p, uint64_t bytes)
{
    const uint64_t addr = (uintptr_t)p;
    if (p == NULL || bytes == 0 || !is_mapped(addr, bytes))
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

/* The lock is held. */
static struct cudasim_pointer pointer_at(uint64_t addr)
{
    const struct address_extent *e = address_map_find(&cudasim.pointers, addr);
    if (e == NULL)
        return (struct cudasim_pointer){ .kind = MEMORY_UNKNOWN, .device = -1 };
    const struct cudasim_allocation *a = e->value;
    return (struct cudasim_pointer){ .kind = a->kind, .base = e->addr, .bytes = e->bytes, .device = a->device,
                                     .pool = a->pool, .number = a->number };
}

struct cudasim_pointer cudasim_pointer(uint64_t addr)
{
    if (cudasim_begin() != CODE_SUCCESS)
        return (struct cudasim_pointer){ .kind = MEMORY_UNKNOWN, .device = -1 };
    const struct cudasim_pointer p = pointer_at(addr);
    cudasim_unlock();
    return p;
}

uint64_t cudasim_segment(uint64_t addr, uint64_t *offset)
{
    const struct cudasim_pointer p = cudasim_pointer(addr);
    if (p.kind != MEMORY_DEVICE && p.kind != MEMORY_RANGE)
        return UINT64_MAX;
    *offset = addr - p.base;
    return p.number;
}

/* ---- copies and sets ----
 *
 * The lock is held from the check to the last byte: memory that another thread frees meanwhile is there, or is refused.
 */

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

/* One side of a copy of rows. */
struct rows {
    char    *p;
    uint64_t pitch;
    bool     is_device_side;         /* the copy says so */
    enum cudasim_memory_kind kind;
};

/* Whether a copy may use the address. What a device gave out must still be in an allocation; any other address may be
 * the program's own memory, unless the copy says that it is the device's side. */
static bool is_usable(const struct rows *s)
{
    return s->kind != MEMORY_UNKNOWN || (!s->is_device_side && !cudasim_was_given((uintptr_t)s->p));
}

/* Whether bytes lie in their allocation. The program's own memory is its own affair. */
static bool is_within(uint64_t addr, uint64_t bytes)
{
    const struct cudasim_pointer p = pointer_at(addr);
    return is_of_program(p.kind) || bytes <= p.bytes - (addr - p.base);
}

bool cudasim_is_within(uint64_t addr, uint64_t bytes)
{
    cudasim_lock();
    const bool is_so = is_within(addr, bytes);
    cudasim_unlock();
    return is_so;
}

static bool are_rows_within(uint64_t addr, uint64_t pitch, uint64_t width, uint64_t height)
{
    uint64_t before, all;
    return !__builtin_mul_overflow(pitch, height - 1, &before) && !__builtin_add_overflow(before, width, &all) &&
           is_within(addr, all);
}

static bool is_side_valid(const struct rows *s, uint64_t width, uint64_t height)
{
    return s->p != NULL && is_usable(s) && are_rows_within((uintptr_t)s->p, s->pitch, width, height);
}

/* What a copy does to memory. All device addresses are known, so an unknown address is the host's. A captured copy is
 * done when its graph runs: until then nobody knows what is there. */
static void copy_rows(const struct rows *to, const struct rows *from, uint64_t width, uint64_t height, bool is_captured)
{
    const bool is_to = is_on_device(to->kind), is_from = is_on_device(from->kind);
    for (uint64_t row = 0; row < height; row++) {
        char *t = to->p + row * to->pitch, *f = from->p + row * from->pitch;
        if (is_to && is_captured)
            values_drop((uintptr_t)t, width);
        else if (is_to && is_from)
            values_copy((uintptr_t)t, (uintptr_t)f, width);
        else if (is_to)
            values_put((uintptr_t)t, f, width);
        else if (is_from)
            values_get(t, (uintptr_t)f, width);
        else
            memmove(t, f, width);
    }
}

enum cudasim_code cudasim_copy(void *to, const void *from, uint64_t bytes, enum cudasim_direction d, uint64_t stream)
{
    return cudasim_copy_2d(to, bytes, from, bytes, bytes, 1, d, stream);
}

enum cudasim_code cudasim_copy_2d(void *to, uint64_t to_pitch, const void *from, uint64_t from_pitch, uint64_t width,
                                  uint64_t height, enum cudasim_direction d, uint64_t stream)
{
    struct rows t = { .p = to, .pitch = to_pitch };
    struct rows f = { .p = (char *)(uintptr_t)from, .pitch = from_pitch };
    if (width == 0 || height == 0)
        return CODE_SUCCESS;
    if (width > to_pitch || width > from_pitch)
        return CODE_INVALID_PITCH;
    if (d < COPY_HOST_TO_HOST || d > COPY_ANY)
        return CODE_INVALID_DIRECTION;
    if (height == 1 && d >= COPY_FROM_DEVICE)
        values_ask((uintptr_t)from, width);
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    t.is_device_side = d == COPY_TO_DEVICE || d == COPY_WITHIN_DEVICE;
    f.is_device_side = d == COPY_FROM_DEVICE || d == COPY_WITHIN_DEVICE;
    t.kind = pointer_at((uintptr_t)to).kind;
    f.kind = pointer_at((uintptr_t)from).kind;
    if (!is_side_valid(&t, width, height) || !is_side_valid(&f, width, height))
        return cudasim_end(CODE_INVALID_VALUE);
    code = cudasim_work(stream, copy_time_ns(width * height), NODE_COPY);
    const bool is_captured = cudasim_captured_graph(stream) != NULL;
    const bool is_ours = !is_of_program(t.kind) || !is_of_program(f.kind);
    if (code == CODE_SUCCESS && is_ours)
        copy_rows(&t, &f, width, height, is_captured);
    cudasim_unlock();
    if (code == CODE_SUCCESS && !is_ours)            /* the program's memory needs no lock, and may be much */
        copy_rows(&t, &f, width, height, is_captured);
    return code;
}

/* What a set does to memory of this kind. */
static void set_bytes(enum cudasim_memory_kind kind, uint64_t to, unsigned value, unsigned value_bytes, uint64_t n)
{
    if (is_on_device(kind))
        values_drop(to, n * value_bytes);
    else
        for (uint64_t i = 0; i < n; i++)
            memcpy((char *)(uintptr_t)to + i * value_bytes, &value, value_bytes);
}

enum cudasim_code cudasim_set_2d(uint64_t to, uint64_t pitch, unsigned value, unsigned value_bytes, uint64_t width,
                                 uint64_t height, uint64_t stream)
{
    uint64_t row, before, all;
    if (width == 0 || height == 0)
        return CODE_SUCCESS;
    if (__builtin_mul_overflow(width, value_bytes, &row) || (height > 1 && row > pitch) ||
        __builtin_mul_overflow(pitch, height - 1, &before) || __builtin_add_overflow(before, row, &all))
        return CODE_INVALID_VALUE;
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const struct cudasim_pointer t = pointer_at(to);
    if (t.kind == MEMORY_UNKNOWN || all > t.bytes - (to - t.base))
        return cudasim_end(CODE_INVALID_VALUE);
    code = cudasim_work(stream, LAUNCH_NS, NODE_SET);
    for (uint64_t i = 0; code == CODE_SUCCESS && i < height; i++)
        set_bytes(t.kind, to + i * pitch, value, value_bytes, width);
    return cudasim_end(code);
}

enum cudasim_code cudasim_set(uint64_t to, unsigned value, unsigned value_bytes, uint64_t n, uint64_t stream)
{
    return cudasim_set_2d(to, 0, value, value_bytes, n, 1, stream);
}
