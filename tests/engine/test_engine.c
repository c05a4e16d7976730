/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The engine: every event kind, refusals, controls, the start state, the audit, samples, threads. */
#include "tests/engine_rig.h"

#include "report/rows/sample_series.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ALLOC(p, n)     {.kind = EVENT_ALLOC, .ptr = (p), .bytes = (n), .record = TRACE_NO_RECORD}
#define FREE(p)         {.kind = EVENT_FREE, .ptr = (p), .record = TRACE_NO_RECORD}
#define REQUESTED(p)    {.kind = EVENT_FREE_REQUESTED, .ptr = (p), .record = TRACE_NO_RECORD}
#define COMPLETED(p)    {.kind = EVENT_FREE_COMPLETED, .ptr = (p), .record = TRACE_NO_RECORD}
#define OOM(n)          {.kind = EVENT_OOM, .bytes = (n), .record = TRACE_NO_RECORD}
#define FLUSH           {.kind = EVENT_FLUSH, .record = TRACE_NO_RECORD}
#define ALLOC_AT(ns, p, n) {.kind = EVENT_ALLOC, .time_ns = (ns), .ptr = (p), .bytes = (n), .record = TRACE_NO_RECORD}
#define FREE_AT(ns, p)  {.kind = EVENT_FREE, .time_ns = (ns), .ptr = (p), .record = TRACE_NO_RECORD}
#define CONTROL(k, p)   {.kind = EVENT_CONTROL, .ptr = (p), .record = TRACE_NO_RECORD, .control = {.kind = (k)}}
#define COUNT(array)    (sizeof(array) / sizeof((array)[0]))

/* One lane of bump over a list of records. */
struct one_run {
    struct rig_trace   trace;
    struct policy_spec spec;
    struct lane        lane;
};

