/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Changed copies, and the smallest card, each beside a slower or a known answer. */
#include "replay/trials/altered_trace.h"
#include "replay/advise/fit.h"
#include "replay/results/fresh_start.h"
#include "tests/engine_rig.h"
#include "tests/generated.h"
#include "tests/recorded_run.h"
#include "tests/whole_trace.h"

#include <criterion/criterion.h>
#include <unistd.h>

#define MUST(call) cr_assert_eq((call), ERR_OK, "%s", err.text)

/* ---- changed copies ---- */

Test(rewrite, sizes_move_by_no_more_than_asked_and_kinds_stay)
{
    struct err_detail err = { .text = "" };
    struct trace_reader *r = generated("mix:100", 5000, 3), *copy;
    const struct rewrite how = { .seed = 7, .percent = 2, .rounds = 1, .events = UINT64_MAX };
    MUST(trace_rewrite(r, &how, &copy, &err));
    size_t n, n_copy, n_moved = 0;
    struct event *a = events_of(r, &n), *b = events_of(copy, &n_copy);
    cr_assert_eq(n, n_copy);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(a[i].kind, b[i].kind);
        cr_assert_leq(b[i].bytes, a[i].bytes + a[i].bytes / 50);
        cr_assert_geq(b[i].bytes, a[i].bytes - a[i].bytes / 50);
        n_moved += a[i].bytes != b[i].bytes;
    }
    cr_expect_gt(n_moved, n / 2);
    free(a);
    free(b);
    trace_close(copy);
    trace_close(r);
}

/* As where a program's input changes its shape; what repeats itself may have another. */
Test(rewrite, equal_sizes_move_alike_in_a_round_and_otherwise_in_the_next)
{
    struct err_detail err = { .text = "" };
    struct trace_reader *r = generated("530-270", 0, 0), *copy;
    const struct rewrite how = { .seed = 7, .percent = 2, .rounds = 2, .events = UINT64_MAX };
    uint64_t size[2][2] = { { 0 } };
    MUST(trace_rewrite(r, &how, &copy, &err));
    size_t n, n_copy;
    struct event *a = events_of(r, &n), *b = events_of(copy, &n_copy);
    cr_assert_geq(n_copy, 2 * n);
    for (size_t i = 0; i < 2 * n; i++) {
        const struct event *from = &a[i % n], *to = &b[i < n ? i : n_copy - 2 * n + i];
        uint64_t *known = &size[i / n][from->bytes == 530 * MIB];
        *known = *known == 0 ? to->bytes : *known;
        cr_expect_eq(to->bytes, *known, "event %zu", i);
    }
    cr_expect_neq(size[0][0], size[1][0]);
    cr_expect_neq(size[0][1], size[1][1]);
    free(a);
    free(b);
    trace_close(copy);
    trace_close(r);
}

Test(rewrite, a_second_round_begins_with_nothing_live)
{
    struct err_detail err = { .text = "" };
    struct trace_reader *r = generated("530-270", 0, 0), *copy;
    MUST(trace_rewrite(r, &(struct rewrite){ .rounds = 2, .events = UINT64_MAX }, &copy, &err));
    cr_expect_eq(trace_info(copy)->by_kind[EVENT_ALLOC], 2 * trace_info(r)->by_kind[EVENT_ALLOC]);
    cr_expect_eq(bounds_of(copy).live_bytes, 1340 * MIB);
    trace_close(copy);
    trace_close(r);
}

Test(rewrite, a_copy_ends_where_it_is_cut)
{
    struct err_detail err = { .text = "" };
    struct trace_reader *r = generated("530-270", 0, 0), *copy;
    MUST(trace_rewrite(r, &(struct rewrite){ .rounds = 1, .events = 4 }, &copy, &err));
    cr_expect_eq(trace_info(copy)->events, 4);
    trace_close(copy);
    trace_close(r);
}

/* ---- a start in mid-run ---- */

/* Two segments of 6 MiB in all; 3 MiB and 1000 bytes are live in them, and a block is cached. */
static struct trace_reader *mid_run_open(void)
{
    static const uint64_t no_pool[2] = { 0, 0 }, base = 0x7000000000;
    static const struct { uint64_t at, bytes, requested; bool is_live; } blocks[] = {
        { 0, 1 * MIB, 1000, true }, { 1 * MIB, 1 * MIB, 1 * MIB, false }, { 2 * MIB, 4 * MIB, 3 * MIB, true },
    };
    const struct trace_segment segments[] = { { .addr = base, .bytes = 2 * MIB },
                                              { .addr = base + 2 * MIB, .bytes = 4 * MIB } };
    struct err_detail err = { .text = "" };
    struct trace_writer *w;
    struct trace_reader *r;
    MUST(trace_create(NULL, &w, &err));
    trace_writer_info(w)->starts_mid_run = true;
    for (size_t i = 0; i < 2; i++)
        MUST(trace_put_start_segment(w, &segments[i], 0, no_pool, &err));
    for (size_t i = 0; i < 3; i++) {
        const struct trace_block b = { .addr = base + blocks[i].at, .bytes = blocks[i].bytes,
                                       .requested = blocks[i].requested, .segment = i < 2 ? 0 : 1 };
        MUST(trace_put_start_block(w, &b, blocks[i].is_live, 0, no_pool, &err));
    }
    MUST(trace_finish_open(w, "in mid-run", &r, &err));
    return r;
}

