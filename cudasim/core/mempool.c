/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Memory pools: cudaMallocAsync and its relatives.
 *
 * A pool's memory is the policy `cuda-async` on the simulated device (policies/zoo/cuda_async.c): where a request lies,
 * and what the pool takes of the card, is decided there, as the driver answered. Here are handles, attributes, and when
 * a pool begins and ends. As CUDA documents, a pool gives back what exceeds its release threshold when the program next
 * waits for a stream, an event or the device.
 *
 * A pool that ended leaves its handle to the next one: a trace tells as many pools apart as there were at once.
 */
#include "cudasim/core/state.h"

#include "base/units.h"
#include "cudasim/core/graphs.h"
#include "cudasim/core/values.h"
#include "policies/zoo/cuda_async.h"

#include <stdlib.h>
#include <string.h>

enum { POOL_STREAMS_MAX = 4096 };    /* streams that a pool tells apart; all later ones count as one */

struct cudasim_pool {
    struct cudasim_handle handle;    /* first, so the two pointers convert */
    int      device;
    int      reuse[4];               /* POOL_REUSE_* as set; they change nothing here */
    uint64_t threshold_bytes;
    uint64_t reserved_bytes, reserved_high, used_bytes, used_high;
    struct policy *memory;           /* a cuda-async; NULL: nothing was asked for yet */
    bool     is_destroyed;           /* it ends when its last allocation is freed, as documented */
    struct cudasim_pool *next;       /* made before it */
};

static struct cudasim_pool *pools;   /* all that were ever made; HANDLE_POOL_ENDED: its handle is nobody's */

static struct cudasim_pool *pool_get(uint64_t name)
{
    return (struct cudasim_pool *)cudasim_handle_get(name, HANDLE_POOL);
}

/* ---- memory ---- */

/* Streams that pools have seen, by the number that they have there. */
static uint64_t pool_streams[POOL_STREAMS_MAX];
static uint16_t n_pool_streams;

/* Each device has special streams of its own; 0 and 1 are the same one. */
static uint64_t stream_key(int device, uint64_t stream)
{
    return stream >= HANDLES_FIRST ? stream : (uint64_t)device << 2 | (stream <= 1 ? 0 : stream);
}

/* n_pool_streams: no pool has seen it. */
static uint16_t stream_find(uint64_t key)
{
    uint16_t i = 0;
    while (i < n_pool_streams && pool_streams[i] != key)
        i++;
    return i;
}

static uint16_t stream_number(int device, uint64_t stream)
{
    const uint64_t key = stream_key(device, stream);
    const uint16_t found = stream_find(key);
    if (found < n_pool_streams)
        return found;
    if (n_pool_streams == POOL_STREAMS_MAX)
        return POOL_STREAMS_MAX - 1;
    pool_streams[n_pool_streams] = key;
    return n_pool_streams++;
}

/* The pool's memory has grown, or shrunk. */
static void pool_changed(struct cudasim_pool *p)
{
    const uint64_t was = p->reserved_bytes, is = p->memory == NULL ? 0 : cuda_async_reserved(p->memory);
    p->reserved_bytes = is;
    if (is > p->reserved_high)
        p->reserved_high = is;
    if (is != was)
        cudasim_note((struct call_record){ .kind = is > was ? CALL_SEGMENT : CALL_SEGMENT_FREE,
                                           .device = (uint8_t)p->device, .bytes = is > was ? is - was : was - is,
                                           .other = p->handle.name });
}

/* With the switch off, memory that one stream freed serves no other (cudaMemPoolReuseAllowOpportunistic). */
static bool pool_shares_streams(const struct cudasim_pool *p)
{
    return p->reuse[POOL_REUSE_OPPORTUNISTIC] != 0;
}

static enum cudasim_code pool_open(struct cudasim_pool *p)
{
    struct cudasim_device *d = &cudasim.devices[p->device];
    const struct cuda_async_settings settings = {
        .unit_bytes = CUDA_ASYNC_UNIT_BYTES, .threshold_bytes = p->threshold_bytes,
        .shares_streams = pool_shares_streams(p),
    };
    if (p->memory != NULL)
        return CODE_SUCCESS;
    const enum err e = cuda_async_open(d->device, POOL_STREAMS_MAX, 0, &settings, &p->memory);
    if (e != ERR_OK)
        return cudasim_code_of(e);
    const struct segment range = cuda_async_range(p->memory);
    if (range.bytes > d->end_addr - range.addr) {
        cuda_async_close(p->memory);
        p->memory = NULL;
        return CODE_OUT_OF_MEMORY;
    }
    cudasim_address_given(d, range.addr, range.bytes);
    return CODE_SUCCESS;
}

/* Gives the pool's memory back. */
static void pool_close(struct cudasim_pool *p)
{
    if (p->memory != NULL)
        cuda_async_close(p->memory);
    p->memory = NULL;
    pool_changed(p);
}

static void pool_end_if_unused(struct cudasim_pool *p)
{
    if (!p->is_destroyed || p->used_bytes != 0)
        return;
    pool_close(p);
    p->handle.kind = HANDLE_POOL_ENDED;
}

/* The program has waited, for a stream by its number or for POLICY_ALL_STREAMS. The journal gets what made a
 * difference, once for each device, before what its pools give back. */
