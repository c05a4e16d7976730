/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Generated traces of known patterns, for demonstrations and measurements. The same arguments give the same trace.
 */
#ifndef REPLAY_TRACES_GENERATE_H
#define REPLAY_TRACES_GENERATE_H

#include "traces/trace.h"

/* Writes `events` events (0: the kind's default) into a trace; the caller ends the trace. Kinds:
 *   "530-270"   rounds of: allocate 530 MiB, free it, allocate 270 MiB and keep it; default: four rounds
 *   "mix:LIVE"  random requests of 512 B to 64 MiB, small ones more often, and frees of random ones, with about LIVE
 *               (1 to 2^24) live; default: a million events
 * ERR_USAGE for another kind. */
MUST_USE enum err trace_generate(const char *kind, uint64_t events, uint64_t seed, struct trace_writer *w,
                                 struct err_detail *why);

/* The i-th kind as it is typed, and in *summary what it is; NULL after the last. */
const char *trace_generate_at(size_t i, const char **summary);

#endif
