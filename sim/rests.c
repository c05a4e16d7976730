/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Functions that change a subtree return its new top. They keep it balanced whatever addresses it holds: those that a
 * list gave may overlap. */
#include "sim/rests.h"

#include <assert.h>
#include <stdlib.h>

enum { LOWER, HIGHER };

/* ---- balance ---- */

static void rest_settle(struct rest *at, uint32_t i)
{
    const struct rest *low = &at[at[i].below[LOWER]], *high = &at[at[i].below[HIGHER]];
    const uint64_t largest = low->largest > high->largest ? low->largest : high->largest;
    at[i].height = 1 + (low->height > high->height ? low->height : high->height);
    at[i].largest = largest > at[i].bytes ? largest : at[i].bytes;
}

/* Puts the node on one side below i in the place of i, and i below that node. */
static uint32_t rest_rotate(struct rest *at, uint32_t i, int side)
{
    const uint32_t top = at[i].below[side];
    at[i].below[side] = at[top].below[!side];
    at[top].below[!side] = i;
    rest_settle(at, i);
    rest_settle(at, top);
    return top;
}

/* The two sides below i are balanced, and their heights differ by two at most. */
static uint32_t rest_balance(struct rest *at, uint32_t i)
{
    for (int side = LOWER; side <= HIGHER; side++) {
        const uint32_t high = at[i].below[side];
        if (at[high].height <= at[at[i].below[!side]].height + 1)
            continue;
        if (at[at[high].below[!side]].height > at[at[high].below[side]].height)
            at[i].below[side] = rest_rotate(at, high, !side);
        return rest_rotate(at, i, side);
    }
    rest_settle(at, i);
    return i;
}

/* ---- changes ---- */

static uint32_t rest_insert(struct rest *at, uint32_t i, uint32_t made)
{
    if (i == 0)
        return made;
    const int side = at[made].addr < at[i].addr ? LOWER : HIGHER;
    at[i].below[side] = rest_insert(at, at[i].below[side], made);
    return rest_balance(at, i);
}

/* Takes the lowest node out. */
static uint32_t rest_pop(struct rest *at, uint32_t i, uint32_t *lowest)
{
    if (at[i].below[LOWER] == 0) {
        *lowest = i;
        return at[i].below[HIGHER];
    }
    at[i].below[LOWER] = rest_pop(at, at[i].below[LOWER], lowest);
    return rest_balance(at, i);
}

/* Takes the top out, which becomes vacant. */
static uint32_t rest_drop_top(struct rests *r, uint32_t i)
{
    struct rest *at = r->at;
    const uint32_t low = at[i].below[LOWER], high = at[i].below[HIGHER];
    at[i].below[LOWER] = r->vacant;
    r->vacant = i;
    if (high == 0)
        return low;
    uint32_t top;
    const uint32_t others = rest_pop(at, high, &top);
    at[top].below[LOWER] = low;
    at[top].below[HIGHER] = others;
    return rest_balance(at, top);
}

static uint32_t rest_drop(struct rests *r, uint32_t i, uint64_t addr)
{
    if (i == 0)
        return 0;
    if (r->at[i].addr == addr)
        return rest_drop_top(r, i);
    const int side = addr < r->at[i].addr ? LOWER : HIGHER;
    r->at[i].below[side] = rest_drop(r, r->at[i].below[side], addr);
    return rest_balance(r->at, i);
}

/* The last rest that begins at or below `addr`, or the first that begins above it; 0 if there is none. */
static uint32_t rest_beside(const struct rests *r, uint64_t addr, int side)
{
    uint32_t found = 0;
    for (uint32_t i = r->root; i != 0;) {
        const int is = r->at[i].addr <= addr ? LOWER : HIGHER;
        found = is == side ? i : found;
        i = r->at[i].below[!is];
    }
    return found;
}

/* Something of `bytes` bytes is below i. */
static uint32_t rest_take(struct rests *r, uint32_t i, uint64_t bytes, uint64_t *addr)
{
    struct rest *is = &r->at[i];
    const uint32_t low = is->below[LOWER];
    const bool is_lower = low != 0 && r->at[low].largest >= bytes;
    if (is_lower || is->bytes < bytes) {
        const int side = is_lower ? LOWER : HIGHER;
        is->below[side] = rest_take(r, is->below[side], bytes, addr);
    } else {
        *addr = is->addr;
        is->addr += bytes;
        is->bytes -= bytes;
        if (is->bytes == 0)
            return rest_drop_top(r, i);
    }
    return rest_balance(r->at, i);
}

/* ---- the rests ---- */

void rests_close(struct rests *r)
{
    free(r->at);
}

void rests_clear(struct rests *r)
{
    r->n = r->cap > 0;                       /* entry 0 */
    r->root = r->vacant = 0;
}

enum err rests_reserve(struct rests *r)
{
    if (r->n < r->cap || r->vacant != 0)
        return ERR_OK;
    const uint32_t cap = r->cap == 0 ? 64 : 2 * r->cap;
    struct rest *at = cap < r->cap ? NULL : realloc(r->at, cap * sizeof *at);
    if (at == NULL)
        return ERR_HOST_NOMEM;
    if (r->n == 0)
        at[r->n++] = (struct rest){.height = 0};
    r->at = at;
    r->cap = cap;
    return ERR_OK;
}

static uint32_t rest_new(struct rests *r)
{
    const uint32_t i = r->vacant;
    if (i == 0)
        return r->n++;
    r->vacant = r->at[i].below[LOWER];
    return i;
}

void rests_add(struct rests *r, uint64_t addr, uint64_t bytes)
{
    assert(r->n < r->cap || r->vacant != 0);
    const uint32_t low = rest_beside(r, addr, LOWER), high = rest_beside(r, addr, HIGHER);
    struct rest made = {.addr = addr, .bytes = bytes, .height = 1};
    if (low != 0 && r->at[low].addr + r->at[low].bytes == addr) {
        made.addr = r->at[low].addr;
        made.bytes += r->at[low].bytes;
    }
    if (high != 0 && addr + bytes == r->at[high].addr) {
        made.bytes += r->at[high].bytes;
        r->root = rest_drop(r, r->root, r->at[high].addr);
    }
    if (made.addr != addr)
        r->root = rest_drop(r, r->root, made.addr);
    made.largest = made.bytes;
    const uint32_t i = rest_new(r);
    r->at[i] = made;
    r->root = rest_insert(r->at, r->root, i);
}

bool rests_take(struct rests *r, uint64_t bytes, uint64_t *addr)
{
    if (r->root == 0 || r->at[r->root].largest < bytes)
        return false;
    r->root = rest_take(r, r->root, bytes, addr);
    return true;
}
