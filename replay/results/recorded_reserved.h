/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What PyTorch reserved over time when it was recorded: the sum of the recording's own segment events. No replay is in
 * it.
 */
#ifndef REPLAY_REPLAY_RESULTS_RECORDED_RESERVED_H
#define REPLAY_REPLAY_RESULTS_RECORDED_RESERVED_H

#include "traces/trace.h"

enum { RESERVED_CHANGES_MAX = 4096 };

/* From a moment on, so many bytes. A moment is a number of events done. */
struct reserved_change {
    uint64_t moment, bytes;
};

/* By moment, which rises; the first is at moment 0. Of more than RESERVED_CHANGES_MAX changes those between are left
 * out; the highest in each stretch stays. */
struct recorded_reserved {
    struct reserved_change *at;
    size_t n;                        /* 0: the recording does not tell, or its events contradict its peak */
};

/* Closed with recorded_reserved_close, also after an error. ERR_HOST_NOMEM; the errors of trace_segment_events. */
MUST_USE enum err recorded_reserved_read(struct trace_reader *trace, struct recorded_reserved *out,
                                         struct err_detail *err);
void recorded_reserved_close(struct recorded_reserved *r);

#endif
