/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether the request that ended a program is of a part that the program had not shown before: a checkpoint that is
 * loaded in mid-run, a second loss after the warm-up. What was recorded before tells nothing about what such a part
 * goes on to need.
 */
#ifndef REPLAY_REPLAY_RECORDING_NEW_PART_H
#define REPLAY_REPLAY_RECORDING_NEW_PART_H

#include "base/err.h"
#include "replay/recording/phases.h"
#include "traces/trace.h"

struct new_part {
    bool     is_new;
    uint64_t bytes;                  /* that its place had asked for before it was refused: 0 if it is not new */
};

/* It is new if none of the requests among events [from, until) has the call stack of event `refused`. A request without
 * a stack never is: a backward pass of any part has none. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err new_part_find(struct trace_reader *trace, uint64_t refused, uint64_t from, uint64_t until,
                                struct new_part *out, struct err_detail *err);

/* What a program does between its steps and in none of them, such as a validation every so many: bytes that are
 * requested among events [from, until) by lines of the program at which the step [first, end) requests nothing; and
 * what that requests. */
struct interlude { uint64_t bytes, step_bytes; };

/* Requests without a line count for nothing. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err interlude_find(struct trace_reader *trace, const struct phases *phases, uint64_t from, uint64_t until,
                                 uint64_t first, uint64_t end, struct interlude *out, struct err_detail *err);

#endif
