/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Prints what was found out: the verdict, a row for each card, what is said once, what was assumed. */
#include "dryrun/prediction_text.h"

#include "base/terminal.h"
#include "base/units.h"
#include "replay/advise/settings_paste.h"
#include "replay/advise/nccl_buffers.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"
#include "report/text/terminal_table.h"
#include "sim/card_context.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { NAMES_SHOWN = 3, ASSUMPTIONS_MAX = 20, SENTENCE = 256 };

/* A program that asked for no memory for so long, and for this share of its time, waits for something. */
enum { QUIET_S = 3, QUIET_SHARE = 10 };

/* ---- what was assumed ---- */

struct assumptions {
    struct words at[ASSUMPTIONS_MAX];
    size_t n;
};

static struct words *assumption_add(struct assumptions *a)
{
    struct words *w = &a->at[a->n < ASSUMPTIONS_MAX - 1 ? a->n++ : a->n];
    *w = (struct words){ .n = 0 };
    return w;
}

/* Equal steps do not show what comes once in many of them. */
static void words_add_unseen(struct words *w, const struct predicted_run *run)
{
    const struct told_rhythm *rhythm = &run->rhythm;
    if (predicted_run_grows(run))
        return;
    words_add(w, " A leak that shows only once in more steps than these is not seen either");
    if (rhythm->unseen_turns > 0)
        words_add(w, ": %s does something once in %" PRIu64 " turns of the loop", rhythm->unseen_at,
                  rhythm->unseen_turns);
    words_add(w, ".");
}

static void assume_steps(struct words *w, const struct predicted_run *run)
{
    if (run->ran_to_end)
        words_add(w, "Once the program had made %" PRIu64 " equal steps (--steps), its loops were cut short, and it "
                  "went on to its end%s; --steps 0 runs them whole.", run->whole_steps,
                  run->turns_differ ? ". The turns of a loop differ, and not all were seen" : "");
    else if (run->ends_with_steps)
        words_add(w, "The program was stopped once it had made %" PRIu64 " equal steps (--steps). Nothing that asks "
                  "for memory stands after their loop in its source.", run->whole_steps);
    else if (run->was_followed)
        words_add(w, "Once the program had made %" PRIu64 " equal steps (--steps), its epoch was cut short. What "
                  "follows it (validation) was seen, what follows the last one was not; --steps 0 runs it to its end.",
                  run->whole_steps);
    else
        words_add(w, "The program was stopped once it had made %" PRIu64 " %s steps (--steps). What it does later "
                  "(validation, saving) was not seen; --steps 0 runs it to its end.", run->whole_steps,
                  predicted_run_grows(run) ? "growing" : "equal");
    words_add_unseen(w, run);
}

static void assume_end(struct assumptions *a, const struct prediction *p, const struct predicted_run *run)
{
    struct words *w = assumption_add(a);
    if (run->end == RUN_ENDED && run->status == 0 && *p->asked.interrupted != 0) {
        words_add(w, "predict was interrupted after a whole run of the program: what further runs would tell (a range, "
                  "other cards, a setting) is not known.");
        return;
    }
    switch (run->end) {
    case RUN_REPEATED:
        assume_steps(w, run);
        break;
    case RUN_TOO_LONG:
        words_add(w, "The program was stopped after %" PRIu64 " s (--within)", p->asked.within_s);
        if (run->whole_steps > 0)
            words_add(w, ", after %" PRIu64 " equal steps.", run->whole_steps);
        else if (run->quiet_s >= QUIET_S && run->quiet_s * QUIET_SHARE >= p->asked.within_s)
            words_add(w, ". It had asked for no memory for %" PRIu64 " s: it may wait for a value from the card, which "
                      "is zero. The figures are what was seen.", run->quiet_s);
        else
            words_add(w, ". It was still asking for memory and nothing repeats: it may loop on a value from the card, "
                      "which is zero. The figures are what was seen.");
        break;
    case RUN_INTERRUPTED:
        words_add(w, "The program was interrupted: the figures are what was seen so far.");
        break;
    case RUN_ENDED:
        words_add(w, run->status == 0 ? run->branches.loops.n > 0 ? "The program ended after a loop was cut (below)."
                                                                  : "The program ran to its end."
                                      : "The program ended by itself with status %d%s.", run->status,
                  run->is_refused ? ": it was refused memory" : "");
        break;
    }
}

/* Of a program that still grows the first line tells. */
static void assume_growth(struct assumptions *a, const struct predicted_run *run)
{
    char bytes[UNITS_TEXT];
    if (run->end == RUN_ENDED && run->growth.bytes_per_step > 0)
        words_add(assumption_add(a), "Live memory grew by %s a step: a longer run needs more (replay why).",
                  units_format_bytes(run->growth.bytes_per_step, bytes));
    if (run->growth.ignored_bytes > 0)
        words_add(assumption_add(a), "Live memory grows by %s a step, which is left out: it is less than 1%% in 1,000 "
                                     "steps.", units_format_bytes(run->growth.ignored_bytes, bytes));
}

