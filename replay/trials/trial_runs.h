/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Trials: one trace run with many settings, or on many cards. `fit` and `tune` share them.
 */
#ifndef REPLAY_REPLAY_TRIALS_TRIAL_RUNS_H
#define REPLAY_REPLAY_TRIALS_TRIAL_RUNS_H

#include "replay/engine/engine.h"
#include "replay/trials/altered_trace.h"

struct trial {
    const struct policy_spec  *spec;     /* borrowed */
    struct device_config       device;
    /* Out. */
    bool     fits;                       /* no request was refused */
    int64_t  stopped_at;                 /* our number of the refused request; -1: in the start state */
    uint64_t refused_bytes;              /* that request; and what was reserved, and free on the card, then: */
    uint64_t refused_reserved_bytes, refused_free_bytes;
    uint64_t card_peak_bytes;            /* of the card at most, as nvidia-smi shows it */
    uint64_t peak_reserved_bytes, at_peak_requested_bytes, at_peak_allocated_bytes;
    uint64_t peak_event;                 /* events before the peak */
    uint64_t inactive_split_peak_bytes;
    uint64_t device_calls, device_time_ns, retries;
};

/* Runs each trial from the start of the trace; of trials that cannot differ, one runs for all (equal_runs.h). Up to 64
 * share a decode, fewer if very many requests live at once. Errors: a run that fails for another reason than lack of
 * memory, and lane_open's and replay_run's. */
MUST_USE enum err trials_run(struct trace_reader *trace, const struct device_ops *ops, struct trial *trials, size_t n,
                             const struct replay_config *cfg, struct err_detail *err);

/* One trial on a copy of the trace that is rewritten so (altered_trace.h). trace_rewrite's errors, too. */
MUST_USE enum err trial_run_rewritten(struct trace_reader *trace, const struct rewrite *how,
                                      const struct device_ops *ops, struct trial *trial,
                                      const struct replay_config *cfg, struct err_detail *err);

/* The same as trials_run for policies as they are typed, each on a simulated `device` and to its end: requests that are
 * refused are left out. trials[i] becomes that of policies[i], without its spec. policy_spec_parse's errors, too. */
MUST_USE enum err trials_run_typed(struct trace_reader *trace, const struct device_config *device,
                                   const char *const *policies, struct trial *trials, size_t n, struct err_detail *err);

#endif
