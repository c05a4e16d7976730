/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Policies in brackets: how they are typed, and what flows between two of them. */
#include "policies/parts/heap.h"
#include "tests/rig.h"

#include <stdlib.h>

/* The error of a text that must not be read. */
static struct err_detail refusal_of(const char *text)
{
    struct policy_spec spec;
    struct err_detail err = {.text = ""};
    cr_assert_eq(policy_spec_parse(text, &spec, &err), ERR_USAGE, "'%s' was read", text);
    return err;
}

Test(upstream, a_policy_is_named_in_brackets_with_its_options)
{
    struct policy_spec spec;
    struct err_detail err = {.text = ""};
    const char *text = "rmm-limiting:limit=1GiB,upstream=[rmm-pool:initial=2MiB,upstream=[mxnet:type=round]]";
    cr_assert_eq(policy_spec_parse(text, &spec, &err), ERR_OK, "%s", err.text);
    const struct policy_choice *pool = spec.values[1].choice;
    cr_assert_not_null(pool);
    cr_expect_str_eq(pool->ops->name, "rmm-pool");
    cr_expect_eq(pool->values[0].number, 2 * MIB);
    cr_assert_not_null(pool->values[4].choice);
    cr_expect_str_eq(pool->values[4].choice->ops->name, "mxnet");
    cr_expect_str_eq(pool->values[4].choice->values[0].text, "round");
    policy_spec_close(&spec);
}

