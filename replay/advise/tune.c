/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The search, smallest cards of the finalists, the proof on changed copies, and the look at holes. */
#include "replay/advise/tune.h"

#include "base/units.h"
#include "replay/trials/altered_trace.h"
#include "replay/advise/filled_step.h"
#include "replay/recording/recorded_platform.h"
#include "replay/recording/recorded_settings.h"
#include "report/rows/winner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TUNE_AROUND = 3, TUNE_ROUNDS = 4, TUNE_EVER = 64 };

struct tuner {
    struct trace_reader        *trace;
    const struct device_choice *device;
    const struct replay_config *cfg;
    struct settings_space       space;
    struct settings_set         tried;           /* all points so far; the entries' are the first ones of it */
    struct tune                *t;
};

/* ---- order ---- */

int trial_compare(const struct trial *a, const struct trial *b, uint64_t price_bytes_per_ms)
{
    if (a->fits != b->fits)
        return a->fits ? -1 : 1;
    if (!a->fits && a->stopped_at != b->stopped_at)
        return a->stopped_at > b->stopped_at ? -1 : 1;
    const uint64_t x = winner_score(a->card_peak_bytes, a->device_time_ns, price_bytes_per_ms);
    const uint64_t y = winner_score(b->card_peak_bytes, b->device_time_ns, price_bytes_per_ms);
    return x < y ? -1 : x > y;
}

static struct simplicity simplicity_of(const struct tune_entry *entry)
{
    const unsigned n = settings_count(&entry->settings);
    return (struct simplicity){ .is_default = n == 0, .n_changed = n, .typed = entry->spec.typed };
}

static int compare_entries(const void *a, const void *b)
{
    const struct tune_entry *x = a, *y = b;
    assert(x->price_bytes_per_ms == y->price_bytes_per_ms);
    const int by_trial = trial_compare(&x->trial, &y->trial, x->price_bytes_per_ms);
    const struct simplicity p = simplicity_of(x), q = simplicity_of(y);
    return by_trial != 0 ? by_trial : winner_compare_simplicity(&p, &q);
}

/* ---- trying ---- */

static enum err entry_open(struct tune_entry *entry, const struct settings *s, const struct tuner *r,
                           struct err_detail *err)
{
    char text[SETTINGS_TEXT];
    *entry = (struct tune_entry){ .settings = *s, .price_bytes_per_ms = r->t->price_bytes_per_ms };
    return policy_spec_parse(settings_text(s, &r->t->rules, true, text), &entry->spec, err);
}

/* Runs entries, each on the tuner's card. */
static enum err entries_run(const struct tuner *r, struct trace_reader *trace, struct tune_entry *entries, size_t n,
                            struct err_detail *err)
{
    struct trial *trials = calloc(n + 1, sizeof *trials);
    if (trials == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++)
        trials[i] = (struct trial){ .spec = &entries[i].spec, .device = r->device->config };
    const enum err e = trials_run(trace, r->device->ops, trials, n, r->cfg, err);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        entries[i].trial = trials[i];
    free(trials);
    return e;
}

