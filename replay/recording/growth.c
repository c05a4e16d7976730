/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One pass keeps what changes; every part that is looked at is then walked in memory. */
#include "replay/recording/growth.h"

#include "replay/recording/growth_before.h"
#include "replay/recording/growth_few.h"
#include "replay/recording/growth_full.h"
#include "replay/recording/growth_joined.h"
#include "replay/recording/growth_refused.h"
#include "replay/recording/growth_sets.h"
#include "replay/recording/phases.h"
#include "replay/recording/request_stacks.h"
#include "replay/recording/telling_lines.h"

#include <stdlib.h>
#include <string.h>

/* A part is cut into so many windows; the least that a group holds is taken in each. */
enum { WINDOWS = 48, BEGINS = 3 };

/* Longer recordings are not looked at: nobody waits for it. */
#define EVENTS_MAX (UINT64_C(1) << 22)
#define CELLS_MAX (UINT64_C(1) << 24)

/* The low mark lies in the last two fifths of a part; of all together also in the last fifth and tenth, for what comes
 * seldom. A part has at least so many changes, and so many parts are tried,
 * each the one before from its low mark on. Without Python stacks fewer: a short part may be one forward pass. */
enum { LAST_PART = 10, LAST_PARTS = 4, PART_CHANGES = 16, PARTS_MAX = 8, BARE_PARTS_MAX = 2 };

/* A growth is even if each quarter of the time has at least so much of its share, no window more than so much of all,
 * and so many windows some. */
#define QUARTER_LEAST 0.35
#define WINDOW_MOST   0.45
enum { RISES_LEAST = 4 };

/* Or it comes in bursts, as of an epoch: so many, none more than twice as large as another, nor twice as far from the
 * next, and none is missing up to the mark. */
enum { BURSTS_LEAST = 3, BURSTS_APART = 2 };

/* It matters from a 200th of the need on. */
enum { MATTERS_SHARE = 200 };

/* It must have come in so many turns. Requests of the program's own lines that nothing separates are turns if they are
 * many and work goes on beside them that is freed; without Python stacks the same counts for all. */
enum { TURNS_LEAST = 4, RUNS_LEAST = 48, FREED_SHARE = 2 };

/* Without stacks: live memory must fall again and again, each time by a 16th of the growth, and by an 8th of the most
 * by which it ever fell: within one backward pass it falls by less. */
enum { FALLS_LEAST = 16, FALL_SHARE = 16, TURN_SHARE = 8 };

/* A forward pass may consist of many calls of modules. Where no backward pass tells where one ends, what grows must
 * come in twice as many stretches as any pass had; where none was ever seen and a third of all requests is kept, as a
 * graph keeps it, in so many. Of fewer, but at
 * least GRAPHS_LEAST, it is said that it may be. Without Python stacks such a growth is never told from a pass. */
enum { GRAPH_TURNS = 64, GRAPHS_LEAST = 8, GRAPH_SHARE = 3 };

/* One of so many may be otherwise, as a first pass is. */
enum { EXCEPTIONS_SHARE = 16 };

/* A program whose passes had so many calls of modules calls them in a loop: one pass may have far more. */
enum { LOOP_CALLS = 3 };

/* A graph keeps at least a fifth of all requests. An output that is kept may be most of the bytes, and is one of many
 * requests. */
enum { GRAPH_REQUESTS = 5 };

/* What is replaced by a larger one again and again is held twice while that happens, and what is computed of it grows
 * as well: it counts four times. It is no leak if it was given up
 * before, down to an 8th, when it was at least a 16th as large: a cache of a generation grows with its input. */
enum { REPLACED_TIMES = 4, REUSED_SHARE = 16, GIVEN_UP_SHARE = 8 };

/* A buffer is full if an 8th as many requests follow as filled it, and leave next to nothing behind. */
enum { FULL_SHARE = 8 };

/* What most turns leave behind is told if it is within so much of the mean. */
enum { MEAN_SHARE = 6 };

/* One request or free. */
struct change {
    uint64_t event, bytes;
    uint32_t group;
    uint32_t stretch;                /* of the program's phases; the highest bit: it is a free */
};
#define CHANGE_FREE (UINT32_C(1) << 31)

struct group {
    uint64_t live, live_before;      /* now, and where the part begins */
    uint32_t window;                 /* the last one that is filled in */
    uint32_t stretch, turns, births, deaths;     /* of the requests that are counted */
    bool     is_own, is_setup, grows, is_replaced, is_full;
    uint64_t rise;
};

struct grower {
    struct trace_reader *trace;
    struct phases   phases;
    struct pair_map sizes;           /* without stacks: group by size */
    uint32_t       *group_of;        /* by slot */
    uint32_t       *stack_of;        /* by event that is a request, in order */
    struct change  *changes;
    size_t          n;
    uint32_t        n_groups;
    struct group   *groups;
    uint64_t       *least;           /* by group and window */
    uint64_t        moment, need_bytes, start_bytes;
    bool            has_lines, grows_in_input, holds_graphs;
    /* Of the part that is looked at. */
    size_t          begin, mark;     /* changes [begin, mark) */
    uint64_t        most[WINDOWS];   /* that is live in each window */
    uint64_t        requested, freed;            /* from the window on from which it is looked at */
    uint64_t        n_requested;
};

/* ---- what changes ---- */

struct change_pass {
    struct grower *g;
    size_t   request;
    uint32_t stretch;
    int      phase;
    bool     has_memory;
};

/* Groups of lines: 1 is what has no stack. Of sizes: 0 is all together, 1 what was live before the recording. */
static uint32_t group_of_request(struct change_pass *p, const struct event *ev)
{
    struct grower *g = p->g;
    const uint32_t stack = g->stack_of[p->request];
    if (g->has_lines)
        return stack == TRACE_NO_STACK ? 1 : g->phases.line_of[stack] + 2;
    const uint32_t *known = pair_map_find(&g->sizes, ev->bytes, 0);
    if (known != NULL)
        return *known;
    p->has_memory = p->has_memory && pair_map_add(&g->sizes, ev->bytes, 0, g->n_groups);
    return g->n_groups++;
}

