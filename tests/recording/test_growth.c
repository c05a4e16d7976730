/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What is a growth, and what is none: programs of made-up steps, with and without stacks. Whole programs of PyTorch are
 * in tests/dying/.
 */
#include "replay/recording/growth.h"
#include "replay/recording/larger_input.h"
#include "replay/recording/new_part.h"
#include "replay/recording/thaw.h"

#include "base/units.h"
#include "traces/trace.h"

#include <criterion/criterion.h>
#include <string.h>

#define MUST(call) cr_assert_eq((call), ERR_OK, "%s", err.text)

enum { LAYERS = 6, STEPS = 60 };

/* The lines of a program; its stacks are written with them. */
enum line { INPUT, FORWARD, BACKWARD, OPTIMIZER, KEPT, HELPED, SETUP, LOADED, LINES };

struct script {
    struct trace_writer *w;
    uint32_t stacks[LINES];
    bool     has_stacks;
    uint64_t next;                   /* name of the next request */
    uint64_t layers[LAYERS];
    uint64_t live;
};

static void put_stack(struct script *s, enum line line, const char *const *frames, size_t n)
{
    cr_assert_eq(trace_put_stack(s->w, frames, n, &s->stacks[line], NULL), ERR_OK);
}

static struct script script_open(bool has_stacks)
{
    static const char *const input[] = { "rand /home/ada/parts.py:4", "main /home/ada/train.py:10" };
    static const char *const forward[] = { "_call_impl /lib/python3.11/site-packages/torch/nn/modules/module.py:1790",
                                           "main /home/ada/train.py:11" };
    static const char *const optimizer[] = { "step /lib/python3.11/site-packages/torch/optim/adam.py:200",
                                             "main /home/ada/train.py:13" };
    static const char *const kept[] = { "main /home/ada/train.py:20" };
    static const char *const helped[] = { "rand /home/ada/parts.py:4", "main /home/ada/train.py:21" };
    static const char *const setup[] = { "_apply /lib/python3.11/site-packages/torch/nn/modules/module.py:900",
                                         "main /home/ada/train.py:22" };
    static const char *const loaded[] = { "_cast /lib/python3.11/site-packages/torch/optim/optimizer.py:880",
                                          "load_state_dict /lib/python3.11/site-packages/torch/optim/optimizer.py:930",
                                          "main /home/ada/train.py:23" };
    struct script s = { .has_stacks = has_stacks, .next = 1 };
    cr_assert_eq(trace_create(NULL, &s.w, NULL), ERR_OK);
    if (!has_stacks)
        return s;
    put_stack(&s, INPUT, input, 2);
    put_stack(&s, FORWARD, forward, 2);
    put_stack(&s, OPTIMIZER, optimizer, 2);
    put_stack(&s, KEPT, kept, 1);
    put_stack(&s, HELPED, helped, 2);
    put_stack(&s, SETUP, setup, 2);
    put_stack(&s, LOADED, loaded, 3);
    return s;
}

static uint64_t request(struct script *s, enum line line, uint64_t bytes)
{
    const struct trace_record r = { .kind = EVENT_ALLOC, .ptr = s->next, .bytes = bytes, .record = TRACE_NO_RECORD,
                                    .stack = s->has_stacks ? s->stacks[line] : TRACE_NO_STACK };
    cr_assert_eq(trace_put(s->w, &r, NULL), ERR_OK);
    s->live += bytes;
    return s->next++;
}

static void end(struct script *s, uint64_t name, uint64_t bytes)
{
    const struct trace_record r = { .kind = EVENT_FREE, .ptr = name, .record = TRACE_NO_RECORD };
    cr_assert_eq(trace_put(s->w, &r, NULL), ERR_OK);
    s->live -= bytes;
}

/* The first layers of a forward pass. */
static void forward(struct script *s, uint64_t bytes, unsigned layers)
{
    for (unsigned i = 0; i < layers; i++)
        s->layers[i] = request(s, FORWARD, bytes);
}

static void step(struct script *s, uint64_t bytes)
{
    const uint64_t input = request(s, INPUT, bytes);
    forward(s, bytes, LAYERS);
    for (unsigned i = LAYERS; i-- > 0;) {
        const uint64_t gradient = request(s, BACKWARD, bytes);
        end(s, s->layers[i], bytes);
        end(s, gradient, bytes);
    }
    const uint64_t work = request(s, OPTIMIZER, bytes);
    end(s, work, bytes);
    end(s, input, bytes);
}

/* What is refused at the end is one more layer. */
static struct growth growth_of(struct script *s, struct trace_reader **trace)
{
    struct err_detail err = { .text = "" };
    struct growth g;
    MUST(trace_finish_open(s->w, "a script", trace, &err));
    MUST(growth_find(*trace, trace_info(*trace)->events, s->live + MIB, &g, &err));
    return g;
}

