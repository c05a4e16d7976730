/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Chooses runs, then replays them trace by trace. */
#include "replay/results/detailed_runs.h"

#include "base/sha256.h"
#include "base/text_stream.h"
#include "import/import.h"
#include "replay/recording/coverage.h"
#include "replay/engine/explain_run.h"
#include "replay/results/foreign_run.h"
#include "replay/results/packed_page.h"
#include "replay/results/result.h"
#include "replay/recording/recorded_release.h"
#include "replay/recording/recorded_settings.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What a page may hold, so that it stays below 3 MB. The detailed runs share buckets and packed bytes. */
enum {
    DETAILED_PER_CASE = 6,           /* if the report has one case */
    DETAILED_MAX = 64,               /* runs in all */
    EXPLAINED_MAX = 48,              /* refusals in all */
    BUCKETS_ALL = 4800, BUCKETS_MAX = 480, BUCKETS_MIN = 60,
    PACKED_ALL = 2680000,            /* bytes of text: requests and where they lie */
};

/* ---- notes ---- */

enum err detailed_runs_note(struct page *page, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    char **grown = realloc(page->notes, (page->n_notes + 1) * sizeof *grown);
    if (grown == NULL)
        return ERR_HOST_NOMEM;
    page->notes = grown;
    if ((page->notes[page->n_notes] = strdup(text)) == NULL)
        return ERR_HOST_NOMEM;
    page->n_notes++;
    return ERR_OK;
}

/* ---- choosing ---- */

/* What is chosen for a row. */
enum choice { CHOICE_NONE, CHOICE_EXPLAINED, CHOICE_DETAILED };

static bool is_oom(const struct verdict *v, size_t row)
{
    return run_table_number(v->table, row, "oom_count") > 0;
}

/* Chooses a row if there is room. */
static void choose_row(uint8_t *choice, size_t row, size_t *room)
{
    if (row == VERDICT_NONE || choice[row] == CHOICE_DETAILED || *room == 0)
        return;
    choice[row] = CHOICE_DETAILED;
    --*room;
}

/* The first row of a case for which `is_it` is true and that is not chosen yet; VERDICT_NONE if there is none. */
static size_t find_row(const struct verdict *v, size_t here_case, const uint8_t *choice,
                       bool (*is_it)(const struct verdict *v, size_t row))
{
    for (size_t row = 0; row < v->table->n_rows; row++)
        if (v->case_of[row] == here_case && choice[row] != CHOICE_DETAILED && is_it(v, row))
            return row;
    return VERDICT_NONE;
}

/* Chooses rows of a case: its best run, a run out of memory, the default, the setting that is best overall, then the
 * others. */
static void choose_of_case(const struct verdict *v, size_t here_case, size_t per_case, uint8_t *choice, size_t *room)
{
    size_t here = per_case < *room ? per_case : *room;
    const size_t before = here;
    choose_row(choice, v->cases[here_case].best_row, &here);
    choose_row(choice, find_row(v, here_case, choice, is_oom), &here);
    choose_row(choice, find_row(v, here_case, choice, verdict_is_default), &here);
    for (size_t row = 0; row < v->table->n_rows; row++)
        if (v->case_of[row] == here_case && v->setting_of[row] == v->best_setting)
            choose_row(choice, row, &here);
    for (size_t row = 0; row < v->table->n_rows && here > 0; row++)
        if (v->case_of[row] == here_case)
            choose_row(choice, row, &here);
    *room -= before - here;
}

/* How much a case has to tell. */
struct interest {
    size_t index;                    /* of the case */
    bool   differs;                  /* a setting gets through and another does not */
    double spread;                   /* most over least memory of the card */
    uint64_t n_failed, n_oom;        /* n_oom: of n_failed */
};

