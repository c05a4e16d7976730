/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What is read of a vLLM server's log, and what follows by arithmetic. Figures are of public logs, named at each. */
#include "dryrun/server_budget.h"

#include "base/units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server_log read_text(const char *text)
{
    struct server_log log;
    server_log_read(text, strlen(text), SERVER_UNTOLD, &log);
    return log;
}

/* Equal to the 0.01 GiB that a log prints. */
static void assert_gib(int64_t bytes, double gib)
{
    cr_assert_float_eq((double)bytes / (double)GIB, gib, 1e-6, "%f GiB, not %f", (double)bytes / (double)GIB, gib);
}

/* A Llama 3.1 8B on an H100 of 79.19 GiB with vLLM 0.19.0, as a planner's accuracy report prints it (llm-d). */
#define LLAMA_0_19                                                                                                     \
    "INFO [core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: model='m', dtype=torch.bfloat16, "         \
    "tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, kv_cache_dtype=auto\n"                       \
    "INFO Model loading took 14.99 GiB memory and 14.429680 seconds\n"                                                \
    "INFO Available KV cache memory: 58.11 GiB\n"                                                                     \
    "INFO GPU KV cache size: 476,016 tokens\n"                                                                        \
    "INFO Maximum concurrency for 8,192 tokens per request: 58.11x\n"                                                 \
    "INFO CUDA graph pool memory: 0.91 GiB (actual), 0.84 GiB (estimated), difference: 0.07 GiB (7.7%).\n"             \
    "INFO Free memory on device (78.55/79.19 GiB) on startup. Desired GPU memory utilization is (0.95, 75.23 GiB). "   \
    "Actual usage is 14.99 GiB for weight, 1.89 GiB for peak activation, 0.25 GiB for non-torch memory, and 0.91 GiB " \
    "for CUDAGraph memory.\n"                                                                                         \
    "INFO init engine (profile, create kv cache, warmup model) took 30.0 seconds\n"

Test(server_log, a_start_of_0_19_adds_up)
{
    const struct server_log log = read_text(LLAMA_0_19);
    cr_assert_eq(log.end, SERVER_IS_READY);
    cr_assert_str_eq(log.version, "0.19.0");
    assert_gib(log.weights, 14.99);
    assert_gib(log.consumed, 15.24);
    assert_gib(log.activations, 1.89);
    assert_gib(log.graphs_captured, 0.91);
    assert_gib(log.graphs_estimated, 0.84);
    cr_assert(log.is_estimate_unused, "0.19 takes its estimate off only if it is asked to");
    cr_assert_eq(log.tokens, 476016);
    cr_assert_eq(log.request_tokens, 8192);
    /* its cache is what is left of the share, to the rounding of four figures */
    cr_assert_float_eq((double)(log.share - log.consumed - log.activations - log.cache) / (double)GIB, 0, 0.02);
}

Test(server_budget, a_token_takes_what_the_model_says)
{
    /* 32 layers, 8 heads of keys and of values, 128 wide, 2 bytes */
    const struct server_log log = read_text(LLAMA_0_19);
    const struct server_budget b = server_budget_of(&log);
    cr_assert_float_eq(b.bytes_per_token, 32.0 * 2 * 8 * 128 * 2, 15);
    cr_assert_float_eq(b.requests, 58.11, 0.005);
    cr_assert_eq(b.verdict, SERVER_FITS);
    cr_assert_eq(b.small_type_tokens, 952032, "as the same report measured with fp8");
}

/* The same start on the simulated card, before libraries and the driver: what the card had is in the range. */
Test(server_budget, the_cache_of_the_card_is_in_the_range)
{
    const struct server_log log = read_text(
        "Available KV cache memory: 58.35 GiB\nGPU KV cache size: 478,032 tokens\nMaximum concurrency for 8,192\n"
        "CUDA graph pool memory: 0.37 GiB (actual), 0.35 GiB (estimated)\nFree memory on device (78.46/79.19 GiB) on "
        "startup. Desired GPU memory utilization is (0.95, 75.23 GiB).\n"
        "init engine (profile, create kv cache, warmup model) took 30.0 seconds\n");
    const struct server_budget b = server_budget_of(&log);
    cr_assert(b.tokens_least <= 476016 && 476016 <= log.tokens);
    /* 0.91 GiB came on top of the share there: with 0.98 of the card more would be held than was free */
    cr_assert_leq(b.most_utilization * 79.19 + 0.91, 78.46);
}