/* Two sets, which may be meant, are none by themselves. */
static void expect_growth(struct script *s, bool is_growth, const char *what)
{
    struct trace_reader *trace;
    struct growth g = growth_of(s, &trace);
    cr_expect_eq(g.is_found && !g.of_two_sets, is_growth, "%s%s", what, s->has_stacks ? "" : ", without stacks");
    growth_close(&g);
    trace_close(trace);
}

Test(growth, what_every_step_leaves_behind_is_one)
{
    for (int has_stacks = 0; has_stacks <= 1; has_stacks++) {
        struct script s = script_open(has_stacks != 0);
        for (unsigned i = 0; i < STEPS; i++) {
            step(&s, MIB);
            request(&s, KEPT, MIB / 2);
        }
        forward(&s, MIB, 4);
        expect_growth(&s, true, "each step keeps a tensor");
    }
}

Test(growth, it_is_found_if_steps_differ_and_only_some_of_them_leak)
{
    for (int has_stacks = 0; has_stacks <= 1; has_stacks++) {
        struct script s = script_open(has_stacks != 0);
        for (unsigned i = 0; i < STEPS; i++) {
            step(&s, MIB + (i * 7 % 13) * 4096);
            if (i % 5 == 4)
                request(&s, KEPT, MIB + i % 3 * 512);
        }
        forward(&s, MIB, 4);
        expect_growth(&s, true, "every fifth step keeps a tensor");
    }
}

Test(growth, bursts_of_equal_size_and_distance_are_one)
{
    for (int n = 2; n <= 5; n += 3) {
        struct script s = script_open(true);
        for (int burst = 0; burst < n; burst++) {
            for (unsigned i = 0; i < 20; i++)
                step(&s, MIB);
            for (unsigned i = 0; i < 4; i++) {
                const uint64_t work = request(&s, FORWARD, MIB);
                request(&s, KEPT, 2 * MIB);
                end(&s, work, MIB);
            }
        }
        step(&s, MIB);
        forward(&s, MIB, 4);
        expect_growth(&s, n == 5, n == 5 ? "five evaluations keep something" : "two do");
    }
}

/* A tensor is replaced by a larger one `n` times; it is the only one that lives on. */
static uint64_t replace(struct script *s, unsigned n)
{
    uint64_t before = 0;
    for (unsigned i = 1; i <= n; i++) {
        step(s, MIB);
        const uint64_t now = request(s, KEPT, i * MIB);
        if (i > 1)
            end(s, before, (i - 1) * MIB);
        before = now;
    }
    return before;
}

Test(growth, what_is_replaced_by_a_larger_one_is_one)
{
    struct script s = script_open(true);
    (void)replace(&s, STEPS);
    forward(&s, MIB, 4);
    expect_growth(&s, true, "a queue that is never cut");
}

Test(growth, what_was_given_up_before_grows_with_its_input)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    for (unsigned i = 0; i < 3; i++)
        end(&s, replace(&s, STEPS / 4), STEPS / 4 * MIB);
    (void)replace(&s, STEPS);
    struct growth g = growth_of(&s, &trace);
    cr_expect(!g.is_found && g.grows_in_input);
    growth_close(&g);
    trace_close(trace);
}

Test(growth, a_late_one_is_found_after_many_steps_without)
{
    struct script s = script_open(true);
    for (unsigned i = 0; i < 10 * STEPS; i++)
        step(&s, MIB);
    for (unsigned i = 0; i < STEPS; i++) {
        step(&s, MIB);
        request(&s, KEPT, MIB / 2);
    }
    expect_growth(&s, true, "the last steps keep a tensor each");
}

/* Something of each step is kept, and given up when the program ends. */
static void expect_in_run(bool has_stacks, bool keeps, bool is_growth)
{
    struct script s = script_open(has_stacks);
    struct trace_reader *trace;
    struct growth g;
    struct err_detail err = { .text = "" };
    uint64_t kept[STEPS];
    for (size_t i = 0; i < STEPS; i++) {
        step(&s, MIB);
        kept[i] = request(&s, KEPT, MIB);
        if (!keeps)
            end(&s, kept[i], MIB);
    }
    step(&s, MIB);
    for (size_t i = 0; i < STEPS && keeps; i++)
        end(&s, kept[i], MIB);
    MUST(trace_finish_open(s.w, "a script", &trace, &err));
    MUST(growth_find_in_run(trace, &g, &err));
    cr_expect_eq(g.is_found, is_growth, "%s stacks", has_stacks ? "with" : "without");
    growth_close(&g);
    trace_close(trace);
}

Test(growth, in_a_run_that_ends_well_it_is_found_at_the_peak)
{
    expect_in_run(true, true, true);
    expect_in_run(true, false, false);
    expect_in_run(false, true, false);
}

