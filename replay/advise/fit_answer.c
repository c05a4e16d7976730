/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* For each policy the smallest card; then all on one card, where they compare. fit_text.c tells it. */
#include "replay/advise/fit_answer.h"

#include "replay/recording/recorded_platform.h"
#include "replay/recording/recorded_release.h"
#include "replay/recording/recorded_settings.h"

#include <stdlib.h>

/* Of a recording of XLA's requests all that people choose from; nothing tells what was chosen. */
static void choose_own(struct fit_request *asked, const struct trace_reader *trace)
{
    if (asked->n_policies == 0 && recorded_from_xla(trace))
        asked->policies = recorded_choices(trace, &asked->n_policies);
}

/* The policies that were typed, or else the recorded settings. */
static enum err parse_policies(struct fit_answer *s, struct err_detail *err)
{
    const struct fit_request *asked = &s->asked;
    choose_own(&s->asked, s->trace);
    const size_t n = asked->n_policies > 0 ? asked->n_policies : 1;
    s->specs = calloc(n, sizeof *s->specs);
    s->fits = calloc(n, sizeof *s->fits);
    s->filled = calloc(n, sizeof *s->filled);
    if (s->specs == NULL || s->fits == NULL || s->filled == NULL)
        return err_no_memory(err);
    const char *release;
    enum err e = recorded_release(s->trace, &release, err);
    while (s->n < n && e == ERR_OK) {
        e = asked->n_policies > 0 ? policy_spec_parse(asked->policies[s->n], &s->specs[s->n], err)
                              : recorded_policy(s->trace, &s->specs[s->n], err);
        if (e == ERR_OK)
            recorded_take_release(release, &s->specs[s->n++]);
    }
    return e;
}

/* Chooses the card. One that nobody named only stands for "large enough": no context is taken off it, so that the
 * smallest card is the program's alone. The named cards that are tried later hold theirs all the same. */
static enum err choose_card(struct fit_answer *s, struct err_detail *err)
{
    struct device_choice *d = &s->device;
    const enum err e = device_choose_for_advice(s->asked.device, s->trace, s->asked.system, d, err);
    if (e == ERR_OK && !d->has_total && d->context_source != NULL) {
        d->config.context_bytes = 0;
        d->context_source = NULL;
    }
    return e;
}

/* The smallest cards for the recording whose cut step is filled in. */
static enum err fill_cut_step(struct fit_answer *s, const struct replay_config *cfg, struct err_detail *err)
{
    struct trace_reader *filled;
    enum err e = filled_step_open(s->trace, &s->coverage, &filled, err);
    for (size_t i = 0; i < s->n && e == ERR_OK && filled != NULL; i++) {
        struct fit fit;
        const uint64_t live = trace_info(filled)->peak_requested_bytes;
        e = fit_find_smallest(filled, &s->specs[i], &s->device, live, cfg, &fit, err);
        s->filled[i] = (struct filled_step){ .is_known = true, .live_bytes = live,
                                             .smallest_bytes = e == ERR_OK ? fit.smallest_bytes : 0 };
    }
    trace_close(filled);
    return e;
}

/* The card on which policies compare, as in a sweep: the one given, or else the smallest named card on which any of
 * them runs. *name: NULL if it has none. */
struct device_config fit_deciding_card(const struct fit_answer *s, const char **name)
{
    struct device_config card = s->device.config;
    const struct fit *least = NULL;
    *name = NULL;
    if (s->device.has_total)
        return card;
    for (size_t i = 0; i < s->n; i++)
        if (s->fits[i].card != NULL && (least == NULL || s->fits[i].card->total_bytes < least->card->total_bytes))
            least = &s->fits[i];
    card.total_bytes = least != NULL ? least->card->total_bytes : DEVICE_UNLIMITED;
    card.context_bytes = least != NULL ? least->card_context_bytes : card.context_bytes;
    *name = least != NULL ? least->card->name : NULL;
    return card;
}

