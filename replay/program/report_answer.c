/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Asks `why` for the verdict and the cure, and `fit` for the smallest card under the recorded settings. */
#include "replay/program/report_answer.h"
#include "replay/program/report_blame.h"

#include "base/text_stream.h"
#include "import/import.h"
#include "replay/advise/settings_paste.h"
#include "replay/results/detailed_runs.h"
#include "replay/recording/recorded_range.h"
#include "replay/recording/recorded_settings.h"
#include "replay/recording/verify.h"
#include "replay/results/foreign_run.h"
#include "replay/why/why.h"

#include <stdlib.h>
#include <string.h>

/* `why` tries hundreds of settings: beyond so many events that takes minutes. */
enum { ANSWERED_EVENTS_MAX = 1000000 };

/* `blame` replays the recording up to some hundreds of times: beyond so many events that would be felt. */
enum { BLAMED_EVENTS_MAX = 200000 };

/* Writes with one function of why.h into a text of its own; NULL without memory. */
static char *text_of(const struct why *y, const char *event_word, void (*put)(FILE *, const struct why *, const char *))
{
    struct text_stream to;
    if (text_stream_open(&to) != NULL)
        put(to.file, y, event_word);
    return text_stream_take(&to);
}

static void put_verdict(FILE *to, const struct why *y, const char *event_word)
{
    struct words w = { .n = 0 };
    (void)event_word;
    why_add_verdict(&w, y);
    fputs(w.text, to);
}

static void put_paste(FILE *to, const struct why *y, const char *event_word)
{
    (void)event_word;
    why_put_paste(to, y, "");
}

static void put_promise(FILE *to, const struct why *y, const char *event_word)
{
    struct words w = { .n = 0 };
    (void)event_word;
    why_add_promise(&w, y);
    fputs(w.text, to);
}

static void put_act(FILE *to, const struct why *y, const char *event_word)
{
    struct words w = { .n = 0 };
    (void)event_word;
    why_add_act(&w, y);
    fputs(w.text, to);
}

/* Empty texts become none. */
static void drop_empty(char **text)
{
    if ((*text)[0] != '\0')
        return;
    free(*text);
    *text = NULL;
}

static enum err take_words(const struct why *y, const char *event_word, struct page_answer *out)
{
    out->verdict = text_of(y, event_word, put_verdict);
    out->paste = text_of(y, event_word, put_paste);
    out->promise = text_of(y, event_word, put_promise);
    out->act = text_of(y, event_word, put_act);
    out->reasons = text_of(y, event_word, why_print_reasons);
    if (out->verdict == NULL || out->paste == NULL || out->promise == NULL || out->reasons == NULL ||
        out->act == NULL)
        return ERR_HOST_NOMEM;
    drop_empty(&out->paste);
    drop_empty(&out->promise);
    drop_empty(&out->act);
    return ERR_OK;
}

/* Adds a figure to those of the answer. */
static enum err put_figure(struct page_answer *out, const char *name, const char *value)
{
    size_t i = 0;
    while (i + 1 < PAGE_FIGURES && out->figures[i].value != NULL)
        i++;
    free(out->figures[i].value);
    out->figures[i] = (struct page_figure){ .name = name, .value = strdup(value) };
    return out->figures[i].value != NULL ? ERR_OK : ERR_HOST_NOMEM;
}

/* The smallest card as a figure. Where no run is like what was recorded, the sentence with its reason tells more. */
static enum err put_card(const struct device_choice *device, uint64_t bytes, uint64_t reserved, bool is_least,
                         struct page_answer *out)
{
    char size[TEXT_NUMBER];
    struct words w = { .n = 0 };
    words_add(&w, "%s%s", is_least ? "at least " : "", text_card_beside(bytes, reserved, size));
    return put_figure(out, device->config.context_bytes > 0 ? "smallest card, with CUDA's own" : "smallest card",
                      w.text);
}

