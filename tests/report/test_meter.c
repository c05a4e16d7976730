/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The meter and the audit, held against counts made the slow way. */
#include "tests/engine_rig.h"
#include "tests/rig.h"

#include "replay/engine/audit.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003). */
static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* ---- the inactive split against a walk over all blocks ---- */

enum { WALK_SEGMENTS = 4096 };

struct walk_totals {
    uint64_t free_bytes[WALK_SEGMENTS];
    bool     has_active[WALK_SEGMENTS];
};

static void walk_add(void *arg, const struct block_view *b)
{
    struct walk_totals *t = arg;
    cr_assert_lt(b->segment, WALK_SEGMENTS);
    if (b->state == BLOCK_FREE)
        t->free_bytes[b->segment] += b->bytes;
    else if (b->state != BLOCK_UNMAPPED)
        t->has_active[b->segment] = true;
}

/* Looks at every sample whether the meter's number is the one that a walk gives. */
struct walk_check {
    const struct policy *policy;
    uint64_t largest_seen;
    size_t   n;
};

static enum err walk_sample(void *arg, const struct meter_sample *m)
{
    static struct walk_totals t;
    struct walk_check *w = arg;
    uint64_t bytes = 0;
    memset(&t, 0, sizeof t);
    cr_assert_eq(w->policy->ops->walk(w->policy, walk_add, &t), ERR_OK);
    for (size_t i = 0; i < WALK_SEGMENTS; i++)
        bytes += t.has_active[i] ? t.free_bytes[i] : 0;
    cr_assert_eq(m->inactive_split, bytes, "after %" PRIu64 " events: %" PRIu64 ", by the blocks %" PRIu64, m->event,
                 m->inactive_split, bytes);
    w->largest_seen = bytes > w->largest_seen ? bytes : w->largest_seen;
    w->n++;
    return ERR_OK;
}

enum { PROGRAM_EVENTS = 4000, PROGRAM_LIVE = 120 };

/* Requests of all sizes and frees, some of them completed later, on two streams, with a flush now and then. */
static void program(struct trace_record *records, uint64_t seed)
{
    enum { VACANT, LIVE, PENDING } state[PROGRAM_LIVE] = {VACANT};
    uint64_t x = seed;
    printf("seed %" PRIu64 "\n", seed);
    for (size_t i = 0; i < PROGRAM_EVENTS; i++) {
        const uint64_t r = next_random(&x);
        const size_t k = r % PROGRAM_LIVE;
        struct trace_record *to = &records[i];
        *to = (struct trace_record){.time_ns = i, .ptr = k + 1, .stream = k % 2, .record = TRACE_NO_RECORD};
        if (r % 997 == 0) {
            to->kind = EVENT_FLUSH;
        } else if (state[k] == VACANT) {
            to->kind = EVENT_ALLOC;
            to->bytes = (r >> 40) % (UINT64_C(1) << ((r >> 8) % 25)) + 1;
            state[k] = LIVE;
        } else if (state[k] == LIVE) {
            to->kind = (r >> 20) % 3 == 0 ? EVENT_FREE_REQUESTED : EVENT_FREE;
            state[k] = to->kind == EVENT_FREE ? VACANT : PENDING;
        } else {
            to->kind = EVENT_FREE_COMPLETED;
            state[k] = VACANT;
        }
    }
}

