/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Depth first. A node places one item at its lowest offset; everything that it changed is on a stack of undos:
 *
 *     low[i]    lowest offset that the placed items leave for item i
 *     floor[s]  nothing of section s lies lower any more
 *     rest[s]   bytes of section s that have no place yet; floor + rest is no more than the height
 *     cuts[s]   items without place that live in both section s and s + 1; at 0 the two sides are searched on their own
 *
 * What may follow at a node depends on the items without place, on how low each of them may lie, and on which of them
 * come too late at their place. Different orders below lead to the same such state, so a state from which nothing led
 * to a plan is remembered by its hash of 128 bits, and is not searched a second time.
 */
#include "replay/plan/plan_search.h"

#include "replay/plan/plan_pairs.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/units.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NO_OFFSET UINT64_MAX

enum {
    FAILED_STATES = 1 << 17,         /* that are remembered; a new one takes the place of an old one */
    FAILED_LEAST  = 4,               /* a state of fewer items is searched as fast as looked up */
    PAIR_SHARE    = 4,               /* the search by pairs gets so many times what one order gets */
};

/* A hash of a state. */
struct state_key {
    uint64_t word[2];
};

/* An item without place, and its number in the order of its part. */
struct candidate {
    uint32_t item, rank;
};

/* A value to be put back. */
struct undo {
    uint64_t *where, was;
};

/* An item without place: where it may lie lowest, and its size. */
struct resting {
    uint64_t low, bytes;
};

/* Sections [first, last) and the items without place that live there. */
struct part {
    uint32_t first, last;
    struct candidate *items;         /* on the stack of candidates */
    uint32_t n;
    uint64_t key;                    /* of the height and of the items' ranks */
};

struct plan_search {
    const struct plan_item *items;
    uint32_t  n, n_sections;
    uint64_t  height, work;
    const volatile sig_atomic_t *interrupted;
    const char *order;               /* letters of item_is_before, most important first */
    uint64_t *offsets;               /* the plan, as it is found */
    uint64_t *at, *low;              /* by item; at: NO_OFFSET without place */
    uint64_t *weight;                /* by item, while a part is put in order: most bytes of a section that it
                                      * touches */
    uint64_t *floor, *rest;          /* by section */
    uint32_t *cuts, *stamps, stamp;  /* by section; stamps: touched by the present node */
    uint32_t *touched;               /* the sections touched */
    uint32_t *overlap_at, *overlaps; /* items that live together with item i: overlaps[overlap_at[i]] and following */
    uint32_t *member_at, *members;   /* items of section s, likewise */
    struct candidate *stack;         /* candidates of all nodes on the path */
    struct undo *undos;
    size_t    n_undos, room_undos;
    struct resting *resting;         /* the items without place of one section, while it is checked */
    bool      is_full;               /* the present node leaves a section that cannot hold its items */
    struct state_key *failed;        /* FAILED_STATES */
    struct pair_search *pairs;       /* NULL: too many items for it */
    enum err  error;
};

/* ---- tables ---- */

static uint32_t count_sections(const struct plan_item *items, uint32_t n)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = items[i].last > most ? items[i].last : most;
    return most;
}

static bool meet(const struct plan_item *a, const struct plan_item *b)
{
    return a->first < b->last && b->first < a->last;
}

static bool list_overlaps(struct plan_search *s)
{
    size_t n = 0, room = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        s->overlap_at[i] = (uint32_t)n;
        for (uint32_t k = 0; k < s->n; k++) {
            if (k == i || !meet(&s->items[i], &s->items[k]))
                continue;
            uint32_t *grown = array_grow(s->overlaps, n, &room, sizeof *grown);
            if (grown == NULL || n >= UINT32_MAX)
                return false;
            s->overlaps = grown;
            s->overlaps[n++] = k;
        }
    }
    s->overlap_at[s->n] = (uint32_t)n;
    return true;
}

