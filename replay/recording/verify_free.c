/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Running free: the policy gets only the program's own requests, and everything that it decides is compared with the
 * record: where each request goes, which segments are made and given back, and which requests run out of memory.
 */
#include "replay/recording/verify_scene.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct run_free {
    const struct scene *s;
    struct stage g;
    struct verify_pass *pass;
    struct policy_observer observer;
    size_t   next_segment;               /* the first recorded segment event that the policy has not made yet */
    size_t   event;                      /* the current one */
    uint64_t recorded_reserved;
    bool     is_over;
    uint64_t collected;                  /* segments freed by garbage collection so far */
    bool     collected_too_much;         /* the policy's last segment record was one of these */
};

/* The trace's kind of segment event for a record of the policy; -1 for other records. */
static int segment_kind_of(enum record_action a)
{
    switch (a) {
    case RECORD_SEGMENT_ALLOC:
        return TRACE_SEGMENT_ALLOC;
    case RECORD_SEGMENT_FREE:
        return TRACE_SEGMENT_FREE;
    case RECORD_SEGMENT_MAP:
        return TRACE_SEGMENT_MAP;
    case RECORD_SEGMENT_UNMAP:
        return TRACE_SEGMENT_UNMAP;
    default:
        return -1;
    }
}

/*
 * Ends the pass at event i, which differs. True if that is no mismatch, because it depends on state that was not
 * recorded: the placement of an earlier event was unknowable (as the following pass found), or garbage collection freed
 * a segment (`is_segment_free`) by the ages of blocks from before the record.
 */
static bool free_is_beyond_record(struct run_free *f, size_t i, bool is_segment_free)
{
    const char *threshold = trace_meta(f->s->trace, "garbage_collection_threshold");
    const bool collects = threshold != NULL && strtod(threshold, NULL) > 0;
    const bool by_age = is_segment_free && f->s->info->starts_mid_run && collects;
    f->is_over = true;
    if (!by_age && i < f->pass->first_unknowable)
        return false;
    snprintf(f->pass->reason, sizeof f->pass->reason, "ended at record %" PRIu64 ": %s", f->s->sides[i].record,
             by_age ? "garbage collection goes by the ages of blocks from before the record"
                    : "the record does not tell which of equal blocks from before it is older");
    return true;
}

/* The policy made or gave back a segment: the next recorded segment event must be the same. */
static void free_on_record(void *arg, const struct policy_record *r)
{
    struct run_free *f = arg;
    const int kind = segment_kind_of(r->action);
    if (kind < 0 || f->is_over)
        return;
    const bool has_more = f->next_segment < f->s->n_segments;
    const struct trace_segment_event *g = &f->s->segments[f->next_segment];
    f->pass->segments.compared++;
    f->collected_too_much = kind == TRACE_SEGMENT_FREE && f->g.policy->count.collected > f->collected;
    f->collected = f->g.policy->count.collected;
    if (has_more && g->kind == kind && g->addr == r->addr && g->bytes == r->bytes && g->before <= f->event + 1) {
        f->pass->segments.equal++;
        f->next_segment++;
        f->recorded_reserved += segment_grows(g) ? g->bytes : -g->bytes;
        return;
    }
    if (free_is_beyond_record(f, f->event, kind == TRACE_SEGMENT_FREE || (has_more && g->kind == TRACE_SEGMENT_FREE))) {
        f->pass->segments.compared--;
        return;
    }
    if (has_more)
        pass_differ(f->pass, f->s, f->event,
                    "expected %s of %" PRIu64 " bytes at 0x%" PRIx64 ", the next recorded is %s of %" PRIu64
                    " bytes at 0x%" PRIx64,
                    verify_segment_words[kind], r->bytes, r->addr, verify_segment_words[g->kind], g->bytes, g->addr);
    else
        pass_differ(f->pass, f->s, f->event, "expected %s of %" PRIu64 " bytes at 0x%" PRIx64 ", recorded none",
                    verify_segment_words[kind], r->bytes, r->addr);
}

static void free_on_completed(void *arg, uint32_t slot)
{
    stage_on_completed(&((struct run_free *)arg)->g, slot);
}

