/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A report in sentences: who wins, what the winner's memory is spent on, what is possible, what failed, assumptions. */
#include "base/text_stream.h"
#include "base/units.h"
#include "report/rows/report.h"
#include "report/text/text.h"
#include "report/rows/winner.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- who wins ---- */

static struct contender contender_of(const struct report *r, const struct report_run *run)
{
    const struct meter *m = run->meter;
    struct contender c = {
        .setting = { .is_default = policy_spec_is_default(run->spec), .n_changed = policy_spec_changes(run->spec),
                     .typed = run->spec->typed },
        .label   = run->label,
        .is_ok   = run->outcome == REPORT_OK,
        .is_oom  = run->outcome == REPORT_OOM,
        .bytes   = run->card_peak_bytes,
        .card_bytes = run->device_config->total_bytes,
        .time_ns = run->usage->time_ns,
        .calls   = run->usage->calls,
        .in_use_percent = m->peak.reserved > 0 ? 100 * (double)m->peak.active / (double)m->peak.reserved : 100,
    };
    simplicity_take_own(&c.setting, run->spec->typed, r->trace.source);
    return c;
}

/* As winner_of, without memory for all of them. */
size_t report_best(const struct report *r)
{
    const uint64_t price = r->setup.price_bytes_per_ms;
    struct contender lowest = { .is_ok = false }, best = { .is_ok = false };
    size_t found = WINNER_NONE;
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct contender c = contender_of(r, &r->runs[i]);
        if (c.is_ok && (!lowest.is_ok || winner_compare(&c, &lowest, price) < 0))
            lowest = c;
    }
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct contender c = contender_of(r, &r->runs[i]);
        if (!winner_is_alike(&c, &lowest, price) || (found != WINNER_NONE && !winner_is_simpler(&c, &best, price)))
            continue;
        best = c;
        found = i;
    }
    return found;
}

static enum err print_winner(FILE *out, const struct report *r)
{
    struct words w = { .n = 0 };
    struct contender *all = calloc(r->n_runs, sizeof *all);
    if (all == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < r->n_runs; i++)
        all[i] = contender_of(r, &r->runs[i]);
    winner_say(&w, all, r->n_runs, r->setup.price_bytes_per_ms, r->n_runs);
    words_print(out, &w, 0, 2);
    free(all);
    return ERR_OK;
}

/* What the winner's memory was spent on when it had reserved most. */
static void print_losses(FILE *out, const struct report_run *best)
{
    struct words w = { .n = 0 };
    const struct meter *m = best->meter;
    words_add_losses(&w, &(struct losses){
        .reserved = m->at_peak.reserved, .requested = m->at_peak.requested, .internal = report_internal_bytes(m),
        .external = report_external_bytes(m), .inactive_split = m->at_peak_sample.inactive_split,
        .has_ranges = report_has_ranges(best),
    });
    words_print(out, &w, 0, 2);
}

/* A run that served all and only ever took segments is a plan, too: its segments, one after the other. */
static uint64_t least_plan_bytes(const struct report *r)
{
    uint64_t least = r->trace.offline_plan_bytes;
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct report_run *run = &r->runs[i];
        const bool is_plan = run->outcome == REPORT_OK && run->meter->ooms == 0 &&
                             run->usage->calls == run->usage->segment_allocs;
        if (is_plan && run->meter->peak.reserved < least)
            least = run->meter->peak.reserved;
    }
    return least;
}

static void print_possible(FILE *out, const struct report *r, const struct report_run *best)
{
    const struct report_trace *t = &r->trace;
    const bool is_compared = best != NULL && best->meter->peak.reserved >= t->live_peak_bytes;
    struct words w = { .n = 0 };
    words_add_possible(&w, t->live_peak_bytes, t->peak_requested_bytes, least_plan_bytes(r),
                       is_compared ? best->spec->typed : NULL, is_compared ? best->meter->peak.reserved : 0);
    words_print(out, &w, 0, 2);
}

/* ---- refusals ---- */

/* What is printed of a run under the name `who`, which may stand for several runs. */
typedef void (*run_print)(FILE *out, const struct report *r, const struct report_run *run, const char *who);

static void print_oom(FILE *out, const struct report *r, const struct report_run *run, const char *who)
{
    struct words w = { .n = 0 };
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], n[TEXT_NUMBER];
    const struct meter *m = run->meter;
    if (m->ooms == 0)
        return;
    words_add(&w, "%s ran out of memory ", who);
    if (run->first_oom_event < 0)
        words_add(&w, "before the first event");
    else
        words_add(&w, "at %s %" PRId64, report_event_word(r), run->first_oom_event);
    words_add(&w, ": %s asked for, %s reserved, %s free on the device; ",
              units_format_bytes(m->first_oom.requested_bytes, a), units_format_bytes(m->first_oom.reserved_bytes, b),
              units_format_bytes(m->first_oom.device_free_bytes, c));
    if (run->is_stopped)
        words_add(&w, "the run stopped there%s.", run->first_oom_event < 0 ? "" : " (--on-oom skip goes on)");
    else
        words_add(&w, "the run went on, requests refused in all: %s.", text_count(m->ooms, n));
    words_print(out, &w, 0, 2);
}