/* Tries what has been added to the set of points since the last time, and sorts. */
static enum err tuner_try_new(struct tuner *r, struct err_detail *err)
{
    struct tune *t = r->t;
    const size_t before = t->n_entries;
    struct tune_entry *grown = realloc(t->entries, (r->tried.n + 1) * sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    t->entries = grown;
    enum err e = ERR_OK;
    for (; t->n_entries < r->tried.n && e == ERR_OK; t->n_entries++)
        e = entry_open(&t->entries[t->n_entries], &r->tried.at[t->n_entries], r, err);
    if (e == ERR_OK)
        e = entries_run(r, r->trace, &t->entries[before], t->n_entries - before, err);
    if (e == ERR_OK)
        qsort(t->entries, t->n_entries, sizeof *t->entries, compare_entries);
    return e;
}

/* Tries neighbours of the best few until the best stay the same. Also takes each setting away once from each
 * candidate, so that no setting is recommended for nothing. */
static enum err tuner_refine(struct tuner *r, struct err_detail *err)
{
    enum err e = ERR_OK;
    size_t before = 0;
    for (int round = 0; round < TUNE_EVER && before < r->tried.n && e == ERR_OK; round++) {
        const size_t around = round < TUNE_ROUNDS ? TUNE_AROUND : 1;
        before = r->tried.n;
        for (size_t i = 0; i < around && i < r->t->n_entries && e == ERR_OK; i++)
            e = settings_add_neighbours(&r->space, &r->t->entries[i].settings, &r->tried, err);
        for (size_t i = 0; i < TUNE_BEST && i < r->t->n_entries && e == ERR_OK; i++)
            e = settings_add_simpler(&r->space, &r->t->entries[i].settings, &r->tried, err);
        if (e == ERR_OK)
            e = tuner_try_new(r, err);
    }
    return e;
}

/* ---- the recorded setting ---- */

/* Sets the release, even if another was recorded. */
static void spec_set_release(struct policy_spec *spec, const struct pytorch_rules *rules)
{
    for (size_t i = 0; i < spec->n_options; i++)
        if (strcmp(spec->ops->options[i].name, "version") == 0) {
            spec->values[i].is_set = true;
            spec->values[i].text = pytorch_rules_name(rules);
        }
}

static enum err tuner_run_baseline(struct tuner *r, struct err_detail *err)
{
    struct tune *t = r->t;
    struct err_detail refused;
    enum err e = recorded_policy(r->trace, &t->baseline.spec, &refused);
    t->is_baseline_recorded = e == ERR_OK && strcmp(t->baseline.spec.ops->name, "pytorch") == 0 &&
                              !recorded_from_driver(r->trace);
    if (t->is_baseline_recorded) {
        spec_set_release(&t->baseline.spec, &t->rules);
        e = entries_run(r, r->trace, &t->baseline, 1, &refused);
        t->is_baseline_recorded = e == ERR_OK;
    }
    if (e == ERR_HOST_NOMEM)
        return err_set(err, e, 0, "%s", refused.text);
    if (t->is_baseline_recorded)
        return ERR_OK;
    policy_spec_close(&t->baseline.spec);
    const struct settings defaults = { .gc_percent = 0 };
    e = entry_open(&t->baseline, &defaults, r, err);
    return e != ERR_OK ? e : entries_run(r, r->trace, &t->baseline, 1, err);
}

/* ---- finalists ---- */

static bool is_part_of_best(const struct tune *t, const struct settings *s)
{
    for (size_t i = 0; i < TUNE_BEST && i < t->n_entries; i++)
        if (settings_are_part(s, &t->entries[i].settings))
            return true;
    return false;
}

/* The best entries; and whatever their rank the defaults, each option alone, and the parts of the best. These depend
 * less on the trace's exact sizes, and nothing may be recommended that one of them does as well. */
static void tuner_name_finalists(const struct tuner *r)
{
    struct tune *t = r->t;
    for (size_t i = 0; i < t->n_entries && t->n_finalists < TUNE_FINALISTS; i++) {
        const struct tune_entry *entry = &t->entries[i];
        if (entry->trial.fits && (i < TUNE_BEST || settings_count(&entry->settings) <= 1 ||
                                  is_part_of_best(t, &entry->settings)))
            t->finalists[t->n_finalists++] = (struct tune_finalist){ .entry = i, .runs_filled = true };
    }
}

static const struct tune_finalist *baseline_of(const struct tune *t)
{
    return &t->finalists[t->n_finalists];
}

static enum err tuner_size(const struct tuner *r, const struct policy_spec *spec, struct tune_finalist *f,
                           struct err_detail *err)
{
    struct fit fit;
    const enum err e = fit_find_smallest(r->trace, spec, r->device, r->t->bounds.live_bytes, r->cfg, &fit, err);
    if (e != ERR_OK)
        return e;
    f->smallest_bytes = fit.smallest_bytes;
    f->time_ns = fit.trial.device_time_ns;
    return ERR_OK;
}

/* Finds the smallest cards of the baseline and of the finalists. */
static enum err tuner_size_finalists(const struct tuner *r, struct err_detail *err)
{
    struct tune *t = r->t;
    enum err e = tuner_size(r, &t->baseline.spec, &t->finalists[t->n_finalists], err);
    for (size_t i = 0; i < t->n_finalists && e == ERR_OK; i++)
        e = tuner_size(r, &t->entries[t->finalists[i].entry].spec, &t->finalists[i], err);
    return e;
}

/* ---- changed copies ---- */

/* Whether smallest cards tell a finalist from the baseline. */
static bool is_compared_tight(const struct tune *t, const struct tune_finalist *f)
{
    return t->baseline.trial.fits && f->smallest_bytes > 0 && baseline_of(t)->smallest_bytes > 0;
}

/* The card on which the two are compared on a copy, whose live data may be larger or smaller than the recording's. */
static struct device_config tight_device(const struct tuner *r, const struct tune_finalist *f,
                                         const struct trace_reader *copy)
{
    struct device_config device = r->device->config;
    const uint64_t taken = add_capped(device.context_bytes, device.others_bytes);
    const uint64_t now = f->smallest_bytes, was = baseline_of(r->t)->smallest_bytes;
    const uint64_t card = now < was ? now + (was - now) / 2 : now;
    const uint64_t requested = trace_info(r->trace)->peak_requested_bytes;
    const double share = requested == 0 ? 1 : (double)trace_info(copy)->peak_requested_bytes / (double)requested;
    device.total_bytes = (uint64_t)((double)(card - taken) * share) + taken;
    return device;
}

/* Which finalists are better than the baseline on a copy: each and the baseline on a card that is just large enough. */
static enum err tuner_compare_on(const struct tuner *r, struct trace_reader *changed, struct tune_copy *copy,
                                 struct err_detail *err)
{
    const struct tune *t = r->t;
    struct trial now[TUNE_FINALISTS], was[TUNE_FINALISTS];
    for (size_t i = 0; i < t->n_finalists; i++) {
        const struct tune_finalist *f = &t->finalists[i];
        const struct device_config device = is_compared_tight(t, f) ? tight_device(r, f, changed) : r->device->config;
        now[i] = (struct trial){ .spec = &t->entries[f->entry].spec, .device = device };
        was[i] = (struct trial){ .spec = &t->baseline.spec, .device = device };
    }
    enum err e = trials_run(changed, r->device->ops, now, t->n_finalists, r->cfg, err);
    if (e == ERR_OK)
        e = trials_run(changed, r->device->ops, was, t->n_finalists, r->cfg, err);
    for (size_t i = 0; i < t->n_finalists && e == ERR_OK; i++)
        copy->beats[i] = copy->trials[i].fits && now[i].fits &&
                         trial_compare(&now[i], &was[i], t->price_bytes_per_ms) < 0;
    return e;
}

/* The finalists, and last the baseline, on one copy. */
static enum err tuner_try_copy(const struct tuner *r, struct tune_copy *copy, struct err_detail *err)
{
    struct tune *t = r->t;
    const struct rewrite how = { .seed = copy->seed, .percent = TUNE_PERCENT, .rounds = copy->rounds,
                                 .events = UINT64_MAX, .caught_before = t->coverage.caught_before };
    const size_t n = t->n_finalists;
    struct trace_reader *changed = NULL;
    enum err e = trace_rewrite(r->trace, &how, &changed, err);
    for (size_t i = 0; i <= n; i++)
        copy->trials[i] = (struct trial){ .spec = i < n ? &t->entries[t->finalists[i].entry].spec : &t->baseline.spec,
                                          .device = r->device->config };
    if (e == ERR_OK)
        e = trials_run(changed, r->device->ops, copy->trials, n + 1, r->cfg, err);
    if (e == ERR_OK)
        e = tuner_compare_on(r, changed, copy, err);
    trace_close(changed);
    for (size_t i = 0; i <= n && e == ERR_OK; i++) {
        t->finalists[i].runs += copy->trials[i].fits;
        t->finalists[i].beats += i < n && copy->beats[i];
    }
    return e;
}

/* Half of the copies are the trace once, half twice in a row. A trace with controls (pools, captures) is not repeated,
 * because it would open the same pool twice. */
static enum err tuner_try_copies(const struct tuner *r, uint64_t seed, struct err_detail *err)
{
    struct tune *t = r->t;
    const bool is_repeatable = trace_info(r->trace)->n_controls == 0;
    enum err e = ERR_OK;
    for (; t->n_copies < TUNE_COPIES && e == ERR_OK; t->n_copies++) {
        struct tune_copy *copy = &t->copies[t->n_copies];
        *copy = (struct tune_copy){ .seed = seed + t->n_copies + 1,
                                    .rounds = is_repeatable && t->n_copies >= TUNE_COPIES / 2 ? 2 : 1 };
        e = tuner_try_copy(r, copy, err);
    }
    return e;
}

/* For how many turns the finalists last, if the recorded settings are refused a request. */
static enum err tuner_play_on(const struct tuner *r, struct err_detail *err)
{
    struct tune *t = r->t;
    struct trial trials[TUNE_FINALISTS];
    unsigned lasted[TUNE_FINALISTS];
    const bool is_partial = tune_is_lower_bound(t) || t->coverage.steps.whole > 0;
    if (t->baseline.trial.fits || t->baseline.trial.stopped_at < 0 || !is_partial)
        return ERR_OK;
    enum err e = pattern_find(r->trace, &t->coverage, (uint64_t)t->baseline.trial.stopped_at, &t->pattern, err);
    if (e != ERR_OK || t->pattern.turns == 0)
        return e;
    for (size_t i = 0; i < t->n_finalists; i++)
        trials[i] = (struct trial){ .spec = &t->entries[t->finalists[i].entry].spec, .device = r->device->config };
    e = pattern_play(r->trace, &t->pattern, trials, t->n_finalists, r->device->ops, r->cfg, lasted, err);
    for (size_t i = 0; i < t->n_finalists && e == ERR_OK; i++)
        t->finalists[i].lasted = lasted[i];
    return e;
}

/* ---- the winner ---- */

/* A finalist, or the baseline, as the rule sees it: by its run on the card that is asked about, as a sweep does. */
static struct contender contender_of(const struct tune *t, const struct tune_finalist *f)
{
    const bool is_baseline = f == baseline_of(t);
    const struct tune_entry *entry = is_baseline ? &t->baseline : &t->entries[f->entry];
    return (struct contender){
        .setting = is_baseline ? (struct simplicity){ .is_default = policy_spec_is_default(&entry->spec),
                                                      .typed = entry->spec.typed } : simplicity_of(entry),
        .label   = entry->spec.typed,
        .is_ok   = entry->trial.fits,
        .is_oom  = !entry->trial.fits,
        .bytes   = entry->trial.card_peak_bytes,
        .card_bytes = entry->trial.device.total_bytes,
        .time_ns = entry->trial.device_time_ns,
    };
}

static bool is_most(const struct tune *t, unsigned copies)
{
    return 2 * copies > t->n_copies;
}

static uint64_t score_of(const struct tune *t, const struct tune_finalist *f)
{
    const struct contender c = contender_of(t, f);
    return winner_score(c.bytes, c.time_ns, t->price_bytes_per_ms);
}

/* Whether it is better than the baseline: it runs the recording, or runs in more copies, or needs less. */
static bool finalist_gains(const struct tune *t, const struct tune_finalist *f)
{
    if (!t->baseline.trial.fits)
        return true;
    if (f->runs != baseline_of(t)->runs)
        return f->runs > baseline_of(t)->runs;
    return add_capped(score_of(t, f), t->least_gain_bytes) <= score_of(t, baseline_of(t));
}

static bool is_finalist_confirmed(const struct tune *t, const struct tune_finalist *f)
{
    return finalist_gains(t, f) && is_most(t, f->beats);
}

/* The cut step, the turns that are played on and the copies go first, because a setting that runs this recording but
 * not what follows, or one like it, fixes nothing, and the best of hundreds on one recording may owe that to its exact
 * sizes. So: the one that lasts longer, then runs in more copies, then one that most copies confirm, then one that
 * gains; of these the best by the rule (winner.h). */
static bool is_better_finalist(const struct tune *t, const struct tune_finalist *a, const struct tune_finalist *b)
{
    const bool is_a_confirmed = is_finalist_confirmed(t, a), is_b_confirmed = is_finalist_confirmed(t, b);
    if (a->runs_filled != b->runs_filled)
        return a->runs_filled;
    if (a->lasted != b->lasted)
        return a->lasted > b->lasted;
    if (a->runs != b->runs)
        return a->runs > b->runs;
    if (is_a_confirmed != is_b_confirmed)
        return is_a_confirmed;
    if (finalist_gains(t, a) != finalist_gains(t, b))
        return finalist_gains(t, a);
    const struct contender x = contender_of(t, a), y = contender_of(t, b);
    const int by_rule = winner_compare(&x, &y, t->price_bytes_per_ms);
    return by_rule != 0 ? by_rule < 0 : a->entry < b->entry;
}

bool tune_is_lower_bound(const struct tune *t)
{
    return t->first.is_cut || coverage_is_lower_bound(&t->coverage);
}

/* A recording that ends in a refusal tells what would have followed only if its steps reach over that place. */
static bool is_judged(const struct tune *t)
{
    const struct coverage *c = &t->coverage;
    if (!tune_is_lower_bound(t))
        return true;
    return !t->first.is_cut && coverage_has_whole_step(c) &&
           (c->ends != ENDS_REFUSED || t->filled.is_known || c->steps.reach_refusal);
}

bool tune_may_serve(const struct tune *t)
{
    return !t->first.is_cut || t->bounds.live_bytes / TUNE_FAR_THIRDS <= t->usable_bytes / 3;
}

static enum tune_advice advice_on(const struct tune *t, const struct tune_finalist *f)
{
    const bool gets_through = t->is_judged && f->runs_filled && f->lasted == t->pattern.turns;
    if (!finalist_gains(t, f) || (!gets_through && t->baseline.trial.fits))
        return TUNE_NOTHING;
    if (t->leak.n > 0 && !t->baseline.trial.fits)
        return TUNE_DELAYS_LEAK;
    if (!gets_through)
        return TUNE_SERVES_REFUSED;
    if (!t->baseline.trial.fits)
        return is_most(t, f->runs) ? TUNE_RECOMMENDED : TUNE_WITH_CAUTION;
    return is_finalist_confirmed(t, f) ? TUNE_RECOMMENDED : TUNE_HERE_ONLY;
}

const struct tune_finalist *tune_finalist_of(const struct tune *t, size_t entry)
{
    for (size_t i = 0; i < t->n_finalists; i++)
        if (t->finalists[i].entry == entry)
            return &t->finalists[i];
    return NULL;
}

bool tune_recommends(const struct tune *t)
{
    return t->advice == TUNE_RECOMMENDED || t->advice == TUNE_WITH_CAUTION;
}

static const struct settings *settings_of(const struct tune *t, const struct tune_finalist *f)
{
    return &t->entries[f->entry].settings;
}

/* Whether `a` needs no more than `b`, except for a gain that does not matter, on this card or of the smallest card:
 * giving cached memory back early lowers a peak, and not what is needed. Driver time counts as well, unless the
 * recorded settings are refused a request: then it is to run at all. */
static bool needs_no_more(const struct tune *t, const struct tune_finalist *a, const struct tune_finalist *b)
{
    const uint64_t price = t->baseline.trial.fits ? t->price_bytes_per_ms : 0, gain = t->least_gain_bytes;
    const struct trial *x = &t->entries[a->entry].trial, *y = &t->entries[b->entry].trial;
    const uint64_t here = winner_score(x->card_peak_bytes, x->device_time_ns, price);
    const uint64_t least = winner_score(a->smallest_bytes, a->time_ns, price);
    return here < add_capped(winner_score(y->card_peak_bytes, y->device_time_ns, price), gain) ||
           (a->smallest_bytes > 0 && least < add_capped(winner_score(b->smallest_bytes, b->time_ns, price), gain));
}

/* Whether `a` does as well as `b`. */
static bool is_as_good(const struct tune *t, const struct tune_finalist *a, const struct tune_finalist *b)
{
    return a->runs_filled >= b->runs_filled && a->lasted >= b->lasted && a->runs + TUNE_COPIES_SPARED >= b->runs &&
           is_most(t, a->runs) >= is_most(t, b->runs) && finalist_gains(t, a) &&
           is_finalist_confirmed(t, a) >= is_finalist_confirmed(t, b) && needs_no_more(t, a, b);
}

/* Of the finalists that do as well as the best, the one with the fewest settings; of several the best of them. */
static size_t find_simplest(const struct tune *t, size_t best)
{
    size_t found = best;
    for (size_t i = 0; i < t->n_finalists; i++) {
        const struct tune_finalist *f = &t->finalists[i], *so_far = &t->finalists[found];
        const unsigned n = settings_count(settings_of(t, f)), least = settings_count(settings_of(t, so_far));
        if (is_as_good(t, f, &t->finalists[best]) && (n < least || (n == least && is_better_finalist(t, f, so_far))))
            found = i;
    }
    return found;
}

/* Whether `fit` would be asked about it beside the winner: one option alone, or a part of the winner. */
static bool is_obvious(const struct tune *t, const struct tune_finalist *f, const struct tune_finalist *winner)
{
    return settings_count(settings_of(t, f)) <= 1 || settings_are_part(settings_of(t, f), settings_of(t, winner));
}

/* Whether another reason than its score keeps `a` from winning. */
static bool is_less_robust(const struct tune *t, const struct tune_finalist *a, const struct tune_finalist *winner)
{
    return a->runs_filled < winner->runs_filled || a->lasted < winner->lasted || a->runs < winner->runs ||
           is_finalist_confirmed(t, a) < is_finalist_confirmed(t, winner);
}

static size_t find_rival(const struct tune *t, size_t winner)
{
    size_t best = winner;
    for (size_t i = 0; i < t->n_finalists; i++) {
        const struct tune_finalist *f = &t->finalists[i], *w = &t->finalists[winner];
        if (is_obvious(t, f, w) && is_less_robust(t, f, w) && score_of(t, f) < score_of(t, &t->finalists[best]))
            best = i;
    }
    return best == winner ? SIZE_MAX : best;
}

/* What the copies say of the winner. */
static void judge_copies(struct tune *t, size_t winner)
{
    for (size_t c = 0; c < t->n_copies; c++) {
        struct tune_copy *copy = &t->copies[c];
        copy->runs = copy->wins = copy->trials[winner].fits;
        copy->beats_baseline = copy->beats[winner];
        for (size_t i = 0; i < t->n_finalists; i++)
            copy->wins = copy->wins && trial_compare(&copy->trials[winner], &copy->trials[i],
                                                     t->price_bytes_per_ms) <= 0;
    }
}

static void tuner_choose(const struct tuner *r)
{
    struct tune *t = r->t;
    size_t best = 0;
    for (size_t i = 1; i < t->n_finalists; i++)
        if (is_better_finalist(t, &t->finalists[i], &t->finalists[best]))
            best = i;
    best = find_simplest(t, best);
    t->winner = t->finalists[best].entry;
    t->filled.has_setting = t->filled.is_known && t->entries[0].trial.fits;
    t->filled.runs_with_setting = t->filled.is_known && t->finalists[best].runs_filled;
    t->advice = advice_on(t, &t->finalists[best]);
    t->rival = find_rival(t, best);
    judge_copies(t, best);
}

/* ---- why ---- */

/* Looks at the event at which the baseline stopped, or else reserved most. */
static enum err tuner_look_at_holes(const struct tuner *r, struct err_detail *err)
{
    struct tune *t = r->t;
    const struct trial *b = &t->baseline.trial;
    t->holes_event = b->fits ? b->peak_event : (uint64_t)(b->stopped_at + 1);
    const uint64_t caught = t->coverage.caught_before;
    enum err e = holes_find(r->trace, &t->baseline.spec, r->device, t->holes_event, caught, &t->holes_before, err);
    if (e == ERR_OK)
        e = holes_find(r->trace, &t->entries[t->winner].spec, r->device, t->holes_event, caught, &t->holes_after, err);
    return e;
}

/* One bit per setting that is not the default. */
static unsigned settings_kinds(const struct settings *s)
{
    return (s->expandable ? 1U : 0) | (s->max_split_mib > 0 ? 2U : 0) | (s->non_split_mib > 0 ? 4U : 0) |
           (s->large_segment_mib > 0 ? 8U : 0) | (s->gc_percent > 0 ? 16U : 0) | (s->roundup[0] != '\0' ? 32U : 0);
}

/* Whether fit `a` comes before `b`: by its smallest card, then the simpler setting. */
static bool is_fit_before(const struct tune *t, size_t a, size_t b)
{
    const uint64_t x = t->fits[a].smallest_bytes, y = t->fits[b].smallest_bytes;
    if (x != y)
        return x != 0 && (y == 0 || x < y);
    const struct simplicity p = simplicity_of(&t->entries[t->fit_entries[a]]);
    const struct simplicity q = simplicity_of(&t->entries[t->fit_entries[b]]);
    return winner_compare_simplicity(&p, &q) < 0;
}

/* Sorts `fits`. */
static void tuner_sort_fits(struct tune *t)
{
    for (size_t i = 1; i < t->n_fits; i++)
        for (size_t k = i; k > 0 && is_fit_before(t, k, k - 1); k--) {
            const struct fit fit = t->fits[k];
            const size_t entry = t->fit_entries[k];
            t->fits[k] = t->fits[k - 1];
            t->fit_entries[k] = t->fit_entries[k - 1];
            t->fits[k - 1] = fit;
            t->fit_entries[k - 1] = entry;
        }
}

/* How much larger the card would have to be: for the entry that got farthest, and the best of each setting alone. */
static enum err tuner_fit(const struct tuner *r, struct err_detail *err)
{
    struct tune *t = r->t;
    bool seen[64] = { false };
    enum err e = ERR_OK;
    for (size_t i = 0; i < t->n_entries && t->n_fits < TUNE_FITS && e == ERR_OK; i++) {
        const unsigned kinds = settings_kinds(&t->entries[i].settings);
        if (i > 0 && (seen[kinds] || (kinds & (kinds - 1)) != 0))
            continue;
        seen[kinds] = true;
        t->fit_entries[t->n_fits] = i;
        e = fit_find(r->trace, &t->entries[i].spec, r->device, t->bounds.live_bytes, r->cfg, &t->fits[t->n_fits], err);
        t->n_fits += e == ERR_OK;
    }
    tuner_sort_fits(t);
    return e;
}

/* ---- all of it ---- */

static enum err tuner_choose_release(struct tuner *r, const char *release, struct err_detail *err)
{
    const char *recorded = trace_meta(r->trace, TRACE_META_RELEASE);
    if (release != NULL)
        return pytorch_rules_find(release, &r->t->rules)
                   ? ERR_OK
                   : err_set(err, ERR_USAGE, 0, "--torch '%s': a release from %s to %s is needed", release,
                             torch_release_name((enum torch_release)0), torch_release_name(TORCH_NEWEST));
    if (recorded == NULL || !pytorch_rules_find(recorded, &r->t->rules))
        r->t->rules = pytorch_rules_of(TORCH_NEWEST);
    return ERR_OK;
}

/* Most recordings that do not tell are of Linux. */
static enum platform find_platform(const struct tuner *r)
{
    const enum platform named = r->device->platform;
    const enum platform found = named != PLATFORM_UNKNOWN ? named : recorded_platform(r->trace);
    return found != PLATFORM_UNKNOWN ? found : r->t->rules.is_npu ? PLATFORM_NPU : PLATFORM_LINUX;
}

static uint64_t usable_bytes(const struct device_config *c)
{
    const uint64_t taken = add_capped(c->context_bytes, c->others_bytes);
    if (c->total_bytes == DEVICE_UNLIMITED)
        return DEVICE_UNLIMITED;
    return c->total_bytes > taken ? c->total_bytes - taken : 0;
}

static enum err tuner_search(struct tuner *r, struct err_detail *err)
{
    enum err e = settings_space_read(r->trace, &r->t->rules, r->t->platform, &r->space, err);
    if (e == ERR_OK)
        e = settings_add_cross(&r->space, &r->tried, err);
    if (e == ERR_OK)
        e = tuner_try_new(r, err);
    return e == ERR_OK ? tuner_refine(r, err) : e;
}

/* Which finalists run the recording whose cut step is filled in. */
static enum err try_filled(struct tuner *r, struct trace_reader *filled, struct err_detail *err)
{
    struct tune *t = r->t;
    struct trial trials[TUNE_FINALISTS];
    for (size_t i = 0; i < t->n_finalists; i++)
        trials[i] = (struct trial){ .spec = &t->entries[t->finalists[i].entry].spec, .device = r->device->config };
    const enum err e = trials_run(filled, r->device->ops, trials, t->n_finalists, r->cfg, err);
    for (size_t i = 0; i < t->n_finalists && e == ERR_OK; i++)
        t->finalists[i].runs_filled = trials[i].fits;
    return e;
}

static enum err size_filled(struct tuner *r, struct trace_reader *filled, struct err_detail *err)
{
    struct fit fit;
    const uint64_t live = trace_info(filled)->peak_requested_bytes;
    const enum err e = fit_find_smallest(filled, &r->t->baseline.spec, r->device, live, r->cfg, &fit, err);
    if (e == ERR_OK)
        r->t->filled = (struct filled_step){ .is_known = true, .live_bytes = live,
                                             .smallest_bytes = fit.smallest_bytes };
    return e;
}

static enum err tuner_fill_step(struct tuner *r, struct err_detail *err)
{
    struct trace_reader *filled;
    enum err e = filled_step_open(r->trace, &r->t->coverage, &filled, err);
    if (e == ERR_OK && filled != NULL)
        e = size_filled(r, filled, err);
    if (e == ERR_OK && filled != NULL && r->t->n_finalists > 0)
        e = try_filled(r, filled, err);
    trace_close(filled);
    return e;
}

/* Which setting to recommend, and why. At least one entry runs. */
static enum err tuner_decide(struct tuner *r, uint64_t seed, struct err_detail *err)
{
    const struct trial *first = &r->t->entries[0].trial;
    r->t->least_gain_bytes = winner_margin(
        r->device->config.total_bytes,
        winner_score(first->card_peak_bytes, first->device_time_ns, r->t->price_bytes_per_ms));
    tuner_name_finalists(r);
    enum err e = tuner_size_finalists(r, err);
    if (e == ERR_OK)
        e = tuner_try_copies(r, seed, err);
    if (e == ERR_OK)
        e = tuner_fill_step(r, err);
    if (e == ERR_OK)
        e = tuner_play_on(r, err);
    if (e != ERR_OK)
        return e;
    r->t->is_judged = is_judged(r->t);
    tuner_choose(r);
    return tune_recommends(r->t) ? tuner_look_at_holes(r, err) : ERR_OK;
}

/* How much larger the card would have to be, if no entry runs. */
static enum err tuner_give_up(struct tuner *r, bool only_cure, struct err_detail *err)
{
    enum err e = ERR_OK;
    if (!only_cure && r->t->bounds.live_bytes <= r->t->usable_bytes)
        e = tuner_fit(r, err);
    return e == ERR_OK ? tuner_fill_step(r, err) : e;
}

/* Whether a setting may help: a request is refused though all that is live at once would fit. */
static bool is_curable(const struct tune *t)
{
    return !t->baseline.trial.fits && t->bounds.live_bytes <= t->usable_bytes;
}

static void tell_stage(const struct tune_request *asked, enum tune_stage stage)
{
    if (asked->stage != NULL)
        asked->stage(asked->stage_arg, stage);
}

enum err tune_run(struct trace_reader *trace, const struct device_choice *device, const struct tune_request *asked,
                  const struct replay_config *cfg, struct tune *out, struct err_detail *err)
{
    struct replay_config caught = *cfg;
    struct tuner r = { .trace = trace, .device = device, .cfg = &caught, .t = out };
    *out = (struct tune){ .usable_bytes = usable_bytes(&device->config),
                          .price_bytes_per_ms = asked->price_bytes_per_ms };
    tell_stage(asked, TUNE_READING);
    enum err e = coverage_read(trace, &out->coverage, err);
    caught.caught_before = out->coverage.caught_before;
    if (e == ERR_OK && !asked->only_cure && !asked->only_baseline)
        e = first_step_read(trace, &out->coverage, &out->first, err);
    if (e == ERR_OK && !asked->only_cure && !asked->only_baseline)
        e = growth_warn(trace, &out->coverage, &out->leak, err);
    if (e == ERR_OK)
        e = tuner_choose_release(&r, asked->release, err);
    out->platform = find_platform(&r);
    tell_stage(asked, TUNE_PLANNING);
    if (e == ERR_OK)
        e = bounds_find(trace, out->coverage.caught_before, true, &out->bounds, err);
    tell_stage(asked, TUNE_REPLAYING);
    if (e == ERR_OK)
        e = tuner_run_baseline(&r, err);
    if (e == ERR_OK && !asked->only_baseline && (!asked->only_cure || is_curable(out)))
        e = tuner_search(&r, err);
    settings_set_close(&r.tried);
    if (e != ERR_OK)
        return e;
    const bool runs = out->n_entries > 0 && out->entries[0].trial.fits;
    return runs ? tuner_decide(&r, asked->seed, err) : tuner_give_up(&r, asked->only_cure || asked->only_baseline, err);
}

void tune_close(struct tune *t)
{
    policy_spec_close(&t->baseline.spec);
    for (size_t i = 0; i < t->n_entries; i++)
        policy_spec_close(&t->entries[i].spec);
    free(t->entries);
    *t = (struct tune){ .entries = NULL };
}
