/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay sweep`: every trace with every policy on every card, into a database. */
#include "replay/program/database_watch.h"
#include "replay/program/job.h"
#include "replay/program/result_outputs.h"
#include "replay/program/sweep_progress.h"
#include "replay/sweep/sweep_ranks.h"
#include "report/text/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { SENTENCE = 120 };

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

/* Everything the command holds. Zero is valid: sweep_end accepts it. */
struct sweep_session {
    const struct options *options;
    struct job     job;              /* the options, if they are in a file */
    struct options no_outputs;       /* the options of a rank that writes nothing */
    struct ranks   ranks;
    struct sweep   sweep;
    struct sweep_request asked;
    bool           is_begun;
    enum err       unfit;            /* why this rank, not the first, cannot begin: the first one says it */
    struct err_detail why_unfit;
};

/* Whether folders hold files, and none of them is a trace. A shard may have such a part of folders that hold some. */
static bool finds_no_trace(const struct sweep *s)
{
    return s->asked.n_shards == 0 && s->n_no_traces > 0 && s->n_no_traces == s->inputs.n / (s->asked.copies.n + 1);
}

static void print_counts(const struct sweep *s)
{
    struct words w = { .n = 0 };
    words_add(&w, "%" PRIu64 " runs: %" PRIu64 " done now, %" PRIu64 " there already", s->n_runs - s->n_unopened,
              s->n_finished, s->n_done_before);
    if (s->n_wrong > 0)
        words_add(&w, "; %" PRIu64 " FAILED", s->n_wrong);
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

static enum exit_status sweep_status(const void *session)
{
    const struct sweep *s = &((const struct sweep_session *)session)->sweep;
    if (s->host_error != ERR_OK)
        return STATUS_OURS;
    if (s->n_left_out > 0)
        return s->n_finished + s->n_done_before > 0 ? STATUS_PART : STATUS_USAGE;
    if (finds_no_trace(s))
        return STATUS_USAGE;
    return s->n_wrong > 0 ? STATUS_FAILED : STATUS_DONE;
}

static enum err request_of(const struct options *o, struct sweep_request *out, struct err_detail *err)
{
    *out = (struct sweep_request){
        .inputs = o->inputs, .n_inputs = o->n_inputs,
        .policies = o->policies, .n_policies = o->n_policies,
        .has_default_policies = o->n_policies == 0,
        .devices = o->devices, .n_devices = o->n_devices, .from = o->from, .import = o->import, .on_oom = o->on_oom,
        .start = o->start, .threads = o->threads, .shard = o->shard, .n_shards = o->n_shards,
        .price_bytes_per_ms = o->is_given[FLAG_PRICE] ? &o->price : NULL,
    };
    return o->copies != NULL ? sweep_copies_parse(o->copies, &out->copies, err) : ERR_OK;
}

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

static enum err read_job(struct sweep_session *s, const struct options *o, struct err_detail *err)
{
    if (o->n_inputs > 1 || has_other_options(o))
        return err_at(err, ERR_USAGE, 0, o->inputs[0], "beside a job file only -o, --threads, --shard, --resume, "
                      "--wide and --quiet may be typed");
    const enum err e = job_read(o->inputs[0], job_flags, &s->job, err);
    if (e == ERR_OK && s->job.options.n_inputs == 0)
        return err_at(err, ERR_USAGE, 0, o->inputs[0], "holds no 'trace = FILE'");
    if (e == ERR_OK)
        take_beside(&s->job.options, o);
    return e;
}

/* Each rank opens the inputs; the first one looks at the outputs, too. */
static enum err open_sweep(struct sweep_session *s, const struct options **o, struct err_detail *err)
{
    const char *const job = is_job_file((*o)->inputs[0]) ? (*o)->inputs[0] : NULL, *culprit = NULL;
    struct err_detail reason = { .text = "" };
    enum err e = ERR_OK;
    if (job != NULL) {
        e = read_job(s, *o, err);
        *o = &s->job.options;
    }
    s->options = *o;
    if (e == ERR_OK)
        e = request_of(*o, &s->asked, err);
    if (e == ERR_OK && (e = sweep_open(&s->asked, &s->sweep, &culprit, &reason)) != ERR_OK) {
        const size_t line = culprit != NULL ? job_line(&s->job, culprit) : 0;
        *err = reason;
        if (line > 0)
            e = err_at(err, e, line, job, "line %zu: %s", line, reason.text);
    }
    return e == ERR_OK && s->ranks.rank == 0 ? result_outputs_check(*o, err) : e;
}

static enum err sweep_prepare(void *session, const struct options **o, struct err_detail *err)
{
    struct sweep_session *s = session;
    enum err e = ranks_open(&s->ranks, err);
    if (e != ERR_OK)
        return e;
    /* mpirun sends all ranks the signal, and soon the one that no program survives: the first closes the database. */
    const volatile sig_atomic_t *interrupted = s->ranks.rank == 0 ? cli_defer_signals() : NULL;
    e = open_sweep(s, o, err);
    s->sweep.interrupted = interrupted;
    if (s->ranks.rank == 0)
        return e;
    s->unfit = e;
    s->why_unfit = *err;
    *o = &s->no_outputs;
    return ERR_OK;
}

/* Replays the runs that are not stored yet, in this process or in all ranks. */
static enum err sweep_read(void *session, const struct options *o, struct err_detail *err)
{
    struct sweep_session *s = session;
    struct sweep_progress progress;
    char stored[SENTENCE];
    s->is_begun = true;
    if (s->ranks.rank > 0) {
        sweep_serve(&s->sweep, &s->ranks, s->unfit, &s->why_unfit);
        return ERR_OK;
    }
    sweep_progress_begin(&s->sweep, &progress);
    s->sweep.watch = &database_watch;
    const enum err e = s->ranks.n > 1 ? sweep_deal(&s->sweep, o->out, o->is_given[FLAG_RESUME], &s->ranks, err)
                                      : sweep_run(&s->sweep, o->out, o->is_given[FLAG_RESUME], err);
    sweep_progress_end(&progress);
    snprintf(stored, sizeof stored, ": %" PRIu64 " of %" PRIu64 " runs stored; the same command goes on",
             s->sweep.n_done_before + s->sweep.n_finished, sweep_count_runs(&s->sweep));
    return result_outputs_interrupted(e, stored, err);
}

static enum err sweep_write_json(const void *session, FILE *out, struct err_detail *err)
{
    return results_db_write_json(((const struct sweep_session *)session)->sweep.db, out, err);
}

static enum err sweep_write_files(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    return results_db_write_csv(((struct sweep_session *)session)->sweep.db, files[0], err);
}

static enum err sweep_print(const void *session, struct err_detail *err)
{
    const struct sweep_session *s = session;
    if (s->ranks.rank > 0)
        return ERR_OK;
    print_counts(&s->sweep);
    enum err e = results_db_write_failed(s->sweep.db, stdout, err);
    if (e != ERR_OK || s->options->is_given[FLAG_QUIET] || finds_no_trace(&s->sweep))
        return e;
    e = result_outputs_print(s->sweep.db, s->options, err);
    if (e == ERR_OK)
        print_next(s->options->out);
    return e;
}

/* Ranks that wait for work are let go if the first one could not begin. */
static void sweep_end(void *session)
{
    struct sweep_session *s = session;
    if (s->ranks.rank == 0 && !s->is_begun && cli_deferred_signal() == 0)
        sweep_dismiss(&s->ranks);
    sweep_close(&s->sweep);
    job_close(&s->job);
    if (s->ranks.n == 1 || cli_deferred_signal() == 0)
        ranks_close(&s->ranks);
}

/* --show-job: the options as a job file. */
static enum err job_answer(void *session, const struct options *o, struct err_detail *err)
{
    (void)session;
    if (is_job_file(o->inputs[0]))
        return err_at(err, ERR_USAGE, 0, o->inputs[0], "is a job file already");
    return job_write(stdout, o, err);
}

static const struct answer_ops *sweep_instead(const struct options *o)
{
    static const struct answer_ops job = { .read = job_answer };
    return o->is_given[FLAG_SHOW_JOB] ? &job : NULL;
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
    .status_note = "What was left out is said on standard error; if nothing else was asked for, the status is 2. A "
                   "file in a folder that is no trace is named and counted, and is no failure unless none is one. "
                   "After a signal all finished runs are stored, and the same command goes on.",
    .may_leave_out = true,
    .flags = sweep_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .answer = { .session_bytes = sizeof(struct sweep_session), .files = { offsetof(struct options, csv) },
                .prepare = sweep_prepare, .read = sweep_read, .write_json = sweep_write_json,
                .write_files = sweep_write_files, .print = sweep_print, .status = sweep_status, .close = sweep_end },
    .instead = sweep_instead,
};
