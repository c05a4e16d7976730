/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The loop: each event goes to the policy, and the meter follows.
 *
 * Every lane runs over a chunk of the trace before the next chunk is taken, so the trace is decoded once for all lanes;
 * the next chunk is decoded meanwhile. Lanes share only the chunk, which nobody writes, so the number of threads does
 * not change a result.
 */
#include "base/cores.h"
#include "base/inline.h"
#include "base/large_pages.h"
#include "base/prefetch.h"
#include "replay/engine/audit.h"
#include "replay/engine/crash_guard.h"
#include "replay/engine/engine.h"
#include "replay/engine/explain_run.h"
#include "replay/engine/start_state.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- one lane ---- */

/* Our number of the current event; -1 in the start state. `done` already counts this event. */
static int64_t lane_event(const struct lane *l, uint64_t done)
{
    return l->is_starting ? -1 : (int64_t)done - 1;
}

/* Stops a lane for a reason other than a refused request. The sentence is the one in l->why if there is one, else the
 * device's, else the general one for `e`. */
static void lane_stop(struct lane *l, enum err e, uint64_t done)
{
    if (l->err.text[0] == '\0' && (e == ERR_DRIVER || e == ERR_UNSUPPORTED || e == ERR_INTERRUPTED))
        l->err = l->device->err;
    if (l->err.text[0] == '\0')
        err_set(&l->err, e, 0, "%s", err_text(e));
    l->outcome = e;
    l->is_stopped = true;
    l->stopped_at = lane_event(l, done);
}

enum err lane_failure(const struct lane *l, struct err_detail *err)
{
    if (l->outcome == ERR_OK || l->outcome == ERR_DEVICE_OOM)
        return ERR_OK;
    if (l->stopped_at < 0)
        return err_set(err, l->outcome, 0, "%s failed in the start state: %s", l->spec->typed, l->err.text);
    return err_set(err, l->outcome, 0, "%s failed at event %" PRId64 ": %s", l->spec->typed, l->stopped_at,
                   l->err.text);
}

enum err lanes_host_failure(const struct lane *lanes, size_t n_lanes, struct err_detail *err)
{
    for (size_t i = 0; i < n_lanes; i++)
        if (lanes[i].outcome == ERR_HOST_NOMEM)
            return lane_failure(&lanes[i], err);
    return ERR_OK;
}

static struct meter_oom lane_describe_oom(const struct lane *l, const struct event *ev, uint64_t done)
{
    struct meter_oom oom = {
        .event = lane_event(l, done),
        .requested_bytes = ev->bytes,
        .live_bytes = l->meter.now.requested,
        .allocated_bytes = l->meter.now.allocated,
        .reserved_bytes = l->device->usage.reserved_bytes,
    };
    uint64_t total;
    device_memory_info(l->device, &oom.device_free_bytes, &total);
    if (l->policy->ops->refusal != NULL)
        l->policy->ops->refusal(l->policy, &oom.refusal);
    return oom;
}

/* A policy or a device that failed on the way does not know whether there was memory. */
static enum err refusal_or_failure(const struct lane *l, enum err e)
{
    if (e == ERR_DEVICE_OOM && l->policy->failure != ERR_OK)
        return l->policy->failure;
    return e == ERR_DEVICE_OOM && l->device->failure != ERR_OK ? l->device->failure : e;
}

/* Handles a request that was not served: counts and describes a refusal, and stops the lane if it must. */
static void lane_refused(struct lane *l, const struct event *ev, uint64_t done, enum err e)
{
    struct meter *m = &l->meter;
    assert(e != ERR_OK && !l->is_stopped);
    e = refusal_or_failure(l, e);
    meter_settle(m, l->policy, done, ev->time_ns);
    if (e != ERR_DEVICE_OOM) {
        lane_stop(l, e, done);
        return;
    }
    if (m->ooms++ == 0 || l->on_oom != NULL) {
        const struct meter_oom oom = lane_describe_oom(l, ev, done);
        if (m->ooms == 1)
            m->first_oom = oom;
        if (m->ooms == 1 && l->explain != NULL)
            explain_run_refusal(l->explain, l, ev, &oom);
        if (l->on_oom != NULL)
            l->on_oom(l->on_oom_arg, &oom);
    }
    if (l->cfg->on_oom == OOM_AS_RECORDED && ev->slot == l->n_slots)
        return;
    l->outcome = ERR_DEVICE_OOM;
    if (l->cfg->on_oom != OOM_SKIP) {
        l->is_stopped = true;
        l->stopped_at = lane_event(l, done);
        l->stopped_ns = ev->time_ns;
    }
}

/* No block is this much larger than its request. */
#define EXCESS_MAX (UINT64_C(1) << 40)

/* Checks an answer of the policy and makes room for its segment in the meter. Only needed for the first block of a
 * segment id, for a block that is too small or absurdly large, and for every block under audit: the hot path skips it
 * otherwise. */
static enum err lane_examine(struct lane *l, const struct event *ev, const struct block *b)
{
    struct meter *m = &l->meter;
    if (b->bytes - ev->bytes > EXCESS_MAX)
        return err_set(&l->err, ERR_CORRUPT, 0,
                       "the policy answered a request of %" PRIu64 " bytes with a block of %" PRIu64, ev->bytes,
                       b->bytes);
    if (b->segment >= m->n_segments) {
        const enum err e = meter_grow(m, l->device, b->segment, &l->err);
        if (e != ERR_OK)
            return e;
    }
    return l->audit == NULL ? ERR_OK : audit_alloc(l->audit, ev->slot, ev->bytes, b, &l->err);
}

/* Places a request into *b. False: it was refused or answered wrongly, and b->bytes is 0. `is_watched`, here and below:
 * false promises that the lane has no audit and no watch, so that their tests compile away. */