static int by_interest(const void *a, const void *b)
{
    const struct interest *x = a, *y = b;
    if (x->differs != y->differs)
        return x->differs ? -1 : 1;
    if (x->spread > y->spread || x->spread < y->spread)
        return x->spread > y->spread ? -1 : 1;
    if (x->n_failed != y->n_failed)
        return x->n_failed > y->n_failed ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Finds the least and most memory of each case, over the runs that get through. 0: none does. */
static void find_extremes(const struct verdict *v, uint64_t *least, uint64_t *most)
{
    for (size_t row = 0; row < v->table->n_rows; row++) {
        const uint64_t bytes = (uint64_t)run_table_number(v->table, row, "card_peak_bytes");
        const size_t at = v->case_of[row];
        if (!verdict_is_ok(v->table, row))
            continue;
        least[at] = least[at] == 0 || bytes < least[at] ? bytes : least[at];
        most[at] = bytes > most[at] ? bytes : most[at];
    }
}

/* The cases, the most interesting first; free() them. NULL without memory. */
static struct interest *rank_cases(const struct verdict *v)
{
    struct interest *cases = calloc(v->n_cases + 1, sizeof *cases);
    uint64_t *extremes = calloc(2 * v->n_cases + 1, sizeof *extremes), *most = extremes + v->n_cases;
    if (cases == NULL || extremes == NULL) {
        free(cases);
        free(extremes);
        return NULL;
    }
    find_extremes(v, extremes, most);
    for (size_t i = 0; i < v->n_cases; i++)
        cases[i] = (struct interest){ .index = i, .n_failed = v->cases[i].n_runs - v->cases[i].n_ok,
            .differs = v->cases[i].n_ok > 0 && v->cases[i].n_ok < v->cases[i].n_runs,
            .spread = extremes[i] > 0 ? (double)most[i] / (double)extremes[i] : 1 };
    for (size_t row = 0; row < v->table->n_rows; row++)
        cases[v->case_of[row]].n_oom += is_oom(v, row);
    qsort(cases, v->n_cases, sizeof *cases, by_interest);
    free(extremes);
    return cases;
}

/* Chooses refusals to be explained, of the most interesting cases first. Each case that is gone through has one. */
static void choose_explained(const struct verdict *v, const struct interest *cases, uint8_t *choice)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_cases && n < EXPLAINED_MAX; i++)
        for (size_t row = 0; row < v->table->n_rows && n < EXPLAINED_MAX && cases[i].n_oom > 0; row++) {
            if (v->case_of[row] != cases[i].index || !is_oom(v, row))
                continue;
            n++;
            if (choice[row] == CHOICE_NONE)
                choice[row] = CHOICE_EXPLAINED;
        }
}

/* Makes the choice, by row; free() it. NULL without memory. */
static uint8_t *choose(const struct verdict *v, size_t *n_detailed)
{
    uint8_t *choice = calloc(v->table->n_rows + 1, 1);
    struct interest *cases = rank_cases(v);
    size_t room = DETAILED_MAX;
    const size_t per_case = v->n_cases == 1 ? DETAILED_PER_CASE : v->n_cases <= DETAILED_MAX / 4 ? 3 : 2;
    for (size_t i = 0; i < v->n_cases && room > 0 && choice != NULL && cases != NULL; i++)
        choose_of_case(v, cases[i].index, per_case, choice, &room);
    if (choice != NULL && cases != NULL)
        choose_explained(v, cases, choice);
    *n_detailed = DETAILED_MAX - room;
    if (cases == NULL) {
        free(choice);
        choice = NULL;
    }
    free(cases);
    return choice;
}

/* ---- one run ---- */

/* The watch of a lane: its course, and where it puts each request. */
struct detailed_watch {
    struct lane_watch base;          /* first, so the two pointers convert */
    struct page_run  *run;
    struct lane_lives lives;
};

/* A run under replay. Do not move it while it is open. */
struct detailed_lane {
    struct page_run     *run;
    struct policy_spec   spec;
    struct device_choice device;
    struct explain_run   explain;
    struct detailed_watch   watch;
};

/* The runs of a trace under replay. */
struct detailed_batch {
    struct page         *page;
    struct trace_reader *trace;
    struct detailed_lane   *runs;       /* n of each */
    struct lane         *lanes;
    struct report_run   *results;
    size_t   n;
    struct replay_config cfg;
    struct trace_lives lives;
    size_t   n_buckets;              /* for each run */
    size_t   packed_max;             /* for each trace */
};

static void watch_course(struct lane_watch *watch, const struct lane *l, const struct event *ev, uint64_t done)
{
    struct detailed_watch *w = (struct detailed_watch *)watch;
    timeline_take(&w->run->timeline, &l->meter, done, ev != NULL ? ev->time_ns : 0);
    lane_lives_event(&w->lives, l, ev, done);
}

