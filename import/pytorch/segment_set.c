/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A map is a list of blocks, each a short sorted array: a change moves one block's segments, never all.
 *
 *     blocks    [ . | . | . | . ]           ascending, none empty
 *                 |   |
 *                 |   [ 9 12 15 ]
 *                 [ 1 4 7 ]                 at most BLOCK_SEGMENTS; split in two when full, joined when both are short
 */
#include "import/pytorch/segment_set.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef REPLAY_SMALL_PARTS               /* so that what a fuzzer makes has several */
enum { BLOCK_SEGMENTS = 8 };
#else
enum { BLOCK_SEGMENTS = 128 };
#endif

struct segment_block {
    size_t n;
    struct reserved_segment at[BLOCK_SEGMENTS];
};

/* A segment's place in a map. */
struct place { size_t block, i; };

/* The number of segments of a sorted array that start at or below addr. */
static size_t upper_bound(const struct reserved_segment *at, size_t n, uint64_t addr)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (at[mid].addr <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static uint64_t end_of(const struct reserved_segment *s)
{
    return s->addr + s->bytes;
}

static bool holds(const struct reserved_segment *s, uint64_t addr, uint64_t bytes)
{
    return addr - s->addr < s->bytes && bytes <= s->bytes - (addr - s->addr);
}

/* ---- sets ---- */

size_t segment_set_find(const struct segment_set *t, uint64_t addr, uint64_t bytes)
{
    const size_t i = upper_bound(t->at, t->n, addr);
    return i > 0 && holds(&t->at[i - 1], addr, bytes) ? i - 1 : SIZE_MAX;
}

uint64_t segment_set_bytes(const struct segment_set *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->n; i++)
        sum += t->at[i].bytes;
    return sum;
}

void segment_set_free(struct segment_set *t)
{
    free(t->at);
    *t = (struct segment_set){0};
}

/* ---- places of a map ---- */

