/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay import FILE -o OUT`: any file that we read into a native trace. */
#include "replay/program/cli.h"

static enum err import_read(void *session, const struct options *o, struct err_detail *err)
{
    (void)session;
    if (o->out == NULL)
        return err_set(err, ERR_USAGE, 0, "import needs a name for the trace: -o OUT");
    enum err e = cli_check_output(o, o->out, err);
    if (e != ERR_OK)
        return e;
    struct progress progress = progress_start("reading", PROGRESS_BYTES);
    struct import_config import = o->import;
    import.progress = progress_report;
    import.progress_arg = &progress;
    e = trace_import(o->inputs[0], o->from, &import, o->out, err);
    progress_clear(&progress);
    return e;
}

static const struct flag_use import_flags[] = {TAKES(OUT), TAKES_INPUT, TAKES(HELP), FLAGS_END};

const struct subcommand cmd_import = {
    .name = "import",
    .synopsis = "import FILE -o OUT",
    .summary = "turn a recording of any format into a native trace, which is small, checked, and quick to read",
    .flags = import_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .read = import_read },
};