/* The smallest card on which the recorded settings run the recording. */
static enum err take_card(struct trace_reader *trace, const struct device_choice *device, const struct why *y,
                          const struct replay_config *cfg, struct page_answer *out, struct err_detail *err)
{
    const bool is_least = y->is_of_xla ? fit_is_lower_bound(&y->own.fit) : coverage_is_lower_bound(&y->coverage);
    if (y->library != PLATFORM_UNKNOWN)
        return ERR_OK;                           /* its calls do not tell what it needs */
    const struct policy_spec *spec = y->is_of_xla ? &y->own.fit.specs[0] : &y->tune.baseline.spec;
    char size[TEXT_NUMBER], other[TEXT_NUMBER];
    struct fit fit;
    struct words w = { .n = 0 };
    struct replay_config caught = *cfg;
    caught.caught_before = y->coverage.caught_before;
    const enum err e = fit_find(trace, spec, device, y->tune.bounds.live_bytes, &caught, &fit, err);
    if (e != ERR_OK || fit.smallest_bytes == 0)
        return e;
    words_add(&w, "The smallest card for it as %s has %s%s", y->is_of_xla ? "the library comes" : "recorded",
              is_least ? "at least " : "",
              text_card(fit.smallest_bytes, size));
    if (device->config.context_bytes > 0)
        words_add(&w, ", %s of it for the CUDA context and libraries", text_mib(device->config.context_bytes, other));
    if (fit.card != NULL && !is_least)
        words_add(&w, "; of cards with a name, %s", fit.card->name);
    words_add(&w, ".");
    if (fit.smallest_bytes < y->reserved && !y->has_refusal && !y->is_of_xla)
        words_add(&w, " That is less than PyTorch reserves without need: on it, cached memory is given back before a "
                      "request is refused.");
    if (!fit.is_monotone)
        words_add(&w, " Some from %s on run it, too, but not one of %s.", text_mib(fit.least_running_bytes, size),
                  text_mib(fit.larger_failing_bytes, other));
    if (out->range != NULL)
        words_add(&w, " That is for what is expected: `replay predict` says which card surely serves it.");
    out->card = strdup(w.text);
    if (out->card == NULL)
        return ERR_HOST_NOMEM;
    const bool is_figure = !y->has_refusal && out->range == NULL && (out->as_it_ran != VERDICT_NONE || y->is_of_xla);
    return is_figure ? put_card(device, fit.smallest_bytes, y->reserved, is_least, out) : ERR_OK;
}

/* ---- the figures and the rows that the answer is about ---- */

/* The request in its own unit, as the error has it, and in that of what it is compared with. */
static const char *text_asked(uint64_t bytes, uint64_t most, char out[TEXT_NUMBER])
{
    char beside[TEXT_NUMBER];
    struct words w = { .n = 0 };
    words_add(&w, "%s", text_mib(bytes, out));
    if (strcmp(out, text_mib_beside(bytes, most, beside)) != 0)
        words_add(&w, " = %s", beside);
    snprintf(out, TEXT_NUMBER, "%.*s", TEXT_NUMBER - 1, w.text);
    return out;
}

/* What is reserved at most. Of a predicted recording it may be a range, which a sentence explains. */
static enum err put_reserved(struct trace_reader *trace, const struct why *y, struct page_answer *out)
{
    char size[TEXT_NUMBER], least[TEXT_NUMBER], most[TEXT_NUMBER];
    struct recorded_range range;
    struct words w = { .n = 0 };
    text_mib(y->reserved, size);
    if (!recorded_range_read(trace, &range) || range.expected != y->reserved)
        return put_figure(out, "reserved at most", size);
    text_mib_beside(range.least, y->reserved, least);
    text_mib_beside(range.most, y->reserved, most);
    const bool is_endless = range.most == UINT64_MAX;
    words_add(&w, "Predicted: it reserves ");
    words_add(&w, is_endless ? "%s or more," : "between %s and %s at most,", least, most);
    words_add(&w, " as it does not show all that decides this: %s.", range.sources);
    out->range = strdup(w.text);
    w = (struct words){ .n = 0 };
    words_add(&w, is_endless ? "%s (%s or more)" : "%s (%s to %s)", size, least, most);
    return out->range == NULL ? ERR_HOST_NOMEM : put_figure(out, "reserved at most", w.text);
}

