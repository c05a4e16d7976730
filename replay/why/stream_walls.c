/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One walk over the events finds what waited; the walls are taken out of a longer trace. */
#include "replay/why/stream_walls.h"

#include "replay/recording/telling_lines.h"

#include <stdlib.h>

/* ---- what waited ---- */

struct late_pass {
    uint64_t  event;                 /* the refused request */
    uint64_t *born, *bytes;          /* by slot; bytes: 0 unless it waits */
    uint32_t  n_slots;
    uint64_t  waiting, most;
    uint64_t  most_at;               /* the event after which most wait */
    uint64_t  until;                 /* the walk ends after this event */
    uint16_t  asked_stream;
    bool      has_streams;
};

static void late_event(void *arg, const struct event *ev, uint64_t number)
{
    struct late_pass *p = arg;
    if (number == p->event)
        p->asked_stream = ev->stream;
    if (number >= p->event || number > p->until)
        return;
    p->has_streams = p->has_streams || ev->stream != 0;
    if (ev->kind == EVENT_ALLOC)
        p->born[ev->slot] = number;
    if (ev->kind == EVENT_FREE_REQUESTED) {
        p->bytes[ev->slot] = ev->bytes;
        p->waiting += ev->bytes;
    }
    if (ev->kind == EVENT_FREE_COMPLETED) {
        p->waiting -= p->bytes[ev->slot];
        p->bytes[ev->slot] = 0;
    }
    if (p->waiting > p->most) {
        p->most = p->waiting;
        p->most_at = number;
    }
}

/* The lines that requested what waits now. */
static enum err group_waiting(struct trace_reader *trace, const struct late_pass *p, struct holders *out,
                              struct err_detail *err)
{
    struct holdings h = { .at = calloc((size_t)p->n_slots + 1, sizeof *h.at) };
    uint64_t *born = calloc((size_t)p->n_slots + 1, sizeof *born);
    uint32_t *stacks = calloc((size_t)p->n_slots + 1, sizeof *stacks);
    enum err e = h.at == NULL || born == NULL || stacks == NULL ? err_no_memory(err) : ERR_OK;
    for (uint32_t slot = 0; e == ERR_OK && slot < p->n_slots; slot++)
        if (p->bytes[slot] > 0) {
            born[h.n] = p->born[slot];
            h.at[h.n++] = (struct holding){ .bytes = p->bytes[slot], .born = (int64_t)p->born[slot] };
        }
    if (e == ERR_OK)
        e = trace_stacks_at(trace, born, h.n, stacks, err);
    for (size_t i = 0; i < h.n && e == ERR_OK; i++)
        h.at[i].stack = stacks[i];
    if (e == ERR_OK && h.n > 0)
        e = telling_lines_group(trace, &h, out, err);
    free(h.at);
    free(born);
    free(stacks);
    return e;
}

/* Walks up to the moment at which most waited. */
static enum err read_waiting(struct trace_reader *trace, const struct late_pass *first, struct holders *out,
                             struct err_detail *err)
{
    struct late_pass p = { .event = first->event, .until = first->most_at, .n_slots = first->n_slots,
                           .born = first->born, .bytes = first->bytes };
    for (uint32_t slot = 0; slot < p.n_slots; slot++)
        p.bytes[slot] = 0;
    const enum err e = trace_each_event(trace, late_event, &p, err);
    return e == ERR_OK ? group_waiting(trace, &p, out, err) : e;
}

/* ---- what lies on other streams ---- */