Test(server_budget, the_token_of_a_qwen3_0_6b)
{
    /* 28 layers, 8 heads, 128 wide, 2 bytes: a public log of a DGX Spark with vLLM 0.27.1 */
    const struct server_log log = read_text("Available KV cache memory: 69.4 GiB\nGPU KV cache size: 649,728 tokens\n");
    cr_assert_float_eq(server_budget_of(&log).bytes_per_token, 28.0 * 2 * 8 * 128 * 2, 10);
}

Test(server_log, a_start_of_0_33_has_the_graphs_in_its_peak)
{
    const struct server_log log = read_text(
        "CUDA graph memory profiling is enabled (default since v0.21.0).\n"
        "CUDA graph pool memory: 0.24 GiB (actual), 0.41 GiB (estimated), difference: 0.17 GiB (72.1%).\n"
        "Free memory on device (79.16/79.19 GiB) on startup. Desired GPU memory utilization is (0.92, 72.85 GiB). "
        "Actual usage is 1.56 GiB for consumed memory (weights + non-torch), 1.19 GiB for peak activation, and 0.24 "
        "GiB for CUDAGraph memory.\nAvailable KV cache memory: 70.1 GiB\n");
    cr_assert_not(log.is_estimate_unused);
    assert_gib(log.activations, 0.78);
    assert_gib(log.consumed, 1.56);
    cr_assert_float_eq((double)(log.share - log.consumed - log.activations - log.graphs_estimated - log.cache) /
                       (double)GIB, 0, 0.02);
}

Test(server_log, several_processes_the_one_with_least_counts)
{
    const struct server_log log = read_text(
        "LLM engine (v0.33.0) with config: tensor_parallel_size=2, pipeline_parallel_size=3, quantization=None, "
        "kv_cache_dtype=auto\n(TP0) Available KV cache memory: 17.79 GiB\n"
        "(TP1) Available KV cache memory: 17.73 GiB\n");
    cr_assert_eq(log.cards, 6);
    assert_gib(log.cache, 17.73);
}

#define TOO_LONG                                                                                                       \
    "Initial free memory: 23.1 GiB; Requested memory: 0.900000 (util), 21.28 GiB\n"                                   \
    "Available KV cache memory: 5.48 GiB\n"                                                                           \
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.0 GiB KV cache is needed, " \
    "which is larger than the available KV cache memory (5.48 GiB). Based on the available memory, the estimated "     \
    "maximum model length is 44880. Try increasing `gpu_memory_utilization` or decreasing `max_model_len`\n"

Test(server_budget, a_request_that_is_too_long_gets_no_advice_that_cannot_work)
{
    const struct server_log log = read_text("LLM engine (v0.13.0) with config: quantization=None, kv_cache_dtype=auto\n"
                                            "Free memory on device (23.1/23.64 GiB) on startup.\n" TOO_LONG);
    const struct server_budget b = server_budget_of(&log);
    cr_assert_eq(log.end, SERVER_REQUEST_TOO_LONG);
    cr_assert_eq(b.verdict, SERVER_FITS_NOT);
    cr_assert_eq(log.longest_tokens, 44880);
    cr_assert_lt(b.least_utilization, 0, "16 GiB and what is before them are more than the card");
    cr_assert_not(b.small_type_starts, "8 GiB are more than 5.48");
}

/* What vLLM 0.33.0 says of a Llama 3.1 8B on a simulated RTX 4090: the estimate of the graphs stands in the shares. */
Test(server_log, the_estimate_of_a_start_that_fails)
{
    static const char text[] =
        "Initial free memory: 23.16 GiB; Requested memory: 0.920000 (util), 21.75 GiB\n"
        "Graph capturing finished in 1 secs, took 0.10 GiB\n"
        "The current --gpu-memory-utilization=0.9200 is equivalent to --gpu-memory-utilization=0.9125 without CUDA "
        "graph memory profiling. CUDA graph memory profiling is enabled\nNo available memory for the cache blocks\n";
    struct server_log log;
    server_log_read(text, sizeof text - 1, (int64_t)(24 * GIB), &log);
    cr_assert_float_eq((double)log.graphs_estimated / (double)GIB, 0.18, 0.001);
    cr_assert_eq(log.graphs_captured, SERVER_UNTOLD);
    cr_assert_not(log.is_estimate_unused);
}