Test(growth, what_fills_once_is_none)
{
    for (int has_stacks = 0; has_stacks <= 1; has_stacks++) {
        struct script s = script_open(has_stacks != 0);
        for (unsigned i = 0; i < STEPS; i++) {
            step(&s, MIB);
            if (i < 12)
                request(&s, KEPT, MIB);
        }
        forward(&s, MIB, 4);
        expect_growth(&s, false, "a cache is filled in the first steps");
    }
}

Test(growth, a_buffer_of_a_fixed_length_is_none)
{
    uint64_t names[8] = { 0 };
    struct script s = script_open(true);
    for (unsigned i = 0; i < STEPS; i++) {
        step(&s, MIB);
        if (names[i % 8] != 0)
            end(&s, names[i % 8], MIB);
        names[i % 8] = request(&s, KEPT, MIB);
    }
    expect_growth(&s, false, "the last eight tensors are kept");
}

Test(growth, a_large_buffer_that_is_full_in_the_end_is_none)
{
    uint64_t names[40] = { 0 };
    struct script s = script_open(true);
    for (unsigned i = 0; i < 100; i++) {
        step(&s, MIB);
        if (names[i % 40] != 0)
            end(&s, names[i % 40], MIB);
        names[i % 40] = request(&s, KEPT, MIB);
    }
    forward(&s, MIB, 4);
    expect_growth(&s, false, "the last 40 tensors are kept");
}

Test(growth, one_forward_pass_is_none_however_many_layers_it_has)
{
    for (int has_stacks = 0; has_stacks <= 1; has_stacks++) {
        struct script s = script_open(has_stacks != 0);
        for (unsigned i = 0; i < 200; i++) {
            request(&s, FORWARD, MIB);
            const uint64_t work = request(&s, FORWARD, MIB);
            end(&s, work, MIB);
        }
        expect_growth(&s, false, "a forward pass");
    }
}

/* One backward pass and the first step of an optimizer, without stacks: memory rises in many small turns, after it fell
 * by far more. */
Test(growth, what_rises_within_one_step_is_none)
{
    uint64_t names[48];
    struct script s = script_open(false);
    for (unsigned i = 0; i < 48; i++)
        names[i] = request(&s, FORWARD, 8 * MIB);
    for (unsigned i = 0; i < 48; i++)
        end(&s, names[i], 8 * MIB);
    for (unsigned i = 0; i < 96; i++) {
        request(&s, OPTIMIZER, 4 * MIB);
        const uint64_t work = request(&s, OPTIMIZER, 30 * MIB);
        end(&s, work, 30 * MIB);
    }
    expect_growth(&s, false, "states of an optimizer");
}

static struct larger_input input_of(struct trace_reader *trace, uint64_t asked_bytes)
{
    struct err_detail err = { .text = "" };
    struct larger_input in;
    struct phases phases;
    MUST(phases_read(trace, &phases, &err));
    MUST(larger_input_find(trace, &phases, trace_info(trace)->events, asked_bytes, &in, &err));
    phases_close(&phases);
    return in;
}

Test(growth, what_grows_with_the_input_and_is_freed_is_a_larger_input)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    struct larger_input in;
    for (unsigned i = 0; i < STEPS; i++)
        step(&s, MIB + i * MIB / 8);
    forward(&s, MIB + STEPS * MIB / 8, 4);
    struct growth g = growth_of(&s, &trace);
    cr_expect_not(g.is_found);
    in = input_of(trace, 0);
    cr_expect(in.is_larger && in.is_trend);
    growth_close(&g);
    trace_close(trace);
}

Test(growth, one_long_input_is_told_by_how_much)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    struct larger_input in;
    for (unsigned i = 0; i < STEPS; i++)
        step(&s, MIB);
    forward(&s, 32 * MIB, 3);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    in = input_of(trace, 0);
    cr_expect(in.is_larger && !in.is_trend);
    cr_expect_float_eq(in.times, 32, 0.01);
    cr_expect_eq(in.over_most, 3 * 31 * MIB);
    trace_close(trace);
}

/* States of an optimizer that its first step made stay; what came before them on top comes again. */
Test(growth, a_step_takes_as_much_on_top_as_the_one_before)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    for (unsigned i = 0; i < 3; i++)
        step(&s, MIB);
    request(&s, OPTIMIZER, 20 * MIB);
    forward(&s, MIB, 2);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    cr_expect_eq(input_of(trace, MIB).turn_bytes, 20 * MIB + (LAYERS + 2) * MIB);
    trace_close(trace);
}

/* A longer sequence, unrolled by the program, is more requests of the same size. */
Test(growth, a_longer_input_of_more_requests_is_told)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    struct larger_input in;
    for (unsigned i = 0; i < STEPS; i++)
        step(&s, MIB);
    for (unsigned i = 0; i < 4; i++)
        forward(&s, MIB, LAYERS);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    in = input_of(trace, 0);
    cr_expect(in.is_larger);
    cr_expect_float_eq(in.times, 4, 0.01);
    trace_close(trace);
}