static struct contender contender_of(const struct fit_answer *s, const struct policy_spec *spec,
                                     const struct trial *there)
{
    const char *source = trace_meta(s->trace, "source");
    struct contender c = {
        .setting = { .is_default = policy_spec_is_default(spec), .n_changed = policy_spec_changes(spec),
                     .typed = spec->typed },
        .label   = spec->typed,
        .is_ok   = there->fits,
        .is_oom  = !there->fits,
        .bytes   = there->card_peak_bytes,
        .card_bytes = there->device.total_bytes,
        .time_ns = there->device_time_ns,
        .calls   = there->device_calls,
    };
    simplicity_take_own(&c.setting, spec->typed, source != NULL ? source : "");
    return c;
}

/* The policy of the smallest card; WINNER_NONE: none has one. */
static size_t least_of(const struct fit_answer *s)
{
    size_t least = WINNER_NONE;
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t bytes = s->fits[i].smallest_bytes;
        if (bytes > 0 && (least == WINNER_NONE || bytes < s->fits[least].smallest_bytes))
            least = i;
    }
    return least;
}

/* Runs all on the deciding card, and finds who wins. If none runs there, it is the one that needs least. */
static enum err judge(struct fit_answer *s, const struct replay_config *cfg, struct err_detail *err)
{
    struct trial *there = calloc(s->n, sizeof *there);
    const struct device_config card = fit_deciding_card(s, &s->card_name);
    s->contenders = calloc(s->n, sizeof *s->contenders);
    enum err e = there != NULL && s->contenders != NULL ? ERR_OK : err_no_memory(err);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++)
        there[i] = (struct trial){ .spec = &s->specs[i], .device = card };
    if (e == ERR_OK)
        e = trials_run(s->trace, s->device.ops, there, s->n, cfg, err);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++)
        s->contenders[i] = contender_of(s, &s->specs[i], &there[i]);
    if (e == ERR_OK)
        s->best = winner_of(s->contenders, s->n, s->asked.price_bytes_per_ms, &s->n_alike);
    if (e == ERR_OK && s->best == WINNER_NONE)
        s->best = least_of(s);
    free(there);
    return e;
}

static enum err find_all(struct fit_answer *s, const struct replay_config *cfg, struct err_detail *err)
{
    struct replay_config caught = *cfg;
    enum err e = coverage_read(s->trace, &s->coverage, err);
    caught.caught_before = s->coverage.caught_before;
    if (e == ERR_OK)
        e = first_step_read(s->trace, &s->coverage, &s->first, err);
    if (e == ERR_OK)
        e = growth_warn(s->trace, &s->coverage, &s->leak, err);
    if (e == ERR_OK)
        e = bounds_find(s->trace, s->coverage.caught_before, true, &s->bounds, err);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++)
        e = fit_find(s->trace, &s->specs[i], &s->device, s->bounds.live_bytes, &caught, &s->fits[i], err);
    if (e == ERR_OK)
        e = fill_cut_step(s, &caught, err);
    return e == ERR_OK ? judge(s, &caught, err) : e;
}

enum err fit_answer_find(struct trace_reader *trace, const struct fit_request *asked, const struct replay_config *cfg,
                         struct fit_answer *out, struct err_detail *err)
{
    *out = (struct fit_answer){ .asked = *asked, .trace = trace };
    enum err e = parse_policies(out, err);
    if (e == ERR_OK)
        e = choose_card(out, err);
    return e == ERR_OK ? find_all(out, cfg, err) : e;
}

bool fit_is_lower_bound(const struct fit_answer *s)
{
    return s->first.is_cut || coverage_is_lower_bound(&s->coverage);
}

void fit_answer_close(struct fit_answer *s)
{
    for (size_t i = 0; i < s->n; i++)
        policy_spec_close(&s->specs[i]);
    free(s->specs);
    free(s->fits);
    free(s->filled);
    free(s->contenders);
    *s = (struct fit_answer){ .n = 0 };
}
