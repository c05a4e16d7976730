/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The contract of a policy: what holds for every built-in, every preset and some settings, whatever they decide.
 *
 * Random programs come from a small generator. Its seed is printed, and repeats a failure.
 */
#include "tests/model.h"

#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct criterion_test_params specs(bool with_keepers)
{
    static size_t index[64];                /* values only: each case is a new process */
    char spec[RIG_SPEC_MAX];
    size_t n = 0;
    for (size_t i = 0; i < 64 && rig_spec_at(i, spec); i++)
        if (with_keepers || !rig_keeps_memory(spec))
            index[n++] = i;
    return cr_make_param_array(size_t, index, n);
}

static struct criterion_test_params every_spec(void)
{
    return specs(true);
}

/* ---- a random program ---- */

struct drive {
    struct rig   rig;
    struct model model;
    struct policy_observer observer;
    uint64_t     random;
    uint64_t     digest;                    /* of every answer */
    uint64_t     n_refused;
};

/* xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016). */
static uint64_t drive_random(struct drive *d, uint64_t below)
{
    d->random ^= d->random >> 12;
    d->random ^= d->random << 25;
    d->random ^= d->random >> 27;
    return (d->random * UINT64_C(2685821657736338717) >> 16) % below;
}

/* Sizes over all magnitudes, every other one at the edge of a power of two. */
static uint64_t drive_size(struct drive *d)
{
    const uint64_t power = UINT64_C(1) << drive_random(d, 27);
    if (drive_random(d, 2) == 0)
        return power + drive_random(d, power);
    return power + drive_random(d, 3) - (power > 1);
}

static void drive_digest(struct drive *d, uint64_t value)
{
    d->digest = (d->digest ^ value) * UINT64_C(1099511628211);
}

/* The policy ended a pending free by itself. */
static void drive_completed(void *arg, uint32_t slot)
{
    struct drive *d = arg;
    cr_assert_lt(slot, RIG_SLOTS);
    cr_assert_eq(d->model.slots[slot].state, MODEL_PENDING, "slot %u was ended and was not pending", slot);
    d->model.slots[slot].state = MODEL_VACANT;
}

static void drive_open(struct drive *d, size_t index, uint64_t total_bytes, uint64_t fail_from_call, uint64_t seed)
{
    char spec[RIG_SPEC_MAX];
    memset(d, 0, sizeof *d);
    cr_assert(rig_spec_at(index, spec));
    rig_open(&d->rig, &(struct rig_config){.policy = spec, .total_bytes = total_bytes,
                                           .fail_from_call = fail_from_call, .seed = seed});
    d->observer = (struct policy_observer){.completed = drive_completed, .arg = d};
    d->rig.policy->observer = &d->observer;
    d->random = seed * 2 + 1;
}

static void drive_close(struct drive *d)
{
    rig_close(&d->rig);
}

static void drive_alloc(struct drive *d, uint32_t slot)
{
    const uint64_t bytes = drive_size(d);
    const uint16_t stream = (uint16_t)drive_random(d, RIG_STREAMS);
    struct block b;
    const enum err e = rig_alloc(&d->rig, slot, stream, bytes, &b);
    drive_digest(d, e);
    if (e != ERR_OK) {
        cr_assert_eq(e, ERR_DEVICE_OOM, "alloc of %llu: %s", (unsigned long long)bytes, err_name(e));
        d->n_refused++;
        return;
    }
    drive_digest(d, b.addr);
    drive_digest(d, b.bytes);
    d->model.slots[slot].state = MODEL_LIVE;
    d->model.slots[slot].block = b;
    d->model.slots[slot].requested = bytes;
    d->model.slots[slot].stream = stream;
    model_expect_placed(&d->model, d->rig.device, slot);
}

static void drive_release(struct drive *d, uint32_t slot, enum event_kind kind)
{
    const struct block b = d->model.slots[slot].block;
    d->model.slots[slot].state = kind == EVENT_FREE_REQUESTED ? MODEL_PENDING : MODEL_VACANT;
    rig_free(&d->rig, kind, slot, d->model.slots[slot].stream, d->model.slots[slot].requested, &b);
}

/* Another thread goes on, or the program waits for a stream or for all: a policy that knows neither says so, and does
 * not fail. */
