/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay plan FILE`: how little memory could hold the recorded requests, proved from below and found from above. */
#include "replay/program/cli.h"

#include "base/units.h"
#include "replay/recording/coverage.h"
#include "replay/plan/best_plan.h"
#include "replay/plan/bounds.h"
#include "replay/plan/loop_plan.h"
#include "replay/plan/plan_file.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"
#include "report/text/terminal_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NOT_RECORDED "not recorded: "    /* how notes of importers begin that name what a source never holds */

/* Everything the command holds. Zero is valid: plan_close accepts it. */
struct session {
    const struct options *options;
    struct trace_reader  *trace;
    struct lifetimes          lives;
    struct bounds         bounds;
    struct best_plan      plan;
    struct plan_row      *rows;              /* by request */
    uint64_t              align_bytes;
    struct plan_loop      loop;              /* with --loop */
    bool                  is_interrupted;    /* before the search had ended */
};

static void plan_close(void *session)
{
    struct session *s = session;
    best_plan_close(&s->plan);
    free(s->rows);
    lifetimes_close(&s->lives);
    trace_close(s->trace);
}

/* What an instance of minimalloc needs is any offset; a card's allocators give multiples of 512. */
static enum err choose_alignment(struct session *s, struct err_detail *err)
{
    const uint64_t typed = s->options->align_bytes;
    s->align_bytes = typed > 0 ? typed : plan_has_times(s->trace) ? 1 : 512;
    if (!is_power_of_two(s->align_bytes))
        return err_set(err, ERR_USAGE, 0, "--align: expected a power of two, such as 512");
    if (s->options->is_loop && plan_has_times(s->trace))
        return err_set(err, ERR_USAGE, 0, "--loop: an instance of minimalloc has no sequence of requests that could "
                       "repeat");
    if (s->options->is_loop && s->align_bytes < LOOP_ALIGN_MIN)
        return err_set(err, ERR_USAGE, 0, "--align: a running program needs multiples of %d", LOOP_ALIGN_MIN);
    return ERR_OK;
}

/* Cuts the lives after the last step that repeats, and finds anew what of them was live at once, as requested. */
static enum err cut_to_loop(struct session *s, struct err_detail *err)
{
    struct lifetimes requested = { .at = NULL };
    struct bounds bounds;
    enum err e = plan_loop_find(&s->lives, &s->loop, err);
    if (e == ERR_OK)
        e = bounds_read_lifetimes(s->trace, 1, &requested, &bounds, err);
    if (e == ERR_OK) {
        lifetimes_cut(&s->lives, s->loop.end_step);
        lifetimes_cut(&requested, s->loop.end_step);
        s->bounds.live_bytes = lifetimes_live_peak(&requested, NULL);
    }
    lifetimes_close(&requested);
    return e;
}

static bool is_optimal(const struct session *s)
{
    return s->plan.plan_bytes == s->plan.lower_bytes;
}

static enum err plan_search(struct session *s, struct err_detail *err)
{
    struct progress progress = progress_start("planning", PROGRESS_PARTS);
    const volatile sig_atomic_t *interrupted = cli_defer_signals();
    const struct plan_limits limits = { .enough_bytes = s->options->capacity, .align_bytes = s->align_bytes,
                                        .work = s->options->effort * PLAN_WORK_SECOND, .progress = progress_report,
                                        .progress_arg = &progress, .interrupted = interrupted };
    const enum err e = s->options->is_loop ? loop_plan_find(&s->lives, &s->loop, &limits, &s->plan, err)
                                           : best_plan_find(&s->lives, &limits, &s->plan, err);
    progress_clear(&progress);
    s->is_interrupted = *interrupted != 0 && e == ERR_OK && !is_optimal(s);
    return e;
}

static enum err plan_read(void *session, const struct options *o, struct err_detail *err)
{
    struct session *s = session;
    s->options = o;
    enum err e = cli_open_trace_without_stacks(s->options, 0, &s->trace, err);
    if (e == ERR_OK)
        e = choose_alignment(s, err);
    if (e == ERR_OK)
        e = bounds_read_lifetimes(s->trace, s->align_bytes, &s->lives, &s->bounds, err);
    if (e == ERR_OK && o->is_loop)
        e = cut_to_loop(s, err);
    if (e == ERR_OK)
        e = plan_search(s, err);
    return e == ERR_OK ? plan_rows_read(s->trace, &s->lives, &s->rows, err) : e;
}

/* ---- text ---- */

/* Share of the lower bound that is open. */
static double gap(const struct session *s)
{
    return s->plan.lower_bytes == 0 ? 0
                                    : (double)(s->plan.plan_bytes - s->plan.lower_bytes) / (double)s->plan.lower_bytes;
}

/* Whether the reader left out requests of its source. */
static bool leaves_out(const struct session *s)
{
    char note[TRACE_NOTE];
    bool is_any = false;
    for (const char *notes = trace_meta(s->trace, "notes"); trace_next_note(&notes, note);)
        is_any |= trace_note_leaves_out(note);
    return is_any;
}

static void add_answer(const struct session *s, struct words *w)
{
    char plan[TEXT_NUMBER], lower[TEXT_NUMBER], n[TEXT_NUMBER], requests[2 * TEXT_NUMBER];
    snprintf(requests, sizeof requests, leaves_out(s) ? "the %s requests that were read" : "all %s requests",
             text_count(s->lives.n, n));
    text_mib(s->plan.plan_bytes, plan);
    if (is_optimal(s))
        words_add(w, "%s hold %s in one stretch of memory, and no less can: proved.", plan, requests);
    else
        words_add(w, "%s hold %s in one stretch of memory. No plan needs less than %s (proved), so at most %.2f %% "
                  "could be saved.", plan, requests, text_mib(s->plan.lower_bytes, lower), 100 * gap(s));
    if (s->is_interrupted)
        words_add(w, " The search was interrupted: this is the best plan that it had found.");
    if (s->options->capacity > 0)
        words_add(w, " That is %s the capacity of %s.",
                  s->plan.plan_bytes <= s->options->capacity ? "within" : "more than",
                  text_mib(s->options->capacity, plan));
}

static enum err print_figures(const struct session *s)
{
    static const struct text_column columns[] = { { .title = "", .is_left = true }, { .title = "bytes" },
                                                  { .title = "" }, { .title = "why", .is_left = true, .leaves = 1 } };
    struct terminal_table t = { .columns = columns, .n_columns = sizeof columns / sizeof columns[0],
                                .bold_row = SIZE_MAX };
    const struct { const char *name; uint64_t bytes; const char *reason; } rows[] = {
        { "live peak", s->bounds.live_bytes, "requested and live at once" },
        { "lower bound", s->plan.lower_bytes,
          s->plan.proof == PROOF_LIVE ? "live at once, with alignment" : "a search of some requests had no plan" },
        { "plan", s->plan.plan_bytes, is_optimal(s) ? "found; none is lower" : "found" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char bytes[TEXT_NUMBER], mib[TEXT_NUMBER];
        terminal_table_add(&t, (const char *const[]){ rows[i].name, text_count(rows[i].bytes, bytes),
                                                      text_mib(rows[i].bytes, mib), rows[i].reason });
    }
    return terminal_table_print(stdout, &t, HELP_WIDTH);
}

static void print_paragraph(const struct words *w)
{
    words_print_within(stdout, w, HELP_WIDTH, 0, 0);
}

/* Whether a note is of the requests. Other notes are of the card and the allocator, which a plan does not know; of a
 * log all are of its lines, except the one of what it never holds. */
static bool is_of_requests(const char *note, bool is_log)
{
    return trace_note_leaves_out(note) || trace_note_contradicts(note) ||
           (is_log && strncmp(note, NOT_RECORDED, strlen(NOT_RECORDED)) != 0);
}

static void print_notes(const struct session *s)
{
    const char *source = trace_meta(s->trace, "source");
    const bool is_log = plan_has_times(s->trace) || (source != NULL && strcmp(source, "csv") == 0);
    char note[TRACE_NOTE];
    for (const char *notes = trace_meta(s->trace, "notes"); trace_next_note(&notes, note);) {
        struct words w = { .n = 0 };
        words_add(&w, "Of the recording: %s.", note);
        if (is_of_requests(note, is_log))
            print_paragraph(&w);
    }
}

/* What of the recording is planned, and how a program is run on it. */
static void print_loop(const struct session *s)
{
    struct words w = { .n = 0 };
    char n[TEXT_NUMBER];
    if (s->loop.n_requests == 0)
        words_add(&w, "Nothing repeats in this recording, so a program that goes on after it does so beside the plan. "
                  "Record at least three steps, all alike.");
    else
        words_add(&w, "The last %s requests are %s; what was recorded after them is left out.",
                  text_count(s->loop.n_requests, n),
                  s->loop.n_rounds == 1 ? "the step that repeats" : "the steps that repeat");
    if (trace_info(s->trace)->starts_mid_run)
        words_add(&w, " The recording begins in mid-run: no request of a program that begins anew takes the places of "
                  "what was live then. Record from the program's first request on.");
    if (s->loop.apart_bytes > s->plan.lower_bytes)
        words_add(&w, " A running allocator keeps streams apart, because it cannot know when one is done with what "
                  "another wants: kept apart, they need %s at least.", text_mib(s->loop.apart_bytes, n));
    if (s->options->out != NULL)
        words_add(&w, " To run it: REPLAY_POLICY=plan:file=%s, with libreplay-alloc.so (doc/policies.md).",
                  s->options->out);
    printf("\n");
    print_paragraph(&w);
}

static enum err plan_print(const void *session, struct err_detail *err)
{
    const struct session *s = session;
    struct words answer = { .n = 0 }, basis = { .n = 0 };
    char align[TEXT_NUMBER], n[TEXT_NUMBER];
    add_answer(s, &answer);
    print_paragraph(&answer);
    printf("\n");
    const enum err e = print_figures(s);
    if (e != ERR_OK)
        return err_set(err, e, 0, "no memory for the table");
    printf("\n");
    words_add(&basis, "Every lifetime is known beforehand, offsets and sizes are multiples of %s (--align), and "
              "nothing moves. The proof names %s requests (--json).", text_mib(s->align_bytes, align),
              text_count(s->plan.n_proof, n));
    if (!is_optimal(s) && !s->is_interrupted && s->plan.work >= s->options->effort * PLAN_WORK_SECOND)
        words_add(&basis, " The search spent its effort of %" PRIu64 "; a larger one may find more.",
                  s->options->effort);
    if (s->options->out != NULL)
        words_add(&basis, " The offsets are in %s; examples/plan/check_plan.py checks them and the proof.",
                  s->options->out);
    print_paragraph(&basis);
    print_notes(s);
    if (s->options->is_loop)
        print_loop(s);
    return coverage_tell(stdout, s->trace, NULL, err);
}

/* ---- files ---- */

static enum err plan_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
    const char *notes = trace_meta(s->trace, "notes");
    char note[TRACE_NOTE];
#define ANSWER_TABLE "answers/plan.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err plan_write_csv(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
    plan_file_write(s->rows, &s->lives, s->plan.offsets, s->options->is_loop ? &s->loop : NULL, files[0]);
    return ERR_OK;
}

static const struct flag_use plan_flags[] = {
    TAKES_AS(OUT, "write the plan as CSV: id,lower,upper,size,offset, as minimalloc reads and writes it; with "
             "--loop also a column loop"),
    TAKES_AS(JSON, "write the figures and the proof of the lower bound as JSON; '-' is standard output"),
    TAKES(LOOP), TAKES(CAPACITY), TAKES(ALIGN), TAKES(EFFORT), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_plan = {
    .name = "plan",
    .synopsis = "plan FILE",
    .summary = "how little memory could hold the requests: a proved lower bound and a plan",
    .text = "Three figures: what was live at once, a proved lower bound of one contiguous stretch of memory, and the "
            "best plan found with every lifetime known. No allocator that keeps one stretch and rounds to --align, as "
            "PyTorch does to 512 bytes, can need less than the bound. One that gives memory back to the card and takes "
            "other memory may, and one that rounds less: RMM, TensorFlow and Paddle take 256 bytes.\n"
            "\n"
            "With --loop the plan is one that PyTorch can run on: record some equal steps from the program's first "
            "request on, plan them, and name the plan in REPLAY_POLICY (doc/policies.md).\n"
            "\n"
            "Examples:\n"
            "  replay plan trace.zst\n"
            "  replay plan step.zst --loop -o step.plan\n"
            "  replay plan A.1048576.csv --capacity 1048576 -o offsets.csv --json proof.json\n"
            "  python3 examples/plan/check_plan.py offsets.csv proof.json\n",
    .status_note = "After an interrupt (Ctrl-C) of the search it is 130: the best plan so far is printed and written.",
    .flags = plan_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct session), .files = { offsetof(struct options, out) }, .read = plan_read,
                .write_json = plan_write_json, .write_files = plan_write_csv, .print = plan_print,
                .close = plan_close },
};
