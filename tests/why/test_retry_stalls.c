/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* why: a program that was refused nothing, and stood still again and again. */
#include "replay/why/why.h"

#include "base/units.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ROUNDS = 40, STREAMS = 2 };

static const uint64_t no_pool[2] = { 0, 0 };

static void put(struct trace_writer *w, enum event_kind kind, uint64_t ptr, uint64_t stream)
{
    const struct trace_record r = { .kind = kind, .ptr = ptr, .bytes = 600 * MIB, .stream = stream,
                                    .record = TRACE_NO_RECORD };
    cr_assert_eq(trace_put(w, &r, NULL), ERR_OK);
}

/* In the source a segment of the other stream was given back, and one was taken for this. */
static void put_give_back(struct trace_writer *w, uint64_t ptr, uint64_t stream)
{
    cr_assert_eq(trace_put_segment_event(w, TRACE_SEGMENT_FREE, ptr << 30, 600 * MIB, STREAMS - 1 - stream, no_pool,
                                         TRACE_NO_RECORD, NULL), ERR_OK);
    cr_assert_eq(trace_put_segment_event(w, TRACE_SEGMENT_ALLOC, ptr << 30, 600 * MIB, stream, no_pool,
                                         TRACE_NO_RECORD, NULL), ERR_OK);
}

/* Streams that take turns: what one leaves cached the other cannot have. `times`: give-backs that were recorded.
 * `is_flushed`: the program empties the cache before each. */
static struct trace_reader *turns(uint64_t capacity_bytes, unsigned times, bool is_flushed)
{
    struct trace_writer *w;
    struct trace_reader *trace;
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    trace_writer_info(w)->capacity_bytes = capacity_bytes;
    for (unsigned i = 0; i < ROUNDS; i++)
        for (uint64_t stream = 0; stream < STREAMS; stream++) {
            const uint64_t ptr = i * STREAMS + stream + 1;
            if (is_flushed)
                put(w, EVENT_FLUSH, 0, 0);
            if (ptr <= times)
                put_give_back(w, ptr, stream);
            put(w, EVENT_ALLOC, ptr, stream);
            put(w, EVENT_FREE, ptr, stream);
        }
    cr_assert_eq(trace_finish_open(w, "turns", &trace, NULL), ERR_OK);
    return trace;
}

static enum verdict_kind ask(struct trace_reader *trace, const char *card, struct why *y)
{
    const struct replay_config cfg = { .threads = 1 };
    struct err_detail err = { .text = "" };
    struct device_choice device;
    cr_assert_eq(device_choose_for_advice(card, trace, PLATFORM_UNKNOWN, &device, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(why_read(trace, false, &device, &cfg, y, &err), ERR_OK, "%s", err.text);
    trace_close(trace);
    why_close(y);
    return y->verdict;
}

Test(retry_stalls, what_was_recorded_counts_also_where_the_card_is_not_known)
{
    struct why y;
    cr_expect_eq(ask(turns(0, ROUNDS * STREAMS, false), NULL, &y), VERDICT_RETRIES);
    cr_expect_eq(y.stalls.times, ROUNDS * STREAMS);
    cr_expect_eq(y.stalls.given_back_bytes, ROUNDS * STREAMS * 600 * MIB);
    cr_expect_eq(y.stalls.replayed, 0);
    cr_expect_eq(y.stalls.walls, WALLS_NONE);
}

Test(retry_stalls, on_a_card_that_is_named_the_replay_counts_and_one_stream_takes_them_away)
{
    struct why y;
    cr_expect_eq(ask(turns(0, 0, false), "sim:1GiB", &y), VERDICT_RETRIES);
    cr_expect_eq(y.stalls.times, ROUNDS * STREAMS - 1);
    cr_expect_eq(y.stalls.room_bytes, STREAMS * 600 * MIB);
    cr_expect_eq(y.stalls.walls, WALLS_STREAMS);
    cr_expect_eq(y.stalls.without_walls, 0);
    cr_expect_eq(ask(turns(0, 0, false), "sim:1201MiB", &y), VERDICT_CACHE);
}

Test(retry_stalls, a_warm_up_a_few_times_and_what_the_program_empties_do_not_count)
{
    struct why y;
    cr_expect_eq(ask(turns(0, ROUNDS * STREAMS / 2, false), NULL, &y), VERDICT_CACHE);
    cr_expect_eq(ask(turns(0, 15, false), NULL, &y), VERDICT_CACHE);
    cr_expect_eq(ask(turns(0, ROUNDS * STREAMS, true), NULL, &y), VERDICT_CACHE);
}

Test(retry_stalls, what_came_seldom_is_told_by_what_to_do)
{
    struct why y;
    struct words w = { .n = 0 };
    (void)ask(turns(0, 3, false), NULL, &y);
    cr_expect_eq(y.stalls.seldom, 3);
    why_add_act(&w, &y);
    cr_expect(strstr(w.text, "refused PyTorch memory 3 times; it emptied its cache") != NULL, "%s", w.text);
    cr_expect(strstr(w.text, "Nothing needs to be done") == NULL, "%s", w.text);
    w = (struct words){ .n = 0 };
    why_add_verdict(&w, &y);
    cr_expect(strstr(w.text, "Nothing was refused") == NULL, "%s", w.text);
}

Test(retry_stalls, nobody_is_told_that_nothing_needs_to_be_done)
{
    struct why y;
    struct words w = { .n = 0 };
    (void)ask(turns(0, 0, false), "sim:1GiB", &y);
    why_add_act(&w, &y);
    cr_expect(strstr(w.text, "make the tensors on one stream") != NULL, "%s", w.text);
    w = (struct words){ .n = 0 };
    why_add_verdict(&w, &y);
    cr_expect(strstr(w.text, "79 requests (about 2 a step) were served only after") != NULL, "%s", w.text);
}