static void note_phase(struct change_pass *p)
{
    const int phase = p->g->phases.has_python ? p->g->phases.of_stack[p->g->stack_of[p->request]] : PHASE_OWN;
    p->stretch += phase != p->phase;
    p->phase = phase;
}

static void change_event(void *arg, const struct event *ev, uint64_t number)
{
    struct change_pass *p = arg;
    struct grower *g = p->g;
    const bool is_free = ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED;
    if (number >= g->moment || !p->has_memory || (ev->kind != EVENT_ALLOC && !is_free))
        return;
    if (!is_free) {
        note_phase(p);
        g->group_of[ev->slot] = group_of_request(p, ev);
        p->request++;
    }
    g->changes[g->n++] = (struct change){ number, ev->bytes, g->group_of[ev->slot],
                                          p->stretch | (is_free ? CHANGE_FREE : 0) };
}

/* ---- a part ---- */

static bool is_free(const struct change *c)
{
    return (c->stretch & CHANGE_FREE) != 0;
}

static uint64_t live_after(uint64_t live, const struct change *c)
{
    return is_free(c) ? live - c->bytes : live + c->bytes;
}

/* Where the part's last `tenths` have least live: before which change. `live`: where the part begins. */
static size_t find_low_mark(const struct grower *g, uint64_t live, size_t tenths)
{
    const size_t from = g->n - (g->n - g->begin) * tenths / LAST_PART;
    uint64_t least = UINT64_MAX;
    size_t mark = g->n;
    for (size_t i = g->begin; i < g->n; i++) {
        if (i >= from && live < least) {
            least = live;
            mark = i;
        }
        live = live_after(live, &g->changes[i]);
    }
    return mark;
}

static size_t window_of(const struct grower *g, size_t i)
{
    return (i - g->begin) * WINDOWS / (g->mark - g->begin);
}

/* The first change of a window. */
static size_t change_at(const struct grower *g, size_t window)
{
    return g->begin + (window * (g->mark - g->begin) + WINDOWS - 1) / WINDOWS;
}

/* Fills in the windows of a group up to `window`, in which nothing changed. */
static void fill_windows(struct grower *g, uint32_t group, uint32_t window)
{
    struct group *x = &g->groups[group];
    uint64_t *least = &g->least[(size_t)group * WINDOWS];
    while (x->window < window)
        least[++x->window] = x->live;
}

static void change_group(struct grower *g, uint32_t group, uint32_t window, const struct change *c)
{
    struct group *x = &g->groups[group];
    uint64_t *least = &g->least[(size_t)group * WINDOWS];
    fill_windows(g, group, window);
    x->live = live_after(x->live, c);
    if (x->live < least[window])
        least[window] = x->live;
}

/* From now on each window has the least from there to the mark. */
static void take_envelope(struct grower *g, uint32_t group)
{
    uint64_t *least = &g->least[(size_t)group * WINDOWS];
    fill_windows(g, group, WINDOWS - 1);
    if (g->groups[group].live < least[WINDOWS - 1])
        least[WINDOWS - 1] = g->groups[group].live;
    for (size_t w = WINDOWS - 1; w-- > 0;)
        if (least[w + 1] < least[w])
            least[w] = least[w + 1];
}

/* Fills the windows of all groups, and what is live at most in each. */
static void walk_part(struct grower *g, uint64_t live)
{
    for (uint32_t i = 0; i < g->n_groups; i++) {
        g->groups[i].live = g->groups[i].live_before;
        g->groups[i].window = 0;
        g->least[(size_t)i * WINDOWS] = g->groups[i].live;
    }
    memset(g->most, 0, sizeof g->most);
    for (size_t i = g->begin; i < g->mark; i++) {
        const size_t window = window_of(g, i);
        live = live_after(live, &g->changes[i]);
        g->most[window] = live > g->most[window] ? live : g->most[window];
        change_group(g, g->changes[i].group, (uint32_t)window, &g->changes[i]);
        if (!g->has_lines)
            change_group(g, 0, (uint32_t)window, &g->changes[i]);
    }
    for (uint32_t i = 0; i < g->n_groups; i++)
        take_envelope(g, i);
}

/* ---- is it a growth ---- */

static uint64_t rise_between(const struct grower *g, uint32_t group, size_t from, size_t to)
{
    const uint64_t *least = &g->least[(size_t)group * WINDOWS];
    return least[to] - least[from];
}

static unsigned count_rises(const struct grower *g, uint32_t group, size_t from, uint64_t *most)
{
    unsigned n = 0;
    *most = 0;
    for (size_t w = from; w + 1 < WINDOWS; w++) {
        const uint64_t rise = rise_between(g, group, w, w + 1);
        n += rise > 0;
        *most = rise > *most ? rise : *most;
    }
    return n;
}

/* Whether a group rises evenly from window `from` on. */
static bool rises_evenly(const struct grower *g, uint32_t group, size_t from)
{
    const size_t last = WINDOWS - 1, quarter = (last - from) / 4;
    const uint64_t rise = rise_between(g, group, from, last);
    uint64_t most;
    if (rise == 0 || count_rises(g, group, from, &most) < RISES_LEAST || (double)most > WINDOW_MOST * (double)rise)
        return false;
    for (size_t q = 0; q < 4; q++) {
        const size_t to = q == 3 ? last : from + (q + 1) * quarter;
        if ((double)rise_between(g, group, from + q * quarter, to) < QUARTER_LEAST * (double)rise / 4)
            return false;
    }
    return true;
}