static enum err read_elsewhere(struct trace_reader *trace, const struct tune *tune, const struct device_choice *device,
                               const struct late_pass *p, struct stream_walls *out, struct err_detail *err)
{
    const uint32_t n = trace_info(trace)->n_streams;
    struct stream_share *shares = calloc((size_t)n + 1, sizeof *shares);
    const enum err e = shares == NULL ? err_no_memory(err)
                       : stream_shares_find(trace, &tune->baseline.spec, device, p->event + 1,
                                            tune->coverage.caught_before, shares, err);
    for (uint32_t i = 0; i < n && e == ERR_OK; i++) {
        out->n_streams += shares[i].live_bytes > 0;
        out->elsewhere_bytes += i != p->asked_stream ? shares[i].pinned_bytes : 0;
    }
    free(shares);
    return e;
}

/* The lines that hold what is live on other streams. */
static enum err group_elsewhere(struct trace_reader *trace, const struct late_pass *p, struct holders *out,
                                struct err_detail *err)
{
    struct holdings h;
    enum err e = holdings_read(trace, MOMENT_EVENT, p->event, &h, err);
    size_t kept = 0;
    for (size_t i = 0; e == ERR_OK && i < h.n; i++)
        if (h.at[i].stream != p->asked_stream)
            h.at[kept++] = h.at[i];
    if (e != ERR_OK)
        return e;
    h.n = kept;
    if (kept > 0)
        e = telling_lines_group(trace, &h, out, err);
    holdings_close(&h);
    return e;
}

/* ---- without the walls ---- */

struct without {
    struct trace_reader *longer;
    const struct tune   *tune;
    const struct device_choice *device;
    struct replay_config cfg;
};

struct rewrite walls_out(enum walls_kind kind)
{
    return (struct rewrite){ .rounds = 1, .events = UINT64_MAX, .folds_streams = kind != WALLS_LATE_USES,
                             .ends_uses = kind != WALLS_STREAMS };
}

/* Whether all requests are served under the recorded settings if walls of `kind` are out. */
static enum err try_without(const struct without *w, enum walls_kind kind, struct stream_walls *out,
                            struct err_detail *err)
{
    struct rewrite how = walls_out(kind);
    struct trial trial = { .spec = &w->tune->baseline.spec, .device = w->device->config };
    how.caught_before = w->cfg.caught_before;
    const enum err e = trial_run_rewritten(w->longer, &how, w->device->ops, &trial,
                                           &(struct replay_config){ .threads = w->cfg.threads }, err);
    if (e == ERR_OK && trial.fits) {
        out->kind = kind;
        out->peak_bytes = trial.peak_reserved_bytes;
    }
    return e;
}

/* Each wall that counts alone, the one that holds more first, then both. */
static enum err try_walls(const struct without *w, struct stream_walls *out, struct err_detail *err)
{
    const uint64_t least = w->tune->usable_bytes / WALLS_SHARE;
    const bool is_late_first = out->late_bytes > out->elsewhere_bytes;
    const enum walls_kind kinds[] = { is_late_first ? WALLS_LATE_USES : WALLS_STREAMS,
                                      is_late_first ? WALLS_STREAMS : WALLS_LATE_USES, WALLS_BOTH };
    enum err e = ERR_OK;
    for (size_t i = 0; i < 3 && e == ERR_OK && out->kind == WALLS_NONE; i++) {
        const bool has_streams = kinds[i] != WALLS_LATE_USES && out->elsewhere_bytes >= least;
        const bool has_late = kinds[i] != WALLS_STREAMS && out->late_bytes >= least;
        if (kinds[i] == WALLS_BOTH ? has_streams && has_late : has_streams || has_late)
            e = try_without(w, kinds[i], out, err);
    }
    return e;
}

static enum err find_without(struct trace_reader *trace, const struct tune *tune, const struct device_choice *device,
                             uint64_t event, const struct replay_config *cfg, struct stream_walls *out,
                             struct err_detail *err)
{
    struct without w = { .longer = trace, .tune = tune, .device = device, .cfg = *cfg };
    struct pattern pattern;
    enum err e = pattern_find(trace, &tune->coverage, event, &pattern, err);
    if (e == ERR_OK && pattern.turns > 0) {
        w.cfg.caught_before = 0;                 /* the longer trace has flushes in their place */
        e = trace_continue(trace, &pattern.how, NULL, &w.longer, err);
    }
    if (e == ERR_OK && pattern.turns > 0)
        e = try_walls(&w, out, err);
    if (w.longer != trace)
        trace_close(w.longer);
    out->lasts = out->kind != WALLS_NONE;
    w.longer = trace;
    w.cfg.caught_before = tune->coverage.caught_before;
    return e == ERR_OK && !out->lasts ? try_walls(&w, out, err) : e;
}