static void run_open(struct one_run *r, const struct trace_record *records, size_t n, uint64_t total_bytes,
                     enum bump_fault fault, uint64_t fault_at)
{
    struct err_detail err = {.text = ""};
    struct device_config device = device_defaults();
    device.total_bytes = total_bytes;
    memset(r, 0, sizeof *r);
    r->spec = bump_spec(fault, fault_at);
    cr_assert_eq(rig_trace_open(&r->trace, records, n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(lane_open(&r->spec, &device_sim, &device, r->trace.reader, 0, &r->lane, &err), ERR_OK, "%s", err.text);
}

static void run_go(struct one_run *r, const struct replay_config *cfg)
{
    struct err_detail err = {.text = ""};
    cr_assert_eq(replay_run(r->trace.reader, &r->lane, 1, cfg, &err), ERR_OK, "%s", err.text);
}

static void run_close(struct one_run *r)
{
    lane_close(&r->lane);
    rig_trace_close(&r->trace);
}

/* A policy that keeps streams apart gives back what the flush names; stream 0 stands for all. */
Test(engine, a_flush_reaches_the_policy_with_its_stream)
{
    static const uint64_t flushed[] = {0x40, 0}, left_bytes[] = {4 * MIB, 0};
    for (int i = 0; i < 2; i++) {
        struct trace_record records[] = {ALLOC(1, 2 * MIB), ALLOC(2, 4 * MIB), FREE(1), FREE(2), FLUSH};
        records[0].stream = records[2].stream = 0x40;
        records[1].stream = records[3].stream = 0x80;
        records[4].stream = flushed[i];
        struct err_detail err = {.text = ""};
        const struct device_config device = device_defaults();
        struct one_run r = {.lane = {.spec = NULL}};
        cr_assert_eq(policy_spec_parse("cupy", &r.spec, &err), ERR_OK, "%s", err.text);
        cr_assert_eq(rig_trace_open(&r.trace, records, COUNT(records), &err), ERR_OK, "%s", err.text);
        cr_assert_eq(lane_open(&r.spec, &device_sim, &device, r.trace.reader, 0, &r.lane, &err), ERR_OK, "%s",
                     err.text);
        run_go(&r, &(struct replay_config){.audit = true});
        cr_expect_eq(r.lane.meter.now.reserved, left_bytes[i], "a flush of stream %llx",
                     (unsigned long long)flushed[i]);
        run_close(&r);
        policy_spec_close(&r.spec);
    }
}

/* A pool that the card has no room for: out of memory before the first event, and nothing else is wrong. */
Test(engine, a_refusal_of_what_a_policy_starts_with_comes_before_the_first_event)
{
    const struct trace_record records[] = {ALLOC(1, 1000), FREE(1)};
    struct err_detail err = {.text = ""};
    struct device_config device = device_defaults();
    struct one_run r = {.lane = {.spec = NULL}};
    device.total_bytes = 512 * MIB;
    cr_assert_eq(policy_spec_parse("rmm-pool:initial=1GiB", &r.spec, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(rig_trace_open(&r.trace, records, COUNT(records), &err), ERR_OK, "%s", err.text);
    cr_assert_eq(lane_open(&r.spec, &device_sim, &device, r.trace.reader, 0, &r.lane, &err), ERR_OK, "%s", err.text);
    run_go(&r, &(struct replay_config){.on_oom = OOM_SKIP});
    cr_expect_eq(r.lane.outcome, ERR_DEVICE_OOM);
    cr_expect_eq(r.lane.stopped_at, -1);
    cr_expect_eq(r.lane.events_done, 0);
    cr_expect_eq(r.lane.meter.ooms, 1);
    cr_expect_eq(r.lane.meter.first_oom.requested_bytes, 1 * GIB);
    cr_expect_eq(lane_failure(&r.lane, &err), ERR_OK, "a refusal is a result");
    cr_expect_eq(r.lane.meter.now.reserved, 0);
    run_close(&r);
    policy_spec_close(&r.spec);
}

Test(engine, gauges_and_peaks_are_exact)
{
    const struct trace_record records[] = {ALLOC(1, 1000), ALLOC(2, 3 * MIB), FREE(1), ALLOC(3, 100), FREE(2)};
    struct one_run r;
    run_open(&r, records, COUNT(records), DEVICE_UNLIMITED, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.audit = true});
    const struct meter *m = &r.lane.meter;
    cr_expect_eq(r.lane.outcome, ERR_OK);
    cr_expect_eq(r.lane.events_done, 5);
    cr_expect_eq(m->allocs, 3);
    cr_expect_eq(m->frees, 2);
    cr_expect_eq(m->now.requested, 100);
    cr_expect_eq(m->now.allocated, 512);
    cr_expect_eq(m->now.active, 512);
    cr_expect_eq(m->now.reserved, 6 * MIB);
    cr_expect_eq(m->peak.requested, 1000 + 3 * MIB);
    cr_expect_eq(m->peak.allocated, 1024 + 3 * MIB);
    cr_expect_eq(m->peak.reserved, 6 * MIB);
    cr_expect_eq(m->at_peak.requested, 1000 + 3 * MIB);
    cr_expect_eq(m->at_peak.allocated, 1024 + 3 * MIB);
    cr_expect_eq(m->at_peak_sample.event, 2, "the 2nd event made the peak, and nothing later is fuller");
    run_close(&r);
}

/* Reserved stays at its peak from the 1st event on; most is live after the 3rd, and again after the 5th. */
Test(engine, the_peak_is_the_first_of_its_moments_that_has_most_live)
{
    const struct trace_record records[] = {ALLOC(1, 1000), ALLOC(2, 1000), ALLOC(3, 5000), FREE(2), ALLOC(4, 1000)};
    struct one_run r;
    run_open(&r, records, COUNT(records), DEVICE_UNLIMITED, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.audit = true});
    const struct meter *m = &r.lane.meter;
    cr_expect_eq(m->peak.reserved, 2 * MIB);
    cr_expect_eq(m->at_peak_sample.event, 3);
    cr_expect_eq(m->at_peak.requested, 7000);
    cr_expect_eq(m->at_peak.reserved, 2 * MIB);
    run_close(&r);
}

Test(engine, a_requested_free_keeps_the_block_active_until_it_is_completed)
{
    const struct trace_record records[] = {ALLOC(1, 1000), REQUESTED(1), ALLOC(2, 512), COMPLETED(1)};
    struct one_run r;
    run_open(&r, records, 3, DEVICE_UNLIMITED, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.audit = true});
    cr_expect_eq(r.lane.meter.now.allocated, 512);
    cr_expect_eq(r.lane.meter.now.active, 1536);
    cr_expect_eq(r.lane.meter.now.requested, 1512, "requested shrinks at the completion");
    cr_expect_eq(r.lane.meter.frees, 0);
    cr_expect_eq(((struct bump *)r.lane.policy)->retires, 1);
    run_close(&r);

    run_open(&r, records, 4, DEVICE_UNLIMITED, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.audit = true});
    cr_expect_eq(r.lane.meter.now.active, 512);
    cr_expect_eq(r.lane.meter.now.requested, 512);
    cr_expect_eq(r.lane.meter.frees, 1);
    cr_expect_eq(((struct bump *)r.lane.policy)->frees, 1);
    run_close(&r);
}

