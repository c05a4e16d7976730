/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What the private pools of a recording's captures take, in each arrangement. */
#ifndef REPLAY_REPLAY_GRAPHS_GRAPHS_ANSWER_H
#define REPLAY_REPLAY_GRAPHS_GRAPHS_ANSWER_H

#include "replay/graphs/arrangement.h"

#include <stdio.h>

enum { GRAPH_ARRANGEMENTS = 4 };

/* By place in struct graphs. */
extern const enum graph_pools graph_arrangements[GRAPH_ARRANGEMENTS];

/* Zero is valid: graphs_close accepts it. */
struct graphs {
    struct trace_reader *trace;          /* borrowed */
    struct single_run run;               /* the recording, under its own settings, on a card without end */
    struct captures captures;
    uint32_t *list;                      /* n captures, as asked for */
    struct arrangement_size *alone;      /* by place in the list: this capture only */
    uint64_t *shared, *own;              /* by place: this capture and those before it */
    size_t    n;
    bool      is_in_order;
    struct arrangement_size sizes[GRAPH_ARRANGEMENTS];
};

/* `captures`: as after --captures, ranges with commas between them; NULL: all. Close *g with graphs_close, also after
 * an error. ERR_USAGE: one that is not there, or named twice; ERR_UNSUPPORTED: the recording does not show captures;
 * errors of the parts. */
MUST_USE enum err graphs_find(struct trace_reader *trace, const char *captures, struct graphs *g,
                              struct err_detail *err);
void graphs_close(struct graphs *g);

/* Whether an arrangement can be measured. */
bool graphs_is_known(const struct graphs *g, enum graph_pools pools);

/* `shows_all`: each capture has its row. terminal_table_print's errors. */
MUST_USE enum err graphs_print(FILE *out, const struct graphs *g, bool shows_all);

/* The same as "replay-graphs/1" (report/SCHEMA.md). The stream keeps its own error. */
void graphs_write_json(FILE *out, const struct graphs *g);

#endif
