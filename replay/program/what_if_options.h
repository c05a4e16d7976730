/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What-if options: what a replay does although the recorded program did not do it.
 */
#ifndef REPLAY_REPLAY_PROGRAM_WHAT_IF_OPTIONS_H
#define REPLAY_REPLAY_PROGRAM_WHAT_IF_OPTIONS_H

#include "replay/engine/engine.h"
#include "replay/program/options.h"
#include "report/rows/report.h"

/* Reads --insert and --warm, if they are given. ERR_USAGE for an unknown form, for a mark that the trace does not have,
 * and for --warm if the trace starts from its recorded segments. */
MUST_USE enum err what_if_choose(const struct options *o, const struct trace_reader *trace, struct what_if *out,
                                 struct err_detail *err);

/* Adds what was done to each run's assumptions. ERR_HOST_NOMEM. */
MUST_USE enum err what_if_say(const struct options *o, const struct what_if *w, struct report *r);

#endif