static bool list_members(struct plan_search *s)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        n += s->items[i].last - s->items[i].first;
    if (n >= UINT32_MAX || (s->members = malloc((n + 1) * sizeof *s->members)) == NULL)
        return false;
    n = 0;
    for (uint32_t section = 0; section < s->n_sections; section++) {
        s->member_at[section] = (uint32_t)n;
        for (uint32_t i = 0; i < s->n; i++)
            if (s->items[i].first <= section && section < s->items[i].last)
                s->members[n++] = i;
    }
    s->member_at[s->n_sections] = (uint32_t)n;
    return true;
}

void plan_search_close(struct plan_search *s)
{
    if (s == NULL)
        return;
    free(s->at);
    free(s->low);
    free(s->weight);
    free(s->floor);
    free(s->rest);
    free(s->cuts);
    free(s->stamps);
    free(s->touched);
    free(s->overlap_at);
    free(s->overlaps);
    free(s->member_at);
    free(s->members);
    free(s->stack);
    free(s->undos);
    free(s->resting);
    free(s->failed);
    pair_search_close(s->pairs);
    free(s);
}

enum err plan_search_open(const struct plan_item *items, uint32_t n, const volatile sig_atomic_t *interrupted,
                          struct plan_search **out)
{
    struct plan_search *s = calloc(1, sizeof *s);
    if (s == NULL)
        return ERR_HOST_NOMEM;
    *s = (struct plan_search){ .items = items, .n = n, .n_sections = count_sections(items, n),
                               .interrupted = interrupted };
    const size_t sections = (size_t)s->n_sections + 1, all = (size_t)n + 1;
    s->at = calloc(all, sizeof *s->at);
    s->low = calloc(all, sizeof *s->low);
    s->weight = calloc(all, sizeof *s->weight);
    s->floor = calloc(sections, sizeof *s->floor);
    s->rest = calloc(sections, sizeof *s->rest);
    s->cuts = calloc(sections, sizeof *s->cuts);
    s->stamps = calloc(sections, sizeof *s->stamps);
    s->touched = calloc(sections, sizeof *s->touched);
    s->overlap_at = calloc(all, sizeof *s->overlap_at);
    s->member_at = calloc(sections, sizeof *s->member_at);
    s->stack = malloc(all * (all + 2) * sizeof *s->stack);     /* at most two lists a depth, each shorter than before */
    s->resting = calloc(all, sizeof *s->resting);
    s->failed = calloc(FAILED_STATES, sizeof *s->failed);
    if (s->at == NULL || s->low == NULL || s->weight == NULL || s->floor == NULL || s->rest == NULL ||
        s->cuts == NULL || s->stamps == NULL || s->touched == NULL || s->overlap_at == NULL || s->member_at == NULL ||
        s->stack == NULL || s->resting == NULL || s->failed == NULL || !list_overlaps(s) || !list_members(s) ||
        pair_search_open(items, n, interrupted, &s->pairs) != ERR_OK) {
        plan_search_close(s);
        return ERR_HOST_NOMEM;
    }
    *out = s;
    return ERR_OK;
}

/* ---- changes ---- */

static bool search_is_interrupted(const struct plan_search *s)
{
    return s->interrupted != NULL && *s->interrupted != 0;
}

static void search_spend(struct plan_search *s, uint64_t work)
{
    s->work -= work < s->work && !search_is_interrupted(s) ? work : s->work;
}

static void change(struct plan_search *s, uint64_t *where, uint64_t value)
{
    struct undo *undos = array_grow(s->undos, s->n_undos, &s->room_undos, sizeof *undos);
    if (undos == NULL) {
        s->error = ERR_HOST_NOMEM;
        return;
    }
    s->undos = undos;
    s->undos[s->n_undos++] = (struct undo){ .where = where, .was = *where };
    *where = value;
}