Test(growth, in_the_first_pass_nothing_is_larger_than_before)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    struct larger_input in;
    for (unsigned i = 0; i < 40; i++) {
        const uint64_t work = request(&s, FORWARD, MIB);
        end(&s, work, MIB);
        request(&s, FORWARD, MIB + i * 4096);
    }
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    in = input_of(trace, 0);
    cr_expect_not(in.is_larger);
    trace_close(trace);
}

/* A decoder after the last step of the loop: its layers are of different sizes, and none was there before. */
Test(growth, a_part_that_comes_for_the_first_time_is_no_larger_input)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    for (unsigned i = 0; i < STEPS; i++)
        step(&s, MIB);
    for (unsigned i = 1; i < 8; i++) {
        const uint64_t brief = request(&s, KEPT, 4 * i * MIB);
        request(&s, KEPT, 4 * i * MIB);
        end(&s, brief, 4 * i * MIB);
    }
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    cr_expect_not(input_of(trace, 32 * MIB).is_larger);
    trace_close(trace);
}

/* Of `line`, if it had asked for so much between the steps and the refusal. */
static struct new_part part_of(enum line line, uint64_t bytes, bool has_stacks)
{
    struct script s = script_open(has_stacks);
    struct err_detail err = { .text = "" };
    struct trace_reader *trace;
    struct new_part part;
    for (unsigned i = 0; i < 3; i++)
        step(&s, MIB);
    const uint64_t until = 3 * 4 * (LAYERS + 1);
    request(&s, line, bytes);
    request(&s, line, MIB);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    MUST(new_part_find(trace, until + 1, 0, until, &part, &err));
    trace_close(trace);
    return part;
}

/* A backward pass has no stack, and may be of any part. */
Test(growth, a_part_is_new_if_no_turn_asked_at_its_place)
{
    const struct new_part part = part_of(KEPT, 5 * MIB, true);
    cr_expect(part.is_new);
    cr_expect_eq(part.bytes, 5 * MIB);
    cr_expect_not(part_of(FORWARD, MIB, true).is_new);
    cr_expect_not(part_of(BACKWARD, MIB, true).is_new);
    cr_expect_not(part_of(KEPT, MIB, false).is_new);
}

/* So many large steps of which each leaves its graph, of which those older than `keeps` are given back; the next one is
 * cut off. */
static struct growth large_steps(unsigned steps, unsigned keeps, struct trace_reader **trace)
{
    struct script s = script_open(true);
    uint64_t graphs[STEPS][LAYERS];
    for (unsigned i = 0; i < steps; i++) {
        forward(&s, 8 * MIB, LAYERS);
        memcpy(graphs[i], s.layers, sizeof s.layers);
        for (unsigned k = 0; k < LAYERS; k++)
            end(&s, request(&s, BACKWARD, 8 * MIB), 8 * MIB);
        end(&s, request(&s, OPTIMIZER, MIB), MIB);
        for (unsigned k = 0; k < LAYERS && i >= keeps; k++)
            end(&s, graphs[i - keeps][k], 8 * MIB);
    }
    forward(&s, 8 * MIB, LAYERS / 2);
    return growth_of(&s, trace);
}

Test(growth, the_turns_of_what_is_held_are_all_of_the_run)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    for (size_t i = 0; i < 40; i++) {
        step(&s, MIB);
        (void)request(&s, KEPT, MIB);
    }
    (void)request(&s, INPUT, MIB);
    struct growth g = growth_of(&s, &trace);
    cr_expect(g.is_found);
    cr_expect_eq(g.held_bytes, 40 * MIB);
    cr_expect(g.turns_held >= 39 && g.turns_held <= 40, "%u turns", (unsigned)g.turns_held);
    growth_close(&g);
    trace_close(trace);
}

Test(growth, few_large_steps_that_keep_their_graphs_are_one)
{
    struct trace_reader *trace;
    struct growth g = large_steps(3, STEPS, &trace);
    cr_expect(g.is_found && !g.of_two_turns);
    cr_expect_eq(g.turns, 3);
    cr_expect_eq(g.bytes_per_turn, 8 * LAYERS * MIB);
    growth_close(&g);
    trace_close(trace);
    g = large_steps(2, STEPS, &trace);
    cr_expect(g.is_found && g.of_two_turns, "two steps may be chance");
    growth_close(&g);
    trace_close(trace);
    g = large_steps(5, 2, &trace);
    cr_expect_not(g.is_found, "the last two of five are a memory of two");
    growth_close(&g);
    trace_close(trace);
    g = large_steps(3, 0, &trace);
    cr_expect_not(g.is_found);
    growth_close(&g);
    trace_close(trace);
}

/* So many forward passes of a program that does not learn, each of which leaves so many of its layers; the next one is
 * cut off. */
