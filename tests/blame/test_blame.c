/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Each byte between the live peak and the peak reserved belongs to one rule, on every recording. */
#include "policies/pytorch/pytorch.h"
#include "replay/blame/blame.h"
#include "replay/blame/fair_shares.h"
#include "tests/random_draws.h"
#include "tests/whole_trace.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- shares ---- */

/* The sum of what leaving saves over all orders in which those not in `gone` can leave. */
static double over_orders(const uint64_t *left, unsigned n, unsigned gone, unsigned who)
{
    double sum = 0, orders = 1;
    if (gone >> who & 1)
        return 0;
    for (unsigned rest = n - (unsigned)__builtin_popcount(gone); rest > 1; rest--)
        orders *= rest - 1;
    for (unsigned i = 0; i < n; i++)
        if ((gone >> i & 1) == 0)
            sum += i == who ? orders * ((double)left[gone] - (double)left[gone | 1u << i])
                            : over_orders(left, n, gone | 1u << i, who);
    return sum;
}

Test(fair_shares, are_the_average_over_all_orders_and_sum_to_the_whole)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t state = seed, left[1 << FAIR_SHARES_MAX];
        int64_t shares[FAIR_SHARES_MAX], sum = 0;
        const unsigned n = (unsigned)random_below(&state, 7);
        double orders = 1;
        for (unsigned i = 2; i <= n; i++)
            orders *= i;
        for (unsigned s = 0; s < 1u << n; s++)
            left[s] = random_below(&state, 1000000);
        fair_shares(left, n, shares);
        for (unsigned i = 0; i < n; i++) {
            const double naive = over_orders(left, n, 0, i) / orders;
            cr_assert((double)shares[i] > naive - 1.001 && (double)shares[i] < naive + 1.001, "seed %" PRIu64, seed);
            sum += shares[i];
        }
        cr_assert_eq(sum, (int64_t)left[0] - (int64_t)left[(1u << n) - 1], "seed %" PRIu64, seed);
    }
}

Test(fair_shares, take_the_largest_values_and_all_nine)
{
    uint64_t state = 5, left[1 << FAIR_SHARES_MAX];
    int64_t shares[FAIR_SHARES_MAX], sum = 0;
    for (unsigned s = 0; s < 1u << FAIR_SHARES_MAX; s++)
        left[s] = random_next(&state) >> 9;                  /* below 2^55 */
    fair_shares(left, FAIR_SHARES_MAX, shares);
    for (unsigned i = 0; i < FAIR_SHARES_MAX; i++)
        sum += shares[i];
    cr_assert_eq(sum, (int64_t)(left[0] - left[(1u << FAIR_SHARES_MAX) - 1]));
}

/* ---- recordings ---- */

static struct blame blame_of(struct trace_reader *trace, const char *policy, const char *device)
{
    struct err_detail err = { .text = "" };
    struct single_run run;
    struct blame b;
    cr_assert_eq(single_run_open(&run, trace, policy, device, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(blame_find(&run, 1, NULL, NULL, &b, &err), ERR_OK, "%s", err.text);
    single_run_close(&run);
    return b;
}

static void check_sum(const struct blame *b, const char *what)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < BLAME_RULES; i++) {
        cr_assert(b->parts[i].matters || b->parts[i].bytes == 0, "%s: %s", what, blame_key(i));
        sum += b->parts[i].bytes;
    }
    cr_assert_eq(sum, (int64_t)b->reserved_bytes - (int64_t)b->live_bytes, "%s", what);
    cr_assert_geq(b->reserved_bytes, b->live_bytes, "%s", what);
}

