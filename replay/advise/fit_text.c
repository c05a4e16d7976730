/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The smallest cards told: as text, then as JSON (answers/fit.def). */
#include "replay/advise/fit_answer.h"

#include "base/units.h"
#include "replay/recording/recorded_engine.h"
#include "replay/recording/recorded_platform.h"
#include "replay/results/fresh_start.h"
#include "report/text/json_writer.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"
#include "sim/card_context.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_CONTEXT = 256 };

/* On a narrow terminal the cost leaves first; what fits stays. */
static const struct text_column fit_columns[] = {
    { .title = "policy", .is_left = true },  { .title = "smallest card" },
    { .title = "peak of card", .leaves = 3 }, { .title = "calls", .leaves = 1 },
    { .title = "margin", .leaves = 2 },      { .title = "named card", .is_left = true },
};
enum { FIT_COLUMNS = sizeof fit_columns / sizeof fit_columns[0] };

/* Whether a card was given with its capacity. */
static bool has_margin(const struct fit_answer *s)
{
    return s->device.has_total && s->device.config.total_bytes != DEVICE_UNLIMITED;
}

static void add_row(struct terminal_table *rows, const struct fit_answer *s, size_t i)
{
    const struct fit *f = &s->fits[i];
    const struct contender *there = &s->contenders[i];
    const uint64_t total = s->device.config.total_bytes;
    const bool is_lower_bound = fit_is_lower_bound(s);
    const char *card = is_lower_bound ? "not known" : f->card != NULL ? f->card->name : "none";
    char size[TEXT_NUMBER + 2], margin[TEXT_NUMBER + 4] = "", bytes[TEXT_NUMBER], reserved[TEXT_NUMBER],
         calls[TEXT_NUMBER];
    if (f->smallest_bytes == 0) {
        terminal_table_add(rows, (const char *const[FIT_COLUMNS]){ s->specs[i].typed, "none found", "-", "-", "",
                                                                   card });
        return;
    }
    snprintf(size, sizeof size, "%s%s", is_lower_bound ? ">=" : "", text_card(f->smallest_bytes, bytes));
    if (has_margin(s)) {
        const bool is_over = f->smallest_bytes > total;
        snprintf(margin, sizeof margin, "%s%s%s", is_lower_bound ? "<=" : "", is_over ? "-" : "+",
                 text_mib(is_over ? f->smallest_bytes - total : total - f->smallest_bytes, bytes));
    }
    terminal_table_add(rows, (const char *const[FIT_COLUMNS]){
                                 s->specs[i].typed, size, there->is_ok ? text_mib(there->bytes, reserved) : "OOM",
                                 there->is_ok ? text_count(there->calls, calls) : "-", margin, card });
}

static enum err print_table(FILE *out, const struct fit_answer *s, size_t columns)
{
    struct terminal_table rows = { .columns = fit_columns, .n_columns = FIT_COLUMNS, .bold_row = s->best };
    for (size_t i = 0; i < s->n; i++)
        add_row(&rows, s, i);
    return terminal_table_print(out, &rows, columns);
}

static void print_remarks(FILE *out, const struct fit_answer *s)
{
    char size[TEXT_NUMBER], larger[TEXT_NUMBER];
    struct words w = { .n = 0 };
    words_add_possible(&w, s->bounds.live_bytes, trace_info(s->trace)->peak_requested_bytes, s->bounds.plan_bytes, NULL,
                       0);
    words_print(out, &w, 0, 2);
    for (size_t i = 0; i < s->n; i++) {
        const struct fit *f = &s->fits[i];
        struct words note = { .n = 0 };
        if (f->smallest_bytes == 0)
            words_add(&note, "%s runs out of memory on all %zu cards tried, "
                             "even on one many times the size of its data.", s->specs[i].typed, f->n_tried);
        else if (!f->is_monotone)
            words_add(&note, "%s also runs on some cards from %s on, but runs out of memory on one of %s.",
                      s->specs[i].typed, text_mib(f->least_running_bytes, size),
                      text_mib(f->larger_failing_bytes, larger));
        if (note.n > 0)
            words_print(out, &note, 0, 2);
    }
}