static void words_add_adapting(struct words *w, const struct prediction *p, const struct predicted_row *row)
{
    const struct predicted_run *run = &p->runs[row->run].made;
    char bytes[UNITS_TEXT];
    if (run->survived > 0)
        words_add(w, "It adapts to the card: a request of %s was refused on %.60s, and the program went on",
                  units_format_bytes(run->refused_bytes, bytes), row->card);
    else if (run->jax.is_there)
        words_add(w, "JAX's allocator goes by the size of the card: on another card it may take more or less");
    else
        words_add(w, "It looks at how much memory the card has (%s): on another card it may take more or less",
                  run->branches.looked_at_memory);
}

/* Of one card alone the first line tells. */
static void assume_adapting(struct assumptions *a, const struct prediction *p, const struct predicted_row *row)
{
    const bool is_told = row != &p->rows[0] && row->is_known && p->runs[row->run].made.survived == 0;
    if (p->n_rows == 1 || is_told || !prediction_row_adapts(p, row))
        return;
    struct words *w = assumption_add(a);
    words_add_adapting(w, p, row);
    words_add(w, ".");
}

/* Of a program that printed nothing, how it ended is all that is known. */
static void assume_failure(struct assumptions *a, const struct predicted_run *run)
{
    if (run->has_failed && run->failure.line[0] != '\0')
        words_add(assumption_add(a), "The program failed: %s%s%s", run->failure.line,
                  run->failure.advice != NULL ? " - " : "", run->failure.advice != NULL ? run->failure.advice : "");
}

/* "24GiB (a10-24g)" */
static void words_add_row_card(struct words *w, const struct predicted_row *row)
{
    words_add(w, "%.60s", row->card);
    if (row->sold != NULL)
        words_add(w, " (%s)", row->sold->name);
}

static void assume_sold(struct assumptions *a, const struct predicted_row *row)
{
    char bytes[UNITS_TEXT];
    if (row->sold != NULL)
        words_add(assumption_add(a), "%.60s is taken for %s: of the cards sold with so much it shows least, %s. "
                  "%.*s,exactly is the bare size.", row->card, row->sold->name,
                  units_format_bytes(row->sold->total_bytes, bytes), (int)strcspn(row->card, ","), row->card);
}

static void assume_context(struct assumptions *a, const struct predicted_row *row)
{
    char bytes[UNITS_TEXT];
    const struct device_choice *d = &row->answer.device;
    if (d->context_source != NULL)
        words_add(assumption_add(a), "The CUDA context and libraries take %s of %s: %s.",
                  units_format_bytes(d->config.context_bytes, bytes), row->card, d->context_source);
}

static void assume_host(struct assumptions *a, const struct predicted_row *row)
{
    const struct device_model *model = row->answer.device.config.model;
    char text[SENTENCE];
    device_say_shared(model != NULL ? model->name : NULL, text, sizeof text);
    if (text[0] != '\0')
        words_add(assumption_add(a), "%s Beyond three quarters of its memory the answer is \"may fit\".", text);
}

static void assume_others(struct assumptions *a, const struct predicted_row *row, const struct predicted_run *run)
{
    char bytes[UNITS_TEXT];
    if (run->others.n == 1)
        words_add(assumption_add(a), "Another process was on its card at the same time. What it held at most is set "
                                     "aside: %s.", units_format_bytes(row->answer.others_bytes, bytes));
    else if (run->others.n > 1)
        words_add(assumption_add(a), "%u other processes were on its card at the same time. What each held at most is "
                                     "set aside, added up: %s.", run->others.n,
                  units_format_bytes(row->answer.others_bytes, bytes));
}

static void assume_workspaces(struct assumptions *a, const struct predicted_run *run)
{
    if (run->has_search)
        words_add(assumption_add(a), SEARCH_CAUTION);
    if (workspaces_asked_any(&run->workspaces))
        workspaces_asked_say(assumption_add(a), &run->workspaces);
}

/* What the first row may take, and what decides it. */
static void assume_range(struct assumptions *a, const struct predicted_row *row)
{
    if (!row->is_known || !peak_range_shows(&row->range))
        return;
    struct words *w = assumption_add(a);
    words_add(w, "What %.60s takes lies ", row->card);
    peak_range_say(w, &row->range);
    words_add(w, ".");
}

static void assume_sizes(struct assumptions *a, const struct predicted_run *run)
{
    if (run->branches.sizes.n == 0)
        return;
    struct words *w = assumption_add(a);
    unknown_sizes_say(w, &run->branches);
    words_add(w, ".");
}

/* The way that was taken, and whether another one was tried. */
static void assume_branches(struct assumptions *a, const struct prediction *p, const struct predicted_run *run)
{
    if (run->branches.places.n == 0)
        return;
    struct words *w = assumption_add(a);
    unknown_branches_say(w, &run->branches);
    for (size_t i = 0; i < p->n_runs; i++)
        if (p->runs[i].level == RUN_OTHER) {
            words_add(w, " Where it reads such numbers it was tried once more with falling ones%s. That is one other "
                      "way of many: with real numbers it may take more.",
                      p->rows[0].range.below_bytes[RANGE_BRANCHES] + p->rows[0].range.above_bytes[RANGE_BRANCHES] > 0
                          ? "" : ": the peak is the same");
            return;
        }
}

