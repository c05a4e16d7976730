/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Depth first. A node is a copy of the one above it with one pair more; what follows from that pair is found before the
 * next one is chosen. */
#include "replay/plan/plan_pairs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NO_BYTES UINT64_MAX

enum { SET_WORK = 4, PAIR_WORK = 1 };        /* to look at a set of a stack; at a pair */

/* What a node knows of each item. */
struct pair_state {
    uint64_t low[PAIR_ITEMS], high[PAIR_ITEMS];      /* its offset is between them */
    uint64_t below[PAIR_ITEMS];                      /* the items that lie below it, as a set */
};

/* Items that all live together: those of a section that is not part of another one. */
struct pair_group {
    uint64_t set, fails;             /* fails: how often its stack was found impossible */
    uint32_t item[PAIR_STACKED], n;
};

/* A group at work: of each item, by its number in the group, what the state knows. */
struct stack {
    uint32_t n, all;                 /* all: the set of all */
    uint64_t low[PAIR_STACKED], high[PAIR_STACKED], bytes[PAIR_STACKED];
    uint32_t below[PAIR_STACKED], above[PAIR_STACKED];
};

struct pair_search {
    const struct plan_item *items;
    uint32_t  n, n_groups;
    const volatile sig_atomic_t *interrupted;
    bool      has_twins;             /* two items are alike: turned upside down, a plan is another one */
    uint64_t  height, work;
    uint64_t  meets[PAIR_ITEMS];     /* by item: those that live together with it */
    uint64_t  twins[PAIR_ITEMS];     /* by item: those alike before it, which lie below it */
    uint64_t  in_groups[PAIR_ITEMS]; /* by item: its groups */
    struct pair_group groups[PAIR_ITEMS];
    uint64_t  stale;                 /* groups of which something has changed since they were looked at */
    uint64_t *tops;                  /* by set at the bottom of a stack: the lowest top that it can have, or NO_BYTES */
    uint64_t *starts;                /* by set at its top: 1 + the highest bottom that it can have, or 0 */
    struct pair_state *states;       /* by depth */
    uint64_t *offsets;
};

static uint64_t bit(uint32_t i)
{
    return UINT64_C(1) << i;
}

/* The lowest of a set that is not empty. */
static uint32_t lowest(uint64_t set)
{
    return (uint32_t)__builtin_ctzll(set);
}

/* ---- groups ---- */

static uint64_t section_set(const struct plan_item *items, uint32_t n, uint32_t section)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < n; i++)
        if (items[i].first <= section && section < items[i].last)
            set |= bit(i);
    return set;
}

static bool is_within_a_group(const struct pair_search *s, uint64_t set)
{
    for (uint32_t g = 0; g < s->n_groups; g++)
        if ((set & ~s->groups[g].set) == 0)
            return true;
    return false;
}

/* Adds a section's items. A group is within a later one only if it is within the next. */
static void group_add(struct pair_search *s, uint64_t set)
{
    if (s->n_groups > 0 && (s->groups[s->n_groups - 1].set & ~set) == 0)
        s->n_groups--;
    s->groups[s->n_groups++] = (struct pair_group){ .set = set };
}

/* Lists the groups, of which there are no more than items: each but the last ends before an item begins. False: too
 * many items live together. */
static bool groups_find(struct pair_search *s)
{
    uint32_t n_sections = 0;
    for (uint32_t i = 0; i < s->n; i++)
        n_sections = s->items[i].last > n_sections ? s->items[i].last : n_sections;
    for (uint32_t section = 0; section < n_sections; section++) {
        const uint64_t set = section_set(s->items, s->n, section);
        if (set != 0 && !is_within_a_group(s, set))
            group_add(s, set);
    }
    for (uint32_t g = 0; g < s->n_groups; g++)
        for (uint64_t left = s->groups[g].set; left != 0; left &= left - 1) {
            const uint32_t item = lowest(left);
            if (s->groups[g].n == PAIR_STACKED)
                return false;
            s->groups[g].item[s->groups[g].n++] = item;
            s->in_groups[item] |= bit(g);
            s->meets[item] |= s->groups[g].set & ~bit(item);
        }
    return true;
}

