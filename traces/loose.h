/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Hands the events of a short trace in memory from its writer to its reader without encoding and decoding them
 * (trace_finish_open).
 */
#ifndef REPLAY_TRACES_LOOSE_H
#define REPLAY_TRACES_LOOSE_H

#include "traces/trace.h"

/* All events of a trace as its reader lends them, and their sides; malloc'ed. n = 0: all events are encoded as usual.
 * */
struct loose_events {
    struct event      *events;
    struct trace_side *sides;
    size_t             n;
};

/* trace_open_owned for bytes whose event section has no content. The reader owns bytes and events, also on error. */
MUST_USE enum err trace_open_loose(void *bytes, size_t n_bytes, struct loose_events *loose, const char *name,
                                   uint64_t source_bytes, uint64_t memory_limit,
                                   struct trace_reader **out, struct err_detail *err);

#endif