static void assume_loops(struct assumptions *a, const struct predicted_run *run)
{
    if (run->branches.loops.n > 0)
        ended_loops_say(assumption_add(a), &run->branches);
}

static void assumptions_make(const struct prediction *p, struct assumptions *a)
{
    const struct prediction_run *run = prediction_run_shown(p);
    a->n = 0;
    if (run == NULL)
        return;
    assume_end(a, p, &run->made);
    assume_growth(a, &run->made);
    assume_failure(a, &run->made);
    words_add(assumption_add(a), "%s", run->made.is_of_library
              ? "No kernel ran: values read from the card are zeros, and checks that guard an error pass. A program "
                "that branches on them may take another way."
              : "No kernel ran. Small tensors are computed beside the card; other values read from it are zeros, and a "
                "single number is 1e-6. A program that branches on them may take another way.");
    assume_loops(a, &run->made);
    assume_branches(a, p, &run->made);
    if ((run->made.jax.is_there || run->made.jax.mixed[0] != '\0') && !run->is_enlarged)
        jax_held_say(assumption_add(a), &run->made.jax);
    assume_range(a, &p->rows[0]);
    assume_sizes(a, &run->made);
    if (run->made.is_of_pytorch)
        words_add(assumption_add(a), "PyTorch%s%s's allocator, with %s.", p->release[0] != '\0' ? " " : "", p->release,
                  p->rows[0].policy != NULL ? p->rows[0].policy : "the program's own settings");
    else if (run->made.is_of_jax)
        words_add(assumption_add(a), "JAX's allocator (tf-bfc), with the program's own settings. What XLA's autotuner "
                                     "asks for is counted; on a card it may choose otherwise.");
    else
        words_add(assumption_add(a), "The program's calls to the driver: it does not use PyTorch's allocator.%s",
                  run->made.is_pooled ? " They go to the driver's pool (cudaMallocAsync), which is taken for that of "
                                        "an idle card." : "");
    if (run->made.n_recordings > 1) {
        words_add(assumption_add(a), "Of %u processes and cards, the figures are those of the one that held most.",
                  run->made.n_recordings);
        assume_others(a, &p->rows[0], &run->made);
        words_add_nccl(assumption_add(a));
    }
    assume_workspaces(a, &run->made);
    bool is_any_bare = false;
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct predicted_row *row = &p->rows[i];
        if (row->is_known && (i == 0 || strcmp(row->card, p->rows[i - 1].card) != 0)) {
            assume_sold(a, row);
            assume_context(a, row);
            assume_host(a, row);
        }
        assume_adapting(a, p, row);
        is_any_bare = is_any_bare || (row->is_known && row->answer.device.config.context_bytes == 0);
    }
    if (is_any_bare)
        words_add(assumption_add(a), "A bare size counts as an H100. Of it nothing is set aside for the CUDA "
                                     "context and libraries (24GiB,context=450MiB).");
}

/* ---- what was written ---- */

struct written {
    const struct prediction *p;
    const struct report_lines *kept; /* not the program's */
    struct json_writer *json;        /* gets the names; NULL: the words do */
    struct words *words;
    size_t n;
};

static void written_file(void *arg, const char *path)
{
    struct written *w = arg;
    const char *here = w->p->overlay.here;
    const size_t n = strlen(here);
    const char *shown = strncmp(path, here, n) == 0 && path[n] == '/' ? path + n + 1 : path;
    for (size_t i = 0; i < w->kept->n; i++)
        if (strcmp(w->kept->at[i], path) == 0)
            return;
    w->n++;
    if (w->json != NULL)
        json_put_text(w->json, NULL, shown);
    else if (w->n <= NAMES_SHOWN)
        words_add(w->words, "%s%.200s", w->n == 1 ? "" : ", ", shown);
}

static void words_add_written(struct words *w, const struct prediction *p, const struct report_lines *kept)
{
    struct words names = { .n = 0 };
    struct written written = { .p = p, .kept = kept, .words = &names };
    if (p->overlay.open[0] != '\0')
        words_add(w, "Not kept apart, the program could write there: %.400s. ", p->overlay.open);
    if (!overlay_each_written(&p->overlay, written_file, &written))
        words_add(w, "What the program wrote cannot be listed in full. ");
    if (written.n == 0)
        return;
    if (p->overlay.is_on)
        words_add(w, "%shat it wrote was thrown away (%zu): ",
                  overlay_is_whole(&p->overlay) ? "The program's files are as they were; w" : "W", written.n);
    else
        words_add(w, "Files that were written meanwhile, on values that are not real (%zu): ", written.n);
    words_add(w, "%s%s", names.text, written.n > NAMES_SHOWN ? ", ..." : ".");
}

/* ---- text ---- */

static void paragraph(FILE *out, const struct words *w)
{
    if (w->n > 0)
        words_print_within(out, w, TERMINAL_USUAL, 0, 2);
}

static size_t rows_that_fit(const struct prediction *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_rows; i++)
        n += p->rows[i].is_known && prediction_row_fits(&p->rows[i]);
    return n;
}

/* Whether a row fails: of an open answer if it does not surely fit, else if it surely does not. */
static bool row_fails(const struct prediction *p, const struct predicted_row *row)
{
    return row->is_known && !prediction_row_fits(row) && (prediction_is_open(p) || !prediction_row_may_fit(row));
}

