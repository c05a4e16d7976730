/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether what grew is a cache that has filled: in the end the oldest of it goes for each that comes.
 *
 *     held |            ___________     It rose as a leak does. But since it is full the oldest request is freed again
 *          |       ____/ 1  2  3        and again (1, 2, 3), and no more is held than after the first of these.
 *          |  ____/
 *
 * If sizes grow, it may be a queue whose newest are larger, or the same few tensors, each replaced by a larger one
 * again and again, as torch.cat makes a model's cache longer. The latter are replaced in rounds, one size a round, and
 * each by a larger one; they still grow:
 *
 *     newest pictures of growing sides   10 11 12 13 14 15 16 ...      full
 *     caches of three layers             10 10 10 11 11 11 12 ...      grows
 */
#ifndef REPLAY_REPLAY_RECORDING_GROWTH_FULL_H
#define REPLAY_REPLAY_RECORDING_GROWTH_FULL_H

#include "base/err.h"
#include "traces/trace.h"

/* Looks at the requests before event `moment`. `stacks`: of all requests in order; `line_of`: the number of a stack's
 * line, from 0 on and no more than there are stacks. Says of each line whether it is such a cache; is_full has room for
 * one more than there are stacks. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err growth_full_find(struct trace_reader *trace, uint64_t moment, const uint32_t *stacks,
                                   const uint32_t *line_of, bool *is_full, struct err_detail *err);

#endif
