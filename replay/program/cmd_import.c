/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay import FILE -o OUT`: any file that we read into a native trace. */
#include "replay/program/cli.h"

static enum err import_to(const struct options *o, struct err_detail *err)
{
    struct progress progress = progress_start("reading", PROGRESS_BYTES);
    struct import_config import = o->import;
    import.progress = progress_report;
    import.progress_arg = &progress;
    const enum err e = trace_import(o->inputs[0], o->from, &import, o->out, err);
    progress_clear(&progress);
    return e;
}

static enum exit_status import_main(const struct options *o)
{
    struct err_detail err = { .text = "" };
    enum err e = o->out != NULL ? cli_check_output(o, o->out, &err)
                                : err_set(&err, ERR_USAGE, 0, "import needs a name for the trace: -o OUT");
    if (e == ERR_OK)
        e = import_to(o, &err);
    return e == ERR_OK ? STATUS_DONE : cli_fail(e, &err);
}

static const struct flag_use import_flags[] = {TAKES(OUT), TAKES_INPUT, TAKES(HELP), FLAGS_END};

const struct subcommand cmd_import = {
    .name = "import",
    .synopsis = "import FILE -o OUT",
    .summary = "turn a recording of any format into a native trace, which is small, checked, and quick to read",
    .flags = import_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .run = import_main,
};