/* The line after pydantic's error says what is wrong; its input and the pointer to a page do not. */
Test(server_log, the_cause_of_an_error_of_validation)
{
    const struct server_log log = read_text(
        "(APIServer pid=7) pydantic_core._pydantic_core.ValidationError: 1 validation error for SchedulerConfig\n"
        "(APIServer pid=7)   Value error, max_num_batched_tokens (4096) must be greater than or equal to max_num_seqs "
        "(5376). [type=value_error, input_value=ArgsKwargs((), {}), input_type=ArgsKwargs]\n"
        "    For further information visit https://example.org/v/value_error\n");
    cr_assert_str_eq(log.error, "Value error, max_num_batched_tokens (4096) must be greater than or equal to "
                                "max_num_seqs (5376).");
    const struct server_log bare = read_text("ValidationError: 2 validation errors for X\n");
    cr_assert_str_eq(bare.error, "ValidationError: 2 validation errors for X");
}

/* The largest of the kinds: its warm-up computes a whole step. */
Test(server_log, the_first_graph_of_the_estimate)
{
    const struct server_log log = read_text(
        "Estimated PIECEWISE CUDA graph memory: 64.00 MiB first-capture + (7-1) \xc3\x97 1.00 MiB per-graph\n"
        "Estimated FULL CUDA graph memory: 4096.00 MiB first-capture + (5-1) \xc3\x97 12.00 MiB per-graph\n"
        "Estimated CUDA graph memory: 4.11 GiB total\n");
    cr_assert_float_eq((double)log.first_graph_estimated / (double)GIB, 4.0, 1e-6);
    cr_assert_float_eq((double)log.graphs_estimated / (double)GIB, 4.11, 1e-6);
}

Test(server_budget, a_larger_share_is_advised_if_it_is_enough)
{
    const struct server_log log = read_text(
        "LLM engine (v0.33.0) with config: quantization=None, kv_cache_dtype=auto\n"
        "Free memory on device (78.4/79.19 GiB) on startup.\n"
        "Initial free memory: 78.4 GiB; Requested memory: 0.300000 (util), 23.76 GiB\n"
        "max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory (5.5 "
        "GiB).\n");
    const struct server_budget b = server_budget_of(&log);
    cr_assert_float_eq(b.least_utilization, 0.44, 1e-9);             /* (23.76 - 5.5 + 16 + 0.47) / 79.19, up */
    cr_assert_geq(b.most_utilization, 0.97);
}

Test(server_budget, what_is_left_of_a_close_fit_may_be_taken_by_libraries)
{
    const struct server_log log = read_text(
        "Available KV cache memory: 1.1 GiB\nGPU KV cache size: 9,011 tokens\nMaximum concurrency for 8,192 tokens per "
        "request: 1.1x\ninit engine (profile, create kv cache, warmup model) took 3 s\n");
    cr_assert_eq(server_budget_of(&log).verdict, SERVER_MAY_FIT);
}

Test(server_log, an_error_before_the_engine_is_the_last_one_of_python)
{
    const struct server_log log = read_text(
        "OSError: one that was caught\n(APIServer pid=12546)   File \"processor.py\", line 1048, in __init__\n"
        "(APIServer pid=12546) ValueError: it requires a tokenizer.\n"
        "(APIServer pid=12546) DEBUG 11-28 12:40:54 [contextlib.py:469] [shutdown] HfRenderer\nnot an Error of it\n");
    cr_expect_str_eq(log.error, "ValueError: it requires a tokenizer.");
}

Test(server_log, how_a_start_ends)
{
    static const struct { const char *text; enum server_end end; enum server_verdict verdict; } rows[] = {
        { "", SERVER_ENDED_OTHERWISE, SERVER_FITS_UNKNOWN },
        { "ImportError: no module", SERVER_ENDED_OTHERWISE, SERVER_FITS_UNKNOWN },
        { "init engine (profile, create kv cache, warmup model) took 1 s", SERVER_IS_READY, SERVER_FITS },
        { "Available KV cache memory: -1.23 GiB\nValueError: No available memory for the cache blocks. Try",
          SERVER_HAS_NO_CACHE, SERVER_FITS_NOT },
        { "Free memory on device cuda:0 (9.43/23.64 GiB) on startup is less than desired GPU memory utilization (0.9, "
          "21.28 GiB).", SERVER_SHARE_NOT_FREE, SERVER_FITS_NOT },
        { "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.40 GiB.", SERVER_WAS_REFUSED,
          SERVER_FITS_NOT },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct server_log log = read_text(rows[i].text);
        cr_assert_eq(log.end, rows[i].end, "%s", rows[i].text);
        cr_assert_eq(server_budget_of(&log).verdict, rows[i].verdict, "%s", rows[i].text);
    }
}