/* At a refusal: what was asked for, what was live and what of the card could be had. Else what was live and reserved;
 * the smallest card comes with the sentence about it. */
static enum err take_figures(struct trace_reader *trace, const struct why *y, struct page_answer *out)
{
    char size[TEXT_NUMBER];
    const uint64_t usable = y->tune.baseline.trial.fits ? y->recorded_usable : y->usable;
    const uint64_t most = y->has_refusal && usable != DEVICE_UNLIMITED ? usable : y->reserved;
    enum err e = y->has_refusal ? put_figure(out, "asked for", text_asked(y->asked, most, size)) : ERR_OK;
    if (e == ERR_OK)
        e = put_figure(out, y->has_refusal ? "live then" : "live at most", text_mib_beside(y->live, most, size));
    if (e != ERR_OK)
        return e;
    if (y->is_of_xla || y->library != PLATFORM_UNKNOWN)
        return ERR_OK;
    if (!y->has_refusal)
        return put_reserved(trace, y, out);
    if (y->verdict == VERDICT_FRAGMENTED)
        return put_figure(out, "free, in pieces", text_mib_beside(why_unusable(y), most, size));
    if (usable != DEVICE_UNLIMITED && usable > y->live && usable - y->live >= y->asked)
        return put_figure(out, "free, in pieces", text_mib_beside(usable - y->live, most, size));
    return usable > 0 && usable != DEVICE_UNLIMITED ? put_figure(out, "it could have", text_mib(usable, size)) : ERR_OK;
}

/* Whether two specs set the same, whichever way they were spelled and whatever the release. */
static bool is_same_setting(const struct policy_spec *a, const struct policy_spec *b)
{
    if (a->ops != b->ops)
        return false;
    for (size_t i = 0; i < a->n_options; i++) {
        const struct policy_option *o = &a->ops->options[i];
        const struct option_value *x = &a->values[i], *y = &b->values[i];
        const bool is_text = o->kind == OPTION_TEXT || o->kind == OPTION_PAIRS;
        if (strcmp(o->name, "version") == 0)
            continue;
        if (x->is_set != y->is_set || x->number != y->number || memcmp(&x->ratio, &y->ratio, sizeof x->ratio) != 0 ||
            (is_text && x->is_set && strcmp(x->text, y->text) != 0))
            return false;
    }
    return true;
}

/* The only error is ERR_HOST_NOMEM: what does not parse is another setting. */
static enum err find_same_setting(const char *typed, const struct policy_spec *spec, bool *is_same)
{
    struct err_detail reason;
    struct policy_spec one;
    const enum err e = policy_spec_parse_foreign(typed, &one, &reason);
    *is_same = e == ERR_OK && is_same_setting(&one, spec);
    if (e == ERR_OK)
        policy_spec_close(&one);
    return e == ERR_HOST_NOMEM ? e : ERR_OK;
}

/* The row of a policy; VERDICT_NONE: there is none. */
static enum err find_row(const struct verdict *v, const struct policy_spec *spec, size_t *row)
{
    bool is_same = false;
    enum err e = ERR_OK;
    for (*row = 0; e == ERR_OK && *row < v->table->n_rows; ++*row) {
        e = find_same_setting(run_table_text(v->table, *row, "policy"), spec, &is_same);
        if (is_same)
            return ERR_OK;
    }
    *row = VERDICT_NONE;
    return e;
}