static void drive_control(struct drive *d)
{
    const struct control c = {.kind = drive_random(d, 2) == 0 ? CONTROL_THREAD : CONTROL_WAIT,
                              .stream = (uint16_t)drive_random(d, RIG_STREAMS), .number = (double)drive_random(d, 2)};
    const struct policy_ops *ops = d->rig.policy->ops;
    struct err_detail err = {.text = ""};
    const enum err e = ops->control == NULL ? ERR_UNSUPPORTED : ops->control(d->rig.policy, &c, NULL, &err);
    cr_assert(e == ERR_OK || e == ERR_UNSUPPORTED, "%s: %s", err_name(e), err.text);
}

static void drive_step(struct drive *d)
{
    const uint32_t slot = (uint32_t)drive_random(d, RIG_SLOTS);
    const bool is_retired = drive_random(d, 4) == 0;
    switch (d->model.slots[slot].state) {
    case MODEL_VACANT:
        drive_alloc(d, slot);
        break;
    case MODEL_LIVE:
        drive_release(d, slot, is_retired ? EVENT_FREE_REQUESTED : EVENT_FREE);
        break;
    case MODEL_PENDING:
        drive_release(d, slot, EVENT_FREE_COMPLETED);
        break;
    }
    if (drive_random(d, 300) == 0)
        rig_flush(&d->rig);
    if (drive_random(d, 100) == 0)
        drive_control(d);
}

static void drive_free_all(struct drive *d)
{
    for (uint32_t slot = 0; slot < RIG_SLOTS; slot++)
        if (d->model.slots[slot].state == MODEL_LIVE)
            drive_release(d, slot, EVENT_FREE);
        else if (d->model.slots[slot].state == MODEL_PENDING)
            drive_release(d, slot, EVENT_FREE_COMPLETED);
}

/* ---- what walk() shows ---- */

struct walk {
    const struct drive *drive;
    uint64_t end;                           /* of the last block */
    uint64_t bytes;                         /* with memory behind them */
    uint32_t n_taken;                       /* shown as allocated or pending */
    uint64_t largest_free;
};

static void walk_note(void *arg, const struct block_view *b)
{
    struct walk *w = arg;
    const struct device *device = w->drive->rig.device;
    cr_assert_lt(b->segment, device->n_segments);
    const struct segment_state *s = &device->segments[b->segment];
    cr_assert_geq(b->addr, w->end, "blocks out of order, or over one another");
    cr_assert_gt(b->bytes, 0);
    cr_assert(b->addr >= s->addr && b->addr + b->bytes <= s->addr + s->bytes, "a block outside its segment");
    w->end = b->addr + b->bytes;
    w->bytes += b->state == BLOCK_UNMAPPED ? 0 : b->bytes;
    w->n_taken += b->state == BLOCK_ALLOCATED || b->state == BLOCK_PENDING;
    if (b->state == BLOCK_FREE && b->bytes > w->largest_free)
        w->largest_free = b->bytes;
}

static void expect_walk(const struct drive *d)
{
    const struct policy *p = d->rig.policy;
    struct walk w = {.drive = d};
    uint32_t n_taken = 0;
    if (p->ops->walk == NULL)
        return;
    cr_assert_eq(p->ops->walk(p, walk_note, &w), ERR_OK);
    for (uint32_t i = 0; i < RIG_SLOTS; i++)
        n_taken += d->model.slots[i].state != MODEL_VACANT;
    cr_assert_eq(w.bytes, d->rig.device->usage.reserved_bytes, "the blocks do not make up what is reserved");
    cr_assert_eq(w.n_taken, n_taken);
    cr_assert_eq(w.largest_free, policy_largest_free(p));
}

/* ---- the contract ---- */

ParameterizedTestParameters(policies, a_refused_request_changes_nothing)
{
    return every_spec();
}
ParameterizedTest(size_t *index, policies, a_refused_request_changes_nothing)
{
    struct drive d;
    struct block b = {.addr = 1, .bytes = 2, .segment = 3, .cookie = 4};
    drive_open(&d, *index, 0, 1, 1);        /* the device refuses from the 1st call on */
    cr_expect_eq(rig_alloc(&d.rig, 0, 0, 1 * MIB, &b), ERR_DEVICE_OOM);
    cr_expect(b.addr == 1 && b.bytes == 2 && b.segment == 3 && b.cookie == 4);
    cr_expect_eq(d.rig.device->usage.reserved_bytes, 0);
    rig_check(&d.rig);
    drive_close(&d);
}

