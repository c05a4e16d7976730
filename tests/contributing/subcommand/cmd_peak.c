/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay peak FILE`: the most bytes that were requested and not freed at once. The example of CONTRIBUTING.md. */
#include "replay/program/cli.h"

#include <inttypes.h>
#include <stdio.h>

static enum exit_status peak_main(const struct options *o)
{
    struct err_detail err = {.text = ""};
    struct trace_reader *trace;
    const enum err e = cli_open_trace_without_stacks(o, 0, &trace, &err);
    if (e != ERR_OK)
        return cli_fail(e, &err);
    printf("%" PRIu64 " bytes\n", trace_info(trace)->peak_requested_bytes);
    trace_close(trace);
    return cli_finish_stdout(STATUS_DONE);
}

static const struct flag_use peak_flags[] = {TAKES_INPUT, TAKES(HELP), FLAGS_END};

const struct subcommand cmd_peak = {
    .name = "peak",
    .synopsis = "peak FILE",
    .summary = "print the most bytes that were requested and not freed at once",
    .flags = peak_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .run = peak_main,
};