/* ---- opening runs ---- */

/* Says why a run is not shown. ERR_HOST_NOMEM. */
static enum err refuse(struct page_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);
static enum err refuse(struct page_run *run, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    free(run->why_not);
    run->why_not = strdup(text);
    return run->why_not != NULL ? ERR_OK : ERR_HOST_NOMEM;
}

/* Opens the lane of a run as the results name it. If that fails, the run says why. */
static enum err open_run(struct detailed_batch *b, struct page_run *run, const char *release)
{
    const struct run_table *t = b->page->verdict->table;
    const char *policy = run_table_text(t, run->row, "policy");
    const struct field *typed = run_table_cell(t, run->row, "device_typed");
    const char *device = typed->kind == FIELD_TEXT ? typed->text : run_table_text(t, run->row, "device");
    struct detailed_lane *d = &b->runs[b->n];
    struct err_detail err = { .text = "" };
    *d = (struct detailed_lane){ .run = run };
    enum err e = foreign_run_check(policy, device, NULL, &err);
    if (e == ERR_OK)
        e = policy_spec_parse(policy, &d->spec, &err);
    if (e == ERR_OK) {
        recorded_take_release(release, &d->spec);
        e = device_choose(device, b->trace, &d->device, &err);
        if (e == ERR_OK)
            e = lane_open(&d->spec, d->device.ops, &d->device.config, b->trace, 0, &b->lanes[b->n], &err);
        if (e != ERR_OK)
            policy_spec_close(&d->spec);
    }
    if (e != ERR_OK)
        return e == ERR_HOST_NOMEM ? e : refuse(run, "%s", err.text);
    d->explain.event = EXPLAIN_NO_EVENT;
    d->watch.run = run;
    b->n++;
    return ERR_OK;
}

static void close_lanes(struct detailed_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        lane_close(&b->lanes[i]);
        policy_spec_close(&b->runs[i].spec);
        explain_run_close(&b->runs[i].explain);
        lane_lives_close(&b->runs[i].watch.lives);
        b->lanes[i] = (struct lane){ .spec = NULL };
        b->runs[i] = (struct detailed_lane){ .run = NULL };
    }
    b->n = 0;
}

/* ---- the course ---- */

/* Equal as values: JSON writes a ratio that is whole as a whole number. */
static bool is_same_value(const struct field *a, const struct field *b)
{
    const bool is_a_number = a->kind == FIELD_NUMBER || a->kind == FIELD_RATIO;
    const bool is_b_number = b->kind == FIELD_NUMBER || b->kind == FIELD_RATIO;
    if (a->kind == FIELD_NUMBER && b->kind == FIELD_NUMBER)
        return a->number == b->number;
    if (is_a_number && is_b_number)
        return (a->kind == FIELD_RATIO ? a->ratio : (double)a->number) ==
               (b->kind == FIELD_RATIO ? b->ratio : (double)b->number);
    return a->kind == b->kind && (a->kind != FIELD_TEXT || strcmp(a->text, b->text) == 0);
}

/* Whether a replayed run has the figures of the results. *name: the first field that differs. */
static bool is_as_stored(const struct run_table *t, size_t row, const struct report_run *run, const char **name)
{
    struct field fields[FIELDS_MAX];
    const size_t n = fields_of_run(run, fields);
    for (size_t i = 0; i < n; i++) {
        *name = fields[i].name;
        const struct field *stored = run_table_cell(t, row, fields[i].name);
        if (stored->kind != FIELD_NULL && !is_same_value(stored, &fields[i]))     /* older results lack newer columns */
            return false;
    }
    return true;
}

static size_t stack_frames(const void *trace, uint32_t stack, const char *const **frames)
{
    return trace_stack(trace, stack, frames);
}

/* NULL without memory. */
static char *explain_text(const struct detailed_batch *b, const struct detailed_lane *d)
{
    const struct explain_names names = { .stack = stack_frames, .own = stack_frame_index_of_program, .arg = b->trace,
        .event_word = trace_event_word(b->trace) };
    struct text_stream to;
    if (text_stream_open(&to) != NULL)
        explain_words(to.file, &d->explain.at_oom, d->spec.typed, &names);
    return text_stream_take(&to);
}