ParameterizedTestParameters(policies, live_blocks_never_overlap)
{
    return every_spec();
}
ParameterizedTest(size_t *index, policies, live_blocks_never_overlap)
{
    const uint64_t seeds[] = {11, 12, 13}, totals[] = {0, 512 * MIB, 2 * GIB};
    for (size_t i = 0; i < 3; i++) {
        struct drive d;
        printf("seed %llu, %llu bytes\n", (unsigned long long)seeds[i], (unsigned long long)totals[i]);
        drive_open(&d, *index, totals[i], 0, seeds[i]);
        for (int step = 0; step < 3000; step++) {
            drive_step(&d);
            rig_check(&d.rig);
            model_expect_reserved(&d.model, d.rig.device);
            if (step % 16 == 0)
                expect_walk(&d);
        }
        cr_expect(totals[i] != 512 * MIB || d.n_refused > 0, "the small device was meant to be full at times");
        drive_close(&d);
    }
}

ParameterizedTestParameters(policies, a_device_that_refuses_from_any_call_on_leaves_all_consistent)
{
    return every_spec();
}
ParameterizedTest(size_t *index, policies, a_device_that_refuses_from_any_call_on_leaves_all_consistent)
{
    for (uint64_t nth = 1; nth <= 24; nth++) {
        struct drive d;
        printf("seed %llu, refused from call %llu on\n", (unsigned long long)nth, (unsigned long long)nth);
        drive_open(&d, *index, 0, nth, nth);
        for (int step = 0; step < 200; step++) {
            drive_step(&d);
            rig_check(&d.rig);
            model_expect_reserved(&d.model, d.rig.device);
        }
        expect_walk(&d);
        drive_close(&d);                    /* with blocks live: AddressSanitizer sees what is left */
    }
}

/* Of those that give back all memory when they are flushed. */
ParameterizedTestParameters(policies, what_is_freed_and_flushed_is_no_longer_reserved)
{
    return specs(false);
}
ParameterizedTest(size_t *index, policies, what_is_freed_and_flushed_is_no_longer_reserved)
{
    struct drive d;
    drive_open(&d, *index, 4 * GIB, 0, 21);
    for (int step = 0; step < 2000; step++)
        drive_step(&d);
    drive_free_all(&d);
    rig_flush(&d.rig);
    rig_check(&d.rig);
    cr_expect_eq(d.rig.device->usage.reserved_bytes, 0);
    cr_expect_eq(policy_largest_free(d.rig.policy), 0);
    drive_close(&d);
}

/* The number of blocks of a size that fit. */
static uint32_t fill(struct drive *d, uint64_t bytes)
{
    uint32_t n = 0;
    for (; n < RIG_SLOTS; n++) {
        struct block b;
        if (rig_alloc(&d->rig, n, 0, bytes, &b) != ERR_OK)
            break;
        d->model.slots[n].state = MODEL_LIVE;
        d->model.slots[n].block = b;
        d->model.slots[n].requested = bytes;
        model_expect_placed(&d->model, d->rig.device, n);
    }
    return n;
}

ParameterizedTestParameters(policies, freed_memory_is_reusable)
{
    return every_spec();
}
ParameterizedTest(size_t *index, policies, freed_memory_is_reusable)
{
    const uint64_t sizes[] = {24 * MIB, 7 * MIB + 1, 40 * MIB};
    struct drive d;
    drive_open(&d, *index, 1 * GIB, 0, 1);
    for (size_t i = 0; i < 3; i++) {
        const uint32_t n = fill(&d, sizes[i]);
        cr_expect(n > 0 && n < RIG_SLOTS);
        drive_free_all(&d);
        cr_expect_geq(fill(&d, sizes[i]), n, "the second time there is room for fewer blocks");
        drive_free_all(&d);
        rig_flush(&d.rig);
        rig_check(&d.rig);
    }
    drive_close(&d);
}

ParameterizedTestParameters(policies, a_retired_block_is_not_reused_before_its_free)
{
    return every_spec();
}
ParameterizedTest(size_t *index, policies, a_retired_block_is_not_reused_before_its_free)
{
    struct drive d;
    drive_open(&d, *index, 0, 0, 1);
    cr_assert_eq(fill(&d, 3 * MIB), RIG_SLOTS);
    for (uint32_t slot = 0; slot < 64; slot++)
        drive_release(&d, slot, EVENT_FREE_REQUESTED);
    for (uint32_t slot = 64; slot < 128; slot++)
        drive_release(&d, slot, EVENT_FREE);
    for (uint32_t slot = 64; slot < 128; slot++) {          /* compared with the pending ones too */
        struct block b;
        cr_assert_eq(rig_alloc(&d.rig, slot, 0, 3 * MIB, &b), ERR_OK);
        d.model.slots[slot].state = MODEL_LIVE;
        d.model.slots[slot].block = b;
        model_expect_placed(&d.model, d.rig.device, slot);
    }
    rig_check(&d.rig);
    drive_close(&d);
}

