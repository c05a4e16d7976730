/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What is kept holds for what is left, and nothing more can be taken out. */
#include "base/units.h"
#include "replay/shrink/shrink.h"
#include "replay/shrink/shrink_script.h"
#include "tests/random_draws.h"
#include "tests/whole_trace.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

static void put(struct trace_writer *w, enum event_kind kind, uint64_t ptr, uint64_t bytes, uint64_t stream)
{
    struct err_detail err = { .text = "" };
    const struct trace_record record = { .kind = kind, .ptr = ptr, .bytes = bytes, .stream = stream,
                                         .record = TRACE_NO_RECORD };
    cr_assert_eq(trace_put(w, &record, &err), ERR_OK, "%s", err.text);
}

enum { SLOTS = 24 };

/* A program with streams, late uses and flushes. */
static struct trace_reader *random_program(uint64_t seed, unsigned n)
{
    uint64_t state = seed;
    unsigned char live[SLOTS] = { 0 };
    struct trace_writer *w;
    struct trace_reader *r;
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    for (unsigned i = 0; i < n; i++) {
        const uint64_t slot = random_below(&state, SLOTS);
        const uint64_t bytes = 1 + random_below(&state, random_one_in(&state, 2) ? 60 * MIB : 3 * MIB);
        if (random_one_in(&state, 50)) {
            put(w, EVENT_FLUSH, 0, 0, 0);
        } else if (live[slot] == 0) {
            put(w, EVENT_ALLOC, slot + 1, bytes, random_below(&state, 1 + seed % 2));
            live[slot] = 1;
        } else if (live[slot] == 1 && random_one_in(&state, 4)) {
            put(w, EVENT_FREE_REQUESTED, slot + 1, 0, 0);
            live[slot] = 2;
        } else {
            put(w, live[slot] == 1 ? EVENT_FREE : EVENT_FREE_COMPLETED, slot + 1, 0, 0);
            live[slot] = 0;
        }
    }
    cr_assert_eq(trace_finish_open(w, "random", &r, NULL), ERR_OK);
    return r;
}

enum { CARD_TEXT = 32 };

