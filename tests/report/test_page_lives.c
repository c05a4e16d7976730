/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a page draws is what happened: lives of requests, where a lane put them, the memory it held; and it survives
 * being packed. */
#include "replay/results/lane_lives.h"
#include "replay/results/trace_lives.h"
#include "report/page/packed_columns.h"
#include "import/import.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- packing ---- */

static unsigned value_of(char letter)
{
    static const char none[] = "\"&'<>\\`{}";
    unsigned value = 0;
    cr_assert(letter > ' ' && letter < 127 && strchr(none, letter) == NULL, "'%c' is not of base 85", letter);
    for (char c = '!'; c < letter; c++)
        value += strchr(none, c) == NULL;
    return value;
}

/* Undoes base 85 and deflate into `out`; returns how many bytes there are. */
static size_t unpack(const char *text, unsigned char *out, size_t room)
{
    const size_t n_text = strlen(text);
    unsigned char *deflated = malloc(n_text + 1);
    size_t n = 0;
    uLongf n_out = (uLongf)room;
    cr_assert_neq(n_text % 5, 1);
    for (size_t i = 0; i < n_text; i += 5) {
        const size_t here = n_text - i < 5 ? n_text - i : 5;
        uint64_t group = 0;
        for (size_t k = 0; k < 5; k++)
            group = group * 85 + (k < here ? value_of(text[i + k]) : 84);
        for (size_t k = 0; k + 1 < here; k++)
            deflated[n++] = (unsigned char)(group >> (24 - 8 * k));
    }
    cr_assert_eq(uncompress(out, &n_out, deflated, (uLong)n), Z_OK);
    free(deflated);
    return n_out;
}

static uint64_t take(const unsigned char *bytes, size_t *at)
{
    uint64_t number = 0;
    unsigned shift = 0;
    do
        number |= (uint64_t)(bytes[*at] & 0x7f) << shift, shift += 7;
    while (bytes[(*at)++] >= 0x80);
    return number;
}

Test(packed_columns, numbers_differences_and_texts_come_back)
{
    const uint64_t numbers[] = { 0, 1, 127, 128, 16383, 16384, UINT64_C(1) << 52, UINT64_MAX - 1, UINT64_MAX };
    enum { N = sizeof numbers / sizeof numbers[0] };
    unsigned char bytes[1024];
    char *text;
    size_t n, at = 0;
    for (size_t more = 0; more < 5; more++, at = 0) {        /* every remainder of base 85 */
        struct packed_columns p = { .at = NULL };
        for (size_t i = 0; i < N; i++)
            packed_put(&p, numbers[i]);
        for (size_t i = 1; i < N; i++)
            packed_put_difference(&p, numbers[i], numbers[i - 1]);
        packed_put_text(&p, "abcde", more);
        cr_assert_eq(packed_finish(&p, &text, &n), ERR_OK);
        cr_expect_eq(n, strlen(text));
        const size_t n_bytes = unpack(text, bytes, sizeof bytes);
        for (size_t i = 0; i < N; i++)
            cr_expect_eq(take(bytes, &at), numbers[i]);
        for (size_t i = 1; i < N; i++) {
            const uint64_t code = take(bytes, &at);
            cr_expect_eq(numbers[i] + (code >> 1 ^ (0 - (code & 1))), numbers[i - 1]);
        }
        cr_expect_eq(take(bytes, &at), more);
        cr_expect_eq(memcmp(bytes + at, "abcde", more), 0);
        cr_expect_eq(at + more, n_bytes);
        free(text);
    }
}

/* ---- lives ---- */

