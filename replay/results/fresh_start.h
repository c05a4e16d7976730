/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What `fit` and `tune` say of a trace that starts in mid-run.
 *
 * They place the requests that were live at the start anew on an empty card: only this way can another policy or card
 * be predicted. Memory that was cached then is missing, so even the recorded setting reserves less than it did.
 */
#ifndef REPLAY_REPLAY_RESULTS_FRESH_START_H
#define REPLAY_REPLAY_RESULTS_FRESH_START_H

#include "report/text/json_writer.h"
#include "traces/trace.h"

#include <stdio.h>

/* Prints that in a sentence; nothing if the trace starts empty. */
void fresh_start_print(FILE *out, const struct trace_reader *trace);

/* The members of answers/start_state.def. */
void start_state_json(struct json_writer *json, const struct trace_reader *trace);

#endif