Test(meter, the_inactive_split_is_what_a_walk_over_all_blocks_finds)
{
    static struct trace_record records[PROGRAM_EVENTS];
    const uint64_t totals[] = {DEVICE_UNLIMITED, 120 * MIB};
    char typed[RIG_SPEC_MAX];
    size_t n_compared = 0;
    for (size_t i = 0; rig_spec_at(i, typed); i++) {
        for (size_t k = 0; k < 2; k++) {
            struct err_detail err = {.text = ""};
            struct policy_spec spec;
            struct rig_trace trace;
            struct lane lane;
            struct device_config device = device_defaults();
            device.total_bytes = totals[k];
            program(records, 7 + i);
            const char *suited = rig_suited_spec(typed, k == 0 ? 0 : totals[k]);
            cr_assert_eq(policy_spec_parse(suited, &spec, &err), ERR_OK, "%s", err.text);
            cr_assert_eq(rig_trace_open(&trace, records, PROGRAM_EVENTS, &err), ERR_OK, "%s", err.text);
            cr_assert_eq(lane_open(&spec, &device_sim, &device, trace.reader, 0, &lane, &err), ERR_OK, "%s", err.text);
            struct walk_check check = {.policy = lane.policy};
            if (lane.policy->ops->walk != NULL) {
                const struct replay_config cfg = {.sample_every_events = 1, .on_oom = OOM_SKIP, .audit = true};
                lane.sample = walk_sample;
                lane.sample_arg = &check;
                cr_assert_eq(replay_run(trace.reader, &lane, 1, &cfg, &err), ERR_OK, "%s", err.text);
                cr_expect(lane.outcome == ERR_OK || lane.outcome == ERR_DEVICE_OOM, "%s: %s", typed, lane.err.text);
                cr_expect_geq(lane.meter.inactive_split_peak, check.largest_seen);
                cr_expect_eq(check.n, lane.events_done + 1, "a sample before every event and one at the end");
                n_compared += check.n;
            }
            lane_close(&lane);
            rig_trace_close(&trace);
            policy_spec_close(&spec);
        }
    }
    cr_expect_gt(n_compared, 10 * PROGRAM_EVENTS, "hardly any policy has a walk");
}

/* ---- memory that comes and goes behind a range ---- */

Test(meter, memory_mapped_behind_active_blocks_counts_as_inactive_split)
{
    struct device *device;
    struct device_config cfg = device_defaults();
    struct segment range;
    struct meter m = {.allocs = 0};
    uint32_t phys[2];
    static const struct policy_ops no_ops = {.name = "none"};
    cr_assert_eq(device_open(&device_sim, &cfg, &device, NULL), ERR_OK);
    cr_assert_eq(device_range_reserve(device, 64 * MIB, &range), ERR_OK);
    const struct policy p = {.ops = &no_ops, .device = device};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(device_phys_create(device, 2 * MIB, &phys[i]), ERR_OK);
        cr_assert_eq(device_map(device, &range, (uint64_t)i * 2 * MIB, 2 * MIB, phys[i]), ERR_OK);
        if (i == 0) {
            const struct block b = {.addr = range.addr, .bytes = 512, .segment = range.id};
            cr_assert_eq(meter_grow(&m, device, range.id, NULL), ERR_OK);
            cr_expect(meter_alloc(&m, device, 500, &b), "to be settled: its segment was idle");
        }
        meter_settle(&m, &p, (uint64_t)i + 1, 0);
        cr_expect_eq(meter_inactive_split(&m), (uint64_t)(i + 1) * 2 * MIB - 512);
    }
    cr_expect_eq(m.at_peak.reserved, 4 * MIB);
    cr_expect_eq(m.at_peak_sample.event, 2);
    device_unmap(device, &range, 2 * MIB, 2 * MIB);
    meter_settle(&m, &p, 3, 0);
    cr_expect_eq(meter_inactive_split(&m), 2 * MIB - 512);
    cr_expect_eq(m.now.reserved, device->usage.reserved_bytes);
    cr_expect_eq(m.inactive_split_peak, 4 * MIB - 512);
    meter_close(&m);
    device_phys_destroy(device, phys[1], 2 * MIB);
    device_close(device);
}

Test(meter, a_segment_id_that_the_device_never_gave_out_is_refused)
{
    struct device *device;
    struct device_config cfg = device_defaults();
    struct meter m = {.allocs = 0};
    struct err_detail err = {.text = ""};
    cr_assert_eq(device_open(&device_sim, &cfg, &device, NULL), ERR_OK);
    cr_expect_eq(meter_grow(&m, device, 0, &err), ERR_CORRUPT);
    cr_expect_eq(meter_grow(&m, device, UINT32_MAX, &err), ERR_CORRUPT);
    cr_expect_not_null(strstr(err.text, "segment"));
    meter_close(&m);
    device_close(device);
}

