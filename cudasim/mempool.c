/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Memory pools: cudaMallocAsync and its relatives.
 *
 * As CUDA documents, a pool may keep more memory than is in use. When the program next waits for a stream, an event or
 * the device, the pool gives back what exceeds its release threshold. How the driver divides a pool's memory is not
 * documented. Here each request is a segment of its own, which is kept whole for a later request of the same rounded
 * size.
 *
 * A pool that ended leaves its handle to the next one: a trace tells as many pools apart as there were at once.
 */
#include "cudasim/state.h"

#include "base/units.h"
#include "cudasim/graphs.h"

#include <stdlib.h>
#include <string.h>

struct kept_segment {
    uint64_t addr, bytes;            /* rounded to pages */
};

struct cudasim_pool {
    struct cudasim_handle handle;    /* first, so the two pointers convert */
    int      device;
    int      reuse[4];               /* POOL_REUSE_* as set; they change nothing here */
    uint64_t threshold_bytes;
    uint64_t reserved_bytes, reserved_high, used_bytes, used_high;
    struct kept_segment *kept;       /* freed but not given back to the card, oldest first */
    size_t   n_kept, cap_kept;
    bool     is_destroyed;           /* it ends when its last allocation is freed, as documented */
    struct cudasim_pool *next;       /* made before it */
};

static struct cudasim_pool *pools;   /* all that were ever made; HANDLE_POOL_ENDED: its handle is nobody's */

static struct cudasim_pool *pool_get(uint64_t name)
{
    return (struct cudasim_pool *)cudasim_handle_get(name, HANDLE_POOL);
}

static void pool_give_back(struct cudasim_pool *p, size_t i)
{
    cudasim_segment_give(address_map_at(&cudasim.pointers, p->kept[i].addr));
    p->reserved_bytes -= p->kept[i].bytes;
    memmove(p->kept + i, p->kept + i + 1, (p->n_kept - i - 1) * sizeof *p->kept);
    p->n_kept--;
}

static void pool_shrink(struct cudasim_pool *p, uint64_t keep_bytes)
{
    while (p->n_kept > 0 && p->reserved_bytes > keep_bytes)
        pool_give_back(p, 0);
    if (p->is_destroyed && p->used_bytes == 0)
        p->handle.kind = HANDLE_POOL_ENDED;
}

void cudasim_pools_settle(void)
{
    for (struct cudasim_pool *p = pools; p != NULL; p = p->next)
        if (p->handle.kind == HANDLE_POOL)
            pool_shrink(p, p->threshold_bytes);
}

/* Makes a pool as new; it has no memory. */
static void pool_clear(struct cudasim_pool *p)
{
    free(p->kept);
    *p = (struct cudasim_pool){ .handle = p->handle, .device = p->device, .is_destroyed = p->is_destroyed,
                                .next = p->next };
    p->reuse[POOL_REUSE_FOLLOW_EVENT] = p->reuse[POOL_REUSE_OPPORTUNISTIC] = p->reuse[POOL_REUSE_INTERNAL] = 1;
}

/* One that ended, or a new one; NULL without host memory. */
static struct cudasim_pool *pool_find_vacant(void)
{
    struct cudasim_pool *p = pools;
    while (p != NULL && p->handle.kind != HANDLE_POOL_ENDED)
        p = p->next;
    if (p != NULL)
        return p;
    p = calloc(1, sizeof *p);
    if (p == NULL || !cudasim_handle_put(&p->handle, HANDLE_POOL))
        return NULL;
    p->next = pools;
    pools = p;
    return p;
}

static enum cudasim_code pool_create(int device, uint64_t *pool)
{
    struct cudasim_pool *p = pool_find_vacant();
    if (p == NULL)
        return CODE_OUT_OF_MEMORY;
    p->handle.kind = HANDLE_POOL;
    p->device = device;
    p->is_destroyed = false;
    pool_clear(p);
    *pool = p->handle.name;
    return CODE_SUCCESS;
}

enum cudasim_code cudasim_pool_create(int device, uint64_t *pool)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    if (device < 0 || device >= cudasim.n_devices)
        return cudasim_end(CODE_INVALID_VALUE);
    return cudasim_end(pool_create(device, pool));
}

enum cudasim_code cudasim_pool_destroy(uint64_t pool)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_pool *p = pool_get(pool);
    if (p == NULL || p->is_destroyed || cudasim.devices[p->device].default_pool == pool)
        return cudasim_end(CODE_INVALID_VALUE);
    if (cudasim.devices[p->device].current_pool == pool)
        cudasim.devices[p->device].current_pool = cudasim.devices[p->device].default_pool;
    p->is_destroyed = true;
    pool_shrink(p, 0);
    return cudasim_end(CODE_SUCCESS);
}

