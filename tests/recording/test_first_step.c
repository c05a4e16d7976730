/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Recordings of one program that end at each place of its first step, with a refused request and without. */
#include "replay/recording/first_step.h"

#include "base/units.h"
#include "traces/trace.h"

#include <criterion/criterion.h>
#include <string.h>

#define MUST(call) cr_assert_eq((call), ERR_OK, "%s", err.text)

enum { LAYERS = 6, WEIGHT_MIB = 4, ACTIVATION_MIB = 2, BATCH_MIB = 1 };
enum line { SETUP, INPUT, FORWARD, BACKWARD, OPTIMIZER, LINES };

struct script {
    struct trace_writer *w;
    uint32_t stacks[LINES];
    uint64_t next;
    uint64_t layers[LAYERS], gradients[LAYERS];
};

#define TORCH "/lib/python3.11/site-packages/torch/"

static struct script script_open(void)
{
    struct script s = { .next = 1 };
    cr_assert_eq(trace_create(NULL, &s.w, NULL), ERR_OK);
    return s;
}

/* Written when it is first used, as importers do. The backward pass has none. */
static uint32_t stack_of(struct script *s, enum line line)
{
    static const char *const frames[LINES][2] = {
        [SETUP] = { "_apply " TORCH "nn/modules/module.py:900", "main /home/ada/train.py:1" },
        [INPUT] = { "rand /home/ada/parts.py:4", "main /home/ada/train.py:2" },
        [FORWARD] = { "_call_impl " TORCH "nn/modules/module.py:1790", "main /home/ada/train.py:3" },
        [OPTIMIZER] = { "step " TORCH "optim/adam.py:200", "main /home/ada/train.py:5" },
    };
    if (s->stacks[line] == TRACE_NO_STACK && frames[line][0] != NULL)
        cr_assert_eq(trace_put_stack(s->w, frames[line], 2, &s->stacks[line], NULL), ERR_OK);
    return s->stacks[line];
}

static void put(struct script *s, enum event_kind kind, enum line line, uint64_t name, uint64_t mib)
{
    const struct trace_record r = { .kind = kind, .ptr = name, .bytes = mib * MIB, .record = TRACE_NO_RECORD,
                                    .stack = kind == EVENT_FREE ? TRACE_NO_STACK : stack_of(s, line) };
    cr_assert_eq(trace_put(s->w, &r, NULL), ERR_OK);
}

static uint64_t request(struct script *s, enum line line, uint64_t mib)
{
    put(s, EVENT_ALLOC, line, s->next, mib);
    return s->next++;
}

static void setup(struct script *s)
{
    for (int i = 0; i < LAYERS; i++)
        request(s, SETUP, WEIGHT_MIB);
}

static void forward(struct script *s, uint64_t mib)
{
    request(s, INPUT, BATCH_MIB);
    for (int i = 0; i < LAYERS; i++)
        s->layers[i] = request(s, FORWARD, mib);
}

static void backward(struct script *s)
{
    for (int i = LAYERS; i-- > 0;) {
        s->gradients[i] = request(s, BACKWARD, WEIGHT_MIB);
        put(s, EVENT_FREE, BACKWARD, s->layers[i], 0);
    }
}

/* Adam's, with all denominators at once; and gradients that are set to None. */
static void optimize(struct script *s)
{
    uint64_t name;
    for (int i = 0; i < 2 * LAYERS; i++)
        request(s, OPTIMIZER, WEIGHT_MIB);
    name = request(s, OPTIMIZER, LAYERS * WEIGHT_MIB);
    put(s, EVENT_FREE, OPTIMIZER, name, 0);
    for (int i = 0; i < LAYERS; i++)
        put(s, EVENT_FREE, OPTIMIZER, s->gradients[i], 0);
}

static struct first_step read_step(struct script *s)
{
    struct err_detail err = { .text = "" };
    struct trace_reader *trace;
    struct coverage c;
    struct first_step f;
    MUST(trace_finish_open(s->w, "a script", &trace, &err));
    MUST(coverage_read(trace, &c, &err));
    MUST(first_step_read(trace, &c, &f, &err));
    trace_close(trace);
    return f;
}

static const char *said(const struct first_step *f, struct words *w)
{
    *w = (struct words){ .n = 0 };
    first_step_say(w, f);
    return w->text;
}

