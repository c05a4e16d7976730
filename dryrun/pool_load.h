/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A load of requests played against the pool of a server's KV cache, as vLLM schedules them.
 *
 * Each step has a budget of tokens. Running requests come first, in the order in which they began; each takes blocks
 * for the tokens that it computes. If none is free, the last one that began gives all its blocks back and starts anew
 * later: it is preempted. Then those that wait begin, first come first served, while there are blocks. Prompts share
 * nothing.
 */
#ifndef REPLAY_DRYRUN_POOL_LOAD_H
#define REPLAY_DRYRUN_POOL_LOAD_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { POOL_REQUESTS_MAX = 100000 };

struct pool {
    uint64_t tokens;                 /* that it holds */
    uint64_t block_tokens;           /* in blocks of so many */
    uint64_t running_most;           /* requests at once; > 0 */
    uint64_t step_tokens;            /* that are computed in a step; > 0 */
    uint64_t step_us;                /* that a step takes: no simulated card knows it */
    uint64_t longest;                /* tokens of a request, prompt and answer; 0: no limit but the pool */
};

/* One play. A request waited if it was its turn and there were no blocks for it. */
struct pool_play {
    uint64_t n_waited, n_preempted;
    uint64_t longest_wait_us;        /* of those that waited, from their arrival on */
    uint64_t peak_tokens;            /* in blocks that were taken */
    uint64_t running_peak;
};

struct pool_load {
    bool     is_played;
    uint64_t n_requests;             /* the file's first POOL_REQUESTS_MAX, without those that nobody answered */
    uint64_t n_too_long;             /* of them, left out */
    double   rate;                   /* requests a second, as recorded; 0: all came at once */
    double   prompt, answer;         /* tokens of one, on average */
    struct pool_play play;           /* at that rate */
    double   rate_most;              /* with all arrivals closer together, or further apart, by one factor: the most at
                                        which none waits or is preempted. Below 0: none was found */
    bool     is_rate_unlimited;      /* none waits, however close they come */
};

/* Plays the requests of a file (loads/request_trace.h). Errors are those of reading it; ERR_HOST_NOMEM. */
MUST_USE enum err pool_load_play(const char *path, const struct pool *pool, struct pool_load *out,
                                 struct err_detail *err);

#endif