/* The bursts in which a group rises from window `from` on, and the extremes of their sizes and distances. */
struct bursts {
    size_t   n, begin, nearest, farthest;
    uint64_t bytes, smallest, largest;           /* bytes: of the last one */
};

static void end_burst(struct bursts *b)
{
    if (b->n == 0)
        return;
    b->smallest = b->bytes < b->smallest ? b->bytes : b->smallest;
    b->largest = b->bytes > b->largest ? b->bytes : b->largest;
}

static void begin_burst(struct bursts *b, size_t window)
{
    end_burst(b);
    const size_t apart = window - b->begin;
    if (b->n > 0 && apart < b->nearest)
        b->nearest = apart;
    if (b->n > 0 && apart > b->farthest)
        b->farthest = apart;
    b->n++;
    b->begin = window;
    b->bytes = 0;
}

/* Whether a group rises in bursts that are alike. */
static bool rises_in_bursts(const struct grower *g, uint32_t group, size_t from)
{
    struct bursts b = { .nearest = WINDOWS, .smallest = UINT64_MAX };
    for (size_t w = from; w + 1 < WINDOWS; w++) {
        const uint64_t rise = rise_between(g, group, w, w + 1);
        if (rise > 0 && (w == from || rise_between(g, group, w - 1, w) == 0))
            begin_burst(&b, w);
        b.bytes += rise;
    }
    end_burst(&b);
    return b.n >= BURSTS_LEAST && b.largest <= BURSTS_APART * b.smallest && b.farthest <= BURSTS_APART * b.nearest &&
           WINDOWS - 1 - b.begin <= BURSTS_APART * b.nearest;
}

/* Counts what the groups request from window `from` on: in how many stretches, and how often. */
static void count_turns(struct grower *g, size_t from)
{
    g->requested = g->freed = g->n_requested = 0;
    for (uint32_t i = 0; i < g->n_groups; i++)
        g->groups[i].turns = g->groups[i].births = g->groups[i].deaths = g->groups[i].stretch = 0;
    for (size_t i = change_at(g, from); i < g->mark; i++) {
        const struct change *c = &g->changes[i];
        struct group *x = &g->groups[c->group];
        *(is_free(c) ? &g->freed : &g->requested) += c->bytes;
        x->deaths += is_free(c);
        if (is_free(c))
            continue;
        g->n_requested++;
        x->births++;
        x->turns += c->stretch != x->stretch;
        x->stretch = c->stretch;
    }
}

/* How often live memory falls by so much from a peak. Only differences count. */
static unsigned count_falls(const struct grower *g, size_t from, int64_t least)
{
    int64_t live = 0, turning = 0;               /* turning: the peak, or the low after a fall */
    unsigned falls = 0;
    bool is_fallen = false;
    for (size_t i = change_at(g, from); i < g->mark; i++) {
        const struct change *c = &g->changes[i];
        live += is_free(c) ? -(int64_t)c->bytes : (int64_t)c->bytes;
        const bool turns = is_fallen ? live - turning >= least : turning - live >= least;
        falls += turns && !is_fallen;
        if (turns || (is_fallen ? live < turning : live > turning))
            turning = live;
        is_fallen = is_fallen != turns;
    }
    return falls;
}

/* The most by which live memory ever fell from a peak, up to the mark: what the largest turn held for a while. */
static uint64_t largest_fall(const struct grower *g)
{
    int64_t live = 0, peak = 0, most = 0;
    for (size_t i = 0; i < g->mark; i++) {
        const struct change *c = &g->changes[i];
        live += is_free(c) ? -(int64_t)c->bytes : (int64_t)c->bytes;
        peak = live > peak ? live : peak;
        most = peak - live > most ? peak - live : most;
    }
    return (uint64_t)most;
}

static bool comes_in_turns(const struct grower *g, uint32_t group, size_t from)
{
    const struct group *x = &g->groups[group];
    const uint64_t rise = rise_between(g, group, from, WINDOWS - 1);
    if (g->phases.has_python)
        return x->turns >= TURNS_LEAST ||
               (x->is_own && x->births >= RUNS_LEAST && g->freed >= rise / FREED_SHARE);
    const uint64_t of_rise = rise / FALL_SHARE, of_turn = largest_fall(g) / TURN_SHARE;
    return count_falls(g, from, (int64_t)(of_rise > of_turn ? of_rise : of_turn) + 1) >= FALLS_LEAST;
}

static uint64_t starts_between(const struct phase_starts *s, uint64_t from, uint64_t to)
{
    uint64_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->at[i] >= from && s->at[i] < to;
    return n;
}

/* Whether what grows is so many of all requests that it may be a graph. */
static bool keeps_as_a_graph(const struct grower *g)
{
    uint64_t kept = 0;
    for (uint32_t i = 0; i < g->n_groups; i++)
        if (g->groups[i].grows && g->groups[i].births > g->groups[i].deaths)
            kept += g->groups[i].births - g->groups[i].deaths;
    return kept >= g->n_requested / GRAPH_REQUESTS;
}

/* Whether backward passes came after calls in a loop, or none ever did. A model and its loss are no loop. */
static bool calls_in_a_loop(const struct phases *p, uint64_t since)
{
    return p->starts[PHASE_BACKWARD].n == 0 || phases_most_calls(p, since) >= LOOP_CALLS;
}

/* Whether no backward pass came since it grows, and each call keeps several requests, as a graph does. Without Python
 * stacks nothing tells a backward pass, and what counts is how many of all requests are kept. */
static bool may_be_a_long_pass(const struct grower *g, const struct growth *out)
{
    if (!g->phases.has_python)
        return keeps_as_a_graph(g);
    return phase_starts_after(&g->phases.starts[PHASE_BACKWARD], out->since) == UINT64_MAX &&
           calls_in_a_loop(&g->phases, out->since) && out->phases & 1U << PHASE_FORWARD &&
           out->held_requests >= 2 * out->turns;
}

