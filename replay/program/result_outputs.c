/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/program/result_outputs.h"

#include "base/terminal.h"
#include "replay/program/output_names.h"

#include <string.h>

enum err result_outputs_check(const struct options *o, struct err_detail *err)
{
    if (o->out == NULL)
        return err_set(err, ERR_USAGE, 0, "-o FILE is missing: it names the database for the results. Add "
                       "-o results.db, for instance");
    if (strcmp(o->out, "-") == 0)
        return err_set(err, ERR_USAGE, 0, "-o -: the database is a file; --csv - and --json - write to standard "
                                          "output");
    enum err e = output_names_check(o, err);             /* a job file names outputs, too */
    if (e == ERR_OK)
        e = cli_check_output(o, o->out, err);
    return e == ERR_OK ? output_names_check_database(o, err) : e;
}

bool result_outputs_take_stdout(const struct options *o)
{
    return (o->json != NULL && strcmp(o->json, "-") == 0) || (o->csv != NULL && strcmp(o->csv, "-") == 0);
}

enum err result_outputs_print(struct results_db *db, const struct options *o, struct err_detail *err)
{
    return results_db_write_table(db, stdout, o->is_wide ? TERMINAL_ANY : terminal_columns(stdout), err);
}

enum err result_outputs_interrupted(enum err e, const char *rest, struct err_detail *err)
{
    return e != ERR_INTERRUPTED ? e : err_set(err, e, 0, "ended by signal %d%s", cli_deferred_signal(), rest);
}
