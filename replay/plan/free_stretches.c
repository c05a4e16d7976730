/* Taking cuts a stretch at its low end only and so never makes one; giving back makes one at most. */
#include "replay/plan/free_stretches.h"

#include <stdlib.h>
#include <string.h>

enum { LEAF_GAPS = 32, PLACES_MIN = 4 };

struct gap_leaf {
    uint64_t addr[LEAF_GAPS], bytes[LEAF_GAPS];          /* ascending; none touches the next */
    uint32_t n;
};

/* Stretch number `i` of the leaf at a place. */
struct gap_at {
    uint32_t place, i;
};

static struct gap_leaf *leaf_at(const struct gaps *g, uint32_t place)
{
    return &g->leaves[g->leaf[place]];
}

/* ---- the tournament ---- */

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void longest_set(struct gaps *g, uint32_t place, uint64_t bytes)
{
    uint32_t i = g->cap + place;
    g->longest[i] = bytes;
    while ((i /= 2) > 0) {
        const uint64_t both = longer(g->longest[2 * i], g->longest[2 * i + 1]);
        if (g->longest[i] == both)
            break;
        g->longest[i] = both;
    }
}

static uint64_t leaf_longest(const struct gap_leaf *l)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < l->n; i++)
        most = longer(most, l->bytes[i]);
    return most;
}

/* A stretch of a leaf became shorter or went away: `was` is what it had. */
static void longest_lost(struct gaps *g, uint32_t place, uint64_t was)
{
    if (was == g->longest[g->cap + place])
        longest_set(g, place, leaf_longest(leaf_at(g, place)));
}

static void longest_won(struct gaps *g, uint32_t place, uint64_t bytes)
{
    if (bytes > g->longest[g->cap + place])
        longest_set(g, place, bytes);
}

/* After places have moved, and with them what is known of each. */
static void longest_rebuild(struct gaps *g)
{
    for (uint32_t i = g->cap - 1; i > 0; i--)
        g->longest[i] = longer(g->longest[2 * i], g->longest[2 * i + 1]);
}

/* ---- places ---- */

/* Makes room for twice as many. */
static enum err places_grow(struct gaps *g)
{
    const uint32_t cap = g->cap == 0 ? PLACES_MIN : 2 * g->cap;
    if (cap > UINT32_MAX / 4)
        return ERR_HOST_NOMEM;
    struct gap_leaf *leaves = realloc(g->leaves, cap * sizeof *leaves);
    g->leaves = leaves != NULL ? leaves : g->leaves;
    uint64_t *first = realloc(g->first, cap * sizeof *first);
    g->first = first != NULL ? first : g->first;
    uint64_t *longest = realloc(g->longest, 2 * (size_t)cap * sizeof *longest);
    g->longest = longest != NULL ? longest : g->longest;
    uint32_t *leaf = realloc(g->leaf, cap * sizeof *leaf);
    g->leaf = leaf != NULL ? leaf : g->leaf;
    if (leaves == NULL || first == NULL || longest == NULL || leaf == NULL)
        return ERR_HOST_NOMEM;
    memcpy(&g->longest[cap], &g->longest[g->cap], g->n * sizeof *g->longest);
    memset(&g->longest[cap + g->n], 0, (cap - g->n) * sizeof *g->longest);
    for (uint32_t i = g->cap; i < cap; i++)
        g->leaf[i] = i;
    g->cap = cap;
    return ERR_OK;
}

/* Moves the places from `from` on to where they begin with `to`. */
static void places_move(struct gaps *g, uint32_t from, uint32_t to)
{
    uint64_t *const longest = g->longest + g->cap;
    const size_t n = g->n - from;
    memmove(&g->leaf[to], &g->leaf[from], n * sizeof *g->leaf);
    memmove(&g->first[to], &g->first[from], n * sizeof *g->first);
    memmove(&longest[to], &longest[from], n * sizeof *longest);
    g->n = g->n - from + to;
}

/* Moves the upper half of a full leaf to a place behind it. */
static enum err place_split(struct gaps *g, uint32_t place)
{
    const enum err e = g->n < g->cap ? ERR_OK : places_grow(g);
    if (e != ERR_OK)
        return e;
    const uint32_t vacant = g->leaf[g->n], behind = place + 1, n = LEAF_GAPS / 2;
    places_move(g, behind, behind + 1);
    g->leaf[behind] = vacant;
    struct gap_leaf *low = leaf_at(g, place), *high = leaf_at(g, behind);
    memcpy(high->addr, low->addr + n, n * sizeof *low->addr);
    memcpy(high->bytes, low->bytes + n, n * sizeof *low->bytes);
    low->n = high->n = n;
    g->first[behind] = high->addr[0];
    g->longest[g->cap + place] = leaf_longest(low);
    g->longest[g->cap + behind] = leaf_longest(high);
    longest_rebuild(g);
    return ERR_OK;
}

/* Gives up the place of a leaf that is empty, unless it is the only one. */
static void place_drop(struct gaps *g, uint32_t place)
{
    if (g->n == 1)
        return;
    const uint32_t empty = g->leaf[place];
    places_move(g, place + 1, place);
    g->leaf[g->n] = empty;
    g->longest[g->cap + g->n] = 0;
    longest_rebuild(g);
}

