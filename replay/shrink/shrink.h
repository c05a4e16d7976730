/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The smallest recording that still does it.
 *
 *     recording --> streams, pools, late uses folded --> lives taken out, in ever smaller chunks --> frees taken out
 *                                                             ^                                          |
 *                                                             +--------- until nothing changes <---- round sizes
 *
 * Each step is kept if the property holds after it. Neighbours may become one request of their sum, but no more is ever
 * live at once than in the recording. Chunks: Zeller and Hildebrandt, "Simplifying and Isolating
 * Failure-Inducing Input", 2002. What is left holds sizes, order, streams and pools: no names, stacks, addresses or
 * times.
 * The same recording and property give the same result.
 */
#ifndef REPLAY_REPLAY_SHRINK_SHRINK_H
#define REPLAY_REPLAY_SHRINK_SHRINK_H

#include "replay/results/single_run.h"
#include "replay/shrink/shrink_keep.h"
#include "replay/shrink/shrink_verdict.h"

/* Zero is a valid beginning and end. */
struct shrunk {
    struct event *calls;             /* requests, frees and flushes; a free has the slot and the bytes of its request */
    size_t   n, n_before;            /* calls, and those of the recording */
    unsigned n_streams;              /* that are used */
    bool     has_pools, has_late;    /* could not be folded */
    bool     is_stopped;             /* before nothing could be taken out any more: work was spent, or interrupted */
    uint64_t peak_bytes, other_bytes;            /* reserved at most: of the policy; of the other one */
    uint64_t total_bytes;            /* of the card: of the run's, unless a refusal's story is told by fewer calls on a
                                      * smaller one */
    unsigned n_runs;
    bool     has_verdicts;           /* a refusal under the recorded policy was kept: what `why` says */
    enum verdict_kind verdict, verdict_before;   /* of what is left; of the recording */
    bool     shows_expandable;       /* only addresses told that the recording has expandable segments */
    struct trace_reader *copy;       /* what streams and pools the calls name */
};

struct shrink_request {
    const struct single_run *run;    /* opened for the recording */
    struct keep *keep;
    bool     is_recorded_policy;     /* no other one was named */
    const volatile sig_atomic_t *interrupted;    /* not 0: the best so far is the result. NULL: never */
    void   (*progress)(void *arg, uint64_t done, uint64_t total);
    void    *progress_arg;
};

/* ERR_USAGE if the recording does not have the property; ERR_UNSUPPORTED if it has it only with controls, such as
 * captures; the errors of what is called. */
MUST_USE enum err shrink_find(const struct shrink_request *asked, struct shrunk *out, struct err_detail *err);
void shrunk_close(struct shrunk *s);

/* The calls as the bytes of a trace, with the recorded release and settings; free() them. */
MUST_USE enum err shrunk_write(const struct shrunk *s, uint64_t capacity_bytes, void **bytes, size_t *n,
                               struct err_detail *err);

#endif
