/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Turns blocks in order of address into rows of pieces. */
#include "report/block_map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct taker {
    struct block_map map;
    size_t   cap_pieces, cap_segments;
    uint32_t id;                     /* the device's, of the current segment */
    bool     is_short;
};

static void *grown(void *at, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return at;
    const size_t more = *cap == 0 ? 64 : 2 * *cap;
    void *to = realloc(at, more * size);
    if (to != NULL)
        *cap = more;
    return to;
}

/* The segment of a block; a new one unless the block before has the same. */
static struct block_map_segment *take_segment(struct taker *t, const struct block_view *b)
{
    struct block_map *m = &t->map;
    if (m->n_segments > 0 && t->id == b->segment)
        return &m->segments[m->n_segments - 1];
    struct block_map_segment *segments = grown(m->segments, &t->cap_segments, m->n_segments, sizeof *segments);
    if (segments == NULL)
        return NULL;
    m->segments = segments;
    t->id = b->segment;
    m->segments[m->n_segments] = (struct block_map_segment){ .addr = b->segment_addr, .stream = b->stream,
        .pool = b->pool, .is_small = b->is_small, .is_range = b->page_bytes > 0 };
    return &m->segments[m->n_segments++];
}

static void take_block(void *arg, const struct block_view *b)
{
    struct taker *t = arg;
    struct block_map *m = &t->map;
    if (t->is_short || b->state == BLOCK_UNMAPPED || b->bytes == 0)
        return;
    struct block_map_segment *s = take_segment(t, b);
    struct block_map_piece *pieces = grown(m->pieces, &t->cap_pieces, m->n_pieces, sizeof *pieces);
    if (pieces != NULL)
        m->pieces = pieces;
    if (s == NULL || pieces == NULL) {
        t->is_short = true;
        return;
    }
    assert(b->addr >= s->addr);
    s->bytes = b->addr + b->bytes - s->addr;
    m->n_blocks++;
    m->pieces[m->n_pieces++] = (struct block_map_piece){
        .addr = b->addr, .bytes = b->bytes, .requested = b->state == BLOCK_FREE ? 0 : b->requested,
        .live_bytes = b->state == BLOCK_FREE ? 0 : b->bytes, .n_blocks = 1, .event = -1,
        .segment = (uint32_t)m->n_segments - 1,
        .state = b->state == BLOCK_ALLOCATED ? BLOCK_MAP_LIVE
                 : b->state == BLOCK_PENDING ? BLOCK_MAP_PENDING : BLOCK_MAP_SPLIT,
    };
}

/* The first piece after the segment that begins at `first`. */
static size_t segment_end(const struct block_map *m, size_t first)
{
    size_t end = first;
    while (end < m->n_pieces && m->pieces[end].segment == m->pieces[first].segment)
        end++;
    return end;
}

/* Marks the free pieces of segments in which nothing is in use: these could be given back. */
static void tell_cached(struct block_map *m)
{
    for (size_t i = 0, end; i < m->n_pieces; i = end) {
        bool is_used = false;
        end = segment_end(m, i);
        for (size_t k = i; k < end; k++)
            is_used |= m->pieces[k].state != BLOCK_MAP_SPLIT;
        for (size_t k = i; k < end && !is_used; k++)
            m->pieces[k].state = BLOCK_MAP_CACHED;
    }
}

enum err block_map_take(const struct policy *p, struct block_map *out)
{
    struct taker t = { .id = 0 };
    const enum err e = p->ops->walk == NULL ? ERR_OK : p->ops->walk(p, take_block, &t);
    if (e != ERR_OK || t.is_short) {
        block_map_close(&t.map);
        *out = (struct block_map){ .n_pieces = 0 };
        return ERR_HOST_NOMEM;
    }
    tell_cached(&t.map);
    *out = t.map;
    return ERR_OK;
}

/* ---- cutting ---- */

static int by_bytes_falling(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The size from which segments stay; UINT64_MAX without memory to sort them. *n_equal: how many segments of exactly
 * that size stay. */
static uint64_t smallest_kept(const struct block_map *m, size_t max, size_t *n_equal)
{
    assert(max > 0 && max <= m->n_segments);
    uint64_t *sizes = malloc(m->n_segments * sizeof *sizes);
    *n_equal = 0;
    if (sizes == NULL)
        return UINT64_MAX;
    for (size_t i = 0; i < m->n_segments; i++)
        sizes[i] = m->segments[i].bytes;
    qsort(sizes, m->n_segments, sizeof *sizes, by_bytes_falling);
    const uint64_t bytes = sizes[max - 1];
    for (size_t i = max; i-- > 0 && sizes[i] == bytes;)
        ++*n_equal;
    free(sizes);
    return bytes;
}

static void cut_segments(struct block_map *m, size_t max)
{
    size_t n_equal, n_segments = 0, n_pieces = 0;
    const uint64_t least = smallest_kept(m, max, &n_equal);
    for (size_t i = 0, end; i < m->n_pieces; i = end) {
        const struct block_map_segment s = m->segments[m->pieces[i].segment];
        end = segment_end(m, i);
        const bool is_kept = s.bytes > least || (s.bytes == least && n_equal > 0);
        n_equal -= is_kept && s.bytes == least;
        m->left_out_segments += !is_kept;
        for (size_t k = i; k < end; k++) {
            if (!is_kept) {
                m->left_out_bytes += m->pieces[k].bytes;
                continue;
            }
            m->pieces[n_pieces] = m->pieces[k];
            m->pieces[n_pieces++].segment = (uint32_t)n_segments;
        }
        if (is_kept)
            m->segments[n_segments++] = s;
    }
    m->n_segments = n_segments;
    m->n_pieces = n_pieces;
}

/* Joins neighbours within a segment that are both smaller than `bytes`. */
static void join_small(struct block_map *m, uint64_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_pieces; i++) {
        const struct block_map_piece *b = &m->pieces[i];
        struct block_map_piece *last = n > 0 ? &m->pieces[n - 1] : NULL;
        if (last == NULL || last->segment != b->segment || last->bytes >= bytes || b->bytes >= bytes ||
            last->addr + last->bytes != b->addr) {
            m->pieces[n++] = *b;
            continue;
        }
        last->bytes += b->bytes;
        last->live_bytes += b->live_bytes;
        last->requested += b->requested;
        last->n_blocks += b->n_blocks;
        last->state = BLOCK_MAP_MIXED;
        last->event = -1;
        last->age_ns = 0;
    }
    m->n_pieces = n;
}

void block_map_cut(struct block_map *m, size_t segments_max, size_t pieces_max)
{
    uint64_t largest = 0;
    if (m->n_segments > segments_max)
        cut_segments(m, segments_max);
    for (size_t i = 0; i < m->n_segments; i++)
        largest = m->segments[i].bytes > largest ? m->segments[i].bytes : largest;
    for (uint64_t bytes = largest / 1024 + 512; m->n_pieces > pieces_max && bytes / 2 < largest; bytes *= 2)
        join_small(m, bytes);
}

void block_map_close(struct block_map *m)
{
    free(m->segments);
    free(m->pieces);
    *m = (struct block_map){ .n_pieces = 0 };
}