static size_t rows_that_fail(const struct prediction *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_rows; i++)
        n += row_fails(p, &p->rows[i]);
    return n;
}

/* The cards that fail, at most NAMES_SHOWN. */
static void words_add_failing(struct words *w, const struct prediction *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_rows; i++)
        if (row_fails(p, &p->rows[i]) && n++ < NAMES_SHOWN) {
            words_add(w, n == 1 ? "" : ", ");
            words_add_row_card(w, &p->rows[i]);
        }
    words_add(w, n > NAMES_SHOWN ? ", ..." : "");
}

/* A size to type after --device: in its two decimals never less than it is. */
static const char *card_size_text(uint64_t bytes, char buf[UNITS_TEXT])
{
    const uint64_t unit = bytes >= TIB ? TIB : GIB;
    const uint64_t hundredths = divide_up(bytes, unit / 100);
    const bool is_exact = bytes < GIB || bytes % unit == 0;
    return units_format_bytes(is_exact ? bytes : hundredths * (unit / 100) + hundredths, buf);
}

static void words_add_card(struct words *w, const struct prediction *p)
{
    char size[UNITS_TEXT];
    if (p->is_size_open) {
        words_add(w, "a card like %s, the smallest common one on which it was run", p->smallest.card->name);
        return;
    }
    words_add(w, "a card of %s", card_size_text(p->smallest.smallest_bytes, size));
    if (p->smallest.card != NULL)
        words_add(w, "; the smallest common card for it is %s", p->smallest.card->name);
}

static bool row_grows(const struct prediction *p, const struct predicted_row *row)
{
    return row->is_known && predicted_run_grows(&p->runs[row->run].made);
}

/* A row that does not settle; NULL: all do. */
static const struct predicted_row *growing_row(const struct prediction *p)
{
    for (size_t i = 0; i < p->n_rows; i++)
        if (row_grows(p, &p->rows[i]))
            return &p->rows[i];
    return NULL;
}

static void words_add_growth(struct words *w, const struct prediction *p, const struct predicted_row *row)
{
    const struct predicted_run *run = &p->runs[row->run].made;
    char bytes[UNITS_TEXT], size[UNITS_TEXT];
    words_add(w, "Does not settle: live memory grows by %s a step", units_format_bytes(run->growth.bytes_per_step,
                                                                                       bytes));
    if (run->rhythm.growth_steps > 1)
        words_add(w, " on average (it comes every %" PRIu64 " steps)", run->rhythm.growth_steps);
    if (p->has_range)
        words_add(w, " with %s=%" PRIu64, p->name, row->value);
    words_add(w, "%s%s", run->grows_at[0] != '\0' ? ", at " : "", run->grows_at);
    if (p->asked.n_cards == 0)
        words_add(w, ". It took %s in %" PRIu64 " steps.", units_format_bytes(row->answer.card_peak_bytes, size),
                  run->whole_steps);
    else
        words_add(w, ", so %.60s lasts for about %" PRIu64 " steps.", row->card, prediction_row_lasts(p, row));
}

/* Whether a run that a row rests on failed for another reason than memory. */
static bool has_failed(const struct prediction *p)
{
    bool has_failed = false;
    for (size_t i = 0; i < p->n_rows; i++)
        has_failed = has_failed || (p->rows[i].is_known && p->runs[p->rows[i].run].made.has_failed);
    return has_failed;
}

/* What was stopped before its end may need a larger card later: the first line says after how many steps. */
static void words_add_seen(struct words *w, const struct prediction *p)
{
    uint64_t steps = UINT64_MAX;
    bool is_unseen = false, was_cut = false;
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct predicted_row *row = &p->rows[i];
        const struct predicted_run *run = &p->runs[row->run].made;
        if (!row->is_known || run->end == RUN_ENDED)
            continue;
        steps = run->whole_steps < steps ? run->whole_steps : steps;
        is_unseen = is_unseen || row->range.is_endless;
        was_cut = was_cut || run->ran_to_end;
    }
    if (is_unseen && steps > 0 && prediction_is_open(p))
        words_add(w, "; what follows %" PRIu64 " equal steps was not seen", steps);
    else if (steps != UINT64_MAX && prediction_fits(p))
        words_add(w, was_cut ? ", loops cut short after %" PRIu64 " equal steps"
                             : ", as %" PRIu64 " equal steps show, and nothing follows them", steps);
}

/* " (2.9 GiB to 3.4 GiB)" */
static void words_add_ends(struct words *w, const struct predicted_row *row)
{
    char low[UNITS_TEXT], high[UNITS_TEXT];
    units_format_bytes(row->range.low_bytes, low);
    units_format_bytes(row->range.high_bytes, high);
    if (strcmp(low, high) != 0)
        words_add(w, " (%s to %s)", low, high);
}

static const char *verb_of_row(const struct prediction *p, const struct predicted_row *row)
{
    const bool is_no = !row->fits && !row->may_fit;
    if (row->range.is_endless)
        return is_no ? "would take at least" : "takes at least";
    return is_no                              ? "would take"
           : row->may_fit                     ? "may take"
           : prediction_row_cuts_loop(p, row) ? "takes up to"
                                              : "takes";
}

