/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* free_stretches_take only shortens or removes a stretch, so it never needs a new entry; free_stretches_give needs at
 * most one. Hence only giving back can run out of host memory. */
#include "replay/plan/free_stretches.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF_STRETCHES = 32, PLACES_MIN = 4 };

struct stretch_leaf {
    uint64_t addr[LEAF_STRETCHES], bytes[LEAF_STRETCHES];  /* ascending; two never touch */
    uint32_t n;
};

/* Stretch number `i` of the leaf at a place. */
struct stretch_at {
    uint32_t place, i;
};

static struct stretch_leaf *leaf_at(const struct free_stretches *s, uint32_t place)
{
    return &s->leaves[s->leaf[place]];
}

/* ---- the max-tree ---- */

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Sets the longest stretch of a leaf, and the maxima above it as far as they change. */
static void longest_set(struct free_stretches *s, uint32_t place, uint64_t bytes)
{
    uint32_t i = s->cap + place;
    assert(place < s->n);
    s->longest[i] = bytes;
    while ((i /= 2) > 0) {
        const uint64_t both = longer(s->longest[2 * i], s->longest[2 * i + 1]);
        if (s->longest[i] == both)
            break;
        s->longest[i] = both;
    }
}

static uint64_t leaf_longest(const struct stretch_leaf *l)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < l->n; i++)
        most = longer(most, l->bytes[i]);
    return most;
}

/* A stretch of a leaf, `was` bytes long, became shorter or went away. */
static void longest_shrank(struct free_stretches *s, uint32_t place, uint64_t was)
{
    if (was == s->longest[s->cap + place])
        longest_set(s, place, leaf_longest(leaf_at(s, place)));
}

/* A stretch of a leaf became `bytes` long. */
static void longest_grew(struct free_stretches *s, uint32_t place, uint64_t bytes)
{
    if (bytes > s->longest[s->cap + place])
        longest_set(s, place, bytes);
}

/* Computes all inner nodes anew, after places have moved. */
static void longest_rebuild(struct free_stretches *s)
{
    for (uint32_t i = s->cap - 1; i > 0; i--)
        s->longest[i] = longer(s->longest[2 * i], s->longest[2 * i + 1]);
}

/* ---- places ---- */

/* Doubles the number of places. */
static enum err places_grow(struct free_stretches *s)
{
    const uint32_t cap = s->cap == 0 ? PLACES_MIN : 2 * s->cap;
    if (cap > UINT32_MAX / 4)
        return ERR_HOST_NOMEM;
    struct stretch_leaf *leaves = realloc(s->leaves, cap * sizeof *leaves);
    s->leaves = leaves != NULL ? leaves : s->leaves;
    uint64_t *first = realloc(s->first, cap * sizeof *first);
    s->first = first != NULL ? first : s->first;
    uint64_t *longest = realloc(s->longest, 2 * (size_t)cap * sizeof *longest);
    s->longest = longest != NULL ? longest : s->longest;
    uint32_t *leaf = realloc(s->leaf, cap * sizeof *leaf);
    s->leaf = leaf != NULL ? leaf : s->leaf;
    if (leaves == NULL || first == NULL || longest == NULL || leaf == NULL)
        return ERR_HOST_NOMEM;
    memcpy(&s->longest[cap], &s->longest[s->cap], s->n * sizeof *s->longest);
    memset(&s->longest[cap + s->n], 0, (cap - s->n) * sizeof *s->longest);
    for (uint32_t i = s->cap; i < cap; i++)
        s->leaf[i] = i;
    s->cap = cap;
    return ERR_OK;
}

/* Moves the places from `from` on to `to` and following. */
static void places_move(struct free_stretches *s, uint32_t from, uint32_t to)
{
    uint64_t *const longest = s->longest + s->cap;
    const size_t n = s->n - from;
    memmove(&s->leaf[to], &s->leaf[from], n * sizeof *s->leaf);
    memmove(&s->first[to], &s->first[from], n * sizeof *s->first);
    memmove(&longest[to], &longest[from], n * sizeof *longest);
    s->n = s->n - from + to;
}

/* Moves the upper half of a full leaf to a new leaf at the next place. */
static enum err place_split(struct free_stretches *s, uint32_t place)
{
    const enum err e = s->n < s->cap ? ERR_OK : places_grow(s);
    if (e != ERR_OK)
        return e;
    const uint32_t vacant = s->leaf[s->n], next = place + 1, n = LEAF_STRETCHES / 2;
    places_move(s, next, next + 1);
    s->leaf[next] = vacant;
    struct stretch_leaf *low = leaf_at(s, place), *high = leaf_at(s, next);
    assert(low->n == LEAF_STRETCHES);
    memcpy(high->addr, low->addr + n, n * sizeof *low->addr);
    memcpy(high->bytes, low->bytes + n, n * sizeof *low->bytes);
    low->n = high->n = n;
    s->first[next] = high->addr[0];
    s->longest[s->cap + place] = leaf_longest(low);
    s->longest[s->cap + next] = leaf_longest(high);
    longest_rebuild(s);
    return ERR_OK;
}

/* Drops the place of an empty leaf, unless it is the only one. */
static void place_drop(struct free_stretches *s, uint32_t place)
{
    if (s->n == 1)
        return;
    const uint32_t empty = s->leaf[place];
    places_move(s, place + 1, place);
    s->leaf[s->n] = empty;
    s->longest[s->cap + s->n] = 0;
    longest_rebuild(s);
}