static inline bool lane_alloc(struct lane *l, const struct event *ev, struct block *b, uint64_t done, bool is_watched)
{
    struct meter *const m = &l->meter;
    assert(ev->slot <= l->n_slots && b == &l->live[ev->slot]);
    enum err e = l->policy->ops->alloc(l->policy, ev, b);
    if (e == ERR_OK && (is_watched || b->bytes - ev->bytes > EXCESS_MAX || b->segment >= m->n_segments))
        e = lane_examine(l, ev, b);
    if (e != ERR_OK) {
        b->bytes = 0;
        lane_refused(l, ev, done, e);
        return false;
    }
    if (meter_alloc(m, l->device, ev->bytes, b))
        meter_settle(m, l->policy, done, ev->time_ns);
    return true;
}

/* Frees a block after the meter has seen its retirement. */
static inline void lane_complete(struct lane *l, const struct event *ev, const struct block *b, uint64_t done,
                                 bool is_watched)
{
    assert(is_watched || l->audit == NULL);
    if (is_watched && l->audit != NULL)
        audit_free(l->audit, ev->slot);
    l->policy->ops->free(l->policy, ev, b);
    meter_complete(&l->meter, ev->bytes, b);
    meter_settle(&l->meter, l->policy, done, ev->time_ns);
}

static void lane_retire(struct lane *l, const struct event *ev, const struct block *b, uint64_t done)
{
    assert(ev->slot < l->n_slots && b->bytes > 0);
    l->pending[ev->slot] = ev->bytes;
    meter_retire(&l->meter, b);
    if (l->policy->ops->retire != NULL)
        l->policy->ops->retire(l->policy, ev, b);
    meter_settle(&l->meter, l->policy, done, ev->time_ns);
}

/* Whether a free was begun in this slot. A plugin may say so of any, also of a block that it has only just handed out
 * and whose segment the meter does not know yet. */
static bool lane_is_pending(const struct lane *l, uint32_t slot)
{
    const struct meter *m = &l->meter;
    return slot < l->n_slots && l->pending[slot] != 0 && l->live[slot].segment < m->n_segments &&
           m->segments[l->live[slot].segment].n_active > 0;
}

/* The policy completed a pending free before the recording did. The slot becomes vacant now, so the recorded
 * completion will find nothing to do. */
static void lane_completed_early(void *arg, uint32_t slot)
{
    struct lane *l = arg;
    struct block *b = &l->live[slot < l->n_slots ? slot : l->n_slots];
    if (b->bytes == 0)
        return;
    if (!lane_is_pending(l, slot)) {
        l->policy->failure = err_set(&l->err, ERR_CORRUPT, 0,
                                     "the policy ended a free that had not begun, in slot %" PRIu32, slot);
        return;
    }
    if (l->audit != NULL)
        audit_free(l->audit, slot);
    meter_complete_early(&l->meter, l->pending[slot], b);
    l->pending[slot] = 0;
    l->meter.frees++;
    b->bytes = 0;
}

/* The policy moved a block: the slot, the meter and the audit follow. */
static void lane_moved(void *arg, uint32_t slot, const struct block *to)
{
    struct lane *l = arg;
    struct meter *m = &l->meter;
    struct block *b = &l->live[slot < l->n_slots ? slot : l->n_slots];
    enum err e = ERR_OK;
    const bool is_live = b->bytes > 0 && b->segment < m->n_segments && m->segments[b->segment].n_active > 0;
    if (!is_live || to->bytes != b->bytes)
        e = err_set(&l->err, ERR_CORRUPT, 0, "the policy moved slot %" PRIu32 ", which is not live or has another size",
                    slot);
    if (e == ERR_OK && to->segment >= m->n_segments)
        e = meter_grow(m, l->device, to->segment, &l->err);
    if (e == ERR_OK && l->audit != NULL) {
        audit_free(l->audit, slot);
        e = audit_alloc(l->audit, slot, to->bytes, to, &l->err);
    }
    if (e != ERR_OK) {
        l->policy->failure = e;
        return;
    }
    meter_move(m, l->device, b->segment, to->segment);
    *b = *to;
}

/* Tries a request that was refused when recorded. The trace has no free for it, so it is freed at once if served. */
static void lane_try_refused(struct lane *l, const struct event *ev, uint64_t done)
{
    struct event again = *ev;
    struct block *b = &l->live[l->n_slots];
    again.kind = EVENT_ALLOC;
    again.slot = l->n_slots;
    if (!lane_alloc(l, &again, b, done, true))
        return;
    l->meter.survived++;
    again.kind = EVENT_FREE;
    meter_retire(&l->meter, b);
    lane_complete(l, &again, b, done, true);
}

/* Makes a request before the first event and frees it, as a program that warms up its allocator. */
static void lane_warm(struct lane *l, uint64_t bytes)
{
    struct event ev = { .kind = EVENT_ALLOC, .bytes = bytes, .slot = l->n_slots };
    struct block *b = &l->live[l->n_slots];
    if (bytes == 0 || !lane_alloc(l, &ev, b, 0, true))
        return;
    ev.kind = EVENT_FREE;
    meter_retire(&l->meter, b);
    lane_complete(l, &ev, b, 0, true);
}

static void lane_control(struct lane *l, const struct control *c, const struct event *ev, uint64_t done)
{
    const struct block *b = c->kind == CONTROL_USE ? &l->live[c->slot] : NULL;
    assert(c->kind < CONTROL_KINDS);
    if (b != NULL && b->bytes == 0)
        return;
    struct err_detail err = { .text = "" };
    const enum err e = l->policy->ops->control == NULL ? ERR_UNSUPPORTED
                                                       : l->policy->ops->control(l->policy, c, b, &err);
    meter_settle(&l->meter, l->policy, done, ev->time_ns);
    if (e == ERR_UNSUPPORTED) {
        const bool is_asked = c->kind != CONTROL_THREAD && c->kind != CONTROL_WAIT;    /* most allocators do not */
        l->unsupported[c->kind] += is_asked;
    } else if (e != ERR_OK) {
        l->err = err;
        lane_stop(l, e, done);
    }
}