Test(upstream, brackets_may_be_left_out_and_none_is_the_device)
{
    static const struct {
        const char *text, *name;
    } cases[] = {{"rmm-limiting:upstream=cupy", "cupy"}, {"rmm-limiting:upstream=[cupy]", "cupy"},
                 {"rmm-limiting:upstream=[none]", NULL}, {"rmm-limiting:upstream=none", NULL}, {"rmm-limiting", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct policy_spec spec;
        struct err_detail err = {.text = ""};
        cr_assert_eq(policy_spec_parse(cases[i].text, &spec, &err), ERR_OK, "%s: %s", cases[i].text, err.text);
        const struct policy_choice *choice = spec.values[1].choice;
        cr_expect_eq(choice == NULL, cases[i].name == NULL, "%s", cases[i].text);
        cr_expect(choice == NULL || strcmp(choice->ops->name, cases[i].name) == 0);
        policy_spec_close(&spec);
    }
}

Test(upstream, a_mistake_in_brackets_is_shown_at_its_place_in_the_whole)
{
    const char *text = "rmm-binning:min-exp=8,max-exp=9,upstream=[rmm-pool:initail=1GiB]";
    struct err_detail err = refusal_of(text);
    cr_expect_eq(err.offset, (uint64_t)(strstr(text, "initail") - text), "%llu", (unsigned long long)err.offset);
    cr_expect_not_null(strstr(err.text, "did you mean 'initial'"), "%s", err.text);
    err = refusal_of("cupy:upstream=[cupi]");
    cr_expect_not_null(strstr(err.text, "did you mean 'cupy'"), "%s", err.text);
    err = refusal_of("rmm-fixed:upstream=[cupy:upstream=[cupy:upstream=[cupy:upstream=[cupy:upstream=[cupy:upstream=["
                     "cupy:upstream=[cupy:upstream=[cupy:upstream=[cupy]]]]]]]]]");
    cr_expect_not_null(strstr(err.text, "policies in brackets"), "%s", err.text);
}

Test(upstream, code_in_brackets_is_code)
{
    static const char *const codes[] = {"./mine.so", "rmm-pool:upstream=[./mine.so]", "rmm-pool:upstream=mine.so:x=1",
                                        "rmm-pool:upstream=[cupy:limit=1GiB,upstream=[/x/mine]]",
                                        "rmm-pool:upstream=[x,/mine.so]", "rmm-pool:upstream=[a]/mine.so]",
                                        "rmm-pool:upstream=[b,.so]"};
    static const char *const others[] = {"rmm-pool:upstream=[cupy:limit=1GiB]",
                                         "max_split_size_mb:128,roundup_power2_divisions:[64:8,>:1]"};
    struct policy_spec spec;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        cr_expect_eq(policy_spec_parse_foreign(codes[i], &spec, NULL), ERR_UNSUPPORTED, "%s", codes[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cr_expect_eq(policy_spec_parse_foreign(others[i], &spec, NULL), ERR_OK, "%s", others[i]);
        policy_spec_close(&spec);
    }
}

static void note_key(void *arg, const char *key, int64_t value)
{
    char *keys = arg;
    (void)value;
    snprintf(keys + strlen(keys), 200 - strlen(keys), "%s ", key);
}

Test(upstream, counters_of_both_come_in_one_order)
{
    struct rig r;
    char keys[200] = "";
    rig_open(&r, &(struct rig_config){.policy = "rmm-pool:upstream=[rmm-limiting:upstream=[cupy]]"});
    r.policy->ops->stats(r.policy, note_key, keys);
    cr_expect_str_eq(keys, "free_bytes limit_used n_free_blocks pool_size total_bytes used_bytes ");
    rig_close(&r);
}

Test(upstream, a_limit_below_a_pool_refuses_what_the_pool_asks_for)
{
    struct rig r;
    struct block a, b;
    rig_open(&r, &(struct rig_config){.policy = "rmm-pool:upstream=[rmm-limiting:limit=3MiB]"});
    cr_expect_eq(rig_alloc(&r, 0, 0, 2 * MIB, &a), ERR_OK);
    cr_expect_eq(rig_alloc(&r, 1, 0, 2 * MIB, &b), ERR_DEVICE_OOM);
    cr_expect_eq(rig_alloc(&r, 1, 0, 1 * MIB, &b), ERR_OK);
    rig_check(&r);
    rig_close(&r);
}

/* What was refused at the start is refused for good, and nothing is left on the card. */
Test(upstream, an_upstream_that_is_refused_its_start_refuses_the_policy_above)
{
    struct rig r;
    struct block b;
    uint64_t bytes;
    rig_open(&r, &(struct rig_config){.policy = "cupy:upstream=[rmm-pool:initial=1GiB]", .total_bytes = 512 * MIB});
    cr_expect(policy_is_refused(r.policy, &bytes));
    cr_expect_eq(bytes, 1 * GIB);
    cr_expect_eq(rig_alloc(&r, 0, 0, 1, &b), ERR_DEVICE_OOM);
    cr_expect_eq(r.device->usage.reserved_bytes, 0);
    rig_close(&r);
}

static void note_views(void *arg, const struct block_view *b)
{
    uint64_t *sums = arg;
    sums[b->state] += b->bytes;
}

/* A range: pieces touch if they fill their pages, and a block may lie across two of them. */
Test(upstream, regions_that_touch_coalesce)
{
    struct rig r;
    struct block a, b;
    uint64_t sums[4] = {0};
    rig_open(&r, &(struct rig_config){.policy = "tf-bfc:gc=off,coalesce-regions,limit=1GiB"});
    cr_assert_eq(rig_alloc(&r, 0, 0, 1 * MIB, &a), ERR_OK);
    cr_assert_eq(rig_alloc(&r, 1, 0, 4 * MIB, &b), ERR_OK, "1 MiB of the first region and 3 of the second");
    cr_expect_eq(b.addr, a.addr + a.bytes);
    cr_expect_eq(b.segment, a.segment);
    cr_expect_eq(r.device->usage.reserved_bytes, 6 * MIB);
    cr_assert_eq(r.policy->ops->walk(r.policy, note_views, sums), ERR_OK);
    cr_expect_eq(sums[BLOCK_ALLOCATED] + sums[BLOCK_FREE], 6 * MIB);
    cr_expect_eq(sums[BLOCK_UNMAPPED], 1 * GIB - 6 * MIB);
    rig_check(&r);
    rig_close(&r);
}

Test(upstream, a_start_is_a_share_of_the_card_and_what_is_added_ends_with_it)
{
    struct rig r;
    struct block a, b;
    rig_open(&r, &(struct rig_config){.policy = "tf-bfc:gc=off,start=0.75", .total_bytes = 1 * GIB});
    cr_assert_eq(rig_alloc(&r, 0, 0, 1 * MIB, &a), ERR_OK);
    cr_expect_eq(r.device->usage.reserved_bytes, 768 * MIB, "as little as it is");
    cr_assert_eq(rig_alloc(&r, 1, 0, 700 * MIB, &a), ERR_OK);
    cr_expect_eq(r.device->usage.reserved_bytes, 768 * MIB);
    cr_assert_eq(rig_alloc(&r, 2, 0, 200 * MIB, &b), ERR_OK);
    cr_expect_eq(r.device->usage.reserved_bytes, 1 * GIB, "all that there is");
    cr_expect_eq(rig_alloc(&r, 3, 0, 90 * MIB, &b), ERR_DEVICE_OOM, "67 MiB are free below, and 56 above");
    rig_check(&r);
    rig_close(&r);
}

/* ---- heaps ---- */

static struct policy_config bare_config(struct device *device)
{
    static const struct stream_name streams[1];
    static const struct pool_name pools[1];
    return (struct policy_config){.device = device, .streams = streams, .n_streams = 1, .pools = pools, .n_pools = 1};
}

/* Adds up what is shown of the blocks of a heap. */
static void sum_block(void *arg, const struct block_view *b)
{
    struct block_view *sum = arg;
    sum->bytes += b->bytes;
    sum->requested += b->state == BLOCK_ALLOCATED ? b->requested : 0;
}

Test(upstream, a_heap_gives_back_exactly_what_it_took)
{
    struct err_detail err = {.text = ""};
    const struct device_config cfg = device_defaults();
    const struct option_value no_choice = {.choice = NULL};
    struct device *device;
    struct upstream u;
    struct heap h;
    uint32_t pieces[3];
    cr_assert_eq(device_open(&device_sim, &cfg, &device, &err), ERR_OK);
    const struct policy_config config = bare_config(device);
    cr_assert_eq(upstream_open(&u, &config, &no_choice, &err), ERR_OK);
    cr_assert_eq(heap_open(&h, &u, 0), ERR_OK);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(heap_grow(&h, (i + 1) * MIB, 0, &pieces[i]), ERR_OK);
    heap_give_back(&h, pieces[1]);
    cr_expect_eq(h.held_bytes, 4 * MIB);
    cr_expect_eq(device->usage.reserved_bytes, 4 * MIB);
    cr_assert_eq(heap_grow(&h, 5 * MIB, 0, &pieces[1]), ERR_OK);
    cr_expect_eq(h.pieces[heap_at(&h, pieces[1])->segment].serial, 3, "the fourth piece");
    cr_expect_eq(h.n_pieces, 3, "the place of the piece that was given back is used again");
    struct block_view shown = {.bytes = 0};
    struct block taken;
    const struct heap *heaps[] = {&h};
    heap_take(&h, pieces[1], 100, &taken);
    cr_assert_eq(heaps_walk(heaps, 1, sum_block, &shown), ERR_OK);
    cr_expect_eq(shown.bytes, 9 * MIB);
    cr_expect_eq(shown.requested, 100, "what was asked for, not what the piece has");
    cr_expect_eq(heap_check(&h, "test", &err), ERR_OK, "%s", err.text);
    heap_at(&h, pieces[0])->flags &= (uint8_t)~BLOCK_IS_USED;
    cr_expect_eq(heap_check(&h, "test", &err), ERR_CORRUPT, "a block that was dropped is in a chain");
    heap_at(&h, pieces[0])->flags |= BLOCK_IS_USED;
    struct piece *first = &h.pieces[heap_at(&h, pieces[0])->segment];
    first->block = pieces[2];
    cr_expect_eq(heap_check(&h, "test", &err), ERR_CORRUPT, "a piece knows another one's block");
    first->block = pieces[0];
    heap_at(&h, pieces[0])->size -= 512;
    cr_expect_eq(heap_check(&h, "test", &err), ERR_CORRUPT, "a gap is not seen");
    heap_close(&h);
    upstream_close(&u);
    device_close(device);
}

/* ---- waits ---- */

struct call_counts {
    uint64_t n[DEVICE_CALL_KINDS];
};

static void note_call(void *arg, const struct device_call *c)
{
    ((struct call_counts *)arg)->n[c->kind]++;
}

Test(upstream, waits_and_synchronisations_are_calls_with_a_price)
{
    struct rig r;
    struct block a, b;
    struct call_counts counts = {{0}};
    const struct device_log log = {.call = note_call, .arg = &counts};
    rig_open(&r, &(struct rig_config){.policy = "rmm-pool"});
    r.device->log = &log;
    cr_assert_eq(rig_alloc(&r, 0, 1, 4 * MIB, &a), ERR_OK);
    rig_free(&r, EVENT_FREE, 0, 1, 4 * MIB, &a);
    const uint64_t before = r.device->usage.time_ns;
    cr_assert_eq(rig_alloc(&r, 0, 2, 4 * MIB, &b), ERR_OK);
    cr_expect_eq(b.addr, a.addr, "memory of stream 1 for stream 2");
    cr_expect_eq(counts.n[DEVICE_CALL_WAIT_EVENT], 1);
    cr_expect_eq(r.device->usage.waits, 1);
    cr_expect_eq(r.device->usage.time_ns - before, r.device->cfg.wait_ns);
    device_stream_sync(r.device);
    device_sync(r.device);
    cr_expect_eq(r.device->usage.syncs, 2);
    cr_expect_eq(r.device->usage.time_ns - before, r.device->cfg.wait_ns + 2 * r.device->cfg.sync_ns);
    r.device->log = NULL;
    rig_close(&r);
}

Test(upstream, a_flush_of_one_stream_leaves_the_others)
{
    struct rig r;
    struct block a, b;
    rig_open(&r, &(struct rig_config){.policy = "cupy"});
    cr_assert_eq(rig_alloc(&r, 0, 1, 4 * MIB, &a), ERR_OK);
    cr_assert_eq(rig_alloc(&r, 1, 2, 2 * MIB, &b), ERR_OK);
    rig_free(&r, EVENT_FREE, 0, 1, 4 * MIB, &a);
    rig_free(&r, EVENT_FREE, 1, 2, 2 * MIB, &b);
    r.policy->ops->flush(r.policy, 1);
    cr_expect_eq(r.device->usage.reserved_bytes, 2 * MIB);
    r.policy->ops->flush(r.policy, POLICY_ALL_STREAMS);
    cr_expect_eq(r.device->usage.reserved_bytes, 0);
    rig_close(&r);
}