Test(lives, the_largest_stay_whatever_the_order_in_which_they_end)
{
    enum { N = 1000, KEPT = 37 };
    struct lives l = { .max = KEPT };
    for (uint64_t i = 0; i < N; i++) {
        const uint64_t k = i * 7919 % N;         /* every number below N once */
        cr_assert_eq(lives_put(&l, &(struct life){ .bytes = k + 1, .born = k, .ended = k + 10, .freed = k + 10 }),
                     ERR_OK);
    }
    lives_cut(&l, KEPT);
    cr_assert_eq(l.n, KEPT);
    cr_expect_eq(l.n_all, N);
    for (size_t i = 0; i < KEPT; i++)
        cr_expect_eq(l.at[i].born, N - KEPT + i, "by birth, and only the largest");
    lives_close(&l);
}

/* ---- a run ---- */

struct watched {
    struct lane_watch base;
    struct lane_lives lives;
};

static void watch(struct lane_watch *w, const struct lane *l, const struct event *ev, uint64_t done)
{
    struct watched *watched = (struct watched *)w;
    lane_lives_event(&watched->lives, l, ev, done);
}

/* Bytes of memory held at a moment. */
static uint64_t held_at(const struct lives *memory, uint64_t moment)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < memory->n; i++)
        if (memory->at[i].kind != LIFE_RANGE && memory->at[i].born <= moment && moment < memory->at[i].ended)
            bytes += memory->at[i].bytes;
    return bytes;
}

static void expect_placed(const struct trace_lives *t, const struct watched *w, const struct lane *lane)
{
    uint64_t live = 0;
    const uint64_t last = lane->events_done;
    for (size_t i = 0; i < t->requests.n; i++) {
        const struct life *life = &t->requests.at[i];
        if (life->born > last || life->ended <= last || w->lives.bytes[i] == 0)
            continue;
        live += life->freed > last ? w->lives.bytes[i] : 0;
        cr_expect_eq(w->lives.addr[i], lane->live[life->slot].addr, "request %zu", i);
        cr_expect_eq(w->lives.bytes[i], lane->live[life->slot].bytes, "request %zu", i);
    }
    cr_expect_eq(live, lane->meter.now.allocated, "all that is live at the end is there");
}