/* Keeps what the first pass found of a run, if its figures are those of the results. */
static enum err take_course(struct detailed_batch *b, size_t i, struct err_detail *err)
{
    const struct run_table *t = b->page->verdict->table;
    struct detailed_lane *d = &b->runs[i];
    const struct lane *l = &b->lanes[i];
    struct report report;
    const char *differs;
    enum err e = lanes_host_failure(l, 1, err);
    if (e != ERR_OK)
        return e;
    e = result_gather(b->trace, "", NULL, NULL, l, 1, &d->device, &b->results[i], &report, err);
    if (e != ERR_OK)
        return e;
    const bool is_equal = is_as_stored(t, d->run->row, &b->results[i], &differs);
    result_close(&report);
    d->run->peak_moment = l->meter.at_peak_sample.event;
    d->run->n_moments = l->events_done;
    if (!is_equal) {
        timeline_close(&d->run->timeline);
        return refuse(d->run, "replayed now, its %s is not what the results say", differs);
    }
    e = explain_run_finish(&d->explain, b->trace, err);
    if (e == ERR_OK && d->explain.at_oom.is_taken)
        if ((d->run->explanation = explain_text(b, d)) == NULL)
            e = ERR_HOST_NOMEM;
    return e;
}

static enum err watch_runs(struct detailed_batch *b)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < b->n && e == ERR_OK; i++) {
        struct detailed_watch *w = &b->runs[i].watch;
        b->lanes[i].explain = &b->runs[i].explain;
        if (b->runs[i].run->timeline.cap == 0)
            continue;
        w->base.event = watch_course;
        b->lanes[i].watch = &w->base;
        e = lane_lives_open(&w->lives, &b->lanes[i], &b->lives.requests);
    }
    return e;
}

static enum err run_course(struct detailed_batch *b, struct err_detail *err)
{
    enum err e = watch_runs(b);
    if (e == ERR_OK)
        e = replay_run(b->trace, b->lanes, b->n, &b->cfg, err);
    for (size_t i = 0; i < b->n && e == ERR_OK; i++)
        e = take_course(b, i, err);
    return e;
}

/* ---- packing ---- */

static enum err take_refusals(const struct lane_lives *lives, struct page_run *run)
{
    run->refusals = calloc(lives->n_refusals + 1, sizeof *run->refusals);
    if (run->refusals == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < lives->n_refusals; i++)
        run->refusals[run->n_refusals++] =
            (struct page_refusal){ .moment = lives->refusals[i].moment, .bytes = lives->refusals[i].bytes };
    return ERR_OK;
}

/* Packs the runs that are shown. Runs without a course are explained only. */
static enum err pack_runs(struct detailed_batch *b)
{
    struct page *page = b->page;
    struct lane_lives *lanes = calloc(b->n, sizeof *lanes);          /* borrowed copies */
    struct page_run **runs = calloc(b->n, sizeof *runs);
    enum err e = lanes != NULL && runs != NULL ? ERR_OK : ERR_HOST_NOMEM;
    size_t n = 0;
    for (size_t i = 0; i < b->n && e == ERR_OK; i++) {
        struct page_run *run = b->runs[i].run;
        if (run->why_not != NULL || run->timeline.n == 0)
            continue;
        run->trace = page->n_traces;
        e = lane_lives_finish(&b->runs[i].watch.lives);
        if (e == ERR_OK)
            e = take_refusals(&b->runs[i].watch.lives, run);
        lanes[n] = b->runs[i].watch.lives;
        runs[n++] = run;
    }
    if (e == ERR_OK && n > 0) {
        struct page_trace *trace = &page->traces[page->n_traces++];
        e = packed_page_courses(runs, n, &trace->courses);
        if (e == ERR_OK)
            e = packed_page_trace(b->trace, &b->lives, lanes, n, b->packed_max, trace, runs);
    }
    free(lanes);
    free(runs);
    return e;
}

/* ---- one trace ---- */

static enum oom_action oom_of(const char *text)
{
    return strcmp(text, "skip") == 0 ? OOM_SKIP : strcmp(text, "as-recorded") == 0 ? OOM_AS_RECORDED : OOM_STOP;
}

