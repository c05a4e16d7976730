/* The search, the proof on changed copies, and the look at holes. */
#include "replay/advise/tune.h"

#include "base/units.h"
#include "replay/advise/altered_trace.h"
#include "replay/verify/recorded_settings.h"

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

int trial_compare(const struct trial *a, const struct trial *b)
{
    if (a->fits != b->fits)
        return a->fits ? -1 : 1;
    if (!a->fits && a->stopped_at != b->stopped_at)
        return a->stopped_at > b->stopped_at ? -1 : 1;
    if (a->peak_reserved_bytes != b->peak_reserved_bytes)
        return a->peak_reserved_bytes < b->peak_reserved_bytes ? -1 : 1;
    if (a->device_time_ns != b->device_time_ns)
        return a->device_time_ns < b->device_time_ns ? -1 : 1;
    return 0;
}

/* Equal results prefer fewer settings, then the shorter text, so that the order is the same on every machine. */
static int compare_entries(const void *a, const void *b)
{
    const struct tune_entry *x = a, *y = b;
    const int by_trial = trial_compare(&x->trial, &y->trial);
    const unsigned nx = settings_count(&x->settings), ny = settings_count(&y->settings);
    if (by_trial != 0)
        return by_trial;
    if (nx != ny)
        return nx < ny ? -1 : 1;
    const size_t lx = strlen(x->spec.typed), ly = strlen(y->spec.typed);
    return lx != ly ? (lx < ly ? -1 : 1) : strcmp(x->spec.typed, y->spec.typed);
}

/* ---- trying ---- */

static enum err entry_open(struct tune_entry *entry, const struct settings *s, const struct tuner *r,
                           struct err_detail *why)
{
    char text[SETTINGS_TEXT];
    *entry = (struct tune_entry){ .settings = *s };
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

/* Neighbours of the best few, until the best stay the same; and every setting of each that may be recommended has been
 * taken away once, so that none is there for nothing. */
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

/* Fixes the release, also where another was recorded. */
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
        if (e == ERR_HOST_NOMEM)
            return err_set(why, e, 0, "%s", refused.text);
    }
    if (t->is_baseline_recorded)
        return ERR_OK;
    policy_spec_close(&t->baseline.spec);
    const struct settings defaults = { .gc_percent = 0 };
    e = entry_open(&t->baseline, &defaults, r, why);
    return e != ERR_OK ? e : entries_run(r, r->trace, &t->baseline, 1, why);
}

/* ---- changed copies ---- */

/* The best half by rank; then, by rank, those of few settings, which depend less on the trace's exact sizes, and the
 * defaults. */
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
        f->beats += copy->trials[i].fits && trial_compare(&copy->trials[i], &copy->trials[n]) < 0;
        f->held_bytes = add_capped(f->held_bytes, copy->trials[i].peak_reserved_bytes);
    }
    return e;
}

/* Half of the copies are the trace once, half twice in a row; a trace with commands (pools, captures) is not repeated,
 * because what they open would be opened twice. */
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

static bool is_most(const struct tune *t, unsigned copies)
{
    return 2 * copies > t->n_copies;
}

/* On the recording, or by running where the baseline does not. */
static bool finalist_gains(const struct tune *t, const struct tune_finalist *f)
{
    return trial_compare(&t->entries[f->entry].trial, &t->baseline.trial) < 0 ||
           f->runs > t->finalists[t->n_finalists].runs;
}

static bool is_finalist_confirmed(const struct tune *t, const struct tune_finalist *f)
{
    return finalist_gains(t, f) && is_most(t, f->beats);
}

/* A setting that runs this recording but not one like it fixes nothing, and what was the best of hundreds on one
 * recording may owe that to its exact sizes. So the copies go first: what runs in most of them, what gains there, too,
 * and of such settings the one that takes least there. Otherwise the order on the recording stays. */