/* Takes a sample, and lets the audit check the policy. */
static void lane_sample(struct lane *l, uint64_t done, uint64_t time_ns, uint32_t label)
{
    enum err e = ERR_OK;
    if (l->sample != NULL) {
        struct meter_sample s = meter_sample_now(&l->meter, l->policy, done, time_ns);
        s.label = label;
        e = l->sample(l->sample_arg, &s);
    }
    if (e == ERR_OK && l->audit != NULL && l->policy->ops->check != NULL)
        e = l->policy->ops->check(l->policy, &l->err);
    if (e != ERR_OK)
        lane_stop(l, e, done);
}

/*
 * With many live requests the tables outgrow the caches, and slots come in any order. So the memory that an event will
 * touch is fetched some events ahead. The policy, whose tables are as large, is told twice about each coming event:
 *
 *     ev[0] .... ev[NEXT] ...... ev[SOON] ...... ev[AHEAD]
 *     now        expect(next)    expect(soon)    prefetch of live[slot]
 */
enum { LANE_AHEAD = 12, LANE_AHEAD_SOON = 9, LANE_AHEAD_NEXT = 5, LANE_MANY = 1 << 13 };
static_assert(LANE_AHEAD > LANE_AHEAD_SOON && LANE_AHEAD_SOON > LANE_AHEAD_NEXT, "the first asks for what they read");

static inline void lane_tell(const struct lane *l, const struct event *ev, bool is_next)
{
    if (ev->kind <= EVENT_FREE_COMPLETED)
        l->policy->ops->expect(l->policy, ev, &l->live[ev->slot], is_next);
}
static_assert(EVENT_FREE_COMPLETED < EVENT_FLUSH, "kinds up to here are those of a request in a slot");

/* Needs the LANE_AHEAD events after `ev` in the chunk. */
static void lane_look_ahead(const struct lane *l, const struct event *ev)
{
    if (ev[LANE_AHEAD].slot < l->n_slots)
        prefetch(&l->live[ev[LANE_AHEAD].slot]);
    if (l->policy->ops->expect == NULL)
        return;
    lane_tell(l, &ev[LANE_AHEAD_SOON], false);
    lane_tell(l, &ev[LANE_AHEAD_NEXT], true);
}

/* A free of any kind. `done`: the number of events including it. */
static inline void lane_free(struct lane *l, const struct event *e, struct block *b, uint64_t done, bool is_watched)
{
    if (b->bytes == 0)
        return;
    if (e->kind == EVENT_FREE_REQUESTED) {
        lane_retire(l, e, b, done);
        return;
    }
    if (e->kind == EVENT_FREE)
        meter_retire(&l->meter, b);
    lane_complete(l, e, b, done, is_watched);
    l->meter.frees++;
}

static void lane_flush(struct lane *l, uint32_t stream, uint64_t done, uint64_t time_ns)
{
    if (l->policy->ops->flush != NULL)
        l->policy->ops->flush(l->policy, stream);
    meter_settle(&l->meter, l->policy, done, time_ns);
}

static void lane_mark(struct lane *l, uint32_t label, uint64_t done, uint64_t time_ns)
{
    if (l->policy->ops->mark == NULL)
        return;
    l->policy->ops->mark(l->policy, label);
    meter_settle(&l->meter, l->policy, done, time_ns);
}

/* Handles the kinds that are rare; EVENT_ALLOC and EVENT_FREE are nearly all events. */
static void lane_other(struct lane *l, const struct event *e, uint64_t done, const struct control *controls)
{
    switch (e->kind) {
    case EVENT_FREE_REQUESTED:
    case EVENT_FREE_COMPLETED:
        lane_free(l, e, &l->live[e->slot], done, true);
        break;
    case EVENT_FLUSH:
        lane_flush(l, e->stream == 0 ? POLICY_ALL_STREAMS : e->stream, done, e->time_ns);
        break;
    case EVENT_OOM:
        if (done <= l->cfg->caught_before)
            lane_flush(l, POLICY_ALL_STREAMS, done, e->time_ns);
        else
            lane_try_refused(l, e, done);
        break;
    case EVENT_CONTROL:
        lane_control(l, &controls[e->slot], e, done);
        break;
    default:
        if (l->cfg->what_if.has_flush_label && l->cfg->what_if.flush_label == e->slot)
            lane_flush(l, POLICY_ALL_STREAMS, done, e->time_ns);
        lane_mark(l, e->slot, done, e->time_ns);
        lane_sample(l, done, e->time_ns, e->slot);
        break;
    }
}

/* After an event of a watched lane: lets the audit complain, then calls the watch. */
static void lane_look(struct lane *l, const struct event *ev, uint64_t done)
{
    if (l->audit != NULL && !l->is_stopped && audit_check(l->audit, &l->err) != ERR_OK)
        lane_stop(l, ERR_CORRUPT, done);
    if (l->watch != NULL)
        l->watch->event(l->watch, l, ev, done);
}

/* Before an event of a watched lane: what is known of it beside the event itself. */
static void lane_tell_site(struct lane *l, uint64_t done)
{
    l->event_done = done;
    if (l->sites != NULL)
        l->policy->site = l->is_starting ? 0 : l->sites[done - 1];
}

/* The loop. The compiler makes a copy for each pair of constants that lane_run passes, so that most lanes, small and
 * unwatched, test nothing in vain. Returns how many events ran. */
static HOT_INLINE size_t lane_run_as(struct lane *l, const struct event *ev, size_t n, uint64_t first,
                                     const struct control *controls, bool has_many, bool is_watched)
{
    const uint64_t step = l->is_starting ? 0 : 1;
    size_t i = 0;
    for (; i < n && !l->is_stopped; i++) {
        const uint64_t done = first + (i + 1) * step;
        if (is_watched)
            lane_tell_site(l, done);
        if (has_many && i + LANE_AHEAD < n)
            lane_look_ahead(l, &ev[i]);
        if (ev[i].kind == EVENT_ALLOC)
            l->meter.allocs += lane_alloc(l, &ev[i], &l->live[ev[i].slot], done, is_watched);
        else if (ev[i].kind == EVENT_FREE)
            lane_free(l, &ev[i], &l->live[ev[i].slot], done, is_watched);
        else
            lane_other(l, &ev[i], done, controls);
        if (is_watched)
            lane_look(l, &ev[i], done);
    }
    return i;
}