static void undo_to(struct plan_search *s, size_t n)
{
    while (s->n_undos > n) {
        s->n_undos--;
        *s->undos[s->n_undos].where = s->undos[s->n_undos].was;
    }
}

/* Puts the items without place of a section in order of their lows, the highest first. Returns their number. */
static uint32_t list_resting(struct plan_search *s, uint32_t section)
{
    struct resting *out = s->resting;
    uint32_t n = 0;
    for (uint32_t k = s->member_at[section]; k < s->member_at[section + 1]; k++) {
        const uint32_t item = s->members[k];
        if (s->at[item] != NO_OFFSET)
            continue;
        uint32_t to = n++;
        for (; to > 0 && out[to - 1].low < s->low[item]; to--)
            out[to] = out[to - 1];
        out[to] = (struct resting){ .low = s->low[item], .bytes = s->items[item].bytes };
    }
    return n;
}

/* Whether the items above each low have room between it and the height. */
static bool resting_fit(const struct plan_search *s, uint32_t n)
{
    uint64_t above = 0;
    for (uint32_t i = 0; i < n; i++) {
        above = add_capped(above, s->resting[i].bytes);
        if (add_capped(s->resting[i].low, above) > s->height)
            return false;
    }
    return true;
}

/* The lowest and the highest low of a section's items without place; false: it has none. */
static bool section_lows(const struct plan_search *s, uint32_t section, uint64_t *lowest, uint64_t *highest)
{
    *lowest = NO_OFFSET;
    *highest = 0;
    for (uint32_t k = s->member_at[section]; k < s->member_at[section + 1]; k++) {
        const uint64_t low = s->low[s->members[k]];
        if (s->at[s->members[k]] != NO_OFFSET)
            continue;
        *lowest = low < *lowest ? low : *lowest;
        *highest = low > *highest ? low : *highest;
    }
    return *lowest != NO_OFFSET;
}

/* No item without place of a touched section lies lower than the lowest `low` of all. Stops at a section that is
 * full. */
static void raise_floors(struct plan_search *s, uint32_t n_touched)
{
    for (uint32_t i = 0; i < n_touched && !s->is_full; i++) {
        const uint32_t section = s->touched[i];
        uint64_t lowest, highest;
        search_spend(s, 1 + (s->member_at[section + 1] - s->member_at[section]) / 4);
        if (!section_lows(s, section, &lowest, &highest))
            continue;
        if (s->floor[section] < lowest)
            change(s, &s->floor[section], lowest);
        if (add_capped(highest, s->rest[section]) > s->height) {
            const uint32_t n = list_resting(s, section);
            search_spend(s, n);
            s->is_full = !resting_fit(s, n);
        }
    }
}

static void touch_sections(struct plan_search *s, const struct plan_item *item, uint32_t *n_touched)
{
    for (uint32_t section = item->first; section < item->last; section++)
        if (s->stamps[section] != s->stamp) {
            s->stamps[section] = s->stamp;
            s->touched[(*n_touched)++] = section;
        }
}

/* Gives item `i` the offset low[i]. Returns whether an item without place has to lie above it. */
static bool item_place(struct plan_search *s, uint32_t i)
{
    const struct plan_item *item = &s->items[i];
    const uint64_t top = s->low[i] + item->bytes;
    uint32_t n_touched = 0;
    uint64_t n_met = 0;
    bool bears = false;
    s->stamp++;
    s->is_full = false;
    change(s, &s->at[i], s->low[i]);
    for (uint32_t k = s->overlap_at[i]; k < s->overlap_at[i + 1]; k++) {
        const uint32_t other = s->overlaps[k];
        if (s->at[other] != NO_OFFSET)
            continue;
        n_met++;
        bears = true;
        if (s->low[other] >= top)
            continue;
        change(s, &s->low[other], top);
        touch_sections(s, &s->items[other], &n_touched);
    }
    for (uint32_t section = item->first; section < item->last; section++) {
        change(s, &s->floor[section], top);
        change(s, &s->rest[section], s->rest[section] - item->bytes);
    }
    raise_floors(s, n_touched);
    search_spend(s, n_met + (item->last - item->first));
    return bears;
}