Test(engine, a_free_that_the_policy_completed_early_is_not_completed_again)
{
    const struct trace_record records[] = {ALLOC(1, 1000), REQUESTED(1), ALLOC(2, 4 * MIB), COMPLETED(1), ALLOC(3, 8)};
    struct one_run r;
    run_open(&r, records, COUNT(records), 2 * MIB, BUMP_SOUND, 0);      /* the 4 MiB are refused: all frees are ended */
    run_go(&r, &(struct replay_config){.on_oom = OOM_SKIP, .audit = true});
    cr_expect_eq(r.lane.meter.ooms, 1);
    cr_expect_eq(r.lane.meter.frees, 1);
    cr_expect_eq(((struct bump *)r.lane.policy)->frees, 0, "its completion is skipped");
    cr_expect_eq(r.lane.meter.now.requested, 8);
    cr_expect_eq(r.lane.meter.now.allocated, 512);
    cr_expect_eq(r.lane.meter.now.active, 512);
    run_close(&r);
}

Test(engine, frees_that_end_within_a_request_count_in_the_peak_of_the_inactive_split)
{
    const struct trace_record records[] = {ALLOC(1, MIB), ALLOC(2, 512), REQUESTED(1), ALLOC(3, 512)};
    struct one_run r;
    run_open(&r, records, COUNT(records), DEVICE_UNLIMITED, BUMP_ENDS_FREES, 3);
    run_go(&r, &(struct replay_config){.audit = false});
    cr_expect_eq(r.lane.meter.now.active, 1024);
    cr_expect_eq(r.lane.meter.inactive_split_peak, 2 * MIB - 1024, "though the device was not called");
    run_close(&r);
}

Test(engine, a_refusal_stops_the_lane_and_says_where)
{
    const struct trace_record records[] = {ALLOC(1, 1 * MIB), ALLOC(2, 4 * MIB), FREE(2), ALLOC(3, 8)};
    struct one_run r;
    run_open(&r, records, COUNT(records), 2 * MIB, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.on_oom = OOM_STOP});
    cr_expect_eq(r.lane.outcome, ERR_DEVICE_OOM);
    cr_expect(r.lane.is_stopped);
    cr_expect_eq(r.lane.stopped_at, 1);
    cr_expect_eq(r.lane.events_done, 2);
    cr_expect_eq(r.lane.meter.first_oom.event, 1);
    cr_expect_eq(r.lane.meter.first_oom.requested_bytes, 4 * MIB);
    cr_expect_eq(r.lane.meter.first_oom.reserved_bytes, 2 * MIB);
    cr_expect_eq(r.lane.meter.first_oom.device_free_bytes, 0);
    run_close(&r);
}

Test(engine, a_skipped_request_and_its_free_leave_no_trace)
{
    const struct trace_record records[] = {ALLOC(1, 1 * MIB), ALLOC(2, 4 * MIB), FREE(2),      ALLOC(3, 8),
                                           ALLOC(4, 4 * MIB), REQUESTED(4),      COMPLETED(4), FREE(3), FREE(1)};
    struct one_run r;
    run_open(&r, records, COUNT(records), 2 * MIB, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.on_oom = OOM_SKIP, .audit = true});
    cr_expect_eq(r.lane.outcome, ERR_DEVICE_OOM);
    cr_expect_not(r.lane.is_stopped);
    cr_expect_eq(r.lane.events_done, trace_info(r.trace.reader)->events);
    cr_expect_eq(r.lane.meter.ooms, 2);
    cr_expect_eq(r.lane.meter.first_oom.event, 1);
    cr_expect_eq(r.lane.meter.allocs, 2);
    cr_expect_eq(r.lane.meter.frees, 2);
    cr_expect_eq(r.lane.meter.now.requested, 0);
    cr_expect_eq(r.lane.meter.now.active, 0);
    cr_expect_eq(r.lane.meter.split_bytes, 0);
    run_close(&r);
}

