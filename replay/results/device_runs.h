/*
 * One trace through several policies on one or more devices, and whether the devices were asked for the same.
 *
 * A real card serves one policy at a time, and gives all memory back before the next; simulated devices run afterwards,
 * all policies at once. Beside a real card, plain `sim` is a card of the same capacity that gives the same addresses, so
 * that a policy which breaks ties by address has no reason to decide otherwise.
 */
#ifndef REPLAY_REPLAY_RESULTS_DEVICE_RUNS_H
#define REPLAY_REPLAY_RESULTS_DEVICE_RUNS_H

#include "replay/engine/device_calls.h"
#include "replay/engine/engine.h"
#include "replay/plan/bounds.h"
#include "replay/results/result.h"

/* Zero is a valid beginning and end. */
struct device_runs {
    struct trace_reader *trace;              /* borrowed, as all arrays up to `lanes` are the caller's */
    struct policy_spec  *specs;
    size_t               n_policies;
    struct device_choice *devices;           /* their headlines are completed when they are opened */
    size_t               n_devices;
    uint64_t             seed;
    struct lane         *lanes;              /* zeros at first; device by device: lanes[d * n_policies + p] */

    /* A lane was opened and is about to run; may be NULL. */
    enum err           (*opened)(void *arg, size_t lane, const struct replay_config *cfg, struct err_detail *why);
    void                *opened_arg;

    struct bounds        bounds;             /* out: of the trace */
    bool                 has_bounds;

    /* Its own. */
    struct device_calls     *logs;               /* by lane; NULL with one device */
    struct device_log   *listeners;
    uint64_t           **addresses;          /* by lane: what its device was told to give */
    struct report_comparison *comparisons;   /* of the first device with each other one, policy by policy */
    size_t               n_comparisons;
};

/* Runs all, and compares. lane_open's and replay_run's errors. */
MUST_USE enum err device_runs_replay(struct device_runs *r, const struct replay_config *cfg, struct err_detail *why);

/* Closes the lanes and what they listened to. */
void device_runs_close(struct device_runs *r);

/* Whether all devices were asked for the same. */
bool device_runs_agree(const struct device_runs *r);

#endif
