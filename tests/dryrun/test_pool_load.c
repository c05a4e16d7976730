/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Requests played against a pool of blocks: figures that can be counted by hand. */
#include "dryrun/pool_load.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* `n` requests, `apart` seconds from each other, of so many tokens. */
static struct pool_load play(const struct pool *pool, int n, double apart, int prompt, int answer)
{
    char path[] = "/tmp/pool-load-XXXXXX";
    struct pool_load out;
    struct err_detail err;
    FILE *f = fdopen(mkstemp(path), "w");
    fprintf(f, "arrived_at,num_prefill_tokens,num_decode_tokens\n");
    for (int i = 0; i < n; i++)
        fprintf(f, "%f,%d,%d\n", i * apart, prompt, answer);
    fclose(f);
    cr_assert_eq(pool_load_play(path, pool, &out, &err), ERR_OK, "%s", err.text);
    unlink(path);
    cr_assert(out.is_played);
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

/* 8 prompts of 192 tokens fill 96 of 100 blocks. Each begins a 13th block at once, and 4 are free: the last ones that
 * began make room. */
Test(pool_load, those_that_began_last_are_preempted)
{
    const struct pool_load l = play(&small, 8, 0, 192, 32);
    cr_expect_eq(l.play.running_peak, 8);
    cr_expect(l.play.n_preempted >= 1 && l.play.n_preempted <= 4, "%lu", (unsigned long)l.play.n_preempted);
    cr_expect_eq(l.play.peak_tokens, 1600);
    cr_expect_eq(l.play.n_waited, 0);
}

/* 20 at once, where 8 prompts fill the pool: the 9th waits, and others after it. */
Test(pool_load, those_for_whom_no_blocks_are_free_wait)
{
    const struct pool_load l = play(&small, 20, 0, 192, 2);
    cr_expect_eq(l.play.running_peak, 8);
    cr_expect_geq(l.play.n_waited, 2);
    cr_expect_eq(l.play.longest_wait_us, 40000, "two rounds of two steps each");
    cr_expect_lt(l.rate_most, 0, "all came at once, and no factor pulls them apart");
}

/* A request holds 100 of 100 blocks for ten steps of 10 ms: no more than ten a second pass without a wait. */
Test(pool_load, the_largest_rate_is_that_at_which_none_waits)
{
    const struct pool_load close = play(&small, 50, 0.01, 1590, 10), apart = play(&small, 50, 1, 1590, 10);
    cr_expect_gt(close.play.n_waited, 40);
    cr_expect_float_eq(close.rate_most, 10, 0.4, "%f", close.rate_most);
    cr_expect_eq(apart.play.n_waited, 0);
    cr_expect_float_eq(apart.rate_most, 10, 0.4, "%f", apart.rate_most);
}

Test(pool_load, a_pool_for_all_that_may_run_has_no_largest_rate)
{
    struct pool pool = small;
    pool.running_most = 4;
    const struct pool_load l = play(&pool, 30, 0.1, 100, 20);
    cr_expect(l.is_rate_unlimited);
    cr_expect_eq(l.play.n_waited + l.play.n_preempted, 0);
}

Test(pool_load, what_can_never_run_is_left_out)
{
    struct pool pool = small;
    cr_expect_eq(play(&pool, 3, 1, 1590, 20).n_too_long, 3, "more than the pool");
    pool.longest = 100;
    cr_expect_eq(play(&pool, 3, 1, 90, 20).n_too_long, 3, "more than a request may have");
    cr_expect_eq(play(&pool, 3, 1, 80, 20).n_too_long, 0);
}
