/*
 * The events of a trace in memory on their way from its writer to its reader, without being packed and decoded
 * (trace_finish_open).
 */
#ifndef REPLAY_TRACES_LOOSE_H
#define REPLAY_TRACES_LOOSE_H

#include "traces/trace.h"

/* All events of a trace, as its reader lends them, and what was recorded beside each; malloc'ed. n = 0: nothing is on
 * its way, and what there is is packed. */
struct loose_events {
    struct event      *events;
    struct trace_side *sides;
    size_t             n;
};

/* trace_open_owned, but for the events, which have their sections in `bytes` without content. They become the reader's,
 * also on error. */
MUST_USE enum err trace_open_loose(void *bytes, size_t n_bytes, struct loose_events *loose, const char *name,
                                   struct trace_reader **out, struct err_detail *why);

#endif
