/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads the lines in which a vLLM server tells of its memory, and the errors that any server ends in. */
#include "dryrun/server_log.h"

#include "dryrun/log_rest.h"
#include "dryrun/sglang_log.h"

#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define READY "init engine (profile, create kv cache, warmup model) took"

/* ---- the lines ---- */

/* "Free memory on device (78.4/79.19 GiB) on startup. Desired GPU memory utilization is (0.92, 72.85 GiB). Actual usage
 * is 0.96 GiB for weight, ..." Which card it is may stand after "device". */
static void read_usage(struct server_log *log, struct rest line)
{
    double number;
    int64_t bytes;
    if (rest_skip(&line, "(") && rest_number(&line, &number)) {
        rest_keep_least(&log->free_at_start, rest_bytes_of_gib(number));
        if (rest_gib(line, "/", &bytes))
            log->total = bytes;
    }
    struct rest share = line;
    if (rest_skip(&share, "GPU memory utilization") && rest_skip(&share, "(") && rest_number(&share, &number)) {
        log->utilization = number;
        if (rest_gib(share, ", ", &bytes))
            log->share = bytes;
    }
    if (rest_gib_before(line, " GiB for peak activation", &bytes))
        rest_keep_most(&log->profiled_peak, bytes);
    if (rest_gib_before(line, " GiB for consumed memory", &bytes))
        rest_keep_most(&log->consumed, bytes);
    int64_t weights, others;
    if (rest_gib_before(line, " GiB for weight", &weights) &&
        rest_gib_before(line, " GiB for non-torch memory", &others))
        rest_keep_most(&log->consumed, weights + others);
    if (rest_gib_before(line, " GiB for CUDAGraph memory", &bytes))
        rest_keep_most(&log->graphs_captured, bytes);
}

static void read_usages(struct server_log *log, struct rest r)
{
    while (rest_skip(&r, "Free memory on device"))
        read_usage(log, rest_line(&r));
}

/* Told at the level DEBUG, also if the start fails later: "Initial free memory: 78.4 GiB; Requested memory: 0.920000
 * (util), 72.85 GiB". */
static void read_request(struct server_log *log, struct rest r)
{
    double number;
    int64_t bytes;
    while (rest_skip(&r, "Initial free memory: ")) {
        struct rest line = rest_line(&r);
        if (rest_number(&line, &number))
            rest_keep_least(&log->free_at_start, rest_bytes_of_gib(number));
        if (!rest_skip(&line, "Requested memory: ") || !rest_number(&line, &number))
            continue;
        log->utilization = number;
        if (rest_gib(line, "(util), ", &bytes))
            log->share = bytes;
    }
}

/* The same: "Total non KV cache memory: 2.43GiB; torch peak memory increase: 0.87GiB; total consumed (from
 * mem_get_info): 1.56GiB". Releases that do not tell what is consumed count the peak's increase on top of it. */
static void read_profile(struct server_log *log, struct rest r)
{
    int64_t all, peak, consumed;
    while (rest_skip(&r, "Total non KV cache memory:")) {
        const struct rest line = rest_line(&r);
        if (!rest_gib(line, " ", &all) || !rest_gib(line, "torch peak memory increase: ", &peak))
            continue;
        consumed = all - peak;
        (void)rest_gib(line, "total consumed (from mem_get_info): ", &consumed);
        rest_keep_most(&log->consumed, consumed);
        rest_keep_most(&log->activations, all - consumed);
    }
}

/* "Model loading took 14.99 GiB memory and 3.1 seconds"; before 0.8 "Loading model weights took 14.99 GB". */
static void read_weights(struct server_log *log, struct rest r)
{
    int64_t bytes;
    for (struct rest at = r; rest_skip(&at, "Model loading took ");)
        if (rest_gib((struct rest){ at.at - 1, at.end }, " ", &bytes))
            rest_keep_most(&log->weights, bytes);
    for (struct rest at = r; rest_skip(&at, "Loading model weights took ");)
        if (rest_gib((struct rest){ at.at - 1, at.end }, " ", &bytes))
            rest_keep_most(&log->weights, bytes);
}

/* Told at the level DEBUG: "Estimated FULL CUDA graph memory: 4120.00 MiB first-capture + (5-1) x 12.00 MiB
 * per-graph". What a warm-up takes and gives back is in it. */
static void read_first_graph(struct server_log *log, struct rest r)
{
    int64_t mib_as_gib;
    while (rest_skip(&r, " CUDA graph memory: "))
        if (rest_gib_before(rest_line(&r), " MiB first-capture", &mib_as_gib))
            rest_keep_most(&log->first_graph_estimated, mib_as_gib / 1024);
}

