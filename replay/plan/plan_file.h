/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A plan as a file that others can read and check: minimalloc's CSV with offsets.
 *
 *     id,lower,upper,size,offset
 *     id,lower,upper,size,offset,loop         1: after the last row the program goes on with the first row of these
 *
 * A request lives from `lower` up to before `upper`: steps (allocs and frees, counted from 0), and `id` is its number
 * in order of the allocs. If the source is an instance of minimalloc, these are the source's times and ids; without ids
 * it is the row there, from 0.
 */
#ifndef REPLAY_REPLAY_PLAN_PLAN_FILE_H
#define REPLAY_REPLAY_PLAN_PLAN_FILE_H

#include "replay/plan/loop_plan.h"
#include "traces/trace.h"

#include <stdio.h>

/* Whether the source gives lifetimes and no sequence of requests, so that its times are those of the plan. */
bool plan_has_times(const struct trace_reader *trace);

/* A row of the file, without size and offset. */
struct plan_row {
    const char *name;                /* its id in the source, lent until trace_close; NULL: it is `id` */
    uint64_t id, lower, upper;
};

/* The rows by request; free() them. ERR_HOST_NOMEM and the reader's errors. */
MUST_USE enum err plan_rows_read(struct trace_reader *trace, const struct lifetimes *l, struct plan_row **out,
                                 struct err_detail *err);

/* Writes the file; the caller finds failed writes. With `loop` each row says whether it is one of the loop's, which are
 * the last. */
void plan_file_write(const struct plan_row *rows, const struct lifetimes *l, const uint64_t *offsets,
                     const struct plan_loop *loop, FILE *out);

#endif
