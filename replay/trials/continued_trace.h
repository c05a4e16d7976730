/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A recording that goes on by its own pattern: a section of it again and again.
 *
 *     | 0 ... from | section | section again | section again | ...
 *
 * Each time the section begins, the oldest live requests stand for those that were live when it was recorded, in order
 * of age: what it freed of those is freed again. So a cache is replaced as before, and what the section leaves behind
 * stays: a growth goes on.
 */
#ifndef REPLAY_REPLAY_TRIALS_CONTINUED_TRACE_H
#define REPLAY_REPLAY_TRIALS_CONTINUED_TRACE_H

#include "traces/trace.h"

/* Events [from, until) of `in` are played once as recorded, and `times` more. */
struct continuation {
    uint64_t from, until;
    unsigned times;
    uint64_t caught_before;          /* as in replay_config: earlier refusals become flushes */
};

/* The trace lives in memory and starts empty: the start state becomes requests at its beginning. Controls and marks are
 * left out. `ends`, if not NULL: of each time that the section is played, from the recorded one on, where it ends, as a
 * number of events. ERR_HOST_NOMEM, and the reader's and writer's errors. */
MUST_USE enum err trace_continue(struct trace_reader *in, const struct continuation *how, uint64_t *ends,
                                 struct trace_reader **out, struct err_detail *err);

#endif
