/*
 * One trace through one policy on one device, and then a look at the policy: what `stats` and `summary` share.
 */
#ifndef REPLAY_REPLAY_RESULTS_SINGLE_RUN_H
#define REPLAY_REPLAY_RESULTS_SINGLE_RUN_H

#include "replay/engine/engine.h"
#include "replay/results/result.h"

/* Zero is a valid beginning and end. Not moved in memory between single_run_open and single_run_close. */
struct single_run {
    struct trace_reader *trace;      /* borrowed */
    struct policy_spec   spec;
    struct device_choice device;
    struct lane          lane;
};

/* Opens policy and device for a trace, which outlives the run. `policy` NULL: the settings that were recorded, or
 * best-fit where none were; a policy that has releases takes the recorded one unless the text names one. `device`: as
 * for device_choose. ERR_UNSUPPORTED for a policy that keeps no counters; policy_spec_parse's, device_choose's and
 * lane_open's errors. */
MUST_USE enum err single_run_open(struct single_run *run, struct trace_reader *trace, const char *policy,
                                  const char *device, struct err_detail *why);

/* Replays. What came of it is in run->lane; a lane that failed in another way than by lack of memory is an error. */
MUST_USE enum err single_run_replay(struct single_run *run, const struct replay_config *cfg, struct err_detail *why);

void single_run_close(struct single_run *run);

#endif