/* The device's default pool, made at its first use. */
static enum cudasim_code pool_default(int device, uint64_t *pool)
{
    if (device < 0 || device >= cudasim.n_devices)
        return CODE_INVALID_DEVICE;
    struct cudasim_device *d = &cudasim.devices[device];
    const enum cudasim_code code = d->default_pool != 0 ? CODE_SUCCESS : pool_create(device, &d->default_pool);
    if (code == CODE_SUCCESS && d->current_pool == 0)
        d->current_pool = d->default_pool;
    *pool = d->default_pool;
    return code;
}

enum cudasim_code cudasim_pool_default(int device, uint64_t *pool)
{
    const enum cudasim_code code = cudasim_begin();
    return code != CODE_SUCCESS ? code : cudasim_end(pool_default(device, pool));
}

enum cudasim_code cudasim_pool_current(int device, uint64_t *pool)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    code = pool_default(device, pool);
    if (code == CODE_SUCCESS)
        *pool = cudasim.devices[device].current_pool;
    return cudasim_end(code);
}

enum cudasim_code cudasim_pool_set_current(int device, uint64_t pool)
{
    uint64_t unused;
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    code = pool_default(device, &unused);
    const struct cudasim_pool *p = pool_get(pool);
    if (code == CODE_SUCCESS && (p == NULL || p->device != device))
        code = CODE_INVALID_VALUE;
    if (code == CODE_SUCCESS)
        cudasim.devices[device].current_pool = pool;
    return cudasim_end(code);
}

/* The attributes of 64 bits; the reuse switches are ints. */
static uint64_t *pool_number(struct cudasim_pool *p, int attribute)
{
    switch (attribute) {
    case POOL_RELEASE_THRESHOLD: return &p->threshold_bytes;
    case POOL_RESERVED_CURRENT:  return &p->reserved_bytes;
    case POOL_RESERVED_HIGH:     return &p->reserved_high;
    case POOL_USED_CURRENT:      return &p->used_bytes;
    case POOL_USED_HIGH:         return &p->used_high;
    default:                     return NULL;
    }
}

enum cudasim_code cudasim_pool_get(uint64_t pool, int attribute, void *value)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_pool *p = pool_get(pool);
    const bool is_switch = attribute >= POOL_REUSE_FOLLOW_EVENT && attribute <= POOL_REUSE_INTERNAL;
    const uint64_t *number = p == NULL ? NULL : pool_number(p, attribute);
    if (p == NULL || value == NULL || (!is_switch && number == NULL))
        return cudasim_end(CODE_INVALID_VALUE);
    if (is_switch)
        memcpy(value, &p->reuse[attribute], sizeof p->reuse[0]);
    else
        memcpy(value, number, sizeof *number);
    return cudasim_end(CODE_SUCCESS);
}

/* High-water marks can only be set to 0, which restarts them. */
enum cudasim_code cudasim_pool_set(uint64_t pool, int attribute, const void *value)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_pool *p = pool_get(pool);
    uint64_t number = 0;
    if (p == NULL || value == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    if (attribute >= POOL_REUSE_FOLLOW_EVENT && attribute <= POOL_REUSE_INTERNAL) {
        memcpy(&p->reuse[attribute], value, sizeof p->reuse[0]);
        return cudasim_end(CODE_SUCCESS);
    }
    memcpy(&number, value, sizeof number);
    if (attribute == POOL_RELEASE_THRESHOLD)
        p->threshold_bytes = number;
    else if (attribute == POOL_RESERVED_HIGH && number == 0)
        p->reserved_high = p->reserved_bytes;
    else if (attribute == POOL_USED_HIGH && number == 0)
        p->used_high = p->used_bytes;
    else
        code = CODE_INVALID_VALUE;
    return cudasim_end(code);
}

enum cudasim_code cudasim_pool_trim(uint64_t pool, uint64_t keep_bytes)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_pool *p = pool_get(pool);
    if (p == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    pool_shrink(p, keep_bytes);
    return cudasim_end(CODE_SUCCESS);
}

static void note_free(const struct cudasim_pool *p, const struct address_extent *e, uint64_t stream)
{
    const struct cudasim_allocation *a = e->value;
    cudasim_note((struct call_record){ .kind = CALL_FREE, .space = CALL_SPACE_POOL, .device = (uint8_t)p->device,
                                       .addr = e->addr, .bytes = a->bytes, .stream = stream, .other = a->pool });
}

void cudasim_pools_reset(int device)
{
    struct address_extent *e;
    for (uint64_t addr = UINT64_MAX; (e = address_map_below(&cudasim.pointers, addr)) != NULL;) {
        const struct cudasim_allocation *a = e->value;
        addr = e->addr;
        if (a->device != device || a->pool == 0)
            continue;
        if (a->bytes != 0)                          /* not freed yet */
            note_free(pool_get(a->pool), e, 0);
        cudasim_segment_give(e);
    }
    for (struct cudasim_pool *p = pools; p != NULL; p = p->next) {
        if (p->handle.kind != HANDLE_POOL || p->device != device)
            continue;
        pool_clear(p);
        pool_shrink(p, 0);                          /* one that was destroyed ends */
    }
}

