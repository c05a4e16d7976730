/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay sweep`: every trace with every policy on every card, into a database; `replay merge`: several databases. */
#include "replay/program/cli.h"

#include "base/database_files.h"
#include "base/monotonic_ms.h"
#include "base/shown.h"
#include "base/terminal.h"
#include "replay/program/database_watch.h"
#include "replay/program/job.h"
#include "replay/program/output_names.h"
#include "replay/sweep/sweep_ranks.h"
#include "report/text/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- progress ---- */

struct sweep_progress {
    const struct sweep *sweep;
    int64_t started_ms, shown_ms;
    bool   is_terminal, is_line_open, is_end_told;
};

static void clear_progress(struct sweep_progress *p)
{
    if (p->is_line_open)
        progress_erase_line();
    p->is_line_open = false;
}

/* After a signal the current trace is still replayed to its end, which may take a while. */
static void tell_end(struct sweep_progress *p)
{
    if (p->is_end_told)
        return;
    clear_progress(p);
    fprintf(stderr, "sweep: ends after this trace; a second signal ends it at once; no stored run is lost\n");
    p->is_end_told = true;
}

/* On a terminal one line that is rewritten; elsewhere a new line every half minute. False: it is too soon for one. */
static bool begin_line(struct sweep_progress *p, size_t input, bool is_at_once)
{
    enum { REFRESH_MS = 250, PAUSE_MS = 30000 };
    const int64_t now = monotonic_ms();
    const bool is_soon = now - p->shown_ms < (p->is_terminal ? REFRESH_MS : PAUSE_MS) ||
                         now - p->started_ms < PROGRESS_PATIENCE_MS;
    if (is_soon && !(is_at_once && p->is_terminal))
        return false;
    p->shown_ms = now;
    if (p->is_terminal)
        progress_erase_line();
    fprintf(stderr, "sweep: trace %zu of %zu, ", input + 1, p->sweep->inputs.n);
    return true;
}

static void end_line(struct sweep_progress *p)
{
    if (!p->is_terminal)
        fputc('\n', stderr);
    p->is_line_open = p->is_terminal;
}

static void show_progress(void *arg, size_t input, double done)
{
    struct sweep_progress *p = arg;
    if (p->sweep->interrupted != NULL && *p->sweep->interrupted != 0) {
        tell_end(p);
        return;
    }
    if (!begin_line(p, input, false))
        return;
    const double elapsed_s = (double)(p->shown_ms - p->started_ms) / 1000;
    fprintf(stderr, "%.0f %% of the work", 100 * done);
    if (done > 0.02 && done < 1)
        fprintf(stderr, ", about %.0f s left", elapsed_s * (1 - done) / done);
    end_line(p);
}

/* Nothing tells how far the digest of a file is, so of a large one it is said at once that it is read. */
static void show_reading(void *arg, size_t input, uint64_t done, uint64_t total)
{
    enum { LARGE_BYTES = 64 << 20 };
    if (!begin_line(arg, input, done == 0 && total >= LARGE_BYTES))
        return;
    fputs("reading", stderr);
    if (done > 0 && done <= total)
        fprintf(stderr, ", %.0f %%", 100 * (double)done / (double)total);
    end_line(arg);
}

static void show_complaint(void *arg, const char *text)
{
    clear_progress(arg);
    fputs("replay: left out: ", stderr);
    shown_put(stderr, text);
    fputc('\n', stderr);
}

/* ---- outputs ---- */

struct result_outputs {
    struct output *json, *csv;       /* NULL: not asked for */
    bool is_stdout_taken, is_wide, is_quiet;
};

static void outputs_abandon(struct result_outputs *to)
{
    output_abandon(to->json);
    output_abandon(to->csv);
}

/* Writes the JSON and CSV that were asked for, and a summary to standard output unless one of them goes there. */
static enum err write_results(struct results_db *db, struct result_outputs *to, struct err_detail *err)
{
    enum err e = ERR_OK;
    if (to->json != NULL)
        e = results_db_write_json(db, output_file(to->json), err);
    if (to->csv != NULL && e == ERR_OK)
        e = results_db_write_csv(db, output_file(to->csv), err);
    if (e == ERR_OK)
        e = output_commit(&to->json, err);
    if (e == ERR_OK)
        e = output_commit(&to->csv, err);
    if (e != ERR_OK || to->is_stdout_taken || to->is_quiet)
        return e;
    return results_db_write_table(db, stdout, to->is_wide ? TERMINAL_ANY : terminal_columns(stdout), err);
}

/* The database is written in place, so it must not be one of the inputs. */
static enum err open_outputs(const struct options *o, struct result_outputs *to, struct err_detail *err)
{
    to->is_wide = o->is_wide;
    to->is_quiet = o->is_given[FLAG_QUIET];
    if (o->out == NULL)
        return err_set(err, ERR_USAGE, 0, "-o FILE is missing: it names the database for the results. Add "
                       "-o results.db, for instance");
    enum err e = output_names_check(o, err);             /* a job file names outputs, too */
    if (e == ERR_OK)
        e = cli_check_output(o, o->out, err);
    if (e == ERR_OK)
        e = output_names_check_database(o, err);
    if (e == ERR_OK)
        e = cli_open_output(o, o->json, &to->is_stdout_taken, &to->json, err);
    return e == ERR_OK ? cli_open_output(o, o->csv, &to->is_stdout_taken, &to->csv, err) : e;
}

/* ---- the sweep ---- */

static void print_counts(const struct sweep *s)
{
    struct words w = { .n = 0 };
    words_add(&w, "%" PRIu64 " runs: %" PRIu64 " done now, %" PRIu64 " there already", s->n_runs - s->n_unopened,
              s->n_finished, s->n_done_before);
    if (s->n_left_out > 0)
        words_add(&w, "; %" PRIu64 " left out", s->n_left_out);
    if (s->n_no_traces > 0)
        words_add(&w, "; %" PRIu64 " %s", s->n_no_traces, s->n_no_traces == 1 ? "file is not a trace"
                                                                              : "files are not traces");
    if (s->n_repeated > 0)
        words_add(&w, "; %" PRIu64 " could not differ from another run and were not replayed", s->n_repeated);
    words_print(stdout, &w, 0, 2);
    fputc('\n', stdout);
}

/* What comes next: the winner over all cases, and the page. */
static void print_next(const char *database)
{
    struct words w = { .n = 0 };
    words_add(&w, "Next: replay report %s says what does best over all; with --html FILE as a page.", database);
    fputc('\n', stdout);
    words_print(stdout, &w, 0, 2);
}

static enum exit_status sweep_status(const struct sweep *s)
{
    if (s->host_error != ERR_OK)
        return STATUS_OURS;
    if (s->n_left_out > 0)
        return s->n_finished + s->n_done_before > 0 ? STATUS_PART : STATUS_USAGE;
    return s->n_wrong > 0 ? STATUS_FAILED : STATUS_DONE;
}

/* Replays the runs that are not stored yet, in this process or in all ranks, and writes the results. */
static enum err sweep_and_write(struct sweep *s, const struct options *o, const struct ranks *ranks,
                                struct result_outputs *to, struct err_detail *err)
{
    const bool is_resumed = o->is_given[FLAG_RESUME];
    const int64_t now = monotonic_ms();
    struct sweep_progress progress = { .sweep = s, .started_ms = now, .shown_ms = now,
                                       .is_terminal = isatty(STDERR_FILENO) != 0 };
    s->watch = &database_watch;
    s->progress = show_progress;
    s->reading = show_reading;
    s->complain = show_complaint;
    s->arg = &progress;
    const enum err e = ranks->n > 1 ? sweep_deal(s, o->out, is_resumed, ranks, err)
                                    : sweep_run(s, o->out, is_resumed, err);
    clear_progress(&progress);
    if (e != ERR_OK)
        return e;
    if (!to->is_stdout_taken)
        print_counts(s);
    const enum err written = write_results(s->db, to, err);
    if (written == ERR_OK && !to->is_stdout_taken && !to->is_quiet)
        print_next(o->out);
    return written;
}

/* After a signal: every stored run is complete. */
static enum exit_status sweep_interrupted(const struct sweep *s)
{
    fprintf(stderr, "replay: ended by signal %d: %" PRIu64 " of %" PRIu64 " runs stored; the same command goes on\n",
            (int)*s->interrupted, s->n_done_before + s->n_finished, sweep_count_runs(s));
    return (enum exit_status)(128 + *s->interrupted);
}

/* Rank 0 says why, and ends the other ranks. */
static enum exit_status sweep_cannot_begin(const struct ranks *ranks, enum err e, const struct err_detail *err)
{
    struct sweep nothing = { .db = NULL };
    if (ranks->rank > 0) {
        sweep_serve(&nothing, ranks, e, err);
        return STATUS_DONE;
    }
    sweep_dismiss(ranks);
    return cli_fail(e, err);
}

static enum err request_of(const struct options *o, struct sweep_request *out, struct err_detail *err)
{
    *out = (struct sweep_request){
        .inputs = o->inputs, .n_inputs = o->n_inputs,
        .policies = o->n_policies > 0 ? o->policies : default_policies,
        .n_policies = o->n_policies > 0 ? o->n_policies : N_DEFAULT_POLICIES,
        .has_default_policies = o->n_policies == 0,
        .devices = o->devices, .n_devices = o->n_devices, .from = o->from, .import = o->import, .on_oom = o->on_oom,
        .start = o->start, .threads = o->threads, .shard = o->shard, .n_shards = o->n_shards,
        .price_bytes_per_ms = o->is_given[FLAG_PRICE] ? &o->price : NULL,
    };
    return o->copies != NULL ? sweep_copies_parse(o->copies, &out->copies, err) : ERR_OK;
}

static enum exit_status sweep_options(const struct options *o, const struct ranks *ranks)
{
    struct err_detail err = { .text = "" };
    struct sweep s = { .db = NULL };
    struct result_outputs to = { .json = NULL };
    enum exit_status status = STATUS_DONE;
    /* under mpirun, mpirun ends the ranks */
    const volatile sig_atomic_t *interrupted = ranks->n == 1 ? cli_defer_signals() : NULL;
    struct sweep_request asked;
    enum err e = request_of(o, &asked, &err);
    if (e == ERR_OK)
        e = sweep_open(&asked, &s, &err);
    if (e == ERR_OK && ranks->rank == 0)
        e = open_outputs(o, &to, &err);
    if (e != ERR_OK) {
        status = sweep_cannot_begin(ranks, e, &err);
    } else if (ranks->rank > 0) {
        sweep_serve(&s, ranks, e, &err);
    } else {
        s.interrupted = interrupted;
        e = sweep_and_write(&s, o, ranks, &to, &err);
        status = e == ERR_INTERRUPTED ? sweep_interrupted(&s)
                 : e != ERR_OK        ? cli_fail(e, &err)
                                      : cli_finish_stdout(sweep_status(&s));
    }
    outputs_abandon(&to);
    sweep_close(&s);
    return status;
}

#define TAKES_SWEEP                                                                                               \
    TAKES_AS(POLICY, "policies to try; braces stand for several; may be given several times (default: "            \
                     DEFAULT_POLICIES ")"),                                                                       \
    TAKES_AS(DEVICES, "a simulated card, such as 24GiB or h100-80g; braces stand for several; may be given "      \
                      "several times (default: the "                                                              \
                     "recorded card, or the smallest named one that holds the recorded run)"),                    \
    TAKES_AS(OUT, "the database of results; it is made if it is not there"), TAKES(JSON), TAKES(CSV), TAKES_RUN,  \
    TAKES(THREADS), TAKES(PRICE), TAKES_INPUT, TAKES(COPIES), TAKES(SHARD), TAKES(RESUME)

static const struct flag_use sweep_flags[] = {TAKES_SWEEP, TAKES(WIDE), TAKES(QUIET), TAKES(SHOW_JOB), TAKES(HELP),
                                               FLAGS_END};
static const struct flag_use job_flags[] = {TAKES_SWEEP, FLAGS_END};

static bool is_job_file(const char *path)
{
    const size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".ini") == 0;
}

/* Whether an option may be typed beside a job file: it may differ between the parts of one job. */
static bool may_stand_beside(enum flag_id id)
{
    return id == FLAG_OUT || id == FLAG_THREADS || id == FLAG_SHARD || id == FLAG_RESUME || id == FLAG_WIDE ||
           id == FLAG_QUIET;
}

static bool has_other_options(const struct options *o)
{
    for (unsigned i = 0; i < N_FLAGS; i++)
        if (o->is_given[i] && !may_stand_beside((enum flag_id)i))
            return true;
    return false;
}

/* What is typed wins over what the file says. */
static void take_beside(struct options *job, const struct options *typed)
{
    for (unsigned i = 0; i < N_FLAGS; i++)
        job->is_given[i] |= typed->is_given[i];
    job->out = typed->out != NULL ? typed->out : job->out;
    job->is_wide |= typed->is_wide;
    job->threads = typed->threads > 0 ? typed->threads : job->threads;
    if (typed->n_shards > 0) {
        assert(typed->shard >= 1 && typed->shard <= typed->n_shards);
        job->shard = typed->shard;
        job->n_shards = typed->n_shards;
    }
}

static enum exit_status sweep_job_file(const struct options *o, const struct ranks *ranks)
{
    struct err_detail err = { .text = "" };
    struct job job = { .options = { .n_inputs = 0 } };
    enum err e = ERR_OK;
    if (o->n_inputs > 1 || has_other_options(o))
        e = err_at(&err, ERR_USAGE, 0, o->inputs[0], "beside a job file only -o, --threads, --shard, --resume, "
                   "--wide and --quiet may be typed");
    if (e == ERR_OK)
        e = job_read(o->inputs[0], job_flags, &job, &err);
    if (e == ERR_OK && job.options.n_inputs == 0)
        e = err_at(&err, ERR_USAGE, 0, o->inputs[0], "holds no 'trace = FILE'");
    if (e != ERR_OK) {
        job_close(&job);
        return sweep_cannot_begin(ranks, e, &err);
    }
    take_beside(&job.options, o);
    const enum exit_status status = sweep_options(&job.options, ranks);
    job_close(&job);
    return status;
}

static enum exit_status sweep_main(const struct options *o)
{
    struct err_detail err = { .text = "" };
    struct ranks ranks;
    if (o->is_given[FLAG_SHOW_JOB]) {
        const enum err refused = job_write(stdout, o, &err);
        return refused != ERR_OK ? cli_fail(refused, &err) : cli_finish_stdout(STATUS_DONE);
    }
    const enum err e = ranks_open(&ranks, &err);
    if (e != ERR_OK)
        return cli_fail(e, &err);
    const enum exit_status status = is_job_file(o->inputs[0]) ? sweep_job_file(o, &ranks) : sweep_options(o, &ranks);
    ranks_close(&ranks);
    return status;
}

/* ---- merging ---- */

static void print_count(const char *path, uint64_t n, const char *what)
{
    shown_put(stdout, path);
    printf(": %" PRIu64 " %s\n", n, what);
}

/* Into a database that is open. */
static enum err merge_inputs(const struct options *o, bool is_quiet, struct results_db *db, struct err_detail *err)
{
    uint64_t n_added;
    enum err e = ERR_OK;
    for (size_t i = 0; i < o->n_inputs && e == ERR_OK; i++) {
        e = results_db_merge(db, o->inputs[i], &n_added, err);
        if (e == ERR_OK && !is_quiet)
            print_count(o->inputs[i], n_added, "new runs");
    }
    return e;
}

/* Into a database that is there. */
static enum err merge_into_old(const struct options *o, bool is_quiet, const struct results_db_watch *watch,
                               struct err_detail *err)
{
    struct results_db *db = NULL;
    enum err e = results_db_open(o->out, false, watch, &db, err);
    if (e == ERR_OK)
        e = merge_inputs(o, is_quiet, db, err);
    results_db_close(db);
    return e;
}

/* Fills the temporary file. */
static enum err fill_new(const struct options *o, bool is_quiet, const char *temporary,
                         const struct results_db_watch *watch, struct err_detail *err)
{
    struct results_db *db = NULL;
    enum err e = results_db_open_new(temporary, o->out, watch, &db, err);
    if (e == ERR_OK)
        e = merge_inputs(o, is_quiet, db, err);
    results_db_close(db);
    return e;
}

/* For a database that got its name from somebody else meanwhile. */
static enum err copy_new(const struct options *o, const char *temporary, const struct results_db_watch *watch,
                         struct err_detail *err)
{
    struct results_db *db = NULL;
    uint64_t n_added;
    enum err e = results_db_open(o->out, false, watch, &db, err);
    if (e == ERR_OK)
        e = results_db_merge(db, temporary, &n_added, err);
    results_db_close(db);
    return e;
}

/* Into a database that is not there: a partial merge would look complete, so it has no name until it is whole. */
static enum err merge_into_new(const struct options *o, bool is_quiet, const struct results_db_watch *watch,
                               struct err_detail *err)
{
    struct new_database made;
    bool is_named = false;
    enum err e = new_database_open(o->out, &made, err);
    if (e == ERR_OK)
        e = fill_new(o, is_quiet, made.temporary, watch, err);
    if (e == ERR_OK)
        e = new_database_publish(&made, &is_named, err);
    if (e == ERR_OK && !is_named)
        e = copy_new(o, made.temporary, watch, err);
    new_database_close(&made);
    return e;
}

/* The merged database, as it is asked for. */
static enum err write_merged(const struct options *o, struct result_outputs *to, const struct results_db_watch *watch,
                             struct err_detail *err)
{
    struct results_db *db = NULL;
    uint64_t n_all = 0;
    enum err e = results_db_open(o->out, true, watch, &db, err);
    if (e == ERR_OK && o->is_given[FLAG_PRICE])
        e = results_db_set_price(db, o->price, err);
    if (e == ERR_OK)
        e = results_db_count(db, &n_all, err);
    if (e == ERR_OK && !to->is_stdout_taken)
        print_count(o->out, n_all, "runs");
    if (e == ERR_OK)
        e = write_results(db, to, err);
    results_db_close(db);
    return e;
}

static enum exit_status merge_main(const struct options *o)
{
    struct err_detail err = { .text = "" };
    struct result_outputs to = { .json = NULL };
    const struct results_db_watch watch = { .waits = database_tell_waiting, .interrupted = cli_defer_signals() };
    enum err e = open_outputs(o, &to, &err);
    if (e == ERR_OK && access(o->out, F_OK) == 0)
        e = merge_into_old(o, to.is_stdout_taken, &watch, &err);
    else if (e == ERR_OK)
        e = merge_into_new(o, to.is_stdout_taken, &watch, &err);
    if (e == ERR_OK)
        e = write_merged(o, &to, &watch, &err);
    outputs_abandon(&to);
    if (e == ERR_INTERRUPTED) {
        fprintf(stderr, "replay: ended by signal %d\n", (int)*watch.interrupted);
        return (enum exit_status)(128 + *watch.interrupted);
    }
    return e != ERR_OK ? cli_fail(e, &err) : cli_finish_stdout(STATUS_DONE);
}

const struct subcommand cmd_sweep = {
    .name = "sweep",
    .synopsis = "sweep TRACE... -o DB",
    .summary = "replay traces through many policies and on many cards, with the results in a database (SQLite)",
    .text = "TRACE is a file, or a folder of files. Folders or files named rank0, rank1, ... are the ranks of one job. "
            "Instead of traces, one job file NAME.ini may be given: its keys are these options, and 'trace'; -o, "
            "--threads, --shard, --resume, --wide and --quiet may be typed beside it.\n"
            "\n"
            "A run that the database holds is not repeated. A run that cannot differ from another is not replayed: it "
            "gets a row with the other's figures. Under mpirun, rank 0 deals the runs to the other ranks and writes "
            "the database.\n"
            "\n"
            "With --copies each trace also runs on changed copies of it: a copy has the same requests in the same "
            "order, but equal sizes change alike by up to so many percent, by the copy's seed. Each run of a copy has "
            "its row, and the summary tells the quartiles of what is reserved at the peak. "
            "What wins is found without the copies.\n"
            "\n"
            "Braces stand for several policies or cards:\n"
            "  none                          a policy or a card as it is\n"
            "  gc={off,0.6,0.8}              each item in turn; several braces: all\n"
            "                                combinations; braces may stand in braces\n"
            "  {16,24}GiB   {none,32}MiB     a unit after braces belongs to their numbers\n"
            "  16..80:8GiB  {1..3}           a range: from, to and step (default: 1)\n"
            "  {4,[256:1,>:8]}               a comma within brackets does not separate\n"
            "  pytorch{,:gc=0.8}             an item may be empty\n"
            "\n"
            "Examples:\n"
            "  replay sweep snapshot.pickle --device 4090 --device h100-80g -o results.db\n"
            "  replay sweep runs/ --policy 'max_split_size_mb:{32,64,128}' -o results.db\n"
            "  replay report results.db\n",
    .failed = "a run failed its audit or could not be finished; a run out of memory is a result",
    .status_note = "What was left out is said on standard error; if nothing else was asked for, the status is 2. "
                   "After a signal all finished runs are stored, and the same command goes on.",
    .may_leave_out = true,
    .flags = sweep_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .run = sweep_main,
};

static const struct flag_use merge_flags[] = {
    TAKES_AS(OUT, "the database to put the results into; it is made if it is not there"), TAKES(JSON), TAKES(CSV),
    TAKES(PRICE), TAKES(WIDE), TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_merge = {
    .name = "merge",
    .synopsis = "merge DB... -o DB",
    .summary = "put the results of several sweeps into one database",
    .text = "A run that is there already stays as it is; a run of the same name with other results is refused. If a DB "
            "cannot be read, a new database is not made; one that was there keeps what came from the DBs before.\n",
    .flags = merge_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .run = merge_main,
};
