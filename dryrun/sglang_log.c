/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads an SGLang server's lines, each for the process that wrote it. */
#include "dryrun/sglang_log.h"

#include <string.h>

enum { RANKS_MAX = 64, RANK_NAME = 24, PARALLEL_MOST = 4096 };

#define UNTOLD SERVER_UNTOLD

/* What one process said. Sums are of a model and its draft. */
struct rank {
    char name[RANK_NAME];            /* "TP0", "DP1 TP3", "" */
    int64_t free_at_start, free_after_weights, left;
    int64_t weights, cache, states, graphs;
    size_t n_caches;
    int captures;                    /* begun and not ended */
};

struct ranks {
    struct rank of[RANKS_MAX];
    size_t n;
};

/* Whose line it is: "[2026-09-12 00:22:48 TP0] ...": what stands after the time. */
static struct rest rank_name(struct rest line)
{
    const char *close = line.at < line.end && *line.at == '[' ? memchr(line.at, ']', (size_t)(line.end - line.at))
                                                              : NULL;
    const ptrdiff_t time = (ptrdiff_t)strlen("[2026-09-12 00:22:48 ");
    if (close == NULL || close - line.at <= time)
        return (struct rest){ .at = line.at, .end = line.at };
    return (struct rest){ .at = line.at + time, .end = close };
}

/* NULL: there are too many. */
static struct rank *rank_of(struct ranks *r, struct rest line)
{
    const struct rest name = rank_name(line);
    const size_t n = (size_t)(name.end - name.at);
    for (size_t i = 0; i < r->n; i++)
        if (strlen(r->of[i].name) == n && memcmp(r->of[i].name, name.at, n) == 0)
            return &r->of[i];
    if (r->n == RANKS_MAX || n >= RANK_NAME)
        return NULL;
    struct rank *rank = &r->of[r->n++];
    *rank = (struct rank){ .free_at_start = UNTOLD, .free_after_weights = UNTOLD, .left = UNTOLD, .weights = UNTOLD,
                           .cache = UNTOLD, .states = UNTOLD, .graphs = UNTOLD };
    memcpy(rank->name, name.at, n);
    return rank;
}

/* Absurd numbers end at so much, as each of them does. */
static void add(int64_t *sum, int64_t bytes)
{
    const int64_t most = rest_bytes_of_gib(1e9), all = *sum == UNTOLD ? bytes : *sum + bytes;
    *sum = all > most ? most : all < -most ? -most : all;
}

/* ---- the lines of a process ---- */

/* "Load weight begin. avail mem=78.40 GB", "Load weight end. ..., avail mem=63.3 GB, mem usage=15.1 GB." Old releases
 * do not tell the usage. */
static void read_weights(struct rank *r, struct rest line)
{
    int64_t bytes;
    if (rest_has(line, "Load weight begin.") && rest_gib(line, "avail mem=", &bytes) && r->free_at_start == UNTOLD)
        r->free_at_start = bytes;
    if (!rest_has(line, "Load weight end.") || !rest_gib(line, "avail mem=", &r->free_after_weights))
        return;
    if (rest_gib(line, "mem usage=", &bytes))
        add(&r->weights, bytes);
    else if (r->free_at_start != UNTOLD)
        r->weights = r->free_at_start - r->free_after_weights;
}

/* "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 556202, K size: 29.70 GB, V size: 29.70 GB", or of MLA "KV
 * size: 5.10 GB". One that is sized after the graphs has an upper bound before, which takes nothing. */
static void read_cache(struct server_log *log, struct rank *r, struct rest line)
{
    int64_t both, keys, values;
    const bool is_late = rest_has(line, "KV cache allocated. dtype");
    if (!is_late && !rest_has(line, "KV Cache is allocated."))
        return;
    log->is_sized_after_capture = log->is_sized_after_capture || is_late;
    if (rest_gib(line, " KV size: ", &both)) {
        add(&r->cache, both);
        log->has_latent_cache = log->has_latent_cache || !is_late;
    } else if (rest_gib(line, " K size: ", &keys) && rest_gib(line, " V size: ", &values)) {
        add(&r->cache, keys + values);
    } else {
        return;
    }
    r->n_caches++;
    if (!rest_has(line, "dtype: torch.bfloat16") && !rest_has(line, "dtype: torch.float16"))
        log->has_small_cache_type = true;
}