/* Whether modules were called more often than there are weights: the same ones again and again, on batches or on the
 * parts of one input. Of weights from before the recording nothing is known. */
static bool calls_again(const struct grower *g, uint64_t calls)
{
    uint64_t weights = 0;
    for (size_t i = 0; i < g->n; i++)
        weights += !is_free(&g->changes[i]) && g->groups[g->changes[i].group].is_setup;
    return calls >= GRAPHS_LEAST && weights > 0 && calls > weights;
}

/* Whether all of a growth may be one forward pass, whose graph is still needed. */
static bool may_be_one_pass(const struct grower *g, size_t from, uint64_t rise)
{
    const uint64_t since = g->changes[change_at(g, from)].event, until = g->changes[g->mark - 1].event;
    const struct phase_starts *forward = &g->phases.starts[PHASE_FORWARD];
    const struct phase_starts *backward = &g->phases.starts[PHASE_BACKWARD];
    const uint64_t calls = starts_between(forward, since, until), most = phases_most_calls(&g->phases, since);
    if (!g->phases.has_python)
        return rise >= g->requested / GRAPH_SHARE;
    if (calls == 0 || starts_between(backward, since, until) >= TURNS_LEAST)
        return false;
    if (most > 0)
        return calls <= 2 * most;
    return rise >= g->requested / GRAPH_SHARE && calls < GRAPH_TURNS && keeps_as_a_graph(g) && !calls_again(g, calls);
}

/* Whether the growth made at least half of the difference between the need at the end and what was live at most in the
 * first quarter of it. */
static bool is_the_cause(const struct grower *g, size_t from, uint64_t total_rise_since_quarter)
{
    const size_t quarter = from + (WINDOWS - from) / 4;
    const double part = (double)(g->mark - g->begin) / WINDOWS;
    const double seen = (double)(WINDOWS - quarter) * part, all = seen + (double)(g->n - g->mark);
    uint64_t most = 0;
    for (size_t w = from; w < quarter; w++)
        most = g->most[w] > most ? g->most[w] : most;
    if (g->need_bytes <= most)
        return false;
    return (double)total_rise_since_quarter * all / seen >= (double)(g->need_bytes - most) / 2;
}

/* Whether the group goes on requesting in the end, and no longer grows: a buffer that is full. */
static bool is_a_full_buffer(const struct grower *g, uint32_t group, size_t from)
{
    const struct group *x = &g->groups[group];
    uint64_t requested = 0, freed = 0, births = 0;
    for (size_t i = g->mark + (g->n - g->mark) / 2; i < g->n; i++) {
        const struct change *c = &g->changes[i];
        if (c->group != group)
            continue;
        births += !is_free(c);
        *(is_free(c) ? &freed : &requested) += c->bytes;
    }
    const uint64_t rise = rise_between(g, group, from, WINDOWS - 1);
    return births >= TURNS_LEAST && births >= x->births / FULL_SHARE && requested <= freed + rise / (2 * FULL_SHARE);
}

/* Whether a group keeps as many requests as before, each time of larger ones. */
static bool is_replaced(const struct grower *g, uint32_t group, size_t from)
{
    const struct group *x = &g->groups[group];
    uint64_t most;
    return g->has_lines && x->births <= x->deaths + count_rises(g, group, from, &most) / 2;
}

/* Whether a group grew before, to so many bytes at least, and was given up. */
static bool was_given_up(const struct grower *g, uint32_t group, size_t from, uint64_t bytes)
{
    uint64_t live = 0, peak = 0;
    bool was = false;
    for (size_t i = 0, end = change_at(g, from); i < end; i++) {
        if (g->changes[i].group != group)
            continue;
        live = live_after(live, &g->changes[i]);
        peak = live > peak ? live : peak;
        was = was || (peak >= bytes && live <= peak / GIVEN_UP_SHARE);
    }
    return was;
}

/* Whether all of a growth lies between two steps of an optimizer, and the group grew half as much before and was given
 * up: it is what a step takes, as in an inner loop. */
static bool is_within_a_step(const struct grower *g, uint32_t group, size_t from)
{
    const struct phase_starts *steps = &g->phases.starts[PHASE_OPTIMIZER];
    const uint64_t since = g->changes[change_at(g, from)].event, until = g->changes[g->mark - 1].event;
    return phase_starts_up_to(steps, (int64_t)since) > 0 && starts_between(steps, since, until) == 0 &&
           was_given_up(g, group, from, g->groups[group].rise / 2);
}

static bool does_grow(struct grower *g, uint32_t group, size_t from)
{
    struct group *x = &g->groups[group];
    if (x->rise == 0 || x->is_full || !(rises_evenly(g, group, from) || rises_in_bursts(g, group, from)))
        return false;
    x->is_replaced = is_replaced(g, group, from);
    if (!comes_in_turns(g, group, from) || is_a_full_buffer(g, group, from))
        return false;
    const bool is_of_input = x->is_replaced && was_given_up(g, group, from, x->rise / REUSED_SHARE);
    g->grows_in_input = g->grows_in_input || is_of_input;
    return !is_of_input && !is_within_a_step(g, group, from);
}

/* Marks the groups that grow from window `from` on; returns by how much together. */
static uint64_t mark_groups(struct grower *g, size_t from, uint64_t *since_quarter)
{
    const size_t quarter = from + (WINDOWS - from) / 4;
    uint64_t rise = 0;
    count_turns(g, from);
    *since_quarter = 0;
    for (uint32_t i = 0; i < g->n_groups; i++) {
        struct group *x = &g->groups[i];
        x->rise = rise_between(g, i, from, WINDOWS - 1);
        x->grows = does_grow(g, i, from);
        if (x->grows && (g->has_lines || i == 0)) {
            rise += x->rise;
            *since_quarter += rise_between(g, i, quarter, WINDOWS - 1) * (x->is_replaced ? REPLACED_TIMES : 1);
        }
    }
    if (rise == 0 || !may_be_one_pass(g, from, rise))
        return rise;
    g->holds_graphs = g->phases.has_python && g->phases.starts[PHASE_BACKWARD].n == 0 &&
                      g->phases.starts[PHASE_FORWARD].n >= GRAPHS_LEAST;
    return 0;
}