enum { RECORDED_TEXT = 64 };

/* What leaks runs on a card only for so long. */
static const char *recorded_words(const struct fit_answer *s, char out[static RECORDED_TEXT])
{
    const uint64_t whole = s->coverage.steps.whole;
    out[0] = '\0';
    if (s->leak.n > 0 && whole > 1)
        snprintf(out, RECORDED_TEXT, " for the %" PRIu64 " whole steps recorded", whole);
    else if (s->leak.n > 0)
        snprintf(out, RECORDED_TEXT, " for what was recorded");
    return out;
}

/* The answer for one policy. */
static void print_only(FILE *out, const struct fit_answer *s)
{
    char a[TEXT_NUMBER], recorded[RECORDED_TEXT];
    const struct contender c = s->contenders[0];
    const struct fit *f = &s->fits[0];
    struct words w = { .n = 0 };
    text_card(f->smallest_bytes, a);
    if (fit_is_lower_bound(s))
        words_add(&w, "%s needs a card of at least %s, as far as recorded.", c.label, a);
    else
        words_add(&w, "%s runs on a card of %s%s%s%s%s.", c.label, a, recorded_words(s, recorded),
                  f->is_monotone ? "" : " and on every larger one that was tried",
                  f->card != NULL ? "; the smallest named card for it is " : "", f->card != NULL ? f->card->name : "");
    words_print(out, &w, 0, 2);
    fprintf(out, "\n");
}

static void print_best(FILE *out, const struct fit_answer *s)
{
    char a[TEXT_NUMBER], peak[TEXT_NUMBER], n[TEXT_NUMBER], time[TEXT_NUMBER];
    const size_t best = s->best;
    const bool is_bound = fit_is_lower_bound(s);
    struct words w = { .n = 0 };
    if (best == WINNER_NONE)
        return;
    if (s->n == 1) {
        print_only(out, s);
        return;
    }
    const struct contender c = s->contenders[best];
    const char *why = c.setting.own_order > 0 && c.is_ok ? winner_own_words(&c)
                    : s->n_alike > 1 ? "does as well as any" : "is best";
    words_add(&w, "%s %s%s: it %s a card of %s%s. ", c.label, why,
              is_bound ? " as far as recorded" : "", is_bound ? "needs" : "runs on", is_bound ? "at least " : "",
              text_card(s->fits[best].smallest_bytes, a));
    if (c.is_ok)
        words_add(&w, "On %s it takes %s at its peak, at the cost of %s driver call%s, about %s.",
                  s->card_name != NULL ? s->card_name : "this card", text_mib(c.bytes, peak), text_count(c.calls, n),
                  c.calls == 1 ? "" : "s", text_time(c.time_ns, time));
    winner_say_alike(&w, s->contenders, s->n, s->asked.price_bytes_per_ms);
    if (c.setting.own_order == 0) {
        words_add(&w, " There policies compare; ");
        winner_say_price(&w, s->asked.price_bytes_per_ms);
        words_add(&w, ".");
    }
    words_print(out, &w, 0, 2);
    fprintf(out, "\n");
}

/* PyTorch takes other kernels on another class of card. A simulated card's recording tells its class. */
static void add_other_class(struct words *w, const struct fit_answer *s)
{
    const char *recorded = trace_meta(s->trace, TRACE_META_CAPABILITY);
    char asked[CAPABILITY_TEXT];
    (void)capability_text(device_found(&s->device.config).capability, asked);
    if (s->device.context_source == NULL || trace_meta(s->trace, TRACE_META_RELEASE) == NULL ||
        (recorded != NULL && strcmp(recorded, asked) == 0))
        return;
    words_add(w, "%s", w->n > 0 ? " " : "");
    if (recorded != NULL)
        words_add(w, "It was recorded for compute capability %s, and %s has %s: ", recorded, s->device.typed, asked);
    else
        words_add(w, "Requests are those of the card it was recorded on. If that is of another class than %s, ",
                  s->device.typed);
    words_add(w, "PyTorch may take other kernels there, which need more or less: `replay predict --device %s -- python "
                 "PROGRAM` tells.", s->device.typed);
}