Test(engine, a_recorded_refusal_is_tried_again_and_given_back)
{
    const struct trace_record records[] = {ALLOC(1, 1 * MIB), OOM(6 * MIB), ALLOC(2, 8)};
    struct one_run r;
    run_open(&r, records, COUNT(records), 16 * MIB, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.audit = true});
    cr_expect_eq(r.lane.outcome, ERR_OK);
    cr_expect_eq(r.lane.meter.survived, 1);
    cr_expect_eq(r.lane.meter.allocs, 2);
    cr_expect_eq(r.lane.meter.frees, 0);
    cr_expect_eq(r.lane.meter.now.requested, 1 * MIB + 8);
    cr_expect_eq(r.lane.meter.peak.requested, 7 * MIB);
    run_close(&r);

    run_open(&r, records, COUNT(records), 4 * MIB, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.on_oom = OOM_SKIP});
    cr_expect_eq(r.lane.meter.survived, 0);
    cr_expect_eq(r.lane.meter.ooms, 1);
    cr_expect_eq(r.lane.meter.first_oom.event, 1);
    run_close(&r);
}

Test(engine, a_flush_and_controls_reach_the_policy)
{
    const struct trace_record records[] = {ALLOC(1, 8), CONTROL(CONTROL_USE, 1), FLUSH, CONTROL(CONTROL_RESET_PEAK, 0),
                                           CONTROL(CONTROL_RESET_PEAK, 0), FREE(1)};
    struct one_run r;
    run_open(&r, records, COUNT(records), DEVICE_UNLIMITED, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.audit = false});
    const struct bump *b = (const struct bump *)r.lane.policy;
    cr_expect_eq(r.lane.outcome, ERR_OK, "%s", r.lane.err.text);
    cr_expect_eq(b->flushes, 1);
    cr_expect_eq(b->controls, 3);
    cr_expect_eq(r.lane.unsupported[CONTROL_RESET_PEAK], 2);
    cr_expect_eq(r.lane.unsupported[CONTROL_USE], 0);
    run_close(&r);
}

Test(engine, a_control_that_fails_stops_its_lane_with_the_reason)
{
    const struct trace_record records[] = {ALLOC(1, 8), CONTROL(CONTROL_SETTINGS, 0), FREE(1)};
    struct one_run r;
    run_open(&r, records, COUNT(records), DEVICE_UNLIMITED, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.audit = false});
    cr_expect_eq(r.lane.outcome, ERR_USAGE);
    cr_expect_eq(r.lane.stopped_at, 1);
    cr_expect_not_null(strstr(r.lane.err.text, "settings"));
    run_close(&r);
}

Test(engine, the_audit_finds_every_kind_of_wrong_answer_at_its_event)
{
    const struct trace_record records[] = {ALLOC(1, 1024), ALLOC(2, 1024), FREE(1), ALLOC(3, 1024), ALLOC(4, 8)};
    const struct { enum bump_fault fault; uint64_t nth; int64_t event; const char *word; } faults[] = {
        {BUMP_OVERLAPS, 3, 3, "overlaps"},
        {BUMP_TOO_SMALL, 3, 3, "bytes"},
        {BUMP_OUTSIDE, 3, 3, "not inside"},
        {BUMP_UNKNOWN_SEGMENT, 3, 3, "segment"},
        {BUMP_FREES_LIVE, 1, 2, "under the live block"},
    };
    for (size_t i = 0; i < COUNT(faults); i++) {
        struct one_run r;
        struct err_detail err = {.text = ""};
        run_open(&r, records, COUNT(records), DEVICE_UNLIMITED, faults[i].fault, faults[i].nth);
        run_go(&r, &(struct replay_config){.audit = true});
        cr_expect_eq(r.lane.outcome, ERR_CORRUPT, "fault %zu", i);
        cr_expect_eq(lane_failure(&r.lane, &err), ERR_CORRUPT, "fault %zu", i);
        cr_expect_not_null(strstr(err.text, "failed at event"), "'%s'", err.text);
        cr_expect_eq(r.lane.stopped_at, faults[i].event, "fault %zu at %" PRId64, i, r.lane.stopped_at);
        cr_expect_not_null(strstr(r.lane.err.text, faults[i].word), "fault %zu: '%s'", i, r.lane.err.text);
        run_close(&r);
    }
}

Test(engine, an_answer_that_cannot_be_counted_is_refused_without_an_audit_too)
{
    const struct trace_record records[] = {ALLOC(1, 1024), FREE(1)};
    const enum bump_fault faults[] = {BUMP_TOO_SMALL, BUMP_UNKNOWN_SEGMENT};
    for (size_t i = 0; i < COUNT(faults); i++) {
        struct one_run r;
        run_open(&r, records, COUNT(records), DEVICE_UNLIMITED, faults[i], 1);
        run_go(&r, &(struct replay_config){.audit = false});
        cr_expect_eq(r.lane.outcome, ERR_CORRUPT);
        cr_expect_eq(r.lane.stopped_at, 0);
        run_close(&r);
    }
}