/* ---- the audit against all pairs ---- */

enum { AUDIT_SLOTS = 64, AUDIT_STEPS = 200000, AUDIT_SPACE = 256 };

Test(audit, overlap_is_found_exactly_where_all_pairs_find_it)
{
    struct device *device;
    struct device_config cfg = device_defaults();
    struct segment seg;
    struct audit *audit;
    struct block live[AUDIT_SLOTS] = {{.bytes = 0}};
    uint64_t x = 424242, n_found = 0;
    printf("seed %" PRIu64 "\n", x);
    cr_assert_eq(device_open(&device_sim, &cfg, &device, NULL), ERR_OK);
    cr_assert_eq(device_segment_alloc(device, AUDIT_SPACE + 16, &seg), ERR_OK);
    cr_assert_eq(audit_create(AUDIT_SLOTS, device, &audit), ERR_OK);
    for (int step = 0; step < AUDIT_STEPS; step++) {
        const uint64_t r = next_random(&x);
        const uint32_t slot = r % AUDIT_SLOTS;
        if (live[slot].bytes != 0) {
            audit_free(audit, slot);
            live[slot].bytes = 0;
            continue;
        }
        const uint64_t addr = seg.addr + (r >> 8) % AUDIT_SPACE;
        const struct block b = {.addr = addr, .bytes = (r >> 32) % 8 + 1, .segment = seg.id};
        bool is_overlapping = false;
        for (size_t i = 0; i < AUDIT_SLOTS; i++)
            is_overlapping |= live[i].bytes != 0 && addr < live[i].addr + live[i].bytes &&
                              live[i].addr < addr + b.bytes;
        const enum err e = audit_alloc(audit, slot, b.bytes, &b, NULL);
        cr_assert_eq(e, is_overlapping ? ERR_CORRUPT : ERR_OK, "step %d", step);
        if (e == ERR_OK)
            live[slot] = b;
        n_found += is_overlapping;
    }
    cr_expect_gt(n_found, AUDIT_STEPS / 20);
    cr_expect_lt(n_found, AUDIT_STEPS - AUDIT_STEPS / 20);
    audit_destroy(audit);
    device_close(device);
}

Test(audit, a_block_is_inside_its_segment_to_the_byte)
{
    struct device *device;
    struct device_config cfg = device_defaults();
    struct segment seg;
    struct audit *audit;
    cr_assert_eq(device_open(&device_sim, &cfg, &device, NULL), ERR_OK);
    cr_assert_eq(device_segment_alloc(device, 2 * MIB, &seg), ERR_OK);
    cr_assert_eq(audit_create(2, device, &audit), ERR_OK);
    const struct { uint64_t addr, bytes; enum err expected; } cases[] = {
        {seg.addr, 2 * MIB, ERR_OK},         {seg.addr, 2 * MIB + 1, ERR_CORRUPT},
        {seg.addr - 1, 1, ERR_CORRUPT},      {seg.addr + 2 * MIB - 1, 1, ERR_OK},
        {seg.addr + 2 * MIB, 1, ERR_CORRUPT}, {seg.addr + 1, UINT64_MAX, ERR_CORRUPT},
        {UINT64_MAX, 1, ERR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct block b = {.addr = cases[i].addr, .bytes = cases[i].bytes, .segment = seg.id};
        cr_expect_eq(audit_alloc(audit, 0, 1, &b, NULL), cases[i].expected, "case %zu", i);
        audit_free(audit, 0);
    }
    device_segment_free(device, &seg);
    const struct block gone = {.addr = seg.addr, .bytes = 512, .segment = seg.id};
    cr_expect_eq(audit_alloc(audit, 1, 1, &gone, NULL), ERR_CORRUPT, "its segment was given back");
    audit_destroy(audit);
    device_close(device);
}