/* The place of the last segment that starts at or below addr; false if there is none. */
static bool place_below(const struct segment_map *t, uint64_t addr, struct place *out)
{
    size_t low = 0, high = t->n_blocks;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (t->blocks[mid]->at[0].addr <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return false;
    *out = (struct place){.block = low - 1};
    out->i = upper_bound(t->blocks[out->block]->at, t->blocks[out->block]->n, addr) - 1;
    return true;
}

static struct reserved_segment *segment_at(const struct segment_map *t, struct place p)
{
    assert(p.block < t->n_blocks && p.i < t->blocks[p.block]->n);
    return &t->blocks[p.block]->at[p.i];
}

/* Moves to the next segment; false after the last. */
static bool place_next(const struct segment_map *t, struct place *p)
{
    if (++p->i < t->blocks[p->block]->n)
        return true;
    *p = (struct place){.block = p->block + 1};
    return p->block < t->n_blocks;
}

/* ---- blocks of a map ---- */

/* Puts a new, empty block at index k. */
static struct segment_block *block_insert(struct segment_map *t, size_t k)
{
    struct segment_block **bigger = array_grow(t->blocks, t->n_blocks, &t->room, sizeof *bigger);
    if (bigger == NULL)
        return NULL;
    t->blocks = bigger;
    struct segment_block *block = malloc(sizeof *block);
    if (block == NULL)
        return NULL;
    block->n = 0;
    memmove(t->blocks + k + 1, t->blocks + k, (t->n_blocks - k) * sizeof *t->blocks);
    t->blocks[k] = block;
    t->n_blocks++;
    return block;
}

static void block_remove(struct segment_map *t, size_t k)
{
    free(t->blocks[k]);
    t->n_blocks--;
    memmove(t->blocks + k, t->blocks + k + 1, (t->n_blocks - k) * sizeof *t->blocks);
}

/* Moves the upper half of a full block into a new one after it. */
static bool block_split(struct segment_map *t, size_t k)
{
    struct segment_block *upper = block_insert(t, k + 1), *lower = t->blocks[k];
    if (upper == NULL)
        return false;
    upper->n = lower->n / 2;
    lower->n -= upper->n;
    memcpy(upper->at, lower->at + lower->n, upper->n * sizeof *upper->at);
    return true;
}

/* Joins block k with the next one if together they fill no more than half a block: no two neighbours are that short. */
static void block_join(struct segment_map *t, size_t k)
{
    if (k + 1 >= t->n_blocks || t->blocks[k]->n + t->blocks[k + 1]->n > BLOCK_SEGMENTS / 2)
        return;
    struct segment_block *lower = t->blocks[k], *upper = t->blocks[k + 1];
    memcpy(lower->at + lower->n, upper->at, upper->n * sizeof *upper->at);
    lower->n += upper->n;
    block_remove(t, k + 1);
}

/* Inserts a segment, whose start is in no other. */
static bool map_insert(struct segment_map *t, const struct reserved_segment *s)
{
    struct place p = {.block = 0};
    size_t i = place_below(t, s->addr, &p) ? p.i + 1 : 0;
    if (t->n_blocks == 0 && block_insert(t, 0) == NULL)
        return false;
    if (t->blocks[p.block]->n == BLOCK_SEGMENTS) {
        if (!block_split(t, p.block))
            return false;
        if (i > t->blocks[p.block]->n) {
            i -= t->blocks[p.block]->n;
            p.block++;
        }
    }
    struct segment_block *block = t->blocks[p.block];
    memmove(block->at + i + 1, block->at + i, (block->n - i) * sizeof *block->at);
    block->at[i] = *s;
    block->n++;
    t->n++;
    return true;
}

static void map_remove(struct segment_map *t, struct place p)
{
    struct segment_block *block = t->blocks[p.block];
    block->n--;
    t->n--;
    memmove(block->at + p.i, block->at + p.i + 1, (block->n - p.i) * sizeof *block->at);
    if (block->n == 0)
        block_remove(t, p.block);
    else
        block_join(t, p.block);
    if (p.block > 0)
        block_join(t, p.block - 1);
}

/* ---- maps ---- */

static bool joins(const struct reserved_segment *a, const struct reserved_segment *b)
{
    return a->is_range && b->is_range && end_of(a) == b->addr && a->stream == b->stream && a->pool == b->pool;
}

enum segment_change segment_map_add(struct segment_map *t, const struct reserved_segment *s)
{
    struct place lower, upper = {.block = 0};
    const bool has_lower = place_below(t, s->addr, &lower);
    if (has_lower)
        upper = lower;
    const bool has_upper = has_lower ? place_next(t, &upper) : t->n > 0;
    struct reserved_segment *below = has_lower ? segment_at(t, lower) : NULL;
    struct reserved_segment *above = has_upper ? segment_at(t, upper) : NULL;
    if (s->bytes > UINT64_MAX - s->addr || (below != NULL && end_of(below) > s->addr) ||
        (above != NULL && end_of(s) > above->addr))
        return CHANGE_CONFLICT;
    const bool joins_below = below != NULL && joins(below, s), joins_above = above != NULL && joins(s, above);
    if (joins_below) {
        below->bytes += s->bytes + (joins_above ? above->bytes : 0);
        if (joins_above)
            map_remove(t, upper);
    } else if (joins_above) {
        above->addr = s->addr;
        above->bytes += s->bytes;
    } else if (!map_insert(t, s)) {
        return CHANGE_NOMEM;
    }
    return CHANGE_DONE;
}

const struct reserved_segment *segment_map_find(const struct segment_map *t, uint64_t addr, uint64_t bytes)
{
    struct place p;
    return place_below(t, addr, &p) && holds(segment_at(t, p), addr, bytes) ? segment_at(t, p) : NULL;
}

enum segment_change segment_map_take(struct segment_map *t, uint64_t addr, uint64_t bytes, struct reserved_segment *was)
{
    struct place p;
    if (!place_below(t, addr, &p))
        return CHANGE_CONFLICT;
    struct reserved_segment *s = segment_at(t, p);
    if (!holds(s, addr, bytes) || (!s->is_range && s->bytes != bytes))
        return CHANGE_CONFLICT;
    const struct reserved_segment whole = *s;
    const uint64_t before = addr - whole.addr, behind = end_of(&whole) - (addr + bytes);
    if (before > 0 && behind > 0) {
        struct reserved_segment rest = whole;
        rest.addr = addr + bytes;
        rest.bytes = behind;
        s->bytes = before;
        if (!map_insert(t, &rest))
            return CHANGE_NOMEM;
    } else if (before > 0) {
        s->bytes = before;
    } else if (behind > 0) {
        s->addr = addr + bytes;
        s->bytes = behind;
    } else {
        map_remove(t, p);
    }
    *was = whole;
    return CHANGE_DONE;
}

bool segment_map_open(struct segment_map *t, const struct segment_set *from)
{
    *t = (struct segment_map){.n = 0};
    for (size_t i = 0; i < from->n; i++)
        if (!map_insert(t, &from->at[i]))
            return false;
    return true;
}

bool segment_map_list(const struct segment_map *t, struct segment_set *out)
{
    *out = (struct segment_set){.at = malloc((t->n + 1) * sizeof *out->at)};
    if (out->at == NULL)
        return false;
    for (size_t k = 0; k < t->n_blocks; k++) {
        memcpy(out->at + out->n, t->blocks[k]->at, t->blocks[k]->n * sizeof *out->at);
        out->n += t->blocks[k]->n;
    }
    return true;
}

void segment_map_free(struct segment_map *t)
{
    for (size_t k = 0; k < t->n_blocks; k++)
        free(t->blocks[k]);
    free(t->blocks);
    *t = (struct segment_map){0};
}
