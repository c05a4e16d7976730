/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * mps: PyTorch's allocator for Apple's cards, as its source describes it (aten/src/ATen/mps/MPSAllocator.h and .mm),
 * and not compared with a Mac.
 *
 * Buffers lie in heaps, which Metal gives. Those of at most 1 MiB share heaps of 8 MiB, those below 10 MiB heaps of 32
 * MiB, and those below 512 MiB heaps of 1 GiB; a larger one, or any large one under pressure, has a heap of its own in
 * steps of 2 MiB.
 *
 *     heap of 32 MiB   [ buffer ][ cached buffer ][ buffer ][ room            ]
 *
 * A freed buffer stays one: it is neither cut nor joined, and serves a request of its pool (small or large) that is at
 * most 32 MiB smaller, the smallest first. A larger one is made room again for a smaller request, if no heap has room.
 * Pressure: what is held has reached the low limit. Then cached large buffers that waited longer than the average are
 * made room, until so much is gone as was above that limit.
 *
 * A request is refused if it and what is held come to more than the high limit, even if a cached buffer would serve it.
 * A heap made for it is not counted, so a heap of 1 GiB may bring what is held far above the limit. After a refusal
 * cached buffers are given back, first as many as suffice, then all; with the last of a heap the heap goes. A heap that
 * became empty when its buffers were made room stays, and serves later requests. Streams share.
 *
 * Not known of Metal, and so assumed: that buffers are rounded up to 256 bytes, and that a new one lies in the smallest
 * room that suffices, of whichever heap (PyTorch takes the heap whose largest room is the least that suffices). Not
 * modelled: buffers that a command still uses, the pool for scalars, and memory that the system swaps out.
 */
#include "policies/parts/free_set.h"
#include "policies/parts/heap.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MPS_SMALL, MPS_LARGE, MPS_POOLS };

#define MPS_SMALL_MOST   (1 * MIB)
#define MPS_SMALL_HEAP   (8 * MIB)
#define MPS_LARGE_HEAP   (32 * MIB)       /* also how much larger a cached buffer may be than a request */
#define MPS_LARGE_LEAST  (10 * MIB)       /* from which on a request gets the largest heaps */
#define MPS_XLARGE_HEAP  (1 * GIB)
#define MPS_OWN_UNIT     (2 * MIB)

struct mps {
    struct policy   base;                 /* first, so the two pointers convert */
    struct upstream upstream;
    struct heap     heap;                 /* each piece is one of Metal's heaps; of its blocks those that are not
                                           * allocated are cached if something was requested of them, otherwise room */
    struct free_set cached, room;         /* a stream of these is a pool */
    uint64_t        align, low, high;
    uint64_t        active_bytes, cached_bytes[MPS_POOLS];
    uint64_t        n_searches;           /* of the large pool's cached buffers */
    uint64_t       *born;                 /* of a cached buffer by block: searches before it was freed */
    uint32_t       *aged;                 /* room for all blocks */
    size_t          n_born;
};

enum { MPS_ALIGN, MPS_LOW, MPS_HIGH, MPS_UPSTREAM };