/* Runs over events with no sample or stop between them. `first`: our number of ev[0]. */
static void lane_run(struct lane *l, const struct event *ev, size_t n, uint64_t first, const struct control *controls)
{
    const bool is_watched = l->audit != NULL || l->watch != NULL || l->sites != NULL;
    const bool has_many = l->n_slots >= LANE_MANY;
    const size_t ran = has_many || is_watched ? lane_run_as(l, ev, n, first, controls, has_many, is_watched)
                                              : lane_run_as(l, ev, n, first, controls, false, false);
    if (!l->is_starting)
        l->events_done += ran;
}

/* The number of events before the first whose time is not below `time_ns`. */
static size_t events_before(const struct event *ev, size_t n, uint64_t time_ns)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (ev[mid].time_ns < time_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The least multiple of `every` above `now`; UINT64_MAX if `every` is 0 or there is none. */
static uint64_t next_multiple(uint64_t now, uint64_t every)
{
    if (every == 0 || now > UINT64_MAX - every)
        return UINT64_MAX;
    return now - now % every + every;
}

/* Ends the parts of the run whose border is event `event`. */
static void lane_end_parts(struct lane *l, uint64_t event)
{
    while (l->meter.n_parts < l->cfg->n_borders && l->cfg->borders[l->meter.n_parts] == event)
        meter_end_part(&l->meter, l->device);
}

/* The next event after `event` before which the lane has to flush, to explain or to end a part of the run. */
static uint64_t lane_next_stop(const struct lane *l, uint64_t event)
{
    const uint64_t flush = next_multiple(event, l->cfg->what_if.flush_every_events);
    const uint64_t explain = l->explain != NULL && l->explain->event > event ? l->explain->event : UINT64_MAX;
    const uint64_t border = l->meter.n_parts < l->cfg->n_borders ? l->cfg->borders[l->meter.n_parts] : UINT64_MAX;
    const uint64_t first = flush < explain ? flush : explain;
    return first < border ? first : border;
}

/* Before event `event`: makes the inserted flush, and takes the explanation if it was asked for here. */
static void lane_stop_here(struct lane *l, const struct event *next, uint64_t event)
{
    const uint64_t every = l->cfg->what_if.flush_every_events;
    lane_end_parts(l, event);
    if (every > 0 && event > 0 && event % every == 0)
        lane_flush(l, POLICY_ALL_STREAMS, event, next->time_ns);
    if (l->explain != NULL && l->explain->event == event)
        explain_run_event(l->explain, l, next, event);
    l->next_stop_event = lane_next_stop(l, event);
}

/* Stops a lane if its policy or device has failed in a call that returns no error, or if the run was interrupted. */
static void lane_heed(struct lane *l, uint64_t done)
{
    const volatile sig_atomic_t *interrupted = l->cfg->interrupted;
    if (l->is_stopped)
        return;
    if (l->policy->failure != ERR_OK)
        lane_stop(l, l->policy->failure, done);
    else if (l->device->failure != ERR_OK)
        lane_stop(l, l->device->failure, done);
    else if (l->meter.peak.active > l->meter.peak.reserved + l->device->usage.host_peak_bytes)
        lane_stop(l, err_set(&l->err, ERR_CORRUPT, 0, "the policy's blocks held %" PRIu64 " bytes, more than the %"
                             PRIu64 " that it had reserved", l->meter.peak.active, l->meter.peak.reserved), done);
    else if (interrupted != NULL && *interrupted != 0)
        lane_stop(l, ERR_INTERRUPTED, done);
}

/* Runs over a chunk in pieces. Between two pieces: an inserted flush, an explanation, or a sample.
 *
 *     ev:   0 .......... k .......... m .......... n
 *           piece        piece        piece
 *                        ^ stop       ^ sample (each taken before the event there)
 */
static void lane_run_pieces(struct lane *l, const struct event *ev, size_t n, uint64_t first,
                            const struct control *controls)
{
    size_t at = 0;
    lane_heed(l, first);
    while (at < n && !l->is_stopped) {
        size_t end = n;
        assert(l->events_done == first + at);
        assert(l->next_sample_event >= first + at && l->next_stop_event >= first + at);
        if (l->next_sample_event - first < end)
            end = (size_t)(l->next_sample_event - first);
        if (l->next_stop_event - first < end)
            end = (size_t)(l->next_stop_event - first);
        if (l->next_sample_ns != UINT64_MAX)
            end = at + events_before(ev + at, end - at, l->next_sample_ns);
        lane_run(l, ev + at, end - at, first + at, controls);
        assert(at <= end && end <= n);
        at = end;
        if (at == n || l->is_stopped)
            break;
        if (first + at == l->next_stop_event)
            lane_stop_here(l, &ev[at], first + at);
        if (first + at == l->next_sample_event || ev[at].time_ns >= l->next_sample_ns) {
            lane_sample(l, first + at, ev[at].time_ns, UINT32_MAX);
            if (first + at == l->next_sample_event)
                l->next_sample_event = next_multiple(first + at, l->cfg->sample_every_events);
            if (ev[at].time_ns >= l->next_sample_ns)
                l->next_sample_ns = next_multiple(ev[at].time_ns, l->cfg->sample_every_ns);
        }
    }
}

/* ---- plugins that crash ---- */

static enum err crashed_alloc(struct policy *p, const struct event *req, struct block *out)
{
    (void)p, (void)req, (void)out;
    return ERR_DEVICE_OOM;
}

static void crashed_free(struct policy *p, const struct event *req, const struct block *b)
{
    (void)p, (void)req, (void)b;
}

static void crashed_destroy(struct policy *p)
{
    (void)p;
}

static const struct policy_ops policy_crashed = {
    POLICY_HEAD,
    .name = "crashed",
    .summary = "stands in for a plugin that crashed",
    .destroy = crashed_destroy, .alloc = crashed_alloc, .free = crashed_free,
};

/* Calls a function that calls the lane's policy, and stops the lane if that crashes. */
static void lane_guard(struct lane *l, void (*body)(void *arg), void *arg)
{
    const int signal = l->is_foreign ? crash_guarded(body, arg) : (body(arg), 0);
    if (signal == 0)
        return;
    l->crashed = (struct policy){.ops = &policy_crashed, .device = l->device, .observer = &l->observer,
                                 .count = l->policy->count};
    l->policy = &l->crashed;
    err_set(&l->err, ERR_CORRUPT, 0, "the plugin crashed: %s", crash_text(signal));
    lane_stop(l, ERR_CORRUPT, l->event_done);
}

/* What lane_run_pieces is called with. */
struct chunk_of_lane {
    struct lane *lane;
    const struct event *ev;
    size_t n;
    uint64_t first;
    const struct control *controls;
};

static void run_pieces_of(void *arg)
{
    const struct chunk_of_lane *c = arg;
    lane_run_pieces(c->lane, c->ev, c->n, c->first, c->controls);
}

static void lane_run_chunk(struct lane *l, const struct event *ev, size_t n, uint64_t first,
                           const struct control *controls)
{
    struct chunk_of_lane chunk = {.lane = l, .ev = ev, .n = n, .first = first, .controls = controls};
    if (l->is_foreign)
        lane_guard(l, run_pieces_of, &chunk);
    else
        lane_run_pieces(l, ev, n, first, controls);
}

/* Tells the meter and the audit about a request that the policy took over from the recorded state. */
static enum err lane_take_over(struct lane *l, const struct trace_block *b)
{
    const struct event ev = { .bytes = b->requested, .slot = b->slot, .stream = b->stream, .pool = b->pool };
    const struct block *block = &l->live[b->slot];
    assert(b->slot < l->n_slots);
    const enum err e = lane_examine(l, &ev, block);
    if (e != ERR_OK)
        return e;
    meter_alloc(&l->meter, l->device, ev.bytes, block);
    if (b->is_pending) {
        l->pending[b->slot] = ev.bytes;
        meter_retire(&l->meter, block);
    }
    return ERR_OK;
}

/* Stops a lane before its first event: the device has no room for `bytes` that the policy needs to begin. Only a part
 * of the state is there then, so this refusal is never explained or skipped. */
static void lane_refuse_start(struct lane *l, uint64_t bytes)
{
    const struct event request = { .kind = EVENT_ALLOC, .bytes = bytes };
    l->meter.ooms = 1;
    l->meter.first_oom = lane_describe_oom(l, &request, 0);
    l->outcome = ERR_DEVICE_OOM;
    l->is_stopped = true;
    l->stopped_at = lane_event(l, 0);
    if (l->on_oom != NULL)
        l->on_oom(l->on_oom_arg, &l->meter.first_oom);
}

/* Stops a lane that cannot take over the recorded state. A refusal is that of the segment that did not fit. */
static void lane_refuse_state(struct lane *l, enum err e, const struct err_detail *reason,
                              const struct trace_segment *segments, size_t n_segments)
{
    if (e == ERR_DEVICE_OOM) {
        lane_refuse_start(l, reason->offset < n_segments ? segments[reason->offset].bytes : 0);
        return;
    }
    err_set(&l->err, e, 0, "policy '%s' cannot start from the recorded state: %s", l->spec->typed, reason->text);
    lane_stop(l, e, 0);
}

/* Hands the recorded state to the policy. The device calls that this takes are not counted. */
static enum err lane_restore(struct lane *l, const struct trace_reader *in, const struct start_state *start,
                             struct err_detail *err)
{
    size_t n_segments, n_blocks;
    const struct trace_segment *segments = trace_start_segments(in, &n_segments);
    const struct trace_block *blocks = trace_start_blocks(in, &n_blocks);
    struct err_detail reason = { .text = "" };
    device_list_addresses(l->device, start->addresses, start->n_addresses);
    enum err e = l->policy->ops->restore(l->policy, segments, n_segments, blocks, n_blocks, l->live, &reason);
    device_list_addresses(l->device, NULL, 0);
    device_reset_usage(l->device);
    for (size_t i = 0; i < n_blocks && e == ERR_OK; i++)
        if (blocks[i].slot != TRACE_NO_SLOT && (e = lane_take_over(l, &blocks[i])) != ERR_OK)
            reason = l->err;
    if (e == ERR_HOST_NOMEM)
        return err_set(err, e, 0, "%s", err_text(e));
    meter_device_moved(&l->meter, l->policy, 0, 0);      /* it did, but no counted call shows it */
    meter_settle(&l->meter, l->policy, 0, 0);
    l->is_restored = true;
    if (e != ERR_OK)
        lane_refuse_state(l, e, &reason, segments, n_segments);
    return ERR_OK;
}

static void lane_device_call(void *arg, const struct device_call *c)
{
    struct lane *l = arg;
    if (l->audit != NULL)
        audit_device_call(l->audit, c);
    if (l->calls != NULL)
        l->calls->call(l->calls->arg, c);
    if (l->others_log != NULL)
        l->others_log->call(l->others_log->arg, c);
}

/* Places the start state, or lets the policy take it over. */
static enum err lane_place_start(struct lane *l, const struct trace_reader *in, const struct start_state *start,
                                 struct err_detail *err)
{
    uint64_t refused_bytes;
    if (policy_is_refused(l->policy, &refused_bytes)) {
        lane_refuse_start(l, refused_bytes);
        return ERR_OK;
    }
    if (l->cfg->start == START_FAITHFUL && l->policy->ops->restore != NULL && trace_info(in)->starts_mid_run)
        return lane_restore(l, in, start, err);
    lane_warm(l, l->cfg->what_if.warm_bytes);
    lane_run(l, start->events, start->n_events, 0, NULL);
    return ERR_OK;
}

/* What lane_place_start is called with, and its answer. */
struct start_of_lane {
    struct lane *lane;
    const struct trace_reader *in;
    const struct start_state *start;
    struct err_detail *err;
    enum err outcome;
};

static void place_start_of(void *arg)
{
    struct start_of_lane *s = arg;
    s->outcome = lane_place_start(s->lane, s->in, s->start, s->err);
}

/* Prepares a lane for its run and places the start state. */
static enum err lane_begin(struct lane *l, const struct replay_config *cfg, const struct trace_reader *in,
                           const struct start_state *start, struct err_detail *err)
{
    assert(l->cfg == NULL && l->events_done == 0);       /* a lane runs once, so its start state is placed once */
    l->cfg = cfg;
    l->observer.completed = lane_completed_early;
    l->observer.moved = lane_moved;
    l->observer.arg = l;
    l->policy->observer = &l->observer;
    l->next_sample_ns = next_multiple(0, cfg->sample_every_ns);
    l->next_sample_event = next_multiple(0, cfg->sample_every_events);
    const bool stops_at_0 = (l->explain != NULL && l->explain->event == 0) ||
                            (cfg->n_borders > 0 && cfg->borders[0] == 0);
    l->next_stop_event = stops_at_0 ? 0 : lane_next_stop(l, 0);
    l->is_foreign = policy_spec_has_plugin(l->spec);
    if (cfg->audit || l->is_foreign) {
        const enum err created = audit_create(l->n_slots + 1, l->device, &l->audit);
        if (created != ERR_OK)
            return err_set(err, created, 0, "%s", err_text(created));
    }
    l->log = (struct device_log){ .call = lane_device_call, .arg = l };
    l->others_log = l->device->log;
    if (l->audit != NULL || l->calls != NULL)
        l->device->log = &l->log;
    struct start_of_lane placing = {.lane = l, .in = in, .start = start, .err = err};
    l->is_starting = true;
    lane_guard(l, place_start_of, &placing);
    l->is_starting = false;
    if (placing.outcome != ERR_OK)
        return placing.outcome;
    if (l->watch != NULL)
        l->watch->event(l->watch, l, NULL, 0);
    if (!l->is_stopped)
        lane_sample(l, 0, 0, UINT32_MAX);
    return ERR_OK;
}

/* After the last event: the explanation of the end, and the last sample. */
static void lane_take_end(struct lane *l, uint64_t time_ns)
{
    assert(l->meter.now.requested <= l->meter.now.active && l->meter.now.allocated <= l->meter.now.active);
    lane_heed(l, l->events_done);
    if (!l->is_stopped || l->outcome == ERR_DEVICE_OOM)
        meter_end(&l->meter, l->is_stopped ? l->stopped_ns : time_ns);
    if (!l->is_stopped)
        lane_end_parts(l, l->events_done);
    if (!l->is_stopped && l->explain != NULL && l->explain->event == EXPLAIN_END)
        explain_run_end(l->explain, l, l->events_done, time_ns);
    if (!l->is_stopped || l->outcome == ERR_DEVICE_OOM)
        lane_sample(l, l->events_done, l->is_stopped ? l->stopped_ns : time_ns, UINT32_MAX);
}

struct end_of_lane {
    struct lane *lane;
    uint64_t time_ns;
};

static void take_end_of(void *arg)
{
    const struct end_of_lane *end = arg;
    lane_take_end(end->lane, end->time_ns);
}

static void lane_end(struct lane *l, uint64_t time_ns)
{
    struct end_of_lane end = {.lane = l, .time_ns = time_ns};
    lane_guard(l, take_end_of, &end);
}

/* Opens device and policy. `peak_live`: how many live requests the policy makes room for. */
static enum err lane_open_parts(const struct policy_spec *spec, const struct device_ops *ops,
                                const struct device_config *device, const struct trace_reader *trace, uint64_t seed,
                                uint32_t peak_live, struct lane *out, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    struct lane l = { .spec = spec, .n_slots = info->peak_live };
    struct err_detail reason = { .text = "" };
    enum err e = device_open(ops, device, &l.device, err);
    if (e != ERR_OK)
        return e;
    const struct policy_config cfg = {
        .device    = l.device,
        .peak_live = peak_live,
        .seed      = seed,
        .values    = spec->values,
        .streams   = trace_streams(trace),
        .n_streams = info->n_streams,
        .pools     = trace_pools(trace),
        .n_pools   = info->n_pools,
        .ordinal   = info->device,
    };
    e = policy_create(spec->ops, &cfg, &l.policy, &reason);
    if (e != ERR_OK) {
        policy_spec_refuse(spec, e, &reason, err);
        lane_close(&l);
    } else {
        *out = l;
    }
    return e;
}

enum err lane_open_idle(const struct policy_spec *spec, const struct device_ops *ops,
                        const struct device_config *device, const struct trace_reader *trace, uint64_t seed,
                        struct lane *out, struct err_detail *err)
{
    return lane_open_parts(spec, ops, device, trace, seed, 0, out, err);
}

enum err lane_open(const struct policy_spec *spec, const struct device_ops *ops, const struct device_config *device,
                   const struct trace_reader *trace, uint64_t seed, struct lane *out, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    const uint32_t peak_live = info->by_kind[EVENT_OOM] == 0 ? info->peak_live : info->peak_live + 1;
    struct lane l;
    const enum err e = lane_open_parts(spec, ops, device, trace, seed, peak_live, &l, err);
    if (e != ERR_OK)
        return e;
    l.live = calloc((size_t)l.n_slots + 1, sizeof *l.live);
    l.pending = calloc((size_t)l.n_slots + 1, sizeof *l.pending);
    if (l.live == NULL || l.pending == NULL) {
        lane_close(&l);
        return err_no_memory(err);
    }
    large_pages_want(l.live, ((size_t)l.n_slots + 1) * sizeof *l.live);
    *out = l;
    return ERR_OK;
}

void lane_close(struct lane *lane)
{
    policy_destroy(lane->policy);
    if (lane->device != NULL)
        lane->device->log = NULL;
    device_close(lane->device);
    audit_destroy(lane->audit);
    meter_close(&lane->meter);
    free(lane->live);
    free(lane->pending);
}

/* ---- many lanes ---- */

static unsigned threads_wanted(const struct replay_config *cfg)
{
    return cfg->threads != 0 ? cfg->threads : cores_usable();
}

/*
 * Threads that run lanes over one chunk at a time. The caller's thread is one of them.
 *
 *     caller:   crew_run: hand out chunk --> take jobs --> wait until n_busy is 0 --> next chunk
 *     threads:  wait for `work` -----------> take jobs --> n_busy--, the last signals `rest`
 */
struct crew {
    struct lane *lanes;
    size_t       n_lanes;
    const struct replay_config *cfg;
    const struct control *controls;
    const struct event   *events;          /* the chunk under way */
    size_t       n_events;
    uint64_t     first;
    atomic_size_t next_job;                /* taken one by one, because lanes differ in speed; job 0 is cfg->chunk, job
                                            * i is lane i - 1 */
    pthread_mutex_t lock;
    pthread_cond_t  work, rest;
    uint64_t     round;                    /* chunks handed out so far: tells a thread that there is a new one */
    unsigned     n_threads, n_busy;        /* the caller's thread not counted */
    bool         is_over;
    pthread_t    threads[];
};

static void crew_take_jobs(struct crew *c)
{
    for (size_t i; (i = atomic_fetch_add(&c->next_job, 1)) <= c->n_lanes;)
        if (i > 0)
            lane_run_chunk(&c->lanes[i - 1], c->events, c->n_events, c->first, c->controls);
        else if (c->cfg->chunk != NULL)
            c->cfg->chunk(c->cfg->chunk_arg, c->events, c->n_events);
}

static void *crew_thread(void *arg)
{
    struct crew *c = arg;
    pthread_mutex_lock(&c->lock);
    for (uint64_t seen = 0;;) {
        while (c->round == seen && !c->is_over)
            pthread_cond_wait(&c->work, &c->lock);
        if (c->is_over)
            break;
        seen = c->round;
        pthread_mutex_unlock(&c->lock);
        crew_take_jobs(c);
        pthread_mutex_lock(&c->lock);
        assert(c->n_busy > 0 && c->round == seen);       /* no new chunk before all threads are done with this one */
        if (--c->n_busy == 0)
            pthread_cond_signal(&c->rest);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Runs every lane over a chunk and returns when all are done. */
static void crew_run(struct crew *c, const struct event *ev, size_t n, uint64_t first)
{
    pthread_mutex_lock(&c->lock);
    assert(c->n_busy == 0);
    c->events = ev;
    c->n_events = n;
    c->first = first;
    atomic_store(&c->next_job, 0);
    c->round++;
    c->n_busy = c->n_threads;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);

    crew_take_jobs(c);

    pthread_mutex_lock(&c->lock);
    while (c->n_busy > 0)
        pthread_cond_wait(&c->rest, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static struct crew *crew_start(struct lane *lanes, size_t n_lanes, const struct replay_config *cfg,
                               const struct control *controls)
{
    const size_t n_jobs = n_lanes + (cfg->chunk != NULL);
    size_t n = threads_wanted(cfg);
    if (n > n_jobs)
        n = n_jobs;
    struct crew *c = calloc(1, sizeof *c + n * sizeof c->threads[0]);
    if (c == NULL)
        return NULL;
    c->lanes = lanes;
    c->n_lanes = n_lanes;
    c->cfg = cfg;
    c->controls = controls;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_cond_init(&c->rest, NULL);
    while (c->n_threads + 1 < n && pthread_create(&c->threads[c->n_threads], NULL, crew_thread, c) == 0)
        c->n_threads++;                    /* with fewer threads than wanted the run is slower, not wrong */
    return c;
}

static void crew_stop(struct crew *c)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    c->is_over = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < c->n_threads; i++)
        pthread_join(c->threads[i], NULL);
    pthread_cond_destroy(&c->rest);
    pthread_cond_destroy(&c->work);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- the whole ---- */

static bool any_lane_runs(const struct lane *lanes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!lanes[i].is_stopped)
            return true;
    return false;
}

static bool any_lane_plans(const struct lane *lanes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lanes[i].policy->ops->foresee != NULL)
            return true;
    return false;
}

/* The call stacks of all events, if a policy needs them. *out: to be freed; NULL if none does. */
static enum err read_sites(struct trace_reader *in, struct lane *lanes, size_t n_lanes, uint32_t **out,
                           struct err_detail *err)
{
    const size_t n = (size_t)trace_info(in)->events;
    bool is_needed = false;
    *out = NULL;
    for (size_t i = 0; i < n_lanes; i++)
        is_needed |= (lanes[i].policy->ops->needs & POLICY_NEEDS_SITES) != 0;
    if (!is_needed)
        return ERR_OK;
    uint64_t *events = malloc((n + 1) * sizeof *events);
    *out = malloc((n + 1) * sizeof **out);
    if (events == NULL || *out == NULL) {
        free(events);
        return err_no_memory(err);
    }
    for (size_t i = 0; i < n; i++)
        events[i] = i;
    const enum err e = trace_stacks_at(in, events, n, *out, err);
    free(events);
    for (size_t i = 0; i < n_lanes; i++)
        lanes[i].sites = (lanes[i].policy->ops->needs & POLICY_NEEDS_SITES) != 0 ? *out : NULL;
    return e;
}

/* All events of a trace, decoded for policies that plan ahead. */
struct held_events {
    struct event *at;                        /* the start state's first; NULL: the reader has them */
    size_t        n_start, n;                /* n: with those of the start state */
};

/* Shows the whole trace, start state first, to the policies that plan ahead. */
static enum err foresee(struct lane *lanes, size_t n_lanes, const struct event *ev, size_t n, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < n_lanes && e == ERR_OK; i++)
        if (lanes[i].policy->ops->foresee != NULL)
            if ((e = lanes[i].policy->ops->foresee(lanes[i].policy, ev, n)) != ERR_OK)
                err_set(err, e, 0, "policy '%s' cannot plan for this trace: %s", lanes[i].spec->typed, err_text(e));
    return e;
}

