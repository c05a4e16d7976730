/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Runs the calls on a lane of each policy that the property is about. */
#include "replay/shrink/shrink_keep.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { OPEN_WORK = 2000 };           /* what opening a lane costs, in events */

static bool take_prefix(const char **text, const char *prefix)
{
    const size_t n = strlen(prefix);
    const bool has = strncmp(*text, prefix, n) == 0;
    *text += has ? n : 0;
    return has;
}

enum err keep_parse(const char *text, struct keep *out, struct err_detail *err)
{
    *out = (struct keep){ .kind = KEEP_REFUSED };
    if (text != NULL && strcmp(text, "refused") == 0)
        return ERR_OK;
    if (text != NULL && take_prefix(&text, "peak>=")) {
        out->kind = KEEP_PEAK;
        if (units_parse_bytes(text, strlen(text), &out->bytes) && out->bytes > 0)
            return ERR_OK;
        return err_set(err, ERR_USAGE, 0, "--keep 'peak>=%s': expected a size, such as 2GiB", text);
    }
    if (text != NULL && take_prefix(&text, "differs:")) {
        out->kind = KEEP_DIFFERS;
        return policy_spec_parse(text, &out->other, err);
    }
    return err_set(err, ERR_USAGE, 0, "shrink needs what to keep: --keep refused, --keep 'peak>=SIZE' or --keep "
                   "differs:POLICY");
}

void keep_close(struct keep *k)
{
    policy_spec_close(&k->other);
}

/* What a lane did. */
struct ran {
    bool     is_refused;
    size_t   stopped_at, peak_at;    /* calls before */
    uint64_t peak_bytes, refused_bytes;
};

static enum err run(struct keep_runner *r, const struct policy_spec *spec, const struct event *calls, size_t n,
                    struct ran *out, struct err_detail *err)
{
    const struct replay_config cfg = { .threads = 1 };
    struct lane lane = { .spec = NULL };
    enum err e = lane_open(spec, r->device->ops, &r->device->config, r->trace, 0, &lane, err);
    if (e == ERR_OK)
        e = lane_start(&lane, r->trace, &cfg, err);
    if (e == ERR_OK) {
        lane_feed(&lane, calls, n, 0, NULL);
        lane_finish(&lane, n > 0 ? calls[n - 1].time_ns : 0);
        e = lane_failure(&lane, err);
        *out = (struct ran){ .is_refused = lane.outcome == ERR_DEVICE_OOM, .peak_bytes = lane.meter.peak.reserved,
                             .stopped_at = lane.is_stopped && lane.stopped_at >= 0 ? (size_t)lane.stopped_at : n,
                             .peak_at = (size_t)lane.meter.at_peak_sample.event };
    }
    lane_close(&lane);
    r->work += n + OPEN_WORK + trace_info(r->trace)->peak_live / 8;
    return e;
}

/* Whether what is live after `n` calls would fit the card with the call that follows. */
static bool would_fit(const struct keep_runner *r, const struct event *calls, size_t n)
{
    const struct device_config *d = &r->device->config;
    uint64_t live = calls[n].bytes;
    for (size_t i = 0; i < n; i++) {
        live += calls[i].kind == EVENT_ALLOC ? calls[i].bytes : 0;
        live -= calls[i].kind == EVENT_FREE || calls[i].kind == EVENT_FREE_REQUESTED ? calls[i].bytes : 0;
    }
    return add_capped(live, add_capped(d->context_bytes, d->others_bytes)) <= d->total_bytes;
}

static uint64_t live_peak(const struct event *calls, size_t n)
{
    uint64_t live = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        live += calls[i].kind == EVENT_ALLOC ? calls[i].bytes : 0;
        live -= calls[i].kind == EVENT_FREE || calls[i].kind == EVENT_FREE_REQUESTED ? calls[i].bytes : 0;
        most = live > most ? live : most;
    }
    return most;
}

static bool differs(struct keep *k, const struct ran *a, const struct ran *b, bool is_first)
{
    const bool is_larger = b->peak_bytes > a->peak_bytes;
    const double more = (double)(is_larger ? b->peak_bytes : a->peak_bytes);
    const double less = (double)(is_larger ? a->peak_bytes : b->peak_bytes);
    const double difference = more > 0 ? (more - less) / more : 0;
    if (is_first) {
        k->is_other_larger = is_larger;
        k->difference = difference;
    }
    return more > less && is_larger == k->is_other_larger && difference >= k->difference;
}

static bool judge(struct keep_runner *r, const struct event *calls, size_t n, const struct ran *a, const struct ran *b,
                  bool is_first)
{
    struct keep *k = r->keep;
    const uint64_t live = live_peak(calls, n);
    k->live_bytes = is_first ? live : k->live_bytes;
    if (live > k->live_bytes)
        return false;
    if (k->kind == KEEP_PEAK)
        return a->peak_bytes >= k->bytes;
    if (k->kind == KEEP_DIFFERS)
        return differs(k, a, b, is_first);
    if (!a->is_refused || a->stopped_at >= n)
        return false;
    const bool fits = would_fit(r, calls, a->stopped_at);
    k->is_fragmented = is_first ? fits : k->is_fragmented;
    return fits == k->is_fragmented;
}

enum err keep_holds(struct keep_runner *r, const struct event *calls, size_t n, bool is_first, bool *holds,
                    struct err_detail *err)
{
    struct ran a, b = { .peak_at = 0 };
    enum err e = run(r, r->spec, calls, n, &a, err);
    if (e == ERR_OK && r->keep->kind == KEEP_DIFFERS)
        e = run(r, &r->keep->other, calls, n, &b, err);
    if (e != ERR_OK)
        return e;
    *holds = judge(r, calls, n, &a, &b, is_first);
    const size_t last = a.peak_at > b.peak_at ? a.peak_at : b.peak_at;
    r->end = r->keep->kind == KEEP_REFUSED ? a.stopped_at + 1 : last;
    r->end = r->end > n ? n : r->end;
    r->peak_bytes = a.peak_bytes;
    r->other_bytes = b.peak_bytes;
    return ERR_OK;
}