/* ---- all of it ---- */

static enum err find_walls(struct trace_reader *trace, const struct tune *tune, const struct device_choice *device,
                           struct late_pass *p, const struct replay_config *cfg, struct stream_walls *out,
                           struct err_detail *err)
{
    const uint64_t least = tune->usable_bytes / WALLS_SHARE;
    enum err e = trace_each_event(trace, late_event, p, err);
    out->late_bytes = p->most;
    if (e == ERR_OK && p->has_streams)
        e = read_elsewhere(trace, tune, device, p, out, err);
    if (e != ERR_OK || (out->elsewhere_bytes < least && out->late_bytes < least))
        return e;
    e = find_without(trace, tune, device, p->event, cfg, out, err);
    if (e != ERR_OK || out->kind == WALLS_NONE)
        return e;
    return out->kind == WALLS_LATE_USES ? read_waiting(trace, p, &out->lines, err)
                                        : group_elsewhere(trace, p, &out->lines, err);
}

enum err stream_walls_find(struct trace_reader *trace, const struct tune *tune, const struct device_choice *device,
                           uint64_t event, const struct replay_config *cfg, struct stream_walls *out,
                           struct err_detail *err)
{
    struct late_pass p = { .event = event, .until = UINT64_MAX, .n_slots = trace_info(trace)->peak_live };
    *out = (struct stream_walls){ .kind = WALLS_NONE };
    if (trace_info(trace)->n_streams < 2 && trace_info(trace)->by_kind[EVENT_FREE_REQUESTED] == 0)
        return ERR_OK;
    p.born = calloc((size_t)p.n_slots + 1, sizeof *p.born);
    p.bytes = calloc((size_t)p.n_slots + 1, sizeof *p.bytes);
    for (uint32_t slot = 0; p.born != NULL && slot < p.n_slots; slot++)
        p.born[slot] = TRACE_NO_EVENT;           /* what was there before the recording has no request in it */
    const enum err e = p.born == NULL || p.bytes == NULL ? err_no_memory(err)
                                                         : find_walls(trace, tune, device, &p, cfg, out, err);
    free(p.born);
    free(p.bytes);
    return e;
}

void stream_walls_close(struct stream_walls *w)
{
    holders_close(&w->lines);
}

struct waiting_pass {
    size_t n;                        /* freed and not free yet, when something was requested */
    size_t waiting;                  /* now */
};

static void waiting_event(void *arg, const struct event *ev, uint64_t number)
{
    struct waiting_pass *p = arg;
    (void)number;
    p->waiting += ev->kind == EVENT_FREE_REQUESTED;
    p->waiting -= ev->kind == EVENT_FREE_COMPLETED && p->waiting > 0;
    if (ev->kind == EVENT_ALLOC)
        p->n += p->waiting;
}

enum err late_uses_find(struct trace_reader *trace, bool *has_late, struct err_detail *err)
{
    struct waiting_pass p = { .n = 0 };
    const bool is_there = trace_info(trace)->by_kind[EVENT_FREE_REQUESTED] > 0;
    const enum err e = is_there ? trace_each_event(trace, waiting_event, &p, err) : ERR_OK;
    *has_late = p.n > 0;
    return e;
}

const char *walls_word(enum walls_kind kind)
{
    static const char *const words[] = { NULL, "streams", "late-uses", "both" };
    return words[kind];
}
