/* What a report's numbers mean, in sentences: who needs least and at what price, where it goes, what failed, and what
 * the result rests on. */
#include "base/units.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* ---- which run to recommend ---- */

/* Modelled driver time that is not worth a word beside the least of all runs. */
static bool run_is_cheap(const struct report_run *run, uint64_t least_ns)
{
    return run->usage->time_ns <= 10 * least_ns + 1000000;
}

static uint64_t least_driver_time(const struct report *r)
{
    uint64_t least = UINT64_MAX / 16;
    for (size_t i = 0; i < r->n_runs; i++)
        if (r->runs[i].outcome == REPORT_OK && r->runs[i].usage->time_ns < least)
            least = r->runs[i].usage->time_ns;
    return least;
}

/* Less of the card, then less driver time, then fewer settings that are not the default. */
static bool run_is_better(const struct report_run *a, const struct report_run *b)
{
    if (a->card_peak_bytes != b->card_peak_bytes)
        return a->card_peak_bytes < b->card_peak_bytes;
    if (a->usage->time_ns != b->usage->time_ns)
        return a->usage->time_ns < b->usage->time_ns;
    return policy_spec_changes(a->spec) < policy_spec_changes(b->spec);
}

/* The best of the runs that got through without a high price in driver time. NULL: none got through. */
static const struct report_run *run_best(const struct report *r, uint64_t least_ns)
{
    const struct report_run *best = NULL;
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct report_run *run = &r->runs[i];
        if (run->outcome != REPORT_OK || !run_is_cheap(run, least_ns))
            continue;
        if (best == NULL || run_is_better(run, best))
            best = run;
    }
    return best;
}

/* ---- the two sentences ---- */

/* How the other runs compare with the best: "pow2 +31.2%, none -6.0% but 14,322 driver calls (6.4 s)". */
static void words_add_others(struct words *w, const struct report *r, const struct report_run *best, uint64_t least_ns)
{
    char n[TEXT_NUMBER], t[TEXT_NUMBER];
    const double base = (double)best->card_peak_bytes;
    const char *separator = ";";
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct report_run *run = &r->runs[i];
        if (run == best)
            continue;
        words_add(w, "%s %s ", separator, run->label);
        separator = ",";
        if (run->outcome == REPORT_OOM)
            words_add(w, "runs out of memory");
        else if (run->outcome != REPORT_OK)
            words_add(w, "fails");
        else if (run->card_peak_bytes == best->card_peak_bytes)
            words_add(w, "the same");
        else
            words_add(w, "%+.1f%%", 100 * ((double)run->card_peak_bytes - base) / (base > 0 ? base : 1));
        if (run->outcome == REPORT_OK && !run_is_cheap(run, least_ns))
            words_add(w, ", but for %s driver calls, about %s", text_count(run->usage->calls, n),
                      text_time(run->usage->time_ns, t));
    }
    words_add(w, ".");
}

/* What the best is best at: another run may need less memory for many more driver calls. */
static const char *winner_claim(const struct report *r, const struct report_run *best)
{
    if (r->n_runs == 1)
        return "takes ";
    for (size_t i = 0; i < r->n_runs; i++)
        if (r->runs[i].outcome == REPORT_OK && r->runs[i].card_peak_bytes < best->card_peak_bytes)
            return "needs least memory of those that spare the driver: ";
    return "needs least memory: ";
}

/* Who needs least memory, and at what price. */
static void print_winner(FILE *out, const struct report *r, const struct report_run *best, uint64_t least_ns)
{
    struct words w = { .n = 0 };
    char a[UNITS_TEXT], n[TEXT_NUMBER], t[TEXT_NUMBER];
    const struct meter *m = best->meter;
    words_add(&w, "%s %s%s of the card at its peak, %.0f%% of what it reserves in use, for %s driver calls, about %s",
              best->label, winner_claim(r, best),
              units_format_bytes(best->card_peak_bytes, a),
              m->peak.reserved > 0 ? 100 * (double)m->peak.active / (double)m->peak.reserved : 100,
              text_count(best->usage->calls, n), text_time(best->usage->time_ns, t));
    words_add_others(&w, r, best, least_ns);
    words_print(out, &w, 0, 2);
}