static void pools_settle(int device, uint32_t number, uint64_t stream)
{
    bool is_noted = false;
    for (struct cudasim_pool *p = pools; p != NULL; p = p->next) {
        if (p->device != device || p->handle.kind != HANDLE_POOL || p->memory == NULL ||
            !cuda_async_sync(p->memory, number))
            continue;
        if (!is_noted)
            cudasim_note((struct call_record){ .kind = CALL_WAIT, .device = (uint8_t)device, .stream = stream,
                                               .other = number == POLICY_ALL_STREAMS });
        is_noted = true;
        pool_changed(p);
    }
}

void cudasim_pools_settle_stream(int device, uint64_t stream)
{
    const uint16_t number = stream_find(stream_key(device, stream));
    for (int i = 0; i < cudasim.n_devices && number < n_pool_streams; i++)   /* it may use pools of other devices */
        pools_settle(i, number, stream);
}

void cudasim_pools_settle_device(int device)
{
    pools_settle(device, POLICY_ALL_STREAMS, 0);
}

/* ---- pools ---- */

/* Makes a pool as new; it has no memory. */
static void pool_clear(struct cudasim_pool *p)
{
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
    pool_end_if_unused(p);
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

/* Tells the memory what was set. */
static void pool_set_memory(struct cudasim_pool *p)
{
    if (p->memory != NULL)
        cuda_async_set(p->memory, p->threshold_bytes, pool_shares_streams(p));
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
        pool_set_memory(p);
        return cudasim_end(CODE_SUCCESS);
    }
    memcpy(&number, value, sizeof number);
    if (attribute == POOL_RELEASE_THRESHOLD) {
        p->threshold_bytes = number;
        pool_set_memory(p);
    } else if (attribute == POOL_RESERVED_HIGH && number == 0)
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
    if (p->memory != NULL)
        cuda_async_trim(p->memory, keep_bytes);
    pool_changed(p);
    return cudasim_end(CODE_SUCCESS);
}

/* ---- requests ---- */

static void note_request(enum call_kind kind, const struct cudasim_pool *p, uint64_t addr, uint64_t bytes,
                         uint64_t stream)
{
    cudasim_note((struct call_record){ .kind = (uint8_t)kind, .space = CALL_SPACE_POOL, .device = (uint8_t)p->device,
                                       .addr = addr, .bytes = bytes, .stream = stream, .other = p->handle.name });
}

/* An allocation of a pool is no more. */
static void pool_forget(struct cudasim_pool *p, struct address_extent *e, uint64_t stream)
{
    struct cudasim_allocation *a = e->value;
    note_request(CALL_FREE, p, e->addr, a->bytes, stream);
    p->used_bytes -= a->bytes;
    values_drop(e->addr, e->bytes);
    address_map_remove(&cudasim.pointers, e);
    free(a);
}

/* OUT_OF_MEMORY: the host has none, and the allocation stays. */
static enum cudasim_code pool_free(struct cudasim_pool *p, struct address_extent *e, uint64_t stream)
{
    const struct cudasim_allocation *a = e->value;
    const struct event request = { .kind = EVENT_FREE, .stream = stream_number(p->device, stream) };
    policy_cuda_async.free(p->memory, &request, &a->block);
    const enum err failure = p->memory->failure;
    p->memory->failure = ERR_OK;
    if (failure == ERR_OK)
        pool_forget(p, e, stream);
    return cudasim_code_of(failure);
}

void cudasim_pools_reset(int device)
{
    struct address_extent *e;
    for (uint64_t addr = UINT64_MAX; (e = address_map_below(&cudasim.pointers, addr)) != NULL;) {
        const struct cudasim_allocation *a = e->value;
        addr = e->addr;
        if (a->device == device && a->pool != 0)
            pool_forget(pool_get(a->pool), e, 0);
    }
    for (struct cudasim_pool *p = pools; p != NULL; p = p->next) {
        if (p->handle.kind != HANDLE_POOL || p->device != device)
            continue;
        pool_close(p);
        pool_clear(p);
        pool_end_if_unused(p);                      /* one that was destroyed ends */
    }
}

static enum cudasim_code pool_alloc(struct cudasim_pool *p, uint64_t bytes, uint64_t stream, uint64_t *addr)
{
    const struct event request = { .kind = EVENT_ALLOC, .bytes = bytes, .stream = stream_number(p->device, stream) };
    struct cudasim_allocation *a = calloc(1, sizeof *a);
    enum cudasim_code code = a != NULL && address_map_reserve(&cudasim.pointers) ? pool_open(p) : CODE_OUT_OF_MEMORY;
    if (code == CODE_SUCCESS)
        code = cudasim_code_of(policy_cuda_async.alloc(p->memory, &request, &a->block));
    pool_changed(p);                                /* a refused request may leave it larger, too */
    if (code != CODE_SUCCESS) {
        free(a);
        note_request(CALL_OOM, p, 0, bytes, 0);
        return code;
    }
    a->kind = MEMORY_DEVICE;
    a->device = p->device;
    a->bytes = bytes;
    a->pool = p->handle.name;
    *addr = a->block.addr;
    address_map_put(&cudasim.pointers, *addr, bytes, a);
    p->used_bytes += bytes;
    if (p->used_bytes > p->used_high)
        p->used_high = p->used_bytes;
    note_request(CALL_ALLOC, p, *addr, bytes, stream);
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
    if (a == NULL || a->kind != MEMORY_DEVICE)
        return cudasim_end(CODE_INVALID_VALUE);
    struct cudasim_pool *p = a->pool == 0 ? NULL : pool_get(a->pool);
    if (p == NULL) {
        cudasim_segment_give(e);
        return cudasim_end(CODE_SUCCESS);
    }
    const enum cudasim_code freed = pool_free(p, e, stream);
    pool_end_if_unused(p);
    return cudasim_end(freed);
}