/* Whether all that has no place may still fit, none of it below `offset`. */
static bool part_may_fit(const struct plan_search *s, const struct part *p, uint64_t offset)
{
    for (uint32_t section = p->first; section < p->last; section++) {
        const uint64_t floor = s->floor[section] > offset ? s->floor[section] : offset;
        if (floor + s->rest[section] > s->height)
            return false;
    }
    return true;
}

/* ---- orders ---- */

static int compare(uint64_t a, uint64_t b)
{
    return a != b ? (a > b ? -1 : 1) : 0;
}

static int compare_areas(const struct plan_item *x, const struct plan_item *y)
{
    const double a = (double)x->width * (double)x->bytes, b = (double)y->width * (double)y->bytes;
    return (a < b) - (a > b);
}

/* < 0: a is placed before b. */
static int compare_items(const struct plan_search *s, uint32_t a, uint32_t b)
{
    const struct plan_item *x = &s->items[a], *y = &s->items[b];
    int by = 0;
    for (const char *letter = s->order; *letter != '\0' && by == 0; letter++)
        by = *letter == 'w'   ? compare(x->width, y->width)
             : *letter == 'a' ? compare_areas(x, y)
                              : compare(s->weight[a], s->weight[b]);
    return by != 0 ? by : (a > b) - (a < b);
}

/* Merge sort of a part's items, with `spare` as long. */
static void sort_items(const struct plan_search *s, struct candidate *items, uint32_t n, struct candidate *spare)
{
    if (n < 2)
        return;
    const uint32_t half = n / 2;
    sort_items(s, items, half, spare);
    sort_items(s, items + half, n - half, spare);
    memcpy(spare, items, half * sizeof *items);
    for (uint32_t i = 0, k = half, to = 0; i < half; to++)
        items[to] = k < n && compare_items(s, items[k].item, spare[i].item) < 0 ? items[k++] : spare[i++];
}

/* Puts a part's items into the order in which they are tried. */
static void part_order(struct plan_search *s, struct part *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const uint32_t item = p->items[i].item;
        s->weight[item] = 0;
        for (uint32_t section = s->items[item].first; section < s->items[item].last; section++)
            if (s->rest[section] > s->weight[item])
                s->weight[item] = s->rest[section];
    }
    sort_items(s, p->items, p->n, p->items + p->n);
    p->key = random_mix(s->height);
    for (uint32_t i = 0; i < p->n; i++) {
        p->items[i].rank = i;
        p->key = hash_fold(p->key ^ p->items[i].item, RANDOM_STEP | 1);
    }
}

/* Copies the items without place to `out`, the lowest first, in order of rank at one height. Returns their number. The
 * list is nearly in order already. */
static uint32_t part_candidates(struct plan_search *s, const struct part *p, struct candidate *out, uint64_t *least_top)
{
    uint32_t n = 0;
    *least_top = NO_OFFSET;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct candidate c = p->items[i];
        if (s->at[c.item] != NO_OFFSET)
            continue;
        const uint64_t low = s->low[c.item], top = low + s->items[c.item].bytes;
        uint32_t to = n++;
        *least_top = top < *least_top ? top : *least_top;
        for (; to > 0; to--) {
            const uint64_t before = s->low[out[to - 1].item];
            if (before < low || (before == low && out[to - 1].rank < c.rank))
                break;
            out[to] = out[to - 1];
        }
        out[to] = c;
    }
    return n;
}

/* ---- states that lead to no plan ---- */