static struct growth passes_that_leave(unsigned passes, unsigned left, struct trace_reader **trace)
{
    struct script s = script_open(true);
    for (unsigned i = 0; i < passes; i++) {
        forward(&s, 8 * MIB, LAYERS);
        for (unsigned k = left; k < LAYERS; k++)
            end(&s, s.layers[k], 8 * MIB);
        end(&s, request(&s, KEPT, MIB), MIB);            /* something between two passes */
    }
    forward(&s, 8 * MIB, LAYERS / 2);
    return growth_of(&s, trace);
}

Test(growth, results_that_three_passes_keep_are_one)
{
    struct trace_reader *trace;
    struct growth g = passes_that_leave(3, 1, &trace);
    cr_expect(g.is_found);
    cr_expect_eq(g.turn, TURN_FORWARD);
    cr_expect_gt(g.since, 0, "it begins with the second of them");
    growth_close(&g);
    trace_close(trace);
    g = passes_that_leave(2, 1, &trace);
    cr_expect_not(g.is_found, "two may be chance");
    growth_close(&g);
    trace_close(trace);
}

/* After three steps `line` asks for so much, and the next step is cut off. */
static struct interlude interlude_of(enum line line, uint64_t bytes, bool has_stacks)
{
    struct script s = script_open(has_stacks);
    struct err_detail err = { .text = "" };
    struct trace_reader *trace;
    struct interlude between;
    struct phases phases;
    const uint64_t each = 4 * (LAYERS + 1);
    for (unsigned i = 0; i < 3; i++)
        step(&s, MIB);
    request(&s, line, bytes);
    forward(&s, MIB, 3);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    MUST(phases_read(trace, &phases, &err));
    MUST(interlude_find(trace, &phases, each, trace_info(trace)->events - 1, 2 * each, 3 * each, &between, &err));
    trace_close(trace);
    phases_close(&phases);
    return between;
}

Test(growth, what_no_step_asks_for_lies_between_them)
{
    const struct interlude between = interlude_of(KEPT, 5 * MIB, true);
    cr_expect_eq(between.bytes, 5 * MIB);
    cr_expect_eq(between.step_bytes, (2 * LAYERS + 2) * MIB);
    cr_expect_eq(interlude_of(FORWARD, 5 * MIB, true).bytes, 0);
    cr_expect_eq(interlude_of(KEPT, 5 * MIB, false).bytes, 0, "without stacks nothing tells");
}

Test(growth, states_that_are_loaded_are_no_step_of_the_optimizer)
{
    struct script s = script_open(true);
    struct err_detail err = { .text = "" };
    struct trace_reader *trace;
    struct phases phases;
    request(&s, LOADED, MIB);
    step(&s, MIB);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    MUST(phases_read(trace, &phases, &err));
    cr_expect_eq(phases.starts[PHASE_STATES].n, 1);
    cr_expect_eq(phases.starts[PHASE_OPTIMIZER].n, 1);
    phases_close(&phases);
    trace_close(trace);
}

Test(growth, equal_inputs_are_none)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    struct larger_input in;
    for (unsigned i = 0; i < STEPS; i++)
        step(&s, MIB);
    forward(&s, MIB, 3);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    in = input_of(trace, MIB);
    cr_expect_not(in.is_larger);
    trace_close(trace);
}

/* Of a line a small request is freed, and a large one kept. */
static void keep_large(struct script *s)
{
    const uint64_t small = request(s, KEPT, 4096);
    request(s, KEPT, 6 * MIB);
    end(s, small, 4096);
}

/* What the earlier steps kept is as large as what the last one does. */
Test(growth, a_leak_of_equal_inputs_is_no_larger_one)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    for (unsigned i = 0; i < 8; i++) {
        keep_large(&s);
        step(&s, 5 * MIB);
    }
    keep_large(&s);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    const struct larger_input in = input_of(trace, 5 * MIB);
    cr_expect_not(in.is_larger);
    cr_expect_leq(in.need_bytes, 200 * MIB);
    trace_close(trace);
}

Test(growth, it_says_how_much_a_step_and_whose_line)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    for (unsigned i = 0; i < STEPS; i++) {
        step(&s, MIB);
        request(&s, KEPT, MIB / 2);
        request(&s, KEPT, MIB / 4);
    }
    forward(&s, MIB, 4);
    struct growth g = growth_of(&s, &trace);
    cr_assert(g.is_found);
    cr_expect_eq(g.turn, TURN_STEP);
    cr_expect_eq(g.bytes_per_turn, MIB / 2 + MIB / 4);
    cr_expect_str_eq(holder_name(&g.lines, 0), "/home/ada/train.py:20 main");
    cr_expect_eq(g.lines.n, 1);
    growth_close(&g);
    trace_close(trace);
}

