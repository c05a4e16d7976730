/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Following the record: the policy says before each request what it would do, and then does what was recorded.
 *
 *     record:   segment_free X | segment_alloc Y | alloc 3 MiB at Y
 *     policy:   predicts for the 3 MiB: new memory -> frees X -> makes Y -> places at Y;   three comparisons
 *
 * The pass ends if the policy cannot do what was recorded: from there on its state is not the recorded one.
 */
#include "policies/pytorch/pytorch_follow.h"
#include "replay/recording/verify_scene.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* Blocks that may be looked at to find recorded ones, in all and for each event. Genuine recordings take ten for an
 * event at most. */
#define FOLLOW_SPENT "the recording takes far more work than one of its size can need"
enum { FOLLOW_STEPS_FREE = 1 << 22, FOLLOW_STEPS_PER_EVENT = 512 };

struct follow {
    const struct scene *s;
    struct stage g;
    struct verify_pass *pass;
    struct policy_observer observer;
    size_t next_segment;                 /* the first recorded segment event that is not applied yet */
    uint64_t recorded_reserved;
    bool     is_lost;                    /* the state is no longer the record's */
    bool     is_spent;                   /* finding the recorded blocks took more than so many events can need */
};

/* Whether the policy refused a step: the step is impossible in its state, or the host ran out of memory. */
static bool follow_loses(struct follow *f, enum err e)
{
    f->g.is_nomem |= e == ERR_HOST_NOMEM;
    f->is_lost |= e != ERR_OK;
    return e != ERR_OK;
}

/* Whether the pass goes on, now at event i. */
static bool follow_goes_on(struct follow *f, size_t i)
{
    const uint64_t n_events = (uint64_t)i + f->next_segment;
    f->is_spent |= pytorch_follow_steps(f->g.policy) > FOLLOW_STEPS_FREE + FOLLOW_STEPS_PER_EVENT * n_events;
    return !f->is_lost && !f->is_spent;
}

/* The next recorded segment event, if it stood before event `i`; else NULL. */
static const struct trace_segment_event *follow_peek(const struct follow *f, size_t i)
{
    const struct trace_segment_event *g = &f->s->segments[f->next_segment];
    return f->next_segment < f->s->n_segments && g->before <= i ? g : NULL;
}

static bool follow_try_shrink(struct follow *f, const struct trace_segment_event *g)
{
    return g->kind == TRACE_SEGMENT_FREE ? pytorch_follow_give_back(f->g.policy, g->addr, g->bytes)
                                         : pytorch_follow_unmap(f->g.policy, g->addr, g->bytes);
}

/* Applies a recorded segment_free or segment_unmap. PyTorch may have waited for a stream first, so that the blocks in
 * the segment became free; we try that second. */
static void follow_shrink(struct follow *f, size_t i, const struct trace_segment_event *g)
{
    struct policy *p = f->g.policy;
    f->next_segment++;
    f->recorded_reserved -= g->bytes;
    f->pass->segments.compared++;
    bool is_done = follow_try_shrink(f, g);
    if (!is_done) {
        pytorch_follow_wait(p);
        is_done = follow_try_shrink(f, g);
    }
    f->pass->segments.equal += is_done;
    if (is_done)
        return;
    f->is_lost = true;
    if (pass_differ(f->pass, f->s, i,
                    "recorded %s of %" PRIu64 " bytes at 0x%" PRIx64 ": the policy cannot give that back",
                    verify_segment_words[g->kind], g->bytes, g->addr))
        pass_show_around(f->pass, p, g->addr);
}

/* Applies a recorded segment_alloc or segment_map for event i. */
static void follow_grow(struct follow *f, size_t i, const struct trace_segment_event *g,
                        struct pytorch_choice *choice)
{
    const struct event *ev = &f->s->events[i];
    const bool is_alloc = g->kind == TRACE_SEGMENT_ALLOC;
    f->next_segment++;
    f->recorded_reserved += g->bytes;
    f->pass->segments.compared++;
    const bool is_equal = choice->is_growth && (!is_alloc || choice->segment_bytes == g->bytes);
    f->pass->segments.equal += is_equal;
    if (!is_equal) {
        if (choice->is_growth)
            pass_differ(f->pass, f->s, i, "recorded %s of %" PRIu64 " bytes, expected %" PRIu64,
                        verify_segment_words[g->kind], g->bytes, choice->segment_bytes);
        else
            pass_differ(f->pass, f->s, i, "recorded %s of %" PRIu64 " bytes, expected the free block at 0x%" PRIx64
                        " to be taken", verify_segment_words[g->kind], g->bytes, choice->addr);
    }
    stage_offer(&f->g, g->addr);
    const enum err e = is_alloc ? pytorch_follow_segment(f->g.policy, ev, g->bytes, choice)
                                : pytorch_follow_map(f->g.policy, ev, g->addr, g->bytes, choice);
    if (follow_loses(f, e))
        pass_differ(f->pass, f->s, i, "recorded %s of %" PRIu64 " bytes at 0x%" PRIx64 " does not fit what was there",
                    verify_segment_words[g->kind], g->bytes, g->addr);
}

/* Applies the segments that the program's empty_cache, or the end of a pool, gave back: those directly after event i.
 * */
static void follow_given_back(struct follow *f, size_t i)
{
    const struct trace_segment_event *g;
    while (follow_goes_on(f, i) && (g = follow_peek(f, i + 1)) != NULL && !segment_grows(g))
        follow_shrink(f, i, g);
}

/* Applies all recorded segment events before a request. *grown_at: the address of the first memory obtained for it;
 * left alone if there is none. */
