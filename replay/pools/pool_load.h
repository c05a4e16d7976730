/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A load of requests played against the pool of a server's KV cache, as vLLM schedules them.
 *
 * Each step has a budget of tokens. Running requests come first, in the order in which they began; each takes blocks
 * for the tokens that it computes. If none is free, the last one that began gives all its blocks back and starts anew
 * later: it is preempted. Then those that wait begin, first come first served, while there are blocks.
 *
 * Several models on one card have a server each, and step together. What they share, the last one that began of all
 * gives back. A kind that sleeps has one model on the card: it lets nobody in once another was asked before, runs what
 * it has to the end, and then the other one wakes.
 */
#ifndef REPLAY_REPLAY_POOLS_POOL_LOAD_H
#define REPLAY_REPLAY_POOLS_POOL_LOAD_H

#include "replay/pools/kv_pool.h"

enum { POOL_REQUESTS_MAX = 100000, POOL_MODELS_MAX = KV_CLASSES };

struct pool {
    uint64_t tokens;                 /* that it holds */
    uint64_t block_tokens;           /* in blocks of so many */
    uint64_t running_most;           /* requests at once; > 0 */
    uint64_t step_tokens;            /* that are computed in a step; > 0 */
    uint64_t step_us;                /* that a step takes: no simulated card knows it */
    uint64_t longest;                /* tokens of a request, prompt and answer; 0: no limit but the pool */
    bool     shares_prompts;         /* blocks of those that begin alike, if pool_load_can_share says so */
    const struct kv_kind *kind;      /* NULL: blocks of tokens. Else: */
    struct kv_shape shape;           /* of the model, with the same block_tokens and step_tokens */
    uint64_t bytes;                  /* `tokens` is not read */
    uint32_t n_models;               /* alike, on one card, each with a server of its own; 0: one */
    uint64_t turn_us;                /* each is asked for so long, then the next one; 0: each request another */
    uint64_t wake_us;                /* kinds that sleep: until another model has the card */
};

/* Sums over the steps, with what each has taken before it ends. */
struct pool_sums {
    double tokens;                   /* of the running requests, each counted for itself */
    double needed_bytes;             /* that their layers look back at; in common with others: once */
    double outdated_bytes;           /* of tokens that a layer with a window looks back at no more */
    double given_bytes, taken_bytes; /* in units given to them: blocks; and in pages of these */
};

/* One play. The queue is who has arrived and does not run: those that were preempted, then the others as they came.
 * All who stand in it when a step has no blocks for its first one wait for room, and so does who is preempted. Who
 * stands there because running_most run, or because the step's tokens are spent, does not. */
struct pool_play {
    uint64_t n_waited;               /* requests, each once */
    uint64_t n_preempted;            /* times */
    uint64_t longest_wait_us;        /* of those that waited: from arrival, or from when one was preempted, until it
                                        begins */
    uint64_t peak_tokens;            /* in blocks that were taken */
    uint64_t running_peak;
    uint64_t n_steps, n_evicted;     /* prefixes that went */
    uint64_t n_wakes;                /* times that another model got the card */
    uint64_t shared_tokens;          /* of prompts that need not be computed */
    struct pool_sums sums;
};

/* What keeps the cache from being full when all come at once. */
enum pool_limit {
    POOL_LIMIT_CACHE,                /* nothing: it is full */
    POOL_LIMIT_RUNNING,              /* running_most run */
    POOL_LIMIT_STEP,                 /* the tokens of a step: as many end as can begin */
    POOL_LIMIT_FILE,                 /* the file ends: at any rate, or at the largest at which none waits, all of its
                                        requests run at once. What more of them would do is not known */
};

struct pool_load {
    bool     is_played;
    uint64_t n_requests;             /* the file's first POOL_REQUESTS_MAX, without those that nobody answered */
    uint64_t n_empty;                /* rows that stand before the last of those and ask for 0 tokens, or got none */
    uint64_t n_too_long;             /* of n_requests, left out of all that follows */
    double   rate;                   /* requests a second, as recorded; 0: all came at once */
    double   prompt, answer;         /* tokens of one, on average */
    struct pool_play play;           /* at that rate */
    double   rate_most;              /* with all arrivals closer together, or further apart, by one factor: the most at
                                        which none waits or is preempted, found by halving until a rate a thousandth
                                        larger has one that does. Below 0: none was found */
    enum pool_limit limit;           /* RUNNING, STEP: none waits, however close they come */
};

struct request_trace;                /* loads/request_trace.h */

/* Reads the requests of a file. Errors are those of reading it; ERR_HOST_NOMEM. NULL if there is one. */
MUST_USE enum err pool_load_open(const char *path, struct request_trace **out, struct err_detail *err);
void pool_load_close(struct request_trace *requests);

/* Whether the file tells how prompts begin, in ids that whole blocks of so many tokens make. `id_tokens`: of an id; 0:
 * it does not tell. */
bool pool_load_can_share(const struct request_trace *requests, uint64_t block_tokens, uint64_t *id_tokens);

/* Plays them. ERR_HOST_NOMEM. */
MUST_USE enum err pool_load_play(const struct request_trace *requests, const struct pool *pool, struct pool_load *out,
                                 struct err_detail *err);

#endif