/* Looks for a growth from the part's begin, or from later on. *from: the window. */
static uint64_t judge_part(struct grower *g, size_t *from)
{
    for (size_t b = 0; b < BEGINS; b++) {
        uint64_t since_quarter;
        *from = b * WINDOWS / 4;
        const uint64_t rise = mark_groups(g, *from, &since_quarter);
        if (rise > 0 && rise >= g->need_bytes / MATTERS_SHARE && is_the_cause(g, *from, since_quarter))
            return rise;
    }
    return 0;
}

/* ---- the whole ---- */

static uint32_t leader(const struct grower *g)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < g->n_groups; i++)
        if (g->groups[i].grows && (!g->groups[best].grows || g->groups[i].rise > g->groups[best].rise))
            best = i;
    return best;
}

/* The phases in which a group requests memory. */
static unsigned phases_of_group(const struct grower *g, uint32_t group)
{
    unsigned phases = g->has_lines && group == 1 ? 1U << PHASE_BACKWARD : 0;
    for (uint32_t i = 1; g->has_lines && i <= trace_info(g->trace)->n_stacks; i++)
        if (g->phases.line_of[i] + 2 == group)
            phases |= 1U << g->phases.of_stack[i];
    return phases;
}

static void name_turns(const struct grower *g, struct growth *out)
{
    const struct group *x = &g->groups[leader(g)];
    const uint64_t steps = starts_between(&g->phases.starts[PHASE_OPTIMIZER], out->since, out->until);
    const uint64_t forwards = starts_between(&g->phases.starts[PHASE_FORWARD], out->since, out->until);
    out->turn = steps >= TURNS_LEAST ? TURN_STEP : forwards >= TURNS_LEAST ? TURN_FORWARD : TURN_RUN;
    out->turns = out->turn == TURN_STEP ? steps : out->turn == TURN_FORWARD ? forwards
                 : x->turns >= TURNS_LEAST ? x->turns : x->births;
}

/* Whether something that is held is of a group that grows. */
static bool is_of_growth(const struct grower *g, const struct holding *h)
{
    uint32_t group = 0;
    if (g->has_lines)
        group = h->stack == TRACE_NO_STACK ? 1 : g->phases.line_of[h->stack] + 2;
    else if (!g->groups[0].grows) {
        const uint32_t *known = pair_map_find(&g->sizes, h->bytes, 0);
        group = known == NULL ? 0 : *known;
    }
    return g->groups[group].grows;
}

static int compare_bytes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* What each whole turn between left behind; returns how many these are. `sums` has room for all turns, and is zero. */
static size_t sum_turns(const struct phase_starts *s, const struct holdings *h, const struct growth *out,
                        uint64_t *sums, const uint64_t **left)
{
    const size_t first = phase_starts_up_to(s, (int64_t)out->since), last = phase_starts_up_to(s, (int64_t)out->until);
    if (last < first + 2)
        return 0;
    for (size_t i = 0; i < h->n; i++)
        sums[phase_starts_up_to(s, h->at[i].born)] += h->at[i].bytes;
    *left = &sums[first + 1];
    return last - first - 1;                     /* the turn before the first start, and the last one, are cut */
}

/* What most of them left: the median if it is near the mean, else the mean. */
static enum err usual_bytes(const uint64_t *left, size_t n, uint64_t *out, struct err_detail *err)
{
    uint64_t all = 0, *sorted = calloc(n + 1, sizeof *sorted);
    if (sorted == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++)
        all += sorted[i] = left[i];
    qsort(sorted, n, sizeof *sorted, compare_bytes);
    const uint64_t median = n > 0 ? sorted[n / 2] : 0, mean = n > 0 ? all / n : 0;
    const uint64_t apart = median > mean ? median - mean : mean - median;
    *out = apart <= mean / MEAN_SHARE ? median : mean;
    free(sorted);
    return ERR_OK;
}

static enum err take_rate_of(const struct phase_starts *s, const struct holdings *h, struct growth *out,
                             struct err_detail *err)
{
    uint64_t *sums = calloc(s->n + 2, sizeof *sums);
    const uint64_t *left = sums;
    if (sums == NULL)
        return err_no_memory(err);
    const size_t n = sum_turns(s, h, out, sums, &left);
    const enum err e = usual_bytes(left, n, &out->bytes_per_turn, err);
    out->rhythm = growth_rhythm_of(left, n);
    free(sums);
    return e;
}

/* What comes once in several forward passes may come once in several backward passes: so steps are told whose optimizer
 * asks for nothing. */
static enum err prefer_backward(const struct grower *g, const struct holdings *h, struct growth *out,
                                struct err_detail *err)
{
    const struct phase_starts *backward = &g->phases.starts[PHASE_BACKWARD];
    struct growth other = *out;
    if (out->turn != TURN_FORWARD || (out->rhythm.turns == 0 && !out->rhythm.is_uneven) ||
        starts_between(backward, out->since, out->until) < TURNS_LEAST)
        return ERR_OK;
    const enum err e = take_rate_of(backward, h, &other, err);
    if (e == ERR_OK && other.rhythm.turns > 0) {
        out->turn = TURN_BACKWARD;
        out->rhythm = other.rhythm;
        out->bytes_per_turn = other.bytes_per_turn;
    }
    return e;
}