/* What the program would read, under the first policy that refuses a request: the others differ in figures only. */
static void print_refusal_text(FILE *out, const struct report *r)
{
    struct words w = { .n = 0 };
    size_t i = 0;
    while (i < r->n_runs && r->runs[i].meter->first_oom.refusal.text[0] == '\0')
        i++;
    if (i == r->n_runs)
        return;
    words_add(&w, "The program sees, under %s: %s", r->runs[i].label, r->runs[i].meter->first_oom.refusal.text);
    words_print(out, &w, 0, 2);
}

static void print_explanation(FILE *out, const struct report *r, const struct report_run *run, const char *who)
{
    struct explain_names names = r->names;
    names.event_word = report_event_word(r);
    if (run->at_event != NULL)
        explain_words(out, run->at_event, who, &names);
    if (run->at_oom != NULL)
        explain_words(out, run->at_oom, who, &names);
}

/* What is printed of a run, as a text of its own; NULL without memory for it. Freed by the caller. */
static char *printed(const struct report *r, const struct report_run *run, const char *who, run_print print)
{
    struct text_stream to;
    if (text_stream_open(&to) != NULL)
        print(to.file, r, run, who);
    return text_stream_take(&to);
}

/* Prints each text for all runs that share it. */
static void print_shared(FILE *out, const struct report *r, char **texts, run_print print)
{
    for (size_t i = 0; i < r->n_runs; i++) {
        struct words who = { .n = 0 };
        if (texts[i][0] == '\0')
            continue;
        words_add(&who, "%s", r->runs[i].label);
        for (size_t k = i + 1; k < r->n_runs; k++)
            if (strcmp(texts[i], texts[k]) == 0) {
                words_add(&who, ", %s", r->runs[k].label);
                texts[k][0] = '\0';
            }
        print(out, r, &r->runs[i], who.text);
    }
}

/* Prints each run's text; runs that differ in nothing but their names share one. */
static enum err print_alike_once(FILE *out, const struct report *r, run_print print)
{
    char **texts = calloc(r->n_runs, sizeof *texts);
    bool is_whole = texts != NULL;
    for (size_t i = 0; is_whole && i < r->n_runs; i++)
        is_whole = (texts[i] = printed(r, &r->runs[i], "", print)) != NULL;
    if (is_whole)
        print_shared(out, r, texts, print);
    for (size_t i = 0; texts != NULL && i < r->n_runs; i++)
        free(texts[i]);
    free(texts);
    return is_whole ? ERR_OK : ERR_HOST_NOMEM;
}

/* ---- what the result rests on ---- */

static const struct report_lines *run_lines(const struct report_run *run, bool is_warning)
{
    return is_warning ? &run->warnings : &run->assumptions;
}

static bool run_has_line(const struct report_run *run, bool is_warning, const char *text)
{
    const struct report_lines *lines = run_lines(run, is_warning);
    for (size_t i = 0; i < lines->n; i++)
        if (strcmp(lines->at[i], text) == 0)
            return true;
    return false;
}

/* Prints a sentence, and which policies it is about unless it is about all. Prints nothing if an earlier run had it. */
static void print_remark(FILE *out, const struct report *r, size_t run, bool is_warning, const char *text)
{
    struct words w = { .n = 0 };
    size_t n = 0;
    for (size_t i = 0; i < r->n_runs; i++)
        n += run_has_line(&r->runs[i], is_warning, text);
    for (size_t i = 0; i < run; i++)
        if (run_has_line(&r->runs[i], is_warning, text))
            return;
    words_add(&w, "%s %s", is_warning ? "Warning:" : "-", text);
    const char *separator = " [";
    for (size_t i = run; n < r->n_runs && i < r->n_runs; i++) {
        if (!run_has_line(&r->runs[i], is_warning, text))
            continue;
        words_add(&w, "%s%s", separator, r->runs[i].label);
        separator = ", ";
    }
    words_add(&w, "%s", n < r->n_runs ? "]" : "");
    words_print(out, &w, 0, 2);
}

static void print_remarks(FILE *out, const struct report *r, bool is_warning)
{
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct report_lines *lines = run_lines(&r->runs[i], is_warning);
        for (size_t k = 0; k < lines->n; k++)
            print_remark(out, r, i, is_warning, lines->at[k]);
    }
}

static bool has_assumptions(const struct report *r)
{
    for (size_t i = 0; i < r->n_runs; i++)
        if (r->runs[i].assumptions.n > 0)
            return true;
    return false;
}

/* Whether the recorded program survived all refused requests, and no run was asked to. */
static bool is_known_survivor(const struct report *r)
{
    return r->trace.survived > 0 && r->trace.survived == r->trace.refusals && strcmp(r->setup.on_oom, "stop") == 0;
}

enum err report_answer(FILE *out, const struct report *r)
{
    if (report_best(r) != WINNER_NONE)
        return print_winner(out, r);
    fprintf(out, "No policy got through this trace on this device.%s\n",
            is_known_survivor(r) ? "\nThe program went on when it was refused; with --on-oom skip a policy does, too."
                                 : "");
    return ERR_OK;
}

enum err report_reasons(FILE *out, const struct report *r)
{
    const size_t best_run = report_best(r);
    const struct report_run *best = best_run != WINNER_NONE ? &r->runs[best_run] : NULL;
    if (best != NULL)
        print_losses(out, best);
    print_possible(out, r, best);
    enum err e = print_alike_once(out, r, print_oom);
    print_refusal_text(out, r);
    if (e == ERR_OK)
        e = print_alike_once(out, r, print_explanation);
    print_remarks(out, r, true);
    if (has_assumptions(r))
        fprintf(out, "\nAssumed:\n");
    print_remarks(out, r, false);
    return e;
}