/* Where that run's memory went. */
static void print_losses(FILE *out, const struct report *r, const struct report_run *best)
{
    struct words w = { .n = 0 };
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT], e[UNITS_TEXT], n[TEXT_NUMBER];
    const struct meter *m = best->meter;
    const int64_t internal = report_internal_bytes(m);
    words_add(&w,
              "Of the %s it then had reserved (%s), %s answered requests, %s went to rounding (internal) "
              "and %s were held unallocated (external), %s of that %s.",
              units_format_bytes(m->at_peak.reserved, a), text_event(report_event_word(r), best->peak_event, n),
              units_format_bytes(m->at_peak.requested, b), units_format_bytes(internal > 0 ? (uint64_t)internal : 0, c),
              units_format_bytes(report_external_bytes(m), d), units_format_bytes(m->at_peak_sample.inactive_split, e),
              report_has_ranges(best) ? "in segments in use, of which whole free pages can be given back"
                                      : "pinned: free parts of segments in use, which cannot be given back");
    words_print(out, &w, 0, 2);
}

static void print_possible(FILE *out, const struct report *r, const struct report_run *best)
{
    const struct report_trace *t = &r->trace;
    const bool is_compared = best != NULL && best->meter->peak.reserved >= t->live_peak_bytes;
    struct words w = { .n = 0 };
    words_add_possible(&w, t->live_peak_bytes, t->peak_requested_bytes, t->offline_plan_bytes,
                       is_compared ? best->spec->typed : NULL, is_compared ? best->meter->peak.reserved : 0);
    words_print(out, &w, 0, 2);
}

/* ---- refusals ---- */

static void print_oom(FILE *out, const struct report_run *run, const char *what)
{
    struct words w = { .n = 0 };
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], n[TEXT_NUMBER];
    const struct meter *m = run->meter;
    words_add(&w, "%s ran out of memory ", run->label);
    if (run->first_oom_event < 0)
        words_add(&w, "before the first event");
    else
        words_add(&w, "at %s %" PRId64, what, run->first_oom_event);
    words_add(&w, ": %s asked for, %s reserved, %s free on the device; ",
              units_format_bytes(m->first_oom.requested_bytes, a), units_format_bytes(m->first_oom.reserved_bytes, b),
              units_format_bytes(m->first_oom.device_free_bytes, c));
    if (run->is_stopped)
        words_add(&w, "the run stopped there%s.", run->first_oom_event < 0 ? "" : " (--on-oom skip goes on)");
    else
        words_add(&w, "the run went on, requests refused in all: %s.", text_count(m->ooms, n));
    if (m->first_oom.refusal.text[0] != '\0')
        words_add(&w, " The program sees: %s", m->first_oom.refusal.text);
    words_print(out, &w, 0, 2);
}

static void print_ooms(FILE *out, const struct report *r)
{
    for (size_t i = 0; i < r->n_runs; i++)
        if (r->runs[i].meter->ooms > 0)
            print_oom(out, &r->runs[i], report_event_word(r));
}

static void print_explanations(FILE *out, const struct report *r)
{
    struct explain_names names = r->names;
    names.event_word = report_event_word(r);
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct report_run *run = &r->runs[i];
        if (run->at_event != NULL)
            explain_words(out, run->at_event, run->label, &names);
        if (run->at_oom != NULL)
            explain_words(out, run->at_oom, run->label, &names);
    }
}

/* ---- what it rests on ---- */

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

/* A sentence, with the policies that it is about where these are not all. Said already for an earlier run: nothing. */
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

void report_words(FILE *out, const struct report *r)
{
    const uint64_t least_ns = least_driver_time(r);
    const struct report_run *best = run_best(r, least_ns);
    if (best != NULL) {
        print_winner(out, r, best, least_ns);
        print_losses(out, r, best);
    } else {
        fprintf(out, "No policy got through this trace on this device.\n");
    }
    print_possible(out, r, best);
    print_ooms(out, r);
    print_explanations(out, r);
    print_remarks(out, r, true);
    if (has_assumptions(r))
        fprintf(out, "\nAssumed:\n");
    print_remarks(out, r, false);
}
