/*
 * Explanations of a run: which moments are looked at, and what the trace knows of the blocks in the way.
 */
#ifndef REPLAY_REPLAY_ENGINE_EXPLAIN_RUN_H
#define REPLAY_REPLAY_ENGINE_EXPLAIN_RUN_H

#include "report/explain.h"
#include "report/meter.h"
#include "traces/trace.h"

struct lane;

#define EXPLAIN_NO_EVENT UINT64_MAX
#define EXPLAIN_END      (UINT64_MAX - 1)       /* behind the last */

/* What a lane is to explain, and the answers. */
struct explain_run {
    uint64_t event;                  /* in front of this one, by our number; EXPLAIN_NO_EVENT, EXPLAIN_END */
    struct explanation at_event;
    struct explanation at_oom;       /* the first refusal */
    bool     is_short;               /* the host had no memory for one */
};

/* In front of an event of our number `event`; `next` is that event. */
void explain_run_event(struct explain_run *x, const struct lane *l, const struct event *next, uint64_t event);

/* Behind the last event, of `n_events`. */
void explain_run_end(struct explain_run *x, const struct lane *l, uint64_t n_events, uint64_t time_ns);

/* A request was refused; `event` is our number of it, -1 for the start state. */
void explain_run_refusal(struct explain_run *x, const struct lane *l, const struct event *req,
                         const struct meter_oom *oom);

/* After the run: reads the trace again for when the blocks were requested and by whom, and puts events into the trace's
 * own numbering. The reader's errors, ERR_HOST_NOMEM. */
MUST_USE enum err explain_run_finish(struct explain_run *x, struct trace_reader *trace, struct err_detail *why);

/* Our number of the event that results name `place`; EXPLAIN_END stays what it is. ERR_USAGE where there is none. */
MUST_USE enum err explain_run_find(struct trace_reader *trace, uint64_t place, uint64_t *event,
                                   struct err_detail *why);

void explain_run_close(struct explain_run *x);

#endif