/* Of policies that fit a plain size, those that do not fit a card that is sold with it. */
static void add_sold(struct words *w, const struct fit_answer *s)
{
    uint64_t left;
    char size[UNITS_TEXT];
    if (device_sold(&s->device, &left) == NULL)
        return;
    for (size_t i = 0; i < s->n; i++)
        if (s->fits[i].smallest_bytes > left && s->fits[i].smallest_bytes <= s->device.config.total_bytes)
            words_add(w, " %s needs %s, so it does not run there.", s->specs[i].typed,
                      units_format_bytes(s->fits[i].smallest_bytes, size));
}

/* What was set aside on the card given, and on the named cards. */
static void print_context(FILE *out, const struct fit_answer *s)
{
    char text[WORDS_CONTEXT], size[UNITS_TEXT];
    struct words w = { .n = 0 };
    device_say_context(&s->device, text, sizeof text);
    if (text[0] != '\0')
        words_add(&w, "%s", text);
    add_sold(&w, s);
    for (size_t i = 0; i < s->n && text[0] == '\0' && !fit_is_lower_bound(s); i++)
        if (s->device.takes_contexts && s->fits[i].card_context_bytes > 0 && w.n == 0)
            words_add(&w, "On %s about %s are set aside for the CUDA context and libraries (context=, doc/limits.md).",
                      s->fits[i].card->name, units_format_bytes(s->fits[i].card_context_bytes, size));
    for (size_t i = 0; i < s->n && !fit_is_lower_bound(s); i++)
        if (s->fits[i].is_tight)
            words_add(&w, "%s%s is tight on %s: beside the largest context seen there, %s, it would not run.",
                      w.n > 0 ? " " : "", s->specs[i].typed, s->fits[i].card->name,
                      units_format_bytes(card_context_of(s->fits[i].card->name)->most_bytes, size));
    add_other_class(&w, s);
    if (w.n > 0)
        words_print(out, &w, 0, 2);
}

static void print_sentence(FILE *out, const char *text)
{
    struct words w = { .n = 0 };
    words_add(&w, "%s", text);
    if (w.n > 0)
        words_print(out, &w, 0, 2);
}

static void print_engine(FILE *out, const struct fit_answer *s)
{
    const char *engine = recorded_spread_engine(s->trace);
    for (size_t i = 0; i < s->n && engine != NULL; i++)
        if (strstr(s->specs[i].typed, "expandable_segments:True") != NULL) {
            struct words w = { .n = 0 };
            words_add(&w, "%s is no choice for %s: %s.", s->specs[i].typed, engine, SPREAD_ENGINE_WHY);
            words_print(out, &w, 0, 2);
        }
}

/* Of cards that share the host's memory, and of policies whose setting does not exist on the platform. */
static void print_places(FILE *out, const struct fit_answer *s)
{
    char text[WORDS_CONTEXT];
    const char *reason;
    const struct device_model *given = s->device.has_total ? s->device.config.model : NULL;
    const enum platform named = s->device.platform;
    const enum platform p = named != PLATFORM_UNKNOWN ? named : recorded_platform(s->trace);
    device_say_shared(given != NULL ? given->name : NULL, text, sizeof text);
    for (size_t i = 0; i < s->n && text[0] == '\0'; i++)
        device_say_shared(s->fits[i].card != NULL ? s->fits[i].card->name : NULL, text, sizeof text);
    print_sentence(out, text);
    if (!s->device.has_total && device_card_at(s->device.card_platform, 0) == NULL) {
        struct words w = { .n = 0 };
        words_add(&w, "No card of %s has a name here: go by the size.", platform_words(s->device.card_platform));
        words_print(out, &w, 0, 2);
    }
    for (size_t i = 0; i < s->n; i++)
        if (p != PLATFORM_UNKNOWN && strstr(s->specs[i].typed, "expandable_segments:True") != NULL &&
            !platform_has_setting(p, "expandable_segments", &reason)) {
            struct words w = { .n = 0 };
            words_add(&w, "%s is no choice on %s: %s.", s->specs[i].typed, platform_words(p), reason);
            words_print(out, &w, 0, 2);
        }
}