/* Copies all events, of which the reader has lent the first k, into *out. */
static enum err hold_events(struct trace_reader *in, const struct start_state *start, const struct event *ev, size_t k,
                            struct held_events *out, struct err_detail *err)
{
    enum err e = ERR_OK;
    out->n_start = start->n_events;
    out->n = out->n_start + (size_t)trace_info(in)->events;
    out->at = malloc((out->n + 1) * sizeof *out->at);
    if (out->at == NULL)
        return err_no_memory(err);
    large_pages_want(out->at, out->n * sizeof *out->at);
    if (out->n_start > 0)
        memcpy(out->at, start->events, out->n_start * sizeof *out->at);
    for (size_t at = out->n_start; e == ERR_OK && k > 0; at += k, e = trace_next(in, &ev, &k, err))
        memcpy(out->at + at, ev, k * sizeof *ev);
    return e;
}

/* Lets policies plan ahead. A trace that is one chunk stays decoded in the reader; others are held for the run. */
static enum err plan_ahead(struct trace_reader *in, struct lane *lanes, size_t n_lanes, const struct start_state *start,
                           struct held_events *held, struct err_detail *err)
{
    const struct event *ev;
    size_t n;
    trace_enlarge_chunks(in);
    enum err e = trace_next(in, &ev, &n, err);
    if (e != ERR_OK)
        return e;
    if (n == trace_info(in)->events && start->n_events == 0)
        return (e = foresee(lanes, n_lanes, ev, n, err)) == ERR_OK ? trace_next(in, &ev, &n, err) : e;
    e = hold_events(in, start, ev, n, held, err);
    return e == ERR_OK ? foresee(lanes, n_lanes, held->at, held->n, err) : e;
}