/* Whether it fits, and what it takes. The caller ends the sentence. */
static void words_add_fit(struct words *w, const struct prediction *p)
{
    const struct predicted_row *row = &p->rows[0];
    const size_t n = rows_that_fit(p);
    char needs[UNITS_TEXT], has[UNITS_TEXT], region[UNITS_TEXT];
    if (p->asked.n_cards == 0 && p->has_smallest && !p->has_range) {
        words_add(w, row->range.is_endless ? "Needs at least " : prediction_row_cuts_loop(p, row) ? "Needs at most "
                                                                                                  : "Needs ");
        words_add_card(w, p);
    } else if (p->n_rows == 1 && !row->may_fit && prediction_row_adapts(p, row)) {
        words_add(w, row->range.is_endless ? "May run on " : "Runs on ");
        words_add_row_card(w, row);
        if (p->has_range)
            words_add(w, " up to %s=%" PRIu64, p->name, row->value);
        words_add(w, " and %s %s of %s. ", row->range.is_endless ? "take at least" : "takes",
                  units_format_bytes(row->answer.card_peak_bytes, needs),
                  units_format_bytes(row->answer.device.config.total_bytes, has));
        words_add_adapting(w, p, row);
    } else if (p->n_rows == 1 && !row->fits && p->jax_need.region_bytes > 0) {
        words_add(w, "Does not fit on ");
        words_add_row_card(w, row);
        words_add(w, ": JAX takes %s of its %s, and the program's requests need %s",
                  units_format_bytes((uint64_t)(p->jax_share * (double)row->answer.device.config.total_bytes), needs),
                  units_format_bytes(row->answer.device.config.total_bytes, has),
                  units_format_bytes(p->jax_need.region_bytes, region));
    } else if (p->n_rows == 1) {
        words_add(w, prediction_row_fits(row)      ? "Fits on "
                     : prediction_row_may_fit(row) ? "May fit on "
                                                   : "Does not fit on ");
        words_add_row_card(w, row);
        if (p->has_range && row->fits)
            words_add(w, " up to %s=%" PRIu64, p->name, row->value);
        else if (p->has_range)
            words_add(w, " even with %s=%" PRIu64, p->name, row->value);
        words_add(w, ": %s %s", verb_of_row(p, row), units_format_bytes(row->answer.card_peak_bytes, needs));
        words_add_ends(w, row);
        words_add(w, " of %s", units_format_bytes(row->answer.device.config.total_bytes, has));
    } else if (n == p->n_rows) {
        words_add(w, n == 2 ? "Fits on both cards" : "Fits on all %zu cards", n);
        if (!p->has_range && prediction_row_adapts(p, row)) {
            words_add(w, ". ");
            words_add_adapting(w, p, row);
        }
    } else if (prediction_is_open(p)) {
        words_add(w, "May fit, or not, on %zu of %zu: ", rows_that_fail(p), p->n_rows);
        words_add_failing(w, p);
    } else if (rows_that_fail(p) > 0) {
        words_add(w, "Does not fit on %zu of %zu: ", rows_that_fail(p), p->n_rows);
        words_add_failing(w, p);
    } else if (n > 0) {                                      /* an interrupt came before the others were known */
        words_add(w, "Fits on %zu of %zu cards; of the others it is not known", n, p->n_rows);
    } else {
        words_add(w, "Whether it fits on any of %zu cards is not known", p->n_rows);
    }
}

static void words_add_verdict(struct words *w, const struct prediction *p)
{
    const struct predicted_row *row = &p->rows[0], *grows = growing_row(p);
    if (!row->is_known) {
        words_add(w, row->largest.is_any ? "Interrupted: how much memory it takes is not known yet."
                                         : "Interrupted: nothing is known yet.");
    } else if (grows != NULL) {
        words_add_growth(w, p, grows);
    } else {
        words_add(w, has_failed(p) ? "The program failed. " : "");
        words_add(w, prediction_is_whole(p) ? "" : "As far as was seen: ");
        const size_t at = w->n;
        words_add_fit(w, p);
        if (!prediction_is_whole(p))
            w->text[at] = (char)tolower((unsigned char)w->text[at]);
        words_add_seen(w, p);
        if (prediction_row_cuts_loop(p, row))
            ended_loops_limit(w, &p->runs[row->run].made.branches);
        words_add(w, ".");
    }
}

/* On a narrow terminal what the card has leaves first; what fits stays. */
enum { ROW_COLUMNS = 8 };