/* What a plain replay of the recording reserves. */
static uint64_t plain_peak(struct trace_reader *trace)
{
    const struct replay_config cfg = { .threads = 1, .caught_before = UINT64_MAX };
    struct err_detail err = { .text = "" };
    struct single_run run;
    cr_assert_eq(single_run_open(&run, trace, NULL, NULL, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(single_run_replay(&run, &cfg, &err), ERR_OK, "%s", err.text);
    const uint64_t peak = run.lane.meter.peak.reserved;
    single_run_close(&run);
    return peak;
}

static unsigned check_folder(const char *folder)
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    cr_assert_not_null(d, "%s", folder);
    for (const struct dirent *entry; (entry = readdir(d)) != NULL;) {
        char path[512];
        struct err_detail err = { .text = "" };
        struct trace_reader *trace;
        snprintf(path, sizeof path, "%s/%.200s", folder, entry->d_name);
        if (strstr(entry->d_name, ".trace.zst") == NULL)
            continue;
        cr_assert_eq(trace_open(path, &trace, &err), ERR_OK, "%s", err.text);
        const struct blame b = blame_of(trace, NULL, NULL);
        check_sum(&b, path);
        cr_assert_eq(b.reserved_bytes, plain_peak(trace), "%s", path);
        if (!b.is_cut && trace_info(trace)->by_kind[EVENT_OOM] == 0)
            cr_assert_eq(b.live_bytes, bounds_of(trace).live_bytes, "%s", path);
        trace_close(trace);
        n++;
    }
    closedir(d);
    return n;
}

Test(blame, parts_sum_to_the_whole_on_every_sample)
{
    cr_assert_geq(check_folder(TEST_DATA "/../../samples"), 20);
    cr_assert_geq(check_folder(TEST_DATA "/graphs"), 5);
}

/* ---- made recordings ---- */

static void put(struct trace_writer *w, enum event_kind kind, uint64_t ptr, uint64_t bytes, uint64_t stream,
                uint64_t pool)
{
    struct err_detail err = { .text = "" };
    const struct trace_record record = { .kind = kind, .ptr = ptr, .bytes = bytes, .stream = stream,
                                         .pool = { 0, pool }, .record = TRACE_NO_RECORD };
    cr_assert_eq(trace_put(w, &record, &err), ERR_OK, "%s", err.text);
}

static struct trace_writer *begin(void)
{
    struct trace_writer *w;
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    return w;
}

static struct trace_reader *finish(struct trace_writer *w)
{
    struct trace_reader *r;
    cr_assert_eq(trace_finish_open(w, "made", &r, NULL), ERR_OK);
    return r;
}

/* Two requests of 80 MiB, one after the other, where a rule keeps the second from the memory of the first. */
static void check_one_rule(enum blame_rule rule, uint64_t stream, uint64_t pool, bool is_late)
{
    struct trace_writer *w = begin();
    put(w, EVENT_ALLOC, 1, 80 * MIB, 0, 0);
    put(w, is_late ? EVENT_FREE_REQUESTED : EVENT_FREE, 1, 0, 0, 0);
    put(w, EVENT_ALLOC, 2, 80 * MIB, stream, pool);
    if (is_late)
        put(w, EVENT_FREE_COMPLETED, 1, 0, 0, 0);
    struct trace_reader *trace = finish(w);
    const struct blame b = blame_of(trace, "best-fit", "sim:unlimited");
    check_sum(&b, blame_key(rule));
    cr_assert_eq(b.live_bytes, 80 * MIB);
    cr_assert_eq(b.parts[rule].bytes, (int64_t)(80 * MIB), "%s: %" PRId64, blame_key(rule), b.parts[rule].bytes);
    cr_assert_eq(blame_largest(&b), rule);
    trace_close(trace);
}

Test(blame, a_rule_that_alone_holds_memory_gets_all_of_it)
{
    check_one_rule(BLAME_STREAMS, 7, 0, false);
    check_one_rule(BLAME_POOLS, 0, 3, false);
    check_one_rule(BLAME_LATE, 0, 0, true);
}

Test(blame, small_requests_pay_for_their_segment)
{
    struct trace_writer *w = begin();
    put(w, EVENT_ALLOC, 1, 600, 0, 0);
    struct trace_reader *trace = finish(w);
    const struct blame b = blame_of(trace, "best-fit", "sim:unlimited");
    check_sum(&b, "small");
    cr_assert_eq(b.reserved_bytes, 2 * MIB);
    cr_assert_eq(blame_largest(&b), BLAME_SEGMENTS);
    cr_assert(!b.parts[BLAME_SIZE_WALL].matters && !b.parts[BLAME_STREAMS].matters && !b.parts[BLAME_LATE].matters);
    trace_close(trace);
}

Test(blame, nothing_was_requested)
{
    struct trace_reader *trace = finish(begin());
    const struct blame b = blame_of(trace, "best-fit", "sim:unlimited");
    check_sum(&b, "empty");
    cr_assert_eq(blame_largest(&b), BLAME_RULES);
    trace_close(trace);
}

enum { SLOTS = 40 };

/* A program with streams, pools, late uses and flushes. */
static struct trace_reader *random_program(uint64_t seed)
{
    uint64_t state = seed;
    unsigned char live[SLOTS] = { 0 };                       /* 1: live, 2: its free is requested */
    struct trace_writer *w = begin();
    for (unsigned i = 0; i < 400; i++) {
        const uint64_t slot = random_below(&state, SLOTS);
        const uint64_t bytes = 1 + random_below(&state, random_one_in(&state, 2) ? 40 * MIB : 2 * MIB);
        if (random_one_in(&state, 60)) {
            put(w, EVENT_FLUSH, 0, 0, 0, 0);
        } else if (live[slot] == 0) {
            put(w, EVENT_ALLOC, slot + 1, bytes, random_below(&state, 1 + seed % 3),
                random_below(&state, 1 + seed % 2));
            live[slot] = 1;
        } else if (live[slot] == 1 && random_one_in(&state, 3)) {
            put(w, EVENT_FREE_REQUESTED, slot + 1, 0, 0, 0);
            live[slot] = 2;
        } else {
            put(w, live[slot] == 1 ? EVENT_FREE : EVENT_FREE_COMPLETED, slot + 1, 0, 0, 0);
            live[slot] = 0;
        }
    }
    return finish(w);
}

Test(blame, parts_sum_to_the_whole_of_random_programs)
{
    static const char *const policies[] = { "best-fit", "expandable_segments:True", "max_split_size_mb:32",
                                            "roundup_power2_divisions:4", "pytorch:version=2.0", "pow2", "gc=0.7" };
    static const char *const devices[] = { "sim:unlimited", "sim:800MiB", "sim:300MiB" };
    for (uint64_t seed = 1; seed <= 12; seed++) {
        char what[200];
        struct trace_reader *trace = random_program(seed);
        const char *const policy = policies[seed % (sizeof policies / sizeof policies[0])];
        const char *const device = devices[seed % 3];
        snprintf(what, sizeof what, "seed %" PRIu64 ", %s, %s", seed, policy, device);
        const struct blame b = blame_of(trace, policy, device);
        check_sum(&b, what);
        if (!b.is_cut)
            cr_assert_eq(b.live_bytes, bounds_of(trace).live_bytes, "%s", what);
        trace_close(trace);
    }
}

/* ---- the policy without rules ---- */

Test(blame, the_policy_keeps_its_invariants_without_any_of_its_rules)
{
    const struct replay_config cfg = { .threads = 1, .audit = true };
    const unsigned all = RULE_FIXED_SEGMENTS << 1;
    struct err_detail err = { .text = "" };
    struct policy_spec spec;
    cr_assert_eq(policy_spec_parse("best-fit", &spec, &err), ERR_OK, "%s", err.text);
    for (unsigned rules = 0; rules < all; rules++) {
        struct trace_reader *trace = random_program(100 + rules);
        const struct device_config device = { .total_bytes = rules % 2 == 0 ? GIB : DEVICE_UNLIMITED,
                                              .page_bytes = rules & RULE_SEGMENT_SIZES ? 512 * KIB : 0 };
        struct lane lane;
        cr_assert_eq(lane_open(&spec, &device_sim, &device, trace, 0, &lane, &err), ERR_OK, "%s", err.text);
        pytorch_take_out((struct pytorch *)lane.policy, rules);
        cr_assert_eq(replay_run(trace, &lane, 1, &cfg, &err), ERR_OK, "%s", err.text);
        cr_assert_eq(lane_failure(&lane, &err), ERR_OK, "rules %u: %s", rules, err.text);
        lane_close(&lane);
        trace_close(trace);
    }
    policy_spec_close(&spec);
}

Test(blame, other_allocators_are_refused_with_the_reason)
{
    struct err_detail err = { .text = "" };
    struct trace_reader *trace = random_program(3);
    struct single_run run;
    struct blame b;
    cr_assert_eq(single_run_open(&run, trace, "pytorch:no-cache", "sim:unlimited", &err), ERR_OK, "%s", err.text);
    cr_assert_eq(blame_find(&run, 1, NULL, NULL, &b, &err), ERR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "PyTorch's caching allocator"));
    single_run_close(&run);
    trace_close(trace);
}