static enum err take_rate(const struct grower *g, const struct holdings *h, struct growth *out, struct err_detail *err)
{
    enum err e = ERR_OK;
    if (out->turn != TURN_RUN)
        e = take_rate_of(&g->phases.starts[out->turn == TURN_STEP ? PHASE_OPTIMIZER : PHASE_FORWARD], h, out, err);
    if (e == ERR_OK)
        e = prefer_backward(g, h, out, err);
    if (e != ERR_OK)
        return e;
    if (out->bytes_per_turn == 0)
        out->bytes_per_turn = out->turns > 0 ? out->bytes / out->turns : 0;
    else
        out->turns = (out->bytes + out->bytes_per_turn / 2) / out->bytes_per_turn;
    return ERR_OK;
}

/* A graph holds several requests of a pass, from several places. A few exceptions count nothing, nor does what the pass
 * that event `until` cuts still needs. `counts` is zero, with room for all stacks and all forward passes. */
static bool is_one_of_each_pass(const struct grower *g, const struct holdings *h, uint64_t until, uint32_t *counts)
{
    const struct phase_starts *forward = &g->phases.starts[PHASE_FORWARD];
    const size_t cut = phase_starts_up_to(forward, (int64_t)until);
    uint32_t *of_pass = &counts[trace_info(g->trace)->n_stacks + 1], most = 0;
    size_t passes = 0, n = 0;
    for (size_t i = 0; i < h->n; i++) {
        const size_t pass = phase_starts_up_to(forward, h->at[i].born);
        if (pass == cut)
            continue;
        const uint32_t of_place = ++counts[h->at[i].stack];
        most = of_place > most ? of_place : most;
        passes += of_pass[pass]++ == 0;
        n++;
    }
    const size_t least = n - n / EXCEPTIONS_SHARE;
    return n > 0 && most >= least && passes >= least;
}

static enum err find_one_result(const struct grower *g, const struct holdings *h, struct growth *out,
                                struct err_detail *err)
{
    const size_t n = (size_t)trace_info(g->trace)->n_stacks + g->phases.starts[PHASE_FORWARD].n + 2;
    uint32_t *counts = g->has_lines ? calloc(n, sizeof *counts) : NULL;
    if (g->has_lines && counts == NULL)
        return err_no_memory(err);
    out->keeps_one_result = g->has_lines && is_one_of_each_pass(g, h, out->until, counts);
    free(counts);
    return ERR_OK;
}

/* Of the phases those in which a quarter or more of what is held was requested: a line may hold a whole step. */
static unsigned phases_of_held(const struct grower *g, const struct holdings *h, const struct growth *out)
{
    uint64_t bytes[PHASES] = { 0 };
    unsigned phases = 0;
    for (size_t i = 0; i < h->n; i++)
        bytes[h->at[i].stack == TRACE_NO_STACK ? PHASE_BACKWARD : g->phases.of_stack[h->at[i].stack]] += h->at[i].bytes;
    for (int i = 0; i < PHASES; i++)
        phases |= bytes[i] >= out->held_bytes / 4 && bytes[i] > 0 ? 1U << i : 0;
    return phases;
}

/* The turns from the first request that is held, up to the moment. */
static uint64_t turns_held(const struct grower *g, int64_t first, enum growth_turn turn)
{
    static const enum phase phases[] = { [TURN_STEP] = PHASE_OPTIMIZER, [TURN_FORWARD] = PHASE_FORWARD,
                                         [TURN_BACKWARD] = PHASE_BACKWARD };
    return turn == TURN_RUN ? 0 : starts_between(&g->phases.starts[phases[turn]], first < 0 ? 0 : (uint64_t)first,
                                                 g->moment);
}

/* What is held of it at the low mark, requested since it grows, tells what it is. */
static enum err read_held(const struct grower *g, struct growth *out, struct err_detail *err)
{
    struct holdings h = { .n = 0 };
    enum err e = holdings_read(g->trace, MOMENT_EVENT, out->until, &h, err);
    if (e != ERR_OK)
        return e;
    size_t kept = 0;
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < h.n; i++) {
        if (!is_of_growth(g, &h.at[i]))
            continue;
        first = h.at[i].born < first ? h.at[i].born : first;
        if (h.at[i].born >= (int64_t)out->since) {
            out->held_bytes += h.at[i].bytes;
            h.at[kept++] = h.at[i];
        }
    }
    h.n = kept;
    out->held_requests = kept;
    out->is_one_request = kept == 1;
    out->may_be_one_pass = may_be_a_long_pass(g, out);
    out->may_be_meant = g->groups[leader(g)].is_replaced && g->phases.starts[PHASE_BACKWARD].n == 0;
    if (g->has_lines)
        out->phases &= phases_of_held(g, &h, out);
    e = take_rate(g, &h, out, err);
    if (e == ERR_OK)
        e = find_one_result(g, &h, out, err);
    if (e == ERR_OK)
        e = growth_take_lines(g->trace, &h, g->moment, out, err);
    out->began = first == INT64_MAX || first < 0 ? 0 : (uint64_t)first;
    out->turns_held = turns_held(g, first, out->turn);
    holdings_close(&h);
    return e;
}

static enum err tell(struct grower *g, size_t from, uint64_t rise, struct growth *out, struct err_detail *err)
{
    out->is_found = true;
    out->bytes = rise;
    out->since = g->changes[change_at(g, from)].event;
    out->until = g->changes[g->mark - 1].event + 1;
    out->phases = phases_of_group(g, leader(g));
    name_turns(g, out);
    return read_held(g, out, err);
}

/* Moves the part's begin to its low mark. */
static uint64_t go_on_after(struct grower *g, uint64_t live)
{
    for (; g->begin < g->mark; g->begin++) {
        const struct change *c = &g->changes[g->begin];
        live = live_after(live, c);
        g->groups[c->group].live_before = live_after(g->groups[c->group].live_before, c);
        if (!g->has_lines)
            g->groups[0].live_before = live_after(g->groups[0].live_before, c);
    }
    return live;
}

