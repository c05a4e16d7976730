/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a sweep says on standard error while it works. */
#ifndef REPLAY_REPLAY_PROGRAM_SWEEP_PROGRESS_H
#define REPLAY_REPLAY_PROGRAM_SWEEP_PROGRESS_H

#include "replay/sweep/sweep.h"

struct sweep_progress {
    const struct sweep *sweep;
    int64_t started_ms, shown_ms;
    bool   is_terminal, is_line_open, is_end_told;
};

/* The sweep tells `out` from now on, which must live until sweep_progress_end. */
void sweep_progress_begin(struct sweep *s, struct sweep_progress *out);

/* The line that is rewritten goes. */
void sweep_progress_end(struct sweep_progress *p);

#endif