static void twins_find(struct pair_search *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (s->items[i].bytes == s->items[k].bytes && s->items[i].first == s->items[k].first &&
                s->items[i].last == s->items[k].last) {
                s->twins[i] |= bit(k);
                s->has_twins = true;
            }
}

/* Pairs of items that live together. */
static size_t count_pairs(const struct pair_search *s)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        n += (size_t)__builtin_popcountll(s->meets[i]);
    return n / 2;
}

void pair_search_close(struct pair_search *s)
{
    if (s == NULL)
        return;
    free(s->tops);
    free(s->starts);
    free(s->states);
    free(s);
}

enum err pair_search_open(const struct plan_item *items, uint32_t n, const volatile sig_atomic_t *interrupted,
                          struct pair_search **out)
{
    *out = NULL;
    if (n > PAIR_ITEMS)
        return ERR_OK;
    struct pair_search *s = calloc(1, sizeof *s);
    if (s == NULL)
        return ERR_HOST_NOMEM;
    *s = (struct pair_search){ .items = items, .n = n, .interrupted = interrupted };
    if (!groups_find(s)) {
        pair_search_close(s);
        return ERR_OK;
    }
    twins_find(s);
    s->tops = malloc(sizeof *s->tops << PAIR_STACKED);
    s->starts = malloc(sizeof *s->starts << PAIR_STACKED);
    s->states = malloc((count_pairs(s) + 2) * sizeof *s->states);
    if (s->tops == NULL || s->starts == NULL || s->states == NULL) {
        pair_search_close(s);
        return ERR_HOST_NOMEM;
    }
    *out = s;
    return ERR_OK;
}

/* ---- what follows ---- */

static void spend(struct pair_search *s, uint64_t work)
{
    const bool is_interrupted = s->interrupted != NULL && *s->interrupted != 0;
    s->work -= work < s->work && !is_interrupted ? work : s->work;
}

/* Each of these returns whether the state may still lead to a plan. */
static bool low_raise(struct pair_search *s, struct pair_state *state, uint32_t item, uint64_t low)
{
    if (low > state->low[item]) {
        state->low[item] = low;
        s->stale |= s->in_groups[item];
    }
    return state->low[item] <= state->high[item];
}

static bool high_lower(struct pair_search *s, struct pair_state *state, uint32_t item, uint64_t high)
{
    if (high < state->high[item]) {
        state->high[item] = high;
        s->stale |= s->in_groups[item];
    }
    return state->low[item] <= state->high[item];
}

static bool below_add(struct pair_search *s, struct pair_state *state, uint32_t item, uint64_t set)
{
    if ((set & ~state->below[item]) != 0) {
        state->below[item] |= set;
        s->stale |= s->in_groups[item];
    }
    return (state->below[item] & bit(item)) == 0;
}

/* What lies below an item's lower neighbours lies below it, and all of it has room below. */
static bool item_follow(struct pair_search *s, struct pair_state *state, uint32_t item)
{
    uint64_t set = state->below[item];
    for (uint64_t left = set; left != 0; left &= left - 1) {
        const uint32_t lower = lowest(left);
        const uint64_t bytes = s->items[lower].bytes;
        set |= state->below[lower];
        if (state->high[item] < bytes || !low_raise(s, state, item, state->low[lower] + bytes) ||
            !high_lower(s, state, lower, state->high[item] - bytes))
            return false;
    }
    return below_add(s, state, item, set);
}

/* item_follow for all until nothing changes. */
static bool pairs_follow(struct pair_search *s, struct pair_state *state)
{
    const uint64_t known = s->stale;
    uint64_t all = known;
    do {
        s->stale = 0;
        for (uint32_t i = 0; i < s->n; i++)
            if (!item_follow(s, state, i))
                return false;
        all |= s->stale;
        spend(s, PAIR_WORK * s->n);
    } while (s->stale != 0);
    s->stale = all;
    return true;
}