static const struct policy_option mps_options[] = {
    [MPS_ALIGN] = {"align", OPTION_BYTES, 1, 65536, "256", "bytes", "what Metal rounds a buffer up to (assumed)"},
    [MPS_LOW] = {"low", OPTION_BYTES, 0, INT64_MAX, NULL, "bytes",
                 "held from which on there is pressure; without it 1.4 times two thirds of the card "
                 "(PYTORCH_MPS_LOW_WATERMARK_RATIO)"},
    [MPS_HIGH] = {"high", OPTION_BYTES, 0, INT64_MAX, NULL, "bytes",
                  "most that what is held and a request may come to, a new heap not counted; without it 1.7 times two "
                  "thirds of the card (PYTORCH_MPS_HIGH_WATERMARK_RATIO)"},
    [MPS_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void mps_destroy(struct policy *p)
{
    struct mps *m = (struct mps *)p;
    free_set_close(&m->cached);
    free_set_close(&m->room);
    heap_close(&m->heap);
    upstream_close(&m->upstream);
    free(m->born);
    free(m->aged);
    free(m);
}

/* What Metal recommends is two thirds of a small machine, and three quarters of a large one. */
static void mps_take_limits(struct mps *m, const struct policy_config *cfg)
{
    const struct option_value *v = cfg->values;
    uint64_t free_bytes, total_bytes;
    device_memory_info(cfg->device, &free_bytes, &total_bytes);
    const bool is_endless = total_bytes == DEVICE_UNLIMITED;
    const double recommended = (double)total_bytes * 2 / 3;
    m->align = v[MPS_ALIGN].number;
    m->low = v[MPS_LOW].is_set ? v[MPS_LOW].number : is_endless ? UINT64_MAX : (uint64_t)(1.4 * recommended);
    m->high = v[MPS_HIGH].is_set ? v[MPS_HIGH].number : is_endless ? UINT64_MAX : (uint64_t)(1.7 * recommended);
}

static enum err mps_open_sets(struct mps *m)
{
    struct free_set *const sets[] = { &m->cached, &m->room };
    enum err e = ERR_OK;
    for (size_t i = 0; i < 2 && e == ERR_OK; i++) {
        e = free_set_open(sets[i], &m->heap.blocks, NULL, MPS_POOLS);
        for (uint16_t pool = 0; pool < MPS_POOLS && e == ERR_OK; pool++)
            e = free_set_add_stream(sets[i], pool);
    }
    return e;
}

static enum err mps_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct mps *m = calloc(1, sizeof *m);
    if (m == NULL)
        return err_no_memory(err);
    mps_take_limits(m, cfg);
    enum err e = upstream_open(&m->upstream, cfg, &cfg->values[MPS_UPSTREAM], err);
    if (e == ERR_OK)
        e = heap_open(&m->heap, &m->upstream, cfg->peak_live);
    m->heap.order = HEAP_BY_AGE;          /* of equal sizes PyTorch takes the lowest address, which is Metal's choice */
    if (e == ERR_OK)
        e = mps_open_sets(m);
    if (e != ERR_OK)
        mps_destroy(&m->base);
    else
        *out = &m->base;
    return e;
}

/* ---- cached buffers become room ---- */

static bool mps_is_room(const struct mps *m, uint32_t b)
{
    const struct block_entry *e = heap_at(&m->heap, b);
    return b != BLOCK_NONE && (e->flags & BLOCK_IS_ALLOCATED) == 0 && e->requested == 0;
}

/* The buffer goes back to its heap, and the heap to Metal if it is empty then and may go. */
static void mps_release(struct mps *m, uint32_t b, bool may_give_back)
{
    struct block_entry *e = heap_at(&m->heap, b);
    free_set_remove(&m->cached, b);
    m->cached_bytes[e->stream] -= e->size;
    e->requested = 0;
    for (int front = 1; front >= 0; front--) {
        const uint32_t neighbour = front ? e->prev : e->next;
        if (!mps_is_room(m, neighbour))
            continue;
        free_set_remove(&m->room, neighbour);
        heap_swallow(&m->heap, b, front, false);
    }
    if (may_give_back && heap_is_whole(&m->heap, b))
        heap_give_back(&m->heap, b);
    else
        free_set_insert(&m->room, b);
}

static uint32_t mps_first_cached(const struct mps *m, uint16_t pool)
{
    return free_set_at_least(&m->cached, pool, 1);
}

static void mps_flush(struct policy *p, uint32_t stream)
{
    struct mps *m = (struct mps *)p;
    (void)stream;
    for (uint16_t pool = 0; pool < MPS_POOLS; pool++)
        for (uint32_t b; (b = mps_first_cached(m, pool)) != BLOCK_NONE;)
            mps_release(m, b, true);
}

/* release_available_cached_buffers: the smallest that is large enough, or the largest ones until they suffice together.
 * False: they do not. */
static bool mps_release_enough(struct mps *m, uint16_t pool, uint64_t bytes)
{
    uint64_t released = 0;
    uint32_t b = free_set_at_least(&m->cached, pool, bytes);
    if (b != BLOCK_NONE) {
        mps_release(m, b, true);
        return true;
    }
    while (released < bytes && (b = free_set_below(&m->cached, pool, UINT64_MAX)) != BLOCK_NONE) {
        released += heap_at(&m->heap, b)->size;
        mps_release(m, b, true);
    }
    return released >= bytes;
}

/* A buffer with a heap of its own, which goes with it when garbage is collected. */
static bool mps_has_own_heap(const struct mps *m, uint32_t b)
{
    const uint64_t heap = m->heap.pieces[heap_at(&m->heap, b)->segment].bytes;
    return heap != MPS_SMALL_HEAP && heap != MPS_LARGE_HEAP &&
           (heap != MPS_XLARGE_HEAP || heap_at(&m->heap, b)->size >= MPS_XLARGE_HEAP / 2);
}

/* The cached buffers of the large pool in order, and the sum of their ages. */
static size_t mps_list_cached(struct mps *m, double *total_age)
{
    size_t n = 0;
    *total_age = 0;
    for (uint32_t b = free_set_next_large(&m->cached, BLOCK_NONE, MPS_SMALL_MOST + 1); b != BLOCK_NONE;
         b = free_set_next_large(&m->cached, b, MPS_SMALL_MOST + 1)) {
        m->aged[n++] = b;
        *total_age += (double)(m->n_searches - m->born[b]);
    }
    return n;
}

/* garbage_collect_cached_buffers: rounds over those that are at least as old as the average of the ones left. */
static void mps_collect(struct mps *m)
{
    const uint64_t target = m->heap.held_bytes - m->low;
    double total_age;
    uint64_t reclaimed = 0;
    size_t n = mps_list_cached(m, &total_age), n_left = n;
    for (bool is_freed = true; is_freed && n_left > 0 && reclaimed < target; n = n_left) {
        const double threshold = total_age / (double)n_left;
        is_freed = false;
        n_left = 0;
        for (size_t i = 0; i < n; i++) {
            const uint32_t b = m->aged[i];
            const double age = (double)(m->n_searches - m->born[b]);
            if (age < threshold || reclaimed >= target) {
                m->aged[n_left++] = b;
                continue;
            }
            is_freed = true;
            reclaimed += heap_at(&m->heap, b)->size;
            total_age -= age;
            mps_release(m, b, mps_has_own_heap(m, b));
        }
    }
}

/* ---- requests ---- */

/* get_free_buffer; BLOCK_NONE: a new one is to be made. */
static uint32_t mps_find(struct mps *m, uint16_t pool, uint64_t bytes, bool *is_pressed)
{
    if (add_capped(m->heap.held_bytes, bytes) > m->high)
        return BLOCK_NONE;
    m->n_searches += pool == MPS_LARGE;
    const uint32_t b = free_set_at_least(&m->cached, pool, bytes);
    if (b == BLOCK_NONE)
        return BLOCK_NONE;
    if (heap_at(&m->heap, b)->size <= bytes + MPS_LARGE_HEAP) {
        m->cached_bytes[pool] -= heap_at(&m->heap, b)->size;
        free_set_remove(&m->cached, b);
        return b;
    }
    if (free_set_at_least(&m->room, pool, bytes) == BLOCK_NONE) {
        mps_release(m, b, false);
        *is_pressed = false;
    }
    return BLOCK_NONE;
}

static uint64_t mps_heap_bytes(uint64_t bytes, bool is_pressed)
{
    if (bytes <= MPS_SMALL_MOST)
        return MPS_SMALL_HEAP;
    if (bytes < MPS_LARGE_LEAST)
        return MPS_LARGE_HEAP;
    return bytes < MPS_XLARGE_HEAP / 2 && !is_pressed ? MPS_XLARGE_HEAP : round_up(bytes, MPS_OWN_UNIT);
}

/* alloc_buffer: from room of a heap, or of a new one. */
static enum err mps_make(struct mps *m, uint16_t pool, uint64_t bytes, bool is_pressed, uint32_t *out)
{
    enum err e = block_table_reserve(&m->heap.blocks, 3);
    if (e != ERR_OK || add_capped(m->heap.held_bytes, bytes) > m->high)
        return e != ERR_OK ? e : ERR_DEVICE_OOM;
    uint32_t b = free_set_at_least(&m->room, pool, bytes);
    if (b != BLOCK_NONE)
        free_set_remove(&m->room, b);
    else if ((e = heap_grow(&m->heap, mps_heap_bytes(bytes, is_pressed), pool, &b)) != ERR_OK)
        return e;
    *out = b;
    if (heap_at(&m->heap, b)->size > bytes) {
        *out = block_split_front(&m->heap.blocks, b, bytes, (struct tie_kind){ .has_numbers = false });
        free_set_insert(&m->room, b);
    }
    return ERR_OK;
}

static enum err mps_make_at_last(struct mps *m, uint16_t pool, uint64_t bytes, bool is_pressed, uint32_t *out)
{
    enum err e = mps_make(m, pool, bytes, is_pressed, out);
    if (e == ERR_DEVICE_OOM && mps_release_enough(m, pool, bytes)) {
        m->base.count.retries++;
        e = mps_make(m, pool, bytes, is_pressed, out);
    }
    if (e != ERR_DEVICE_OOM)
        return e;
    mps_flush(&m->base, POLICY_ALL_STREAMS);
    m->base.count.retries++;
    return mps_make(m, pool, bytes, is_pressed, out);
}

/* Room for what is noted of each block, so that a free needs none. */
static enum err mps_note_blocks(struct mps *m)
{
    const size_t n = m->heap.blocks.cap;
    if (n <= m->n_born)
        return ERR_OK;
    uint64_t *born = realloc(m->born, n * sizeof *born);
    m->born = born != NULL ? born : m->born;
    uint32_t *aged = realloc(m->aged, n * sizeof *aged);
    m->aged = aged != NULL ? aged : m->aged;
    if (born == NULL || aged == NULL)
        return ERR_HOST_NOMEM;
    m->n_born = n;
    return ERR_OK;
}

static enum err mps_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct mps *m = (struct mps *)p;
    if (req->bytes > INT64_MAX)
        return ERR_DEVICE_OOM;
    const uint64_t bytes = (req->bytes + m->align - 1) / m->align * m->align;
    const uint16_t pool = bytes > MPS_SMALL_MOST;
    bool is_pressed = pool == MPS_LARGE && m->heap.held_bytes >= m->low;
    enum err e = block_table_reserve(&m->heap.blocks, 3);
    if (e != ERR_OK || (e = mps_note_blocks(m)) != ERR_OK)
        return e;
    uint32_t b = mps_find(m, pool, bytes, &is_pressed);
    if (b != BLOCK_NONE) {
        p->count.hits++;
    } else {
        if (is_pressed && bytes < m->cached_bytes[pool] && m->heap.held_bytes > m->low)
            mps_collect(m);
        if ((e = mps_make_at_last(m, pool, bytes, is_pressed, &b)) != ERR_OK)
            return e;
        p->count.misses++;
    }
    m->active_bytes += heap_at(&m->heap, b)->size;
    heap_take(&m->heap, b, req->bytes, out);
    return ERR_OK;
}

