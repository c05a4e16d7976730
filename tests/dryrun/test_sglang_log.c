/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What is read of an SGLang server's log, and what follows by arithmetic. */
#include "dryrun/sglang_budget.h"

#include "base/units.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct server_log read_text(const char *text)
{
    struct server_log log;
    server_log_read(text, strlen(text), SERVER_UNTOLD, &log);
    return log;
}

static int64_t of_gib(double gib)
{
    return (int64_t)(gib * (double)GIB);
}

/* Equal to the 0.01 GiB that a log prints. */
static void assert_gib(int64_t bytes, double gib)
{
    cr_assert_float_eq((double)bytes / (double)GIB, gib, 1e-6, "%f GiB, not %f", (double)bytes / (double)GIB, gib);
}

/* 32 layers, 8 heads of 128, 2 bytes: 128 KiB a token. A start of 0.5.23 on a card of 79.19 GiB, f = 0.84. */
#define BEFORE                                                                                                        \
    "[2026-11-29 02:32:45] server_args={'model_path': 'm', 'mem_fraction_static': 0.84, 'moe_tp_size': 3, "           \
    "'tp_size': 1, 'pp_size': 1, 'cuda_graph_max_bs_decode': None}\n"                                                 \
    "[2026-11-29 02:32:50] Load weight begin. avail mem=78.40 GB\n"                                                   \
    "[2026-11-29 02:32:59] Load weight end. elapsed=9.00 s, type=LlamaForCausalLM, avail mem=63.40 GB, mem "          \
    "usage=15.00 GB.\n"                                                                                               \
    "[2026-11-29 02:33:00] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 416624, K size: 25.43 GB, V size: " \
    "25.43 GB\n"                                                                                                      \
    "[2026-11-29 02:33:00] Memory pool end. avail mem=12.50 GB\n"                                                     \
    "[2026-11-29 02:33:01] Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail "        \
    "mem=12.40 GB\n"                                                                                                  \
    "[2026-11-29 02:33:09] Capture target decode CUDA graph end. bs=[1, 4, 256], elapsed=8 s, mem usage=0.60 GB, "   \
    "avail mem=11.80 GB.\n"

#define PREFILL                                                                                                       \
    "[2026-11-29 02:33:09] Capture target prefill CUDA graph begin. backend=breakable, num_tokens=[4, 8192], avail "  \
    "mem=11.80 GB\n"                                                                                                  \
    "[2026-11-29 02:33:19] Capture target prefill CUDA graph end. elapsed=9.9 s, mem usage=1.40 GB, avail mem=10.40 " \
    "GB.\n"

#define AFTER                                                                                                         \
    "[2026-11-29 02:33:19] max_total_num_tokens=416624, chunked_prefill_size=8192, max_prefill_tokens=16384, "        \
    "max_running_requests=4096, context_len=131072, available_gpu_mem=10.39 GB\n"                                     \
    "[2026-11-29 02:33:22] The server is fired up and ready to roll!\n"

#define READY BEFORE PREFILL AFTER
#define WITHOUT_PREFILL BEFORE AFTER

Test(sglang_log, a_start_adds_up)
{
    const struct server_log log = read_text(READY);
    cr_assert_eq(log.kind, SERVER_SGLANG);
    cr_assert_eq(log.end, SERVER_IS_READY);
    cr_assert(server_log_is_ready(READY, strlen(READY)));
    assert_gib(log.weights, 15.00);
    assert_gib(log.cache, 50.86);
    assert_gib(log.graphs_captured, 2.00);
    assert_gib(log.left, 10.39);
    cr_assert_eq(log.tokens, 416624);
    cr_assert_eq(log.request_tokens, 131072);
    cr_assert_eq(log.largest_capture, 256);
    cr_assert_eq(log.largest_prefill_capture, 8192);
    cr_assert_eq(log.cards, 1, "moe_tp_size is none of its cards");
    /* the cache is what is free after the weights, less (1 - f) of what was free before */
    cr_assert_float_eq((double)(log.free_after_weights - log.cache) / (double)GIB, (1 - 0.84) * 78.40, 0.02);
}

