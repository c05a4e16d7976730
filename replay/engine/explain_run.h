/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Explanations of a run: where all memory is at a chosen event and at the first refusal, block by block, and which
 * requests of the trace the blocks serve.
 *
 * The policy's blocks are taken while the lane runs. The trace is read again afterwards for each block's request.
 */
#ifndef REPLAY_REPLAY_ENGINE_EXPLAIN_RUN_H
#define REPLAY_REPLAY_ENGINE_EXPLAIN_RUN_H

#include "report/explain/explain.h"
#include "report/measure/meter.h"
#include "traces/trace.h"

struct lane;

#define EXPLAIN_NO_EVENT UINT64_MAX
#define EXPLAIN_END      (UINT64_MAX - 1)       /* after the last event */

/* What a lane is asked to explain, and the answers. */
struct explain_run {
    uint64_t event;                  /* explain the state before this one, by our number; or EXPLAIN_NO_EVENT,
                                      * EXPLAIN_END */
    struct explanation at_event;     /* out */
    struct explanation at_oom;       /* out: at the first refusal */
    bool     is_short;               /* the host had no memory for one of them */
};

/* The lane calls these while it runs. Before event number `event`; `next` is that event. */
void explain_run_event(struct explain_run *x, const struct lane *l, const struct event *next, uint64_t event);

/* After the last of `n_events` events. */
void explain_run_end(struct explain_run *x, const struct lane *l, uint64_t n_events, uint64_t time_ns);

/* When request `req` is refused. */
void explain_run_refusal(struct explain_run *x, const struct lane *l, const struct event *req,
                         const struct meter_oom *oom);

/* After the run: reads the trace again to find when each block was requested and by which stack, and converts events to
 * the trace's own numbering. The reader's errors, ERR_HOST_NOMEM. */
MUST_USE enum err explain_run_finish(struct explain_run *x, struct trace_reader *trace, struct err_detail *err);

/* Finds our number of the event that results call `place`, or of the next one if no event has that number. EXPLAIN_END
 * stays what it is. ERR_USAGE if the trace ends before; the reader's errors. */
MUST_USE enum err explain_run_find(struct trace_reader *trace, uint64_t place, uint64_t *event,
                                   struct err_detail *err);

void explain_run_close(struct explain_run *x);

#endif
