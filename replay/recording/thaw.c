/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One walk over the events; each place notes at its own next request that a step has ended. */
#include "replay/recording/thaw.h"

#include "replay/recording/request_stacks.h"

#include <stdlib.h>

/* It matters from an 8th of the need on. So many steps must have come before: the first one makes states, too. */
enum { NEED_SHARE = 8, STEPS_LEAST = 2 };

/* The step that is cut off may be the first that learns more, or the second or third: its activations come after the
 * states of the one before. */
enum { STEPS_TRIED = 3 };

/* Of an earlier step more gradients or activations must be there than an 8th of what the states are: states alone come
 * of an optimizer that begins to average. */
enum { STATES_ALONE_SHARE = 8 };

/* Bytes; of the step that `step` numbers, and the most of any before the step `limit`. `begin`: live when that step
 * began. A gain is what a step adds to that, at most; `gain`: the most in a step from `limit` on, without the last. */
struct place {
    uint64_t live, begin, peak, requested, most_live, most_requested, most_gain, gain;
    size_t   step;
};

struct thaw_pass {
    const struct phases *phases;
    const uint32_t *stacks;          /* by request, in order */
    struct place *places;            /* by stack; 0: a backward pass */
    uint32_t *place_of;              /* by slot; UINT32_MAX: from before the recording */
    uint64_t  moment, begin, next;   /* where the step `limit` begins, and where the one that goes on ends */
    size_t    n, step, limit;        /* from that step on more may be learned */
};

