/*
 * Many runs on one trace, of which those that cannot differ are run once.
 *
 * A garbage collection that has no limit to act on, a limit that was never met, a card with room to spare: a sweep is
 * full of settings that change nothing on this trace. Of runs that may turn out alike the one with the widest bounds is
 * run; what it did decides which of the others it has answered (policy_ops.repeats, device_repeats). The rest are run.
 */
#ifndef REPLAY_REPLAY_ENGINE_EQUAL_RUNS_H
#define REPLAY_REPLAY_ENGINE_EQUAL_RUNS_H

#include "replay/engine/engine.h"

enum { EQUAL_RUNS_MAX = 1024 };               /* runs at a time: each is compared with those before it */

struct equal_runs {
    struct trace_reader *trace;          /* borrowed, like all that this points to */
    uint64_t seed;
    size_t   n_at_once;                  /* lanes that are run at a time, at least 1 */

    /* Runs lanes over the trace from its start: replay_run, or what is made of it. */
    enum err (*run)(void *arg, struct lane *lanes, size_t n, struct err_detail *why);

    /* The i-th run is finished, in any order. `l` is lent for the call. It tells what a report needs; what its policy
     * shows of blocks, and counters beyond policy->count, are there only where it was run. */
    enum err (*finished)(void *arg, size_t i, const struct lane *l, struct err_detail *why);

    /* The i-th run has no lane, for `e`; an error of its own ends them all. */
    enum err (*failed)(void *arg, size_t i, enum err e, struct err_detail *why);
    void      *arg;

    size_t   n_repeated;                 /* out: finished without being run */
};

/* Finishes n (<= EQUAL_RUNS_MAX) runs, given as lanes by lane_open_idle for this trace and seed, which stay the caller's to
 * close. ERR_HOST_NOMEM, and the first error of the functions above. */
MUST_USE enum err equal_runs_run(struct equal_runs *t, struct lane *idle, size_t n, struct err_detail *why);

/* Whether an idle lane for the same trace and seed would have run as `done` did under the same replay_config, event by
 * event; before `done` has run, whether nothing speaks against it. False where that is not certain, and where somebody
 * listens to the idle one. */
bool lane_repeats(const struct lane *done, const struct lane *idle);

#endif
