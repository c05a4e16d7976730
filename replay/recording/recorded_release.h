/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The PyTorch release that made a recording. Where the recording leaves it open, this runs verifications to tell.
 */
#ifndef REPLAY_REPLAY_RECORDING_RECORDED_RELEASE_H
#define REPLAY_REPLAY_RECORDING_RECORDED_RELEASE_H

#include "base/err.h"
#include "traces/trace.h"

/* Finds the release by the layout of the snapshot. *out is NULL if the trace does not tell, and is lent until
 * trace_close.
 *
 * Several releases share a layout. They are told apart only if the recording can show a difference: it holds a request
 * that ran out of memory, a private pool, or a rounding setting, and recorded addresses. Then each of the releases of
 * that layout (at most PyTorch's number of them, three in practice) is verified against the recording, and the one
 * under which most of the record comes out wins.
 *
 * What it costs: nothing but the header for most traces. A verification reads the whole trace, holds it in memory and
 * replays it twice; if the recording used garbage collection, up to some 35 times more, to find the memory limit.
 * Bound: traces of more than 2^18 events are never verified here, so each release costs about a second at most.
 *
 * ERR_HOST_NOMEM. A trace that is damaged or cannot be verified is no error: its layout decides. */
MUST_USE enum err recorded_release(struct trace_reader *trace, const char **out, struct err_detail *err);

#endif
