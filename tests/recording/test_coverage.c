/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* coverage: where a recording begins, how it ends, what was refused in it, and its whole steps. */
#include "tests/engine_rig.h"
#include "replay/recording/coverage.h"
#include "replay/recording/step_growth.h"

#include "traces/trace.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 6, BYTES = 1 << 20 };

/* ---- a program that trains: requests by the number they are named with ---- */

struct script {
    struct trace_writer *out;
    uint64_t time_ns, next;
};

static void put(struct script *s, enum event_kind kind, uint64_t ptr, uint64_t bytes)
{
    const struct trace_record r = { .kind = kind, .ptr = ptr, .bytes = bytes, .time_ns = s->time_ns += 1000,
                                    .record = TRACE_NO_RECORD };
    cr_assert_eq(trace_put(s->out, &r, NULL), ERR_OK);
}

static struct script script_open(void)
{
    struct script s = { .next = 1000 };
    cr_assert_eq(trace_create(NULL, &s.out, NULL), ERR_OK);
    return s;
}

static struct trace_reader *script_close(struct script *s)
{
    struct trace_reader *trace = NULL;
    cr_assert_eq(trace_finish_open(s->out, "script", &trace, NULL), ERR_OK);
    return trace;
}

/* Each layer takes a workspace and keeps an activation; `layers` of them. */
static void forward(struct script *s, unsigned layers)
{
    for (unsigned i = 0; i < layers; i++) {
        put(s, EVENT_ALLOC, 500, 2 * BYTES);
        put(s, EVENT_ALLOC, 100 + i, 3 * BYTES);
        put(s, EVENT_FREE, 500, 2 * BYTES);
    }
}

static void backward(struct script *s)
{
    for (unsigned i = LAYERS; i-- > 0;) {
        put(s, EVENT_ALLOC, 600, 4 * BYTES);
        put(s, EVENT_FREE, 100 + i, 3 * BYTES);
        put(s, EVENT_FREE, 600, 4 * BYTES);
    }
}

static void train(struct script *s, unsigned steps)
{
    for (unsigned i = 0; i < LAYERS; i++)
        put(s, EVENT_ALLOC, i, BYTES);
    for (unsigned i = 0; i < steps; i++) {
        forward(s, LAYERS);
        backward(s);
    }
}

static struct coverage covered(struct trace_reader *trace)
{
    struct coverage c;
    cr_assert_eq(coverage_read(trace, &c, NULL), ERR_OK);
    return c;
}

Test(coverage, whole_steps_are_counted_and_a_step_begun_is_none)
{
    for (unsigned layers = 0; layers < LAYERS; layers++) {
        struct script s = script_open();
        train(&s, 3);
        forward(&s, layers);
        struct trace_reader *trace = script_close(&s);
        const struct coverage c = covered(trace);
        cr_expect_eq(c.steps.how, STEPS_BY_REPETITION, "%u layers", layers);
        cr_expect_eq(c.steps.requests, 3 * LAYERS, "%u layers: %d", layers, (int)c.steps.requests);
        cr_expect_eq(c.steps.whole, 3, "%u layers: %d", layers, (int)c.steps.whole);
        cr_expect_eq(c.steps.growth_bytes, 0);
        cr_expect(coverage_has_whole_step(&c));
        trace_close(trace);
    }
}