static void read_graphs(struct server_log *log, struct rest r)
{
    int64_t bytes;
    bool is_told = false;
    read_first_graph(log, r);
    for (struct rest at = r; rest_skip(&at, "CUDA graph pool memory:"); is_told = true) {
        if (rest_gib_before(rest_line(&at), " GiB (actual)", &bytes))
            rest_keep_most(&log->graphs_captured, bytes);
        if (rest_gib_before(rest_line(&at), " GiB (estimated)", &bytes))
            rest_keep_most(&log->graphs_estimated, bytes);
    }
    for (struct rest at = r; !is_told && rest_skip(&at, "Estimated CUDA graph memory:");)
        if (rest_gib(rest_line(&at), " ", &bytes))
            rest_keep_most(&log->graphs_estimated, bytes);
    /* A profile captures too, so of a start that failed this may be the profile's. */
    const bool is_real = log->end == SERVER_IS_READY && log->graphs_captured == SERVER_UNTOLD;
    for (struct rest at = r; is_real && rest_skip(&at, "Graph capturing finished in");)
        if (rest_gib(rest_line(&at), "took ", &bytes))
            rest_keep_most(&log->graphs_captured, bytes);
}

/* Where no line tells the estimate: "The current --gpu-memory-utilization=0.9200 is equivalent to
 * --gpu-memory-utilization=0.9148 without CUDA graph memory profiling." */
static void read_equivalent(struct server_log *log, struct rest r)
{
    double with, without;
    if (log->graphs_estimated != SERVER_UNTOLD || log->total <= 0)
        return;
    while (rest_skip(&r, "The current --gpu-memory-utilization=")) {
        struct rest line = rest_line(&r);
        if (rest_number(&line, &with) && rest_skip(&line, "equivalent to --gpu-memory-utilization=") &&
            rest_number(&line, &without) && with > without)
            rest_keep_most(&log->graphs_estimated, (int64_t)((with - without) * (double)log->total));
    }
}

static void read_cache(struct server_log *log, struct rest r)
{
    int64_t value;
    for (struct rest at = r; rest_skip(&at, "Available KV cache memory:");)
        if (rest_gib(rest_line(&at), " ", &value))
            rest_keep_least(&log->cache, value);
    for (struct rest at = r; rest_skip(&at, "KV cache size:");)
        if (rest_count(rest_line(&at), " ", &value))
            rest_keep_least(&log->tokens, value);
    for (struct rest at = r; rest_skip(&at, "Maximum concurrency for ");)
        if (rest_count((struct rest){ at.at - 1, at.end }, " ", &value))
            log->request_tokens = value;
}

/* "Initial free memory 3.4 GiB, reserved 3.22 GiB memory for KV Cache as specified by kv_cache_memory_bytes". */
static void read_given_cache(struct server_log *log, struct rest r)
{
    int64_t cache, free_at_start;
    while (rest_skip(&r, "Initial free memory")) {
        const struct rest line = rest_line(&r);
        if (!rest_gib_before(line, " GiB memory for KV Cache as specified by kv_cache_memory_bytes", &cache))
            continue;
        log->is_cache_given = true;
        rest_keep_least(&log->cache, cache);
        if (rest_gib(line, " ", &free_at_start))
            rest_keep_least(&log->free_at_start, free_at_start);
    }
}

/* What that line rounds stands to the byte among the arguments: "non-default args: {'kv_cache_memory_bytes': 524288000,
 * ...}". A share that is told as well is none that the server keeps. */
static void settle_given_cache(struct server_log *log, struct rest r)
{
    const int64_t rounding = (int64_t)(GIB / 100);
    int64_t bytes;
    if (!log->is_cache_given)
        return;
    if (rest_count(r, "'kv_cache_memory_bytes': ", &bytes) && bytes >= log->cache - rounding &&
        bytes <= log->cache + rounding)
        log->cache = bytes;
    log->share = SERVER_UNTOLD;
    log->utilization = -1;
}

/* Told at the level DEBUG if nobody chose it: "Defaulting max_num_seqs to 1024 for ...", and else among the arguments:
 * "non-default args: {'max_num_seqs': 64, ...}". */
static void read_limits(struct server_log *log, struct rest r)
{
    (void)rest_count(r, "'max_num_seqs': ", &log->running_most);
    (void)rest_count(r, "Defaulting max_num_seqs to ", &log->running_most);
    (void)rest_count(r, "enabled with max_num_batched_tokens=", &log->step_tokens);
}

/* "max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory (5.48 GiB).
 * Based on the available memory, the estimated maximum model length is 44880." */
static void read_too_long(struct server_log *log, struct rest r)
{
    while (rest_skip(&r, "max seq len ")) {
        const struct rest line = rest_line(&r);
        if (!rest_gib_before(line, " GiB KV cache is needed", &log->request_bytes))
            continue;
        (void)rest_count(line, "(", &log->request_tokens);
        (void)rest_gib(line, "available KV cache memory (", &log->cache);
        (void)rest_count(line, "estimated maximum model length is ", &log->longest_tokens);
    }
}

