/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A file of decisions: where each request went, and what the allocator took from the card for it. Anybody can replay it
 * without this program; examples/contest/verify.py does. It is text under gzip, a line each:
 *
 *     contest 2
 *     trace STRATUM DIGEST BOUND SEED TEXT
 *     run CAPACITY TAKEN CALLS POLICY CARD    bytes of its card (0: no end), bytes that it took, driver calls
 *     + ADDRESS BYTES                         a segment
 *     - ADDRESS                               it is given back
 *     c HANDLE BYTES,  d HANDLE               memory without an address; it is given back
 *     m ADDRESS BYTES HANDLE,  u ADDRESS BYTES    it is mapped; it is unmapped
 *     a SLOT BYTES STREAM POOL ADDRESS        a request, and where it was put
 *     f SLOT,  e                              a free; empty_cache
 *
 * Lines a, f and e without the address are the text whose digest the trace has.
 */
#ifndef REPLAY_REPLAY_CONTEST_DECISIONS_H
#define REPLAY_REPLAY_CONTEST_DECISIONS_H

#include "replay/contest/contest_traces.h"
#include "replay/trials/trial_runs.h"

struct decisions;

/* ERR_IO with the path. */
MUST_USE enum err decisions_open(const char *path, struct decisions **out, struct err_detail *err);

/* ERR_IO if anything could not be written. NULL is accepted, as file and as `err`. */
enum err decisions_close(struct decisions *d, struct err_detail *err);

void decisions_put_trace(struct decisions *d, const char *stratum, const struct contest_trace *t);

/* Runs a trial that gets through once more, alone, and writes what it decides. replay_run's errors. */
MUST_USE enum err decisions_put_run(struct decisions *d, struct trace_reader *trace, const struct trial *t,
                                    const char *card, struct err_detail *err);

#endif