enum err report_recorded_setting(const char *path, const struct options *o, const char *const *known, size_t n_known,
                                 char **out)
{
    struct trace_reader *trace;
    struct policy_spec spec;
    struct err_detail reason;
    *out = NULL;
    enum err e = trace_open_any(path, o->from, &o->import, &trace, &reason);
    if (e != ERR_OK)
        return e == ERR_HOST_NOMEM ? e : ERR_OK;
    e = recorded_policy(trace, &spec, &reason);
    if (e == ERR_OK) {
        bool is_known = strcmp(spec.ops->name, "pytorch") != 0;
        for (size_t i = 0; e == ERR_OK && i < n_known && !is_known; i++)
            e = find_same_setting(known[i], &spec, &is_known);
        *out = e == ERR_OK && !is_known ? strdup(spec.typed) : NULL;
        e = e == ERR_OK && !is_known && *out == NULL ? ERR_HOST_NOMEM : e;
        policy_spec_close(&spec);
    }
    trace_close(trace);
    return e == ERR_HOST_NOMEM ? e : ERR_OK;
}

/* The settings that a policy stands for, if they can be set on the recording's platform. */
static enum err find_settings(struct trace_reader *trace, const struct why *y, const char *policy, struct settings *out,
                              bool *is_found, struct err_detail *err)
{
    struct settings_space space;
    struct settings_set set = { .n = 0 };
    struct policy_spec spec;
    char typed[SETTINGS_TEXT];
    *is_found = false;
    if (policy_spec_parse_foreign(policy, &spec, err) != ERR_OK)
        return ERR_OK;
    enum err e = settings_space_read(trace, &y->tune.rules, y->tune.platform, &space, err);
    if (e == ERR_OK)
        e = settings_add_cross(&space, &set, err);
    for (size_t i = 0; e == ERR_OK && i < set.n && !*is_found; i++) {
        *out = set.at[i];
        e = find_same_setting(settings_text(out, &y->tune.rules, true, typed), &spec, is_found);
    }
    settings_set_close(&set);
    policy_spec_close(&spec);
    return e;
}

/* The best run, where nothing was refused and its gain matters. */
static size_t gaining_row(const struct why *y, const struct verdict *v, size_t as_it_ran)
{
    const size_t best = v->cases[0].best_row;
    if (y->has_refusal || best == VERDICT_NONE || as_it_ran == VERDICT_NONE)
        return VERDICT_NONE;
    const uint64_t was = (uint64_t)run_table_number(v->table, as_it_ran, "card_peak_bytes");
    const uint64_t now = (uint64_t)run_table_number(v->table, best, "card_peak_bytes");
    return now + was / TUNE_GAIN_SHARE < was ? best : VERDICT_NONE;
}

/* Nothing was refused, and another setting takes less: its line, in the place of what to do. */
static enum err take_gain(struct trace_reader *trace, const struct why *y, const struct verdict *v,
                          struct page_answer *out, struct err_detail *err)
{
    const size_t row = gaining_row(y, v, out->as_it_ran);
    struct settings settings;
    struct text_stream to;
    struct words w = { .n = 0 };
    char most[TEXT_NUMBER];
    bool is_found = false;
    const enum err e = row == VERDICT_NONE ? ERR_OK
                                           : find_settings(trace, y, run_table_text(v->table, row, "policy"), &settings,
                                                           &is_found, err);
    if (e != ERR_OK || !is_found)
        return e;
    if (y->stalls.seldom > 0)
        why_add_act(&w, y);
    words_add(&w, "%s To take %s at most, set this before the program starts:",
              y->stalls.seldom > 0     ? ""
              : why_end_is_unseen(y) ? "As far as was recorded, nothing needs to be done."
                                     : "Nothing needs to be done.",
              text_mib_beside((uint64_t)run_table_number(v->table, row, "card_peak_bytes"), y->reserved, most));
    if (text_stream_open(&to) != NULL)
        settings_put_paste(to.file, &settings, &y->tune.rules, y->tune.platform, "");
    free(out->act);
    free(out->paste);
    out->act = NULL;
    out->paste = text_stream_take(&to);
    out->when = strdup(w.text);
    out->recommended = row;
    return out->paste != NULL && out->when != NULL ? ERR_OK : ERR_HOST_NOMEM;
}

/* Whether the replay under the recorded settings reserves about what was recorded. Where the recording begins in
 * mid-run it cannot: what was cached before is not in it. Elsewhere a difference means that something is not recorded,
 * such as the card or a limit, and the run is not what ran. */
