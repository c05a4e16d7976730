/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Prints which version raised the peak: the answer, what grew, how it was found. */
#include "dryrun/bisect/bisected.h"

#include "base/shown.h"
#include "base/terminal.h"
#include "report/text/json_writer.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <string.h>

enum { LINES_SHOWN = 6, OTHERS_SHOWN = 4, CANDIDATES_SHOWN = 12 };

static const char *const ends[] = { [BISECT_NAMED] = "named", [BISECT_OPEN] = "open",
                                    [BISECT_NOT_HIGHER] = "not higher", [BISECT_INTERRUPTED] = "interrupted" };

static bool is_of_package(const struct bisected *b)
{
    return b->asked.versions.package != NULL;
}

static const char *kind_of(const struct bisected *b, size_t n)
{
    return is_of_package(b) ? (n == 1 ? "release" : "releases") : n == 1 ? "commit" : "commits";
}

/* ---- sentences ---- */

/* "3f2a1bc4d5e6", "peft 0.12.0" */
static void add_name(struct words *w, const struct bisected *b, size_t version)
{
    char name[VERSION_NAME];
    history_name(&b->history, version, name);
    if (is_of_package(b))
        words_add(w, "%.80s %s", b->asked.versions.package, name);
    else
        words_add(w, "%s", name);
}

static void add_peak(struct words *w, const struct version_peak *v)
{
    char bytes[TEXT_NUMBER];
    words_add(w, "%s%s", v->grows ? "at least " : "", text_mib(v->peak_bytes, bytes));
}

static void say_named(struct words *w, const struct bisected *b)
{
    const struct version_peak *after = &b->at[b->bisection.high], *before = bisected_peak(b, b->before);
    words_add(w, is_of_package(b) ? "" : "Commit ");
    add_name(w, b, b->bisection.high);
    words_add(w, " raised the peak: ");
    add_peak(w, after);
    words_add(w, " with it, ");
    add_peak(w, before);
    words_add(w, " before");
    if (before->peak_bytes > 0 && after->peak_bytes > before->peak_bytes)
        words_add(w, " (+%.1f%%)", 100 * (double)(after->peak_bytes - before->peak_bytes) / (double)before->peak_bytes);
    words_add(w, after->grows ? ", and its memory grows with each step." : ".");
}

static void say_not_higher(struct words *w, const struct bisected *b)
{
    const struct version_peak *bad = &b->at[b->history.n - 1];
    words_add(w, bad->peak_bytes > b->good->peak_bytes ? "The peak rose by no more than counts: "
                 : bad->peak_bytes < b->good->peak_bytes ? "The peak did not rise, it fell: "
                                                        : "The peak did not rise: ");
    add_peak(w, b->good);
    words_add(w, " at ");
    add_name(w, b, SIZE_MAX);
    words_add(w, ", ");
    add_peak(w, bad);
    words_add(w, " at ");
    add_name(w, b, b->history.n - 1);
    words_add(w, ".");
    if (bad->peak_bytes > b->good->peak_bytes)
        words_add(w, " --more-than 0%% looks for any rise.");
}

static void say_open(struct words *w, const struct bisected *b)
{
    const size_t n = b->bisection.n > 0 ? b->bisection.n_candidates : b->history.n;
    char count[TEXT_NUMBER];
    if (b->end == BISECT_INTERRUPTED)
        words_add(w, "Interrupted. ");
    words_add(w, "One of %s %s raised the peak", text_count(n, count), kind_of(b, n));
    words_add(w, b->end == BISECT_OPEN ? "; which one is not known, because all but the last of them did not run."
                                       : "; those in the middle are still to be tried.");
}

static void say_answer(FILE *out, const struct bisected *b)
{
    struct words w = { .n = 0 };
    if (b->end == BISECT_NAMED)
        say_named(&w, b);
    else if (b->end == BISECT_NOT_HIGHER)
        say_not_higher(&w, b);
    else
        say_open(&w, b);
    words_print_screen(out, &w);
}

