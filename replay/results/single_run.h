/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * One trace through one policy on one device. The policy stays open for questions afterwards: `stats`, `summary`,
 * `snapshot` and the account of a final state ask them.
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

/* Opens policy and device for a trace, which must outlive the run. `policy` NULL: as recorded_policy. A policy that has
 * releases takes the recorded one (recorded_release, which may take seconds) unless the text names one. `device`: as
 * for device_choose. ERR_UNSUPPORTED for a policy without memory_stats; the errors of these functions and of lane_open.
 * */
MUST_USE enum err single_run_open(struct single_run *run, struct trace_reader *trace, const char *policy,
                                  const char *device, struct err_detail *err);

/* Replays; the results are in run->lane. A refused request is no error; another failure of the lane is. */
MUST_USE enum err single_run_replay(struct single_run *run, const struct replay_config *cfg, struct err_detail *err);

/* Replays another trace on its own lane under the policy and the card of `like`: one that was made from like->trace.
 * Refused is what was refused when recorded; whatever else fails is an error, and names the trace as `what` ("the
 * changed trace"). *reserved_bytes: the peak. `sample` (NULL: none) and its argument: as in struct lane. */
MUST_USE enum err single_run_measure(const struct single_run *like, struct trace_reader *trace, const char *what,
                                     enum err (*sample)(void *, const struct meter_sample *), void *sample_arg,
                                     uint64_t *reserved_bytes, struct err_detail *err);

void single_run_close(struct single_run *run);

#endif
