/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay merge`: the results of several sweeps in one database. */
#include "base/shown.h"
#include "replay/program/database_watch.h"
#include "replay/program/result_outputs.h"
#include "report/rows/merge_files.h"

#include <inttypes.h>

/* Everything the command holds. Zero is valid: merge_close accepts it. */
struct merged {
    const struct options   *options;
    struct results_db_watch watch;
    struct results_db      *db;
    uint64_t                n_runs;
};

static void print_count(const char *path, uint64_t n, const char *what)
{
    shown_put(stdout, path);
    printf(": %" PRIu64 " %s\n", n, what);
}

static void print_added(const char *input, uint64_t n_runs)
{
    print_count(input, n_runs, "new runs");
}

static enum err merge_prepare(void *session, const struct options **o, struct err_detail *err)
{
    struct merged *m = session;
    m->options = *o;
    m->watch = (struct results_db_watch){ .waits = database_tell_waiting, .interrupted = cli_defer_signals() };
    return result_outputs_check(*o, err);
}

static enum err merge_read(void *session, const struct options *o, struct err_detail *err)
{
    struct merged *m = session;
    const struct merge_files files = { .inputs = o->inputs, .n_inputs = o->n_inputs, .out = o->out, .watch = &m->watch,
                                       .added = result_outputs_take_stdout(o) ? NULL : print_added };
    enum err e = merge_files(&files, err);
    if (e == ERR_OK)
        e = results_db_open(o->out, true, &m->watch, &m->db, err);
    if (e == ERR_OK && o->is_given[FLAG_PRICE])
        e = results_db_set_price(m->db, o->price, err);
    if (e == ERR_OK)
        e = results_db_count(m->db, &m->n_runs, err);
    return result_outputs_interrupted(e, "", err);
}

static enum err merge_write_json(const void *session, FILE *out, struct err_detail *err)
{
    return results_db_write_json(((const struct merged *)session)->db, out, err);
}

static enum err merge_write_files(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    return results_db_write_csv(((struct merged *)session)->db, files[0], err);
}

static enum err merge_print(const void *session, struct err_detail *err)
{
    const struct merged *m = session;
    print_count(m->options->out, m->n_runs, "runs");
    const enum err e = results_db_write_failed(m->db, stdout, err);
    return e == ERR_OK ? result_outputs_print(m->db, m->options, err) : e;
}

static void merge_close(void *session)
{
    results_db_close(((struct merged *)session)->db);
}

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
    .answer = { .session_bytes = sizeof(struct merged), .files = { offsetof(struct options, csv) },
                .prepare = merge_prepare, .read = merge_read, .write_json = merge_write_json,
                .write_files = merge_write_files, .print = merge_print, .close = merge_close },
};