/* The key of the state in which `rest` is to be placed, none below `offset`, and at `offset` none of a lower rank. */
static struct state_key state_key(const struct plan_search *s, const struct part *rest, uint64_t offset, uint32_t rank)
{
    struct state_key key = { { rest->key, random_mix(rest->key) } };
    for (uint32_t i = 0; i < rest->n; i++) {
        const struct candidate c = rest->items[i];
        const uint64_t low = s->low[c.item];
        const bool is_late = low < offset || (low == offset && c.rank < rank);
        const uint64_t word = random_mix(random_mix(c.item) ^ (2 * low + is_late));
        key.word[0] += word;
        key.word[1] += hash_fold(word, RANDOM_STEP);
    }
    return key;
}

static bool state_has_failed(const struct plan_search *s, struct state_key key)
{
    const struct state_key *known = &s->failed[key.word[0] % FAILED_STATES];
    return known->word[0] == key.word[0] && known->word[1] == key.word[1];
}

/* ---- the search ---- */

static enum plan_verdict part_search(struct plan_search *s, const struct part *p, uint64_t offset, uint32_t rank);

/* Searches sections [first, last) on their own: no item of the part lives on either side of their ends. */
static enum plan_verdict search_alone(struct plan_search *s, const struct part *of, uint32_t first, uint32_t last)
{
    struct part p = { .first = first, .last = last, .items = of->items + of->n };
    for (uint32_t i = 0; i < of->n; i++) {
        const struct plan_item *item = &s->items[of->items[i].item];
        if (s->at[of->items[i].item] == NO_OFFSET && item->first < last && first < item->last)
            p.items[p.n++] = of->items[i];
    }
    if (p.n == 0)
        return PLAN_FOUND;
    part_order(s, &p);
    return part_search(s, &p, 0, 0);
}

/* Item `i` has just got its place. Where it was the last to connect two sections, the sides are searched one after the
 * other, else the part goes on. */
static enum plan_verdict part_divide(struct plan_search *s, const struct part *p, struct candidate placed)
{
    const struct plan_item *item = &s->items[placed.item];
    enum plan_verdict v = PLAN_FOUND;
    uint32_t first = p->first;
    for (uint32_t section = item->first; section + 1 < item->last; section++)
        s->cuts[section]--;
    for (uint32_t section = item->first; section + 1 < item->last && v == PLAN_FOUND; section++)
        if (s->cuts[section] == 0) {
            v = search_alone(s, p, first, section + 1);
            first = section + 1;
        }
    if (v == PLAN_FOUND)
        v = first == p->first ? part_search(s, p, s->at[placed.item], placed.rank) : search_alone(s, p, first, p->last);
    for (uint32_t section = item->first; section + 1 < item->last; section++)
        s->cuts[section]++;
    return v;
}

/* Tries an item at its lowest offset. *bears: an item without place lies above it. */
static enum plan_verdict candidate_try(struct plan_search *s, const struct part *p, struct candidate c, bool *bears)
{
    const size_t undos = s->n_undos;
    const uint64_t offset = s->low[c.item];
    *bears = item_place(s, c.item);
    const enum plan_verdict v = s->error != ERR_OK                            ? PLAN_UNKNOWN
                                : s->is_full || !part_may_fit(s, p, offset) ? PLAN_IMPOSSIBLE : part_divide(s, p, c);
    if (v == PLAN_FOUND)
        s->offsets[c.item] = offset;
    undo_to(s, undos);
    return v;
}

/* Places the items of a part, none below `offset`, and at `offset` none of a lower rank: every plan can be had in this
 * order. An item that begins where another could end below it would leave a needless gap. If nothing has to lie above a
 * placed item, another item in its stead is no better. */