/* The next chunk: of the events that are held, or else of the reader. `first`: how many events came before it. */
static enum err next_chunk(struct trace_reader *in, const struct held_events *held, uint64_t first,
                           const struct event **ev, size_t *n, struct err_detail *err)
{
    if (held->at == NULL)
        return trace_next(in, ev, n, err);
    const size_t at = held->n_start + (size_t)first, left = held->n - at;
    *ev = held->at + at;
    *n = left < TRACE_CHUNK_EVENTS ? left : TRACE_CHUNK_EVENTS;
    return ERR_OK;
}

/* Reads the trace to its end, or until no lane runs and nobody wants the chunks. */
static enum err run_chunks(struct trace_reader *in, const struct held_events *held, struct crew *c, uint64_t *time_ns,
                           struct err_detail *err)
{
    const struct event *ev;
    uint64_t first = 0;
    const struct replay_config *cfg = c->cfg;
    for (size_t n; cfg->chunk != NULL || any_lane_runs(c->lanes, c->n_lanes); first += n) {
        const enum err e = next_chunk(in, held, first, &ev, &n, err);
        if (e != ERR_OK || n == 0)
            return e;
        crew_run(c, ev, n, first);
        *time_ns = ev[n - 1].time_ns;
        if (cfg->progress != NULL)
            cfg->progress(cfg->progress_arg, first + n, trace_info(in)->events);
    }
    return ERR_OK;
}

