/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Programs are whole however they are made, and what the search says of one is what a plain replay does. */
#include "base/units.h"
#include "replay/adversary/adversary_search.h"
#include "replay/adversary/program_acts.h"
#include "tests/whole_trace.h"

#include <criterion/criterion.h>
#include <inttypes.h>

/* Every free is of a live request, and no slot is used twice. */
static void check_program(const struct tried_program *p, uint64_t most_live)
{
    unsigned char state[PROGRAM_CALLS] = { 0 };
    uint64_t bytes[PROGRAM_CALLS];
    cr_assert_leq(p->n, PROGRAM_CALLS);
    for (size_t i = 0; i < p->n; i++) {
        const struct event *c = &p->calls[i];
        cr_assert_lt(c->slot, PROGRAM_CALLS);
        cr_assert_gt(c->bytes, 0);
        cr_assert_eq(state[c->slot], c->kind == EVENT_ALLOC ? 0 : 1, "call %zu", i);
        if (c->kind == EVENT_ALLOC)
            bytes[c->slot] = c->bytes;
        cr_assert_eq(bytes[c->slot], c->bytes, "call %zu", i);
        state[c->slot]++;
    }
    cr_assert_leq(program_live_peak(p), most_live);
}

Test(adversary, programs_with_acts_are_allowed_however_they_are_drawn_and_changed)
{
    const unsigned all = (1U << ACT_KINDS) - 1;
    size_t n_with_acts = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct tried_program p;
        uint64_t random = seed;
        program_draw(&p, 1 + seed % PROGRAM_CALLS, GIB, all, &random);
        cr_assert(program_is_valid(&p), "seed %" PRIu64, seed);
        for (int i = 0; i < 40; i++) {
            struct tried_program changed = p;
            if (program_change(&changed, PROGRAM_CALLS, GIB, all, &random)) {
                cr_assert(program_is_valid(&changed), "seed %" PRIu64, seed);
                cr_assert_leq(program_live_peak(&changed), GIB, "seed %" PRIu64, seed);
                p = changed;
            }
        }
        n_with_acts += program_has_acts(&p);
    }
    cr_expect_gt(n_with_acts, 1000);
}

Test(adversary, programs_are_whole_however_they_are_drawn_and_changed)
{
    struct tried_program p;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        uint64_t random = seed;
        if (seed % 2 == 0)
            program_draw(&p, 1 + seed % PROGRAM_CALLS, GIB, 0, &random);
        else
            program_draw_pattern(&p, 1 + seed % PROGRAM_CALLS, GIB, &random);
        check_program(&p, GIB);
        for (int i = 0; i < 40; i++) {
            struct tried_program changed = p;
            if (program_change(&changed, PROGRAM_CALLS, GIB, 0, &random)) {
                check_program(&changed, GIB);
                p = changed;
            }
        }
    }
}

static struct adversary find(const char *a, const char *b, size_t calls, uint64_t seed)
{
    struct err_detail err = { .text = "" };
    struct adversary found;
    const struct adversary_request asked = { .policies = { a, b }, .most_calls = calls, .is_largest = calls > 0,
                                             .seed = seed, .programs = 25000 };
    cr_assert_eq(adversary_find(&asked, &found, &err), ERR_OK, "%s", err.text);
    return found;
}

static struct trace_reader *program_trace(const struct adversary *a)
{
    struct trace_reader *trace;
    cr_assert_eq(program_open(&a->found.program, &trace, NULL), ERR_OK);
    return trace;
}

/* By a plain replay. */
static uint64_t peak_of(struct trace_reader *trace, const char *policy, const char *device, bool *is_refused)
{
    const struct replay_config cfg = { .threads = 1 };
    struct device_choice card;
    struct policy_spec spec;
    struct lane lane;
    cr_assert_eq(policy_spec_parse(policy, &spec, NULL), ERR_OK);
    cr_assert_eq(device_choose(device, trace, &card, NULL), ERR_OK);
    cr_assert_eq(lane_open(&spec, card.ops, &card.config, trace, 0, &lane, NULL), ERR_OK);
    cr_assert_eq(replay_run(trace, &lane, 1, &cfg, NULL), ERR_OK);
    const uint64_t peak = lane.meter.peak.reserved;
    *is_refused = lane.outcome == ERR_DEVICE_OOM;
    lane_close(&lane);
    policy_spec_close(&spec);
    return peak;
}

