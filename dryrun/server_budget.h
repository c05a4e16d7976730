/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What follows from a server's figures by arithmetic alone: which shares of the card it starts with, what another
 * choice would give.
 *
 *     the card   | context | weights, buffers | activations, graphs |     KV cache     |  not asked for  |
 *                          |<------------- share: --gpu-memory-utilization ----------->|
 *
 * vLLM takes the share from the whole card and never counts the context in it. Raising the share therefore gives the
 * cache more, until what the server really holds at its peak is more than was free at its start.
 */
#ifndef REPLAY_DRYRUN_SERVER_BUDGET_H
#define REPLAY_DRYRUN_SERVER_BUDGET_H

#include "dryrun/server_log.h"

enum server_verdict { SERVER_FITS, SERVER_MAY_FIT, SERVER_FITS_NOT, SERVER_FITS_UNKNOWN };

/* What one more or less of something gives. Counts and bytes; SERVER_UNTOLD: not known. */
struct server_budget {
    enum server_verdict verdict;
    double  bytes_per_token;         /* of the KV cache, on one card; 0: not known */
    int64_t beside_weights;          /* consumed less weights */
    int64_t not_asked_for;           /* free at its start, less the share */
    int64_t request_bytes;           /* one request of the maximum length */
    double  requests;                /* of the maximum length that the cache holds; below 0: not known */
    int64_t cache_least;             /* on a card, with what libraries take after the server has measured */
    int64_t tokens_least;
    double  least_utilization;       /* it starts with; below 0: not known, or none */
    double  most_utilization;        /* and leaves room for what the server holds at its peak; below 0: not known */
    bool    is_share_too_large;      /* the share that was chosen is above that */
    double  least_simulated, most_simulated;     /* the same without what a card alone takes */
    int64_t most_tokens;             /* with that */
    int64_t small_type_tokens;       /* with a cache of 8 bits; SERVER_UNTOLD: not by arithmetic */
    bool    small_type_starts;       /* a request would fit with it, and does not now */
    int64_t estimate_error;          /* of the graphs: estimated less captured */
    int64_t most_cache_given;        /* of one that was given and left a request no room: with so much it has. 0: not
                                        so, or not known */
    double  most_share_after_refusal;        /* the same of a cache that is a share's rest; below 0: not so */
    int64_t never_used;              /* SGLang: of what was free at its start, at its peak */
};

/* What the driver and its libraries were seen to take after vLLM had looked at what is free: "non-torch memory" in
 * public logs. On one card 0.02 to 0.46 GiB; with tensor parallelism up to 2.17 GiB a card, with stages of a pipeline
 * alone from 0.07 GiB on (llm-d's report of 60 runs on H100 with vLLM 0.19.0, and logs of single runs). */
int64_t server_libraries_least(const struct server_log *log);
int64_t server_libraries_most(const struct server_log *log);

/* What the driver takes for captured graphs, beside PyTorch's pool, and is not simulated: at most. 0 without graphs. A
 * Llama 3.1 8B captured 0.91 GiB on an H100 and 0.37 GiB here; in the 60 runs of that report all that graphs took was
 * at most 1.85 GiB. */
int64_t server_graphs_most(const struct server_log *log);

/* All that a server holds at its peak: `peak`, which its processes held here at most, or what it tells of, if that is
 * more. */
int64_t server_taken(const struct server_log *log, int64_t peak);

/* Whether a server whose cache was given, and no share, may lack room on a card: `peak` is what its processes held here
 * at most. */
bool server_leaves_too_little(const struct server_log *log, int64_t peak);

/* Of either server (sglang_budget.h). */
struct server_budget server_budget_of(const struct server_log *log);

#endif