/* Brings a trace to its start and lanes into their beginning. *held is to be freed, whatever is returned. */
static enum err lanes_begin(struct trace_reader *in, struct lane *lanes, size_t n_lanes,
                            const struct replay_config *cfg, struct held_events *held, struct err_detail *err)
{
    struct start_state start;
    enum err e = trace_seek(in, 0, err);
    if (e != ERR_OK || (e = start_state_read(in, &start, err)) != ERR_OK)
        return e;
    if (any_lane_plans(lanes, n_lanes) && (e = plan_ahead(in, lanes, n_lanes, &start, held, err)) == ERR_OK)
        e = trace_seek(in, 0, err);
    for (size_t i = 0; i < n_lanes && e == ERR_OK; i++)
        e = lane_begin(&lanes[i], cfg, in, &start, err);
    start_state_close(&start);
    return e;
}

enum err lane_start(struct lane *lane, struct trace_reader *in, const struct replay_config *cfg, struct err_detail *err)
{
    struct held_events held = {.at = NULL};
    const enum err e = lanes_begin(in, lane, 1, cfg, &held, err);
    free(held.at);
    return e;
}

void lane_feed(struct lane *lane, const struct event *events, size_t n, uint64_t first, const struct control *controls)
{
    lane_run_chunk(lane, events, n, first, controls);
}

