/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Requests played against a pool of blocks: figures that can be counted by hand. */
#include "replay/pools/pool_load.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct pool_load play_file(const struct pool *pool, const char *head, const char *rows)
{
    char path[] = "/tmp/pool-load-XXXXXX";
    struct pool_load out;
    struct err_detail err;
    FILE *f = fdopen(mkstemp(path), "w");
    fprintf(f, "%s%s", head, rows);
    fclose(f);
    struct request_trace *requests;
    cr_assert_eq(pool_load_open(path, &requests, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(pool_load_play(requests, pool, &out, &err), ERR_OK, "%s", err.text);
    pool_load_close(requests);
    unlink(path);
    cr_assert(out.is_played);
    return out;
}

static struct pool_load play_rows(const struct pool *pool, const char *rows)
{
    return play_file(pool, "arrived_at,num_prefill_tokens,num_decode_tokens\n", rows);
}

/* `n` requests, `apart` seconds from each other, of so many tokens. */
static struct pool_load play(const struct pool *pool, int n, double apart, int prompt, int answer)
{
    char *rows = NULL;
    size_t bytes;
    FILE *f = open_memstream(&rows, &bytes);
    for (int i = 0; i < n; i++)
        fprintf(f, "%f,%d,%d\n", i * apart, prompt, answer);
    fclose(f);
    const struct pool_load out = play_rows(pool, rows);
    free(rows);
    return out;
}

static const struct pool small = { .tokens = 1600, .block_tokens = 16, .running_most = 64, .step_tokens = 4096,
                                   .step_us = 10000 };

Test(pool_load, one_request_takes_the_blocks_of_its_tokens)
{
    const struct pool_load l = play(&small, 1, 0, 100, 10);
    cr_expect_eq(l.play.peak_tokens, 112, "109 tokens are kept: 7 blocks of 16");
    cr_expect_eq(l.play.running_peak, 1);
    cr_expect_eq(l.play.n_waited + l.play.n_preempted, 0);
    cr_expect_float_eq(l.prompt, 100, 1e-9);
}

/* 8 prompts of 192 tokens fill 96 of 100 blocks. Each begins a 13th block in the second step, and 4 are free: the
 * last one that began makes room, and finds it when the others end with their 32nd step. */
Test(pool_load, those_that_began_last_are_preempted)
{
    const struct pool_load l = play(&small, 8, 0, 192, 32);
    cr_expect_eq(l.play.running_peak, 8);
    cr_expect_eq(l.play.n_preempted, 1, "%lu", (unsigned long)l.play.n_preempted);
    cr_expect_eq(l.play.peak_tokens, 1600);
    cr_expect_eq(l.play.n_waited, 1, "the one that was preempted");
    cr_expect_eq(l.play.longest_wait_us, 310000, "%lu", (unsigned long)l.play.longest_wait_us);
}

/* 20 at once, where 8 prompts fill the pool: 12 wait, though only two of them are ever the first in a queue that has no
 * room. */
Test(pool_load, all_who_stand_in_the_queue_of_a_full_cache_wait)
{
    const struct pool_load l = play(&small, 20, 0, 191, 2);
    cr_expect_eq(l.play.running_peak, 8);
    cr_expect_eq(l.play.n_preempted, 0);
    cr_expect_eq(l.play.n_waited, 12, "%lu", (unsigned long)l.play.n_waited);
    cr_expect_eq(l.play.longest_wait_us, 40000, "two rounds of two steps each");
    cr_expect_lt(l.rate_most, 0, "all came at once, and no factor pulls them apart");
    cr_expect_eq(l.limit, POOL_LIMIT_CACHE);
}

/* The first of three holds the pool for ten steps, and so does each: the others wait 99 and 198 ms. A fourth, which
 * comes when the pool is empty again, does not; nor does one that is too long for it. */
Test(pool_load, each_waits_from_its_arrival_and_is_counted_once)
{
    const struct pool_load l = play_rows(&small, "0,1590,10\n0.001,1590,10\n0.002,1590,10\n0.002,1590,20\n"
                                                 "1,1590,10\n");
    cr_expect_eq(l.n_too_long, 1);
    cr_expect_eq(l.play.n_waited, 2, "%lu", (unsigned long)l.play.n_waited);
    cr_expect_eq(l.play.longest_wait_us, 198000, "%lu", (unsigned long)l.play.longest_wait_us);
}

/* The same 20 where 8 run at once at most: they stand in the queue, but not for room. */
Test(pool_load, who_waits_for_a_seat_does_not_wait_for_room)
{
    struct pool pool = small;
    pool.running_most = 8;
    const struct pool_load l = play(&pool, 20, 0, 191, 2);
    cr_expect_eq(l.play.n_waited, 0);
    cr_expect_eq(l.limit, POOL_LIMIT_RUNNING);
}

/* A request holds 100 of 100 blocks for ten steps of 10 ms: no more than ten a second pass without a wait, but that the
 * last of the 50 may come a step early: 49 / 4.89. */
Test(pool_load, the_largest_rate_is_that_at_which_none_waits)
{
    const struct pool_load close = play(&small, 50, 0.01, 1590, 10), apart = play(&small, 50, 1, 1590, 10);
    cr_expect_gt(close.play.n_waited, 40);
    cr_expect_float_eq(close.rate_most, 10, 0.03, "%f", close.rate_most);
    cr_expect_eq(apart.play.n_waited, 0);
    cr_expect_float_eq(apart.rate_most, 10, 0.03, "%f", apart.rate_most);
}

/* Prompts of 1,040 tokens, of which an id stands for 512, fill 65 of 100 blocks. Two that come together find no room,
 * and the second waits; if it comes when the first has been computed, it finds 1,024 tokens of it there. */
Test(pool_load, prompts_that_begin_alike_share_blocks_if_the_pool_does)
{
    static const char rows[] =
        "{\"timestamp\": 0, \"input_length\": 1040, \"output_length\": 40, \"hash_ids\": [0, 1, 2]}\n"
        "{\"timestamp\": 100, \"input_length\": 1040, \"output_length\": 40, \"hash_ids\": [0, 1, 3]}\n";
    struct pool pool = small;
    const struct pool_load alone = play_file(&pool, "", rows);
    pool.shares_prompts = true;
    const struct pool_load shared = play_file(&pool, "", rows);
    cr_expect_eq(alone.play.n_waited, 1);
    cr_expect_eq(alone.play.shared_tokens, 0);
    cr_expect_eq(shared.play.n_waited, 0);
    cr_expect_eq(shared.play.shared_tokens, 1024, "%lu", (unsigned long)shared.play.shared_tokens);
    cr_expect_eq(shared.play.running_peak, 2);
}

/* An id of 512 tokens is whole blocks of 16, and not of 48. */
Test(pool_load, ids_that_blocks_do_not_divide_are_not_shared)
{
    char path[] = "/tmp/pool-load-XXXXXX";
    struct err_detail err;
    uint64_t id_tokens;
    FILE *f = fdopen(mkstemp(path), "w");
    fputs("{\"timestamp\": 0, \"input_length\": 1040, \"output_length\": 4, \"hash_ids\": [0, 1, 2]}\n", f);
    fclose(f);
    struct request_trace *requests;
    cr_assert_eq(pool_load_open(path, &requests, &err), ERR_OK, "%s", err.text);
    cr_expect(pool_load_can_share(requests, 16, &id_tokens));
    cr_expect_not(pool_load_can_share(requests, 48, &id_tokens));
    cr_expect_eq(id_tokens, 512);
    pool_load_close(requests);
    unlink(path);
}

Test(pool_load, a_pool_for_all_that_may_run_has_no_largest_rate)
{
    struct pool pool = small;
    pool.running_most = 4;
    const struct pool_load l = play(&pool, 30, 0.1, 100, 20);
    cr_expect_eq(l.limit, POOL_LIMIT_RUNNING);
    cr_expect_eq(l.play.n_waited + l.play.n_preempted, 0);
}

/* A step computes one prompt and a bit, and each ends with its second: two run, and the pool has room for 16. */
Test(pool_load, the_tokens_of_a_step_may_be_the_limit)
{
    struct pool pool = small;
    pool.step_tokens = 100;
    const struct pool_load l = play(&pool, 30, 0.1, 90, 2);
    cr_expect_eq(l.limit, POOL_LIMIT_STEP);
    cr_expect_lt(l.rate_most, 0);
}

/* 12 of 8 blocks each fit at once: it is not known what more of them would do, also if they come a day apart from each
 * other. */
Test(pool_load, too_few_requests_tell_no_largest_rate)
{
    cr_expect_eq(play(&small, 12, 0.1, 100, 20).limit, POOL_LIMIT_FILE);
    cr_expect_eq(play(&small, 12, 86400, 100, 20).limit, POOL_LIMIT_FILE);
    const struct pool_load l = play(&small, 40, 86400, 100, 20);
    cr_expect_eq(l.limit, POOL_LIMIT_CACHE);
    cr_expect_gt(l.rate_most, 1, "a request takes a fifth of a second: %f", l.rate_most);
}

/* Each grows from 1 block to 10 in 1.44 seconds. 12 that come together are too many, but a little apart all run at
 * once, since the file ends: the rate at which they do is not one that lasts. At one that does, 16 run, of 6 blocks. */
Test(pool_load, a_rate_that_only_the_end_of_the_file_allows_is_none)
{
    const struct pool_load few = play(&small, 12, 1, 16, 144), many = play(&small, 400, 1, 16, 144);
    cr_expect_eq(few.limit, POOL_LIMIT_FILE);
    cr_expect_lt(few.rate_most, 0);
    cr_expect_eq(many.limit, POOL_LIMIT_CACHE);
    cr_expect_float_eq(many.rate_most, 16 / 1.44, 0.3, "%f", many.rate_most);
}

/* Two of 100 and 10 tokens in ten seconds; what lies between cannot run. */
Test(pool_load, figures_are_of_the_requests_that_are_played)
{
    const struct pool_load l = play_rows(&small, "0,100,10\n4,9000,5000\n5,9000,5000\n10,100,10\n");
    cr_expect_eq(l.n_requests, 4);
    cr_expect_eq(l.n_too_long, 2);
    cr_expect_float_eq(l.prompt, 100, 1e-9);
    cr_expect_float_eq(l.answer, 10, 1e-9);
    cr_expect_float_eq(l.rate, 0.1, 1e-9);
}

/* A prompt of no tokens, or an answer of none, is no request: it neither runs nor counts as one. */
Test(pool_load, rows_with_0_tokens_are_left_out_and_counted)
{
    const struct pool_load l = play_rows(&small, "0,0,0\n0,100,10\n1,0,7\n4,100,0\n10,100,10\n");
    cr_expect_eq(l.n_empty, 3);
    cr_expect_eq(l.n_requests, 2);
    cr_expect_eq(l.n_too_long, 0);
    cr_expect_float_eq(l.rate, 0.1, 1e-9);
}

/* ---- several models on one card ---- */

/* Pages of one block, as many as `small` has. */
static struct pool of_models(const char *kind, uint64_t turn_s)
{
    struct pool pool = small;
    pool.kind = kv_kind_named(kind);
    pool.shape = (struct kv_shape){ .layers = 1, .layer_bytes = 2, .block_tokens = 16, .page_bytes = 16,
                                    .longest = 1600, .step_tokens = small.step_tokens, .n_models = 2 };
    pool.bytes = small.tokens * 2;
    pool.n_models = 2;
    pool.turn_us = turn_s * 1000000;
    return pool;
}

/* 8 prompts of 191 tokens, all for one model: it has 50 of 100 blocks, room for 4, or all. */
Test(pool_load, a_model_that_alone_is_asked_has_the_whole_card_if_pages_are_common)
{
    const struct pool split = of_models("unshared", 10), common = of_models("kvcached", 10);
    const struct pool_load halves = play(&split, 8, 0, 191, 2), whole = play(&common, 8, 0, 191, 2);
    cr_expect_eq(halves.play.running_peak, 4, "%lu", (unsigned long)halves.play.running_peak);
    cr_expect_eq(halves.play.n_waited, 4);
    cr_expect_eq(whole.play.running_peak, 8);
    cr_expect_eq(whole.play.n_waited, 0);
    const struct pool each = of_models("unshared", 0);
    cr_expect_eq(play(&each, 8, 0, 191, 2).play.running_peak, 8, "4 for each model");
}

/* The first model's four requests of 12 blocks outgrow its 50 with their second step. The other's begins meanwhile. */
Test(pool_load, a_model_that_is_short_of_room_stops_no_other)
{
    const struct pool split = of_models("unshared", 0);
    const struct pool_load l = play_rows(&split, "0,192,3\n0,10,1\n0,192,3\n0,10,1\n0,192,3\n0,10,1\n0,192,3\n"
                                                 "0.005,10,2\n");
    cr_expect_eq(l.play.n_preempted, 1, "%lu", (unsigned long)l.play.n_preempted);
    cr_expect_eq(l.play.n_waited, 1, "the one that was preempted: %lu", (unsigned long)l.play.n_waited);
}

/* The first holds the card for ten steps of 10 ms; the other model was asked after 1 ms, and takes 50 ms to wake. A
 * third request, of the first model again, came later: it does not begin before. */
Test(pool_load, a_model_that_sleeps_wakes_when_the_other_has_ended)
{
    struct pool pool = of_models("sleep", 0);
    pool.wake_us = 50000;
    const struct pool_load l = play_rows(&pool, "0,1000,10\n0.001,1000,10\n0.002,100,10\n");
    cr_expect_eq(l.play.n_wakes, 2);
    cr_expect_eq(l.play.running_peak, 1);
    cr_expect_eq(l.play.n_waited, 2);
    cr_expect_eq(l.play.longest_wait_us, 298000, "%lu", (unsigned long)l.play.longest_wait_us);
}

/* Two requests in each model's turn; they end in it. */
Test(pool_load, a_model_that_is_asked_for_some_time_wakes_once)
{
    const struct pool pool = of_models("sleep", 10);
    const struct pool_load l = play(&pool, 6, 5, 100, 10);
    cr_expect_eq(l.play.n_wakes, 2, "%lu", (unsigned long)l.play.n_wakes);
}

/* Any load ends, with all requests answered, however little there is. */
Test(pool_load, models_that_share_a_small_card_come_to_an_end)
{
    for (size_t k = 0; kv_kind_at(k) != NULL; k++) {
        struct pool pool = of_models(kv_kind_name(kv_kind_at(k)), 0);
        pool.shape.longest = 800;
        const struct pool_load l = play(&pool, 60, 0.001, 300, 450);
        cr_expect_eq(l.n_requests - l.n_too_long, 60, "%s", kv_kind_name(kv_kind_at(k)));
        cr_expect_gt(l.play.n_steps, 450);
    }
}

Test(pool_load, what_can_never_run_is_left_out)
{
    struct pool pool = small;
    cr_expect_eq(play(&pool, 3, 1, 1590, 20).n_too_long, 3, "more than the pool");
    pool.longest = 100;
    cr_expect_eq(play(&pool, 3, 1, 90, 20).n_too_long, 3, "more than a request may have");
    cr_expect_eq(play(&pool, 3, 1, 80, 20).n_too_long, 0);
}