/* ---- the state before the first event ---- */

/* Live at the start, ascending by address: 1000 bytes, 3 MiB whose free is pending, 300 bytes. */
static void start_open(struct one_run *r, const struct trace_record *records, size_t n, uint64_t total_bytes)
{
    static const uint64_t no_pool[2] = {0, 0};
    const struct { uint64_t addr, requested; bool is_pending; } live[] = {
        {0x7000000000, 1000, false}, {0x7000200000, 3 * MIB, true}, {0x7000600000, 300, false},
    };
    struct err_detail err = {.text = ""};
    struct trace_writer *w;
    struct device_config device = device_defaults();
    device.total_bytes = total_bytes;
    memset(r, 0, sizeof *r);
    r->spec = bump_spec(BUMP_SOUND, 0);
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    trace_writer_info(w)->starts_mid_run = true;
    const struct trace_segment segment = {.addr = 0x7000000000, .bytes = 8 * MIB};
    cr_assert_eq(trace_put_start_segment(w, &segment, 0, no_pool, &err), ERR_OK, "%s", err.text);
    for (size_t i = 0; i < COUNT(live); i++) {
        const struct trace_block b = {.addr = live[i].addr, .bytes = align_up(live[i].requested, 512),
                                      .requested = live[i].requested, .is_pending = live[i].is_pending};
        cr_assert_eq(trace_put_start_block(w, &b, true, 0, no_pool, &err), ERR_OK, "%s", err.text);
    }
    cr_assert_eq(rig_trace_put(w, records, n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(rig_trace_finish(&r->trace, w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(lane_open(&r->spec, &device_sim, &device, r->trace.reader, 0, &r->lane, &err), ERR_OK, "%s", err.text);
}

Test(engine, what_was_live_at_the_start_is_placed_anew_in_order_of_address_and_then_retired)
{
    const struct trace_record records[] = {FREE(0x7000000000), COMPLETED(0x7000200000), ALLOC(0x7000000000, 8)};
    struct one_run r;
    start_open(&r, records, COUNT(records), DEVICE_UNLIMITED);
    run_go(&r, &(struct replay_config){.audit = true});
    const struct meter *m = &r.lane.meter;
    cr_expect_eq(r.lane.outcome, ERR_OK, "%s", r.lane.err.text);
    cr_expect_eq(r.lane.events_done, 3, "the start state is not counted");
    cr_expect_eq(m->peak.requested, 1000 + 3 * MIB + 300);
    cr_expect_eq(m->peak.reserved, 6 * MIB);
    cr_expect_eq(m->at_peak_sample.event, 0, "the peak was reached before the first event");
    cr_expect_eq(m->now.requested, 300 + 8);
    cr_expect_eq(m->now.active, 1024);
    cr_expect_eq(((const struct bump *)r.lane.policy)->retires, 1);
    cr_expect_eq(((const struct bump *)r.lane.policy)->frees, 2);
    run_close(&r);
}

Test(engine, a_start_state_that_does_not_fit_is_an_oom_before_the_first_event)
{
    const struct trace_record records[] = {FREE(0x7000000000), COMPLETED(0x7000200000), ALLOC(0x7000000000, 8)};
    struct one_run r;
    start_open(&r, records, COUNT(records), 2 * MIB);
    run_go(&r, &(struct replay_config){.on_oom = OOM_STOP});
    cr_expect_eq(r.lane.outcome, ERR_DEVICE_OOM);
    cr_expect_eq(r.lane.meter.first_oom.event, -1);
    cr_expect_eq(r.lane.stopped_at, -1);
    cr_expect_eq(r.lane.events_done, 0);
    run_close(&r);

    start_open(&r, records, COUNT(records), 2 * MIB);
    run_go(&r, &(struct replay_config){.on_oom = OOM_SKIP, .audit = true});
    cr_expect_eq(r.lane.meter.ooms, 1);
    cr_expect_eq(r.lane.events_done, 3);
    cr_expect_eq(r.lane.meter.now.requested, 308, "its pending free and completion are left out");
    cr_expect_eq(((const struct bump *)r.lane.policy)->retires, 0);
    run_close(&r);
}

Test(engine, a_recorded_state_that_does_not_fit_ends_that_lane_alone)
{
    const struct trace_record records[] = {FREE(0x7000000000), COMPLETED(0x7000200000), ALLOC(0x7000000000, 8)};
    static const uint64_t totals[] = {4 * MIB, 64 * MIB};
    struct device_config device = device_defaults();
    struct err_detail err = {.text = ""};
    struct lane lanes[COUNT(totals)];
    struct policy_spec pytorch;
    struct one_run r;
    start_open(&r, records, COUNT(records), DEVICE_UNLIMITED);
    cr_assert_eq(policy_spec_parse("pytorch", &pytorch, &err), ERR_OK, "%s", err.text);
    for (size_t i = 0; i < COUNT(totals); i++) {
        device.total_bytes = totals[i];
        cr_assert_eq(lane_open(&pytorch, &device_sim, &device, r.trace.reader, 0, &lanes[i], &err), ERR_OK);
    }
    const struct replay_config cfg = {.start = START_FAITHFUL, .on_oom = OOM_SKIP};
    cr_assert_eq(replay_run(r.trace.reader, lanes, COUNT(totals), &cfg, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(lanes[0].outcome, ERR_DEVICE_OOM);
    cr_expect(lanes[0].is_stopped, "also with skip: there is no state to go on from");
    cr_expect_eq(lanes[0].stopped_at, -1);
    cr_expect_eq(lanes[0].meter.first_oom.event, -1);
    cr_expect_eq(lanes[0].meter.first_oom.requested_bytes, 8 * MIB);
    cr_expect_eq(lanes[1].outcome, ERR_OK, "%s", lanes[1].err.text);
    cr_expect_eq(lanes[1].events_done, 3);
    for (size_t i = 0; i < COUNT(totals); i++)
        lane_close(&lanes[i]);
    policy_spec_close(&pytorch);
    run_close(&r);
}

Test(engine, a_recorded_state_is_measured_though_the_device_is_never_called)
{
    const struct trace_record records[] = {FREE(0x7000000000)};
    const struct replay_config cfg = {.start = START_FAITHFUL};
    const struct device_config device = device_defaults();
    struct err_detail err = {.text = ""};
    struct policy_spec pytorch;
    struct lane lane;
    struct one_run r;
    start_open(&r, records, COUNT(records), DEVICE_UNLIMITED);
    cr_assert_eq(policy_spec_parse("pytorch", &pytorch, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(lane_open(&pytorch, &device_sim, &device, r.trace.reader, 0, &lane, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(replay_run(r.trace.reader, &lane, 1, &cfg, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(lane.outcome, ERR_OK, "%s", lane.err.text);
    cr_expect_eq(lane.device->usage.calls, 0, "what stood was there already");
    cr_expect_eq(lane.meter.now.reserved, 8 * MIB);
    cr_expect_eq(lane.meter.peak.reserved, 8 * MIB);
    cr_expect_eq(lane.meter.at_peak_sample.event, 0);
    cr_expect_eq(lane.meter.at_peak.requested, 1000 + 3 * MIB + 300);
    cr_expect_eq(lane.meter.at_peak_sample.segments, 1);
    lane_close(&lane);
    policy_spec_close(&pytorch);
    run_close(&r);
}

/* ---- samples ---- */

static const char *label_text(const void *arg, uint32_t label)
{
    (void)arg;
    return label == 0 ? "step, \"one\"" : "?";
}

static void samples_of(const struct trace_record *records, size_t n, const struct replay_config *cfg, char *text,
                       size_t size)
{
    struct one_run r;
    struct sample_series series = { .at = NULL };
    const struct trace_labels labels = {.text = label_text};
    run_open(&r, records, n, DEVICE_UNLIMITED, BUMP_SOUND, 0);
    r.lane.sample = sample_series_add;
    r.lane.sample_arg = &series;
    run_go(&r, cfg);
    FILE *out = fmemopen(text, size, "w");
    sample_series_write(out, &series, "bump", &r.lane.meter.at_peak_sample, &labels);
    fclose(out);
    sample_series_close(&series);
    run_close(&r);
}

Test(engine, samples_come_by_number_of_events_with_the_peak_in_its_place)
{
    const struct trace_record records[] = {ALLOC_AT(0, 1, 512), FREE_AT(10, 1), ALLOC_AT(20, 2, 3 * MIB),
                                           FREE_AT(30, 2), ALLOC_AT(40, 3, 1)};
    char text[2048];
    samples_of(records, COUNT(records), &(struct replay_config){.sample_every_events = 2}, text, sizeof text);
    cr_expect_str_eq(text, "bump,start,0,0,0,0,0,0,0,0,0,\n"
                           "bump,sample,2,20,0,0,0,2097152,0,0,1,\n"
                           "bump,peak,3,20,3145728,3145728,3145728,6291456,1048576,0,2,\n"
                           "bump,sample,4,40,0,0,0,6291456,0,0,2,\n"
                           "bump,end,5,40,1,512,512,6291456,4193792,0,2,\n");
}

Test(engine, samples_come_by_time_each_before_the_event_that_is_not_earlier)
{
    const struct trace_record records[] = {ALLOC_AT(0, 1, 512), ALLOC_AT(9, 2, 512), ALLOC_AT(10, 3, 512),
                                           ALLOC_AT(55, 4, 512), FREE_AT(59, 4)};
    char text[2048];
    samples_of(records, COUNT(records), &(struct replay_config){.sample_every_ns = 10}, text, sizeof text);
    cr_expect_str_eq(text, "bump,start,0,0,0,0,0,0,0,0,0,\n"
                           "bump,sample,2,10,1024,1024,1024,2097152,2096128,0,1,\n"
                           "bump,sample,3,55,1536,1536,1536,2097152,2095616,0,1,\n"
                           "bump,peak,4,55,2048,2048,2048,2097152,2095104,0,1,\n"
                           "bump,end,5,59,1536,1536,1536,2097152,2095616,0,1,\n");
}

/* ---- many lanes ---- */

enum { RANDOM_EVENTS = 3000, RANDOM_LIVE = 200, RANDOM_LANES = 5 };

/* A program that allocates and frees at random; the seed is printed. */
static void random_records(struct trace_record *records, uint64_t seed)
{
    bool is_live[RANDOM_LIVE] = {false};
    uint64_t x = seed;
    printf("seed %" PRIu64 "\n", seed);
    for (size_t i = 0; i < RANDOM_EVENTS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const size_t k = x % RANDOM_LIVE;
        records[i] = (struct trace_record){
            .kind = is_live[k] ? EVENT_FREE : EVENT_ALLOC, .ptr = k + 1, .bytes = (x >> 20) % (3 * MIB) + 1,
            .time_ns = i, .record = TRACE_NO_RECORD,
        };
        is_live[k] = !is_live[k];
    }
}

Test(engine, any_number_of_threads_gives_the_same_results)
{
    static struct trace_record records[RANDOM_EVENTS];
    struct meter first[RANDOM_LANES];
    struct err_detail err = {.text = ""};
    struct rig_trace trace;
    random_records(records, 88172645463325252u);
    cr_assert_eq(rig_trace_open(&trace, records, RANDOM_EVENTS, &err), ERR_OK, "%s", err.text);
    const struct policy_spec spec = bump_spec(BUMP_SOUND, 0);
    for (unsigned threads = 1; threads <= 8; threads++) {
        struct lane lanes[RANDOM_LANES];
        for (unsigned i = 0; i < RANDOM_LANES; i++) {
            struct device_config device = device_defaults();
            device.total_bytes = (i + 1) * 400 * MIB;
            cr_assert_eq(lane_open(&spec, &device_sim, &device, trace.reader, 0, &lanes[i], &err), ERR_OK);
        }
        const struct replay_config cfg = {.threads = threads, .on_oom = OOM_SKIP, .audit = threads % 2 == 0};
        cr_assert_eq(replay_run(trace.reader, lanes, RANDOM_LANES, &cfg, &err), ERR_OK, "%s", err.text);
        for (unsigned i = 0; i < RANDOM_LANES; i++) {
            const struct meter *m = &lanes[i].meter;
            if (threads == 1)
                first[i] = *m;
            cr_expect_eq(memcmp(&m->peak, &first[i].peak, sizeof m->peak), 0, "lane %u, %u threads", i, threads);
            cr_expect_eq(memcmp(&m->now, &first[i].now, sizeof m->now), 0);
            cr_expect_eq(m->ooms, first[i].ooms);
            cr_expect_eq(m->inactive_split_peak, first[i].inactive_split_peak);
            cr_expect_eq(lanes[i].events_done, RANDOM_EVENTS);
            lane_close(&lanes[i]);
        }
    }
    cr_expect_gt(first[0].ooms, 0, "the smallest device was meant to be too small");
    rig_trace_close(&trace);
}

/* ---- policies that plan ahead ---- */

/* What the policy `prophet`, which is bump otherwise, was shown before the run. */
static struct {
    uint64_t shown, n, allocs, frees, bytes;
} foreseen;

static enum err prophet_foresee(struct policy *p, const struct event *ev, size_t n)
{
    cr_expect_eq(((struct bump *)p)->allocs, 0, "shown after the run began");
    foreseen.shown++;
    foreseen.n = n;
    for (size_t i = 0; i < n; i++) {
        foreseen.allocs += ev[i].kind == EVENT_ALLOC;
        foreseen.frees += ev[i].kind == EVENT_FREE || ev[i].kind == EVENT_FREE_COMPLETED;
        foreseen.bytes += ev[i].kind == EVENT_ALLOC ? ev[i].bytes : 0;
    }
    return ERR_OK;
}

/* Runs prophet twice over an open run's trace, and bump: all see the same, and end alike. */
static void expect_prophecy(struct one_run *bump, uint64_t n_start)
{
    struct policy_ops ops = policy_bump;
    struct policy_spec spec = bump->spec;
    struct device_config device = device_defaults();
    struct err_detail err = {.text = ""};
    const struct replay_config cfg = {.audit = true};
    ops.foresee = prophet_foresee;
    spec.ops = &ops;
    run_go(bump, &cfg);
    for (unsigned round = 0; round < 2; round++) {
        struct lane lane;
        memset(&foreseen, 0, sizeof foreseen);
        cr_assert_eq(lane_open(&spec, &device_sim, &device, bump->trace.reader, 0, &lane, &err), ERR_OK, "%s",
                     err.text);
        cr_assert_eq(replay_run(bump->trace.reader, &lane, 1, &cfg, &err), ERR_OK, "%s", err.text);
        cr_expect_eq(foreseen.shown, 1);
        cr_expect_eq(foreseen.n, n_start + lane.events_done);
        cr_expect_eq(foreseen.allocs, ((const struct bump *)lane.policy)->allocs);
        cr_expect_eq(foreseen.frees, ((const struct bump *)lane.policy)->frees);
        cr_expect_eq(lane.events_done, bump->lane.events_done);
        cr_expect_eq(memcmp(&lane.meter.peak, &bump->lane.meter.peak, sizeof lane.meter.peak), 0);
        cr_expect_eq(memcmp(&lane.meter.now, &bump->lane.meter.now, sizeof lane.meter.now), 0);
        lane_close(&lane);
    }
}

Test(engine, a_policy_that_plans_is_shown_the_whole_trace_and_then_runs_it)
{
    static struct trace_record records[RANDOM_EVENTS];
    struct one_run r;
    random_records(records, 88172645463325252u);
    run_open(&r, records, RANDOM_EVENTS, DEVICE_UNLIMITED, BUMP_SOUND, 0);
    expect_prophecy(&r, 0);
    run_close(&r);
}

Test(engine, a_policy_that_plans_is_shown_what_was_live_at_the_start_first)
{
    const struct trace_record records[] = {FREE(0x7000000000), COMPLETED(0x7000200000), ALLOC(0x7000000000, 8)};
    struct one_run r;
    start_open(&r, records, COUNT(records), DEVICE_UNLIMITED);
    expect_prophecy(&r, 4);
    cr_expect_eq(foreseen.bytes, 1000 + 3 * MIB + 300 + 8);
    run_close(&r);
}

Test(engine, a_policy_that_plans_is_shown_all_of_a_trace_of_many_chunks)
{
    enum { PAIRS = TRACE_CHUNK_EVENTS / 2 + 1000 };
    struct trace_record *records = calloc(PAIRS, 2 * sizeof *records);
    struct one_run r;
    cr_assert_not_null(records);
    for (uint64_t i = 0; i < PAIRS; i++) {
        records[2 * i] = (struct trace_record)ALLOC(i + 1, i % 5000 + 1);
        records[2 * i + 1] = (struct trace_record)FREE(i + 1);
    }
    run_open(&r, records, 2 * PAIRS, DEVICE_UNLIMITED, BUMP_SOUND, 0);
    free(records);
    expect_prophecy(&r, 0);
    cr_expect_eq(foreseen.n, 2 * PAIRS);
    run_close(&r);
}

Test(engine, a_trace_without_events_is_replayed)
{
    struct one_run r;
    run_open(&r, NULL, 0, DEVICE_UNLIMITED, BUMP_SOUND, 0);
    run_go(&r, &(struct replay_config){.audit = true, .sample_every_events = 1, .sample_every_ns = 1});
    cr_expect_eq(r.lane.outcome, ERR_OK);
    cr_expect_eq(r.lane.meter.peak.reserved, 0);
    run_close(&r);
}