void lane_finish(struct lane *lane, uint64_t time_ns)
{
    lane_end(lane, time_ns);
}

enum err replay_run(struct trace_reader *in, struct lane *lanes, size_t n_lanes, const struct replay_config *cfg,
                    struct err_detail *err)
{
    uint64_t time_ns = 0;
    const bool has_cores = threads_wanted(cfg) > 1;
    if (has_cores)
        trace_read_ahead(in);
    /* On one core, lanes (or a large lane and the decoder) push each other's tables out of the caches once a chunk:
     * larger chunks make that rarer. */
    if (n_lanes > 1 || (trace_info(in)->peak_live >= LANE_MANY && !has_cores))
        trace_enlarge_chunks(in);
    struct held_events held = {.at = NULL};
    struct crew *crew = NULL;
    uint32_t *sites;
    enum err e = read_sites(in, lanes, n_lanes, &sites, err);
    if (e == ERR_OK)
        e = lanes_begin(in, lanes, n_lanes, cfg, &held, err);
    if (e == ERR_OK && (crew = crew_start(lanes, n_lanes, cfg, trace_controls(in))) == NULL)
        e = err_no_memory(err);
    if (e == ERR_OK)
        e = run_chunks(in, &held, crew, &time_ns, err);
    crew_stop(crew);
    free(held.at);
    for (size_t i = 0; i < n_lanes && e == ERR_OK; i++)
        lane_end(&lanes[i], time_ns);
    free(sites);
    return e;
}
