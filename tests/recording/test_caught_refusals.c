/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A refusal that the program survived is not the one that ended it: coverage, bounds, the engine and `why` agree. */
#include "replay/why/why.h"

#include "base/units.h"
#include "tests/recorded_run.h"

#include <criterion/criterion.h>

#define MUST(call) cr_assert_eq((call), ERR_OK, "%s", err.text)

static const uint64_t CARD = 256 * MIB;

static void put(struct trace_writer *w, enum event_kind kind, uint64_t ptr, uint64_t bytes)
{
    const struct trace_record r = { .kind = kind, .ptr = ptr, .bytes = bytes, .record = TRACE_NO_RECORD };
    cr_assert_eq(trace_put(w, &r, NULL), ERR_OK);
}

/* A probe of 1 GiB is caught, then requests of 32 MiB until one is refused, then so many small ones. */
static struct trace_reader *probe_then_death(unsigned last_gasps)
{
    struct trace_writer *w;
    struct trace_reader *trace;
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    trace_writer_info(w)->capacity_bytes = CARD;
    put(w, EVENT_OOM, 0, GIB);
    for (uint64_t i = 1; i <= CARD / (32 * MIB); i++)
        put(w, EVENT_ALLOC, i, 32 * MIB);
    put(w, EVENT_OOM, 0, 32 * MIB);
    for (uint64_t i = 0; i < last_gasps; i++) {
        put(w, EVENT_ALLOC, 1000, 512);
        put(w, EVENT_FREE, 1000, 512);
    }
    cr_assert_eq(trace_finish_open(w, "a probe", &trace, NULL), ERR_OK);
    return trace;
}

Test(caught_refusals, the_last_one_that_nothing_substantial_follows_ends_the_program)
{
    for (unsigned gasps = 0; gasps <= 3; gasps += 3) {
        struct err_detail err = { .text = "" };
        struct trace_reader *trace = probe_then_death(gasps);
        struct coverage c;
        MUST(coverage_read(trace, &c, &err));
        cr_expect_eq(c.ends, ENDS_REFUSED, "%u requests after it", gasps);
        cr_expect(c.refusals == 2 && c.survived == 1);
        cr_expect_eq(c.caught_before, c.first_of_end);
        cr_expect_eq(c.refused_bytes, 32 * MIB);
        trace_close(trace);
    }
}

Test(caught_refusals, many_requests_after_it_mean_that_it_was_survived)
{
    struct err_detail err = { .text = "" };
    struct trace_reader *trace = probe_then_death(100);
    struct coverage c;
    MUST(coverage_read(trace, &c, &err));
    cr_expect(c.ends == ENDS_OPEN && c.survived == 2 && c.caught_before == 0);
    trace_close(trace);
}

/* Nearly all of the card is kept; then each row asks for a little, and is refused `sizes`. */
static struct coverage refused_again(const uint64_t *sizes, size_t n, bool is_served)
{
    struct err_detail err = { .text = "" };
    struct trace_writer *w;
    struct trace_reader *trace;
    struct coverage c;
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    trace_writer_info(w)->capacity_bytes = CARD;
    put(w, EVENT_ALLOC, 1, 240 * MIB);
    for (size_t i = 0; i < n; i++) {
        if (is_served)
            put(w, EVENT_ALLOC, 1000 + i, 4096);
        put(w, EVENT_OOM, 0, sizes[i] * MIB);
    }
    cr_assert_eq(trace_finish_open(w, "tries", &trace, NULL), ERR_OK);
    MUST(coverage_read(trace, &c, &err));
    trace_close(trace);
    return c;
}

/* Though little was served between, as what exceptions keep leaves no room for more. */
Test(caught_refusals, who_goes_on_trying_dies_of_the_last)
{
    static const uint64_t smaller[] = { 128, 16, 8, 4, 8 }, half[] = { 128, 64 }, other[] = { 128, 20 };
    cr_expect_eq(refused_again(smaller, 5, true).survived, 4);
    cr_expect_eq(refused_again(half, 2, true).survived, 1);
    cr_expect_eq(refused_again(other, 2, true).survived, 0, "while it ends it may be refused once more");
    cr_expect_eq(refused_again(smaller, 5, false).survived, 0, "a library asks again in one call");
}

Test(caught_refusals, what_was_caught_is_no_need)
{
    struct err_detail err = { .text = "" };
    struct trace_reader *trace = probe_then_death(0);
    struct coverage c;
    struct bounds bounds;
    MUST(coverage_read(trace, &c, &err));
    MUST(bounds_find(trace, c.caught_before, true, &bounds, &err));
    cr_expect_eq(bounds.live_bytes, CARD + 32 * MIB);
    MUST(bounds_find(trace, 0, true, &bounds, &err));
    cr_expect_eq(bounds.live_bytes, GIB);
    trace_close(trace);
}

Test(caught_refusals, why_is_about_the_one_that_ended_it)
{
    struct err_detail err = { .text = "" };
    struct trace_reader *trace = probe_then_death(0);
    struct device_choice device;
    struct why verdict;
    const struct replay_config cfg = { .threads = 1 };
    MUST(device_choose_for_advice(NULL, trace, PLATFORM_UNKNOWN, &device, &err));
    MUST(why_read(trace, false, &device, &cfg, &verdict, &err));
    cr_expect_eq(verdict.asked, 32 * MIB);
    cr_expect_eq(verdict.shortfall, 32 * MIB);
    cr_expect_eq(verdict.verdict, VERDICT_FULL);
    why_close(&verdict);
    trace_close(trace);
}
