/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * One trace through several policies on one or more devices, and a comparison of the calls that the devices got.
 *
 *     real card    policy 1, policy 2, ...    one after the other: each gives back all memory before the next
 *     simulated    policies 1, 2, ...         afterwards, all at once
 *
 * In company of a real card, plain `sim` becomes a card of the same capacity that gives the same addresses: then a
 * policy that breaks ties by address decides the same on both.
 */
#ifndef REPLAY_REPLAY_RESULTS_DEVICE_RUNS_H
#define REPLAY_REPLAY_RESULTS_DEVICE_RUNS_H

#include "replay/engine/device_calls.h"
#include "replay/engine/engine.h"
#include "replay/plan/bounds.h"
#include "replay/results/result.h"

/* Zero is a valid beginning and end. */
struct device_runs {
    struct trace_reader *trace;              /* borrowed, as all arrays up to `lanes` */
    struct policy_spec  *specs;
    size_t               n_policies;
    struct device_choice *devices;           /* their headlines are completed when the devices are opened */
    size_t               n_devices;
    uint64_t             seed;
    bool                 with_plan;          /* else bounds.plan_bytes is 0 */
    struct lane         *lanes;              /* zeros at first; device by device: lanes[d * n_policies + p] */

    /* Called when a lane is open and about to run; may be NULL. */
    enum err           (*opened)(void *arg, size_t lane, const struct replay_config *cfg, struct err_detail *err);
    void                *opened_arg;

    struct bounds        bounds;             /* out: of the trace */
    bool                 has_bounds;

    /* Its own. */
    struct device_calls *logs;               /* by lane; NULL with one device */
    struct device_log   *listeners;
    uint64_t           **addresses;          /* by lane: the addresses that its device was told to give */
    struct report_comparison *comparisons;   /* out: the first device with each other one, policy by policy */
    size_t               n_comparisons;
};

/* Runs all lanes and compares the devices. lane_open's and replay_run's errors. */
MUST_USE enum err device_runs_replay(struct device_runs *r, const struct replay_config *cfg, struct err_detail *err);

/* Closes the lanes and their logs of calls. */
void device_runs_close(struct device_runs *r);

/* Whether all devices got the same calls. */
bool device_runs_agree(const struct device_runs *r);

#endif