/* Runs a sample through a policy and compares what a page would draw with the lane itself. */
static void expect_run(const char *path, const char *policy)
{
    struct trace_reader *trace;
    struct trace_lives t;
    struct policy_spec spec;
    struct lane lane;
    struct err_detail err;
    struct watched w = { .base.event = watch };
    const struct import_config import = { .gpu = 0 };
    const struct device_config device = { .total_bytes = UINT64_C(16) << 30 };
    const struct replay_config cfg = { .threads = 1 };
    cr_assert_eq(trace_open_any(path, NULL, &import, &trace, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_lives_read(trace, NULL, &t, &err), ERR_OK);
    cr_assert_eq(policy_spec_parse(policy, &spec, &err), ERR_OK);
    cr_assert_eq(lane_open(&spec, &device_sim, &device, trace, 0, &lane, &err), ERR_OK);
    lane.watch = &w.base;
    cr_assert_eq(lane_lives_open(&w.lives, &lane, &t.requests), ERR_OK);
    cr_assert_eq(replay_run(trace, &lane, 1, &cfg, &err), ERR_OK);
    cr_assert_eq(lane_lives_finish(&w.lives), ERR_OK);
    expect_placed(&t, &w, &lane);
    cr_expect_eq(held_at(&w.lives.memory, lane.events_done), lane.meter.now.reserved, "%s at the end", policy);
    cr_expect_eq(held_at(&w.lives.memory, lane.meter.at_peak_sample.event), lane.meter.peak.reserved, "%s at the peak",
                 policy);
    lane_close(&lane);
    lane_lives_close(&w.lives);
    policy_spec_close(&spec);
    trace_lives_close(&t);
    trace_close(trace);
}

Test(lane_lives, requests_and_memory_are_those_of_the_lane)
{
    static const char *const samples[] = { "gpt-varlen-default", "cnn", "gpt-eval-emptycache" };
    static const char *const policies[] = { "best-fit", "pytorch:expandable", "pow2", "none", "gc=0.8" };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        for (size_t k = 0; k < sizeof policies / sizeof policies[0]; k++) {
            char path[512];
            snprintf(path, sizeof path, "%s/../../samples/%s.trace.zst", TEST_DATA, samples[i]);
            expect_run(path, policies[k]);
        }
}

Test(trace_lives, live_bytes_at_sampled_moments_are_those_of_all_requests)
{
    struct trace_reader *trace;
    struct trace_lives t;
    struct err_detail err;
    const struct import_config import = { .gpu = 0 };
    cr_assert_eq(trace_open_any(TEST_DATA "/../../samples/cnn.trace.zst", NULL, &import, &trace, &err), ERR_OK);
    cr_assert_eq(trace_lives_read(trace, NULL, &t, &err), ERR_OK);
    cr_assert_eq(t.requests.n, t.requests.n_all, "a short trace is drawn whole");
    for (uint64_t i = 0; i <= LIVE_SAMPLES; i++) {
        const uint64_t moment = t.n_events / LIVE_SAMPLES * i + t.n_events % LIVE_SAMPLES * i / LIVE_SAMPLES;
        uint64_t live = 0;
        for (size_t k = 0; k < t.requests.n; k++)
            if (t.requests.at[k].born <= moment && moment < t.requests.at[k].freed)
                live += t.requests.at[k].bytes;
        cr_expect_eq(t.live[i], live, "sample %llu", (unsigned long long)i);
    }
    trace_lives_close(&t);
    trace_close(trace);
}

/* Steps that repeat begin with the same request each time; the page names them by these moments. */
Test(trace_lives, a_step_begins_where_the_steps_of_the_recording_say_and_as_every_other)
{
    static const char *const samples[] = { "gpt-bf16", "oom-leak", "mlp-adam" };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        struct trace_reader *trace;
        struct trace_lives t;
        struct err_detail err;
        struct steps steps;
        char path[512];
        const struct import_config import = { .gpu = 0 };
        snprintf(path, sizeof path, "%s/../../samples/%s.trace.zst", TEST_DATA, samples[i]);
        cr_assert_eq(trace_open_any(path, NULL, &import, &trace, &err), ERR_OK);
        cr_assert_eq(steps_find(trace, &steps, &err), ERR_OK);
        cr_assert_eq(trace_lives_read(trace, &steps, &t, &err), ERR_OK);
        cr_assert_gt(steps.whole, 1, "%s has steps", samples[i]);
        cr_assert_eq(t.n_steps, steps.whole + 1, "%s: %zu borders", samples[i], t.n_steps);
        cr_expect_eq(t.steps[0], steps.begin);
        cr_expect_eq(t.steps[1], steps.begin_end);
        cr_expect_eq(t.steps[steps.whole - 1], steps.first);
        cr_expect_eq(t.steps[steps.whole], steps.end);
        trace_lives_close(&t);
        trace_close(trace);
    }
}

/* A source that was brought into the order of time has numbers that fall; a page that looks one up shows none then. */
Test(trace_lives, numbers_in_the_source_are_kept_if_they_rise)
{
    for (int falls = 0; falls < 2; falls++) {
        struct trace_writer *w;
        struct trace_reader *trace;
        struct trace_lives t;
        struct err_detail err = { .text = "" };
        cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
        for (uint64_t i = 0; i < 3; i++) {
            const struct trace_record r = { .kind = EVENT_ALLOC, .ptr = i + 1, .bytes = 512, .time_ns = i,
                                            .record = falls ? 7 - i : 4 + i };
            cr_assert_eq(trace_put(w, &r, &err), ERR_OK, "%s", err.text);
        }
        cr_assert_eq(trace_finish_open(w, "made", &trace, &err), ERR_OK, "%s", err.text);
        cr_assert_eq(trace_lives_read(trace, NULL, &t, &err), ERR_OK, "%s", err.text);
        cr_expect_eq(t.numbers == NULL, falls);
        trace_lives_close(&t);
        trace_close(trace);
    }
}