static void add_row(struct terminal_table *rows, const struct prediction *p, const struct predicted_row *row)
{
    char largest[TEXT_NUMBER] = "", reserved[UNITS_TEXT], peak[UNITS_TEXT], has[UNITS_TEXT];
    char most[UNITS_TEXT] = "", lasts[TEXT_NUMBER + 8];
    const char *policy = row->policy != NULL ? row->policy : "";
    const char *fits = prediction_row_fits(row) ? "yes" : prediction_row_may_fit(row) ? "maybe" : "no";
    if (row_grows(p, row)) {
        snprintf(lasts, sizeof lasts, "%" PRIu64 " steps", prediction_row_lasts(p, row));
        fits = lasts;
    }
    if (p->has_range)
        snprintf(largest, sizeof largest, row->largest.is_any ? "%" PRIu64 : "none", row->largest.fits);
    if (!row->is_known) {
        terminal_table_add(rows, (const char *const[ROW_COLUMNS]){ row->card, policy, largest, "", "", "", "",
                                                                   "not known" });
        return;
    }
    if (row->range.is_endless)
        snprintf(most, sizeof most, "more?");
    else if (peak_range_shows(&row->range))
        units_format_bytes(row->range.high_bytes, most);
    terminal_table_add(rows, (const char *const[ROW_COLUMNS]){
                                 row->card, policy, largest,
                                 units_format_bytes(row->answer.peak_reserved_bytes, reserved),
                                 units_format_bytes(row->answer.card_peak_bytes, peak), most,
                                 units_format_bytes(row->answer.device.config.total_bytes, has),
                                 fits });
}

/* Columns that no row has a word for are left out. */
static enum err print_rows(FILE *out, const struct prediction *p, bool is_wide)
{
    const struct text_column columns[ROW_COLUMNS] = {
        { .title = "card", .is_left = true }, { .title = "setting", .is_left = true, .leaves = 2 },
        { .title = p->name }, { .title = "reserved" }, { .title = "of card" }, { .title = "at most" },
        { .title = "card has", .leaves = 1 },
        { .title = "fits" },
    };
    struct terminal_table rows = { .columns = columns, .n_columns = ROW_COLUMNS, .bold_row = p->n_rows };
    for (size_t i = 0; i < p->n_rows; i++)
        add_row(&rows, p, &p->rows[i]);
    const enum err e = terminal_table_print(out, &rows, is_wide ? TERMINAL_ANY : terminal_columns(out));
    fprintf(out, "\n");
    return e;
}

/* How the largest value of a row was found. */
static void words_add_largest(struct words *w, const struct prediction *p, const struct predicted_row *row)
{
    const struct largest_value *l = &row->largest;
    const char *seen = row->range.is_endless ? " as far as was seen" : "";
    if (!l->is_found && l->is_any && l->has_failed)
        words_add(w, "On %.60s %s=%" PRIu64 " fits%s and %" PRIu64 " does not; what lies between was not tried.",
                  row->card, p->name, l->fits, seen, l->fails);
    else if (!l->is_any)
        words_add(w, "On %.60s not even %s=%" PRIu64 " fits.", row->card, p->name, p->range.low);
    else if (!l->has_failed)
        words_add(w, "On %.60s %s=%" PRIu64 " fits%s, the %s tried.", row->card, p->name, l->fits, seen,
                  l->is_found ? "largest" : "only one");
    else if (row->next_may_fit)
        words_add(w, "On %.60s %s=%" PRIu64 " fits%s; %" PRIu64 " may fit: it is expected to, but not at the upper end "
                  "of its range.", row->card, p->name, l->fits, seen, l->fails);
    else if (l->is_monotone)
        words_add(w, "On %.60s %s=%" PRIu64 " fits%s; %" PRIu64 " was tried and does not, nor does any larger one "
                  "tried.", row->card, p->name, l->fits, seen, l->fails);
    else
        words_add(w, "On %.60s %s=%" PRIu64 " fits%s although %" PRIu64 " does not: larger is not always worse here, "
                  "and a still larger one may fit.",
                  row->card, p->name, l->fits, seen, l->fails);
}

/* A row whose program has open workspaces takes further runs: at what is expected, the least, and of the next value. */
enum { OPEN_RUNS = 3 };

static bool row_run_is_open(const struct prediction *p, const struct predicted_row *row)
{
    return row->is_known && p->runs[row->run].made.are_workspaces_open;
}

static void print_largest(FILE *out, const struct prediction *p)
{
    for (size_t i = 0; p->has_range && i < p->n_rows; i++) {
        struct words w = { .n = 0 };
        words_add_largest(&w, p, &p->rows[i]);
        if (i + 1 == p->n_rows)
            words_add(&w, " %zu runs of the program; one card takes at most %u.", p->n_runs,
                      largest_value_trials_max(&p->range) + 1 + (row_run_is_open(p, &p->rows[i]) ? OPEN_RUNS : 0));
        paragraph(out, &w);
    }
}

/* The size holds for cards of one kind: what libraries take depends on the card. Without --device the first line has
 * it. */
static void words_add_need(struct words *w, const struct prediction *p)
{
    const struct predicted_row *row = &p->rows[0];
    if (p->has_range)
        words_add(w, "%s=%" PRIu64 " needs ", p->name, p->range.low);
    else if (p->asked.n_cards > 0)
        words_add(w, row->range.is_endless               ? "What was seen needs "
                     : prediction_row_cuts_loop(p, row) ? "As far as that loop was followed, needs at most "
                                                        : "Needs ");
    if (!p->has_range && p->asked.n_cards == 0)
        return;
    words_add_card(w, p);
    words_add(w, ".");
    if (p->jax_need.region_bytes > 0)
        words_add(w, p->is_size_open ? "" : " It was run on a card of that size.");
    else if (p->smallest.smallest_bytes < row->answer.card_peak_bytes)
        words_add(w, " There PyTorch gives back cached memory that it keeps on %.60s.",
                  row->fits ? row->card : "a larger card");
    if (row->answer.device.config.model != NULL && !p->is_size_open)
        words_add(w, " The figure is for cards like %s.", row->answer.device.config.model->name);
}

