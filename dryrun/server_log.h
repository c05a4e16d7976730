/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a server says of its memory while it starts, read from its log: vLLM from 0.6 on, SGLang from 0.3 on. A server
 * of several processes says some lines once for each.
 */
#ifndef REPLAY_DRYRUN_SERVER_LOG_H
#define REPLAY_DRYRUN_SERVER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVER_UNTOLD INT64_MIN

enum server_kind { SERVER_VLLM, SERVER_SGLANG };

enum server_end {
    SERVER_IS_READY,                 /* the engine has sized its cache and captured its graphs */
    SERVER_HAS_NO_CACHE,             /* nothing was left for the KV cache */
    SERVER_REQUEST_TOO_LONG,         /* less was left than one request of the maximum length needs */
    SERVER_SHARE_NOT_FREE,           /* less was free at its start than the share that it is to take */
    SERVER_DIED_LATER,               /* it was ready, and the card refused a request while it served */
    SERVER_WAS_REFUSED,              /* the card refused a request: CUDA out of memory */
    SERVER_ENDED_OTHERWISE           /* none of these stands in the log */
};

/* Bytes, as the log rounds them: to 0.01 GiB. SERVER_UNTOLD: the log does not say. Of several processes the one that
 * has least left for its cache counts. */
struct server_log {
    enum server_kind kind;
    enum server_end end;
    char    version[24];             /* "0.33.0"; "" if not told */
    int64_t total, free_at_start;    /* of the card; SGLang: free before its weights */
    int64_t share;                   /* what the server may take of the card; SGLang: its weights and its cache */
    double  utilization;             /* the same, of the card; SGLang: of what is free then; below 0: not told */
    int64_t weights;
    int64_t consumed;                /* weights, and what else it holds before its cache */
    int64_t activations;             /* the profiled peak, above `consumed`; without the graphs */
    int64_t profiled_peak;           /* as told: from 0.21 on with the estimate of the graphs */
    int64_t graphs_estimated;        /* what it set aside for them, or would have */
    int64_t first_graph_estimated;   /* of that the first of a kind, with what its warm-up took; the largest */
    bool    is_estimate_unused;      /* it was not taken off the cache */
    int64_t graphs_captured;
    int64_t largest_capture;         /* the largest size of a batch that has a graph; 0: none */
    int64_t cache;                   /* left for the KV cache; below 0: too much was taken before */
    bool    is_cache_given;          /* --kv-cache-memory-bytes: it is not what was left, and there is no share */
    int64_t tokens;                  /* that it holds */
    int64_t request_tokens;          /* the maximum length of a request */
    int64_t running_most;            /* requests at once, whatever the cache holds */
    int64_t step_tokens;             /* that are computed in a step, at most */
    int64_t request_bytes;           /* what one such needs, if that was too much */
    int64_t longest_tokens;          /* the longest that would fit then, by the server */
    int64_t refused_bytes;           /* SERVER_WAS_REFUSED */
    int64_t cards;                   /* tensor and pipeline parallel; 1 if not told */
    char    error[240];              /* the first that its engine ended in: "ValueError: ..."; "" if not told */
    bool    keeps_prefixes;          /* blocks of prompts, for those that begin alike */
    bool    has_small_cache_type;    /* the cache's type was asked for, or may be one of 8 bits */
    bool    has_mixed_layers;        /* some keep a state or a window: no fixed number of bytes for each token */
    bool    has_latent_cache;        /* MLA, or layers of several kinds: a token's bytes do not just halve */

    /* SGLang alone, whose cache is what is free after the weights, less a part of what was free before them. */
    int64_t free_after_weights;
    int64_t left;                    /* once it is ready, for all that it computes */
    double  least_fraction;          /* of --mem-fraction-static, by the server that has no cache; below 0: not told */
    int64_t largest_prefill_capture; /* tokens */
    bool    is_capturing;            /* it ended in the midst of its graphs */
    bool    has_phase_flags;         /* --cuda-graph-max-bs-decode, and not --cuda-graph-max-bs */
    bool    is_sized_after_capture;  /* its cache is */
};

/* Whether a log is SGLang's, as far as it tells. */
bool server_log_is_sglang(const char *text, size_t n);

/* Reads a log of n bytes. `total`: the memory of the card, if it is known already (a start that fails does not tell
 * it), or SERVER_UNTOLD. */
void server_log_read(const char *text, size_t n, int64_t total, struct server_log *out);

/* Whether the card refused a request of the server's. */
bool server_log_has_refusal(const char *text, size_t n);

/* Whether the engine of a log that still grows is ready. */
bool server_log_is_ready(const char *text, size_t n);

#endif
