/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Many runs on one trace; runs that cannot differ are run once.
 *
 * A sweep is full of settings that change nothing on this trace: garbage collection without a limit to act on, a limit
 * that was never reached, a card with room to spare. Example, runs that differ in the card only, peak reserved 9 GiB:
 *
 *     80 GiB   run: needs 9 GiB -+
 *     24 GiB                     +-> answered by the run on 80 GiB: never refused anything there either
 *     12 GiB                     +-> answered
 *      8 GiB   the run on 80 GiB needed more: run by itself
 *
 * So the run with the loosest limits is run first. What it did shows which other runs it answers (policy_ops.repeats,
 * device_repeats). The rest are run. Runs with different values of an option are run each, unless the policy itself
 * compares what that option means (policy_ops.compared).
 */
#ifndef REPLAY_REPLAY_TRIALS_EQUAL_RUNS_H
#define REPLAY_REPLAY_TRIALS_EQUAL_RUNS_H

#include "replay/engine/engine.h"

enum { EQUAL_RUNS_MAX = 1024 };          /* runs at a time: the work grows with the square of their number */

struct equal_runs {
    struct trace_reader *trace;          /* borrowed */
    uint64_t seed;
    size_t   n_at_once;                  /* most lanes to run at a time, at least 1 */

    /* Runs lanes over the trace from its start: replay_run, or a function around it. */
    enum err (*run)(void *arg, struct lane *lanes, size_t n, struct err_detail *err);

    /* Called when the i-th run is finished, in any order. `l` is lent for the call and holds what a report needs. Its
     * policy's blocks, and counters other than policy->count, are only there if this very run was run. */
    enum err (*finished)(void *arg, size_t i, const struct lane *l, struct err_detail *err);

    /* Called when the lane of the i-th run cannot be opened, for the error `e`. Returning an error ends all runs. */
    enum err (*failed)(void *arg, size_t i, enum err e, struct err_detail *err);
    void      *arg;

    size_t   n_repeated;                 /* out: runs that were answered by another */
};

/* Finishes n (<= EQUAL_RUNS_MAX) runs. `idle` are their lanes, made by lane_open_idle for this trace and seed; the
 * caller closes them. ERR_HOST_NOMEM, and the first error of the functions above. */
MUST_USE enum err equal_runs_run(struct equal_runs *t, struct lane *idle, size_t n, struct err_detail *err);

/* Whether `idle`, on the same trace, seed and replay_config, would do at every event what `done` did. If `done` has
 * not run yet: whether that is still possible. False in doubt, and if anybody listens to `idle`. */
bool lane_repeats(const struct lane *done, const struct lane *idle);

#endif