Test(growth, it_says_in_every_how_many_turns_it_comes)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    for (unsigned i = 0; i < STEPS; i++) {
        step(&s, MIB);
        if (i % 5 == 4)
            request(&s, KEPT, MIB);
    }
    forward(&s, MIB, 4);
    struct growth g = growth_of(&s, &trace);
    cr_assert(g.is_found);
    cr_expect_eq(g.turn, TURN_STEP);
    cr_expect_eq(g.rhythm.turns, 5);
    cr_expect_eq(g.rhythm.bytes, MIB);
    growth_close(&g);
    trace_close(trace);
}

/* Without requests of an optimizer a step is told by its backward pass; evaluations have forward passes alone. */
Test(growth, bursts_among_forward_passes_are_counted_in_backward_passes)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    for (unsigned i = 0; i < STEPS; i++) {
        forward(&s, MIB, LAYERS);
        for (unsigned l = LAYERS; l-- > 0;) {
            end(&s, request(&s, BACKWARD, MIB), MIB);
            end(&s, s.layers[l], MIB);
        }
        for (unsigned n = 0; i % 10 == 9 && n < 3; n++) {
            end(&s, request(&s, FORWARD, MIB), MIB);
            request(&s, KEPT, MIB);
        }
    }
    forward(&s, MIB, 4);
    struct growth g = growth_of(&s, &trace);
    cr_assert(g.is_found);
    cr_expect_eq(g.turn, TURN_BACKWARD);
    cr_expect_eq(g.rhythm.turns, 10);
    cr_expect_eq(g.rhythm.bytes, 3 * MIB);
    growth_close(&g);
    trace_close(trace);
}

Test(growth_rhythm, a_rhythm_is_even_and_comes_three_times)
{
    const uint64_t each[] = { 5, 5, 5, 5, 5, 5 }, most[] = { 5, 5, 0, 5, 5, 5, 0, 5, 5, 5, 5, 0 };
    const uint64_t third[] = { 0, 5, 0, 0, 6, 0, 0, 5, 0, 0, 4 }, pairs[] = { 5, 5, 0, 0, 0, 5, 5, 0, 0, 0, 5, 5 };
    const uint64_t twice[] = { 5, 0, 0, 0, 5, 0, 0, 0 }, odd[29] = { [0] = 5, [3] = 5, [11] = 5, [15] = 5, [28] = 5 };
    const uint64_t noisy[] = { 1, 90, 1, 1, 91, 1, 1, 90, 1 };
    const struct { const uint64_t *left; size_t n; struct growth_rhythm is; } cases[] = {
        { each, 6, { 0 } },               { most, 12, { .turns = 4, .bytes = 12 } },
        { third, 11, { .turns = 3, .bytes = 5 } }, { pairs, 12, { .turns = 5, .bytes = 10 } },
        { twice, 8, { .is_uneven = true } }, { odd, 29, { .is_uneven = true } },
        { noisy, 9, { .turns = 3, .bytes = 92 } }, { each, 0, { 0 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct growth_rhythm r = growth_rhythm_of(cases[i].left, cases[i].n);
        cr_expect_eq(r.turns, cases[i].is.turns, "case %zu: %u turns", i, (unsigned)r.turns);
        cr_expect_eq(r.bytes, cases[i].is.bytes, "case %zu: %u bytes", i, (unsigned)r.bytes);
        cr_expect_eq(r.is_uneven, cases[i].is.is_uneven, "case %zu", i);
    }
}

/* The helper makes inputs, which are freed, and what is kept. */
Test(growth, a_helper_that_others_call_is_named_by_its_caller)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    for (unsigned i = 0; i < STEPS; i++) {
        step(&s, MIB);
        request(&s, HELPED, MIB / 2);
    }
    forward(&s, MIB, 4);
    struct growth g = growth_of(&s, &trace);
    cr_assert(g.is_found);
    cr_expect_str_eq(holder_name(&g.lines, 0), "/home/ada/train.py:21 main");
    growth_close(&g);
    trace_close(trace);
}

/* Copies of the weights, every fourth step; `is_freed`: each replaces the one before. */
static struct growth copies_of(unsigned steps, bool is_freed)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    uint64_t copy = 0;
    for (unsigned i = 0; i < steps; i++) {
        step(&s, MIB);
        if (i % 4 != 3)
            continue;
        if (is_freed && copy != 0)
            end(&s, copy, 2 * MIB);
        copy = request(&s, KEPT, 2 * MIB);
        request(&s, KEPT, MIB);
    }
    forward(&s, MIB, LAYERS);
    struct growth g = growth_of(&s, &trace);
    trace_close(trace);
    return g;
}

Test(growth, three_sets_that_are_alike_are_one_and_two_may_be_meant)
{
    struct growth g = copies_of(13, false);
    cr_assert(g.is_found && !g.of_two_sets);
    cr_expect_str_eq(holder_name(&g.lines, 0), "/home/ada/train.py:20 main");
    growth_close(&g);
    g = copies_of(9, false);
    cr_expect(g.is_found && g.of_two_sets);
    cr_expect_eq(g.bytes_per_turn, 3 * MIB);
    growth_close(&g);
    g = copies_of(9, true);
    cr_expect_not(g.is_found);
    growth_close(&g);
}

