/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Each kind of pool by the rules of its description, in figures that can be counted by hand. */
#include "replay/pools/kv_pool.h"

#include "base/random.h"

#include <criterion/criterion.h>

enum { HOLDS = 40, MIB = 1 << 20 };

/* 32 layers of 8 heads of 128 elements of two bytes: 128 KiB a token, 2 KiB for keys and as much for values a layer. */
static const struct kv_shape eight_billion = { .layers = 32, .layer_bytes = 4096, .block_tokens = 16,
                                               .page_bytes = 2 * MIB, .longest = 8192, .step_tokens = 8192 };

static struct kv_pool pool_named(const char *name, const struct kv_shape *shape, uint64_t mib, size_t n_ids)
{
    struct kv_pool p;
    struct err_detail err;
    const enum err e = kv_pool_open(kv_kind_named(name), shape, mib * MIB, n_ids, 512, HOLDS, &p, &err);
    cr_assert_eq(e, ERR_OK, "%s", err.text);
    kv_pool_empty(&p);
    return p;
}

static uint64_t mib_taken(const struct kv_pool *p)
{
    return kv_pool_taken(p) / MIB;
}

Test(kv_pool, contiguous_has_room_for_the_longest_request_from_the_first_token_on)
{
    struct kv_pool p = pool_named("contiguous", &eight_billion, 4096, 0);
    struct kv_hold h[5] = { { .number = 0 }, { .number = 1 }, { .number = 2 }, { .number = 3 }, { .number = 4 } };
    cr_expect(kv_pool_grow(&p, &h[0], 0, 1));
    cr_expect_eq(mib_taken(&p), 1024, "8,192 tokens of 128 KiB");
    cr_expect(kv_pool_grow(&p, &h[0], 1, 8192));
    cr_expect_eq(mib_taken(&p), 1024, "it grows into its own room");
    cr_expect_not(kv_pool_grow(&p, &h[1], 0, 8193), "none is longer");
    for (int i = 1; i < 4; i++)
        cr_expect(kv_pool_grow(&p, &h[i], 0, 1));
    cr_expect_not(kv_pool_grow(&p, &h[4], 0, 1), "four fit 4 GiB");
    kv_pool_close(&p);
}

/* "All previous blocks are filled": less than a block a request is lost. */
Test(kv_pool, blocks_lose_less_than_one_a_request)
{
    struct kv_pool p = pool_named("unshared", &eight_billion, 4096, 0);
    struct kv_hold h = { .number = 0 };
    for (uint64_t tokens = 1; tokens <= 100; tokens++) {
        cr_expect(kv_pool_grow(&p, &h, tokens - 1, tokens));
        const uint64_t lost = kv_pool_taken(&p) - kv_needed(&p.shape, tokens - 1, tokens);
        cr_expect_lt(lost, 16 * 128 * 1024, "%lu", (unsigned long)tokens);
    }
    cr_expect_eq(mib_taken(&p), 14, "7 blocks of 2 MiB");
    kv_pool_close(&p);
}

/* A page of 2 MiB holds the keys of 1,024 tokens of a layer, one of 64 KiB those of 32; each layer has two such
 * tensors. With half the heads it is twice as many. */
Test(kv_pool, mapped_pages_are_of_one_layer_and_one_tensor)
{
    struct kv_shape shape = eight_billion;
    struct kv_pool p = pool_named("mapped", &shape, 4096, 0);
    struct kv_hold h = { .number = 0 };
    cr_expect(kv_pool_grow(&p, &h, 0, 1));
    cr_expect_eq(mib_taken(&p), 128, "2 x 32 pages of 2 MiB");
    cr_expect(kv_pool_grow(&p, &h, 1, 1024));
    cr_expect_eq(mib_taken(&p), 128);
    cr_expect(kv_pool_grow(&p, &h, 1024, 1025));
    cr_expect_eq(mib_taken(&p), 256);
    kv_pool_give(&p, &h, NULL);
    cr_expect_eq(mib_taken(&p), 0);
    kv_pool_close(&p);
    shape.page_bytes = 64 << 10;
    shape.layer_bytes /= 2;
    p = pool_named("mapped", &shape, 4096, 0);
    h = (struct kv_hold){ .number = 0 };
    cr_expect(kv_pool_grow(&p, &h, 0, 64));
    cr_expect_eq(mib_taken(&p), 4);
    cr_expect(kv_pool_grow(&p, &h, 64, 65));
    cr_expect_eq(mib_taken(&p), 8);
    kv_pool_close(&p);
}