static bool is_like_recorded(const struct why *y, uint64_t replayed)
{
    const uint64_t recorded = y->recorded_reserved, apart = replayed > recorded ? replayed - recorded
                                                                                : recorded - replayed;
    return recorded == 0 || y->coverage.begins != BEGINS_EMPTY || apart <= recorded / TUNE_GAIN_SHARE;
}

/* The memory limit that the program set, if garbage collection alone shows it; 0: it is not known. */
static enum err find_limit(struct trace_reader *trace, uint64_t *bytes)
{
    const struct verify_options as_recorded = { .policy = NULL };
    struct verify_report report;
    struct err_detail reason;
    *bytes = 0;
    if (trace_meta(trace, "garbage_collection_threshold") == NULL ||
        trace_info(trace)->events > BLAMED_EVENTS_MAX)
        return ERR_OK;
    const enum err e = verify_trace(trace, &as_recorded, &report, &reason);
    if (e == ERR_OK && verify_is_equal(&report))
        *bytes = report.limit_bytes;
    return e == ERR_HOST_NOMEM ? e : ERR_OK;
}

/* Why the replay of a recording from its start differs from it. */
static enum err say_difference(struct trace_reader *trace, struct words *w)
{
    uint64_t limit;
    char size[TEXT_NUMBER];
    const enum err e = find_limit(trace, &limit);
    if (limit > 0)
        words_add(w, ", because of a memory limit of about %s, which only the acts of garbage collection show: with it "
                  "`replay verify` finds all equal. The smallest card is for a limit of as many bytes; a share of a "
                  "smaller card is less.", text_mib(limit, size));
    else
        words_add(w, ", because something is not recorded, such as the card's size or a limit.");
    return e;
}

/* Says how the replay of what was recorded differs from the recording. */
static enum err take_replayed(struct trace_reader *trace, const struct why *y, uint64_t replayed,
                              struct page_answer *out)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    enum err e = ERR_OK;
    struct words w = { .n = 0 };
    if (y->recorded_reserved == 0 || replayed == y->recorded_reserved)
        return ERR_OK;
    words_add(&w, "Recorded: %s reserved at most. Replayed with the recorded settings: %s",
              text_mib(y->recorded_reserved, a), text_mib(replayed, b));
    if (y->coverage.begins != BEGINS_EMPTY)
        words_add(&w, ", because the recording begins in mid-run and what was cached before is left out.");
    else
        e = say_difference(trace, &w);
    if (out->as_it_ran == VERDICT_NONE)
        words_add(&w, " So no replay here is called \"as it ran\".");
    out->replayed = strdup(w.text);
    return out->replayed != NULL ? e : ERR_HOST_NOMEM;
}

static enum err take_rows(struct trace_reader *trace, const struct why *y, const struct verdict *v,
                          struct page_answer *out, struct err_detail *err)
{
    size_t row;
    enum err e = find_row(v, &y->tune.baseline.spec, &row);
    out->has_card = y->is_card_named || y->recorded_usable > 0;
    out->is_card_named = y->is_card_named || y->is_of_xla || recorded_from_driver(trace);   /* no part of PyTorch's */
    out->is_uncured = y->has_refusal && y->cure == CURE_NONE;
    out->recorded_reserved_bytes = y->recorded_reserved;
    out->of_recorded_settings = out->as_it_ran = out->recommended = VERDICT_NONE;
    if (y->is_of_xla)                            /* which setting it ran under is not recorded */
        return own_settings_advise(&y->own) ? find_row(v, &y->own.fit.specs[y->own.chosen], &out->recommended) : e;
    if (y->library == PLATFORM_UNKNOWN)
        out->of_recorded_settings = row;
    if (e != ERR_OK || row == VERDICT_NONE || y->library != PLATFORM_UNKNOWN)
        return e;
    const uint64_t replayed = (uint64_t)run_table_number(v->table, row, "peak_reserved_bytes");
    if (!y->tune.baseline.trial.fits || y->has_refusal || is_like_recorded(y, replayed)) {
        out->as_it_ran = row;
        e = take_gain(trace, y, v, out, err);
        if (e == ERR_OK && y->cure != CURE_NONE)
            e = find_row(v, &y->tune.entries[y->tune.winner].spec, &out->recommended);
    }
    return e == ERR_OK ? take_replayed(trace, y, replayed, out) : e;
}

