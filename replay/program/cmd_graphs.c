/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay graphs FILE`: what the private pools of CUDA graphs take, in any arrangement of the captures. */
#include "replay/program/cli.h"

#include "replay/graphs/graphs_answer.h"

/* Everything the command holds. Zero is valid: session_close accepts it. */
struct graphs_session {
    const struct options *options;
    struct trace_reader  *trace;
    struct graphs         graphs;
};

static enum err session_read(void *session, const struct options *o, struct err_detail *err)
{
    struct graphs_session *s = session;
    s->options = o;
    const enum err e = cli_open_trace(o, 0, &s->trace, err);
    return e == ERR_OK ? graphs_find(s->trace, o->captures, &s->graphs, err) : e;
}

static enum err session_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct graphs_session *s = session;
    return graphs_print(stdout, &s->graphs, s->options->is_all);
}

static enum err session_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    graphs_write_json(out, &((const struct graphs_session *)session)->graphs);
    return ERR_OK;
}

static void session_close(void *session)
{
    struct graphs_session *s = session;
    graphs_close(&s->graphs);
    trace_close(s->trace);
}

static const struct flag_use graphs_flags[] = { TAKES(CAPTURES), TAKES(ALL_ROWS), TAKES(JSON), TAKES_INPUT, TAKES(HELP),
                                                FLAGS_END };

const struct subcommand cmd_graphs = {
    .name = "graphs",
    .synopsis = "graphs FILE",
    .summary = "show what the private pools of CUDA graphs take: for any of the captures, in any order, in one pool or "
               "several",
    .text = "From one recording with captures, by a replay of each arrangement. `replay run-sim` and `replay record "
            "--torch` note where captures begin and end; in other snapshots each private pool counts as one capture.\n"
            "\n"
            "Examples:\n"
            "  replay graphs out.pickle\n"
            "  replay graphs out.pickle --captures 8,4,1\n",
    .flags = graphs_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct graphs_session), .read = session_read, .write_json = session_write_json,
                .print = session_print, .close = session_close },
};