static bool is_better_finalist(const struct tune *t, const struct tune_finalist *a, const struct tune_finalist *b)
{
    const bool is_a_confirmed = is_finalist_confirmed(t, a), is_b_confirmed = is_finalist_confirmed(t, b);
    if (a->runs != b->runs)
        return a->runs > b->runs;
    if (is_a_confirmed != is_b_confirmed)
        return is_a_confirmed;
    if (finalist_gains(t, a) != finalist_gains(t, b))
        return finalist_gains(t, a);
    if (is_a_confirmed && a->held_bytes != b->held_bytes)
        return a->held_bytes < b->held_bytes;
    return a->entry < b->entry;
}

static enum tune_advice advice_on(const struct tune *t, const struct tune_finalist *f)
{
    if (!finalist_gains(t, f))
        return TUNE_NOTHING;
    if (!t->baseline.trial.fits)
        return is_most(t, f->runs) ? TUNE_RECOMMENDED : TUNE_WITH_CAUTION;
    return is_finalist_confirmed(t, f) ? TUNE_RECOMMENDED : TUNE_HERE_ONLY;
}

bool tune_recommends(const struct tune *t)
{
    return t->advice == TUNE_RECOMMENDED || t->advice == TUNE_WITH_CAUTION;
}

static void tuner_choose(const struct tuner *r)
{
    struct tune *t = r->t;
    size_t best = 0;
    for (size_t i = 1; i < t->n_finalists; i++)
        if (is_better_finalist(t, &t->finalists[i], &t->finalists[best]))
            best = i;
    t->winner = t->finalists[best].entry;
    t->advice = advice_on(t, &t->finalists[best]);
    for (size_t c = 0; c < t->n_copies; c++) {
        struct tune_copy *copy = &t->copies[c];
        copy->runs = copy->wins = copy->trials[best].fits;
        copy->beats_baseline = copy->runs && trial_compare(&copy->trials[best], &copy->trials[t->n_finalists]) < 0;
        for (size_t i = 0; i < t->n_finalists; i++)
            copy->wins = copy->wins && trial_compare(&copy->trials[best], &copy->trials[i]) <= 0;
    }
}

/* ---- why ---- */

/* Where the baseline stopped, else where it held most. */
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
    struct tune *t = r->t;
    enum err e = bounds_find(r->trace, &t->bounds, why);
    if (e == ERR_OK)
        e = tuner_run_baseline(r, why);
    if (e == ERR_OK)
        e = settings_space_read(r->trace, &t->rules, &r->space, why);
    if (e == ERR_OK)
        e = settings_add_cross(&r->space, &r->tried, why);
    if (e == ERR_OK)
        e = tuner_try_new(r, why);
    return e == ERR_OK ? tuner_refine(r, why) : e;
}

enum err tune_run(struct trace_reader *trace, const struct device_choice *device, const char *release, uint64_t seed,
                  const struct replay_config *cfg, struct tune *out, struct err_detail *why)
{
    struct tuner r = { .trace = trace, .device = device, .cfg = cfg, .t = out };
    *out = (struct tune){ .usable_bytes = usable_bytes(&device->config) };
    enum err e = tuner_choose_release(&r, release, why);
    if (e == ERR_OK)
        e = tuner_search(&r, why);
    settings_set_close(&r.tried);
    if (e != ERR_OK)
        return e;
    if (out->entries[0].trial.fits) {
        e = tuner_try_copies(&r, seed, why);
        if (e == ERR_OK)
            tuner_choose(&r);
        if (e == ERR_OK && tune_recommends(out))
            e = tuner_look_at_holes(&r, why);
    } else if (out->bounds.live_bytes <= out->usable_bytes) {
        e = tuner_fit(&r, why);
    }
    return e;
}

void tune_close(struct tune *t)
{
    policy_spec_close(&t->baseline.spec);
    for (size_t i = 0; i < t->n_entries; i++)
        policy_spec_close(&t->entries[i].spec);
    free(t->entries);
    *t = (struct tune){ .entries = NULL };
}
