/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A growth in sets: one line leaves behind the same requests again and again, every so many steps, and nothing of it is
 * ever freed, as where weights are copied and all copies kept.
 *
 *     step 4: 18 requests, 8 MiB | step 8: 18 requests, 8 MiB | step 12: 18 requests, 8 MiB
 *
 * Three sets that are alike are a growth, though live memory rose three times only; the refusal may have cut off the
 * last. So are two if as many more were
 * there when the recording began as no training holds: weights, gradients, two states of an optimizer and an average of
 * the weights are five. Two sets alone may be meant: of_two_sets says so.
 */
#ifndef REPLAY_REPLAY_RECORDING_GROWTH_SETS_H
#define REPLAY_REPLAY_RECORDING_GROWTH_SETS_H

#include "replay/recording/growth.h"
#include "replay/recording/phases.h"

/* Looks at what is live before event `moment`. `freed`: by line, how many of its requests were freed by then. Says in
 * `out` what grew if it is an 8th of `need_bytes`; `since` is where the second set begins, or that of two the first.
 * ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err growth_sets_find(struct trace_reader *trace, const struct phases *phases, const uint32_t *freed,
                                   uint64_t moment, uint64_t need_bytes, struct growth *out, struct err_detail *err);

#endif
