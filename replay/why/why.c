/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Facts first, then which verdicts they support; the first that holds is told. */
#include "replay/why/why.h"

#include "base/units.h"
#include "replay/recording/recorded_settings.h"
#include "report/rows/winner.h"
#include "sim/card_context.h"

#include <stdio.h>
#include <string.h>

/* ---- facts ---- */

static void take_refusal(struct why *w, const struct holdings *live)
{
    const struct trial *t = &w->tune.baseline.trial;
    w->has_refusal = w->coverage.refusals > 0 || !t->fits;
    w->usable = w->tune.usable_bytes;
    w->live = live->bytes;
    if (t->fits) {
        w->asked = w->coverage.refused_bytes;
        w->reserved = w->is_state ? w->recorded_reserved : t->peak_reserved_bytes;
        w->free = w->usable > w->reserved ? w->usable - w->reserved : 0;
    } else {
        w->asked = t->refused_bytes;
        w->reserved = t->refused_reserved_bytes;
        w->free = t->refused_free_bytes;
    }
    const uint64_t need = add_capped(w->live, w->asked);
    w->shortfall = w->has_refusal && need > w->usable ? need - w->usable : 0;
}

/* The card that a person named, less what the program could have of it when a request was refused. */
static uint64_t find_outside(const struct trace_reader *trace, const struct device_choice *device)
{
    const struct trace_info *info = trace_info(trace);
    const bool is_known = device->has_total && device->context_source != NULL && info->by_kind[EVENT_OOM] > 0 &&
                          info->capacity_bytes > 0 && info->capacity_bytes < device->config.total_bytes;
    return is_known ? device->config.total_bytes - info->capacity_bytes : OOM_TEXT_UNKNOWN;
}

/* What the last whole step but one left behind, by line. */
static enum err read_leaks(struct why *w, struct trace_reader *trace, struct err_detail *why)
{
    const struct steps *s = &w->coverage.steps;
    struct holdings h;
    w->growth = s->growth_bytes;
    if (!steps_leak(s))
        return ERR_OK;
    enum err e = holdings_read(trace, MOMENT_EVENT, s->end, &h, why);
    if (e != ERR_OK)
        return e;
    size_t kept = 0;
    for (size_t i = 0; i < h.n; i++)
        if (h.at[i].born >= (int64_t)s->previous && h.at[i].born < (int64_t)s->first)
            h.at[kept++] = h.at[i];
    h.n = kept;
    e = holders_group(trace, &h, HOLDER_LINE, &w->leaks, why);
    holdings_close(&h);
    return e;
}

/* What was live when the request was refused, or at the peak. */
static enum err read_refusal(struct why *w, struct trace_reader *trace, struct holdings *h, struct err_detail *why)
{
    const struct trial *t = &w->tune.baseline.trial;
    const bool is_ours = !t->fits && t->stopped_at >= 0;
    enum err e = is_ours ? holdings_read(trace, MOMENT_EVENT, (uint64_t)t->stopped_at, h, why)
                         : holdings_read(trace, w->coverage.refusals > 0 ? MOMENT_REFUSAL : MOMENT_PEAK, 0, h, why);
    if (e != ERR_OK)
        return e;
    take_refusal(w, h);
    return trace_event_number(trace, is_ours ? t->stopped_at : (int64_t)h->moment - (w->coverage.refusals == 0),
                              &w->event, why);
}

/* On a smaller card than the recorded one the recording goes on after the refused request. If it then has more live at
 * once, and more than the card holds, that is what counts. */
static enum err read_later(struct why *w, struct trace_reader *trace, struct holdings *h, struct err_detail *why)
{
    const uint64_t peak = trace_info(trace)->peak_requested_bytes;
    if (w->tune.baseline.trial.fits || peak <= w->usable || peak <= add_capped(w->live, w->asked))
        return ERR_OK;
    holdings_close(h);
    const enum err e = holdings_read(trace, MOMENT_PEAK, 0, h, why);
    if (e != ERR_OK)
        return e;
    w->later_live = h->bytes;
    w->shortfall = h->bytes > w->usable ? h->bytes - w->usable : 0;
    return trace_event_number(trace, (int64_t)h->moment - 1, &w->later_event, why);
}