/* Whether live memory had come down to the mark, by a quarter of the growth: it lies in no turn that still rises. */
static bool came_down_to_mark(const struct grower *g, uint64_t live, uint64_t rise)
{
    uint64_t most = 0;
    for (size_t i = g->begin; i < g->mark; i++)
        live = live_after(live, &g->changes[i]);
    for (size_t w = 0; w < WINDOWS; w++)
        most = g->most[w] > most ? g->most[w] : most;
    return most > live && most - live >= rise / 4;
}

/* Looks from the part's begin up to its low mark. */
static enum err find_up_to_mark(struct grower *g, uint64_t live, size_t tenths, struct growth *out,
                                struct err_detail *err)
{
    size_t from;
    g->mark = find_low_mark(g, live, tenths);
    if (g->mark - g->begin < WINDOWS)
        return ERR_OK;
    walk_part(g, live);
    const uint64_t rise = judge_part(g, &from);
    const bool is_low = tenths == LAST_PARTS || came_down_to_mark(g, live, rise);
    return rise > 0 && is_low ? tell(g, from, rise, out, err) : ERR_OK;
}

static enum err find_in_parts(struct grower *g, struct growth *out, struct err_detail *err)
{
    const size_t parts = g->phases.has_python ? PARTS_MAX : BARE_PARTS_MAX;
    uint64_t live = g->start_bytes;
    enum err e = ERR_OK;
    for (size_t tenths = LAST_PARTS; tenths > 0 && !out->is_found && e == ERR_OK; tenths /= 2)
        e = find_up_to_mark(g, live, tenths, out, err);
    for (size_t part = 0; part < parts && g->n - g->begin >= PART_CHANGES && !out->is_found && e == ERR_OK; part++) {
        e = find_up_to_mark(g, live, LAST_PARTS, out, err);
        if (g->mark - g->begin < WINDOWS)
            break;
        live = go_on_after(g, live);
    }
    return e;
}

/* What was live before the recording is a group of its own, which can only shrink. */
static uint32_t start_group(const struct grower *g)
{
    return g->has_lines ? trace_info(g->trace)->n_stacks + 2 : 1;
}

static void take_start(struct grower *g)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(g->trace, &n);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].slot != TRACE_NO_SLOT && !blocks[i].is_pending) {
            g->group_of[blocks[i].slot] = start_group(g);
            g->start_bytes += blocks[i].requested;
        }
}

static enum err read_changes(struct grower *g, struct err_detail *err)
{
    const struct trace_info *info = trace_info(g->trace);
    struct change_pass p = { .g = g, .phase = -1, .has_memory = true };
    g->n_groups = g->has_lines ? info->n_stacks + 3 : 2;
    g->group_of = calloc((size_t)info->peak_live + 1, sizeof *g->group_of);
    g->changes = calloc(info->events + 1, sizeof *g->changes);
    enum err e = g->group_of == NULL || g->changes == NULL
                     ? err_no_memory(err) : request_stacks_read(g->trace, g->moment, &g->stack_of, err);
    if (e != ERR_OK)
        return e;
    take_start(g);
    e = trace_each_event(g->trace, change_event, &p, err);
    return e == ERR_OK && !p.has_memory ? err_no_memory(err) : e;
}

/* A line is the program's own only if all of its requests are outside of modules, optimizers and backward passes. */
static void find_own_lines(struct grower *g)
{
    for (uint32_t i = 0; i < g->n_groups; i++)
        g->groups[i].is_own = true;
    g->groups[1].is_own = !g->has_lines;
    for (uint32_t i = 1; g->has_lines && i <= trace_info(g->trace)->n_stacks; i++)
        if (g->phases.of_stack[i] != PHASE_OWN) {
            g->groups[g->phases.line_of[i] + 2].is_own = false;
            g->groups[g->phases.line_of[i] + 2].is_setup = g->phases.of_stack[i] == PHASE_SETUP;
        }
}

static enum err make_groups(struct grower *g, struct err_detail *err)
{
    g->groups = calloc(g->n_groups, sizeof *g->groups);
    g->least = calloc((size_t)g->n_groups * WINDOWS, sizeof *g->least);
    if (g->groups == NULL || g->least == NULL)
        return err_no_memory(err);
    g->groups[start_group(g)].live_before = g->start_bytes;
    if (!g->has_lines)
        g->groups[0].live_before = g->start_bytes;
    find_own_lines(g);
    return ERR_OK;
}

/* A line that is a cache which has filled does not grow. */
static enum err find_full_lines(struct grower *g, struct err_detail *err)
{
    bool *is_full = calloc(g->n_groups, sizeof *is_full);
    if (is_full == NULL)
        return err_no_memory(err);
    const enum err e = growth_full_find(g->trace, g->moment, g->stack_of, g->phases.line_of, is_full, err);
    for (uint32_t i = 2; i < g->n_groups; i++)
        g->groups[i].is_full = is_full[i - 2];
    free(is_full);
    return e;
}

/* The most that is live before event `until`. */
static uint64_t most_live_before(const struct grower *g, uint64_t until)
{
    uint64_t live = g->start_bytes, most = live;
    for (size_t i = 0; i < g->n && g->changes[i].event < until; i++) {
        live = live_after(live, &g->changes[i]);
        most = live > most ? live : most;
    }
    return most;
}

/* Sets are a growth if what came of them made half of the difference, as is_the_cause wants. */
static void drop_unless_cause(const struct grower *g, struct growth *out)
{
    const uint64_t most = out->is_found ? most_live_before(g, out->since) : 0;
    if (g->need_bytes > most && out->bytes - out->before_bytes >= (g->need_bytes - most) / 2)
        return;
    growth_close(out);
    *out = (struct growth){ .is_found = false };
}