static void stack_open(const struct pair_search *s, const struct pair_state *state, const struct pair_group *g,
                       struct stack *out)
{
    *out = (struct stack){ .n = g->n, .all = (UINT32_C(1) << g->n) - 1 };
    for (uint32_t a = 0; a < g->n; a++) {
        const uint32_t item = g->item[a];
        out->low[a] = state->low[item];
        out->high[a] = state->high[item];
        out->bytes[a] = s->items[item].bytes;
        for (uint32_t b = 0; b < g->n; b++)
            if ((state->below[item] & bit(g->item[b])) != 0) {
                out->below[a] |= UINT32_C(1) << b;
                out->above[b] |= UINT32_C(1) << a;
            }
    }
}

/* Fills in `tops`. Returns whether the whole stack has an order. */
static bool stack_from_below(struct pair_search *s, const struct stack *stack)
{
    uint64_t work = stack->all / 16, *tops = s->tops;
    memset(tops, 0xff, (stack->all + 1) * sizeof *tops);
    tops[0] = 0;
    for (uint32_t set = 0; set < stack->all; set++) {
        if (tops[set] == NO_BYTES)
            continue;
        work += SET_WORK;
        for (uint32_t left = stack->all & ~set; left != 0; left &= left - 1) {
            const uint32_t a = lowest(left), with = set | (left & -left);
            const uint64_t low = tops[set] > stack->low[a] ? tops[set] : stack->low[a];
            if ((stack->below[a] & ~set) == 0 && low <= stack->high[a] && low + stack->bytes[a] < tops[with])
                tops[with] = low + stack->bytes[a];
        }
    }
    spend(s, work);
    return tops[stack->all] != NO_BYTES;
}

/* Fills in `starts`, and finds of each item the lowest and the highest offset over all orders, and what lies below it
 * in all. An item has an order if those below it leave room between them and those above it. */
static void stack_from_above(struct pair_search *s, const struct stack *stack, struct stack *found)
{
    uint64_t *starts = s->starts;
    for (uint32_t a = 0; a < stack->n; a++) {
        found->low[a] = NO_BYTES;
        found->high[a] = 0;
        found->below[a] = stack->all;
    }
    memset(starts, 0, (stack->all + 1) * sizeof *starts);
    starts[0] = s->height + 1;
    for (uint32_t set = 0; set < stack->all; set++) {
        for (uint32_t left = starts[set] > 0 ? stack->all & ~set : 0; left != 0; left &= left - 1) {
            const uint32_t a = lowest(left), with = set | (left & -left), rest = stack->all & ~with;
            if ((stack->above[a] & ~set) != 0 || s->tops[rest] == NO_BYTES)
                continue;
            const uint64_t low = s->tops[rest] > stack->low[a] ? s->tops[rest] : stack->low[a];
            const uint64_t end = starts[set] - 1, most = stack->high[a] + stack->bytes[a];
            const uint64_t top = end < most ? end : most;
            if (top < low + stack->bytes[a])
                continue;
            const uint64_t high = top - stack->bytes[a];
            starts[with] = high + 1 > starts[with] ? high + 1 : starts[with];
            found->low[a] = low < found->low[a] ? low : found->low[a];
            found->high[a] = high > found->high[a] ? high : found->high[a];
            found->below[a] &= rest;
        }
    }
}

/* Tells the state what holds in all orders of a group. */
static bool group_follow(struct pair_search *s, struct pair_state *state, const struct pair_group *g)
{
    struct stack stack, found;
    stack_open(s, state, g, &stack);
    if (!stack_from_below(s, &stack))
        return false;
    stack_from_above(s, &stack, &found);
    for (uint32_t a = 0; a < g->n; a++) {
        uint64_t below = 0;
        if (found.low[a] == NO_BYTES)
            return false;
        for (uint32_t left = found.below[a]; left != 0; left &= left - 1)
            below |= bit(g->item[lowest(left)]);
        if (!low_raise(s, state, g->item[a], found.low[a]) || !high_lower(s, state, g->item[a], found.high[a]) ||
            !below_add(s, state, g->item[a], below))
            return false;
    }
    return true;
}