Test(sglang_budget, the_least_holds_one_request_and_the_most_needs_a_full_step)
{
    const struct server_log log = read_text(WITHOUT_PREFILL);
    struct server_budget b = server_budget_of(&log);
    cr_assert_float_eq(b.bytes_per_token, 131072, 300);
    cr_assert_float_eq(b.requests, 416624.0 / 131072, 1e-9);
    /* 16 GiB for a request and 0.46 for libraries instead of 50.86: 0.84 - 34.4 / 78.4 = 0.402 */
    cr_assert_float_eq(b.least_utilization, 0.41, 1e-9);
    cr_assert_eq(b.small_type_tokens, 2 * 416624);
    sglang_budget_add_peak(&log, of_gib(70.00), false, &b);
    cr_assert_eq(b.verdict, SERVER_FITS);
    cr_assert_lt(b.most_utilization, 0, "a full step takes more, and nobody asked for one");
    sglang_budget_add_peak(&log, of_gib(71.00), true, &b);
    /* 7.40 are unused, 0.46 + 1.85 + 0.01 are set aside: 0.84 + 5.08 / 78.4 = 0.9048 */
    cr_assert_float_eq(b.most_utilization, 0.90, 1e-9);
    cr_assert_geq(b.most_tokens, log.tokens);
}

Test(sglang_budget, what_a_card_may_take_and_has_no_room_for_leaves_it_open)
{
    const struct server_log log = read_text(WITHOUT_PREFILL);
    struct server_budget b = server_budget_of(&log);
    sglang_budget_add_peak(&log, of_gib(76.50), true, &b);
    cr_assert_eq(b.verdict, SERVER_MAY_FIT);
    cr_assert(b.is_share_too_large);
    cr_assert_lt(b.most_utilization, 0.84);
}

/* A server with such graphs died on a card, where here nothing stands in its way (sglang#39713). */
Test(sglang_budget, prefill_graphs_are_not_simulated_and_leave_it_open)
{
    const struct server_log log = read_text(READY);
    struct server_budget b = server_budget_of(&log);
    sglang_budget_add_peak(&log, of_gib(60.00), true, &b);
    cr_assert_eq(b.verdict, SERVER_MAY_FIT);
    cr_assert_lt(b.most_utilization, 0);
    cr_assert_gt(b.least_utilization, 0, "what the cache needs is known");
}

#define NO_CACHE                                                                                                      \
    "[2026-07-04 10:10:00 TP3] Load weight begin. avail mem=137.82 GB\n"                                              \
    "[2026-07-04 10:10:51 TP3] Load weight end. quant=fp8, fmt=e4m3, avail mem=11.80 GB, mem usage=126.02 GB.\n"      \
    "[2026-07-04 10:10:53 TP3] Scheduler hit an exception: Traceback (most recent call last):\n"

Test(sglang_budget, weights_that_leave_no_cache_need_a_larger_fraction)
{
    const struct server_log log = read_text(NO_CACHE "RuntimeError: Not enough memory. Please try to increase "
                                            "--mem-fraction-static.\n");
    cr_assert_eq(log.end, SERVER_HAS_NO_CACHE);
    /* 1 - 11.8 / 137.82 = 0.9144 */
    cr_assert_float_eq(server_budget_of(&log).least_utilization, 0.92, 1e-9);
    const struct server_log told = read_text(NO_CACHE "ValueError: Loaded weights leave no GPU "
    "memory for the KV cache "
                                             "under --mem-fraction-static=0.87. Raise "
                                             "--mem-fraction-static above 0.915 "
                                             "(minimum viable = 1 - available/pre = 0.9144).\n");
    cr_assert_eq(told.end, SERVER_HAS_NO_CACHE);
    cr_assert_float_eq(server_budget_of(&told).least_utilization, 0.92, 1e-9);
    cr_assert_eq(server_budget_of(&told).verdict, SERVER_FITS_NOT);
}