/* Shrinks a trace, and returns what is left as one, with its card. NULL: it has not what is to be kept. */
static struct trace_reader *shrink(struct trace_reader *trace, const char *what, const char *device, size_t *n,
                                   char card[CARD_TEXT])
{
    struct err_detail err = { .text = "" };
    struct single_run run;
    struct keep keep;
    struct shrunk left;
    struct trace_reader *out = NULL;
    void *bytes;
    size_t size;
    cr_assert_eq(keep_parse(what, &keep, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(single_run_open(&run, trace, "best-fit", device, &err), ERR_OK, "%s", err.text);
    const struct shrink_request asked = { .run = &run, .keep = &keep };
    const enum err e = shrink_find(&asked, &left, &err);
    cr_assert(e == ERR_OK || e == ERR_USAGE, "%s", err.text);
    *n = left.n;
    if (e == ERR_OK) {
        cr_assert(!left.is_stopped);
        snprintf(card, CARD_TEXT, "sim:%" PRIu64, left.total_bytes);
        if (left.total_bytes == DEVICE_UNLIMITED)
            snprintf(card, CARD_TEXT, "sim:unlimited");
        cr_assert_eq(shrunk_write(&left, run.device.config.total_bytes, &bytes, &size, &err), ERR_OK, "%s", err.text);
        cr_assert_eq(trace_open_owned(bytes, size, "what is left", 0, &out, &err), ERR_OK, "%s", err.text);
    }
    shrunk_close(&left);
    single_run_close(&run);
    keep_close(&keep);
    return out;
}

/* What a plain replay does, without any of the functions that shrink. */
static uint64_t peak_of(struct trace_reader *trace, const char *policy, const char *device, bool *is_refused)
{
    const struct replay_config cfg = { .threads = 1 };
    struct err_detail err = { .text = "" };
    struct single_run run;
    cr_assert_eq(single_run_open(&run, trace, policy, device, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(single_run_replay(&run, &cfg, &err), ERR_OK, "%s", err.text);
    const uint64_t peak = run.lane.meter.peak.reserved;
    *is_refused = run.lane.outcome == ERR_DEVICE_OOM;
    single_run_close(&run);
    return peak;
}

static unsigned check_kept(const char *what, const char *device)
{
    unsigned n_shrunk = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct trace_reader *trace = random_program(seed, 160);
        size_t n, again;
        bool is_refused, ignored;
        char card[CARD_TEXT], other[CARD_TEXT];
        struct trace_reader *left = shrink(trace, what, device, &n, card);
        if (left != NULL) {
            const uint64_t peak = peak_of(left, "best-fit", card, &is_refused);
            if (what[0] == 'r')
                cr_assert(is_refused, "seed %" PRIu64, seed);
            if (what[0] == 'p')
                cr_assert_geq(peak, 400 * MIB, "seed %" PRIu64, seed);
            if (what[0] == 'd')
                cr_assert_neq(peak, peak_of(left, "expandable_segments:True", card, &ignored), "seed %" PRIu64, seed);
            cr_assert_leq(bounds_of(left).live_bytes, bounds_of(trace).live_bytes, "seed %" PRIu64, seed);
            struct trace_reader *twice = shrink(left, what, card, &again, other);
            cr_assert_not_null(twice, "seed %" PRIu64, seed);
            cr_assert_eq(again, n, "seed %" PRIu64 ": %zu calls, then %zu", seed, n, again);
            size_t n_one, n_two;
            struct event *one = events_of(left, &n_one), *two = events_of(twice, &n_two);
            for (size_t i = 0; i < n; i++)
                cr_assert(one[i].kind == two[i].kind && one[i].bytes == two[i].bytes, "seed %" PRIu64, seed);
            free(one);
            free(two);
            trace_close(twice);
            trace_close(left);
            n_shrunk++;
        }
        trace_close(trace);
    }
    return n_shrunk;
}

Test(shrink, keeps_a_refusal_and_shrinks_the_result_no_further)
{
    cr_assert_geq(check_kept("refused", "sim:300MiB"), 6);
}

Test(shrink, keeps_a_peak_and_shrinks_the_result_no_further)
{
    cr_assert_geq(check_kept("peak>=400MiB", "sim:unlimited"), 3);
}

Test(shrink, keeps_a_difference_and_shrinks_the_result_no_further)
{
    cr_assert_geq(check_kept("differs:expandable_segments:True", "sim:unlimited"), 6);
}

/* The best so far is then the recording. */
Test(shrink, an_interrupt_before_anything_is_tried_leaves_all_calls)
{
    static const volatile sig_atomic_t at_once = 1;
    struct trace_reader *trace = random_program(1, 60);
    struct err_detail err = { .text = "" };
    struct single_run run;
    struct shrunk left;
    struct keep keep;
    cr_assert_eq(keep_parse("peak>=2MiB", &keep, &err), ERR_OK);
    cr_assert_eq(single_run_open(&run, trace, "best-fit", "sim:unlimited", &err), ERR_OK, "%s", err.text);
    const struct shrink_request asked = { .run = &run, .keep = &keep, .interrupted = &at_once };
    cr_assert_eq(shrink_find(&asked, &left, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(left.n, 60);
    cr_assert(left.is_stopped);
    shrunk_close(&left);
    single_run_close(&run);
    trace_close(trace);
}

Test(shrink, words_that_say_nothing_are_refused)
{
    static const char *const wrong[] = { "", "Refused", "peak>=", "peak>=many", "peak>=0", "peak>2GiB", "differs:",
                                         "differs:no-such-policy" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct err_detail err = { .text = "" };
        struct keep keep;
        cr_assert_eq(keep_parse(wrong[i], &keep, &err), ERR_USAGE, "%s", wrong[i]);
        cr_assert_neq(err.text[0], '\0');
        keep_close(&keep);
    }
}