static size_t pool_find_kept(const struct cudasim_pool *p, uint64_t page_bytes)
{
    size_t i = 0;
    while (i < p->n_kept && p->kept[i].bytes != page_bytes)
        i++;
    return i;
}

/* A kept segment of that size, else a new one, if need be after giving back what is kept. */
static enum cudasim_code pool_take(struct cudasim_pool *p, uint64_t bytes, uint64_t *addr)
{
    const uint64_t page_bytes = align_up(bytes, DEVICE_PAGE_BYTES);
    const size_t kept = pool_find_kept(p, page_bytes);
    if (kept < p->n_kept) {
        *addr = p->kept[kept].addr;
        memmove(p->kept + kept, p->kept + kept + 1, (p->n_kept - kept - 1) * sizeof *p->kept);
        p->n_kept--;
        return CODE_SUCCESS;
    }
    enum cudasim_code code = cudasim_segment_take(p->device, page_bytes, p->handle.name, addr);
    if (code == CODE_OUT_OF_MEMORY && p->n_kept > 0) {
        pool_shrink(p, 0);
        code = cudasim_segment_take(p->device, page_bytes, p->handle.name, addr);
    }
    if (code == CODE_SUCCESS)
        p->reserved_bytes += page_bytes;
    return code;
}

static bool pool_reserve_kept(struct cudasim_pool *p)
{
    if (p->n_kept < p->cap_kept)
        return true;
    const size_t cap = p->cap_kept == 0 ? 64 : 2 * p->cap_kept;
    struct kept_segment *kept = realloc(p->kept, cap * sizeof *kept);
    if (kept == NULL)
        return false;
    p->kept = kept;
    p->cap_kept = cap;
    return true;
}

static enum cudasim_code pool_alloc(struct cudasim_pool *p, uint64_t bytes, uint64_t stream, uint64_t *addr)
{
    if (bytes > UINT64_MAX - DEVICE_PAGE_BYTES)
        return CODE_OUT_OF_MEMORY;
    const enum cudasim_code code = pool_take(p, bytes, addr);
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_allocation *a = address_map_at(&cudasim.pointers, *addr)->value;
    a->bytes = bytes;
    p->used_bytes += bytes;
    if (p->used_bytes > p->used_high)
        p->used_high = p->used_bytes;
    if (p->reserved_bytes > p->reserved_high)
        p->reserved_high = p->reserved_bytes;
    cudasim_note((struct call_record){ .kind = CALL_ALLOC, .space = CALL_SPACE_POOL, .device = (uint8_t)p->device,
                                       .addr = *addr, .bytes = bytes, .stream = stream, .other = p->handle.name });
    return CODE_SUCCESS;
}

enum cudasim_code cudasim_malloc_async(uint64_t bytes, uint64_t pool, uint64_t stream, uint64_t *addr)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const int device = cudasim_stream_device(stream);
    uint64_t name = pool;
    if (device < 0)
        return cudasim_end(CODE_INVALID_HANDLE);
    if (name == 0 && (code = pool_default(device, &name)) == CODE_SUCCESS)
        name = cudasim.devices[device].current_pool;
    struct cudasim_pool *p = pool_get(name);
    struct cudasim_graph *graph = cudasim_captured_graph(stream);
    if (code == CODE_SUCCESS && (p == NULL || p->is_destroyed || bytes == 0))
        code = CODE_INVALID_VALUE;
    if (code == CODE_SUCCESS)                       /* a captured one becomes a node, whose memory is the graphs' */
        code = graph != NULL ? graph_add_alloc(graph, p->device, bytes, addr) : pool_alloc(p, bytes, stream, addr);
    return cudasim_end(code);
}

enum cudasim_code cudasim_free_async(uint64_t addr, uint64_t stream)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct address_extent *e = address_map_at(&cudasim.pointers, addr);
    struct cudasim_allocation *a = e == NULL ? NULL : e->value;
    struct cudasim_graph *graph = cudasim_captured_graph(stream);
    if (graph != NULL)
        return cudasim_end(graph_add_free(graph, addr));
    if (a != NULL && a->kind == MEMORY_GRAPH)
        return cudasim_end(graph_memory_free(e, stream));
    if (a == NULL || a->kind != MEMORY_DEVICE || a->bytes == 0)
        return cudasim_end(CODE_INVALID_VALUE);
    struct cudasim_pool *p = a->pool == 0 ? NULL : pool_get(a->pool);
    if (p == NULL) {
        cudasim_segment_give(e);
        return cudasim_end(CODE_SUCCESS);
    }
    if (!pool_reserve_kept(p))
        return cudasim_end(CODE_OUT_OF_MEMORY);
    note_free(p, e, stream);
    p->used_bytes -= a->bytes;
    a->bytes = 0;                                   /* kept: freeing it again is refused */
    p->kept[p->n_kept++] = (struct kept_segment){ .addr = addr, .bytes = e->bytes };
    if (p->is_destroyed)
        pool_shrink(p, 0);
    return cudasim_end(CODE_SUCCESS);
}