/* Nobody refused anything: somebody wrote the snapshot in the middle of the program. */
Test(first_step, a_recording_that_stops_in_the_forward_pass_tells_what_is_to_come)
{
    struct words w;
    struct script s = script_open();
    setup(&s);
    forward(&s, ACTIVATION_MIB);
    const struct first_step f = read_step(&s);
    cr_expect(f.is_cut);
    cr_expect_eq(f.reached, REACHED_FORWARD);
    cr_expect(f.to_come.is_told);
    cr_expect_eq(f.to_come.gradients, LAYERS * WEIGHT_MIB * MIB);
    cr_expect_eq(f.to_come.states, 2 * LAYERS * WEIGHT_MIB * MIB);
    cr_expect_eq(f.to_come.at_once, 4 * LAYERS * WEIGHT_MIB * MIB);
    cr_expect_neq(strstr(said(&f, &w), "ends in its first forward pass, or after it"), NULL, "%s", w.text);
    cr_expect_neq(strstr(w.text, "if it trains all weights: 24 MiB of gradients, and the states"), NULL, "%s", w.text);
    cr_expect_neq(strstr(w.text, "are then 96 MiB at once with Adam."), NULL, "%s", w.text);
}

Test(first_step, what_is_there_is_not_to_come_again)
{
    struct words w;
    struct script s = script_open();
    setup(&s);
    forward(&s, ACTIVATION_MIB);
    backward(&s);
    const struct first_step f = read_step(&s);
    cr_expect(f.is_cut);
    cr_expect_eq(f.reached, REACHED_BACKWARD);
    cr_expect_eq(f.to_come.gradients, 0);
    cr_expect_neq(strstr(said(&f, &w), "Still to come, if all weights learn: the states of the optimizer."), NULL,
                  "%s", w.text);
}

Test(first_step, a_refused_request_is_to_come_as_well)
{
    struct words w;
    struct script s = script_open();
    setup(&s);
    forward(&s, ACTIVATION_MIB);
    backward(&s);
    request(&s, OPTIMIZER, WEIGHT_MIB);
    put(&s, EVENT_OOM, OPTIMIZER, 0, WEIGHT_MIB);
    const struct first_step f = read_step(&s);
    cr_expect(f.is_cut && f.is_refused);
    cr_expect_eq(f.reached, REACHED_OPTIMIZER);
    cr_expect_neq(strstr(said(&f, &w), "Still to come, with what was refused: at least 44 MiB of states of Adam"), NULL,
                  "%s", w.text);
}

/* 24 of weights, 97 of a pass and the first gradient; then 48 of states beside that. */
Test(first_step, states_lie_beside_the_next_pass)
{
    struct words w;
    struct script large = script_open(), small = script_open();
    setup(&large);
    forward(&large, 16);
    backward(&large);
    optimize(&large);
    const struct first_step f = read_step(&large);
    cr_expect(f.is_cut);
    cr_expect_eq(f.next_bytes, (24 + 1 + 6 * 16 + 4 + 48) * MIB);
    cr_expect_neq(strstr(said(&f, &w), "with about 173 MiB live at once"), NULL, "%s", w.text);
    cr_expect_not(f.to_come.is_told, "all states are there");

    setup(&small);
    forward(&small, ACTIVATION_MIB);
    backward(&small);
    optimize(&small);
    const struct first_step g = read_step(&small);
    cr_expect_not(g.is_cut, "the optimizer's step takes more than the next pass will");
    cr_expect_str_empty(said(&g, &w));
}

Test(first_step, whole_steps_are_not_cut)
{
    struct script s = script_open();
    setup(&s);
    for (int i = 0; i < 2; i++) {
        forward(&s, 16);
        backward(&s);
        optimize(&s);
    }
    const struct first_step f = read_step(&s);
    cr_expect_not(f.is_cut);
    cr_expect_eq(f.reached, REACHED_STEPS);
}

/* A pass without gradients holds its output alone: nothing says that anything is trained. */
Test(first_step, one_pass_without_gradients_is_a_lower_bound_and_trains_nothing)
{
    struct words w;
    struct script s = script_open();
    setup(&s);
    forward(&s, ACTIVATION_MIB);
    for (int i = 0; i + 1 < LAYERS; i++)
        put(&s, EVENT_FREE, FORWARD, s.layers[i], 0);
    const struct first_step f = read_step(&s);
    cr_expect(f.is_cut);
    cr_expect_not(f.to_come.is_told);
    cr_expect_eq(strstr(said(&f, &w), "Still to come"), NULL, "%s", w.text);
}
