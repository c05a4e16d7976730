/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay generate KIND -o OUT`: a trace made by a rule, for tests and measurements. */
#include "replay/program/cli.h"

#include "traces/generate.h"

static enum err generate_to(const char *kind, const struct options *o, struct err_detail *why)
{
    struct trace_writer *w;
    enum err e = trace_create(o->out, &w, why);
    if (e != ERR_OK)
        return e;
    e = trace_generate(kind, o->events, o->seed, w, why);
    if (e == ERR_OK)
        return trace_finish(w, why);
    trace_abandon(w);
    return e;
}

static enum exit_status generate_main(const struct options *o)
{
    struct err_detail why = { .text = "" };
    const enum err e = o->out == NULL ? err_set(&why, ERR_USAGE, 0, "generate needs a name for the trace: -o OUT")
                                      : generate_to(o->inputs[0], o, &why);
    return e == ERR_OK ? STATUS_DONE : cli_fail(e, &why);
}

static const struct flag_use generate_flags[] = {
    TAKES(OUT), TAKES(EVENTS), TAKES(SEED), TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_generate = {
    .name = "generate",
    .synopsis = "generate KIND -o OUT",
    .summary = "make a trace by a rule, for tests and measurements (replay --list shows the kinds)",
    .text = "The same kind, number of events and seed give the same bytes.\n",
    .flags = generate_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .run = generate_main,
};