/* "Tried to allocate 1.40 GiB." or MiB. */
static void read_refused(struct server_log *log, struct rest r)
{
    double number;
    while (rest_skip(&r, "Tried to allocate "))
        if (rest_number(&r, &number) && r.end - r.at >= 4)
            log->refused_bytes = rest_bytes_of_gib(number * (memcmp(r.at, " GiB", 4) == 0   ? 1
                                                        : memcmp(r.at, " MiB", 4) == 0 ? 1.0 / 1024
                                                                                       : 1.0 / 1024 / 1024));
}

/* What the engine's first line says of the model: "Initializing a V1 LLM engine (v0.33.0) with config: ...". */
static void read_engine(struct server_log *log, struct rest r)
{
    if (!rest_skip(&r, "LLM engine (v"))
        return;
    const struct rest line = rest_line(&r);
    size_t n = 0;
    for (; n + 1 < sizeof log->version && line.at + n < line.end && line.at[n] != ')'; n++)
        log->version[n] = line.at[n];
    int64_t tensor = 1, pipeline = 1;
    (void)rest_count(line, "tensor_parallel_size=", &tensor);
    (void)rest_count(line, "pipeline_parallel_size=", &pipeline);
    if (tensor > 0 && tensor <= 4096 && pipeline > 0 && pipeline <= 4096)
        log->cards = tensor * pipeline;
    (void)rest_count(line, "max_cudagraph_capture_size': ", &log->largest_capture);
    struct rest eager = line;
    if (rest_skip(&eager, "enforce_eager=True"))
        log->largest_capture = 0;
    struct rest automatic = line, plain = line, prefixes = line;
    log->keeps_prefixes = rest_skip(&prefixes, "enable_prefix_caching=True");
    log->has_small_cache_type = !rest_skip(&automatic, "kv_cache_dtype=auto") ||
                                !rest_skip(&plain, "quantization=None");
}

/* "ValueError: no such thing", "torch._dynamo.exc.Unsupported: ...": a name of Python's that ends in Error or has a
 * module, here. Returns the text's length; 0: none. */
static size_t error_length(struct rest line)
{
    const char *at = line.at;
    bool has_module = false;
    for (; at < line.end && (isalnum((unsigned char)*at) || *at == '_' || *at == '.'); at++)
        has_module = has_module || (*at == '.' && at > line.at);
    const bool is_error = at - line.at >= 5 && memcmp(at - 5, "Error", 5) == 0;
    return (is_error || has_module) && at < line.end && *at == ':' ? (size_t)(line.end - line.at) : 0;
}

/* The engine writes its traceback line by line: "ERROR 11-28 08:17:57 [core.py:1584] ValueError: ...". */
static void read_error(struct server_log *log, struct rest r)
{
    while (log->error[0] == '\0' && rest_skip(&r, "core.py:")) {
        struct rest line = rest_line(&r);
        const size_t n = rest_skip(&line, "] ") ? error_length(line) : 0;
        if (n > 0)
            snprintf(log->error, sizeof log->error, "%.*s", (int)(n < 239 ? n : 239), line.at);
    }
}

/* What stands before a line of a process that is not the first: "(APIServer pid=12546) ". */
static struct rest without_process(struct rest line)
{
    struct rest after = line;
    const bool has_process = line.at < line.end && *line.at == '(' && rest_skip(&after, " pid=") &&
                             rest_skip(&after, ") ");
    return has_process ? after : line;
}

/* pydantic says what is wrong in a line after its error: "  Value error, max_num_seqs must be ... [type=value_error,
 * ...". The line itself if none of the next three is such. */
static struct rest line_of_cause(struct rest line, const char *end)
{
    struct rest at = { .at = line.end, .end = end };
    for (int i = 0; i < 3 && at.at < end; i++) {
        at.at++;
        struct rest cause = without_process(rest_line(&at));
        at.at = cause.end;
        while (cause.at < cause.end && *cause.at == ' ')
            cause.at++;
        struct rest after = cause;
        if (rest_skip(&after, " [type="))
            return (struct rest){ .at = cause.at, .end = after.at - strlen(" [type=") };
    }
    return line;
}

/* Whether Python ends with an error in this line: "ValueError: ...". */
static bool is_plain_error(struct rest line)
{
    const char *colon = line.at < line.end ? memchr(line.at, ':', (size_t)(line.end - line.at)) : NULL;
    return colon != NULL && colon - line.at >= 5 && memcmp(colon - 5, "Error", 5) == 0 && error_length(line) > 0;
}

