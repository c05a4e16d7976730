/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/program/result_outputs.h"

#include "base/terminal.h"
#include "replay/program/output_names.h"

void result_outputs_abandon(struct result_outputs *to)
{
    output_abandon(to->json);
    output_abandon(to->csv);
}

enum err result_outputs_write(struct result_outputs *to, struct results_db *db, struct err_detail *err)
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

enum err result_outputs_open(const struct options *o, struct result_outputs *to, struct err_detail *err)
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