/* A block of 16 tokens has 32 KiB in each tensor: 64 blocks, 1,024 tokens, share a page in each of 64 tensors. */
Test(kv_pool, pages_of_kvcached_are_shared_and_go_with_their_last_block)
{
    struct kv_pool p = pool_named("kvcached", &eight_billion, 4096, 0);
    struct kv_hold a = { .number = 0 }, b = { .number = 1 };
    cr_expect(kv_pool_grow(&p, &a, 0, 512));
    cr_expect(kv_pool_grow(&p, &b, 0, 512));
    cr_expect_eq(mib_taken(&p), 128, "both lie in one");
    cr_expect(kv_pool_grow(&p, &a, 512, 513));
    cr_expect_eq(mib_taken(&p), 256);
    kv_pool_give(&p, &b, NULL);
    cr_expect_eq(mib_taken(&p), 256, "the first 512 tokens of the other are in it");
    cr_expect_eq(kv_pool_given(&p), UINT64_C(33) * 2 * MIB);
    cr_expect(kv_pool_grow(&p, &b, 0, 512));
    cr_expect_eq(mib_taken(&p), 256, "what is free in pages is used first");
    kv_pool_give(&p, &a, NULL);
    kv_pool_give(&p, &b, NULL);
    cr_expect_eq(mib_taken(&p), 0);
    kv_pool_close(&p);
}

Test(kv_pool, models_share_no_page_of_kvcached)
{
    struct kv_shape shape = eight_billion;
    shape.n_models = 2;
    struct kv_pool p = pool_named("kvcached", &shape, 256, 0);
    struct kv_hold a = { .number = 0, .model = 0 }, b = { .number = 1, .model = 1 }, c = { .number = 2, .model = 1 };
    cr_expect(kv_pool_grow(&p, &a, 0, 512));
    cr_expect(kv_pool_grow(&p, &b, 0, 512));
    cr_expect_eq(mib_taken(&p), 256);
    cr_expect(kv_pool_grow(&p, &c, 0, 512), "it is of the second model, whose page has room");
    cr_expect_not(kv_pool_grow(&p, &c, 512, 513));
    kv_pool_give(&p, &a, NULL);
    cr_expect(kv_pool_grow(&p, &c, 512, 1024), "the page of the first model became free");
    kv_pool_close(&p);
}

/* Layers in groups of two and three: blocks of 2 and 3 units, pages of 6, of which one holds three or two. */
static const struct kv_shape mixed = { .layers = 5, .window_layers = 3, .window = 64, .layer_bytes = 64 << 10,
                                       .block_tokens = 16, .page_bytes = 2 * MIB, .longest = 8192, .step_tokens = 512 };

Test(kv_pool, pages_of_jenga_are_the_least_common_multiple_of_its_blocks)
{
    struct kv_pool p = pool_named("jenga", &mixed, 60, 0);
    cr_expect_eq(p.pages.page_bytes, 6 * MIB);
    cr_expect_eq(p.pages.per_page[0], 3);
    cr_expect_eq(p.pages.per_page[1], 2);
    struct kv_hold a = { .number = 0 }, b = { .number = 1 };
    cr_expect(kv_pool_grow(&p, &a, 0, 16));
    cr_expect_eq(mib_taken(&p), 12, "a page for each kind of layer");
    cr_expect_eq(kv_pool_given(&p), 5 * MIB);
    cr_expect(kv_pool_grow(&p, &b, 0, 16));
    cr_expect_eq(mib_taken(&p), 24, "another request has pages of its own while there are any");
    cr_expect(kv_pool_grow(&p, &a, 16, 32));
    cr_expect_eq(mib_taken(&p), 24, "and its own are filled first");
    kv_pool_give(&p, &a, NULL);
    cr_expect_eq(mib_taken(&p), 12, "so they are free when it ends");
    kv_pool_close(&p);
}