/* The place of the last stretch that begins at or below `addr`; 0 if there is none. */
static uint32_t place_of(const struct free_stretches *s, uint64_t addr)
{
    uint32_t low = 0;
    for (uint32_t n = s->n; n > 1;) {
        const uint32_t half = n / 2;
        low += s->first[low + half] <= addr ? half : 0;
        n -= half;
    }
    return low;
}

/* ---- stretches ---- */

static void stretch_remove(struct free_stretches *s, struct stretch_at at)
{
    struct stretch_leaf *l = leaf_at(s, at.place);
    const uint64_t was = l->bytes[at.i];
    const uint32_t next = at.i + 1, n = l->n - next;
    assert(at.i < l->n);
    memmove(&l->addr[at.i], &l->addr[next], n * sizeof *l->addr);
    memmove(&l->bytes[at.i], &l->bytes[next], n * sizeof *l->bytes);
    l->n--;
    s->first[at.place] = l->addr[0];
    longest_shrank(s, at.place, was);
    if (l->n == 0)
        place_drop(s, at.place);
}

static enum err stretch_insert(struct free_stretches *s, struct stretch_at at, uint64_t addr, uint64_t bytes)
{
    if (leaf_at(s, at.place)->n == LEAF_STRETCHES) {
        const enum err e = place_split(s, at.place);
        if (e != ERR_OK)
            return e;
        if (at.i > LEAF_STRETCHES / 2)
            at = (struct stretch_at){ .place = at.place + 1, .i = at.i - LEAF_STRETCHES / 2 };
    }
    struct stretch_leaf *l = leaf_at(s, at.place);
    memmove(&l->addr[at.i + 1], &l->addr[at.i], (l->n - at.i) * sizeof *l->addr);
    memmove(&l->bytes[at.i + 1], &l->bytes[at.i], (l->n - at.i) * sizeof *l->bytes);
    l->addr[at.i] = addr;
    l->bytes[at.i] = bytes;
    l->n++;
    s->first[at.place] = l->addr[0];
    longest_grew(s, at.place, bytes);
    return ERR_OK;
}

/* Where a stretch that begins at `addr` belongs: after all that begin below it. */
static struct stretch_at stretch_place(const struct free_stretches *s, uint64_t addr)
{
    struct stretch_at at = { .place = place_of(s, addr) };
    const struct stretch_leaf *l = leaf_at(s, at.place);
    while (at.i < l->n && l->addr[at.i] < addr)
        at.i++;
    return at;
}

/* ---- the line ---- */

enum err free_stretches_open(struct free_stretches *out)
{
    *out = (struct free_stretches){ .leaves = NULL };
    if (places_grow(out) != ERR_OK) {
        free_stretches_close(out);
        return ERR_HOST_NOMEM;
    }
    out->n = 1;
    leaf_at(out, 0)->n = 0;
    longest_rebuild(out);
    return stretch_insert(out, (struct stretch_at){ .place = 0 }, 0, UINT64_MAX);
}

void free_stretches_close(struct free_stretches *s)
{
    free(s->leaves);
    free(s->first);
    free(s->longest);
    free(s->leaf);
    *s = (struct free_stretches){ .leaves = NULL };
}

bool free_stretches_take(struct free_stretches *s, uint64_t bytes, uint64_t *addr)
{
    uint32_t i = 1;
    if (s->longest[1] < bytes)
        return false;
    while (i < s->cap)
        i = 2 * i + (s->longest[2 * i] < bytes);
    struct stretch_at at = { .place = i - s->cap };
    assert(at.place < s->n);
    struct stretch_leaf *l = leaf_at(s, at.place);
    while (l->bytes[at.i] < bytes)
        at.i++;
    *addr = l->addr[at.i];
    if (*addr + bytes > s->height)
        s->height = *addr + bytes;
    if (l->bytes[at.i] == bytes) {
        stretch_remove(s, at);
        return true;
    }
    l->addr[at.i] += bytes;
    l->bytes[at.i] -= bytes;
    s->first[at.place] = l->addr[0];
    longest_shrank(s, at.place, l->bytes[at.i] + bytes);
    return true;
}

enum err free_stretches_give(struct free_stretches *s, uint64_t addr, uint64_t bytes)
{
    const struct stretch_at at = stretch_place(s, addr);
    const bool is_last = at.i == leaf_at(s, at.place)->n;
    const struct stretch_at right = is_last ? (struct stretch_at){ .place = at.place + 1 } : at;
    struct stretch_leaf *low = leaf_at(s, at.place);
    const bool has_right = right.place < s->n && right.i < leaf_at(s, right.place)->n;
    struct stretch_leaf *high = has_right ? leaf_at(s, right.place) : NULL;
    assert(bytes > 0 && addr + bytes <= s->height);
    assert(at.i == 0 || low->addr[at.i - 1] + low->bytes[at.i - 1] <= addr);     /* what was taken is not free */
    assert(high == NULL || addr + bytes <= high->addr[right.i]);
    const bool joins_low = at.i > 0 && low->addr[at.i - 1] + low->bytes[at.i - 1] == addr;
    const bool joins_high = high != NULL && high->addr[right.i] == addr + bytes;
    if (!joins_low && !joins_high)
        return stretch_insert(s, at, addr, bytes);
    if (joins_low) {
        low->bytes[at.i - 1] += bytes + (joins_high ? high->bytes[right.i] : 0);
        longest_grew(s, at.place, low->bytes[at.i - 1]);
        if (joins_high)
            stretch_remove(s, right);
        return ERR_OK;
    }
    high->addr[right.i] = addr;
    high->bytes[right.i] += bytes;
    s->first[right.place] = high->addr[0];
    longest_grew(s, right.place, high->bytes[right.i]);
    return ERR_OK;
}