/* A start of 0.19 that fails tells its figures at the level DEBUG alone. */
Test(server_log, a_profile_of_0_19)
{
    const struct server_log log = read_text(
        "Memory profiling takes 17.96 seconds. Total non KV cache memory: 17.12GiB; torch peak memory increase: "
        "1.89GiB; non-torch forward increase memory: 0.25GiB; weights memory: 14.99GiB.\n");
    assert_gib(log.activations, 1.89);
    cr_assert_float_eq((double)log.consumed / (double)GIB, 14.99 + 0.25, 0.02);
}

Test(server_log, what_an_engine_ended_in)
{
    const struct server_log log = read_text(
        "(EngineCore pid=1) ERROR 11-28 09:10:28 [v1/engine/core.py:1108]   File \"llama.py\", line 412, in forward\n"
        "(EngineCore pid=1) ERROR 11-28 09:10:28 [v1/engine/core.py:1108] torch._dynamo.exc.Unsupported: a call\n"
        "(EngineCore pid=1) ERROR 11-28 09:10:28 [v1/engine/core.py:1108] RuntimeError: after it\n"
        "(APIServer pid=2) RuntimeError: Engine core initialization failed.\n");
    cr_assert_str_eq(log.error, "torch._dynamo.exc.Unsupported: a call");
}

/* Every prefix of a log, and a log with odd bytes in it, is read within its length. */
Test(server_log, no_number_is_too_large_to_add_up)
{
    const struct server_log log = read_text(
        "INFO Free memory on device (999999999999/999999999999 GiB) on startup. Desired GPU memory utilization is "
        "(999999999999, 999999999999 GiB).\nTried to allocate 999999999999 GiB\n"
        "INFO Available KV cache memory: -999999999 GiB\n");
    cr_assert_eq(log.refused_bytes, log.total);
    cr_assert_gt(log.total + log.share + log.free_at_start - log.cache, 0);
}

Test(server_log, any_bytes_are_read)
{
    char bytes[sizeof LLAMA_0_19];
    struct server_log log;
    for (size_t n = 0; n < sizeof LLAMA_0_19; n++) {
        char *copy = malloc(n + 1);
        memcpy(copy, LLAMA_0_19, n);
        server_log_read(copy, n, SERVER_UNTOLD, &log);
        memcpy(bytes, LLAMA_0_19, sizeof bytes);
        bytes[n] = (char)0xff;
        server_log_read(bytes, sizeof bytes - 1, SERVER_UNTOLD, &log);
        (void)server_budget_of(&log);
        free(copy);
    }
    server_log_read("Available KV cache memory: 1e999 GiB\nGPU KV cache size: 99999999999999999999 tokens\n", 80,
                    SERVER_UNTOLD, &log);
    (void)server_budget_of(&log);
}

/* A share above the most that has room is no promise, and the most itself is one: the two figures agree. */
Test(server_budget, a_share_above_the_most_that_has_room_may_start)
{
    static const char *const shares[] = { "0.95, 75.23", "0.96, 76.02", "0.99, 78.40" };
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "Available KV cache memory: 58.35 GiB\nGPU KV cache size: 478,032 tokens\n"
                 "CUDA graph pool memory: 0.91 GiB (actual), 0.35 GiB (estimated)\nFree memory on device "
                 "(78.55/79.19 GiB) on startup. Desired GPU memory utilization is (%s GiB).\n"
                 "init engine (profile, create kv cache, warmup model) took 30.0 seconds\n", shares[i]);
        const struct server_log log = read_text(text);
        const struct server_budget b = server_budget_of(&log);
        cr_expect_float_eq(b.most_utilization, 0.95, 1e-9, "%f", b.most_utilization);
        cr_expect_eq(b.verdict, i == 0 ? SERVER_FITS : SERVER_MAY_FIT, "%s", shares[i]);
        cr_expect_eq(b.is_share_too_large, i > 0);
    }
}

