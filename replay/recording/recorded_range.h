/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the program of a predicted recording may reserve at most, where it does not show all that decides it.
 */
#ifndef REPLAY_REPLAY_RECORDING_RECORDED_RANGE_H
#define REPLAY_REPLAY_RECORDING_RECORDED_RANGE_H

#include "traces/trace.h"

/* Bytes; least <= expected <= most, which is UINT64_MAX if there is no end. */
struct recorded_range {
    uint64_t least, expected, most;
    const char *sources;             /* what makes it a range; the trace's */
};

/* False: it was not predicted, or its peak is no range. */
bool recorded_range_read(const struct trace_reader *trace, struct recorded_range *out);

#endif
