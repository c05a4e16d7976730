/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay report`: results, or traces that are run first, as a page, as Markdown and as CSV; and --fail-if. */
#include "replay/program/cli.h"
#include "replay/program/database_watch.h"
#include "replay/program/page_runs.h"
#include "replay/program/report_answer.h"
#include "replay/program/report_ranks.h"
#include "report/rows/run_condition.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_NAMED = 8 };
enum { TO_HTML, TO_MD, TO_CSV };      /* the outputs */

/* Everything the command holds. Zero is valid: report_close accepts it. */
struct report_session {
    const struct options *options;
    struct run_condition  conditions[FAIL_IF_MAX];
    struct page_runs      runs;
    const char          **traces;    /* the inputs that are no results */
    size_t                n_traces;
};

static void report_close(void *session)
{
    struct report_session *s = session;
    report_answer_close(&s->runs.page.answer);
    report_ranks_close(&s->runs.page.ranks);
    page_runs_close(&s->runs);
    free(s->traces);
}

/* ---- sources ---- */

/* Reads results; notes any other source as a trace or a folder of traces. */
static enum err add_source(struct report_session *s, const char *path, struct err_detail *err)
{
    bool is_results;
    const enum err e = database_read(&s->runs.table, path, s->options->import.memory_limit, &is_results, err);
    if (e == ERR_OK && !is_results)
        s->traces[s->n_traces++] = path;
    return e;
}

/* A page about one recording shows what the person ran beside what everybody can set. */
static enum err add_default_policies(struct report_session *s, struct err_detail *err)
{
    size_t n_known;
    const char *const *known = platform_policies(PLATFORM_LINUX, &n_known);
    char *recorded = NULL;
    enum err e = s->options->html == NULL || s->n_traces != 1 ? ERR_OK
        : report_recorded_setting(s->traces[0], s->options, known, n_known, &recorded);
    if (e != ERR_OK)
        return err_no_memory(err);
    e = page_runs_add_traces(&s->runs, s->traces, s->n_traces, (const char *const[]){ recorded }, recorded != NULL,
                             err);
    free(recorded);
    return e;
}

static enum err add_traces(struct report_session *s, struct err_detail *err)
{
    const struct options *o = s->options;
    if (s->n_traces == 0)
        return o->n_policies == 0 && o->device == NULL
                   ? ERR_OK
                   : err_set(err, ERR_USAGE, 0, "--policy and --device are for traces; "
                                                "these results were computed already");
    if (o->n_policies == 0)
        return add_default_policies(s, err);
    return page_runs_add_traces(&s->runs, s->traces, s->n_traces, o->policies, o->n_policies, err);
}

static enum err read_sources(struct report_session *s, struct err_detail *err)
{
    const struct options *o = s->options;
    enum err e = ERR_OK;
    page_runs_open(&s->runs, o);
    s->traces = calloc(o->n_inputs, sizeof *s->traces);
    if (s->traces == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < o->n_inputs && e == ERR_OK; i++)
        e = add_source(s, o->inputs[i], err);
    if (e == ERR_OK)
        e = add_traces(s, err);
    if (e == ERR_OK && s->runs.table.n_rows == 0)
        e = err_at(err, ERR_FORMAT, 0, o->inputs[0], "holds no run");
    return e;
}

/* ---- outputs ---- */

/* Only a page shows runs in detail, and the answer. */
static enum err draw(struct report_session *s, struct err_detail *err)
{
    const bool is_page = s->options->html != NULL;
    const enum err e = page_runs_draw(&s->runs, is_page, err);
    if (e != ERR_OK || !is_page)
        return e;
    struct progress progress = progress_start("asking why and which card", PROGRESS_EVENTS);
    const struct replay_config cfg = { .threads = s->options->threads, .progress = progress_report,
                                       .progress_arg = &progress };
    enum err answered = report_answer_find(&s->runs.page, &cfg, err);
    if (answered == ERR_OK)
        answered = report_ranks_find(&s->runs.page, err);
    progress_clear(&progress);
    return answered != ERR_OK || page_shorten_paths(&s->runs.page) == ERR_OK ? answered : err_no_memory(err);
}

static enum err report_write(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    (void)err;
    const struct report_session *s = session;
    if (files[TO_HTML] != NULL)
        page_write_html(files[TO_HTML], &s->runs.page);
    const struct page without_drawings = { .verdict = &s->runs.verdict, .copies = &s->runs.copies,
                                           .notes = s->runs.page.notes, .n_notes = s->runs.n_notes };
    if (files[TO_MD] != NULL)
        page_write_markdown(files[TO_MD], &without_drawings);
    if (files[TO_CSV] != NULL) {
        run_table_write_csv(files[TO_CSV], &s->runs.table);
        run_table_write_csv_rows(files[TO_CSV], &s->runs.copies.runs);
    }
    return ERR_OK;
}

static enum err report_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct report_session *s = session;
    page_write_words(stdout, &s->runs.page);
    return ERR_OK;
}

/* ---- conditions ---- */

/* Names the runs that meet a condition on stderr; returns whether there are any. */
static bool report_condition(const struct report_session *s, size_t i)
{
    size_t n = 0;
    for (size_t row = 0; row < s->runs.table.n_rows; row++) {
        if (!run_condition_holds(&s->conditions[i], &s->runs.table, row))
            continue;
        if (n++ == 0)
            fprintf(stderr, "replay: failed because %s:", s->options->fail_if[i]);
        if (n <= RUNS_NAMED)
            fprintf(stderr, "%s %s (%s)", n == 1 ? "" : ",",
                    s->runs.verdict.settings[s->runs.verdict.setting_of[row]].label,
                    s->runs.verdict.cases[s->runs.verdict.case_of[row]].label);
    }
    if (n > RUNS_NAMED)
        fprintf(stderr, " and %zu more", n - RUNS_NAMED);
    if (n > 0)
        fputc('\n', stderr);
    return n > 0;
}

/* A figure that no run has cannot trigger --fail-if. Returns whether a condition asks for one, and names it. */
static bool asks_for_nothing(const struct report_session *s, size_t i)
{
    const struct run_table *t = &s->runs.table;
    size_t n = 0;
    for (size_t row = 0; row < t->n_rows; row++)
        n += run_table_cell(t, row, s->conditions[i].column)->kind == FIELD_NULL;
    if (n == 0)
        return false;
    fprintf(stderr, "replay: %s: %zu of %zu runs have no such figure\n", s->options->fail_if[i], n, t->n_rows);
    return n == t->n_rows;
}

/* A source that could not be read cannot trigger --fail-if; do not report success either. */
static enum exit_status report_status(const void *session)
{
    const struct report_session *s = session;
    bool is_failed = false, is_void = false;
    for (size_t i = 0; i < s->options->n_fail_if; i++)
        is_failed |= report_condition(s, i);
    for (size_t i = 0; i < s->options->n_fail_if; i++)
        is_void |= asks_for_nothing(s, i);
    if (s->runs.n_left_out == 0)
        return is_failed ? STATUS_FAILED : is_void ? STATUS_USAGE : STATUS_DONE;
    fprintf(stderr, "replay: %" PRIu64 " %s left out: the report is incomplete\n", s->runs.n_left_out,
            s->runs.n_left_out == 1 ? "trace or run was" : "traces or runs were");
    return STATUS_USAGE;
}

static enum err report_read(void *session, const struct options *o, struct err_detail *err)
{
    struct report_session *s = session;
    enum err e = ERR_OK;
    s->options = o;
    for (size_t i = 0; i < o->n_fail_if && e == ERR_OK; i++)
        e = run_condition_parse(o->fail_if[i], &s->conditions[i], err);
    if (e == ERR_OK)
        e = read_sources(s, err);
    return e == ERR_OK ? draw(s, err) : e;
}

static const struct flag_use report_flags[] = {
    TAKES(HTML), TAKES(MD), TAKES(CSV), TAKES(FAIL_IF),
    TAKES_AS(POLICY, "of traces: policies to run; braces stand for several, as in replay sweep; may be given several "
                     "times (default: " DEFAULT_POLICIES ")"),
    TAKES_AS(DEVICES, "of traces: a simulated card, such as 24GiB or h100-80g; braces stand for several; may be given "
                      "several times"), TAKES_RUN,
    TAKES(THREADS), TAKES(PRICE), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_report = {
    .name = "report",
    .synopsis = "report SOURCE... --html F",
    .summary = "write a page, Markdown or CSV about a sweep, about replays, or about traces",
    .text = "SOURCE is the database of a sweep, a JSON of --json, or a trace or a folder of traces, which is then run "
            "with --policy and --device. The page is one file that needs no network. Some runs are shown in detail: "
            "they are replayed, provided that their trace is still there and unchanged. A results file never makes "
            "replay load a plugin or use a real card.\n"
            "\n"
            "A condition is a column of --csv, then one of < <= == != >= >, and a value: 'reserved_peak > 22GiB', "
            "'outcome != ok', 'device_time > 50ms'. The unit may be left out of the column's name, and its words may "
            "stand in any order.\n"
            "\n"
            "  replay report results.db --html out.html\n"
            "  replay report run.json --md comment.md --fail-if 'reserved_peak > 22GiB'\n"
            "  replay report trace.zst --policy pow2 --device 24GiB --html out.html\n",
    .failed = "a run meets a condition of --fail-if",
    .status_note = "If a trace or a run was left out, which is said on standard error, the status is 2.",
    .flags = report_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .answer = { .session_bytes = sizeof(struct report_session),
                .files = { [TO_HTML] = offsetof(struct options, html), [TO_MD] = offsetof(struct options, md),
                           [TO_CSV] = offsetof(struct options, csv) },
                .read = report_read, .write_files = report_write, .print = report_print, .status = report_status,
                .close = report_close },
};