/* ---- versions ---- */

static void put_version(FILE *out, const struct bisected *b, size_t version, const char *more)
{
    const struct version *v = history_version(&b->history, version);
    struct words w = { .n = 0 };
    words_add(&w, "  ");
    add_name(&w, b, version);
    if (!is_of_package(b))
        words_add(&w, "  %.10s  %.40s  %.120s", v->day, v->author, v->subject);
    words_add(&w, "%s%.120s", more[0] != '\0' ? ": " : "", more);
    shown_put(out, w.text);
    fputc('\n', out);
}

static void put_candidates(FILE *out, const struct bisected *b)
{
    size_t shown = 0;
    for (size_t i = 0; i < b->bisection.n; i++) {
        if (!b->bisection.is_candidate[i] || shown++ >= CANDIDATES_SHOWN)
            continue;
        put_version(out, b, i, b->at[i].reason);
    }
    if (shown > CANDIDATES_SHOWN)
        fprintf(out, "  and %zu more (--json)\n", shown - CANDIDATES_SHOWN);
}

/* ---- what grew ---- */

static enum err put_rows(FILE *out, const struct grown_rows *rows, const char *title, size_t most)
{
    const struct text_column columns[] = { { .title = title, .is_left = true }, { .title = "before" },
                                           { .title = "after" }, { .title = "more" } };
    struct terminal_table t = { .columns = columns, .n_columns = 4, .bold_row = SIZE_MAX };
    for (size_t i = 0; i < rows->n && i < most; i++) {
        const struct grown_row *r = &rows->at[i];
        const bool is_more = r->after_bytes >= r->before_bytes;
        char before[TEXT_NUMBER], after[TEXT_NUMBER], bytes[TEXT_NUMBER], more[TEXT_NUMBER + 1];
        snprintf(more, sizeof more, "%c%s", is_more ? '+' : '-',
                 text_mib(is_more ? r->after_bytes - r->before_bytes : r->before_bytes - r->after_bytes, bytes));
        terminal_table_add(&t, (const char *const[]){ r->name, text_mib(r->before_bytes, before),
                                                      text_mib(r->after_bytes, after), more });
    }
    if (rows->n == 0)
        return ERR_OK;
    fputc('\n', out);
    return terminal_table_print(out, &t, TERMINAL_USUAL);
}

