/*
 * What-if switches: things that the recorded program did not do, and a replay does.
 */
#ifndef REPLAY_REPLAY_PROGRAM_WHAT_IF_OPTIONS_H
#define REPLAY_REPLAY_PROGRAM_WHAT_IF_OPTIONS_H

#include "replay/engine/engine.h"
#include "replay/program/options.h"
#include "report/report.h"

/* From --insert and --warm, as far as they are given. ERR_USAGE for a form that is not known, a mark that the trace
 * does not have, and --warm where the trace begins from its recorded state. */
MUST_USE enum err what_if_choose(const struct options *o, const struct trace_reader *trace, struct what_if *out,
                                 struct err_detail *why);

/* Says in each run's assumptions what was done. ERR_HOST_NOMEM. */
MUST_USE enum err what_if_say(const struct options *o, const struct what_if *w, struct report *r);

#endif
