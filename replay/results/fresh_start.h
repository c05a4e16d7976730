/*
 * Where a trace starts in mid-run, `fit` and `tune` place what was live then anew: only so can another policy or card be
 * told. What was cached by then is not there, so even the recorded setting does not hold what was recorded.
 */
#ifndef REPLAY_REPLAY_RESULTS_FRESH_START_H
#define REPLAY_REPLAY_RESULTS_FRESH_START_H

#include "report/json_writer.h"
#include "traces/trace.h"

#include <stdio.h>

/* Says so in a sentence; nothing where the trace starts empty. */
void fresh_start_print(FILE *out, const struct trace_reader *trace);

/* The member "start" of the object under way. */
void fresh_start_json(struct json_writer *w, const struct trace_reader *trace);

#endif