static enum err put_grown(FILE *out, const struct bisected *b)
{
    const struct what_grew *g = &b->grew;
    char before[TEXT_NUMBER], after[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (!g->is_known)
        return ERR_OK;
    if (g->before_bytes == g->after_bytes)
        words_add(&w, "The program requests as much as before at its peak, %s: the allocator reserves more, because "
                  "sizes or the order of requests changed.", text_mib(g->after_bytes, after));
    else
        words_add(&w, "What it has requested when that is most, %s before and %s after:",
                  text_mib(g->before_bytes, before), text_mib(g->after_bytes, after));
    fputc('\n', out);
    words_print_screen(out, &w);
    enum err e = put_rows(out, &g->lines, "line", LINES_SHOWN);
    if (e == ERR_OK)
        e = put_rows(out, &g->categories, "category", OTHERS_SHOWN);
    return e == ERR_OK ? put_rows(out, &g->modules, "module", OTHERS_SHOWN) : e;
}

/* ---- how it was found ---- */

/* What the named version does not account for, and how to ask about it. */
static void say_left(struct words *w, const struct bisected *b)
{
    const struct rise_left left = b->end == BISECT_NAMED ? bisected_left(b) : (struct rise_left){ 0, 0 };
    char bytes[TEXT_NUMBER], a[VERSION_NAME], c[VERSION_NAME];
    if (left.before_bytes > 0)
        words_add(w, "The peak had risen by %s before: --good %s --bad %s finds where. ",
                  text_mib(left.before_bytes, bytes), history_name(&b->history, SIZE_MAX, a),
                  history_name(&b->history, b->before, c));
    if (left.after_bytes > 0)
        words_add(w, "It rises by %s again after it: --good %s --bad %s finds where. ",
                  text_mib(left.after_bytes, bytes), history_name(&b->history, b->bisection.high, a),
                  history_name(&b->history, b->history.n - 1, c));
}

static void say_rule(struct words *w, const struct bisected *b)
{
    char bytes[TEXT_NUMBER];
    if (b->threshold.is_typed)
        words_add(w, "A peak above %s counts as raised (--more-than).", text_mib(b->none_above, bytes));
    else if (b->end == BISECT_NOT_HIGHER)
        words_add(w, "A rise of up to 1%% counts as none (--more-than).");
    else
        words_add(w, "A peak counts as raised if it is above %s, nearer to that of the bad %s (--more-than).",
                  text_mib(b->low_limit, bytes), kind_of(b, 1));
}

static void say_runs(struct words *w, const struct bisected *b)
{
    char n[TEXT_NUMBER], all[TEXT_NUMBER];
    words_add(w, "Of %s %s, the good one among them, %s %s tried", text_count(b->history.n + 1, all),
              kind_of(b, 2), text_count(b->n_runs, n), b->n_runs == 1 ? "was" : "were");
    if (b->n_not_run > 0)
        words_add(w, "; %s of them did not run, and %s left out", text_count(b->n_not_run, n),
                  b->n_not_run == 1 ? "was" : "were");
    words_add(w, ". ");
}

/* The ends, what is not known of the search, the card. */
static void say_basis(FILE *out, const struct bisected *b)
{
    struct words w = { .n = 0 };
    say_left(&w, b);
    if (b->end != BISECT_NOT_HIGHER) {
        words_add(&w, "The good %s has ", kind_of(b, 1));
        add_peak(&w, b->good);
        words_add(&w, ", the bad one ");
        add_peak(&w, &b->at[b->history.n - 1]);
        words_add(&w, ". ");
    }
    say_runs(&w, b);
    say_rule(&w, b);
    words_add(&w, " The peak is what %s at most, as replay predict expects it%s%s.",
              b->good->is_of_jax ? "JAX's allocator holds" : "is reserved",
              b->asked.device != NULL ? " on " : "", b->asked.device != NULL ? b->asked.device : "");
    if (b->history.is_dirty)
        words_add(&w, " Changes of your tree that are in no commit were not tried.");
    fputc('\n', out);
    words_print_screen(out, &w);
}

enum err bisected_print(FILE *out, const struct bisected *b)
{
    enum err e = ERR_OK;
    say_answer(out, b);
    if (b->end == BISECT_NAMED && !is_of_package(b)) {
        fputc('\n', out);
        put_version(out, b, b->bisection.high, "");
    }
    if (b->end == BISECT_OPEN) {
        fputc('\n', out);
        put_candidates(out, b);
    }
    if (b->end == BISECT_NAMED)
        e = put_grown(out, b);
    if (e == ERR_OK)
        say_basis(out, b);
    return e;
}

/* ---- JSON ---- */

/* A version with what became of it. */
struct version_at {
    const struct bisected *b;
    size_t version;
};

static void bisected_version_json(struct json_writer *json, const struct version_at *at)
{
    const struct version *v = history_version(&at->b->history, at->version);
    const struct version_peak *peak = bisected_peak(at->b, at->version);
#define ANSWER_TABLE "answers/bisected_version.def"
#include "answers/as_json.def"
}

static void grown_row_json(struct json_writer *json, const struct grown_row *r)
{
#define ANSWER_TABLE "answers/grown_row.def"
#include "answers/as_json.def"
}

void bisected_write_json(FILE *out, const struct bisected *b)
{
    const bool is_named = b->end == BISECT_NAMED;
    const struct rise_left left = is_named ? bisected_left(b) : (struct rise_left){ 0, 0 };
    const struct what_grew *g = &b->grew;
#define ANSWER_TABLE "answers/bisect.def"
#include "answers/as_json.def"
}