/* Another batch size, which is refused memory on its way. */
/* Of four requests before the steps, and three steps of one request and its free. */
Test(coverage, a_run_is_told_apart_by_its_steps)
{
    struct trace_record records[32];
    size_t n = 0;
    struct err_detail err = {.text = ""};
    struct rig_trace t;
    struct lane lane;
    struct coverage c;
    struct replay_config cfg = {.threads = 1};
    struct trace_writer *w;
    uint32_t label;
    const struct policy_spec spec = bump_spec(BUMP_SOUND, 0);
    const struct device_config device = {.total_bytes = DEVICE_UNLIMITED, .alloc_ns = 7};
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    cr_assert_eq(trace_put_label(w, "step", 4, &label, &err), ERR_OK);
    for (uint64_t i = 1; i <= 4; i++)
        records[n++] = (struct trace_record){.kind = EVENT_ALLOC, .ptr = i, .bytes = 2 << 20};
    for (uint64_t step = 0; step < 3; step++) {
        records[n++] = (struct trace_record){.kind = EVENT_MARK, .label = label};
        for (uint64_t k = 0; k <= step / 2; k++) {           /* the last one has a second request */
            records[n++] = (struct trace_record){.kind = EVENT_ALLOC, .ptr = 10 + k, .bytes = 2 << 20};
            records[n++] = (struct trace_record){.kind = EVENT_FREE, .ptr = 10 + k};
        }
    }
    records[n++] = (struct trace_record){.kind = EVENT_MARK, .label = label};
    records[n++] = (struct trace_record){.kind = EVENT_ALLOC, .ptr = 20, .bytes = 2 << 20};
    cr_assert_eq(rig_trace_put(w, records, n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(rig_trace_finish(&t, w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(coverage_read(t.reader, &c, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(c.steps.whole, 3);
    cfg.n_borders = steps_borders(&c.steps, cfg.borders);
    cr_assert_eq(cfg.n_borders, 3);
    cr_assert_eq(lane_open(&spec, &device_sim, &device, t.reader, 0, &lane, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(replay_run(t.reader, &lane, 1, &cfg, &err), ERR_OK, "%s", err.text);
    const uint64_t calls[METER_PARTS] = {4, 1, 3};           /* each request takes a segment; none is given back */
    uint64_t before = 0;
    for (int i = 0; i < METER_PARTS; i++) {
        const struct meter_part *p = &lane.meter.parts[i];
        before += calls[i];
        cr_expect(p->is_whole, "part %d", i);
        cr_expect_eq(p->calls, calls[i], "part %d", i);
        cr_expect_eq(p->time_ns, 7 * calls[i], "part %d", i);
        cr_expect_eq(p->peak_reserved_bytes, before * (2 << 20), "part %d", i);
    }
    lane_close(&lane);
    rig_trace_close(&t);
}

/* Of steps that each leave a block behind, if `leaves` says so of their number. */
static struct step_growth growth_of(bool (*leaves)(unsigned), unsigned steps, uint64_t least)
{
    struct step_growth growth;
    struct script s = script_open();
    for (unsigned i = 0; i < steps; i++) {
        train(&s, 1);
        for (unsigned k = 0; k < LAYERS; k++)
            put(&s, EVENT_FREE, k, BYTES);
        put(&s, EVENT_ALLOC, s.next++, BYTES);
        if (!leaves(i))
            put(&s, EVENT_FREE, s.next - 1, BYTES);
    }
    struct trace_reader *trace = script_close(&s);
    const struct coverage c = covered(trace);
    cr_expect_eq(c.steps.whole, steps, "%d", (int)c.steps.whole);
    cr_assert_eq(step_growth_find(trace, &c.steps, least, &growth, NULL), ERR_OK);
    trace_close(trace);
    return growth;
}

static bool leaves_nothing(unsigned step)
{
    (void)step;
    return false;
}

static bool leaves_all(unsigned step)
{
    (void)step;
    return true;
}

static bool leaves_every_fourth(unsigned step)
{
    return step % 4 == 0;
}

static bool leaves_the_first_eight(unsigned step)
{
    return step < 8;
}

Test(coverage, a_program_settles_unless_the_later_steps_hold_more_than_the_earlier)
{
    cr_expect_eq(growth_of(leaves_nothing, 20, 5).bytes_per_step, 0);
    cr_expect_eq(growth_of(leaves_all, 20, 5).bytes_per_step, BYTES);
    cr_expect_eq(growth_of(leaves_all, 3, 5).bytes_per_step, BYTES, "fewer steps than are asked for");
    cr_expect_eq(growth_of(leaves_every_fourth, 32, 5).bytes_per_step, BYTES / 4);
    cr_expect_gt(growth_of(leaves_the_first_eight, 10, 5).bytes_per_step, 0);
    cr_expect_eq(growth_of(leaves_the_first_eight, 20, 5).bytes_per_step, 0, "what fills a buffer first settles");
}

Test(coverage, whole_steps_before_a_larger_one_count)
{
    struct script s = script_open();
    train(&s, 4);
    for (unsigned i = 0; i < LAYERS / 2; i++)
        put(&s, EVENT_ALLOC, 200 + i, 5 * BYTES);
    put(&s, EVENT_OOM, 0, 64 * BYTES);
    struct trace_reader *trace = script_close(&s);
    const struct coverage c = covered(trace);
    cr_expect_eq(c.ends, ENDS_REFUSED);
    cr_expect_eq(c.steps.whole, 4, "%d", (int)c.steps.whole);
    cr_expect_eq(c.steps.requests, 3 * LAYERS);
    trace_close(trace);
}

/* Steps that the program marks may differ in size. What the cut one needs is known only if they had as much live. */
Test(coverage, marked_steps_reach_a_refusal_at_what_they_had_live_at_once)
{
    static const struct { uint64_t asked, kept; bool reach; } cases[] = {
        { 8 * BYTES, 0, true }, { 9 * BYTES, 0, false }, { 8 * BYTES, BYTES, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct script s = script_open();
        uint32_t label;
        cr_assert_eq(trace_put_label(s.out, "step", 4, &label, NULL), ERR_OK);
        for (uint64_t step = 0; step < 3; step++) {
            const struct trace_record mark = { .kind = EVENT_MARK, .label = label, .time_ns = s.time_ns };
            cr_assert_eq(trace_put(s.out, &mark, NULL), ERR_OK);
            put(&s, EVENT_ALLOC, 9, step < 2 ? 8 * BYTES : BYTES);
            put(&s, EVENT_FREE, 9, step < 2 ? 8 * BYTES : BYTES);
            if (cases[i].kept > 0)
                put(&s, EVENT_ALLOC, 20 + step, cases[i].kept);
        }
        put(&s, EVENT_OOM, 0, cases[i].asked);
        struct trace_reader *trace = script_close(&s);
        const struct coverage c = covered(trace);
        cr_expect_eq(c.steps.how, STEPS_BY_MARK);
        cr_expect_eq(c.steps.whole, 2);
        cr_expect_eq(c.steps.reach_refusal, cases[i].reach, "case %zu", i);
        trace_close(trace);
    }
}

Test(coverage, the_layers_of_one_forward_pass_are_no_steps)
{
    struct script s = script_open();
    train(&s, 0);
    forward(&s, LAYERS);
    put(&s, EVENT_OOM, 0, 64 * BYTES);
    struct trace_reader *trace = script_close(&s);
    const struct coverage c = covered(trace);
    cr_expect_eq(c.steps.whole, 0);
    cr_expect_eq(c.ends, ENDS_REFUSED);
    cr_expect_eq(c.refused_bytes, 64 * BYTES);
    cr_expect(coverage_is_lower_bound(&c));
    cr_expect_not(coverage_has_whole_step(&c));
    trace_close(trace);
}

Test(coverage, frees_after_the_last_refusal_leave_it_the_end_and_a_request_does_not)
{
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        struct script s = script_open();
        train(&s, 1);
        put(&s, EVENT_ALLOC, 9, BYTES);
        put(&s, EVENT_OOM, 0, 64 * BYTES);
        put(&s, EVENT_OOM, 0, 32 * BYTES);
        put(&s, EVENT_FREE, 9, BYTES);
        if (goes_on)
            put(&s, EVENT_ALLOC, 9, BYTES);
        struct trace_reader *trace = script_close(&s);
        const struct coverage c = covered(trace);
        cr_expect_eq(c.ends, goes_on ? ENDS_OPEN : ENDS_REFUSED);
        cr_expect_eq(c.refusals, 2);
        cr_expect_eq(c.survived, goes_on ? 2 : 0);
        cr_expect(coverage_is_lower_bound(&c));
        trace_close(trace);
    }
}

Test(coverage, a_trace_from_an_empty_allocator_claims_no_end)
{
    struct script s = script_open();
    train(&s, 2);
    struct trace_reader *trace = script_close(&s);
    struct words said = { .n = 0 };
    const struct coverage c = covered(trace);
    cr_expect_eq(c.begins, BEGINS_EMPTY);
    cr_expect_eq(c.ends, ENDS_OPEN);
    cr_expect_not(coverage_is_lower_bound(&c));
    coverage_say(&said, &c);
    cr_expect_str_eq(said.text, "");
    trace_close(trace);
}

Test(coverage, an_interrupted_program_did_not_end_by_itself)
{
    struct script s = script_open();
    struct words said = { .n = 0 };
    cr_assert_eq(trace_put_meta(s.out, "ends", "interrupted", NULL), ERR_OK);
    put(&s, EVENT_ALLOC, 1, MIB);
    struct trace_reader *trace = script_close(&s);
    const struct coverage c = covered(trace);
    cr_expect_eq(c.ends, ENDS_INTERRUPTED);
    cr_expect_not(coverage_has_whole_step(&c));
    coverage_say(&said, &c);
    cr_expect(strncmp(said.text, "The program was interrupted: ", 29) == 0, "%s", said.text);
    trace_close(trace);
}

Test(coverage, what_the_recorder_saw_of_the_end_is_said)
{
    struct script s = script_open();
    cr_assert_eq(trace_put_meta(s.out, "begins", "cut", NULL), ERR_OK);
    cr_assert_eq(trace_put_meta(s.out, "ends", "exit", NULL), ERR_OK);
    train(&s, 1);
    struct trace_reader *trace = script_close(&s);
    const struct coverage c = covered(trace);
    cr_expect_eq(c.begins, BEGINS_CUT);
    cr_expect_eq(c.ends, ENDS_EXIT);
    cr_expect(coverage_is_lower_bound(&c), "what was lost may have needed more");
    trace_close(trace);
}