/* A batch that was too large is still there after the program caught that and went on. */
/* What each step keeps, of which the oldest goes as soon as there are `room`; each is larger by `more`. */
static void expect_of_cache(size_t room, uint64_t more, bool is_growth)
{
    struct script s = script_open(true);
    uint64_t kept[STEPS], bytes[STEPS];
    for (size_t i = 0; i < STEPS; i++) {
        step(&s, MIB);
        bytes[i] = MIB + i * more;
        kept[i] = request(&s, KEPT, bytes[i]);
        if (i >= room)
            end(&s, kept[i - room], bytes[i - room]);
    }
    forward(&s, MIB, 4);
    expect_growth(&s, is_growth, "a cache");
}

Test(growth, a_cache_that_fills_in_the_end_is_none)
{
    expect_of_cache(STEPS - 3, 0, false);
    expect_of_cache(STEPS - 1, 0, true);
}

Test(growth, the_newest_few_are_none_however_they_grow)
{
    expect_of_cache(STEPS - 5, MIB / 2, false);
    expect_of_cache(8, MIB, false);
}

/* The caches of some layers: each is replaced by a larger one in every step. */
static void grow_caches(struct script *s, size_t layers, const uint64_t *width)
{
    uint64_t kept[8] = { 0 };
    for (size_t i = 0; i < STEPS; i++) {
        step(s, MIB);
        for (size_t k = 0; k < layers; k++) {
            const uint64_t larger = request(s, KEPT, (i + 8) * width[k]);
            if (i > 0)
                end(s, kept[k], (i + 7) * width[k]);
            kept[k] = larger;
        }
    }
    forward(s, MIB, 4);
}

Test(growth, caches_that_torch_cat_makes_longer_are_one)
{
    static const uint64_t alike[] = { MIB, MIB, MIB, MIB, MIB, MIB }, apart[] = { MIB, 2 * MIB, MIB / 2, 3 * MIB, MIB };
    struct script a = script_open(true), b = script_open(true);
    grow_caches(&a, 6, alike);
    expect_growth(&a, true, "six caches");
    grow_caches(&b, 5, apart);
    expect_growth(&b, true, "five caches of different widths");
}

/* An evaluation of few batches after training, each 8 times as large as one of training. Half of what a pass requests
 * is its result. */
static void evaluate(struct script *s, unsigned batches, bool keeps, bool joins)
{
    enum { LARGE = 8 };
    uint64_t together = 0;
    for (unsigned i = 0; i < batches; i++) {
        const uint64_t input = request(s, INPUT, MIB), hidden = request(s, FORWARD, LARGE * MIB);
        const uint64_t result = request(s, FORWARD, LARGE * MIB);
        end(s, hidden, LARGE * MIB);
        end(s, input, MIB);
        if (!keeps)
            end(s, result, LARGE * MIB);
        if (!joins)
            continue;
        const uint64_t larger = request(s, KEPT, (i + 1) * LARGE * MIB);
        if (i > 0)
            end(s, together, i * LARGE * MIB);
        together = larger;
    }
}

static void expect_of_evaluation(unsigned batches, bool keeps, bool joins, bool is_growth)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    for (size_t i = 0; i < 12; i++)
        step(&s, MIB);
    evaluate(&s, batches, keeps, joins);
    (void)request(&s, INPUT, MIB);
    struct growth g = growth_of(&s, &trace);
    cr_expect_eq(g.is_found && g.of_evaluation, is_growth, "%u batches", batches);
    growth_close(&g);
    trace_close(trace);
}

Test(growth, few_results_of_an_evaluation_that_are_kept_or_joined_are_one)
{
    expect_of_evaluation(5, true, false, true);
    expect_of_evaluation(16, true, false, true);
    expect_of_evaluation(5, false, true, true);
    expect_of_evaluation(5, false, false, false);
    expect_of_evaluation(2, true, false, false);
}

Test(growth, what_a_caught_refusal_left_behind_is_one)
{
    const struct trace_record refused = { .kind = EVENT_OOM, .bytes = 64 * MIB, .record = TRACE_NO_RECORD };
    for (int is_freed = 0; is_freed <= 1; is_freed++) {
        struct script s = script_open(true);
        struct trace_reader *trace;
        for (unsigned i = 0; i < 5; i++)
            step(&s, MIB);
        const uint64_t batch = request(&s, INPUT, 64 * MIB);
        cr_assert_eq(trace_put(s.w, &refused, NULL), ERR_OK);
        if (is_freed)
            end(&s, batch, 64 * MIB);
        request(&s, INPUT, MIB);
        forward(&s, MIB, 2);
        struct growth g = growth_of(&s, &trace);
        cr_expect_eq(g.is_found && g.of_refusal, !is_freed);
        cr_expect(is_freed || g.held_bytes == 64 * MIB);
        growth_close(&g);
        trace_close(trace);
    }
}