static void expect_start(struct trace_reader *r, const char *json)
{
    char *text;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    struct json_writer w = json_writer(to);
    w.is_compact = true;
    json_put_object(&w, NULL);
    json_put_object(&w, "start");
    start_state_json(&w, r);
    json_end_object(&w);
    json_end_object(&w);
    fclose(to);
    cr_expect_not_null(strstr(text, json), "%s", text);
    free(text);
    trace_close(r);
}

Test(fresh_start, what_is_live_before_the_first_event_is_told)
{
    expect_start(mid_run_open(), "{\"state\":\"mid-run\",\"is_placed_anew\":true,\"live_requests\":2,"
                                 "\"live_bytes\":3146728,\"recorded_reserved_bytes\":6291456}");
    expect_start(generated("530-270", 0, 0), "{\"state\":\"empty\",\"is_placed_anew\":false,\"live_requests\":0,");
}

/* ---- the smallest card ---- */

static bool runs_on(struct trace_reader *r, const struct policy_spec *spec, uint64_t total_bytes)
{
    struct err_detail err = { .text = "" };
    const struct replay_config cfg = { .threads = 1 };
    struct trial t = { .spec = spec, .device = device_defaults() };
    t.device.total_bytes = total_bytes;
    MUST(trials_run(r, &device_sim, &t, 1, &cfg, &err));
    return t.fits;
}

static struct fit fit_of(struct trace_reader *r, const char *policy, const char *device, struct policy_spec *spec)
{
    struct err_detail err = { .text = "" };
    const struct replay_config cfg = { .threads = 2 };
    struct device_choice choice;
    struct fit f;
    MUST(policy_spec_parse(policy, spec, &err));
    MUST(device_choose(device, r, &choice, &err));
    MUST(fit_find(r, spec, &choice, bounds_of(r).live_bytes, &cfg, &f, &err));
    return f;
}

Test(fit, the_smallest_card_is_that_of_a_search_one_by_one)
{
    static const char *const policies[] = { "best-fit", "pytorch:expandable", "pytorch:max-split=32MiB", "pow2",
                                            "none" };
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct trace_reader *r = generated("mix:40", 1500, seed);
            struct policy_spec spec;
            const struct fit f = fit_of(r, policies[i], "sim", &spec);
            uint64_t least = align_up(bounds_of(r).live_bytes, FIT_GRANULE_BYTES);
            while (!runs_on(r, &spec, least))
                least += FIT_GRANULE_BYTES;
            cr_expect_eq(f.least_running_bytes, least, "%s, seed %" PRIu64 ": %" PRIu64 " and %" PRIu64, policies[i],
                         seed, f.least_running_bytes, least);
            cr_expect(f.is_monotone == (f.smallest_bytes == least));
            cr_expect_geq(f.smallest_bytes, least);
            cr_expect(runs_on(r, &spec, f.smallest_bytes));
            cr_expect_eq(f.trial.fits, true);
            policy_spec_close(&spec);
            trace_close(r);
        }
}

Test(fit, context_and_others_are_added_and_a_named_card_is_found)
{
    struct trace_reader *r = generated("530-270", 0, 0);
    struct policy_spec spec;
    const struct fit plain = fit_of(r, "pytorch:expandable", "sim", &spec);
    policy_spec_close(&spec);
    const struct fit shared = fit_of(r, "pytorch:expandable", "sim:64GiB,context=400MiB,others=9GiB", &spec);
    policy_spec_close(&spec);
    cr_expect_eq(plain.smallest_bytes, 1340 * MIB);
    cr_expect_eq(shared.smallest_bytes, 1340 * MIB + 400 * MIB + 9 * GIB);
    cr_assert_not_null(shared.card);
    cr_expect_geq(shared.card->total_bytes, shared.smallest_bytes);
    trace_close(r);
}

Test(fit, nothing_fails_above_the_smallest_card_and_a_smaller_one_that_runs_is_told)
{
    const char *path = GOLDEN_DIR "/counterfactual/prefetch/prefetch-default.pickle";
    struct trace_reader *r = recorded_open(path, -1);
    struct policy_spec spec;
    const struct fit f = fit_of(r, "best-fit", "sim", &spec);
    cr_expect_not(f.is_monotone);
    cr_expect(runs_on(r, &spec, f.least_running_bytes));
    cr_expect_not(runs_on(r, &spec, f.least_running_bytes - FIT_GRANULE_BYTES));
    cr_expect_gt(f.larger_failing_bytes, f.least_running_bytes);
    cr_expect_not(runs_on(r, &spec, f.larger_failing_bytes));
    cr_expect_gt(f.smallest_bytes, f.larger_failing_bytes);
    for (uint64_t i = 0; i < 64; i++)
        cr_expect(runs_on(r, &spec, f.smallest_bytes + i * FIT_GRANULE_BYTES), "%" PRIu64 " granules above", i);
    policy_spec_close(&spec);
    trace_close(r);
}