/* Where the step that goes on at `event` ends: at the first call of a module after the next backward pass. */
static uint64_t step_end(const struct phases *p, uint64_t event)
{
    const uint64_t backward = phase_starts_after(&p->starts[PHASE_BACKWARD], event);
    return backward == UINT64_MAX ? UINT64_MAX : phase_starts_after(&p->starts[PHASE_FORWARD], backward);
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static struct place *place_in_step(struct thaw_pass *p, uint32_t stack)
{
    struct place *x = &p->places[stack];
    if (x->step == p->step)
        return x;
    const uint64_t gain = x->peak - x->begin;
    if (x->step < p->limit) {
        x->most_live = max_of(x->peak, x->most_live);
        x->most_requested = max_of(x->requested, x->most_requested);
        x->most_gain = x->step > 0 ? max_of(gain, x->most_gain) : 0;
    } else {
        x->gain = max_of(gain, x->gain);
    }
    x->begin = x->peak = x->live;
    x->requested = 0;
    x->step = p->step;
    return x;
}

static void thaw_event(void *arg, const struct event *ev, uint64_t number)
{
    struct thaw_pass *p = arg;
    if (number >= p->moment)
        return;
    if (number >= p->next) {
        p->step++;
        p->begin = p->step <= p->limit ? number : p->begin;
        p->next = step_end(p->phases, number);
    }
    if (ev->kind == EVENT_ALLOC) {
        p->place_of[ev->slot] = p->stacks[p->n++];
        struct place *x = place_in_step(p, p->place_of[ev->slot]);
        x->live += ev->bytes;
        x->requested += ev->bytes;
        x->peak = x->live > x->peak ? x->live : x->peak;
    } else if ((ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) && p->place_of[ev->slot] != UINT32_MAX) {
        place_in_step(p, p->place_of[ev->slot])->live -= ev->bytes;
        p->place_of[ev->slot] = UINT32_MAX;
    }
}

/* What was set up in the step `limit`, the one before or later, and stays. */
static uint64_t set_up_lately(const struct thaw_pass *p, uint32_t stack)
{
    const struct place *x = &p->places[stack];
    const bool is_setup = stack > 0 && p->phases->of_stack[stack] == PHASE_SETUP;
    return is_setup && x->step + 1 >= p->limit && x->live > x->begin ? x->live - x->begin : 0;
}

/* What a place holds more of than ever, as far as a step adds more to it than any step did before: who adds the same
 * again and again keeps it, and nothing thawed. The first step makes what stays, so it is none of those. */
static uint64_t more_than_ever(const struct place *x)
{
    const uint64_t gain = max_of(x->peak - x->begin, x->gain);
    const uint64_t held = x->live > x->most_live ? x->live - x->most_live : 0;
    const uint64_t gained = gain > x->most_gain ? gain - x->most_gain : 0;
    return held < gained ? held : gained;
}

/* Sums up what places hold more of than ever. It is none if most of it comes of requests that are more than ever. The
 * states of an optimizer that made no step before are no news: micro-batches came first. Nor did anything thaw if as
 * many weights were set up lately as have gradients now: they are another model's. */
static void sum_up(struct thaw_pass *p, size_t n_stacks, struct thaw *out)
{
    const bool has_stepped = phase_starts_before(&p->phases->starts[PHASE_OPTIMIZER], p->begin) != UINT64_MAX;
    uint64_t larger = 0, set_up = 0;
    for (uint32_t i = 0; i <= n_stacks; i++) {
        set_up += set_up_lately(p, i);
        const struct place *x = place_in_step(p, i);
        const uint64_t more = more_than_ever(x);
        const int phase = i == 0 ? PHASE_BACKWARD : p->phases->of_stack[i];
        if (phase == PHASE_BACKWARD || phase == PHASE_RECOMPUTE)
            out->gradients += more;
        else if (phase == PHASE_OPTIMIZER)
            out->states += has_stepped ? more : 0;
        else if (x->requested <= x->most_requested && phase != PHASE_SETUP && phase != PHASE_STATES)
            out->activations += more;
        else
            larger += more;
    }
    out->all = out->activations + out->gradients + out->states;
    if (larger > out->all || (set_up > 0 && set_up >= out->gradients))
        out->all = 0;
}

/* How many steps begin before the moment. */
static size_t count_steps(const struct phases *phases, uint64_t moment)
{
    size_t n = 0;
    for (uint64_t next = step_end(phases, 0); next < moment; next = step_end(phases, next))
        n++;
    return n;
}

/* Looks from step `limit` on. */
static enum err find_from(struct trace_reader *trace, const struct thaw_pass *asked, size_t limit, struct thaw *out,
                          struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    struct thaw_pass p = *asked;
    p.limit = limit;
    p.places = calloc((size_t)info->n_stacks + 1, sizeof *p.places);
    p.place_of = calloc((size_t)info->peak_live + 1, sizeof *p.place_of);
    for (size_t i = 0; p.place_of != NULL && i <= info->peak_live; i++)
        p.place_of[i] = UINT32_MAX;
    *out = (struct thaw){ .all = 0 };
    const bool has_room = p.places != NULL && p.place_of != NULL;
    const enum err e = has_room ? trace_each_event(trace, thaw_event, &p, err) : err_no_memory(err);
    if (e == ERR_OK)
        sum_up(&p, info->n_stacks, out);
    free(p.places);
    free(p.place_of);
    return e;
}

enum err thaw_find(struct trace_reader *trace, const struct phases *phases, uint64_t moment, uint64_t need_bytes,
                   struct thaw *out, struct err_detail *err)
{
    struct thaw_pass p = { .phases = phases, .moment = moment, .next = step_end(phases, 0) };
    uint32_t *stacks = NULL;
    *out = (struct thaw){ .all = 0 };
    if (!phases->has_python || trace_info(trace)->n_stacks == 0 || p.next >= moment)
        return ERR_OK;
    const size_t last = count_steps(phases, moment);
    enum err e = request_stacks_read(trace, moment, &stacks, err);
    p.stacks = stacks;
    for (size_t k = 0; k < STEPS_TRIED && last >= STEPS_LEAST + k && out->all == 0 && e == ERR_OK; k++) {
        e = find_from(trace, &p, last - k, out, err);
        out->steps = k + 1;
        const bool is_averaging = k > 0 && out->activations + out->gradients < out->states / STATES_ALONE_SHARE;
        if (out->all < need_bytes / NEED_SHARE || is_averaging)
            out->all = 0;
    }
    free(stacks);
    return e;
}