static enum err find_sets(struct grower *g, struct growth *out, struct err_detail *err)
{
    uint32_t *freed = calloc(g->n_groups, sizeof *freed);
    if (freed == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < g->n; i++)
        freed[g->changes[i].group] += is_free(&g->changes[i]);
    const enum err e = growth_sets_find(g->trace, &g->phases, freed + 2, g->moment, g->need_bytes, out, err);
    free(freed);
    if (e == ERR_OK)
        drop_unless_cause(g, out);
    return e;
}

/* Few turns that left about as much behind, likewise; they come before two sets, which are known of one line. */
static enum err find_few(const struct grower *g, struct growth *out, struct err_detail *err)
{
    struct growth few = { .is_found = false };
    const enum err e = growth_few_find(g->trace, &g->phases, g->stack_of, g->moment, g->need_bytes, &few, err);
    if (e == ERR_OK)
        drop_unless_cause(g, &few);
    if (few.is_found && (!few.of_two_sets || !out->is_found)) {
        growth_close(out);
        *out = few;
    } else {
        growth_close(&few);
    }
    return e;
}

/* Results of an evaluation after training, few and large, which are kept or put together. */
static enum err find_evaluated(const struct grower *g, struct growth *out, struct err_detail *err)
{
    const uint64_t since = phases_last_learning(&g->phases, g->moment);
    if (since == 0)
        return ERR_OK;
    enum err e = growth_evaluated_find(g->trace, &g->phases, g->stack_of, g->moment, g->need_bytes, out, err);
    if (e == ERR_OK && !out->is_found)
        e = growth_joined_find(g->trace, &g->phases, g->stack_of, since, g->moment, g->need_bytes, out, err);
    if (e == ERR_OK)
        drop_unless_cause(g, out);
    return e;
}

/* Whether a growth that was found in another way is one of results as well. */
static bool is_of_evaluation(const struct grower *g, const struct growth *out)
{
    const uint64_t last = phases_last_learning(&g->phases, out->until);
    const uint64_t began = out->began > out->since ? out->began : out->since;
    return out->is_found && last > 0 && last <= began && (out->is_one_request || out->keeps_one_result);
}

static enum err find(struct grower *g, struct growth *out, struct err_detail *err)
{
    enum err e = phases_read(g->trace, &g->phases, err);
    if (e == ERR_OK)
        e = read_changes(g, err);
    if (e != ERR_OK || (uint64_t)g->n_groups * WINDOWS > CELLS_MAX)
        return e;
    e = make_groups(g, err);
    if (e == ERR_OK && g->has_lines)
        e = find_full_lines(g, err);
    if (e == ERR_OK)
        e = find_in_parts(g, out, err);
    if (e == ERR_OK && !out->is_found && g->has_lines && g->phases.has_python)
        e = find_sets(g, out, err);
    if (e == ERR_OK && (!out->is_found || out->of_two_sets) && g->has_lines && g->phases.has_python)
        e = find_few(g, out, err);
    if (e == ERR_OK && !out->is_found && g->has_lines && g->phases.has_python)
        e = find_evaluated(g, out, err);
    if (e == ERR_OK && !out->is_found)
        e = growth_refused_find(g->trace, &g->phases, g->stack_of, g->moment, g->need_bytes, out, err);
    if (e == ERR_OK && !out->is_found && g->start_bytes > 0)
        e = growth_before_find(g->trace, &g->phases, g->moment, g->need_bytes, out, err);
    out->of_evaluation = out->of_evaluation || is_of_evaluation(g, out);
    return e;
}

enum err growth_find(struct trace_reader *trace, uint64_t moment, uint64_t need_bytes, struct growth *out,
                     struct err_detail *err)
{
    struct grower g = { .trace = trace, .moment = moment, .need_bytes = need_bytes,
                        .has_lines = trace_info(trace)->n_stacks > 0 };
    *out = (struct growth){ .is_found = false };
    const enum err e = trace_info(trace)->events > EVENTS_MAX ? ERR_OK : find(&g, out, err);
    out->grows_in_input = g.grows_in_input && !out->is_found;
    out->holds_graphs = g.holds_graphs && !out->is_found;
    phases_close(&g.phases);
    pair_map_free(&g.sizes);
    free(g.group_of);
    free(g.stack_of);
    free(g.changes);
    free(g.groups);
    free(g.least);
    return e;
}

static bool may_be_else(const struct growth *g)
{
    return g->may_be_one_pass || g->may_be_meant || g->of_two_sets || g->of_two_turns || g->of_refusal;
}

enum err growth_find_in_run(struct trace_reader *trace, struct growth *out, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    struct holdings h = { .n = 0 };
    enum err e = growth_find(trace, info->events, info->peak_requested_bytes, out, err);
    if (e != ERR_OK || out->is_found || info->n_stacks == 0)
        return e;
    growth_close(out);
    e = holdings_read(trace, MOMENT_PEAK, 0, &h, err);
    const uint64_t moment = h.moment;
    holdings_close(&h);
    if (e == ERR_OK)
        e = growth_find(trace, moment, info->peak_requested_bytes, out, err);
    if (!may_be_else(out))
        return e;
    growth_close(out);
    *out = (struct growth){ .is_found = false };
    return e;
}

enum err growth_take_lines(struct trace_reader *trace, const struct holdings *h, uint64_t moment, struct growth *out,
                           struct err_detail *err)
{
    const enum err e = telling_lines_count(trace, h, moment, &out->lines, err);
    out->held_bytes = out->held_requests = 0;
    for (size_t i = 0; i < out->lines.n; i++) {
        out->held_bytes += out->lines.at[i].bytes;
        out->held_requests += out->lines.at[i].n;
    }
    return e;
}

void growth_close(struct growth *g)
{
    holders_close(&g->lines);
}