Test(kv_pool, jenga_takes_others_pages_when_there_is_no_new_one)
{
    struct kv_pool p = pool_named("jenga", &mixed, 24, 0);
    struct kv_hold a = { .number = 0 }, b = { .number = 1 }, c = { .number = 2 };
    cr_expect(kv_pool_grow(&p, &a, 0, 16));
    cr_expect(kv_pool_grow(&p, &b, 0, 16));
    cr_expect_eq(mib_taken(&p), 24);
    cr_expect(kv_pool_grow(&p, &c, 0, 16), "both kinds of pages have room");
    kv_pool_give(&p, &a, NULL);
    kv_pool_give(&p, &b, NULL);
    cr_expect_eq(mib_taken(&p), 12, "one of each kind is held by the third request");
    cr_expect_eq(kv_pool_given(&p), 5 * MIB);
    kv_pool_close(&p);
}

/* A token looks back at itself and 63 others: 64 tokens lie in 5 blocks at most. */
Test(kv_pool, jenga_gives_back_what_no_window_looks_back_at)
{
    struct kv_pool p = pool_named("jenga", &mixed, 600, 0), other = pool_named("unshared", &mixed, 600, 0);
    struct kv_hold h = { .number = 0 }, whole = { .number = 0 };
    cr_expect(kv_pool_grow(&p, &h, 0, 512));
    cr_expect_eq(h.chains[1].n, 32, "all that one step computes is kept until its end");
    for (uint64_t done = 512; done < 600; done++)
        cr_expect(kv_pool_grow(&p, &h, done, done + 1));
    cr_expect_eq(h.chains[0].n, 38);
    cr_expect_eq(h.chains[1].n, 5, "tokens 536 to 599 are in blocks 33 to 37: %lu", (unsigned long)h.chains[1].n);
    cr_expect_eq(kv_pool_given(&p), (uint64_t)(38 * 2 + 5 * 3) * MIB);
    cr_expect(kv_pool_grow(&other, &whole, 599, 600));
    cr_expect_eq(kv_outdated(&other, 599, 600), (uint64_t)(600 - 64) * 3 * mixed.layer_bytes);
    cr_expect_eq(kv_outdated(&p, 599, 600), 0);
    kv_pool_close(&p);
    kv_pool_close(&other);
}

/* ---- prompts that begin alike ---- */

static const uint32_t ids[] = { 0, 1, 2 }, more_ids[] = { 0, 3, 4 };

Test(kv_pool, prompts_share_what_another_has_computed)
{
    struct kv_pool p = pool_named("paged", &eight_billion, 4096, 5);
    struct kv_hold a = { .number = 0 }, b = { .number = 1 }, c = { .number = 2 };
    cr_expect_eq(kv_pool_share(&p, &a, ids, 3, 1600), 0);
    cr_expect(kv_pool_grow(&p, &a, 0, 1600));
    cr_expect_eq(kv_pool_share(&p, &b, ids, 3, 1600), 0, "nothing is computed yet");
    kv_pool_computed(&p, &a, ids, 3, 1600, 1100);
    cr_expect_eq(kv_pool_share(&p, &b, ids, 3, 1600), 1024, "two whole ids are");
    cr_expect(kv_pool_grow(&p, &b, 1024, 1600));
    cr_expect_eq(mib_taken(&p), 200 + 72, "100 blocks of 2 MiB, and 36 of its own");
    cr_expect_eq(kv_pool_saved(&p), UINT64_C(1024) * 128 * 1024);
    cr_expect_eq(kv_pool_share(&p, &c, ids, 2, 1024), 512, "a prompt computes its last token");
    kv_pool_close(&p);
}