/* A process that ends before there is an engine prints its traceback as Python does: its last error counts. */
static void read_plain_error(struct server_log *log, struct rest r)
{
    if (log->error[0] != '\0')
        return;
    while (r.at < r.end) {
        const struct rest line = without_process(rest_line(&r));
        struct rest words = line;
        if (is_plain_error(line)) {
            const struct rest told = rest_skip(&words, " validation error") ? line_of_cause(line, r.end) : line;
            const int n = told.end - told.at < 239 ? (int)(told.end - told.at) : 239;
            snprintf(log->error, sizeof log->error, "%.*s", n, told.at);
        }
        r.at = line.end < r.end ? line.end + 1 : r.end;
    }
}

static enum server_end read_end(struct rest r)
{
    return rest_has(r, READY)                                                  ? SERVER_IS_READY
         : rest_has(r, "on startup is less than")                              ? SERVER_SHARE_NOT_FREE
         : rest_has(r, "KV cache is needed, which is larger than")             ? SERVER_REQUEST_TOO_LONG
         : rest_has(r, "No available memory for the cache blocks")             ? SERVER_HAS_NO_CACHE
         : rest_has(r, "CUDA out of memory") || rest_has(r, "OutOfMemoryError") ? SERVER_WAS_REFUSED
                                                                                : SERVER_ENDED_OTHERWISE;
}

/* From 0.21 on the profiled peak that is told has the estimate of the graphs in it. */
static void settle_estimate(struct server_log *log, bool is_estimate_used)
{
    log->is_estimate_unused = log->graphs_estimated != SERVER_UNTOLD && !is_estimate_used;
    if (log->activations == SERVER_UNTOLD && log->profiled_peak != SERVER_UNTOLD)
        log->activations = log->profiled_peak - (is_estimate_used && log->graphs_estimated != SERVER_UNTOLD
                                                 ? log->graphs_estimated : 0);
}

static void read_vllm(struct rest all, struct server_log *out)
{
    out->end = read_end(all);
    read_engine(out, all);
    read_usages(out, all);
    read_request(out, all);
    read_profile(out, all);
    read_weights(out, all);
    read_graphs(out, all);
    read_equivalent(out, all);
    read_cache(out, all);
    read_given_cache(out, all);
    settle_given_cache(out, all);
    read_limits(out, all);
    read_too_long(out, all);
    read_error(out, all);
    out->has_mixed_layers = rest_has(all, "padding layers") || rest_has(all, "mamba page size") ||
                            rest_has(all, "Hybrid KV cache manager");
    out->has_latent_cache = out->has_mixed_layers || rest_has(all, "MLA attention backend") ||
                            rest_has(all, "MLA backend");
    settle_estimate(out, rest_has(all, "CUDA graph memory profiling is enabled"));
}

void server_log_read(const char *text, size_t n, int64_t total, struct server_log *out)
{
    const struct rest all = { .at = text, .end = text + n };
    *out = (struct server_log){
        .end = SERVER_ENDED_OTHERWISE, .total = total, .free_at_start = SERVER_UNTOLD, .share = SERVER_UNTOLD,
        .utilization = -1,
        .weights = SERVER_UNTOLD, .consumed = SERVER_UNTOLD, .activations = SERVER_UNTOLD,
        .profiled_peak = SERVER_UNTOLD, .graphs_estimated = SERVER_UNTOLD, .graphs_captured = SERVER_UNTOLD,
        .first_graph_estimated = SERVER_UNTOLD,
        .cache = SERVER_UNTOLD, .tokens = SERVER_UNTOLD, .request_tokens = SERVER_UNTOLD,
        .request_bytes = SERVER_UNTOLD, .longest_tokens = SERVER_UNTOLD, .refused_bytes = SERVER_UNTOLD,
        .largest_capture = SERVER_UNTOLD, .running_most = SERVER_UNTOLD, .step_tokens = SERVER_UNTOLD, .cards = 1,
        .free_after_weights = SERVER_UNTOLD, .left = SERVER_UNTOLD, .least_fraction = -1,
        .largest_prefill_capture = SERVER_UNTOLD,
    };
    if (sglang_log_is_such(all))
        sglang_log_fill(all, out);
    else
        read_vllm(all, out);
    read_refused(out, all);
    read_plain_error(out, all);
}

bool server_log_is_sglang(const char *text, size_t n)
{
    return sglang_log_is_such((struct rest){ .at = text, .end = text + n });
}

bool server_log_has_refusal(const char *text, size_t n)
{
    const struct rest all = { .at = text, .end = text + n };
    return rest_has(all, "CUDA out of memory") || rest_has(all, "OutOfMemoryError");
}

bool server_log_is_ready(const char *text, size_t n)
{
    const struct rest all = { .at = text, .end = text + n };
    return rest_has(all, READY) || (sglang_log_is_such(all) && rest_has(all, SGLANG_READY));
}