Test(sglang_log, a_capture_that_is_refused)
{
    const struct server_log log = read_text(
        "[2026-11-29 02:32:45 TP0] server_args=ServerArgs(model_path='m', mem_fraction_static=0.95, tp_size=2, "
        "pp_size=1)\n[2026-11-29 02:32:50 TP0] Load weight begin. avail mem=78.40 GB\n"
        "[2026-11-29 02:32:50 TP1] Load weight begin. avail mem=78.20 GB\n"
        "[2026-11-29 02:32:59 TP0] Load weight end. avail mem=70.90 GB, mem usage=7.50 GB.\n"
        "[2026-11-29 02:33:00 TP0] KV Cache is allocated. #tokens: 1096000, K size: 33.50 GB, V size: 33.50 GB\n"
        "[2026-11-29 02:33:00 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=3.80 GB\n"
        "[2026-11-29 02:33:00 TP0] Capture cuda graph bs [1, 2, 4, 8, 160]\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of\n");
    const struct server_budget b = server_budget_of(&log);
    cr_assert_eq(log.end, SERVER_WAS_REFUSED);
    cr_assert(log.is_capturing);
    cr_assert_not(log.has_phase_flags, "an older release has one flag for both");
    cr_assert_eq(log.cards, 2);
    cr_assert_eq(log.largest_capture, 160);
    assert_gib(log.free_at_start, 78.20);
    /* 0.95 - 2.01 / 78.2 = 0.9243 */
    cr_assert_float_eq(b.most_share_after_refusal, 0.92, 1e-9);
    cr_assert_eq(b.verdict, SERVER_FITS_NOT);
}

Test(sglang_log, a_draft_and_its_target_are_one_sum_of_a_process)
{
    const struct server_log log = read_text(
        "[2026-09-12 00:22:40 TP0] Load weight begin. avail mem=30.00 GB\n"
        "[2026-09-12 00:22:48 TP0] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: "
        "454112, K size: 3.46 GB, V "
        "size: 3.46 GB\n[2026-09-12 00:22:48 TP0] KV Cache is allocated. dtype: "
        "torch.float8_e4m3fn, #tokens: 454112, K "
        "size: 1.08 GB, V size: 1.08 GB\n"
        "[2026-09-12 00:22:48 TP1] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: "
        "454112, K size: 3.46 GB, V "
        "size: 3.46 GB\n[2026-09-12 00:22:48 TP1] KV Cache is allocated. dtype: "
        "torch.float8_e4m3fn, #tokens: 454112, K "
        "size: 1.08 GB, V size: 1.08 GB\n");
    assert_gib(log.cache, 9.08);
    cr_assert(log.has_small_cache_type);
    cr_assert_eq(server_budget_of(&log).small_type_tokens, SERVER_UNTOLD, "8 bits already");
}

Test(sglang_log, vllm_is_not_taken_for_it)
{
    cr_assert_eq(read_text("Available KV cache memory: 5.48 GiB\n").kind, SERVER_VLLM);
}

/* Every beginning of a log, and one of absurd figures. */
Test(sglang_log, any_text_is_read_without_harm)
{
    for (size_t n = 0; n <= strlen(READY); n++) {
        struct server_log log;
        char *copy = malloc(n + 1);
        memcpy(copy, READY, n);
        server_log_read(copy, n, SERVER_UNTOLD, &log);
        (void)server_budget_of(&log);
        free(copy);
    }
    struct server_log log = read_text(
        "server_args={'model_path': 'm', 'mem_fraction_static': 1e9, 'tp_size': "
        "999999999}\n[\n[]\n[2026-09-12 00:22:48 ]\n"
        "Load weight begin. avail mem=1e99 GB\nLoad weight end. avail mem=-999999999, mem usage=999999999\n"
        "Load weight end. avail mem=-999999999, mem usage=999999999\nKV Cache is allocated. #tokens: 1, KV size: "
        "999999999\nCapture graph begin.\nCapture graph end. bs=[");
    struct server_budget b = server_budget_of(&log);
    sglang_budget_add_peak(&log, of_gib(1e6), true, &b);
    cr_assert_lt(b.most_utilization, 1);
    cr_assert_eq(log.cards, 1);
}
