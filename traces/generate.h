/*
 * Generated traces: known patterns, for demonstrations and measurements. The same arguments give the same trace.
 */
#ifndef REPLAY_TRACES_GENERATE_H
#define REPLAY_TRACES_GENERATE_H

#include "traces/trace.h"

/* Writes some `events` events (0: as many as the kind has by itself) into a trace, which the caller ends. Kinds:
 *   "530-270"   rounds of "530 MiB taken and given back, then 270 MiB taken and kept"; four rounds by itself
 *   "mix:LIVE"  requests of 512 B to 64 MiB, small ones more often, and frees of any of them, around LIVE
 *               (1 to 2^24) live ones; a million events by itself
 * ERR_USAGE for another kind. */
MUST_USE enum err trace_generate(const char *kind, uint64_t events, uint64_t seed, struct trace_writer *w,
                                 struct err_detail *why);

/* The i-th kind as a person types it, and what it is; NULL behind the last. */
const char *trace_generate_at(size_t i, const char **summary);

#endif