/* All that follows from what the state knows. */
static bool state_follow(struct pair_search *s, struct pair_state *state)
{
    while (s->work > 0) {
        if (!pairs_follow(s, state))
            return false;
        if (s->stale == 0)
            return true;
        const uint32_t g = lowest(s->stale);
        const uint64_t others = s->stale & ~bit(g);
        s->stale = 0;
        if (!group_follow(s, state, &s->groups[g])) {
            s->groups[g].fails++;
            return false;
        }
        s->stale |= others;
    }
    return true;
}

/* ---- the search ---- */

/* How soon a pair is to be decided: by the fails of the groups in which it lives, and by the smaller of both. */
static double pair_weight(const struct pair_search *s, uint32_t a, uint32_t b)
{
    uint64_t fails = 1;
    for (uint64_t left = s->in_groups[a] & s->in_groups[b]; left != 0; left &= left - 1)
        fails += s->groups[lowest(left)].fails;
    const uint64_t x = s->items[a].bytes, y = s->items[b].bytes;
    return (double)fails * (double)(x < y ? x : y);
}

/* Chooses a pair that is not known, the one that may well be lower first. False: all pairs are known. */
static bool choose_pair(struct pair_search *s, const struct pair_state *state, uint32_t *lower, uint32_t *upper)
{
    double most = -1;
    for (uint32_t a = 0; a < s->n; a++)
        for (uint64_t left = s->meets[a] & ~state->below[a] & ~(bit(a) | (bit(a) - 1)); left != 0; left &= left - 1) {
            const uint32_t b = lowest(left);
            if ((state->below[b] & bit(a)) != 0 || pair_weight(s, a, b) <= most)
                continue;
            most = pair_weight(s, a, b);
            *lower = state->low[a] + state->high[a] <= state->low[b] + state->high[b] ? a : b;
            *upper = *lower == a ? b : a;
        }
    spend(s, PAIR_WORK * s->n);
    return most >= 0;
}

static enum plan_verdict pair_search_from(struct pair_search *s, size_t depth);

/* The same as at this depth, and one pair. */
static enum plan_verdict pair_try(struct pair_search *s, size_t depth, uint32_t lower, uint32_t upper)
{
    s->states[depth + 1] = s->states[depth];
    s->stale = 0;
    return below_add(s, &s->states[depth + 1], upper, bit(lower)) ? pair_search_from(s, depth + 1) : PLAN_IMPOSSIBLE;
}

/* Both ways of a pair. Of the first pair one is enough if no items are alike: any plan may be turned upside down. */
static enum plan_verdict pair_search_from(struct pair_search *s, size_t depth)
{
    struct pair_state *state = &s->states[depth];
    uint32_t lower = 0, upper = 0;
    if (!state_follow(s, state))
        return PLAN_IMPOSSIBLE;
    if (s->work == 0)
        return PLAN_UNKNOWN;
    if (!choose_pair(s, state, &lower, &upper)) {
        memcpy(s->offsets, state->low, s->n * sizeof *s->offsets);
        return PLAN_FOUND;
    }
    const enum plan_verdict v = pair_try(s, depth, lower, upper);
    return v != PLAN_IMPOSSIBLE || (depth == 0 && !s->has_twins) ? v : pair_try(s, depth, upper, lower);
}

enum plan_verdict pair_search_run(struct pair_search *s, uint64_t height, uint64_t *work, uint64_t *offsets)
{
    struct pair_state *state = &s->states[0];
    s->height = height;
    s->work = *work;
    s->offsets = offsets;
    s->stale = s->n_groups == PAIR_ITEMS ? UINT64_MAX : bit(s->n_groups) - 1;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->items[i].bytes > height)
            return PLAN_IMPOSSIBLE;
        state->low[i] = 0;
        state->high[i] = height - s->items[i].bytes;
        state->below[i] = s->twins[i];
    }
    const enum plan_verdict v = pair_search_from(s, 0);
    *work = s->work;
    return v;
}