ParameterizedTestParameters(policies, the_same_seed_gives_the_same_answers)
{
    return every_spec();
}
ParameterizedTest(size_t *index, policies, the_same_seed_gives_the_same_answers)
{
    uint64_t digests[2], calls[2];
    for (int run = 0; run < 2; run++) {
        struct drive d;
        drive_open(&d, *index, 1 * GIB, 0, 31);
        for (int step = 0; step < 3000; step++)
            drive_step(&d);
        digests[run] = d.digest;
        calls[run] = d.rig.device->usage.calls;
        drive_close(&d);
    }
    cr_expect_eq(digests[0], digests[1]);
    cr_expect_eq(calls[0], calls[1]);
}

ParameterizedTestParameters(policies, any_size_is_served_or_refused)
{
    return every_spec();
}
ParameterizedTest(size_t *index, policies, any_size_is_served_or_refused)
{
    struct drive d;
    drive_open(&d, *index, 0, 0, 1);
    const uint64_t largest = strcmp(d.rig.spec.ops->name, "rmm-fixed") == 0 ? d.rig.spec.values[0].number : UINT64_MAX;
    for (unsigned k = 0; k < 64; k++)
        for (int edge = -1; edge <= 1; edge++) {
            const uint64_t bytes = (UINT64_C(1) << k) + (uint64_t)(int64_t)edge;
            struct block b;
            if (bytes == 0)
                continue;
            const enum err e = rig_alloc(&d.rig, 0, 0, bytes, &b);
            cr_assert(e == ERR_OK || e == ERR_DEVICE_OOM, "%llu bytes: %s", (unsigned long long)bytes, err_name(e));
            cr_assert(k > 40 || e == ERR_OK || bytes > largest, "2^%u%+d bytes refused by a device without an end", k,
                      edge);
            if (e == ERR_OK) {
                cr_assert_geq(b.bytes, bytes);
                rig_free(&d.rig, EVENT_FREE, 0, 0, bytes, &b);
            }
            rig_flush(&d.rig);
            rig_check(&d.rig);
        }
    drive_close(&d);
}

ParameterizedTestParameters(policies, one_that_never_saw_a_request_closes_cleanly)
{
    return every_spec();
}
ParameterizedTest(size_t *index, policies, one_that_never_saw_a_request_closes_cleanly)
{
    struct drive d;
    drive_open(&d, *index, 1 * MIB, 0, 1);
    rig_flush(&d.rig);
    rig_check(&d.rig);
    expect_walk(&d);
    cr_expect_eq(d.rig.device->usage.reserved_bytes, 0, "a card of 1 MiB has nothing to reserve at the start");
    cr_expect_eq(policy_largest_free(d.rig.policy), 0);
    drive_close(&d);
}

static void note_key(void *arg, const char *key, int64_t value)
{
    char *last = arg;
    (void)value;
    cr_assert_lt(strcmp(last, key), 0, "%s after %s", key, last);
    snprintf(last, 128, "%s", key);
}

ParameterizedTestParameters(policies, statistics_come_in_order_of_their_keys)
{
    return every_spec();
}
ParameterizedTest(size_t *index, policies, statistics_come_in_order_of_their_keys)
{
    struct drive d;
    char last[128] = "";
    drive_open(&d, *index, 1 * GIB, 0, 41);
    for (int step = 0; step < 300; step++)
        drive_step(&d);
    if (d.rig.policy->ops->stats != NULL)
        d.rig.policy->ops->stats(d.rig.policy, note_key, last);
    drive_close(&d);
}

static void note_remark(void *arg, enum remark_kind kind, const char *sentence)
{
    size_t *n = arg;
    cr_assert(kind == REMARK_ASSUMPTION || kind == REMARK_WARNING);
    cr_assert_gt(strlen(sentence), 10);
    ++*n;
}

