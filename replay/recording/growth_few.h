/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A growth in few turns: a program dies after two or three large steps, or in its third evaluation, and each left about
 * as much behind.
 *
 *     still held, by the step that asked for it:
 *     step 1: 900 MiB | step 2: 900 MiB | step 3: 900 MiB | step 4, cut off
 *     steps 1 to 5: 0 | 6: 540 MiB | 7 to 11: 0 | 12: 540 MiB | 13 to 17: 0 | 18: 200 MiB, cut off
 *
 * What forward passes and the program's own lines ask for ends with its step, or with the next one, which takes the
 * place of a loss or a result. A line does not count if it gave back what is older: that is a memory of the last few.
 */
#ifndef REPLAY_REPLAY_RECORDING_GROWTH_FEW_H
#define REPLAY_REPLAY_RECORDING_GROWTH_FEW_H

#include "replay/recording/growth.h"
#include "replay/recording/phases.h"

/* Looks at what is live before event `moment`. `stacks`: of all requests in order. Says in `out` what grew if it is an
 * 8th of `need_bytes`; `since` is where the second turn begins. Of two turns it says of_two_turns if each left many
 * requests of forward passes, which no copy does, and otherwise of_two_sets. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err growth_few_find(struct trace_reader *trace, const struct phases *phases, const uint32_t *stacks,
                                  uint64_t moment, uint64_t need_bytes, struct growth *out, struct err_detail *err);

/* The same of forward passes after the last backward pass and step of an optimizer, of a program that learned: results
 * of an evaluation that are kept, three or more. */
MUST_USE enum err growth_evaluated_find(struct trace_reader *trace, const struct phases *phases, const uint32_t *stacks,
                                        uint64_t moment, uint64_t need_bytes, struct growth *out,
                                        struct err_detail *err);

#endif