/* "Mamba Cache is allocated. max_mamba_cache_size: 300, conv_state size: 0.05GB, ssm_state size: 6.72GB". */
static void read_states(struct server_log *log, struct rank *r, struct rest line)
{
    int64_t bytes;
    if (rest_has(line, "Mamba Cache is allocated.")) {
        log->has_mixed_layers = true;
        if (rest_gib(line, "conv_state size: ", &bytes))
            add(&r->states, bytes);
        if (rest_gib(line, "ssm_state size: ", &bytes))
            add(&r->states, bytes);
    }
    log->has_mixed_layers = log->has_mixed_layers || rest_has(line, "SWAKVPool mem usage") ||
                            rest_has(line, "swa_layer_tokens=") || rest_has(line, "Use sliding window memory pool");
}

/* Of "bs=[1, 2, 4, ..., 256]", whichever end it is at. */
static void read_largest(struct rest line, const char *words, int64_t *largest)
{
    double number;
    if (!rest_skip(&line, words))
        return;
    while (rest_number(&line, &number) && number >= 1) {
        rest_keep_most(largest, (int64_t)number);
        while (line.at < line.end && (*line.at == ',' || *line.at == ' '))
            line.at++;
    }
}

/* "Capture target decode CUDA graph begin. backend=full, ..., avail mem=10.76 GB", "... end. bs=[1, 2, 4], ..., mem
 * usage=0.31 GB, avail mem=..."; before 0.5.15 "Capture cuda graph begin. This can take up to several minutes. ...". */
static void read_capture(struct server_log *log, struct rank *r, struct rest line)
{
    int64_t bytes;
    struct rest at = line;
    if (rest_skip(&at, "Capture cuda graph bs ["))
        read_largest(line, "Capture cuda graph bs [", &log->largest_capture);
    at = line;
    if (!rest_skip(&at, "Capture ") || !(rest_has(at, "graph ")))
        return;
    if (rest_has(at, "graph begin.")) {
        r->captures++;
        read_largest(at, "num_tokens=[", &log->largest_prefill_capture);
    } else if (rest_has(at, "graph end.")) {
        r->captures--;
        read_largest(at, "bs=[", &log->largest_capture);
        if (rest_gib(at, "mem usage=", &bytes))
            add(&r->graphs, bytes);
    }
}

/* "max_total_num_tokens=556202, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048,
 * context_len=40960, available_gpu_mem=11.02 GB", of the first process alone. A chunk below 0 is none. */
static void read_limits(struct server_log *log, struct rank *r, struct rest line)
{
    int64_t tokens;
    if (!rest_has(line, "max_running_requests=") || !rest_count(line, "max_total_num_tokens=", &tokens))
        return;
    rest_keep_least(&log->tokens, tokens);
    (void)rest_count(line, "max_running_requests=", &log->running_most);
    (void)rest_count(line, "context_len=", &log->request_tokens);
    if (!rest_count(line, "chunked_prefill_size=", &log->step_tokens) || log->step_tokens == 0)
        (void)rest_count(line, "max_prefill_tokens=", &log->step_tokens);
    (void)rest_gib(line, "available_gpu_mem=", &r->left);
}

static void read_line(struct server_log *log, struct ranks *ranks, struct rest line)
{
    if (!rest_has(line, "mem") && !rest_has(line, "Cache") && !rest_has(line, "cache") && !rest_has(line, "Capture "))
        return;
    struct rank *r = rank_of(ranks, line);
    if (r == NULL)
        return;
    read_weights(r, line);
    read_cache(log, r, line);
    read_states(log, r, line);
    read_capture(log, r, line);
    read_limits(log, r, line);
}

/* ---- the whole ---- */