static void mps_free(struct policy *p, const struct event *req, const struct block *block)
{
    struct mps *m = (struct mps *)p;
    struct block_entry *b = heap_at(&m->heap, block->cookie);
    (void)req;
    m->active_bytes -= b->size;
    m->cached_bytes[b->stream] += b->size;
    m->born[block->cookie] = m->n_searches;
    heap_free(&m->heap, block->cookie);
    free_set_insert(&m->cached, block->cookie);
}

/* ---- reports ---- */

static enum err mps_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct mps *)p)->heap;
    return heaps_walk(&heap, 1, visit, arg);
}

static uint64_t mps_largest_free(const struct policy *p)
{
    const struct mps *m = (const struct mps *)p;
    const uint64_t cached = free_set_largest(&m->cached), room = free_set_largest(&m->room);
    return upstream_largest_free(&m->upstream, cached > room ? cached : room);
}

static enum err mps_check(const struct policy *p, struct err_detail *err)
{
    const struct mps *m = (const struct mps *)p;
    uint64_t active = 0, cached = 0;
    for (uint32_t b = 0; b < m->heap.blocks.n; b++) {
        const struct block_entry *e = heap_at(&m->heap, b);
        if ((e->flags & BLOCK_IS_USED) == 0)
            continue;
        active += (e->flags & BLOCK_IS_ALLOCATED) != 0 ? e->size : 0;
        cached += (e->flags & BLOCK_IS_ALLOCATED) == 0 && e->requested > 0 ? e->size : 0;
    }
    if (active != m->active_bytes || cached != m->cached_bytes[MPS_SMALL] + m->cached_bytes[MPS_LARGE])
        return err_set(err, ERR_CORRUPT, 0, "mps: %" PRIu64 " B are active and %" PRIu64 " B cached, not as counted",
                       active, cached);
    return heap_check(&m->heap, "mps", err);
}

const struct policy_ops policy_mps = {
    POLICY_HEAD,
    .name = "mps",
    .summary = "PyTorch's heaps and buffers on Apple's cards, as described by its source (MPSAllocator)",
    .options = mps_options,
    .create = mps_create, .destroy = mps_destroy,
    .alloc = mps_alloc,   .free = mps_free,
    .flush = mps_flush,   .walk = mps_walk,          .largest_free = mps_largest_free,
    .check = mps_check,
};