static void refuse(struct script *s, uint64_t bytes)
{
    const struct trace_record refused = { .kind = EVENT_OOM, .bytes = bytes, .record = TRACE_NO_RECORD };
    cr_assert_eq(trace_put(s->w, &refused, NULL), ERR_OK);
}

/* The smaller tries are refused before they come to the layers that the first one reached. */
Test(growth, all_of_an_attempt_that_was_refused_is_left_behind)
{
    struct script s = script_open(true);
    struct trace_reader *trace;
    request(&s, INPUT, 8 * MIB);
    request(&s, FORWARD, 32 * MIB);
    request(&s, HELPED, 16 * MIB);
    refuse(&s, 64 * MIB);
    for (uint64_t part = 2; part <= 4; part *= 2) {
        request(&s, INPUT, 8 * MIB / part);
        refuse(&s, 32 * MIB / part);
    }
    struct growth g = growth_of(&s, &trace);
    cr_expect(g.is_found && g.of_refusal);
    cr_expect_eq(g.held_bytes, (8 + 32 + 16 + 4) * MIB);
    growth_close(&g);
    trace_close(trace);
}

/* Frozen layers free at once what they request, all but the last. */
static void frozen_step(struct script *s)
{
    for (unsigned i = 0; i + 1 < LAYERS; i++) {
        const uint64_t layer = request(s, FORWARD, MIB);
        end(s, layer, MIB);
    }
    const uint64_t last = request(s, FORWARD, MIB), gradient = request(s, BACKWARD, MIB);
    end(s, last, MIB);
    end(s, gradient, MIB);
    const uint64_t work = request(s, OPTIMIZER, MIB);
    end(s, work, MIB);
}

/* What thaws if the last step requests so much in each layer. */
static uint64_t thawed(uint64_t bytes)
{
    struct script s = script_open(true);
    struct err_detail err = { .text = "" };
    struct trace_reader *trace;
    struct phases phases;
    struct thaw thaw;
    for (unsigned i = 0; i < 5; i++)
        frozen_step(&s);
    forward(&s, bytes, LAYERS);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    MUST(phases_read(trace, &phases, &err));
    MUST(thaw_find(trace, &phases, trace_info(trace)->events, s.live, &thaw, &err));
    cr_expect_eq(thaw.activations, thaw.all);
    phases_close(&phases);
    trace_close(trace);
    return thaw.all;
}

/* What thaws if so much was set up before the last step, whose gradients and states stay. */
static uint64_t thawed_beside(uint64_t set_up)
{
    struct script s = script_open(true);
    struct err_detail err = { .text = "" };
    struct trace_reader *trace;
    struct phases phases;
    struct thaw thaw;
    for (unsigned i = 0; i < 5; i++)
        frozen_step(&s);
    if (set_up > 0)
        request(&s, SETUP, set_up);
    forward(&s, MIB, 1);
    request(&s, BACKWARD, 8 * MIB);
    request(&s, OPTIMIZER, 8 * MIB);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    MUST(phases_read(trace, &phases, &err));
    MUST(thaw_find(trace, &phases, trace_info(trace)->events, s.live, &thaw, &err));
    phases_close(&phases);
    trace_close(trace);
    return thaw.all;
}

Test(growth, another_model_that_learns_is_no_thaw)
{
    cr_expect_gt(thawed_beside(0), 0);
    cr_expect_gt(thawed_beside(MIB), 0);
    cr_expect_eq(thawed_beside(8 * MIB), 0);
}

/* As if each step's loss were kept with its graph. */
Test(growth, what_every_step_adds_and_keeps_is_no_thaw)
{
    struct script s = script_open(true);
    struct err_detail err = { .text = "" };
    struct trace_reader *trace;
    struct phases phases;
    struct thaw thaw;
    for (unsigned i = 0; i < 4; i++) {
        forward(&s, 4 * MIB, LAYERS);
        const uint64_t gradient = request(&s, BACKWARD, MIB);
        end(&s, gradient, MIB);
    }
    forward(&s, 4 * MIB, LAYERS);
    cr_assert_eq(trace_finish_open(s.w, "a script", &trace, NULL), ERR_OK);
    MUST(phases_read(trace, &phases, &err));
    MUST(thaw_find(trace, &phases, trace_info(trace)->events, s.live, &thaw, &err));
    cr_expect_eq(thaw.all, 0);
    phases_close(&phases);
    trace_close(trace);
}

Test(growth, layers_that_learn_again_hold_what_they_freed_at_once)
{
    cr_expect_eq(thawed(MIB), (LAYERS - 1) * MIB);
    cr_expect_eq(thawed(2 * MIB), 0, "a larger input is no thaw");
}