/* The place whose leaf has the last stretch that begins at or below `addr`; 0 where none does. */
static uint32_t place_of(const struct gaps *g, uint64_t addr)
{
    uint32_t low = 0;
    for (uint32_t n = g->n; n > 1;) {
        const uint32_t half = n / 2;
        low += g->first[low + half] <= addr ? half : 0;
        n -= half;
    }
    return low;
}

/* ---- stretches ---- */

static void gap_remove(struct gaps *g, struct gap_at at)
{
    struct gap_leaf *l = leaf_at(g, at.place);
    const uint64_t was = l->bytes[at.i];
    const uint32_t behind = at.i + 1, n = l->n - behind;
    memmove(&l->addr[at.i], &l->addr[behind], n * sizeof *l->addr);
    memmove(&l->bytes[at.i], &l->bytes[behind], n * sizeof *l->bytes);
    l->n--;
    g->first[at.place] = l->addr[0];
    longest_lost(g, at.place, was);
    if (l->n == 0)
        place_drop(g, at.place);
}

static enum err gap_insert(struct gaps *g, struct gap_at at, uint64_t addr, uint64_t bytes)
{
    if (leaf_at(g, at.place)->n == LEAF_GAPS) {
        const enum err e = place_split(g, at.place);
        if (e != ERR_OK)
            return e;
        if (at.i > LEAF_GAPS / 2)
            at = (struct gap_at){ .place = at.place + 1, .i = at.i - LEAF_GAPS / 2 };
    }
    struct gap_leaf *l = leaf_at(g, at.place);
    memmove(&l->addr[at.i + 1], &l->addr[at.i], (l->n - at.i) * sizeof *l->addr);
    memmove(&l->bytes[at.i + 1], &l->bytes[at.i], (l->n - at.i) * sizeof *l->bytes);
    l->addr[at.i] = addr;
    l->bytes[at.i] = bytes;
    l->n++;
    g->first[at.place] = l->addr[0];
    longest_won(g, at.place, bytes);
    return ERR_OK;
}

/* Where a stretch that begins at `addr` belongs, behind all that begin before it. */
static struct gap_at gap_place(const struct gaps *g, uint64_t addr)
{
    struct gap_at at = { .place = place_of(g, addr) };
    const struct gap_leaf *l = leaf_at(g, at.place);
    while (at.i < l->n && l->addr[at.i] < addr)
        at.i++;
    return at;
}

/* ---- the line ---- */

enum err gaps_open(struct gaps *out)
{
    *out = (struct gaps){ .leaves = NULL };
    if (places_grow(out) != ERR_OK) {
        gaps_close(out);
        return ERR_HOST_NOMEM;
    }
    out->n = 1;
    leaf_at(out, 0)->n = 0;
    longest_rebuild(out);
    return gap_insert(out, (struct gap_at){ .place = 0 }, 0, UINT64_MAX);
}

void gaps_close(struct gaps *g)
{
    free(g->leaves);
    free(g->first);
    free(g->longest);
    free(g->leaf);
    *g = (struct gaps){ .leaves = NULL };
}

bool gaps_take(struct gaps *g, uint64_t bytes, uint64_t *addr)
{
    uint32_t i = 1;
    if (g->longest[1] < bytes)
        return false;
    while (i < g->cap)
        i = 2 * i + (g->longest[2 * i] < bytes);
    struct gap_at at = { .place = i - g->cap };
    struct gap_leaf *l = leaf_at(g, at.place);
    while (l->bytes[at.i] < bytes)
        at.i++;
    *addr = l->addr[at.i];
    if (*addr + bytes > g->height)
        g->height = *addr + bytes;
    if (l->bytes[at.i] == bytes) {
        gap_remove(g, at);
        return true;
    }
    l->addr[at.i] += bytes;
    l->bytes[at.i] -= bytes;
    g->first[at.place] = l->addr[0];
    longest_lost(g, at.place, l->bytes[at.i] + bytes);
    return true;
}

enum err gaps_give(struct gaps *g, uint64_t addr, uint64_t bytes)
{
    const struct gap_at at = gap_place(g, addr);
    const bool is_last = at.i == leaf_at(g, at.place)->n;
    const struct gap_at right = is_last ? (struct gap_at){ .place = at.place + 1 } : at;
    struct gap_leaf *low = leaf_at(g, at.place);
    struct gap_leaf *high = right.place < g->n && right.i < leaf_at(g, right.place)->n ? leaf_at(g, right.place) : NULL;
    const bool joins_low = at.i > 0 && low->addr[at.i - 1] + low->bytes[at.i - 1] == addr;
    const bool joins_high = high != NULL && high->addr[right.i] == addr + bytes;
    if (!joins_low && !joins_high)
        return gap_insert(g, at, addr, bytes);
    if (joins_low) {
        low->bytes[at.i - 1] += bytes + (joins_high ? high->bytes[right.i] : 0);
        longest_won(g, at.place, low->bytes[at.i - 1]);
        if (joins_high)
            gap_remove(g, right);
        return ERR_OK;
    }
    high->addr[right.i] = addr;
    high->bytes[right.i] += bytes;
    g->first[right.place] = high->addr[0];
    longest_won(g, right.place, high->bytes[right.i]);
    return ERR_OK;
}