static void follow_segments(struct follow *f, size_t i, struct pytorch_choice *choice, uint64_t *grown_at)
{
    const struct trace_segment_event *g;
    while (follow_goes_on(f, i) && (g = follow_peek(f, i)) != NULL) {
        if (!segment_grows(g)) {
            follow_shrink(f, i, g);
            if (choice->is_growth)
                choice->addr = pytorch_follow_run(f->g.policy, &f->s->events[i]);
            continue;
        }
        *grown_at = *grown_at == 0 ? g->addr : *grown_at;
        follow_grow(f, i, g, choice);
    }
}

/* Whether the record does not hold what decided: which of equal free blocks from before the record is the older one. */
static bool follow_is_unknowable(const struct follow *f, const struct pytorch_choice *choice, uint64_t grown_at)
{
    return f->s->info->starts_mid_run && grown_at == 0 && !choice->is_growth && choice->is_tie;
}

/* The policy would have placed event i elsewhere. */
static void follow_differ(struct follow *f, size_t i, const struct pytorch_choice *choice)
{
    const uint64_t addr = f->s->sides[i].addr;
    char where[24] = "";
    if (choice->addr != 0)                           /* 0: in a segment that does not exist yet */
        snprintf(where, sizeof where, " at 0x%" PRIx64, choice->addr);
    if (pass_differ(f->pass, f->s, i, "request of %" PRIu64 " bytes: expected %s%s, recorded 0x%" PRIx64,
                    f->s->events[i].bytes, choice->is_growth ? "new memory" : "the block", where, addr))
        pass_show_around(f->pass, f->g.policy, addr);
}

/* Compares where event i was placed, and places it there. */
static void follow_place(struct follow *f, size_t i, const struct pytorch_choice *choice, uint64_t grown_at)
{
    const struct event *ev = &f->s->events[i];
    const uint64_t addr = f->s->sides[i].addr;
    struct verify_counts *counts = &f->pass->placements;
    bool is_equal;
    if (choice->is_growth)               /* choice->addr: known if an expandable segment has memory there already */
        is_equal = addr == (choice->addr != 0 ? choice->addr : grown_at);
    else
        is_equal = grown_at == 0 && addr == choice->addr;
    if (!is_equal && follow_is_unknowable(f, choice, grown_at)) {
        counts->unknowable++;
        if (f->pass->first_unknowable > i)
            f->pass->first_unknowable = i;
    } else {
        counts->compared++;
        counts->equal += is_equal;
    }
    assert(counts->equal <= counts->compared);
    if (!is_equal && !follow_is_unknowable(f, choice, grown_at))
        follow_differ(f, i, choice);
    if (follow_loses(f, pytorch_follow_alloc(f->g.policy, ev, addr, choice, &f->g.blocks[ev->slot])) &&
        pass_differ(f->pass, f->s, i, "request of %" PRIu64 " bytes recorded at 0x%" PRIx64
                    ", where no free block of that size starts", ev->bytes, addr))
        pass_show_around(f->pass, f->g.policy, addr);
}

static void follow_request(struct follow *f, size_t i)
{
    const struct event *ev = &f->s->events[i];
    struct pytorch_choice choice;
    uint64_t grown_at = 0;
    if (follow_loses(f, pytorch_follow_predict(f->g.policy, ev, &choice)))
        return;
    follow_segments(f, i, &choice, &grown_at);
    if (!follow_goes_on(f, i))
        return;
    if (ev->kind == EVENT_ALLOC) {
        follow_place(f, i, &choice, grown_at);
        return;
    }
    f->pass->ooms_recorded++;
    f->pass->ooms_predicted += choice.is_growth;
    if (!choice.is_growth)
        pass_differ(f->pass, f->s, i, "recorded out of memory, expected the free block at 0x%" PRIx64, choice.addr);
}

static void follow_event(struct follow *f, size_t i)
{
    const struct event *ev = &f->s->events[i];
    struct policy *p = f->g.policy;
    switch (ev->kind) {
    case EVENT_ALLOC:
    case EVENT_OOM:
        follow_request(f, i);
        break;
    case EVENT_FREE:
    case EVENT_FREE_COMPLETED:
        stage_free(&f->g, ev);
        break;
    case EVENT_FREE_REQUESTED:
        p->ops->retire(p, ev, &f->g.blocks[ev->slot]);
        break;
    case EVENT_FLUSH:
    case EVENT_CONTROL:
        follow_given_back(f, i);
        break;
    default:
        break;
    }
}

enum err verify_following(const struct scene *s, const struct setting *t, struct verify_pass *pass,
                          struct err_detail *err)
{
    struct follow f = {.s = s, .pass = pass};
    enum err e = stage_open(s, t, false, &f.g, err);
    f.recorded_reserved = s->info->recorded_start_reserved_bytes;
    f.observer = (struct policy_observer){.completed = stage_on_completed, .arg = &f.g};
    if (e == ERR_OK) {
        f.g.policy->observer = &f.observer;
        size_t i = 0;
        for (; i < s->n_events && follow_goes_on(&f, i); i++) {
            follow_event(&f, i);
            if (follow_goes_on(&f, i) && (follow_peek(&f, i) == NULL))
                pass_compare_reserved(pass, s, i, f.recorded_reserved, f.g.device->usage.reserved_bytes);
        }
        pass->is_done = true;
        if (f.is_lost)
            snprintf(pass->reason, sizeof pass->reason,
                     "stopped at the difference: later events were not compared");
        else if (f.is_spent && !pass_differ(pass, s, i, "none up to here, where the pass ended: " FOLLOW_SPENT))
            snprintf(pass->reason, sizeof pass->reason, "stopped at event %zu of %zu: " FOLLOW_SPENT, i, s->n_events);
    }
    return stage_close(&f.g, e, err);
}