/* Offers a request to the policy and compares the answer with the record. */
static void free_request(struct run_free *f, size_t i)
{
    const struct event *ev = &f->s->events[i];
    struct policy *p = f->g.policy;
    struct block b;
    stage_offer_recorded(&f->g, f->s, i, f->next_segment);
    const enum err e = p->ops->alloc(p, ev, &b);
    f->g.is_nomem |= e == ERR_HOST_NOMEM;
    f->is_over |= f->g.is_nomem;
    f->pass->ooms_recorded += ev->kind == EVENT_OOM;
    f->pass->ooms_predicted += e == ERR_DEVICE_OOM;
    if (f->is_over)
        return;
    if (ev->kind == EVENT_OOM || e != ERR_OK) {
        f->is_over = (ev->kind == EVENT_OOM) != (e != ERR_OK);
        if (f->is_over)
            pass_differ(f->pass, f->s, i,
                        e != ERR_OK ? "request of %" PRIu64 " bytes: expected out of memory, recorded 0x%" PRIx64
                                    : "request of %" PRIu64 " bytes: recorded out of memory (free then: 0x%" PRIx64
                                      "), expected to be served",
                        ev->bytes, f->s->sides[i].addr);
        return;
    }
    assert(ev->slot < f->s->info->peak_live);
    f->g.blocks[ev->slot] = b;
    f->pass->placements.compared++;
    if (b.addr == f->s->sides[i].addr) {
        f->pass->placements.equal++;
        return;
    }
    if (free_is_beyond_record(f, i, false)) {
        f->pass->placements.compared--;
        return;
    }
    if (pass_differ(f->pass, f->s, i, "request of %" PRIu64 " bytes: expected 0x%" PRIx64 ", recorded 0x%" PRIx64,
                    ev->bytes, b.addr, f->s->sides[i].addr))
        pass_show_around(f->pass, p, f->s->sides[i].addr);
}

static void free_event(struct run_free *f, size_t i)
{
    const struct event *ev = &f->s->events[i];
    struct policy *p = f->g.policy;
    struct err_detail ignored;
    switch (ev->kind) {
    case EVENT_ALLOC:
    case EVENT_OOM:
        free_request(f, i);
        break;
    case EVENT_FREE_REQUESTED:
        p->ops->retire(p, ev, &f->g.blocks[ev->slot]);
        break;
    case EVENT_FREE:
    case EVENT_FREE_COMPLETED:
        stage_free(&f->g, ev);
        break;
    case EVENT_FLUSH:
        p->ops->flush(p, POLICY_ALL_STREAMS);
        break;
    case EVENT_CONTROL:
        if (p->ops->control(p, &trace_controls(f->s->trace)[ev->slot], NULL, &ignored) != ERR_OK)
            f->pass->reason[0] = '\0';
        break;
    default:
        break;
    }
}

/* After event i: no recorded segment event from before it may be left that the policy has not made. */
static void free_check_missed(struct run_free *f, size_t i)
{
    const struct trace_segment_event *g = &f->s->segments[f->next_segment];
    if (f->is_over || f->next_segment >= f->s->n_segments || g->before > i)
        return;
    if (free_is_beyond_record(f, i, g->kind == TRACE_SEGMENT_FREE))
        return;
    f->pass->segments.compared++;
    pass_differ(f->pass, f->s, i, "recorded %s of %" PRIu64 " bytes at 0x%" PRIx64 ", expected none",
                verify_segment_words[g->kind], g->bytes, g->addr);
}

enum err verify_running_free(const struct scene *s, const struct setting *t, struct verify_pass *pass,
                             bool *collected_too_much, struct err_detail *err)
{
    struct run_free f = {.s = s, .pass = pass, .recorded_reserved = s->info->recorded_start_reserved_bytes};
    enum err e = stage_open(s, t, true, &f.g, err);
    if (e == ERR_OK) {
        f.observer = (struct policy_observer){.record = free_on_record, .completed = free_on_completed, .arg = &f};
        f.g.policy->observer = &f.observer;
        for (size_t i = 0; i < s->n_events && !f.is_over; i++) {
            f.event = i;
            free_event(&f, i);
            free_check_missed(&f, i);
            if (!f.is_over)
                pass_compare_reserved(pass, s, i, f.recorded_reserved, f.g.device->usage.reserved_bytes);
        }
        pass->is_done = true;
    }
    *collected_too_much = f.collected_too_much;
    return stage_close(&f.g, e, err);
}