/* Whether two runs of a trace had the same replay options, so that they can be replayed together. */
static bool is_alike(const struct run_table *t, size_t a, size_t b)
{
    return strcmp(run_table_text(t, a, "on_oom"), run_table_text(t, b, "on_oom")) == 0 &&
           strcmp(run_table_text(t, a, "start"), run_table_text(t, b, "start")) == 0 &&
           strcmp(run_table_text(t, a, "releases"), run_table_text(t, b, "releases")) == 0;
}

enum err detailed_runs_open_trace(const struct run_table *t, size_t row, struct trace_reader **out,
                                  struct err_detail *err)
{
    const char *path = run_table_text(t, row, "trace_path"), *digest = run_table_text(t, row, "trace_digest");
    const char *from = run_table_text(t, row, "format"), *releases = run_table_text(t, row, "releases");
    const struct field *gpu = run_table_cell(t, row, "gpu");
    const struct import_config import = {
        .again = true,
        .gpu = gpu->kind == FIELD_NUMBER ? gpu->number : run_table_number(t, row, "trace_device"),
        .segment_frees = strcmp(releases, "program") == 0     ? SEGMENT_FREES_PROGRAM
                         : strcmp(releases, "allocator") == 0 ? SEGMENT_FREES_ALLOCATOR : SEGMENT_FREES_AUTO,
    };
    char there[SHA256_HEX];
    enum err e = foreign_run_check(NULL, NULL, path, err);
    if (e == ERR_OK && digest[0] != '\0')
        e = sha256_file(path, there, err);
    if (e == ERR_OK && digest[0] != '\0' && strcmp(there, digest) != 0)
        return err_set(err, ERR_FORMAT, 0, "the trace %s is not what it was", path);
    return e == ERR_OK ? trace_open_any(path, from[0] != '\0' ? from : NULL, &import, out, err) : e;
}

static enum err refuse_from(struct page *page, size_t first, size_t end, const char *reason)
{
    enum err e = ERR_OK;
    for (size_t i = first; i < end && e == ERR_OK; i++)
        if (page->runs[i].why_not == NULL)
            e = refuse(&page->runs[i], "%s", reason);
    return e;
}

static enum err replay_batch(struct detailed_batch *b, size_t first, size_t end, const struct steps *steps,
                             struct err_detail *err)
{
    const char *release;
    enum err e = recorded_release(b->trace, &release, err);
    b->runs = calloc(end - first, sizeof *b->runs);
    b->lanes = calloc(end - first, sizeof *b->lanes);
    b->results = calloc(end - first, sizeof *b->results);
    if (b->runs == NULL || b->lanes == NULL || b->results == NULL)
        e = ERR_HOST_NOMEM;
    for (size_t i = first; i < end && e == ERR_OK; i++)
        e = open_run(b, &b->page->runs[i], release);
    if (e == ERR_OK && b->n > 0) {
        trace_watch_reading(b->trace, b->cfg.progress, b->cfg.progress_arg);
        e = trace_lives_read(b->trace, steps, &b->lives, err);
        trace_watch_reading(b->trace, NULL, NULL);
    }
    if (e == ERR_OK && b->n > 0)
        e = run_course(b, err);
    if (e == ERR_OK && b->n > 0)
        e = pack_runs(b);
    close_lanes(b);
    trace_lives_close(&b->lives);
    free(b->runs);
    free(b->lanes);
    free(b->results);
    return e;
}

/* Replays the chosen runs [first, end) of a trace. */
static enum err replay_trace(struct page *page, size_t first, size_t end, struct detailed_batch *b)
{
    const struct run_table *t = page->verdict->table;
    struct err_detail reason = { .text = "" };
    b->page = page;
    b->n = 0;
    b->cfg.on_oom = oom_of(run_table_text(t, page->runs[first].row, "on_oom"));
    b->cfg.start = strcmp(run_table_text(t, page->runs[first].row, "start"), "faithful") == 0 ? START_FAITHFUL
                                                                                             : START_FRESH;
    enum err e = detailed_runs_open_trace(t, page->runs[first].row, &b->trace, &reason);
    if (e == ERR_OK) {
        struct coverage coverage;
        e = coverage_read(b->trace, &coverage, &reason);
        b->cfg.n_borders = e == ERR_OK ? steps_borders(&coverage.steps, b->cfg.borders) : 0;
        if (e == ERR_OK)
            e = replay_batch(b, first, end, &coverage.steps, &reason);
        trace_close(b->trace);
    }
    return e == ERR_OK || e == ERR_HOST_NOMEM ? e : refuse_from(page, first, end, reason.text);
}

