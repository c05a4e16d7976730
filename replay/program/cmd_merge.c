/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay merge`: the results of several sweeps in one database. */
#include "base/shown.h"
#include "replay/program/database_watch.h"
#include "replay/program/result_outputs.h"
#include "report/rows/merge_files.h"

#include <inttypes.h>

static void print_count(const char *path, uint64_t n, const char *what)
{
    shown_put(stdout, path);
    printf(": %" PRIu64 " %s\n", n, what);
}

static void print_added(const char *input, uint64_t n_runs)
{
    print_count(input, n_runs, "new runs");
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
        e = result_outputs_write(to, db, err);
    results_db_close(db);
    return e;
}

static enum exit_status merge_main(const struct options *o)
{
    struct err_detail err = { .text = "" };
    struct result_outputs to = { .json = NULL };
    const struct results_db_watch watch = { .waits = database_tell_waiting, .interrupted = cli_defer_signals() };
    enum err e = result_outputs_open(o, &to, &err);
    const struct merge_files m = { .inputs = o->inputs, .n_inputs = o->n_inputs, .out = o->out, .watch = &watch,
                                   .added = to.is_stdout_taken ? NULL : print_added };
    if (e == ERR_OK)
        e = merge_files(&m, &err);
    if (e == ERR_OK)
        e = write_merged(o, &to, &watch, &err);
    result_outputs_abandon(&to);
    if (e == ERR_INTERRUPTED) {
        fprintf(stderr, "replay: ended by signal %d\n", (int)*watch.interrupted);
        return (enum exit_status)(128 + *watch.interrupted);
    }
    return e != ERR_OK ? cli_fail(e, &err) : cli_finish_stdout(STATUS_DONE);
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
    .run = merge_main,
};
