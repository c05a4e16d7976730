/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A growth that lies before the recording: the last records of a run, or one that was begun in mid-run.
 *
 * Who requested what was live at the start is not known. But if a line leaves a request behind in one step and in the
 * next, and many of just that size were there at the start, those are taken for its own:
 *
 *     at the start: 545 of 400 KiB | step: 2 of 400 KiB stay | step: 2 of 400 KiB stay | ...
 */
#ifndef REPLAY_REPLAY_RECORDING_GROWTH_BEFORE_H
#define REPLAY_REPLAY_RECORDING_GROWTH_BEFORE_H

#include "replay/recording/growth.h"
#include "replay/recording/phases.h"

/* Looks at what is live before event `moment`, and says in `out` what grew if it is a quarter of `need_bytes`.
 * ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err growth_before_find(struct trace_reader *trace, const struct phases *phases, uint64_t moment,
                                     uint64_t need_bytes, struct growth *out, struct err_detail *err);

#endif