static void print_smallest(FILE *out, const struct prediction *p)
{
    struct words w = { .n = 0 };
    char least[TEXT_NUMBER], failing[TEXT_NUMBER];
    if (!p->has_smallest)
        return;
    words_add_need(&w, p);
    if (!p->smallest.is_monotone)
        words_add(&w, "%sIt also runs on some cards from %s on, but not on one of %s (replay fit).",
                  w.n > 0 ? " " : "", text_mib(p->smallest.least_running_bytes, least),
                  text_mib(p->smallest.larger_failing_bytes, failing));
    paragraph(out, &w);
}

/* Of the card that was asked about; 0: none was. */
static uint64_t card_asked_bytes(const struct prediction *p)
{
    return p->asked.n_cards > 0 ? p->rows[0].answer.device.config.total_bytes : 0;
}

/* How the figures of one peak hang together: requests, JAX's blocks, JAX's region, the card. */
static void print_parts_of_jax(FILE *out, const struct prediction *p)
{
    const struct predicted_row *row = &p->rows[0];
    const struct prediction_run *run = prediction_run_shown(p);
    char live[UNITS_TEXT], blocks[UNITS_TEXT], reserved[UNITS_TEXT], card[UNITS_TEXT];
    struct words w = { .n = 0 };
    if (run == NULL || !run->made.is_of_jax || run->is_enlarged || !row->fits)
        return;
    words_add(&w, "At the peak %s are requested (live), in blocks of %s (JAX's peak_bytes_in_use); JAX's allocator has "
              "%s from the driver for them (reserved)%s, and %s of the card are taken, with what CUDA and its "
              "libraries hold.", units_format_bytes(run->made.live_bytes, live),
              units_format_bytes(run->made.jax.peak_bytes, blocks),
              units_format_bytes(row->answer.peak_reserved_bytes, reserved),
              run->made.jax.preallocates ? ", because it takes its share at its start" : "",
              units_format_bytes(row->answer.card_peak_bytes, card));
    paragraph(out, &w);
}

static void print_need_of_jax(FILE *out, const struct prediction *p)
{
    struct words w = { .n = 0 }, donation = { .n = 0 };
    print_parts_of_jax(out, p);
    if (p->jax_need.region_bytes == 0)
        return;
    if (p->has_range)
        words_add(&w, "With %s=%" PRIu64 ": ", p->name, p->range.low);
    jax_need_say(&w, &p->jax_need, card_asked_bytes(p), p->jax_share);
    paragraph(out, &w);
    jax_donation_say(&donation, &p->jax_donation, &p->jax_need);
    words_add(&donation, " Not tried: jax.checkpoint, which changes the program.");
    paragraph(out, &donation);
}

/* What the best setting saves; NULL: tune recommends none. */
static const struct tune_finalist *best_setting(const struct prediction *p, const struct tune_finalist **now_typed)
{
    const struct tune *t = &p->tune;
    if (!p->has_tune || !tune_recommends(t) || !p->setting_lasts)
        return NULL;
    *now_typed = &t->finalists[t->n_finalists];
    return tune_finalist_of(t, t->winner);
}

/* What is little of the card may be much of what the program needs, which `fit` and `tune` of the recording alone go
 * by. */
static void words_add_smaller_card(struct words *w, const struct tune *t)
{
    const struct tune_finalist *now = &t->finalists[t->n_finalists], *least = now;
    char a[UNITS_TEXT], b[UNITS_TEXT], setting[SETTINGS_TEXT];
    for (size_t i = 0; i < t->n_finalists; i++)
        if (t->finalists[i].smallest_bytes > 0 && t->finalists[i].smallest_bytes < least->smallest_bytes)
            least = &t->finalists[i];
    if (now->smallest_bytes - least->smallest_bytes < now->smallest_bytes / TUNE_GAIN_SHARE || least == now)
        return;
    words_add(w, " On a smaller card %s helps: the program then runs on one of %s, instead of %s.",
              settings_text(&t->entries[least->entry].settings, &t->rules, false, setting),
              card_size_text(least->smallest_bytes, a), card_size_text(now->smallest_bytes, b));
}

/* What the best setting does on the card that was named first. */
static void words_add_on_card(struct words *w, const struct prediction *p)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    const struct predicted_row *row = &p->rows[0];
    const bool fits = p->tune.entries[p->tune.winner].trial.fits;
    const uint64_t then = p->tune.entries[p->tune.winner].trial.peak_reserved_bytes;
    const uint64_t before = p->tune.baseline.trial.peak_reserved_bytes;
    if (p->asked.n_cards == 0)
        return;
    if (!p->tune.baseline.trial.fits && fits)
        words_add(w, " With it %s runs on %.60s.", p->runs[row->run].made.end == RUN_ENDED
                                                   ? "the program" : "what was seen of the program", row->card);
    else if (p->tune.baseline.trial.fits && then > before)
        words_add(w, " On %.60s, where there is room, it reserves more: %s instead of %s.", row->card,
                  units_format_bytes(then, a), units_format_bytes(before, b));
}

