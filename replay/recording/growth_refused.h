/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a refused request that the program caught left behind: an exception holds its traceback, that holds the frames,
 * and those hold their tensors. Who keeps the exception, or tries again inside of `except`, keeps them all.
 *
 *     batch 20: 195 MiB, refused, caught | batch 21: the same line again, freed | ...     195 MiB are still held
 *
 * A place's last request before such a refusal counts if it is still held when the place has asked anew, though half of
 * what the place requests is freed; or if that is so of two places. With it counts what the forward pass and the
 * program's own lines requested from there to the refusal: the next attempt may not have come that far.
 */
#ifndef REPLAY_REPLAY_RECORDING_GROWTH_REFUSED_H
#define REPLAY_REPLAY_RECORDING_GROWTH_REFUSED_H

#include "replay/recording/growth.h"
#include "replay/recording/phases.h"

/* Looks at what is live before event `moment`, and says in `out` what is kept if it is a quarter of `need_bytes`.
 * `stacks`: of all requests in order. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err growth_refused_find(struct trace_reader *trace, const struct phases *phases, const uint32_t *stacks,
                                      uint64_t moment, uint64_t need_bytes, struct growth *out,
                                      struct err_detail *err);

#endif
