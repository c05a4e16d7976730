/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The search, the proof on changed copies, smallest cards of the finalists, and the look at holes. */
#include "replay/advise/tune.h"

#include "base/units.h"
#include "replay/advise/altered_trace.h"
#include "replay/advise/filled_step.h"
#include "replay/verify/recorded_settings.h"
#include "report/winner.h"

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
                           struct err_detail *why)
{
    char text[SETTINGS_TEXT];
    *entry = (struct tune_entry){ .settings = *s, .price_bytes_per_ms = r->t->price_bytes_per_ms };
    return policy_spec_parse(settings_text(s, &r->t->rules, true, text), &entry->spec, why);
}

/* Runs entries, each on the tuner's card. */
static enum err entries_run(const struct tuner *r, struct trace_reader *trace, struct tune_entry *entries, size_t n,
                            struct err_detail *why)
{
    struct trial *trials = calloc(n + 1, sizeof *trials);
    if (trials == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for %zu trials", n);
    for (size_t i = 0; i < n; i++)
        trials[i] = (struct trial){ .spec = &entries[i].spec, .device = r->device->config };
    const enum err e = trials_run(trace, r->device->ops, trials, n, r->cfg, why);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        entries[i].trial = trials[i];
    free(trials);
    return e;
}

/* Tries what has been added to the set of points since the last time, and sorts. */
static enum err tuner_try_new(struct tuner *r, struct err_detail *why)
{
    struct tune *t = r->t;
    const size_t before = t->n_entries;
    struct tune_entry *grown = realloc(t->entries, (r->tried.n + 1) * sizeof *grown);
    if (grown == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for the settings to try");
    t->entries = grown;
    enum err e = ERR_OK;
    for (; t->n_entries < r->tried.n && e == ERR_OK; t->n_entries++)
        e = entry_open(&t->entries[t->n_entries], &r->tried.at[t->n_entries], r, why);
    if (e == ERR_OK)
        e = entries_run(r, r->trace, &t->entries[before], t->n_entries - before, why);
    if (e == ERR_OK)
        qsort(t->entries, t->n_entries, sizeof *t->entries, compare_entries);
    return e;
}

/* Tries neighbours of the best few until the best stay the same. Also takes each setting away once from each
 * candidate, so that no setting is recommended for nothing. */
static enum err tuner_refine(struct tuner *r, struct err_detail *why)
{
    enum err e = ERR_OK;
    size_t before = 0;
    for (int round = 0; round < TUNE_EVER && before < r->tried.n && e == ERR_OK; round++) {
        const size_t around = round < TUNE_ROUNDS ? TUNE_AROUND : 1;
        before = r->tried.n;
        for (size_t i = 0; i < around && i < r->t->n_entries && e == ERR_OK; i++)
            e = settings_add_neighbours(&r->space, &r->t->entries[i].settings, &r->tried, why);
        for (size_t i = 0; i < TUNE_FINALISTS / 2 && i < r->t->n_entries && e == ERR_OK; i++)
            e = settings_add_simpler(&r->space, &r->t->entries[i].settings, &r->tried, why);
        if (e == ERR_OK)
            e = tuner_try_new(r, why);
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

static enum err tuner_run_baseline(struct tuner *r, struct err_detail *why)
{
    struct tune *t = r->t;
    struct err_detail refused;
    enum err e = recorded_policy(r->trace, &t->baseline.spec, &refused);
    t->is_baseline_recorded = e == ERR_OK && strcmp(t->baseline.spec.ops->name, "pytorch") == 0;
    if (t->is_baseline_recorded) {
        spec_set_release(&t->baseline.spec, &t->rules);
        e = entries_run(r, r->trace, &t->baseline, 1, &refused);
        t->is_baseline_recorded = e == ERR_OK;
    }
    if (e == ERR_HOST_NOMEM)
        return err_set(why, e, 0, "%s", refused.text);
    if (t->is_baseline_recorded)
        return ERR_OK;
    policy_spec_close(&t->baseline.spec);
    const struct settings defaults = { .gc_percent = 0 };
    e = entry_open(&t->baseline, &defaults, r, why);
    return e != ERR_OK ? e : entries_run(r, r->trace, &t->baseline, 1, why);
}

/* ---- changed copies ---- */

/* Half of the finalists are the best entries. The others are, by rank, entries of one setting, which depend less on the
 * trace's exact sizes, and the defaults. */
static void tuner_name_finalists(const struct tuner *r)
{
    struct tune *t = r->t;
    for (size_t i = 0; i < t->n_entries && t->n_finalists < TUNE_FINALISTS; i++) {
        const unsigned n = settings_count(&t->entries[i].settings);
        const bool has_room = t->n_finalists < TUNE_FINALISTS - 1;
        if (t->entries[i].trial.fits && (n == 0 || (has_room && (i < TUNE_FINALISTS / 2 || n == 1))))
            t->finalists[t->n_finalists++] = (struct tune_finalist){ .entry = i };
    }
}

/* The finalists, and last the baseline, on one copy. */
static enum err tuner_try_copy(const struct tuner *r, struct tune_copy *copy, struct err_detail *why)
{
    struct tune *t = r->t;
    const struct rewrite how = { .seed = copy->seed, .percent = TUNE_PERCENT, .rounds = copy->rounds,
                                 .events = UINT64_MAX };
    const size_t n = t->n_finalists;
    struct trace_reader *changed = NULL;
    enum err e = trace_rewrite(r->trace, &how, &changed, why);
    for (size_t i = 0; i <= n; i++)
        copy->trials[i] = (struct trial){ .spec = i < n ? &t->entries[t->finalists[i].entry].spec : &t->baseline.spec,
                                          .device = r->device->config };
    if (e == ERR_OK)
        e = trials_run(changed, r->device->ops, copy->trials, n + 1, r->cfg, why);
    trace_close(changed);
    for (size_t i = 0; i <= n && e == ERR_OK; i++) {
        struct tune_finalist *f = &t->finalists[i];
        f->runs += copy->trials[i].fits;
        f->beats += copy->trials[i].fits &&
                    trial_compare(&copy->trials[i], &copy->trials[n], t->price_bytes_per_ms) < 0;
    }
    return e;
}

/* Half of the copies are the trace once, half twice in a row. A trace with controls (pools, captures) is not repeated,
 * because it would open the same pool twice. */
static enum err tuner_try_copies(const struct tuner *r, uint64_t seed, struct err_detail *why)
{
    struct tune *t = r->t;
    const bool is_repeatable = trace_info(r->trace)->n_controls == 0;
    enum err e = ERR_OK;
    tuner_name_finalists(r);
    for (; t->n_copies < TUNE_COPIES && e == ERR_OK; t->n_copies++) {
        struct tune_copy *copy = &t->copies[t->n_copies];
        *copy = (struct tune_copy){ .seed = seed + t->n_copies + 1,
                                    .rounds = is_repeatable && t->n_copies >= TUNE_COPIES / 2 ? 2 : 1 };
        e = tuner_try_copy(r, copy, why);
    }
    return e;
}

/* ---- the winner ---- */

static const struct tune_finalist *baseline_of(const struct tune *t)
{
    return &t->finalists[t->n_finalists];
}

static enum err tuner_size(const struct tuner *r, const struct policy_spec *spec, struct tune_finalist *f,
                           struct err_detail *why)
{
    struct fit fit;
    const enum err e = fit_find_smallest(r->trace, spec, r->device, r->t->bounds.live_bytes, r->cfg, &fit, why);
    if (e != ERR_OK)
        return e;
    f->is_sized = true;
    f->smallest_bytes = fit.smallest_bytes;
    f->time_ns = fit.trial.device_time_ns;
    return ERR_OK;
}

/* Finds the smallest cards of the baseline and of the finalists that can still win: copies go first, so these are the
 * ones that run in as many copies as any. */
static enum err tuner_size_finalists(const struct tuner *r, struct err_detail *why)
{
    struct tune *t = r->t;
    unsigned most = 0;
    for (size_t i = 0; i < t->n_finalists; i++)
        most = t->finalists[i].runs > most ? t->finalists[i].runs : most;
    enum err e = tuner_size(r, &t->baseline.spec, &t->finalists[t->n_finalists], why);
    for (size_t i = 0; i < t->n_finalists && e == ERR_OK; i++)
        if (t->finalists[i].runs == most)
            e = tuner_size(r, &t->entries[t->finalists[i].entry].spec, &t->finalists[i], why);
    return e;
}

/* A finalist, or the baseline, as the rule sees it. One without a smallest card needs more than any card has. */
static struct contender contender_of(const struct tune *t, const struct tune_finalist *f)
{
    const bool is_baseline = f == baseline_of(t);
    const struct tune_entry *entry = is_baseline ? &t->baseline : &t->entries[f->entry];
    return (struct contender){
        .setting = is_baseline ? (struct simplicity){ .typed = entry->spec.typed } : simplicity_of(entry),
        .label   = entry->spec.typed,
        .is_ok   = entry->trial.fits,
        .is_oom  = !entry->trial.fits,
        .bytes   = f->smallest_bytes > 0 ? f->smallest_bytes : UINT64_MAX,
        .time_ns = f->time_ns,
    };
}

static bool is_most(const struct tune *t, unsigned copies)
{
    return 2 * copies > t->n_copies;
}

/* Whether it is better than the baseline on the recording, by smallest cards, or runs in more copies. */
static bool finalist_gains(const struct tune *t, const struct tune_finalist *f)
{
    const struct contender a = contender_of(t, f), b = contender_of(t, baseline_of(t));
    if (f->runs != baseline_of(t)->runs)
        return f->runs > baseline_of(t)->runs;
    if (a.is_ok != b.is_ok)
        return a.is_ok;
    return add_capped(winner_score(a.bytes, a.time_ns, t->price_bytes_per_ms), t->least_gain_bytes) <=
           winner_score(b.bytes, b.time_ns, t->price_bytes_per_ms);
}

static bool is_finalist_confirmed(const struct tune *t, const struct tune_finalist *f)
{
    return finalist_gains(t, f) && is_most(t, f->beats);
}

/* The copies go first, because a setting that runs this recording but not one like it fixes nothing, and the best of
 * hundreds on one recording may owe that to its exact sizes. So: the one that runs in more copies, then one that most
 * copies confirm, then one that gains; of these the winner by smallest card and driver time. */
static bool is_better_finalist(const struct tune *t, const struct tune_finalist *a, const struct tune_finalist *b)
{
    const bool is_a_confirmed = is_finalist_confirmed(t, a), is_b_confirmed = is_finalist_confirmed(t, b);
    if (a->runs != b->runs)
        return a->runs > b->runs;
    if (is_a_confirmed != is_b_confirmed)
        return is_a_confirmed;
    if (finalist_gains(t, a) != finalist_gains(t, b))
        return finalist_gains(t, a);
    if (a->is_sized != b->is_sized)
        return a->is_sized;
    const struct contender x = contender_of(t, a), y = contender_of(t, b);
    const int by_rule = winner_compare(&x, &y, t->price_bytes_per_ms);
    return by_rule != 0 ? by_rule < 0 : a->entry < b->entry;
}

static enum tune_advice advice_on(const struct tune *t, const struct tune_finalist *f)
{
    const bool is_judged = !coverage_is_lower_bound(&t->coverage) || coverage_has_whole_step(&t->coverage);
    if (!finalist_gains(t, f) || (!is_judged && t->baseline.trial.fits))
        return TUNE_NOTHING;
    if (!is_judged)
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

/* Whether `a` holds fewer settings than `b`, each of them as in `b`, and does as well but for a gain that matters. */
static bool is_part_enough(const struct tune *t, const struct tune_finalist *a, const struct tune_finalist *b)
{
    const struct contender x = contender_of(t, a), y = contender_of(t, b);
    return settings_are_part(&t->entries[a->entry].settings, &t->entries[b->entry].settings) && a->runs >= b->runs &&
           finalist_gains(t, a) && is_finalist_confirmed(t, a) >= is_finalist_confirmed(t, b) && x.is_ok >= y.is_ok &&
           winner_score(x.bytes, x.time_ns, t->price_bytes_per_ms) <
               add_capped(winner_score(y.bytes, y.time_ns, t->price_bytes_per_ms), t->least_gain_bytes);
}

static void tuner_choose(const struct tuner *r)
{
    struct tune *t = r->t;
    size_t best = 0;
    for (size_t i = 1; i < t->n_finalists; i++)
        if (is_better_finalist(t, &t->finalists[i], &t->finalists[best]))
            best = i;
    for (size_t i = 0; i < t->n_finalists; i++)
        if (is_part_enough(t, &t->finalists[i], &t->finalists[best])) {
            best = i;
            i = SIZE_MAX;                        /* look again: a part of this one may be enough, too */
        }
    t->winner = t->finalists[best].entry;
    t->advice = advice_on(t, &t->finalists[best]);
    for (size_t c = 0; c < t->n_copies; c++) {
        struct tune_copy *copy = &t->copies[c];
        copy->runs = copy->wins = copy->trials[best].fits;
        copy->beats_baseline = copy->runs && trial_compare(&copy->trials[best], &copy->trials[t->n_finalists],
                                                           t->price_bytes_per_ms) < 0;
        for (size_t i = 0; i < t->n_finalists; i++)
            copy->wins = copy->wins && trial_compare(&copy->trials[best], &copy->trials[i],
                                                     t->price_bytes_per_ms) <= 0;
    }
}

/* ---- why ---- */

/* Looks at the event at which the baseline stopped, or else reserved most. */
static enum err tuner_look_at_holes(const struct tuner *r, struct err_detail *why)
{
    struct tune *t = r->t;
    const struct trial *b = &t->baseline.trial;
    t->holes_event = b->fits ? b->peak_event : (uint64_t)(b->stopped_at + 1);
    enum err e = holes_find(r->trace, &t->baseline.spec, r->device, t->holes_event, &t->holes_before, why);
    if (e == ERR_OK)
        e = holes_find(r->trace, &t->entries[t->winner].spec, r->device, t->holes_event, &t->holes_after, why);
    return e;
}

/* One bit per setting that is not the default. */
static unsigned settings_kinds(const struct settings *s)
{
    return (s->expandable ? 1U : 0) | (s->max_split_mib > 0 ? 2U : 0) | (s->non_split_mib > 0 ? 4U : 0) |
           (s->large_segment_mib > 0 ? 8U : 0) | (s->gc_percent > 0 ? 16U : 0) | (s->roundup[0] != '\0' ? 32U : 0);
}

/* Sorts `fits`, best first. */
static void tuner_sort_fits(struct tune *t)
{
    for (size_t i = 1; i < t->n_fits; i++)
        for (size_t k = i; k > 0; k--) {
            struct contender c[2];
            for (size_t j = 0; j < 2; j++) {
                const struct fit *f = &t->fits[k - 1 + j];
                c[j] = (struct contender){ .setting = simplicity_of(&t->entries[t->fit_entries[k - 1 + j]]),
                                           .bytes = f->smallest_bytes > 0 ? f->smallest_bytes : UINT64_MAX,
                                           .time_ns = f->trial.device_time_ns };
            }
            if (winner_compare(&c[0], &c[1], t->price_bytes_per_ms) <= 0)
                break;
            const struct fit fit = t->fits[k];
            const size_t entry = t->fit_entries[k];
            t->fits[k] = t->fits[k - 1];
            t->fit_entries[k] = t->fit_entries[k - 1];
            t->fits[k - 1] = fit;
            t->fit_entries[k - 1] = entry;
        }
}

/* How much larger the card would have to be: for the entry that got farthest, and the best of each setting alone. */
static enum err tuner_fit(const struct tuner *r, struct err_detail *why)
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
        e = fit_find(r->trace, &t->entries[i].spec, r->device, t->bounds.live_bytes, r->cfg, &t->fits[t->n_fits], why);
        t->n_fits += e == ERR_OK;
    }
    tuner_sort_fits(t);
    return e;
}

/* ---- all of it ---- */

static enum err tuner_choose_release(struct tuner *r, const char *release, struct err_detail *why)
{
    const char *recorded = trace_meta(r->trace, TRACE_META_RELEASE);
    if (release != NULL)
        return pytorch_rules_find(release, &r->t->rules)
                   ? ERR_OK
                   : err_set(why, ERR_USAGE, 0, "--torch '%.40s': a release such as 2.6 is needed", release);
    if (recorded == NULL || !pytorch_rules_find(recorded, &r->t->rules))
        r->t->rules = pytorch_rules_of(TORCH_NEWEST);
    return ERR_OK;
}

static uint64_t usable_bytes(const struct device_config *c)
{
    const uint64_t taken = add_capped(c->context_bytes, c->others_bytes);
    if (c->total_bytes == DEVICE_UNLIMITED)
        return DEVICE_UNLIMITED;
    return c->total_bytes > taken ? c->total_bytes - taken : 0;
}

static enum err tuner_search(struct tuner *r, struct err_detail *why)
{
    enum err e = settings_space_read(r->trace, &r->t->rules, &r->space, why);
    if (e == ERR_OK)
        e = settings_add_cross(&r->space, &r->tried, why);
    if (e == ERR_OK)
        e = tuner_try_new(r, why);
    return e == ERR_OK ? tuner_refine(r, why) : e;
}

/* Which setting to recommend, and why. At least one entry runs. */
static enum err tuner_decide(struct tuner *r, uint64_t seed, struct err_detail *why)
{
    enum err e = tuner_try_copies(r, seed, why);
    if (e == ERR_OK)
        e = tuner_size_finalists(r, why);
    if (e != ERR_OK)
        return e;
    tuner_choose(r);
    return tune_recommends(r->t) ? tuner_look_at_holes(r, why) : ERR_OK;
}

static enum err try_filled(struct tuner *r, struct trace_reader *filled, struct err_detail *why)
{
    struct tune *t = r->t;
    struct fit fit;
    const uint64_t live = trace_info(filled)->peak_requested_bytes;
    struct trial winner = { .device = r->device->config };
    enum err e = fit_find_smallest(filled, &t->baseline.spec, r->device, live, r->cfg, &fit, why);
    if (e == ERR_OK && t->n_entries > 0) {
        winner.spec = &t->entries[t->winner].spec;
        e = trials_run(filled, r->device->ops, &winner, 1, r->cfg, why);
    }
    if (e == ERR_OK)
        t->filled = (struct tune_filled){ .is_known = true, .live_bytes = live, .smallest_bytes = fit.smallest_bytes,
                                          .runs_with_winner = winner.fits };
    return e;
}

static enum err tuner_fill_step(struct tuner *r, struct err_detail *why)
{
    struct trace_reader *filled;
    enum err e = filled_step_open(r->trace, &r->t->coverage, &filled, why);
    if (e == ERR_OK && filled != NULL)
        e = try_filled(r, filled, why);
    trace_close(filled);
    return e;
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
                  const struct replay_config *cfg, struct tune *out, struct err_detail *why)
{
    struct tuner r = { .trace = trace, .device = device, .cfg = cfg, .t = out };
    *out = (struct tune){ .usable_bytes = usable_bytes(&device->config),
                          .price_bytes_per_ms = asked->price_bytes_per_ms };
    out->least_gain_bytes = out->usable_bytes == DEVICE_UNLIMITED ? 0 : out->usable_bytes / TUNE_GAIN_SHARE;
    tell_stage(asked, TUNE_READING);
    enum err e = coverage_read(trace, &out->coverage, why);
    if (e == ERR_OK)
        e = tuner_choose_release(&r, asked->release, why);
    tell_stage(asked, TUNE_PLANNING);
    if (e == ERR_OK)
        e = bounds_find(trace, &out->bounds, why);
    tell_stage(asked, TUNE_REPLAYING);
    if (e == ERR_OK)
        e = tuner_run_baseline(&r, why);
    if (e == ERR_OK && (!asked->only_cure || is_curable(out)))
        e = tuner_search(&r, why);
    settings_set_close(&r.tried);
    if (e != ERR_OK)
        return e;
    if (out->n_entries > 0 && out->entries[0].trial.fits)
        e = tuner_decide(&r, asked->seed, why);
    else if (!asked->only_cure && out->bounds.live_bytes <= out->usable_bytes)
        e = tuner_fit(&r, why);
    return e == ERR_OK ? tuner_fill_step(&r, why) : e;
}

void tune_close(struct tune *t)
{
    policy_spec_close(&t->baseline.spec);
    for (size_t i = 0; i < t->n_entries; i++)
        policy_spec_close(&t->entries[i].spec);
    free(t->entries);
    *t = (struct tune){ .entries = NULL };
}
