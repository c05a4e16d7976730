/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Small measurements that PyTorch's documentation and its users have published, told as they were made: a few tensors,
 * and what memory_allocated() and memory_reserved() said then.
 */
#include "tests/rig.h"

enum { TENSORS_MAX = 32 };

/* A fresh process on a card with room. */
struct session {
    struct rig rig;
    struct { uint64_t bytes; struct block block; } tensors[TENSORS_MAX];
    uint32_t n;
};

static void session_begin(struct session *s)
{
    *s = (struct session){.n = 0};
    rig_open(&s->rig, &(struct rig_config){.policy = "best-fit"});
}

static uint32_t make_tensor(struct session *s, uint64_t bytes)
{
    cr_assert_lt(s->n, TENSORS_MAX);
    s->tensors[s->n].bytes = bytes;
    cr_assert_eq(rig_alloc(&s->rig, s->n, 0, bytes, &s->tensors[s->n].block), ERR_OK);
    return s->n++;
}

static void delete_tensor(struct session *s, uint32_t tensor)
{
    rig_free(&s->rig, EVENT_FREE, tensor, 0, s->tensors[tensor].bytes, &s->tensors[tensor].block);
}

struct question {
    const char *key;
    int64_t     answer;
};

static void hear(void *arg, const char *key, int64_t value)
{
    struct question *q = arg;
    if (strcmp(key, q->key) == 0)
        q->answer = value;
}

static uint64_t ask(const struct session *s, const char *key)
{
    struct question q = {.key = key, .answer = -1};
    s->rig.policy->ops->stats(s->rig.policy, hear, &q);
    return (uint64_t)q.answer;
}

static uint64_t memory_allocated(const struct session *s)
{
    return ask(s, "allocated_bytes.all.current");
}

static uint64_t memory_reserved(const struct session *s)
{
    return ask(s, "reserved_bytes.all.current");
}

/* Makes tensors of these sizes and says what they occupy; *requested is the sum of the sizes. */
static uint64_t occupy(struct session *s, const uint64_t *bytes, size_t n, uint64_t *requested)
{
    const uint64_t before = memory_allocated(s), asked = ask(s, "requested_bytes.all.current");
    for (size_t i = 0; i < n; i++)
        make_tensor(s, bytes[i]);
    *requested = ask(s, "requested_bytes.all.current") - asked;
    return memory_allocated(s) - before;
}

Test(documented_numbers, a_tensor_of_4_bytes_takes_512_and_reserves_2_mib)
{
    struct session s;
    session_begin(&s);
    make_tensor(&s, 4);
    cr_expect_eq(memory_allocated(&s), 512);
    cr_expect_eq(memory_reserved(&s), 2 * MIB);
    rig_close(&s.rig);
}

Test(documented_numbers, a_tensor_of_43008000_bytes_takes_all_of_its_42_mib_segment)
{
    struct session s;
    session_begin(&s);
    make_tensor(&s, 43008000);
    cr_expect_eq(memory_allocated(&s), 42 * MIB);
    cr_expect_eq(memory_reserved(&s), 42 * MIB);
    rig_close(&s.rig);
}

Test(documented_numbers, tensors_of_4_and_16_mb_share_a_segment_that_goes_when_both_are_gone)
{
    struct session s;
    session_begin(&s);
    const uint32_t small = make_tensor(&s, 4 * MIB), large = make_tensor(&s, 16 * MIB);
    cr_expect_eq(memory_allocated(&s), 20971520);
    cr_expect_eq(memory_reserved(&s), 20971520);
    delete_tensor(&s, small);
    cr_expect_eq(memory_allocated(&s), 16777216);
    cr_expect_eq(memory_reserved(&s), 20971520);
    rig_flush(&s.rig);
    cr_expect_eq(memory_reserved(&s), 20971520, "half of the segment is still in use");
    delete_tensor(&s, large);
    cr_expect_eq(memory_reserved(&s), 20971520, "a cache keeps what it has");
    rig_flush(&s.rig);
    cr_expect_eq(memory_allocated(&s), 0);
    cr_expect_eq(memory_reserved(&s), 0);
    rig_close(&s.rig);
}

Test(documented_numbers, an_mlp_occupies_a_little_more_than_it_asks_for)
{
    static const uint64_t data[] = {120, 4000};
    static const uint64_t parameters[] = {3600, 1200, 360000, 1200, 480000, 1600, 480000, 1200, 120000, 400};
    static const uint64_t activations[] = {12000, 12000, 16000, 12000, 4000};
    struct session s;
    uint64_t requested;
    session_begin(&s);
    cr_expect_eq(occupy(&s, data, 2, &requested), 4608, "a batch of inputs, and its labels");
    cr_expect_eq(occupy(&s, parameters, 10, &requested), 1452544, "weights and biases");
    cr_expect_eq(requested, 1449200);
    cr_expect_eq(occupy(&s, activations, 5, &requested), 57344, "the forward pass");
    cr_expect_eq(memory_reserved(&s), 2 * MIB, "all of it shares one segment of small blocks");
    rig_close(&s.rig);
}

Test(documented_numbers, a_linear_layer_reserves_62_mib_once_its_product_was_computed)
{
    static const uint64_t layer[] = {40960, 40};
    struct session s;
    uint64_t requested;
    session_begin(&s);
    cr_expect_eq(occupy(&s, layer, 2, &requested), 41472);
    cr_expect_eq(memory_reserved(&s), 2 * MIB);
    make_tensor(&s, 40 * MIB);
    cr_expect_eq(memory_reserved(&s), 42 * MIB, "the input has a segment made to measure");
    make_tensor(&s, 409600);
    cr_expect_eq(memory_reserved(&s), 42 * MIB, "the output fits beside the weights");
    make_tensor(&s, 8519680);
    cr_expect_eq(memory_reserved(&s), 62 * MIB, "the workspace of cuBLAS brings a segment of 20 MiB");
    rig_close(&s.rig);
}