/* The fullest card counts: a figure of each kind is the one that leaves least. */
static void take_ranks(struct server_log *log, const struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->n; i++) {
        const struct rank *r = &ranks->of[i];
        if (r->free_at_start != UNTOLD)
            rest_keep_least(&log->free_at_start, r->free_at_start);
        if (r->free_after_weights != UNTOLD)
            rest_keep_least(&log->free_after_weights, r->free_after_weights);
        if (r->cache != UNTOLD)
            rest_keep_least(&log->cache, r->cache);
        if (r->left != UNTOLD)
            rest_keep_least(&log->left, r->left);
        rest_keep_most(&log->weights, r->weights);
        rest_keep_most(&log->graphs_captured, r->graphs);
        log->is_capturing = log->is_capturing || r->captures > 0;
        log->has_mixed_layers = log->has_mixed_layers || r->n_caches > 1;
    }
    log->has_latent_cache = log->has_latent_cache || log->has_mixed_layers;
}

/* The number of one of its arguments, in either form. */
static bool arg_number(struct rest args, const char *as_word, const char *as_key, double *out)
{
    struct rest word = args, key = args;
    return (rest_skip(&word, as_word) && rest_number(&word, out)) ||
           (rest_skip(&key, as_key) && rest_number(&key, out));
}

/* What it was started with, and what it chose: "server_args=ServerArgs(model_path='m', ..., mem_fraction_static=0.863,
 * ..., tp_size=2, ...)"; 0.5.23 writes "server_args={'model_path': 'm', ..., 'mem_fraction_static': 0.863, ...}". */
static void read_args(struct server_log *log, struct rest all)
{
    double fraction, tensor = 1, pipeline = 1;
    if (!rest_skip(&all, "server_args="))
        return;
    const struct rest args = rest_line(&all);
    if (arg_number(args, " mem_fraction_static=", "'mem_fraction_static': ", &fraction) && fraction > 0 &&
        fraction <= 1)
        log->utilization = fraction;
    (void)arg_number(args, " tp_size=", "'tp_size': ", &tensor);
    (void)arg_number(args, " pp_size=", "'pp_size': ", &pipeline);
    if (tensor >= 1 && tensor <= PARALLEL_MOST && pipeline >= 1 && pipeline <= PARALLEL_MOST)
        log->cards = (int64_t)tensor * (int64_t)pipeline;
    log->has_phase_flags = rest_has(args, "cuda_graph_max_bs_decode");
}

/* "Raise --mem-fraction-static above 0.912 (minimum viable = ...)". */
static void read_least_fraction(struct server_log *log, struct rest all)
{
    double fraction;
    static const char *const words[] = { "Raise --mem-fraction-static above ",
                                         "Raise --mem-fraction-static to at least " };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (struct rest at = all; rest_skip(&at, words[i]);)
            if (rest_number(&at, &fraction) && fraction > 0 && fraction < 1)
                log->least_fraction = fraction;
}

static enum server_end read_end(struct rest all)
{
    return rest_has(all, SGLANG_READY)                                               ? SERVER_IS_READY
         : rest_has(all, "leave no GPU memory for the KV cache") ||
           rest_has(all, "Not enough memory. Please try to increase --mem-fraction") ? SERVER_HAS_NO_CACHE
         : rest_has(all, "CUDA out of memory") || rest_has(all, "OutOfMemoryError")  ? SERVER_WAS_REFUSED
                                                                                    : SERVER_ENDED_OTHERWISE;
}

bool sglang_log_is_such(struct rest all)
{
    static const char *const words[] = { "Load weight begin. avail mem=", "server_args=ServerArgs(",
                                         "server_args={'model_path'", "sglang/srt/", "sglang/launch_server.py" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (rest_has(all, words[i]))
            return true;
    return false;
}

void sglang_log_fill(struct rest all, struct server_log *log)
{
    struct ranks ranks = { .n = 0 };
    log->kind = SERVER_SGLANG;
    log->end = read_end(all);
    for (struct rest at = all; at.at < at.end;) {
        const struct rest line = rest_line(&at);
        read_line(log, &ranks, line);
        at.at = line.end < at.end ? line.end + 1 : at.end;
    }
    take_ranks(log, &ranks);
    read_args(log, all);
    read_least_fraction(log, all);
    if (log->utilization >= 0 && log->free_at_start != UNTOLD)
        log->share = (int64_t)(log->utilization * (double)log->free_at_start);
}
