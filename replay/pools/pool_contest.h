/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Kinds of pools on loads of requests: what each makes of one memory.
 *
 * A load is typed as `generate` takes its loads: requests, the model's shape and the memory.
 *
 *     azure.csv,memory=40GiB,layers=80,kv_heads=8,head=128
 *     azure.csv,memory=80GiB,models=2,weights=16GiB,turn_s=60
 */
#ifndef REPLAY_REPLAY_POOLS_POOL_CONTEST_H
#define REPLAY_REPLAY_POOLS_POOL_CONTEST_H

#include "replay/pools/pool_load.h"

#include <stdio.h>

struct pool_contest_request {
    const char *const *loads;        /* n_loads 0: the loads of the edition */
    size_t      n_loads;
    const char *const *kinds;        /* n_kinds 0: all; `sleep` of several models alone */
    size_t      n_kinds;
    uint64_t    seed;                /* of requests that are made up */
};

struct pool_row { const struct kv_kind *kind; struct pool_load load; };

struct pool_round {
    const char *load;                /* as typed */
    uint64_t bytes, token_bytes, n_models;
    struct pool_row *rows;
    size_t n_rows;
};

struct pool_contest {
    struct pool_contest_request asked;       /* borrowed texts */
    struct pool_round *rounds;
    size_t n_rounds;
};

/* The i-th load of the edition; NULL after the last. */
const char *pool_contest_load_at(size_t i);

/* Close it also after an error. ERR_USAGE for a load or a kind that cannot be read; errors of the requests' file. */
MUST_USE enum err pool_contest_run(const struct pool_contest_request *asked, struct pool_contest *out,
                                   struct err_detail *err);
void pool_contest_close(struct pool_contest *c);

/* Figures of a row; NAN: nothing was held. Tokens of running requests for each GiB that was taken for them, and parts
 * of what was taken: needed; of tokens that no layer looks back at; the rest of blocks and slots; free between them. */
struct pool_figures { double tokens_per_gib, needed, outdated, internal, external; };
struct pool_figures pool_row_figures(const struct pool_row *row);

/* What limits the rate, as a word of the answer in JSON. */
const char *pool_limit_word(enum pool_limit limit);

/* A table for each load. */
MUST_USE enum err pool_contest_print(FILE *out, const struct pool_contest *c, size_t columns);
void pool_contest_write_json(FILE *out, const struct pool_contest *c);

/* The options of a load, for --help. */
struct load_kind;
const struct load_kind *pool_contest_options(void);

#endif