ParameterizedTestParameters(policies, a_refusal_has_the_words_that_the_program_would_see)
{
    return every_spec();
}
ParameterizedTest(size_t *index, policies, a_refusal_has_the_words_that_the_program_would_see)
{
    struct drive d;
    struct refusal refusal = {.type = NULL};
    size_t n_remarks = 0;
    struct block b;
    drive_open(&d, *index, 256 * MIB, 0, 1);
    cr_assert_eq(rig_alloc(&d.rig, 0, 0, 1 * GIB, &b), ERR_DEVICE_OOM);
    if (d.rig.policy->ops->refusal != NULL) {
        d.rig.policy->ops->refusal(d.rig.policy, &refusal);
        cr_expect_not_null(refusal.type);
        cr_expect_not_null(strstr(refusal.text, "out of memory"), "'%s'", refusal.text);
    }
    if (d.rig.policy->ops->remarks != NULL)
        d.rig.policy->ops->remarks(d.rig.policy, note_remark, &n_remarks);
    drive_close(&d);
}

/* ---- the tables ---- */

ParameterizedTestParameters(policies, a_table_describes_itself)
{
    static size_t index[64];
    size_t n = 0;
    for (; n < 64 && policy_at(n) != NULL; n++)
        index[n] = n;
    return cr_make_param_array(size_t, index, n);
}
ParameterizedTest(size_t *index, policies, a_table_describes_itself)
{
    const struct policy_ops *ops = policy_at(*index);
    struct policy_spec spec;
    struct err_detail err = {.text = ""};
    cr_expect_eq(ops->abi, POLICY_ABI);
    cr_expect_eq(ops->size, sizeof *ops);
    cr_expect_eq(policy_find(ops->name), ops);
    cr_expect_eq(ops->name[strspn(ops->name, "abcdefghijklmnopqrstuvwxyz0123456789-")], '\0');
    cr_expect(ops->summary != NULL && ops->summary[0] != '\0');
    for (const struct policy_option *o = ops->options; o != NULL && o->name != NULL; o++) {
        cr_expect_eq(o->name[strspn(o->name, "abcdefghijklmnopqrstuvwxyz0123456789-")], '\0', "%s", o->name);
        cr_expect(o->help != NULL && o->help[0] != '\0', "%s has no help", o->name);
        cr_expect(o->kind > OPTION_NUMBER || o->min <= o->max, "%s has an empty range", o->name);
        for (const struct policy_option *other = ops->options; other != o; other++)
            cr_expect_str_neq(o->name, other->name);
    }
    cr_assert_eq(policy_spec_parse(ops->name, &spec, &err), ERR_OK, "a fallback is not valid: %s", err.text);
    policy_spec_close(&spec);
}

/* The engine asks after every event. `none` keeps nothing. */
Test(policies, the_largest_free_block_is_found_without_a_walk)
{
    for (size_t i = 0; policy_at(i) != NULL; i++)
        cr_expect(policy_at(i)->largest_free != NULL || strcmp(policy_at(i)->name, "none") == 0, "%s",
                  policy_at(i)->name);
}

/* PyTorch's own mistake: a smaller max_split_size at run time makes parts of segments oversize, and it would free such
 * a part. */
Test(policies, a_part_of_a_segment_is_never_given_back)
{
    const struct control smaller = {.kind = CONTROL_SETTINGS, .text = "max_split_size_mb:24"};
    struct err_detail err = {.text = ""};
    struct rig r;
    struct block whole, part, refused;
    rig_open(&r, &(struct rig_config){.policy = "pytorch", .total_bytes = 70 * MIB});
    cr_assert_eq(rig_alloc(&r, 0, 0, 64 * MIB, &whole), ERR_OK);
    rig_free(&r, EVENT_FREE, 0, 0, 64 * MIB, &whole);
    cr_assert_eq(rig_alloc(&r, 0, 0, 20 * MIB, &part), ERR_OK);
    cr_assert_eq(r.policy->ops->control(r.policy, &smaller, NULL, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(rig_alloc(&r, 1, 0, 50 * MIB, &refused), ERR_DEVICE_OOM, "the rest is 44 MiB");
    cr_expect_eq(r.device->usage.reserved_bytes, 64 * MIB, "the first 20 MiB are in use");
    rig_check(&r);
    rig_free(&r, EVENT_FREE, 0, 0, 20 * MIB, &part);
    rig_flush(&r);
    cr_expect_eq(r.device->usage.reserved_bytes, 0);
    rig_close(&r);
}

Test(policies, there_is_none_behind_the_last)
{
    size_t n = 0;
    while (policy_at(n) != NULL)
        n++;
    cr_expect_gt(n, 0);
    cr_expect_null(policy_at(n + 1));
    cr_expect_null(policy_find("no-such-policy"));
    cr_expect_null(policy_find(""));
}

Test(policies, destroying_nothing_is_allowed)
{
    policy_destroy(NULL);
    policy_unload(NULL, NULL);
}
