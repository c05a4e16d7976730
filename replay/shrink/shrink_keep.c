/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Runs the calls on a lane of each policy that the property is about. */
#include "replay/shrink/shrink_keep.h"

#include "base/nearest.h"
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

static enum err unknown_keep(const char *text, struct err_detail *err)
{
    enum { SLIPS_MAX = 2 };
    static const char *const names[] = { "refused", "peak>=", "differs:" };
    struct nearest nearest = { .typed = text, .n_typed = strlen(text) };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        nearest_offer(&nearest, names[i], strlen(names[i]));
    if (nearest.distance <= SLIPS_MAX)
        return err_set(err, ERR_USAGE, 0, "--keep '%s': did you mean '%s'?", text, nearest.name);
    return err_set(err, ERR_USAGE, 0, "--keep '%s': expected refused, 'peak>=SIZE' or differs:POLICY", text);
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
    if (text == NULL)
        return err_set(err, ERR_USAGE, 0, "shrink needs what to keep: --keep refused, --keep 'peak>=SIZE' or --keep "
                       "differs:POLICY");
    return unknown_keep(text, err);
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
        lane_feed(&lane, calls, n, 0, trace_controls(r->trace));
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

/* ---- the story of a refusal ---- */

/* As why has them: less than one part in 32 that is free and of no use is not fragmentation, and up to a quarter it
 * counts how soon live memory would fill it; half of the card is the one request. */
enum { SCRAP_SHARE = 32, PIECES_SHARE = 4 };

static enum card_share share_of(uint64_t bytes, uint64_t usable)
{
    return bytes > usable                  ? SHARE_BEYOND
           : bytes >= usable - usable / 2  ? SHARE_HALF
           : bytes >= usable / PIECES_SHARE ? SHARE_BELOW_HALF
                                            : SHARE_BELOW_QUARTER;
}

static enum card_share pieces_of(uint64_t bytes, uint64_t usable)
{
    return bytes < usable / SCRAP_SHARE ? SHARE_SCRAP : share_of(bytes, usable) > SHARE_BELOW_QUARTER
               ? SHARE_BELOW_HALF : SHARE_BELOW_QUARTER;
}

uint64_t keep_usable(const struct device_config *d)
{
    const uint64_t taken = add_capped(d->context_bytes, d->others_bytes);
    return d->total_bytes > taken ? d->total_bytes - taken : 0;
}

/* The request after `n` calls is refused. */
static enum err story_of(const struct keep_runner *r, const struct event *calls, size_t n, struct refusal_story *out,
                         struct err_detail *err)
{
    const uint64_t usable = keep_usable(&r->device->config), asked = calls[n].bytes;
    uint64_t *held = calloc((size_t)trace_info(r->trace)->peak_live + 1, sizeof *held);
    uint64_t live = 0, largest = 0, before = 0;
    if (held == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const struct event *c = &calls[i];
        const bool is_alloc = c->kind == EVENT_ALLOC;
        if (!is_alloc && c->kind != EVENT_FREE && c->kind != EVENT_FREE_REQUESTED)
            continue;
        held[c->slot] = is_alloc ? c->bytes : 0;
        live = is_alloc ? live + c->bytes : live - c->bytes;
        before = is_alloc && c->bytes > before ? c->bytes : before;
    }
    for (size_t slot = 0; slot <= trace_info(r->trace)->peak_live; slot++)
        largest = held[slot] > largest ? held[slot] : largest;
    free(held);
    const bool would_fit = add_capped(live, asked) <= usable, is_half = share_of(asked, usable) == SHARE_HALF;
    *out = (struct refusal_story){ .asked = share_of(asked, usable), .largest = share_of(largest, usable),
                                   .in_pieces = would_fit ? pieces_of(usable - live, usable) : SHARE_SCRAP,
                                   .would_fit = would_fit,
                                   .is_one_tensor = asked > usable || (is_half && asked / 2 >= before) };
    return ERR_OK;
}

static bool is_same_story(const struct keep *k, const struct refusal_story *is)
{
    const struct refusal_story *was = &k->story;
    const bool is_full = was->in_pieces == SHARE_SCRAP, fits_alike = is->would_fit == was->would_fit;
    if (is->is_one_tensor != was->is_one_tensor || (!fits_alike && !is_full))
        return false;
    return k->is_fragmented ? is->in_pieces >= was->in_pieces
                            : is->in_pieces == was->in_pieces && is->asked <= was->asked &&
                                  is->largest <= was->largest;
}

bool keep_may_have(const struct keep_runner *r, uint64_t bytes)
{
    const struct keep *k = r->keep;
    const enum card_share largest = k->story.asked > k->story.largest ? k->story.asked : k->story.largest;
    return k->kind != KEEP_REFUSED || k->is_fragmented || share_of(bytes, keep_usable(&r->device->config)) <= largest;
}

/* ---- the others ---- */

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

static bool is_refused_apart(struct keep *k, const struct ran *a, const struct ran *b, bool is_first)
{
    if (is_first)
        k->is_other_larger = b->is_refused;
    return a->is_refused != b->is_refused && b->is_refused == k->is_other_larger;
}

static enum err judge_refusal(struct keep_runner *r, const struct event *calls, size_t n, const struct ran *a,
                              bool is_first, bool *holds, struct err_detail *err)
{
    struct refusal_story story;
    *holds = false;
    if (!a->is_refused || a->stopped_at >= n)
        return ERR_OK;
    const enum err e = story_of(r, calls, a->stopped_at, &story, err);
    if (e == ERR_OK && is_first)
        r->keep->story = story;
    *holds = e == ERR_OK && (r->keep->kind == KEEP_REFUSED_ANYHOW || is_same_story(r->keep, &story));
    return e;
}

static bool judge_peaks(struct keep *k, const struct ran *a, const struct ran *b, bool is_first)
{
    switch (k->kind) {
    case KEEP_PEAK:    return a->peak_bytes >= k->bytes;
    case KEEP_DIFFERS: return differs(k, a, b, is_first);
    case KEEP_APART:   return a->is_refused != b->is_refused || (!a->is_refused && a->peak_bytes != b->peak_bytes);
    case KEEP_REFUSED_APART: return is_refused_apart(k, a, b, is_first);
    default:           return false;
    }
}

static bool is_of_refusal(const struct keep *k)
{
    return k->kind == KEEP_REFUSED || k->kind == KEEP_REFUSED_ANYHOW;
}

static bool has_two(const struct keep *k)
{
    return k->kind == KEEP_DIFFERS || k->kind == KEEP_APART || k->kind == KEEP_REFUSED_APART;
}

enum err keep_holds(struct keep_runner *r, const struct event *calls, size_t n, bool is_first, bool *holds,
                    struct err_detail *err)
{
    struct ran a, b = { .peak_at = 0 };
    const uint64_t live = live_peak(calls, n);
    if (is_first)
        r->keep->live_bytes = live;
    *holds = false;
    if (live > r->keep->live_bytes)
        return ERR_OK;
    enum err e = run(r, r->spec, calls, n, &a, err);
    if (e == ERR_OK && has_two(r->keep))
        e = run(r, &r->keep->other, calls, n, &b, err);
    if (e == ERR_OK && is_of_refusal(r->keep))
        e = judge_refusal(r, calls, n, &a, is_first, holds, err);
    else if (e == ERR_OK)
        *holds = judge_peaks(r->keep, &a, &b, is_first);
    if (e != ERR_OK)
        return e;
    const size_t last_a = a.is_refused ? a.stopped_at + 1 : a.peak_at;
    const size_t last_b = b.is_refused ? b.stopped_at + 1 : b.peak_at;
    r->end = last_a > last_b ? last_a : last_b;
    r->end = r->end > n ? n : r->end;
    r->peak_bytes = a.peak_bytes;
    r->other_bytes = b.peak_bytes;
    r->is_refused = a.is_refused;
    r->is_other_refused = b.is_refused;
    return ERR_OK;
}
