/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* technique: what another optimizer would request is what PyTorch requested with it. */
#include "replay/technique/seen_errors.h"

#include "tests/reserved_peak.h"

#include <criterion/criterion.h>
#include <string.h>

/* A recording and a change of it. */
struct changed {
    struct trace_reader *recorded, *trace;
    struct course course;
    struct technique_result result;
};

static void change(struct changed *c, struct trace_reader *recorded, const struct technique *how)
{
    struct err_detail err = { .text = "" };
    *c = (struct changed){ .recorded = recorded };
    cr_assert_eq(course_read(recorded, &c->course, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(technique_apply(&c->course, how, NULL, &c->trace, &c->result, &err), ERR_OK, "%s", err.text);
}

static void changed_close(struct changed *c)
{
    course_close(&c->course);
    trace_close(c->trace);
    trace_close(c->recorded);
}

static struct trace_reader *sample(const char *name)
{
    char path[256];
    struct trace_reader *trace;
    snprintf(path, sizeof path, TEST_DATA "/../../samples/%s.trace.zst", name);
    cr_assert_eq(trace_open(path, &trace, NULL), ERR_OK, "%s", path);
    return trace;
}

/* One loop under PyTorch with Adam, and with SGD with momentum: each foretells the other to the byte. */
Test(technique, adam_and_momentum_foretell_each_other)
{
    static const struct {
        const char *have, *want; enum technique_optimizer optimizer; enum technique_way way;
    } pairs[] = {
        { "mlp-adam", "mlp-sgd", OPTIMIZER_MOMENTUM, TECHNIQUE_EDITED },
        { "mlp-sgd", "mlp-adam", OPTIMIZER_ADAM, TECHNIQUE_INSERTED },
    };
    for (size_t i = 0; i < 2; i++) {
        struct trace_reader *want = sample(pairs[i].want);
        struct changed c;
        change(&c, sample(pairs[i].have), &(struct technique){ .optimizer = pairs[i].optimizer });
        cr_expect_eq(c.result.way, pairs[i].way);
        cr_expect_eq(c.course.n_step_ends, 3, "the loop has three steps");
        cr_expect_eq(c.result.peak.bytes, trace_info(want)->peak_requested_bytes);
        cr_expect_eq(trace_info(c.trace)->peak_requested_bytes, c.result.peak.bytes);
        cr_expect_eq(reserved_peak(c.trace), trace_info(want)->recorded_peak_reserved_bytes);
        trace_close(want);
        changed_close(&c);
    }
}

Test(technique, the_recorded_optimizer_again_changes_nothing)
{
    struct changed c;
    change(&c, sample("mlp-adam"), &(struct technique){ .optimizer = OPTIMIZER_ADAM });
    cr_expect_eq(c.result.way, TECHNIQUE_UNCHANGED);
    cr_expect_eq(c.course.states_each, 2);
    cr_expect_eq(trace_info(c.trace)->events, trace_info(c.recorded)->events);
    cr_expect_eq(c.result.peak.bytes, trace_info(c.recorded)->peak_requested_bytes);
    changed_close(&c);
}

Test(technique, sgd_leaves_nothing_of_the_optimizer)
{
    struct changed c;
    change(&c, sample("gpt-fp32"), &(struct technique){ .optimizer = OPTIMIZER_SGD });
    cr_expect_eq(c.result.way, TECHNIQUE_EDITED);
    cr_expect_eq(c.result.peak.by_category[CATEGORY_OPTIMIZER], 0);
    cr_expect_gt(c.result.peak.by_category[CATEGORY_GRADIENTS] + c.result.peak.by_category[CATEGORY_ACTIVATIONS], 0);
    changed_close(&c);
}

Test(technique, states_of_half_the_precision_take_half)
{
    struct changed whole, half;
    change(&whole, sample("gpt-fp32"), &(struct technique){ .state_bits = 32, .recorded_state_bits = 32 });
    change(&half, sample("gpt-fp32"), &(struct technique){ .state_bits = 16, .recorded_state_bits = 32 });
    cr_expect_eq(whole.result.way, TECHNIQUE_UNCHANGED);
    cr_expect_eq(half.result.way, TECHNIQUE_EDITED);
    cr_expect_gt(whole.result.peak.by_category[CATEGORY_OPTIMIZER], 0);
    cr_expect_eq(2 * half.result.peak.by_category[CATEGORY_OPTIMIZER],
                 whole.result.peak.by_category[CATEGORY_OPTIMIZER]);
    changed_close(&whole);
    changed_close(&half);
}

/* ---- made-up programs ---- */

struct line { enum event_kind kind; uint64_t ptr, bytes; const char *frame; };

#define SETUP     "_apply torch/nn/modules/module.py:900"
#define FORWARD   "_call_impl torch/nn/modules/module.py:1700"
#define OPTIMIZER "step torch/optim/adam.py:200"

static struct trace_reader *program(const struct line *script, size_t n)
{
    struct trace_writer *w;
    struct trace_reader *trace;
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    for (size_t i = 0; i < n; i++) {
        struct trace_record r = { .kind = script[i].kind, .ptr = script[i].ptr, .bytes = script[i].bytes, .time_ns = i,
                                  .record = TRACE_NO_RECORD };
        const char *const frames[] = { script[i].frame };
        if (script[i].frame != NULL)
            cr_assert_eq(trace_put_stack(w, frames, 1, &r.stack, NULL), ERR_OK);
        cr_assert_eq(trace_put(w, &r, NULL), ERR_OK, "line %zu", i);
    }
    cr_assert_eq(trace_finish_open(w, "made", &trace, NULL), ERR_OK);
    return trace;
}

/* A backward pass that a refused request ends comes to no step. */
Test(technique, a_refused_backward_pass_gets_no_step)
{
    static const struct line script[] = {
        { EVENT_ALLOC, 1, 4096, SETUP }, { EVENT_ALLOC, 2, 8192, FORWARD }, { EVENT_ALLOC, 3, 4096, NULL },
        { EVENT_OOM, 0, 1 << 20, NULL },
    };
    struct changed c;
    change(&c, program(script, 4), &(struct technique){ .optimizer = OPTIMIZER_ADAM });
    cr_expect_eq(c.course.n_step_ends, 0);
    cr_expect_eq(c.result.way, TECHNIQUE_UNCHANGED);
    changed_close(&c);
}

/* The second step has a gradient that the first had not: its states come then, and those of the first are kept. */
Test(technique, states_come_with_the_first_gradient_of_their_parameter)
{
    static const struct line script[] = {
        { EVENT_ALLOC, 1, 4096, SETUP },   { EVENT_ALLOC, 2, 2048, SETUP }, { EVENT_ALLOC, 3, 512, FORWARD },
        { EVENT_ALLOC, 4, 4096, NULL },    { EVENT_FREE, 3, 0, NULL },      { EVENT_FREE, 4, 0, OPTIMIZER },
        { EVENT_ALLOC, 5, 512, FORWARD },  { EVENT_ALLOC, 6, 4096, NULL },  { EVENT_ALLOC, 7, 2048, NULL },
        { EVENT_FREE, 5, 0, NULL },        { EVENT_FREE, 6, 0, OPTIMIZER }, { EVENT_FREE, 7, 0, OPTIMIZER },
    };
    struct changed c;
    change(&c, program(script, 12), &(struct technique){ .optimizer = OPTIMIZER_ADAM });
    cr_expect_eq(c.course.n_step_ends, 2);
    cr_expect_eq(c.result.way, TECHNIQUE_INSERTED);
    cr_expect_eq(c.result.peak.bytes, 5 * (4096 + 2048), "parameters, gradients, two states and the roots");
    cr_expect_eq(trace_info(c.trace)->by_kind[EVENT_ALLOC], 7 + 4 + 3);
    changed_close(&c);
}

/* As RMSprop does: one state, and something in each step. SGD with momentum has the state alone. */
Test(technique, momentum_has_nothing_that_ends_with_its_step)
{
    static const struct line script[] = {
        { EVENT_ALLOC, 1, 4096, SETUP },     { EVENT_ALLOC, 2, 512, FORWARD },  { EVENT_ALLOC, 3, 4096, NULL },
        { EVENT_ALLOC, 4, 4096, OPTIMIZER }, { EVENT_ALLOC, 5, 4096, OPTIMIZER }, { EVENT_FREE, 5, 0, OPTIMIZER },
        { EVENT_FREE, 2, 0, NULL },          { EVENT_FREE, 3, 0, NULL },        { EVENT_ALLOC, 6, 512, FORWARD },
    };
    struct changed c;
    change(&c, program(script, 9), &(struct technique){ .optimizer = OPTIMIZER_MOMENTUM });
    cr_expect_eq(c.course.states_each, 1);
    cr_expect_eq(c.result.way, TECHNIQUE_EDITED);
    cr_expect_eq(c.result.peak.bytes, 3 * 4096 + 512, "a parameter, its gradient, its state, and the activation");
    changed_close(&c);
}

/* A step that makes its parameters anew: what it requests and keeps is no state alone. */
Test(technique, parameters_that_a_step_replaces_are_not_taken_for_states)
{
    static const struct line script[] = {
        { EVENT_ALLOC, 1, 4096, SETUP },     { EVENT_ALLOC, 2, 512, FORWARD }, { EVENT_ALLOC, 3, 4096, NULL },
        { EVENT_ALLOC, 4, 4096, OPTIMIZER }, { EVENT_FREE, 1, 0, OPTIMIZER },  { EVENT_FREE, 2, 0, NULL },
        { EVENT_FREE, 3, 0, OPTIMIZER },     { EVENT_ALLOC, 5, 512, FORWARD },
    };
    struct course course;
    struct technique_result result;
    struct err_detail err = { .text = "" };
    struct trace_reader *changed, *trace = program(script, 8);
    cr_assert_eq(course_read(trace, &course, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(technique_apply(&course, &(struct technique){ .optimizer = OPTIMIZER_SGD }, NULL, &changed, &result,
                                 &err), ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(err.text, "parameters anew"), "%s", err.text);
    course_close(&course);
    trace_close(trace);
}

Test(technique, without_stacks_or_the_start_nothing_is_estimated)
{
    static const struct line script[] = { { EVENT_ALLOC, 1, 4096, NULL } };
    struct course course;
    struct err_detail err;
    struct trace_reader *trace = program(script, 1);
    cr_expect_eq(course_read(trace, &course, &err), ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(err.text, "no Python stacks"), "%s", err.text);
    course_close(&course);
    trace_close(trace);
}

/* ---- errors on recorded pairs ---- */

static double percent_off(uint64_t estimated, uint64_t truth)
{
    const double off = 100 * ((double)estimated - (double)truth) / (double)truth;
    return off < 0 ? -off : off;
}

/* The table that people read says what the recorded pairs show: none is farther off, and some as far to a tenth. */
Test(technique, seen_errors_are_those_of_the_recorded_pairs)
{
    static const struct { enum technique_change change; const char *have, *want; struct technique how; } pairs[] = {
        { CHANGE_CHECKPOINTING, "gpt-fp32", "gpt-fp32-ckpt", { .checkpoint = "" } },
        { CHANGE_CHECKPOINTING, "gpt-bf16", "gpt-bf16-ckpt", { .checkpoint = "" } },
        { CHANGE_CHECKPOINTING, "mlp-nockpt", "mlp-ckpt", { .checkpoint = "" } },
        { CHANGE_ACCUMULATION, "gpt-eval-emptycache", "gpt-accum2", { .accumulate = 2 } },
        { CHANGE_OPTIMIZER, "mlp-adam", "mlp-sgd", { .optimizer = OPTIMIZER_MOMENTUM } },
        { CHANGE_OPTIMIZER, "mlp-sgd", "mlp-adam", { .optimizer = OPTIMIZER_ADAM } },
    };
    struct error_shares most[TECHNIQUE_CHANGES] = { { .reserved = 0 } };
    unsigned n[TECHNIQUE_CHANGES] = { 0 };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct error_shares *of = &most[pairs[i].change];
        struct trace_reader *want = sample(pairs[i].want);
        struct changed c;
        change(&c, sample(pairs[i].have), &pairs[i].how);
        const double live = percent_off(c.result.peak.bytes, trace_info(want)->peak_requested_bytes);
        const double reserved = percent_off(reserved_peak(c.trace), trace_info(want)->recorded_peak_reserved_bytes);
        of->live = live > of->live ? live : of->live;
        of->reserved = reserved > of->reserved ? reserved : of->reserved;
        n[pairs[i].change]++;
        trace_close(want);
        changed_close(&c);
    }
    for (enum technique_change change = 0; change < TECHNIQUE_CHANGES; change++) {
        const struct seen_error *e = seen_error_of(change);
        cr_expect_eq(e->n_pairs, n[change], "%s: %u pairs", e->words, n[change]);
        cr_expect(most[change].reserved <= e->of_pairs.reserved && e->of_pairs.reserved - most[change].reserved < 0.1,
                  "%s: reserved %f", e->words, most[change].reserved);
        cr_expect(most[change].live <= e->of_pairs.live && e->of_pairs.live - most[change].live < 0.1, "%s: live %f",
                  e->words, most[change].live);
    }
}

/* ---- the other changes, on made-up programs ---- */

#define RELU "relu torch/nn/functional.py:1700"
#define LEAKY "leaky_relu torch/nn/functional.py:1900"

/* What is live most, and how often a request is made, after a change. */
static void expect_change(const struct line *script, size_t n, const struct technique *how, uint64_t peak_bytes,
                          uint64_t n_requests)
{
    struct changed c;
    change(&c, program(script, n), how);
    cr_expect_eq(c.result.peak.bytes, peak_bytes, "%llu", (unsigned long long)c.result.peak.bytes);
    cr_expect_eq(trace_info(c.trace)->by_kind[EVENT_ALLOC], n_requests, "%llu",
                 (unsigned long long)trace_info(c.trace)->by_kind[EVENT_ALLOC]);
    cr_expect_eq(trace_info(c.trace)->peak_requested_bytes, c.result.peak.bytes);
    changed_close(&c);
}

/* The input of ReLU is needed no more: the result lies there. That of leaky ReLU lives on in the backward pass, and in
 * place it does not. */
Test(technique, in_place_the_result_takes_the_inputs_memory)
{
    static const struct line relu[] = {
        { EVENT_ALLOC, 1, 4096, SETUP }, { EVENT_ALLOC, 2, 8192, FORWARD }, { EVENT_ALLOC, 3, 8192, RELU },
        { EVENT_FREE, 2, 0, RELU },      { EVENT_ALLOC, 4, 4096, NULL },    { EVENT_FREE, 3, 0, NULL },
    };
    static const struct line leaky[] = {
        { EVENT_ALLOC, 1, 4096, SETUP }, { EVENT_ALLOC, 2, 8192, FORWARD }, { EVENT_ALLOC, 3, 8192, LEAKY },
        { EVENT_ALLOC, 4, 4096, NULL },  { EVENT_FREE, 3, 0, NULL },        { EVENT_FREE, 2, 0, NULL },
    };
    const struct technique how = { .is_in_place = true };
    expect_change(relu, 6, &how, 4096 + 8192 + 4096, 3);
    expect_change(leaky, 6, &how, 4096 + 8192 + 4096, 3);
}

/* The second pass's gradient is added to the first's and ends; its inputs replace the first's. */
Test(technique, accumulation_repeats_a_pass_and_keeps_one_gradient)
{
    static const struct line script[] = {
        { EVENT_ALLOC, 1, 4096, SETUP }, { EVENT_ALLOC, 2, 256, "<module> train.py:3" },
        { EVENT_ALLOC, 3, 512, FORWARD }, { EVENT_ALLOC, 4, 4096, NULL }, { EVENT_FREE, 3, 0, NULL },
        { EVENT_ALLOC, 5, 64, OPTIMIZER }, { EVENT_FREE, 5, 0, OPTIMIZER }, { EVENT_FREE, 4, 0, OPTIMIZER },
        { EVENT_FREE, 2, 0, "<module> train.py:9" },
    };
    expect_change(script, 9, &(struct technique){ .accumulate = 3 }, 3 * 4096 + 256 + 512, 5 + 2 * 3);
    expect_change(script, 9, &(struct technique){ .accumulate = 2, .is_split = true }, 3 * 4096 + 128 + 256, 5 + 3);
}

/* The activations of one layer are live at a time. */
Test(technique, a_checkpointed_call_keeps_its_result_alone)
{
    struct changed c;
    change(&c, sample("gpt-fp32"), &(struct technique){ .checkpoint = "" });
    cr_expect_eq(c.result.n_calls, 9, "three layers in three steps");
    cr_expect_lt(c.result.peak.by_category[CATEGORY_ACTIVATIONS],
                 trace_info(c.recorded)->peak_requested_bytes / 3);
    cr_expect_gt(trace_info(c.trace)->by_kind[EVENT_ALLOC], trace_info(c.recorded)->by_kind[EVENT_ALLOC]);
    changed_close(&c);
}

Test(technique, a_line_that_calls_no_module_and_a_program_that_checkpoints_are_refused)
{
    static const struct { const char *name, *line, *text; enum err e; } cases[] = {
        { "gpt-fp32", "train.py:1", "calls no module", ERR_USAGE },
        { "gpt-fp32-ckpt", "", "checkpoints already", ERR_UNSUPPORTED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trace_reader *trace = sample(cases[i].name), *changed;
        struct course course;
        struct technique_result result;
        struct err_detail err = { .text = "" };
        const struct technique how = { .checkpoint = cases[i].line };
        cr_assert_eq(course_read(trace, &course, &err), ERR_OK, "%s", err.text);
        cr_expect_eq(technique_apply(&course, &how, NULL, &changed, &result, &err), cases[i].e);
        cr_expect_not_null(strstr(err.text, cases[i].text), "%s", err.text);
        course_close(&course);
        trace_close(trace);
    }
}

/* Changes made together are those made one after the other. */
Test(technique, several_changes_work_together)
{
    const struct technique both = { .checkpoint = "", .accumulate = 2, .optimizer = OPTIMIZER_SGD };
    struct changed first, second, third, all;
    change(&first, sample("gpt-fp32"), &(struct technique){ .checkpoint = "" });
    change(&second, first.trace, &(struct technique){ .accumulate = 2 });
    change(&third, second.trace, &(struct technique){ .optimizer = OPTIMIZER_SGD });
    change(&all, sample("gpt-fp32"), &both);
    cr_expect_eq(all.result.peak.bytes, third.result.peak.bytes);
    cr_expect_eq(trace_info(all.trace)->events, trace_info(third.trace)->events);
    changed_close(&all);
    course_close(&third.course);
    trace_close(third.trace);
    course_close(&second.course);
    trace_close(second.trace);
    changed_close(&first);
}