static enum plan_verdict part_search(struct plan_search *s, const struct part *p, uint64_t offset, uint32_t rank)
{
    struct part rest = { .first = p->first, .last = p->last, .items = p->items + p->n, .key = p->key };
    uint64_t least_top;
    rest.n = part_candidates(s, p, rest.items, &least_top);
    if (rest.n == 0)
        return PLAN_FOUND;
    if (s->work == 0)
        return PLAN_UNKNOWN;
    search_spend(s, rest.n + (rest.last - rest.first));
    const struct state_key key = state_key(s, &rest, offset, rank);
    if (rest.n >= FAILED_LEAST && state_has_failed(s, key))
        return PLAN_IMPOSSIBLE;
    for (uint32_t i = 0; i < rest.n; i++) {
        const struct candidate c = rest.items[i];
        bool bears;
        if (s->low[c.item] >= least_top)
            break;
        if (s->low[c.item] < offset || (s->low[c.item] == offset && c.rank < rank))
            continue;
        const enum plan_verdict v = candidate_try(s, &rest, c, &bears);
        if (v != PLAN_IMPOSSIBLE)
            return v;
        if (!bears)
            break;
    }
    s->failed[key.word[0] % FAILED_STATES] = key;
    return PLAN_IMPOSSIBLE;
}

static void search_reset(struct plan_search *s)
{
    const size_t sections = s->n_sections;
    s->n_undos = 0;
    memset(s->floor, 0, sections * sizeof *s->floor);
    memset(s->rest, 0, sections * sizeof *s->rest);
    memset(s->cuts, 0, sections * sizeof *s->cuts);
    for (uint32_t i = 0; i < s->n; i++) {
        s->at[i] = NO_OFFSET;
        s->low[i] = 0;
        for (uint32_t section = s->items[i].first; section < s->items[i].last; section++) {
            s->rest[section] += s->items[i].bytes;
            s->cuts[section] += section + 1 < s->items[i].last;
        }
    }
}

/* One search with at most the work that is granted. */
static enum plan_verdict search_in_order(struct plan_search *s, const char *order)
{
    struct part all = { .first = 0, .last = s->n_sections, .items = s->stack, .n = s->n };
    enum plan_verdict v = PLAN_FOUND;
    uint32_t first = 0;
    search_reset(s);
    s->order = order;
    for (uint32_t i = 0; i < s->n; i++)
        all.items[i] = (struct candidate){ .item = i };
    if (!part_may_fit(s, &all, 0))
        return PLAN_IMPOSSIBLE;
    for (uint32_t section = 0; section < s->n_sections && v == PLAN_FOUND; section++)
        if (s->cuts[section] == 0) {
            v = search_alone(s, &all, first, section + 1);
            first = section + 1;
        }
    return v;
}

/* One search in each order, each with at most `grant` of the work, and one by pairs, until one comes to its end. */
static enum plan_verdict search_in_turn(struct plan_search *s, uint64_t grant, uint64_t *work)
{
    static const char *const orders[] = { "wat", "taw", "twa", NULL };
    enum plan_verdict v = PLAN_UNKNOWN;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0] && v == PLAN_UNKNOWN && *work > 0; i++) {
        const uint64_t wanted = orders[i] == NULL ? PAIR_SHARE * grant : grant;
        const uint64_t granted = wanted < *work ? wanted : *work;
        if (orders[i] == NULL && s->pairs == NULL)
            continue;
        s->work = granted;
        v = orders[i] == NULL ? pair_search_run(s->pairs, s->height, &s->work, s->offsets)
                              : search_in_order(s, orders[i]);
        *work -= v == PLAN_UNKNOWN ? granted : granted - s->work;
        if (search_is_interrupted(s) || s->error != ERR_OK)
            *work = 0;
    }
    return v;
}

enum err plan_search_run(struct plan_search *s, uint64_t height, uint64_t *work, uint64_t *offsets,
                         enum plan_verdict *verdict)
{
    enum plan_verdict v = PLAN_UNKNOWN;
    s->height = height;
    s->offsets = offsets;
    for (uint64_t grant = 64 * (uint64_t)(s->n + s->n_sections + 1); v == PLAN_UNKNOWN && *work > 0; grant *= 2)
        v = search_in_turn(s, grant, work);
    *verdict = v;
    return s->error;
}
