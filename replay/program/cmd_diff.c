/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay diff A B`: what differs between two recordings, two policies, or two sets of results. */
#include "replay/program/cli.h"

#include "base/input.h"
#include "base/terminal.h"
#include "replay/recording/coverage.h"
#include "replay/diff/diff.h"
#include "replay/program/database_watch.h"
#include "replay/program/page_runs.h"
#include "replay/results/foreign_run.h"
#include "replay/results/result.h"
#include "replay/recording/recorded_release.h"
#include "replay/recording/recorded_settings.h"
#include "report/text/short_paths.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Everything the command holds. Zero is valid: diff_end accepts it. */
struct diff_session {
    const struct options *options;
    struct diff          diff;
    struct trace_reader *traces[2];
    struct policy_spec   specs[2];
    struct lane          lanes[2];
    struct page_runs     page;       /* if there is to be a page */
};

static void diff_end(void *session)
{
    struct diff_session *s = session;
    page_runs_close(&s->page);
    for (int i = 0; i < 2; i++) {
        lane_close(&s->lanes[i]);
        policy_spec_close(&s->specs[i]);
    }
    diff_close(&s->diff);
    trace_close(s->traces[0]);
    trace_close(s->traces[1]);
}

/* ---- two runs on one trace ---- */

static enum err session_open_lane(struct diff_session *s, int i, const char *policy, const char *device_text,
                                  struct device_choice *device, struct err_detail *err)
{
    const char *release;
    assert(s->traces[0] != NULL && s->specs[i].ops == NULL);
    enum err e = device_choose(device_text, s->traces[0], device, err);
    if (e == ERR_OK)
        e = recorded_release(s->traces[0], &release, err);
    if (e == ERR_OK)
        e = policy_spec_parse(policy, &s->specs[i], err);
    if (e != ERR_OK)
        return e;
    recorded_take_release(release, &s->specs[i]);
    return lane_open(&s->specs[i], device->ops, &device->config, s->traces[0], 0, &s->lanes[i], err);
}

/* Runs both lanes side by side and finds the first event where they differ. */
static enum err session_replay(struct diff_session *s, struct err_detail *err)
{
    const struct options *o = s->options;
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    const struct replay_config cfg = {.on_oom = o->on_oom, .start = o->start, .threads = 1,
                                      .progress = progress_report, .progress_arg = &progress};
    enum err e = run_difference_listen(&s->diff.run_difference, &s->lanes[0], &s->lanes[1], err);
    if (e == ERR_OK)
        e = replay_run(s->traces[0], s->lanes, 2, &cfg, err);
    if (e == ERR_OK)
        e = lanes_host_failure(s->lanes, 2, err);
    progress_clear(&progress);
    if (e == ERR_OK)
        e = run_difference_finish(&s->diff.run_difference, err);
    s->diff.has_run_difference = e == ERR_OK;
    return e;
}

static enum err session_diff_policies(struct diff_session *s, struct err_detail *err)
{
    const struct options *o = s->options;
    struct device_choice device;
    enum err e = cli_open_trace(o, 0, &s->traces[0], err);
    for (int i = 0; i < 2 && e == ERR_OK; i++)
        e = session_open_lane(s, i, o->policies[i], o->device, &device, err);
    if (e == ERR_OK)
        e = session_replay(s, err);
    s->diff.kind = DIFF_POLICIES;
    s->diff.traces[0] = s->traces[0];
    for (int i = 0; i < 2 && e == ERR_OK; i++) {
        struct report report = {.runs = NULL};
        struct report_run run;
        s->diff.names[i] = o->policies[i];
        run_table_open(&s->diff.tables[i]);
        e = result_gather(s->traces[0], o->inputs[0], NULL, NULL, &s->lanes[i], 1, &device, &run, &report, err);
        if (e == ERR_OK)
            e = run_table_add_report(&s->diff.tables[i], &report, err);
        result_close(&report);
    }
    return e == ERR_OK ? diff_match_runs(&s->diff, err) : e;
}

/* ---- two files ---- */

/* Whether both results hold one run each, of the same trace, replayed with the default --start and --on-oom. */
static bool are_two_plain_runs(const struct diff *d)
{
    const struct run_table *a = &d->tables[0], *b = &d->tables[1];
    if (a->n_rows != 1 || b->n_rows != 1)
        return false;
    for (int i = 0; i < 2; i++)
        if (strcmp(run_table_text(&d->tables[i], 0, "start"), "fresh") != 0 ||
            strcmp(run_table_text(&d->tables[i], 0, "on_oom"), "stop") != 0)
            return false;
    return strcmp(run_table_text(a, 0, "trace_path"), run_table_text(b, 0, "trace_path")) == 0;
}

/* Results do not hold where two runs part, so the trace is replayed if it is still there. If it is not, or if the
 * results name what a file may not name, there is nothing to add. */
static void session_replay_runs(struct diff_session *s)
{
    const struct options *o = s->options;
    const struct run_table *t = s->diff.tables;
    const char *const path = run_table_text(&t[0], 0, "trace_path");
    struct device_choice devices[2];
    struct err_detail err;
    enum err e = ERR_OK;
    if (o->has_no_replay || !are_two_plain_runs(&s->diff) || diff_is_same(&s->diff))
        return;
    for (int i = 0; i < 2 && e == ERR_OK; i++)
        e = foreign_run_check(run_table_text(&t[i], 0, "policy"), run_table_text(&t[i], 0, "device"), path, &err);
    struct import_config import = o->import;
    import.again = true;                     /* foreign_run_check saw a file */
    if (e == ERR_OK)
        e = trace_open_any(path, o->from, &import, &s->traces[0], &err);
    for (int i = 0; i < 2 && e == ERR_OK; i++)
        e = session_open_lane(s, i, run_table_text(&t[i], 0, "policy"), run_table_text(&t[i], 0, "device"),
                              &devices[i], &err);
    if (e == ERR_OK)
        e = session_replay(s, &err);
    s->diff.traces[0] = e == ERR_OK ? s->traces[0] : NULL;
}

/* Reads the i-th input if it is results; *is_results says whether it is. */
static enum err session_read_results(struct diff_session *s, size_t i, bool *is_results, struct err_detail *err)
{
    const char *path = s->options->inputs[i];
    enum err e = ERR_OK;
    *is_results = false;
    s->diff.names[i] = path;
    run_table_open(&s->diff.tables[i]);
    if (strcmp(path, "-") != 0)              /* standard input can be read only once, and may be a trace */
        e = database_read(&s->diff.tables[i], path, s->options->import.memory_limit, is_results, err);
    if (e == ERR_OK && !*is_results && strcmp(path, "-") != 0 && input_is_once(path))
        e = err_at(err, ERR_USAGE, 0, path, "holds no results, and can be read only once: a recording from a pipe is "
                   "compared as -");
    if (e == ERR_OK && *is_results && s->diff.tables[i].n_rows == 0)
        e = err_at(err, ERR_FORMAT, 0, path, "holds no run");
    return e;
}

static enum err session_diff_results(struct diff_session *s, struct err_detail *err)
{
    s->diff.kind = DIFF_RUNS;
    const enum err e = diff_match_runs(&s->diff, err);
    if (e == ERR_OK)
        session_replay_runs(s);
    return e;
}

static enum err session_diff_traces(struct diff_session *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    s->diff.kind = DIFF_TRACES;
    for (size_t i = 0; i < 2 && e == ERR_OK; i++) {
        e = cli_open_trace(s->options, i, &s->traces[i], err);
        s->diff.traces[i] = s->traces[i];
    }
    if (e != ERR_OK)
        return e;
    struct progress progress = progress_start("comparing", PROGRESS_EVENTS);
    for (size_t i = 0; i < 2; i++)
        trace_watch_reading(s->traces[i], progress_report, &progress);
    e = diff_traces(&s->diff, err);
    for (size_t i = 0; i < 2; i++)
        trace_watch_reading(s->traces[i], NULL, NULL);
    progress_clear(&progress);
    return e;
}

static enum err session_diff_files(struct diff_session *s, struct err_detail *err)
{
    const struct options *o = s->options;
    bool is_results[2];
    enum err e = session_read_results(s, 0, &is_results[0], err);
    if (e == ERR_OK)
        e = session_read_results(s, 1, &is_results[1], err);
    if (e != ERR_OK)
        return e;
    if (is_results[0] != is_results[1])
        return err_set(err, ERR_USAGE, 0, "%s holds results and %s does not: they cannot be compared",
                       o->inputs[is_results[0] ? 0 : 1], o->inputs[is_results[0] ? 1 : 0]);
    return is_results[0] ? session_diff_results(s, err) : session_diff_traces(s, err);
}

/* ---- the page ---- */

/* Whether a run of A also stands in B: then only B's is on the page. */
static bool is_in_both(const struct diff *d, const struct diff_match *m)
{
    static const char *const names[] = {"trace_path", "policy", "device"};
    bool is_same = m->a != SIZE_MAX && m->b != SIZE_MAX;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && is_same; i++)
        is_same = strcmp(run_table_text(&d->tables[0], m->a, names[i]),
                         run_table_text(&d->tables[1], m->b, names[i])) == 0;
    return is_same;
}

/* Takes the runs of both results. */
static enum err page_take_results(struct diff_session *s, struct err_detail *err)
{
    const struct diff *d = &s->diff;
    enum err e = ERR_OK;
    for (size_t i = 0; i < d->n_matches && e == ERR_OK; i++) {
        const struct diff_match *m = &d->matches[i];
        if (m->a != SIZE_MAX && !is_in_both(d, m))
            e = run_table_add_row(&s->page.table, &d->tables[0], m->a, err);
        if (e == ERR_OK && m->b != SIZE_MAX)
            e = run_table_add_row(&s->page.table, &d->tables[1], m->b, err);
    }
    return e;
}

static enum err page_take_runs(struct diff_session *s, struct err_detail *err)
{
    static const char *const recorded[] = { "best-fit" };
    const struct options *o = s->options;
    if (s->diff.kind == DIFF_RUNS)
        return page_take_results(s, err);
    const char *const *policies = o->n_policies == 0 ? recorded : o->policies;
    const size_t n_policies = o->n_policies == 0 ? 1 : o->n_policies;
    const bool is_one = o->n_inputs == 1 || strcmp(o->inputs[0], o->inputs[1]) == 0;
    enum err e = page_runs_add_traces(&s->page, &o->inputs[0], 1, policies, n_policies, err);
    if (e == ERR_OK && !is_one)                          /* after it: the page's cases are A, then B */
        e = page_runs_add_traces(&s->page, &o->inputs[1], 1, policies, n_policies, err);
    return e;
}

/* What one of the writers writes, for a page: without folders of the machine. free() *out. */
static enum err diff_short_text(const struct diff *d,
                                enum err (*put)(FILE *out, const struct diff *d, struct err_detail *err), char **out,
                                struct err_detail *err)
{
    char *text = NULL;
    enum err e = diff_text(d, put, &text, err);
    if (e == ERR_OK && (*out = short_paths_copy(text, NULL, false)) == NULL)
        e = err_no_memory(err);
    free(text);
    return e;
}

static enum err diff_write_page(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    struct diff_session *s = session;
    struct page_difference difference = { .names = { s->diff.names[0], s->diff.names[1] } };
    char *sentences = NULL, *json = NULL;
    page_runs_open(&s->page, s->options);
    enum err e = page_take_runs(s, err);
    if (e == ERR_OK)
        e = page_runs_draw(&s->page, true, err);
    if (e == ERR_OK && page_shorten_paths(&s->page.page) != ERR_OK)
        e = err_no_memory(err);
    if (e == ERR_OK)
        e = diff_short_text(&s->diff, diff_sentences, &sentences, err);
    if (e == ERR_OK)
        e = diff_short_text(&s->diff, diff_json_of_page, &json, err);
    if (e == ERR_OK) {
        difference.sentences = sentences;
        difference.json = json;
        s->page.page.difference = &difference;
        page_write_html(files[0], &s->page.page);
        s->page.page.difference = NULL;
    }
    free(sentences);
    free(json);
    return e;
}

/* ---- the command ---- */

/* Of which recordings the figures are lower bounds. */
static enum err print_coverage(const struct diff_session *s, struct err_detail *err)
{
    const struct diff *d = &s->diff;
    enum err e = ERR_OK;
    for (size_t i = 0; i < 2 && e == ERR_OK; i++)
        if (d->traces[i] != NULL)
            e = coverage_tell(stdout, d->traces[i], d->kind == DIFF_TRACES ? d->names[i] : NULL, err);
    return e;
}

/* A page reads its inputs again. */
static enum err check_page(const struct options *o, struct err_detail *err)
{
    for (size_t i = 0; o->html != NULL && i < o->n_inputs; i++)
        if (input_is_once(o->inputs[i]))
            return err_set(err, ERR_USAGE, 0, "a page needs its input more than once: %s can be read only once",
                           strcmp(o->inputs[i], "-") == 0 ? "standard input" : o->inputs[i]);
    return ERR_OK;
}

static enum err diff_read(void *session, const struct options *o, struct err_detail *err)
{
    struct diff_session *s = session;
    const enum err e = check_page(o, err);
    s->options = o;
    if (e != ERR_OK)
        return e;
    if (o->n_inputs == 1 && o->n_policies == 2)
        return session_diff_policies(s, err);
    if (o->n_inputs == 2 && o->n_policies == 0)
        return session_diff_files(s, err);
    return err_set(err, ERR_USAGE, 0, "diff needs two files, or one trace and two --policy: replay diff %s",
                   o->n_inputs == 1 ? "TRACE --policy P --policy Q" : "A B");
}

static enum err diff_write_json(const void *session, FILE *out, struct err_detail *err)
{
    return diff_json(out, &((const struct diff_session *)session)->diff, err);
}

static enum err diff_print_text(const void *session, struct err_detail *err)
{
    const struct diff_session *s = session;
    const enum err e = diff_print(stdout, &s->diff, s->options->is_wide ? TERMINAL_ANY : terminal_columns(stdout), err);
    return e == ERR_OK ? print_coverage(s, err) : e;
}

static enum exit_status diff_status(const void *session)
{
    return diff_is_same(&((const struct diff_session *)session)->diff) ? STATUS_DONE : STATUS_FAILED;
}

static const struct flag_use diff_flags[] = {
    TAKES_AS(POLICY, "one of two policies on one trace; given twice"), TAKES(DEVICE),
    TAKES_AS(JSON, "write the differences as JSON; '-' is standard output, and then nothing else goes there"),
    TAKES(HTML), TAKES(NO_REPLAY), TAKES(WIDE), TAKES_RUN, TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_diff = {
    .name = "diff",
    .synopsis = "diff A B",
    .summary = "show what differs between two traces, two policies on one trace, or two sets of results",
    .text = "Two traces: what each requests at its peak and over one step, by size and by line of the program, and the "
            "first event that differs. A step lies between the last two marks of the same name, "
            "or is what repeats at the end.\n"
            "\n"
            "A trace and two policies: every figure that differs, the first request that is placed differently, and "
            "the first call to the device that only one of them makes.\n"
            "\n"
            "Two results (--json of a replay, or the database of a sweep): every figure that differs, run by run. If "
            "each holds one run, both are of one trace, and the trace is still there, they are replayed to show where "
            "they part. A results file never makes replay load a plugin or use a real card.\n"
            "\n"
            "The page of --html shows the same, and both sides in detail: as `replay report` does, two recordings "
            "under best-fit.\n"
            "\n"
            "  replay diff plain.pickle checkpointed.pickle\n"
            "  replay diff a.pickle --policy best-fit --policy pytorch:expandable\n"
            "  replay diff a.pickle --policy best-fit --policy pow2 --html differs.html\n"
            "  replay diff monday.json tuesday.json\n"
            "  replay diff old.db new.db --json what-changed.json\n",
    .failed = "something differs",
    .flags = diff_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 2,
    .answer = { .session_bytes = sizeof(struct diff_session), .files = { offsetof(struct options, html) },
                .read = diff_read, .write_json = diff_write_json, .write_files = diff_write_page,
                .print = diff_print_text, .status = diff_status, .close = diff_end },
};
