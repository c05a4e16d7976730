/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One walk over the events finds what was recorded; the same run without walls, and on a card without end, is tried. */
#include "replay/why/retry_stalls.h"

/* It matters from so many on, of which a quarter must come in the later half. What leaves an eighth takes them away. */
enum { TIMES_LEAST = 16, LATER_SHARE = 4, LEFT_SHARE = 8 };

/* ---- as it was recorded ---- */

struct give_back_pass {
    const struct trace_segment_event *segments;
    size_t   n_segments, at;
    uint64_t half, times, later, bytes;
    uint8_t  before;                 /* kind of the event before; what a flush gave back counts nothing */
};

static bool is_taken(const struct trace_segment_event *s)
{
    return s->kind == TRACE_SEGMENT_ALLOC || s->kind == TRACE_SEGMENT_MAP;
}

/* Segments that were freed directly before one was taken, for the same request. */
static void give_back_event(void *arg, const struct event *ev, uint64_t number)
{
    struct give_back_pass *p = arg;
    uint64_t freed = 0;
    bool is_anew = false;
    for (; p->at < p->n_segments && p->segments[p->at].before <= number; p->at++) {
        freed += is_taken(&p->segments[p->at]) ? 0 : p->segments[p->at].bytes;
        is_anew = is_taken(&p->segments[p->at]) && freed > 0;
    }
    if (is_anew && ev->kind == EVENT_ALLOC && p->before != EVENT_FLUSH && p->before != EVENT_CONTROL) {
        p->times++;
        p->later += number >= p->half;
        p->bytes += freed;
    }
    p->before = ev->kind;
}

static enum err read_recorded(struct trace_reader *trace, struct retry_stalls *s, struct err_detail *err)
{
    struct give_back_pass p = { .half = trace_info(trace)->events / 2 };
    enum err e = trace_segment_events(trace, &p.segments, &p.n_segments, err);
    if (e == ERR_OK)
        e = trace_each_event(trace, give_back_event, &p, err);
    if (e != ERR_OK)
        return e;
    if (p.times < TIMES_LEAST || p.later < p.times / LATER_SHARE) {
        s->seldom = p.times;
        return e;
    }
    s->times = p.times;
    s->given_back_bytes = p.bytes;
    return ERR_OK;
}

/* ---- as it is replayed ---- */

struct stall_run {
    struct trace_reader *trace;
    const struct tune   *tune;
    const struct device_choice *device;
    struct replay_config cfg;
};

static enum err run_changed(const struct stall_run *r, const struct rewrite *how, struct trial *out,
                            struct err_detail *err)
{
    *out = (struct trial){ .spec = &r->tune->baseline.spec, .device = r->device->config };
    return trial_run_rewritten(r->trace, how, r->device->ops, out, &r->cfg, err);
}

/* Whether the replay shows it, and in the later half, too. */
static enum err read_replayed(const struct stall_run *r, struct retry_stalls *s, struct err_detail *err)
{
    const struct rewrite half = { .rounds = 1, .events = trace_info(r->trace)->events / 2 };
    const uint64_t all = r->tune->baseline.trial.retries;
    struct trial trial;
    if (all < TIMES_LEAST)
        return ERR_OK;
    const enum err e = run_changed(r, &half, &trial, err);
    if (e == ERR_OK && all >= trial.retries && all - trial.retries >= all / LATER_SHARE)
        s->replayed = all;
    return e;
}

static uint64_t beyond_room(const struct retry_stalls *s, uint64_t time_ns)
{
    return time_ns > s->room_ns ? time_ns - s->room_ns : 0;
}

/* The least card on which the recorded settings never give back: what they take of one without end. */
static enum err find_room(const struct stall_run *r, struct retry_stalls *s, struct err_detail *err)
{
    struct trial roomy = { .spec = &r->tune->baseline.spec, .device = r->device->config };
    roomy.device.total_bytes = DEVICE_UNLIMITED;
    const enum err e = trials_run(r->trace, r->device->ops, &roomy, 1, &r->cfg, err);
    if (e != ERR_OK)
        return e;
    s->room_bytes = roomy.card_peak_bytes;
    s->room_ns = roomy.device_time_ns;
    s->lost_ns = beyond_room(s, r->tune->baseline.trial.device_time_ns);
    return ERR_OK;
}

/* Time counts, not retries: a setting that gives back earlier has fewer of these, and frees as often. */
static bool takes_away(const struct retry_stalls *s, uint64_t time_ns)
{
    return beyond_room(s, time_ns) <= s->lost_ns / LEFT_SHARE;
}

static enum err try_walls(const struct stall_run *r, enum walls_kind kind, struct retry_stalls *s,
                          struct err_detail *err)
{
    const struct rewrite how = walls_out(kind);
    struct trial trial;
    const enum err e = run_changed(r, &how, &trial, err);
    if (e == ERR_OK && trial.fits && takes_away(s, trial.device_time_ns)) {
        s->walls = kind;
        s->without_walls = trial.retries;
    }
    return e;
}

/* Each wall alone, then both. */
static enum err find_walls(const struct stall_run *r, struct retry_stalls *s, struct err_detail *err)
{
    const struct trace_info *info = trace_info(r->trace);
    const bool has_streams = info->n_streams > 1, has_late = info->by_kind[EVENT_FREE_REQUESTED] > 0;
    const bool is_there[] = { [WALLS_STREAMS] = has_streams, [WALLS_LATE_USES] = has_late,
                              [WALLS_BOTH] = has_streams && has_late };
    enum err e = ERR_OK;
    for (int kind = WALLS_STREAMS; kind <= WALLS_BOTH && e == ERR_OK && s->walls == WALLS_NONE; kind++)
        if (is_there[kind])
            e = try_walls(r, (enum walls_kind)kind, s, err);
    return e;
}

/* ---- all of it ---- */

enum err retry_stalls_find(struct trace_reader *trace, const struct tune *tune, const struct device_choice *device,
                           const struct replay_config *cfg, struct retry_stalls *out, struct err_detail *err)
{
    const struct stall_run r = { .trace = trace, .tune = tune, .device = device, .cfg = { .threads = cfg->threads } };
    const bool is_recorded = !device->has_total && trace_info(trace)->has_segment_events;
    *out = (struct retry_stalls){ .times = 0 };
    enum err e = is_recorded ? read_recorded(trace, out, err) : ERR_OK;
    if (e == ERR_OK)
        e = read_replayed(&r, out, err);
    if (!is_recorded)
        out->times = out->replayed;
    if (e != ERR_OK || out->times == 0)
        return e;
    e = find_room(&r, out, err);
    return e == ERR_OK && out->replayed > 0 ? find_walls(&r, out, err) : e;
}

void retry_stalls_take_setting(struct retry_stalls *s, const struct tune *tune)
{
    if (tune->n_entries == 0 || !tune_recommends(tune))
        return;
    const uint64_t time_ns = tune->entries[tune->winner].trial.device_time_ns;
    s->with_setting_ns = beyond_room(s, time_ns);
    s->has_setting = takes_away(s, time_ns);
}
