/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Explanations of refusals: the account sums to the byte, and the blocks that are named do stand in the way - they are
 * ended, and the request is made again.
 */
#include "replay/engine/explain_run.h"
#include "tests/engine_rig.h"
#include "tests/generated.h"
#include "tests/recorded_run.h"

#include <criterion/criterion.h>
#include <unistd.h>

/* One policy over one trace until the first refusal, explained. */
struct scene {
    struct policy_spec spec;
    struct lane lane;
    struct explain_run explain;
};

static void scene_run(struct scene *s, struct trace_reader *trace, const char *policy, const char *device,
                      uint64_t event)
{
    const struct replay_config cfg = { .on_oom = OOM_STOP, .threads = 1 };
    const struct device_ops *ops;
    struct device_config config;
    struct err_detail err = { .text = "" };
    bool has_total;
    *s = (struct scene){ .explain = { .event = event } };
    cr_assert_eq(policy_spec_parse(policy, &s->spec, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(device_parse(device, &config, &ops, &has_total, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(lane_open(&s->spec, ops, &config, trace, 0, &s->lane, &err), ERR_OK, "%s", err.text);
    s->lane.explain = &s->explain;
    cr_assert_eq(replay_run(trace, &s->lane, 1, &cfg, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(explain_run_finish(&s->explain, trace, &err), ERR_OK, "%s", err.text);
}

static void scene_close(struct scene *s)
{
    explain_run_close(&s->explain);
    lane_close(&s->lane);
    policy_spec_close(&s->spec);
}

static uint64_t parts_sum(const struct explain_parts *p)
{
    uint64_t sum = 0;
#define EXPLAIN_PART(name, meaning) sum += p->name;
    EXPLAIN_PARTS(EXPLAIN_PART)
#undef EXPLAIN_PART
    return sum;
}

static void expect_sums(const struct explanation *x, const char *name)
{
    uint64_t split = 0, whole = 0;
    cr_expect_eq(parts_sum(&x->parts), x->reserved_bytes, "%s: reserved", name);
    cr_expect_eq(x->context_bytes + x->others_bytes + x->reserved_bytes + (uint64_t)x->page_rounding_bytes +
                     x->free_bytes, x->total_bytes, "%s: the card", name);
    for (size_t i = 0; i < x->n_free; i++)
        *(x->free[i].is_whole ? &whole : &split) += x->free[i].bytes;
    cr_expect_eq(split, x->parts.split_free, "%s: free groups", name);
    cr_expect_eq(whole, x->parts.whole_free, "%s: whole groups", name);
}

/* Ends the named blocks and makes the request again. */
static enum err try_again(struct scene *s)
{
    const struct explanation *x = &s->explain.at_oom;
    struct policy *p = s->lane.policy;
    struct block b;
    for (size_t i = 0; i < x->n_blocks; i++) {
        const struct explain_block *block = &x->blocks[i];
        cr_assert_lt(block->slot, s->lane.n_slots, "a block of no request");
        const struct event end = { .kind = EVENT_FREE, .bytes = block->requested, .slot = block->slot,
                                   .stream = block->stream, .pool = block->pool };
        p->ops->free(p, &end, &s->lane.live[block->slot]);
    }
    const struct event again = { .kind = EVENT_ALLOC, .bytes = x->requested_bytes, .stream = x->stream,
                                 .pool = x->pool, .slot = s->lane.n_slots };
    return p->ops->alloc(p, &again, &b);
}

Test(explain, ending_the_named_blocks_lets_the_request_fit)
{
    static const char *const policies[] = {"best-fit", "pow2", "pytorch:gc=0.8", "pytorch:max_split_size_mb:32",
                                           "pytorch:roundup_power2_divisions:4", "pytorch:expandable_segments:True"};
    size_t n_merges = 0, n_releases = 0, n_unknown = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct trace_reader *trace = generated("mix:200", 4000, seed);
        for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
            char device[48], name[96];
            snprintf(device, sizeof device, "sim:%uMiB,context=64MiB,others=32MiB", 160 + 24 * (unsigned)(seed % 8));
            snprintf(name, sizeof name, "%s, seed %u", policies[i], (unsigned)seed);
            struct scene s;
            scene_run(&s, trace, policies[i], device, EXPLAIN_NO_EVENT);
            const struct explanation *x = &s.explain.at_oom;
            cr_expect_eq(x->is_taken, s.lane.meter.ooms > 0, "%s", name);
            if (x->is_taken)
                expect_sums(x, name);
            if (x->way != EXPLAIN_NO_WAY)
                cr_expect_eq(try_again(&s), ERR_OK, "%s: %zu blocks, by %s", name, x->n_blocks,
                             explain_way_name(x->way));
            n_merges += x->way == EXPLAIN_MERGE;
            n_releases += x->way == EXPLAIN_GIVE_BACK;
            n_unknown += x->is_taken && x->way == EXPLAIN_NO_WAY;
            scene_close(&s);
        }
        trace_close(trace);
    }
    cr_log_info("seeds 1 to 40: %zu by merging, %zu by releasing, %zu without a set", n_merges, n_releases, n_unknown);
    cr_expect_gt(n_merges, 0);
    cr_expect_gt(n_releases, 0);
    cr_expect_eq(n_unknown, 0, "a card this large has a set for every request");
}

Test(explain, rounds_of_530_and_270_MiB_name_the_blocks_that_pin)
{
    struct trace_reader *trace = generated("530-270", 0, 0);
    struct scene s;
    scene_run(&s, trace, "best-fit", "sim:2GiB,addresses=rising", EXPLAIN_NO_EVENT);
    const struct explanation *x = &s.explain.at_oom;
    expect_sums(x, "530-270");
    cr_expect_eq(x->parts.requested, 810 * MIB);
    cr_expect_eq(x->parts.split_free, 780 * MIB);
    cr_assert_eq(x->n_holes, 1);
    cr_expect_eq(x->holes[0].bytes, 260 * MIB);
    cr_expect_eq(x->holes[0].pin_bytes, 270 * MIB);
    cr_expect_eq(x->holes[0].n, 3);
    cr_expect_eq(x->largest_usable_bytes, 260 * MIB);
    cr_assert_eq(x->n_blocks, 1);
    cr_expect_eq(x->blocks[0].requested, 270 * MIB);
    cr_expect_eq(x->blocks[0].event, 2, "the first 270 MiB");
    cr_expect_gt(x->blocks[0].age_ns, 0);
    cr_expect_eq(try_again(&s), ERR_OK);
    scene_close(&s);
    trace_close(trace);
}

Test(explain, any_event_is_accounted_for_before_it_happens)
{
    struct trace_reader *trace = generated("530-270", 0, 0);
    for (uint64_t event = 0; event < 12; event++) {
        char name[32];
        struct scene s;
        snprintf(name, sizeof name, "event %u", (unsigned)event);
        scene_run(&s, trace, "best-fit", "sim:4GiB", event);
        const struct explanation *x = &s.explain.at_event;
        cr_expect(x->is_taken && !x->is_refusal, "%s", name);
        cr_expect_eq(x->event, (int64_t)event);
        cr_expect_eq(x->parts.requested, event % 3 == 1 ? (event / 3) * 270 * MIB + 530 * MIB
                                                        : (event / 3) * 270 * MIB, "%s", name);
        cr_expect(!s.explain.at_oom.is_taken);
        expect_sums(x, name);
        scene_close(&s);
    }
    trace_close(trace);
}

Test(explain, a_block_in_the_way_has_its_age_and_call_stack)
{
    static const char *const frames[] = {"forward model.py:12", "main train.py:3"};
    struct err_detail err = { .text = "" };
    struct rig_trace t = { .bytes = NULL };
    struct trace_writer *w;
    uint32_t stack;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    cr_assert_eq(trace_put_stack(w, frames, 2, &stack, &err), ERR_OK);
    const struct trace_record records[] = {
        {.kind = EVENT_ALLOC, .ptr = 1, .bytes = 20 * MIB, .record = TRACE_NO_RECORD},
        {.kind = EVENT_FREE, .ptr = 1, .time_ns = 1000, .record = TRACE_NO_RECORD},
        {.kind = EVENT_ALLOC, .ptr = 2, .bytes = 60 * MIB, .time_ns = 2000, .record = TRACE_NO_RECORD, .stack = stack},
        {.kind = EVENT_ALLOC, .ptr = 3, .bytes = 50 * MIB, .time_ns = 7000, .record = TRACE_NO_RECORD},
    };
    cr_assert_eq(rig_trace_put(w, records, 4, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(rig_trace_finish(&t, w, &err), ERR_OK, "%s", err.text);
    struct scene s;
    scene_run(&s, t.reader, "best-fit", "sim:100MiB", EXPLAIN_NO_EVENT);
    const struct explanation *x = &s.explain.at_oom;
    const char *const *got;
    cr_assert_eq(x->n_blocks, 1);
    cr_expect_eq(x->blocks[0].event, 2, "the slot's last request, not its first");
    cr_expect_eq(x->blocks[0].age_ns, 5000);
    cr_assert_eq(trace_stack(t.reader, x->blocks[0].stack, &got), 2);
    cr_expect_str_eq(got[0], frames[0]);
    scene_close(&s);
    rig_trace_close(&t);
}

Test(explain, what_a_policy_does_not_show_is_called_hidden)
{
    struct trace_reader *trace = generated("mix:4", 100, 1);
    const struct replay_config cfg = { .threads = 1 };
    struct device_config config = device_defaults();
    struct err_detail err = { .text = "" };
    struct explain_run explain = { .event = 50 };
    const struct policy_spec spec = bump_spec(BUMP_SOUND, 0);
    struct lane lane;
    cr_assert_eq(lane_open(&spec, &device_sim, &config, trace, 0, &lane, &err), ERR_OK, "%s", err.text);
    lane.explain = &explain;
    cr_assert_eq(replay_run(trace, &lane, 1, &cfg, &err), ERR_OK, "%s", err.text);
    cr_assert(explain.at_event.is_taken);
    cr_expect_not(explain.at_event.has_walk);
    cr_expect_gt(explain.at_event.reserved_bytes, 0);
    cr_expect_eq(explain.at_event.parts.hidden, explain.at_event.reserved_bytes);
    explain_run_close(&explain);
    lane_close(&lane);
    trace_close(trace);
}

Test(explain, the_unallocated_bytes_of_a_real_refusal_are_all_found)
{
    static const char path[] = GOLDEN_DIR "/counterfactual/unet/unet-default.pickle";
    struct trace_reader *trace = recorded_open(path, -1);
    struct scene s;
    scene_run(&s, trace, "pytorch", "sim:448MiB,packing=off", EXPLAIN_NO_EVENT);
    const struct explanation *x = &s.explain.at_oom;
    cr_assert(x->is_taken);
    expect_sums(x, "unet");
    char text[64];
    const double unallocated = (double)(x->parts.pending + x->parts.split_free + x->parts.whole_free);
    snprintf(text, sizeof text, "%.2f MiB is reserved by PyTorch but unallocated", unallocated / (double)MIB);
    cr_expect_eq(x->parts.hidden, 0);
    cr_expect_not_null(strstr(s.lane.meter.first_oom.refusal.text, text), "'%s' in: %s", text,
                       s.lane.meter.first_oom.refusal.text);
    cr_expect_not_null(strstr(text, "126.21 MiB"));
    cr_expect_eq(x->way, EXPLAIN_MERGE);
    cr_expect_eq(try_again(&s), ERR_OK);
    scene_close(&s);
    trace_close(trace);
}