/* ---- all ---- */

static size_t clamp(size_t n, size_t least, size_t most)
{
    return n < least ? least : n > most ? most : n;
}

/* Makes the chosen rows runs of the page. Runs of one trace follow each other, as in the table. */
static enum err add_runs(struct page *page, const uint8_t *choice, size_t n_buckets)
{
    const struct verdict *v = page->verdict;
    page->runs = calloc(v->table->n_rows + 1, sizeof *page->runs);
    page->traces = calloc(v->table->n_rows + 1, sizeof *page->traces);
    enum err e = page->runs != NULL && page->traces != NULL ? ERR_OK : ERR_HOST_NOMEM;
    for (size_t row = 0; row < v->table->n_rows && e == ERR_OK; row++) {
        if (choice[row] == CHOICE_NONE)
            continue;
        struct page_run *run = &page->runs[page->n_runs++];
        *run = (struct page_run){ .row = row };
        if (choice[row] == CHOICE_DETAILED)
            e = timeline_open(&run->timeline, n_buckets & ~(size_t)1);
    }
    return e;
}

/* Notes which runs the page does not show in detail. */
static enum err say_left_out(struct page *page, size_t n_detailed)
{
    const struct run_table *t = page->verdict->table;
    uint64_t n_oom = 0;
    for (size_t row = 0; row < t->n_rows; row++)
        n_oom += is_oom(page->verdict, row);
    enum err e = ERR_OK;
    if (n_detailed < t->n_rows)
        e = detailed_runs_note(page, "%zu of %zu runs are shown in detail: first of the traces and cards on which the "
                               "outcome differs, then of those on which memory differs most; of each the best run, a "
                               "run out of memory, and the default setting, as far as there is room. The tables and "
                               "the CSV hold all runs.", n_detailed, t->n_rows);
    if (e == ERR_OK && n_oom > EXPLAINED_MAX)
        e = detailed_runs_note(page, "%d of %" PRIu64 " runs out of memory are explained; `replay TRACE "
                               "--policy P --device D` explains any other.", EXPLAINED_MAX, n_oom);
    return e;
}

enum err detailed_runs_replay(struct page *page, unsigned threads,
                              void (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                              struct err_detail *err)
{
    const struct verdict *v = page->verdict;
    size_t n_detailed;
    uint8_t *choice = choose(v, &n_detailed);
    if (choice == NULL)
        return err_no_memory(err);
    const size_t share = n_detailed > 0 ? n_detailed : 1;
    struct detailed_batch b = {
        .cfg       = { .threads = threads, .progress = progress, .progress_arg = arg },
        .n_buckets = clamp(BUCKETS_ALL / share, BUCKETS_MIN, BUCKETS_MAX),
        .packed_max = PACKED_ALL / clamp(v->n_traces, 1, share),
    };
    enum err e = add_runs(page, choice, b.n_buckets);
    free(choice);
    for (size_t first = 0, end; first < page->n_runs && e == ERR_OK; first = end) {
        const size_t row = page->runs[first].row;
        for (end = first + 1; end < page->n_runs && verdict_is_same_trace(v->table, row, page->runs[end].row) &&
                              is_alike(v->table, row, page->runs[end].row); end++)
            ;
        e = replay_trace(page, first, end, &b);
    }
    if (e == ERR_OK)
        e = say_left_out(page, n_detailed);
    return e == ERR_OK ? e : err_no_memory(err);
}

void detailed_runs_close(struct page *page)
{
    for (size_t i = 0; i < page->n_runs; i++) {
        struct page_run *run = &page->runs[i];
        free(run->placed);
        free(run->memory);
        free(run->refusals);
        free(run->explanation);
        free(run->why_not);
        timeline_close(&run->timeline);
    }
    for (size_t i = 0; i < page->n_traces; i++) {
        free(page->traces[i].folder);
        free(page->traces[i].requests);
        free(page->traces[i].stacks);
        free(page->traces[i].events);
        free(page->traces[i].courses);
    }
    for (size_t i = 0; i < page->n_notes; i++)
        free(page->notes[i]);
    free(page->runs);
    free(page->traces);
    free(page->notes);
    *page = (struct page){ .runs = NULL };
}