/* vLLM 0.33.0 with --kv-cache-memory-bytes 3300M on a card of 4 GiB. */
Test(server_budget, a_cache_of_a_given_size_leaves_libraries_what_is_beside_it)
{
    const struct server_log log = read_text(
        "Initial free memory 4.0 GiB, reserved 3.22 GiB memory for KV Cache as specified by kv_cache_memory_bytes "
        "config and skipped memory profiling.\nGPU KV cache size: 1,689,600 tokens\n"
        "init engine (profile, create kv cache, warmup model) took 30.0 seconds\n");
    const struct server_budget b = server_budget_of(&log);
    cr_assert(log.is_cache_given);
    assert_gib(log.free_at_start, 4.0);
    cr_assert_eq(b.cache_least, log.cache, "libraries take nothing of it");
    cr_assert_lt(b.most_utilization, 0, "there is no share");
    cr_assert_not(server_leaves_too_little(&log, (int64_t)(3.5 * GIB)));
    cr_assert(server_leaves_too_little(&log, (int64_t)(3.55 * GIB)), "0.45 GiB are left, and libraries took 0.46");
}

/* 500M as vLLM 0.33.0 tells them: rounded, and to the byte among its arguments. A peak that was not seen is at least
 * what is told. */
Test(server_budget, a_cache_of_a_given_size_is_known_to_the_byte)
{
    struct server_log log = read_text(
        "non-default args: {'model_tag': 'm', 'kv_cache_memory_bytes': 524288000, 'enforce_eager': True}\n"
        "Initial free memory: 4.0 GiB; Requested memory: 0.920000 (util), 3.68 GiB\n"
        "Model loading took 1.25 GiB memory and 3 seconds\nInitial free memory 4.0 GiB, reserved 0.49 GiB memory for "
        "KV Cache as specified by kv_cache_memory_bytes config\nGPU KV cache size: 73,136 tokens\n"
        "init engine (profile, create kv cache, warmup model) took 30.0 seconds\n");
    const struct server_budget b = server_budget_of(&log);
    cr_expect_eq(log.cache, 524288000);
    cr_expect_float_eq(b.bytes_per_token, 7 * 1024, 1e-9, "%f", b.bytes_per_token);
    cr_expect(log.share == SERVER_UNTOLD && log.utilization < 0, "there is no share");
    cr_expect_eq(server_taken(&log, 0), log.weights + log.cache);
    cr_expect_eq(server_taken(&log, (int64_t)(3 * GIB)), (int64_t)(3 * GIB));
    log = read_text("non-default args: {'kv_cache_memory_bytes': 524288000}\nInitial free memory 4.0 GiB, reserved "
                    "0.98 GiB memory for KV Cache as specified by kv_cache_memory_bytes config\n");
    assert_gib(log.cache, 0.98);                             /* another process's argument */
}

/* What was refused beside the cache fits if the cache is smaller by as much; before there is one nothing follows. */
Test(server_budget, a_refused_request_has_room_if_the_cache_is_smaller_by_it)
{
    static const char refused[] = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB.\n";
    char text[1024];
    snprintf(text, sizeof text, "Initial free memory 4.0 GiB, reserved 3.5 GiB memory for KV Cache as specified by "
             "kv_cache_memory_bytes config\n%s", refused);
    struct server_log log = read_text(text);
    struct server_budget b = server_budget_of(&log);
    assert_gib(b.most_cache_given, 2.99);                    /* what is told is rounded */
    cr_assert_lt(b.most_share_after_refusal, 0);
    snprintf(text, sizeof text, "Initial free memory: 78.4 GiB; Requested memory: 0.980000 (util), 77.61 GiB\n"
             "Available KV cache memory: 58.11 GiB\n%s", refused);
    server_log_read(text, strlen(text), (int64_t)(79.19 * GIB), &log);
    b = server_budget_of(&log);
    cr_assert_float_eq(b.most_share_after_refusal, 0.97, 1e-9);      /* (77.61 - 0.51) / 79.19, down */
    cr_assert_eq(b.most_cache_given, 0);
    log = read_text(refused);
    b = server_budget_of(&log);
    cr_assert(b.most_share_after_refusal < 0 && b.most_cache_given == 0);
}