static enum err read_holders(struct why *w, struct trace_reader *trace, struct err_detail *why)
{
    struct holdings h = { .n = 0 };
    struct category_facts facts = { .named_bytes = 0 };
    enum err e = read_refusal(w, trace, &h, why);
    if (e == ERR_OK)
        e = read_later(w, trace, &h, why);
    if (e == ERR_OK)
        e = holders_group(trace, &h, w->is_by_size ? HOLDER_SIZE : HOLDER_LINE, &w->lines, why);
    if (e == ERR_OK)
        e = categories_find(trace, &h, &facts, why);
    if (e == ERR_OK)
        e = holders_group(trace, &h, HOLDER_CATEGORY, &w->categories, why);
    w->named_bytes = facts.named_bytes;
    holdings_close(&h);
    return e;
}

static void find_cure(struct why *w)
{
    const struct tune *t = &w->tune;
    const bool is_served = w->has_refusal && !t->baseline.trial.fits && t->n_entries > 0 &&
                           t->entries[t->winner].trial.fits;
    w->cure = !is_served                                                    ? CURE_NONE
              : coverage_has_whole_step(&w->coverage) && tune_recommends(t) ? CURE_RECOMMENDED
                                                                            : CURE_SERVES_REFUSED;
}

/* ---- the verdict ---- */

/* The recording goes on after the request that this card refuses,
 * so it is known that all of it would fit, unfragmented. */
bool why_is_incurable(const struct why *w)
{
    return w->cure == CURE_NONE && w->shortfall == 0 && !w->tune.baseline.trial.fits && w->tune.n_entries > 0 &&
           !coverage_is_lower_bound(&w->coverage);
}

static void judge(struct why *w)
{
    const bool others_matter = w->coverage.refusals > 0 && w->outside != OOM_TEXT_UNKNOWN &&
                               w->outside > CARD_CONTEXT_MOST_BYTES && w->tune.baseline.trial.fits &&
                               card_others_matter(w->outside - CARD_CONTEXT_MOST_BYTES, w->total);
    w->holds[VERDICT_NOT_IN_FORCE] = w->settings.lost[0] != '\0';
    w->holds[VERDICT_SOMEBODY_ELSE] = others_matter;
    w->holds[VERDICT_LEAK] = steps_leak(&w->coverage.steps);
    w->holds[VERDICT_FRAGMENTED] = w->has_refusal && w->shortfall == 0 &&
                                   (w->cure != CURE_NONE || why_is_incurable(w));
    w->holds[VERDICT_FULL] = w->has_refusal && w->shortfall > 0;
    w->holds[VERDICT_CACHE] = !w->has_refusal && !w->is_state;
    w->holds[VERDICT_RECORDING_ENDS] = w->is_state || coverage_is_lower_bound(&w->coverage);
    w->verdict = VERDICT_RECORDING_ENDS;
    for (int v = VERDICT_KINDS; v-- > 0;)
        if (w->holds[v])
            w->verdict = (enum verdict_kind)v;
}

enum err why_read(struct trace_reader *trace, bool is_state, const struct device_choice *device,
                  const struct replay_config *cfg, struct why *out, struct err_detail *why)
{
    const struct tune_request asked = { .price_bytes_per_ms = WINNER_PRICE_BYTES_PER_MS, .only_cure = true };
    *out = (struct why){ .event = -1, .is_state = is_state, .is_by_size = trace_info(trace)->n_stacks == 0,
                        .recorded_reserved = trace_info(trace)->recorded_end_reserved_bytes };
    enum err e = coverage_read(trace, &out->coverage, why);
    if (e == ERR_OK)
        e = tune_run(trace, device, &asked, cfg, &out->tune, why);
    if (e == ERR_OK)
        e = read_holders(out, trace, why);
    if (e == ERR_OK)
        e = read_leaks(out, trace, why);
    if (e != ERR_OK)
        return e;
    out->is_of_driver = recorded_from_driver(trace);
    out->outside = find_outside(trace, device);
    out->total = device->config.total_bytes;
    out->recorded_usable = trace_info(trace)->capacity_bytes;
    out->device = device->typed;
    out->is_card_named = device->has_total;
    out->context_bytes = device->config.context_bytes;
    out->context_source = device->context_source;
    if (!is_state && (out->has_refusal || device->has_total))
        device_say_context(device, out->context_sentence, sizeof out->context_sentence);
    settings_facts_read(trace, &out->tune.rules, &out->settings);
    find_cure(out);
    judge(out);
    return ERR_OK;
}

void why_close(struct why *w)
{
    holders_close(&w->lines);
    holders_close(&w->categories);
    holders_close(&w->leaks);
    tune_close(&w->tune);
}

const char *why_word(enum verdict_kind v)
{
    static const char *const words[VERDICT_KINDS] = { "not-in-force", "somebody-else", "leak", "fragmented", "full",
                                                      "cache", "recording-ends", "limited", "card-had-room",
                                                      "full-or-fragmented" };
    return words[v];
}
