/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A page is a chain of pieces by address, each a hole or a request. A hole is also in the list of its size, the one
 * that became a hole first at its head. There are few sizes, so a bitmap finds the smallest one that has a hole. */
#include "sim/pages.h"

#include "base/array.h"
#include "base/units.h"
#include "sim/device.h"

#include <stdlib.h>

enum {
    PAGES_UNIT = 512,                        /* requests start at multiples of this */
    PAGE_UNITS = DEVICE_PAGE_BYTES / PAGES_UNIT,
    SIZE_WORDS = PAGE_UNITS / 64 + 1,
    NO_PIECE = 0,                            /* entry 0 is no piece */
};

struct page_piece {
    uint32_t units;
    bool     is_hole;
    uint32_t before, after;                  /* neighbours in the page. Of a vacant entry, `after` is the next one */
    uint32_t older, newer;                   /* holes of the same size */
};

struct pages {
    struct page_piece *at;
    size_t   n, room;
    uint32_t vacant;
    uint32_t oldest[PAGE_UNITS + 1], newest[PAGE_UNITS + 1];     /* by units */
    uint64_t has_hole[SIZE_WORDS];                               /* bit u: oldest[u] is a hole */
};

enum err pages_create(struct pages **out)
{
    struct pages *p = calloc(1, sizeof *p);
    if (p == NULL)
        return ERR_HOST_NOMEM;
    p->at = array_grow(NULL, 0, &p->room, sizeof *p->at);
    if (p->at == NULL) {
        free(p);
        return ERR_HOST_NOMEM;
    }
    p->at[p->n++] = (struct page_piece){.units = 0};
    *out = p;
    return ERR_OK;
}

void pages_destroy(struct pages *p)
{
    if (p == NULL)
        return;
    free(p->at);
    free(p);
}

/* ---- holes ---- */

static void hole_insert(struct pages *p, uint32_t i)
{
    struct page_piece *at = p->at;
    const uint32_t units = at[i].units, last = p->newest[units];
    at[i].is_hole = true;
    at[i].older = last;
    at[i].newer = NO_PIECE;
    at[last].newer = i;                      /* entry 0 may be written at will */
    p->newest[units] = i;
    if (last == NO_PIECE)
        p->oldest[units] = i;
    p->has_hole[units / 64] |= UINT64_C(1) << units % 64;
}

static void hole_remove(struct pages *p, uint32_t i)
{
    struct page_piece *at = p->at;
    const uint32_t units = at[i].units, older = at[i].older, newer = at[i].newer;
    at[i].is_hole = false;
    at[older].newer = newer;
    at[newer].older = older;
    if (older == NO_PIECE)
        p->oldest[units] = newer;
    if (newer == NO_PIECE)
        p->newest[units] = older;
    if (p->oldest[units] == NO_PIECE)
        p->has_hole[units / 64] &= ~(UINT64_C(1) << units % 64);
}

static uint32_t units_of(uint64_t bytes)
{
    return (uint32_t)(align_up(bytes, PAGES_UNIT) / PAGES_UNIT);
}

/* The oldest of the smallest holes of at least so many units; NO_PIECE: there is none. */
static uint32_t hole_find(const struct pages *p, uint32_t units)
{
    uint64_t word = p->has_hole[units / 64] & ~UINT64_C(0) << units % 64;
    size_t w = units / 64;
    while (word == 0 && ++w < SIZE_WORDS)
        word = p->has_hole[w];
    return word == 0 ? NO_PIECE : p->oldest[w * 64 + (unsigned)__builtin_ctzll(word)];
}

/* ---- pieces ---- */

/* Makes room for two pieces more. */
static enum err pieces_reserve(struct pages *p)
{
    if (p->n + 2 > UINT32_MAX)
        return ERR_HOST_NOMEM;
    struct page_piece *at = array_reserve(p->at, p->n, 2, &p->room, sizeof *at);
    if (at == NULL)
        return ERR_HOST_NOMEM;
    p->at = at;
    return ERR_OK;
}

static uint32_t piece_new(struct pages *p, uint32_t units)
{
    uint32_t i = p->vacant;
    if (i != NO_PIECE)
        p->vacant = p->at[i].after;
    else
        i = (uint32_t)p->n++;
    p->at[i] = (struct page_piece){.units = units};
    return i;
}

static void piece_drop(struct pages *p, uint32_t i)
{
    p->at[i].after = p->vacant;
    p->vacant = i;
}

/* The piece swallows the one after it, which is in no list. */
static void piece_swallow(struct pages *p, uint32_t i)
{
    const uint32_t gone = p->at[i].after;
    p->at[i].units += p->at[gone].units;
    p->at[i].after = p->at[gone].after;
    p->at[p->at[i].after].before = i;
    piece_drop(p, gone);
}

bool pages_have_room(const struct pages *p, uint64_t bytes)
{
    return hole_find(p, units_of(bytes)) != NO_PIECE;
}

enum err pages_put(struct pages *p, uint64_t bytes, uint32_t *piece)
{
    const uint32_t units = units_of(bytes);
    const enum err e = pieces_reserve(p);
    if (e != ERR_OK)
        return e;
    uint32_t i = hole_find(p, units);
    if (i != NO_PIECE)
        hole_remove(p, i);
    else
        i = piece_new(p, PAGE_UNITS);
    if (p->at[i].units > units) {
        const uint32_t rest = piece_new(p, p->at[i].units - units);
        p->at[rest].before = i;
        p->at[rest].after = p->at[i].after;
        p->at[p->at[rest].after].before = rest;
        p->at[i].after = rest;
        p->at[i].units = units;
        hole_insert(p, rest);
    }
    *piece = i;
    return ERR_OK;
}

uint64_t pages_offset(const struct pages *p, uint32_t piece, uint32_t *page)
{
    uint64_t units = 0;
    for (; p->at[piece].before != NO_PIECE; units += p->at[piece].units)
        piece = p->at[piece].before;
    *page = piece;                           /* the lowest piece swallows the others, and so keeps its number */
    return units * PAGES_UNIT;
}

bool pages_take(struct pages *p, uint32_t piece)
{
    const uint32_t before = p->at[piece].before, after = p->at[piece].after;
    if (after != NO_PIECE && p->at[after].is_hole) {
        hole_remove(p, after);
        piece_swallow(p, piece);
    }
    if (before != NO_PIECE && p->at[before].is_hole) {
        hole_remove(p, before);
        piece_swallow(p, before);
        piece = before;
    }
    if (p->at[piece].units == PAGE_UNITS) {
        piece_drop(p, piece);
        return true;
    }
    hole_insert(p, piece);
    return false;
}