/* With a range, of the value that the first row's figures are of. */
static void print_setting(FILE *out, const struct prediction *p)
{
    const struct tune_finalist *now = NULL;
    char a[UNITS_TEXT], b[UNITS_TEXT], with[96] = "";
    const struct tune_finalist *best = best_setting(p, &now);
    struct words w = { .n = 0 };
    if (!p->has_tune)
        return;
    if (p->has_range)
        snprintf(with, sizeof with, " with %s=%" PRIu64, p->name, p->rows[0].value);
    if (best == NULL && tune_recommends(&p->tune)) {
        words_add(&w, "No setting of PYTORCH_CUDA_ALLOC_CONF is recommended%s: what the best one saves in the steps "
                      "seen is lost when they go on, or with values beside its own (replay tune).", with);
        paragraph(out, &w);
        return;
    }
    if (best == NULL) {
        words_add(&w, "No setting of PYTORCH_CUDA_ALLOC_CONF saves as much as %d%% of %s%s.", 100 / TUNE_GAIN_SHARE,
                  p->asked.n_cards == 0 ? "what it needs" : "the card", with);
        words_add_smaller_card(&w, &p->tune);
        paragraph(out, &w);
        return;
    }
    if (best->smallest_bytes > 0 && now->smallest_bytes > best->smallest_bytes)
        words_add(&w, "This setting saves most%s: a card of %s instead of %s (replay tune).", with,
                  card_size_text(best->smallest_bytes, a), card_size_text(now->smallest_bytes, b));
    else
        words_add(&w, "This setting helps most%s (replay tune).", with);
    words_add_on_card(&w, p);
    paragraph(out, &w);
    fputc('\n', out);
    settings_put_paste(out, &p->tune.entries[p->tune.winner].settings, &p->tune.rules, p->tune.platform,
                       "  ");
    fputc('\n', out);
}

enum err prediction_print(FILE *out, const struct prediction *p, const struct prediction_files *files, bool is_wide)
{
    struct words verdict = { .n = 0 }, written = { .n = 0 };
    struct assumptions a;
    words_add_verdict(&verdict, p);
    paragraph(out, &verdict);
    fprintf(out, "\n");
    const enum err e = print_rows(out, p, is_wide);
    predicted_categories_print(out, p->categories);
    print_largest(out, p);
    print_smallest(out, p);
    print_need_of_jax(out, p);
    print_setting(out, p);
    assumptions_make(p, &a);
    if (a.n > 0)
        fprintf(out, "\nAssumed:\n");
    for (size_t i = 0; i < a.n; i++) {
        struct words w = { .n = 0 };
        words_add(&w, "- %s", a.at[i].text);
        paragraph(out, &w);
    }
    fprintf(out, "\n");
    words_add_written(&written, p, &files->kept);
    paragraph(out, &written);
    if (files->trace[0] != '\0')
        fprintf(out, "Recording (for replay, why, who): %s\n", files->trace);
    if (files->log[0] != '\0')
        fprintf(out, "What the program printed: %s\n", files->log);
    return e;
}

/* ---- JSON ---- */

struct shown_row {
    const struct prediction *p;
    const struct predicted_row *row;
};

static void predicted_card_json(struct json_writer *json, const struct shown_row *shown)
{
    const struct prediction *p = shown->p;
    const struct predicted_row *row = shown->row;
#define ANSWER_TABLE "answers/predicted_card.def"
#include "answers/as_json.def"
}

static void jax_memory_json(struct json_writer *json, const struct prediction *p)
{
    const struct prediction_run *run = prediction_run_shown(p);
    const struct jax_need *need = &p->jax_need;
    struct jax_lever levers[JAX_LEVERS];
    const size_t n = jax_need_levers(need, jax_donation_need(&p->jax_donation), card_asked_bytes(p), p->jax_share,
                                     levers);
#define ANSWER_TABLE "answers/jax_memory.def"
#include "answers/as_json.def"
}

/* False: not all could be listed. */
static bool put_written(struct json_writer *json, const struct prediction *p, const struct report_lines *kept)
{
    struct written written = { .p = p, .kept = kept, .json = json };
    return overlay_each_written(&p->overlay, written_file, &written);
}

void prediction_write_json(FILE *out, const struct prediction *p, const struct prediction_files *files)
{
    static const char *const ends[] = { [RUN_ENDED] = "by itself", [RUN_REPEATED] = "steps repeat",
                                        [RUN_TOO_LONG] = "too long", [RUN_INTERRUPTED] = "interrupted" };
    const struct prediction_run *shown = prediction_run_shown(p);
    const struct predicted_run *run = shown != NULL ? &shown->made : NULL;
    const struct holders *held = predicted_categories_held(p->categories);
    const struct tune_finalist *now = NULL, *best = best_setting(p, &now);
    struct words verdict = { .n = 0 };
    struct assumptions a;
    bool is_all_listed;
    words_add_verdict(&verdict, p);
    assumptions_make(p, &a);
#define ANSWER_TABLE "answers/predict.def"
#include "answers/as_json.def"
}
