/*
 * Trials: many settings or cards tried on one trace. What `fit` and `tune` share.
 */
#ifndef REPLAY_REPLAY_ADVISE_TRIAL_RUNS_H
#define REPLAY_REPLAY_ADVISE_TRIAL_RUNS_H

#include "replay/engine/engine.h"

struct trial {
    const struct policy_spec  *spec;     /* borrowed */
    struct device_config       device;
    /* Out. */
    bool     fits;                       /* no request was refused */
    int64_t  stopped_at;                 /* our number of the refused request; -1: in the start state */
    uint64_t refused_bytes, refused_reserved_bytes, refused_free_bytes;     /* it, and what was held and free then */
    uint64_t peak_reserved_bytes, at_peak_requested_bytes, at_peak_allocated_bytes;
    uint64_t peak_event;                 /* events before the peak */
    uint64_t inactive_split_peak_bytes;
    uint64_t device_calls, device_time_ns, retries;
};

/* Runs each trial from the start of the trace, or finds that another was its run, too (replay/engine/equal_runs.h); up to 64 share
 * a decode, fewer where very many requests live at once. A run that fails in another way than by lack of memory is an
 * error; so are lane_open's and replay_run's. */
MUST_USE enum err trials_run(struct trace_reader *trace, const struct device_ops *ops, struct trial *trials, size_t n,
                             const struct replay_config *cfg, struct err_detail *why);

#endif