/* The answer that is filled in stands by itself: none of it was recorded. */
static enum err print_filled(FILE *out, const struct fit_answer *s)
{
    struct words w = { .n = 0 };
    if (!s->filled[0].is_known)
        return ERR_OK;
    const char **whose = calloc(s->n, sizeof *whose);
    if (whose == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < s->n; i++)
        whose[i] = s->specs[i].typed;
    filled_step_say(&w, s->filled, whose, s->n, steps_leak(&s->coverage.steps), NULL);
    words_print(out, &w, 0, 2);
    free(whose);
    return ERR_OK;
}

/* Smallest cards are bare sizes unless a card was named; the peaks beside them are of the card that decides. */
static void print_sizes(FILE *out, const struct fit_answer *s)
{
    const char *name;
    char text[WORDS_CONTEXT];
    struct words w = { .n = 0 };
    (void)fit_deciding_card(s, &name);
    device_say_smallest(&s->device, text, sizeof text);
    words_add(&w, "%s", text);
    if (name != NULL)
        words_add(&w, " Peaks of the card are those of %s, with them.", name);
    words_print_screen(out, &w);
}

/* How a program is told to do as a policy does, if a shell tells it. */
static void print_variables(FILE *out, const struct fit_answer *s)
{
    char variables[POLICY_VARIABLES];
    for (size_t i = 0; i < s->n; i++) {
        struct words w = { .n = 0 };
        if (policy_variables(s->specs[i].typed, variables)[0] == '\0')
            continue;
        words_add(&w, "%s: %s", s->specs[i].typed, variables);
        words_print(out, &w, 0, 2);
    }
}

enum err fit_answer_print(FILE *out, const struct fit_answer *s, size_t columns)
{
    coverage_print(out, &s->coverage);
    fresh_start_print(out, s->trace);
    first_step_print(out, &s->first);
    growth_warning_print(out, &s->leak);
    print_best(out, s);
    return fit_answer_print_tried(out, s, columns);
}

enum err fit_answer_print_tried(FILE *out, const struct fit_answer *s, size_t columns)
{
    const enum err e = print_table(out, s, columns);
    print_variables(out, s);
    print_sizes(out, s);
    fprintf(out, "\n");
    print_filled(out, s);
    print_context(out, s);
    print_places(out, s);
    print_engine(out, s);
    print_remarks(out, s);
    return e;
}

/* ---- JSON ---- */

struct shown_context {
    uint64_t    bytes;
    const char *source;                          /* NULL: nothing is set aside */
};

/* What is set aside on the named card, or without one on the card given; and where the figure is from. */
static struct shown_context context_of(const struct fit_answer *s, const struct fit *f)
{
    const struct device_choice *d = &s->device;
    const bool is_named = f->card != NULL && !fit_is_lower_bound(s);
    const struct card_context *c = is_named && d->takes_contexts ? card_context_of(f->card->name) : NULL;
    const bool is_given = c == NULL || (d->context_source != NULL && f->card->total_bytes == d->config.total_bytes);
    return (struct shown_context){
        .bytes  = is_given ? d->config.context_bytes : f->card_context_bytes,
        .source = is_given && d->context_source != NULL    ? d->context_source
                : c != NULL && f->card_context_bytes > 0   ? c->source
                : d->config.context_bytes > 0              ? "context= of --device"
                                                           : NULL,
    };
}

void fit_answer_write_json(FILE *out, const struct fit_answer *s, const char *path)
{
    char variables[POLICY_VARIABLES];
#define ANSWER_TABLE "answers/fit.def"
#include "answers/as_json.def"
}