/* Which rules hold what the run as it ran reserved beyond the live peak. */
static enum err take_blame(struct trace_reader *trace, const char *device, const struct why *y,
                           const struct verdict *v, const struct replay_config *cfg, struct page_answer *out)
{
    if (out->as_it_ran == VERDICT_NONE || trace_info(trace)->events > BLAMED_EVENTS_MAX)
        return ERR_OK;
    const struct blamed_run of = {
        .trace = trace, .device = device, .platform = y->tune.platform,
        .reserved_bytes = (uint64_t)run_table_number(v->table, out->as_it_ran, "peak_reserved_bytes"),
    };
    return report_blame_find(&of, cfg, &out->blame);
}

static enum err answer_trace(struct trace_reader *trace, const char *device_text, const struct verdict *v,
                             const struct replay_config *cfg, struct page_answer *out, struct err_detail *err)
{
    struct device_choice device;
    struct why y = { .event = -1 };
    enum err e = device_choose_for_advice(device_text, trace, PLATFORM_UNKNOWN, &device, err);
    if (e != ERR_OK)
        return e;
    e = why_read(trace, false, &device, cfg, &y, err);
    if (e == ERR_OK)
        e = take_words(&y, trace_event_word(trace), out);
    if (e == ERR_OK)
        e = take_figures(trace, &y, out);
    if (e == ERR_OK)
        e = take_rows(trace, &y, v, out, err);
    if (e == ERR_OK)
        e = take_card(trace, &device, &y, cfg, out, err);
    if (e == ERR_OK)
        e = take_blame(trace, device_text, &y, v, cfg, out);
    why_close(&y);
    return e;
}

enum err report_answer_find(struct page *page, const struct replay_config *cfg, struct err_detail *err)
{
    const struct verdict *v = page->verdict;
    struct trace_reader *trace;
    struct err_detail reason = { .text = "" };
    const struct field *typed = run_table_cell(v->table, 0, "device_typed");
    const char *device = typed->kind == FIELD_TEXT ? typed->text : NULL;
    if (v->n_cases != 1 || foreign_run_check(NULL, device, NULL, &reason) != ERR_OK)
        return ERR_OK;
    enum err e = detailed_runs_open_trace(v->table, 0, &trace, &reason);
    if (e != ERR_OK)
        return e == ERR_HOST_NOMEM ? err_set(err, e, 0, "no memory for the answer of a page") : ERR_OK;
    if (trace_info(trace)->events > ANSWERED_EVENTS_MAX)
        e = detailed_runs_note(page, "The recording is long, so this page has no verdict and no smallest card: ask "
                               "`replay why` and `replay fit`.");
    else
        e = answer_trace(trace, device, v, cfg, &page->answer, &reason);
    if (e == ERR_OK && page->answer.as_it_ran != VERDICT_NONE && trace_info(trace)->events > BLAMED_EVENTS_MAX)
        e = detailed_runs_note(page, "The recording is long, so this page does not say which rule of the allocator "
                               "holds what no request asked for: ask `replay blame`.");
    trace_close(trace);
    return e == ERR_HOST_NOMEM ? err_set(err, e, 0, "no memory for the answer of a page") : ERR_OK;
}

void report_answer_close(struct page_answer *a)
{
    free(a->verdict);
    free(a->paste);
    free(a->promise);
    free(a->when);
    free(a->card);
    free(a->act);
    free(a->replayed);
    free(a->range);
    for (size_t i = 0; i < PAGE_FIGURES; i++)
        free(a->figures[i].value);
    free(a->reasons);
    free(a->blame.help);
    *a = (struct page_answer){ .verdict = NULL };
}