static void check_two(const char *a, const char *b, size_t most)
{
    struct adversary found = find(a, b, 0, 1);
    bool ignored;
    cr_assert_gt(found.found.score, 0, "%s, %s", a, b);
    cr_assert_leq(found.left.n, most, "%s, %s: %zu calls", a, b, found.left.n);
    cr_assert_geq(found.left.n, found.all_below, "%s, %s", a, b);
    struct trace_reader *trace = program_trace(&found);
    cr_assert_eq(peak_of(trace, a, "sim:unlimited", &ignored), found.found.peak_bytes[0]);
    cr_assert_eq(peak_of(trace, b, "sim:unlimited", &ignored), found.found.peak_bytes[1]);
    cr_assert_neq(found.found.peak_bytes[0], found.found.peak_bytes[1]);
    trace_close(trace);
    adversary_close(&found);
}

Test(adversary, a_seed_gives_the_same_answer_each_time)
{
    struct adversary found = find("tlsf", "first-fit", 0, 3), again = find("tlsf", "first-fit", 0, 3);
    cr_assert_eq(again.left.n, found.left.n);
    for (size_t i = 0; i < found.left.n; i++)
        cr_assert_eq(again.left.calls[i].bytes, found.left.calls[i].bytes);
    adversary_close(&found);
    adversary_close(&again);
}

/* The two that a recording of calls can tell by itself: which of equal free blocks is taken. */
Test(adversary, releases_of_pytorch_are_separated_in_eight_calls)
{
    check_two("pytorch:version=2.0", "pytorch:version=2.15", 8);
    check_two("pytorch:version=2.11", "pytorch:version=2.12", 8);
    check_two("pytorch:version=2.12", "pytorch:version=2.13", 8);
    check_two("best-fit", "max_split_size_mb:128", 3);
    check_two("tlsf", "first-fit", 8);
}

Test(adversary, the_same_allocator_is_not_separated_from_itself)
{
    struct adversary found = find("best-fit", "pytorch:version=2.15", 0, 0);
    cr_assert_eq(found.found.score, 0);
    cr_assert_eq(found.left.n, 0);
    cr_assert_geq(found.all_below, 3);
    adversary_close(&found);
}

Test(adversary, a_card_refuses_the_program_that_drives_one_and_little_is_live)
{
    static const struct { const char *policy; double least; } cases[] = { { "best-fit", 3 }, { "first-fit", 1.9 },
                                                                          { "buddy", 2 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct adversary found = find(cases[i].policy, NULL, 0, 0);
        char card[32];
        bool is_refused;
        struct trace_reader *trace = program_trace(&found);
        cr_assert_geq(found.found.score, cases[i].least, "%s: %f", cases[i].policy, found.found.score);
        cr_assert_leq(bounds_of(trace).live_bytes, ADVERSARY_LIVE);
        snprintf(card, sizeof card, "sim:%" PRIu64, found.found.card_bytes);
        (void)peak_of(trace, cases[i].policy, card, &is_refused);
        cr_assert(is_refused, "%s on %s", cases[i].policy, card);
        trace_close(trace);
        adversary_close(&found);
    }
}

Test(adversary, robsons_bound_is_that_of_his_program)
{
    struct tried_program p = { .n = 0 };
    program_request(&p, MIB);
    cr_assert_float_eq(robson_bounds_of(&p).any, 1, 1e-9);               /* one size: nothing is lost */
    for (int i = 0; i < 100; i++)
        program_request(&p, 2 * MIB);
    cr_assert_float_eq(robson_bounds_of(&p).any, 1.5 - 1.0 / 201, 1e-9);         /* M (1 + 1/2) - 2 + 1 */
}
