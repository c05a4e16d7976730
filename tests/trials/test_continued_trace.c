/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A recording that is played on keeps its pattern: what it replaces is replaced, and what it leaves behind piles up. */
#include "replay/trials/continued_trace.h"

#include "base/units.h"

#include <criterion/criterion.h>

enum { CACHED = 4, TURNS = 10, EVENTS_OF_TURN = 2 };

static void put(struct trace_writer *w, enum event_kind kind, uint64_t name)
{
    const struct trace_record r = { .kind = kind, .ptr = name, .bytes = MIB, .record = TRACE_NO_RECORD };
    cr_assert_eq(trace_put(w, &r, NULL), ERR_OK);
}

/* A cache of some requests; each turn replaces the oldest, and keeps one besides if the program leaks. */
static struct trace_reader *cache_of(bool leaks)
{
    struct trace_writer *w;
    struct trace_reader *trace;
    uint64_t next = 1;
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    for (; next <= CACHED; next++)
        put(w, EVENT_ALLOC, next);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        put(w, EVENT_FREE, next - CACHED);
        put(w, EVENT_ALLOC, next++);
        if (leaks)
            put(w, EVENT_ALLOC, 1000 + turn);
    }
    cr_assert_eq(trace_finish_open(w, "a cache", &trace, NULL), ERR_OK);
    return trace;
}

static uint64_t peak_when_continued(struct trace_reader *trace, uint64_t from, unsigned times, uint64_t *ends)
{
    struct err_detail err = { .text = "" };
    const struct continuation how = { .from = from, .until = trace_info(trace)->events, .times = times };
    struct trace_reader *longer;
    cr_assert_eq(trace_continue(trace, &how, ends, &longer, &err), ERR_OK, "%s", err.text);
    const uint64_t peak = trace_info(longer)->peak_requested_bytes;
    trace_close(longer);
    return peak;
}

Test(continued_trace, a_cache_stays_as_large_as_it_is)
{
    uint64_t ends[8];
    struct trace_reader *trace = cache_of(false);
    const uint64_t events = trace_info(trace)->events, from = events - 6 * EVENTS_OF_TURN;
    cr_expect_eq(peak_when_continued(trace, from, 7, ends), CACHED * MIB);
    for (unsigned i = 0; i < 8; i++)
        cr_expect_eq(ends[i], events + i * 6 * EVENTS_OF_TURN);
    trace_close(trace);
}

Test(continued_trace, what_a_turn_leaves_behind_piles_up)
{
    uint64_t ends[3];
    struct trace_reader *trace = cache_of(true);
    const uint64_t from = CACHED + (TURNS - 2) * 3;
    cr_expect_eq(peak_when_continued(trace, from, 2, ends), (CACHED + TURNS + 2 * 2) * MIB);
    trace_close(trace);
}
