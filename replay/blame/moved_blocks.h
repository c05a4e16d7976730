/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What would be reserved if live blocks could be moved, so that all that is free in one place is always in one piece.
 *
 * A place is what PyTorch keeps apart: a stream, a pool, small or large. Addresses play no part: a place has bytes that
 * are live and bytes that are held, and it grows, by the allocator's own rounding, only if more would be live than is
 * held. Without rounding and with one place, that is the live peak.
 */
#ifndef REPLAY_REPLAY_BLAME_MOVED_BLOCKS_H
#define REPLAY_REPLAY_BLAME_MOVED_BLOCKS_H

#include "policies/pytorch/pytorch.h"
#include "traces/trace.h"

/* `p` has served nothing: it says how sizes are rounded. `without`: enum pytorch_rule; only rounding, segment sizes and
 * the wall between small and large count. `limit`: bytes at which what is free in other places is given back.
 * *out: the most held. ERR_HOST_NOMEM and the reader's errors. */
MUST_USE enum err moved_blocks_peak(struct trace_reader *trace, const struct pytorch *p, unsigned without,
                                    uint64_t limit, uint64_t *out, struct err_detail *err);

#endif
