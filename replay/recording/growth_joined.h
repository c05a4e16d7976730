/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Results that an evaluation puts together after each batch, in few batches:
 *
 *     all = torch.cat((all, logits))      91 MiB | 183 MiB, 91 freed | 274 MiB, 183 freed | 366 MiB refused
 *
 * One line of the program's own asks for more and more, each time by about as much, and drops what it had.
 */
#ifndef REPLAY_REPLAY_RECORDING_GROWTH_JOINED_H
#define REPLAY_REPLAY_RECORDING_GROWTH_JOINED_H

#include "replay/recording/growth.h"
#include "replay/recording/phases.h"

/* Looks at what is live before event `moment` and was requested at event `since` or later, and says in `out` what grew
 * if it is an 8th of `need_bytes`. `stacks`: of all requests in order. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err growth_joined_find(struct trace_reader *trace, const struct phases *phases, const uint32_t *stacks,
                                     uint64_t since, uint64_t moment, uint64_t need_bytes, struct growth *out,
                                     struct err_detail *err);

#endif
