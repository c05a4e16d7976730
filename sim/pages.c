/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A tree of maxima over the free room of the pages finds the first page that fits in logarithmic time. */
#include "sim/pages.h"

#include "base/units.h"
#include "sim/device.h"

#include <stdlib.h>
#include <string.h>

#define PAGES_UNIT UINT64_C(512)    /* requests start at multiples of this */

/* room[n_leaves + i] is the free room of page i plus one, so that a full page (1) differs from a page that does not
 * exist (0). Max-tree in heap order: node 1 is the maximum, 2i and 2i + 1 are i's children. Vacant pages below `n_seen`
 * are in a stack. */
struct pages {
    uint64_t *room;
    uint32_t *vacant;
    uint32_t  n_leaves, n_seen, n_vacant;
};

enum err pages_create(struct pages **out)
{
    enum { FIRST_LEAVES = 64 };
    struct pages *p = malloc(sizeof *p);
    uint64_t *room = calloc(2 * FIRST_LEAVES, sizeof *room);
    uint32_t *vacant = calloc(FIRST_LEAVES, sizeof *vacant);
    if (p == NULL || room == NULL || vacant == NULL) {
        free(p);
        free(room);
        free(vacant);
        return ERR_HOST_NOMEM;
    }
    *p = (struct pages){.room = room, .vacant = vacant, .n_leaves = FIRST_LEAVES};
    *out = p;
    return ERR_OK;
}

void pages_destroy(struct pages *p)
{
    if (p == NULL)
        return;
    free(p->room);
    free(p->vacant);
    free(p);
}

static void pages_set(struct pages *p, uint32_t page, uint64_t room)
{
    uint32_t at = p->n_leaves + page;
    p->room[at] = room;
    while (at > 1) {
        at /= 2;
        const uint64_t left = p->room[2 * at], right = p->room[2 * at + 1];
        p->room[at] = left > right ? left : right;
    }
}

uint32_t pages_find(const struct pages *p, uint64_t bytes)
{
    const uint64_t need = align_up(bytes, PAGES_UNIT) + 1;
    if (p->room[1] < need)
        return PAGES_NONE;
    uint32_t at = 1;
    while (at < p->n_leaves)
        at = p->room[2 * at] >= need ? 2 * at : 2 * at + 1;
    return at - p->n_leaves;
}

/* Doubles the number of leaves. */
static enum err pages_grow(struct pages *p)
{
    const size_t n = p->n_leaves;
    if (n > UINT32_MAX / 8)
        return ERR_HOST_NOMEM;
    uint64_t *room = calloc(4 * n, sizeof *room);
    uint32_t *vacant = realloc(p->vacant, 2 * n * sizeof *vacant);
    if (vacant != NULL)
        p->vacant = vacant;
    if (room == NULL || vacant == NULL) {
        free(room);
        return ERR_HOST_NOMEM;
    }
    memcpy(room + 2 * n, p->room + n, n * sizeof *room);
    for (size_t at = 2 * n - 1; at >= 1; at--)
        room[at] = room[2 * at] > room[2 * at + 1] ? room[2 * at] : room[2 * at + 1];
    free(p->room);
    p->room = room;
    p->n_leaves = (uint32_t)(2 * n);
    return ERR_OK;
}

/* Makes a page exist, empty. */
static enum err pages_add(struct pages *p, uint32_t *page)
{
    if (p->n_vacant > 0) {
        *page = p->vacant[--p->n_vacant];
    } else {
        if (p->n_seen == p->n_leaves) {
            const enum err e = pages_grow(p);
            if (e != ERR_OK)
                return e;
        }
        *page = p->n_seen++;
    }
    pages_set(p, *page, DEVICE_PAGE_BYTES + 1);
    return ERR_OK;
}

enum err pages_put(struct pages *p, uint64_t bytes, uint32_t *page)
{
    uint32_t at = pages_find(p, bytes);
    if (at == PAGES_NONE) {
        const enum err e = pages_add(p, &at);
        if (e != ERR_OK)
            return e;
    }
    pages_set(p, at, p->room[p->n_leaves + at] - align_up(bytes, PAGES_UNIT));
    *page = at;
    return ERR_OK;
}

bool pages_take(struct pages *p, uint64_t bytes, uint32_t page)
{
    const uint64_t room = p->room[p->n_leaves + page] + align_up(bytes, PAGES_UNIT);
    const bool is_empty = room == DEVICE_PAGE_BYTES + 1;
    pages_set(p, page, is_empty ? 0 : room);
    if (is_empty)
        p->vacant[p->n_vacant++] = page;
    return is_empty;
}