/* Of two requests that ended one after the other, the first one's last blocks go first. */
Test(kv_pool, the_prefix_unused_longest_goes_first)
{
    struct kv_pool p = pool_named("paged", &eight_billion, 512, 5);      /* 4,096 tokens: 8 ids */
    struct kv_hold a = { .number = 0 }, b = { .number = 1 }, c = { .number = 2 };
    cr_expect(kv_pool_grow(&p, &a, 0, 1536));
    kv_pool_computed(&p, &a, ids, 3, 1536, 1536);
    kv_pool_give(&p, &a, ids);
    cr_expect_eq(mib_taken(&p), 0, "nobody uses it: it is as good as free");
    cr_expect_eq(kv_pool_share(&p, &b, more_ids, 3, 1536), 512);
    cr_expect(kv_pool_grow(&p, &b, 512, 1536));
    kv_pool_computed(&p, &b, more_ids, 3, 1536, 1536);
    kv_pool_give(&p, &b, more_ids);
    cr_expect(kv_pool_grow(&p, &c, 0, 2048), "8 - 5 ids are free, and one goes");
    cr_expect_eq(p.prefixes.n_evicted, 1);
    cr_expect_not(p.prefixes.at[2].is_there);
    cr_expect(p.prefixes.at[1].is_there && p.prefixes.at[0].is_there && p.prefixes.at[4].is_there);
    kv_pool_close(&p);
}

/* ---- all kinds ---- */

struct state { struct kv_hold hold; uint64_t done, tokens, id_at; };

static void expect_sums(const struct kv_pool *p, const struct state *of, uint64_t memory)
{
    uint64_t needed = 0;
    for (size_t i = 0; i < HOLDS; i++)
        needed += of[i].tokens > 0 ? kv_needed(&p->shape, of[i].done, of[i].tokens) : 0;
    cr_assert_leq(needed - kv_pool_saved(p), kv_pool_given(p));
    cr_assert_leq(kv_pool_given(p), kv_pool_taken(p));
    cr_assert_leq(kv_pool_taken(p), memory);
}

static void step(struct kv_pool *p, struct state *s, uint64_t *random)
{
    static const uint32_t all_ids[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    const uint64_t r = random_next(random), more = 1 + r / 16 % 200;
    const uint32_t *at = all_ids + s->id_at;
    if (s->tokens > 0 && r % 8 == 0) {
        kv_pool_give(p, &s->hold, at);
        s->done = s->tokens = 0;
        return;
    }
    if (s->tokens == 0) {
        s->id_at = r / 4096 % 4;
        s->done = kv_pool_share(p, &s->hold, all_ids + s->id_at, 4, 1 << 20);
    } else {
        s->done = s->tokens;
        kv_pool_computed(p, &s->hold, at, 4, 1 << 20, s->done);
    }
    if (kv_pool_grow(p, &s->hold, s->done, s->done + more))
        s->tokens = s->done + more;
    else {                                                   /* as one that is preempted */
        kv_pool_give(p, &s->hold, all_ids + s->id_at);
        s->done = s->tokens = 0;
    }
}

Test(kv_pool, any_order_of_steps_keeps_what_is_needed_and_gives_all_back)
{
    for (size_t k = 0; kv_kind_at(k) != NULL; k++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            struct kv_shape shape = seed % 2 == 0 ? eight_billion : mixed;
            struct state of[HOLDS] = { { .done = 0 } };
            uint64_t random = seed;
            shape.n_models = seed % 2 == 0 ? 3 : 1;
            shape.page_bytes = seed % 3 == 0 ? 512 << 10 : 2 * MIB;
            struct kv_pool p = pool_named(kv_kind_name(kv_kind_at(k)), &shape, 900, 8);
            for (uint32_t i = 0; i < HOLDS; i++)
                of[i].hold = (struct kv_hold){ .number = i, .model = seed % 2 == 0 ? i % 3 : 0 };
            for (int i = 0; i < 20000; i++) {
                step(&p, &of[random_next(&random) % HOLDS], &random);
                expect_sums(&p, of, UINT64_C(900) * MIB);
            }
            for (size_t i = 0; i < HOLDS; i++)
                kv_pool_give(&p, &of[i].hold, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 6, 7 } + of[i].id_at);
            cr_expect_eq(kv_pool_taken(&p), 0, "%s, seed %lu", kv_kind_name(kv_kind_at(k)), (unsigned long)seed);
            cr_expect_eq(kv_pool_saved(&p), 0);
            kv_pool_close(&p);
        }
}
