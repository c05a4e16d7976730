/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay peak FILE`: the most bytes that were requested and not freed at once. The example of CONTRIBUTING.md. */
#include "replay/program/cli.h"

#include <inttypes.h>
#include <stdio.h>

static enum err peak_read(void *session, const struct options *o, struct err_detail *err)
{
    return cli_open_trace_without_stacks(o, 0, session, err);
}

static enum err peak_print(const void *session, struct err_detail *err)
{
    struct trace_reader *const *trace = session;
    (void)err;
    printf("%" PRIu64 " bytes\n", trace_info(*trace)->peak_requested_bytes);
    return ERR_OK;
}

static void peak_close(void *session)
{
    struct trace_reader **trace = session;
    trace_close(*trace);
}

static const struct flag_use peak_flags[] = {TAKES_INPUT, TAKES(HELP), FLAGS_END};

const struct subcommand cmd_peak = {
    .name = "peak",
    .synopsis = "peak FILE",
    .summary = "print the most bytes that were requested and not freed at once",
    .flags = peak_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct trace_reader *), .read = peak_read, .print = peak_print,
                .close = peak_close },
};
