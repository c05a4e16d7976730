/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What-if switches: an inserted flush is the flush that the program might have made, and warming up comes first. */
#include "replay/program/what_if_options.h"
#include "tests/engine_rig.h"

#include <criterion/criterion.h>

enum { ROUNDS = 6 };

/* Rounds of a request that is given back, and one that grows; with a mark after each, and flushes where asked for. */
static void open_rounds(struct rig_trace *t, bool has_flush)
{
    struct err_detail err = { .text = "" };
    struct trace_writer *w;
    uint32_t step, other;
    *t = (struct rig_trace){ .bytes = NULL };
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    cr_assert_eq(trace_put_label(w, "step", 4, &step, &err), ERR_OK);
    cr_assert_eq(trace_put_label(w, "other", 5, &other, &err), ERR_OK);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const struct trace_record records[] = {
            {.kind = EVENT_ALLOC, .ptr = 1, .bytes = (20 + 10 * i) * MIB, .record = TRACE_NO_RECORD},
            {.kind = EVENT_FREE, .ptr = 1, .record = TRACE_NO_RECORD},
            {.kind = EVENT_MARK, .label = i % 2 == 0 ? step : other, .record = TRACE_NO_RECORD},
            {.kind = EVENT_FLUSH, .record = TRACE_NO_RECORD},
        };
        cr_assert_eq(rig_trace_put(w, records, has_flush && i % 2 == 0 ? 4 : 3, &err), ERR_OK, "%s", err.text);
    }
    cr_assert_eq(rig_trace_finish(t, w, &err), ERR_OK, "%s", err.text);
}

struct outcome {
    uint64_t segment_allocs, segment_frees, reserved_peak, allocs, frees;
};

static struct outcome run(struct trace_reader *trace, const struct what_if *what_if)
{
    const struct replay_config cfg = { .threads = 1, .what_if = *what_if, .audit = true };
    const struct device_config config = device_defaults();
    struct policy_spec spec;
    struct lane lane;
    struct err_detail err = { .text = "" };
    cr_assert_eq(policy_spec_parse("best-fit", &spec, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(lane_open(&spec, &device_sim, &config, trace, 0, &lane, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(replay_run(trace, &lane, 1, &cfg, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(lane.outcome, ERR_OK, "%s", lane.err.text);
    const struct outcome o = {
        .segment_allocs = lane.device->usage.segment_allocs, .segment_frees = lane.device->usage.segment_frees,
        .reserved_peak = lane.meter.peak.reserved, .allocs = lane.meter.allocs, .frees = lane.meter.frees,
    };
    lane_close(&lane);
    policy_spec_close(&spec);
    return o;
}

static enum err choose(const char *insert, const char *warm, const struct trace_reader *trace, struct what_if *out)
{
    const struct options o = { .insert = insert, .warm = warm };
    struct err_detail err = { .text = "" };
    const enum err e = what_if_choose(&o, trace, out, &err);
    cr_expect_eq(err.text[0] == '\0', e == ERR_OK);
    return e;
}

static void expect_same(struct outcome a, struct outcome b)
{
    cr_expect_eq(a.segment_allocs, b.segment_allocs);
    cr_expect_eq(a.segment_frees, b.segment_frees);
    cr_expect_eq(a.reserved_peak, b.reserved_peak);
    cr_expect_eq(a.allocs, b.allocs);
    cr_expect_eq(a.frees, b.frees);
}

Test(what_if, a_flush_at_marks_is_the_flush_that_the_trace_might_have_had)
{
    struct rig_trace plain, flushed;
    struct what_if w;
    open_rounds(&plain, false);
    open_rounds(&flushed, true);
    cr_assert_eq(choose("flush@mark:step", NULL, plain.reader, &w), ERR_OK);
    const struct outcome without = run(plain.reader, &(struct what_if){ .warm_bytes = 0 });
    const struct outcome with = run(plain.reader, &w);
    expect_same(with, run(flushed.reader, &(struct what_if){ .warm_bytes = 0 }));
    cr_expect_eq(with.segment_frees, 5, "one of the first round, two after the third and the fifth");
    cr_expect_eq(without.segment_frees, 0);
    cr_expect_lt(with.reserved_peak, without.reserved_peak);
    rig_trace_close(&plain);
    rig_trace_close(&flushed);
}

Test(what_if, a_flush_by_number_comes_in_front_of_each_multiple)
{
    struct rig_trace t;
    struct what_if w;
    open_rounds(&t, false);
    cr_assert_eq(choose("flush@every:3", NULL, t.reader, &w), ERR_OK);
    const struct outcome o = run(t.reader, &w);        /* 18 events: in front of 3, 6, 9, 12 and 15 */
    cr_expect_eq(o.segment_frees, 5);
    cr_expect_eq(o.reserved_peak, 70 * MIB);
    cr_assert_eq(choose("flush@every:1000", NULL, t.reader, &w), ERR_OK);
    expect_same(run(t.reader, &w), run(t.reader, &(struct what_if){ .warm_bytes = 0 }));
    rig_trace_close(&t);
}

Test(what_if, warming_up_comes_first_and_is_not_counted_as_the_trace)
{
    struct rig_trace t;
    struct what_if w;
    open_rounds(&t, false);
    cr_assert_eq(choose(NULL, "1GiB", t.reader, &w), ERR_OK);
    const struct outcome o = run(t.reader, &w);
    cr_expect_eq(o.segment_allocs, 1, "the warm gigabyte serves all rounds");
    cr_expect_eq(o.reserved_peak, GIB);
    cr_expect_eq(o.allocs, ROUNDS);
    cr_expect_eq(o.frees, ROUNDS);
    rig_trace_close(&t);
}

Test(what_if, what_is_no_switch_is_refused)
{
    static const char *const inserts[] = {"", "flush", "flush@every:", "flush@every:0", "flush@every:-1",
                                          "flush@every:99999999999999999999", "flush@mark:none", "flush@every:3x"};
    static const char *const warms[] = {"", "0", "x", "8GiBB", "-1"};
    struct rig_trace t;
    struct what_if w;
    open_rounds(&t, false);
    for (size_t i = 0; i < sizeof inserts / sizeof inserts[0]; i++)
        cr_expect_eq(choose(inserts[i], NULL, t.reader, &w), ERR_USAGE, "--insert '%s'", inserts[i]);
    for (size_t i = 0; i < sizeof warms / sizeof warms[0]; i++)
        cr_expect_eq(choose(NULL, warms[i], t.reader, &w), ERR_USAGE, "--warm '%s'", warms[i]);
    rig_trace_close(&t);
}
