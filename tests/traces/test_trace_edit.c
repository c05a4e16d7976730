/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Traces made of traces: live bytes at every event are those that
 * the parts, sums, products and repetitions must have. */
#include "traces/trace_edit.h"

#include "import/import.h"
#include "replay/recording/plain_facts.h"
#include "tests/generated.h"
#include "tests/whole_trace.h"

#include <stdio.h>

#define SAMPLE(name) TEST_DATA "/../../samples/" name ".trace.zst"

static struct trace_reader *opened(const char *path)
{
    struct trace_reader *r = NULL;
    struct err_detail err = { .text = "" };
    cr_assert_eq(trace_open(path, &r, &err), ERR_OK, "%s", err.text);
    return r;
}

static struct trace_writer *writer(void)
{
    struct trace_writer *w = NULL;
    struct err_detail err = { .text = "" };
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK, "%s", err.text);
    return w;
}

/* Ends an edit, whose status is `e`, and opens the trace that it wrote. */
static struct trace_reader *finished(enum err e, struct trace_writer *w, struct err_detail *err)
{
    struct trace_reader *r = NULL;
    cr_assert_eq(e, ERR_OK, "%s", err->text);
    cr_assert_eq(trace_finish_open(w, "edited", &r, err), ERR_OK, "%s", err->text);
    return r;
}

/* Live bytes before the first event and after each of the n events; free() it. */
static uint64_t *live_after(struct trace_reader *r, size_t *n)
{
    struct event *events = events_of(r, n);
    uint64_t *live = calloc(*n + 1, sizeof *live);
    size_t n_blocks;
    const struct trace_block *blocks = trace_start_blocks(r, &n_blocks);
    for (size_t i = 0; i < n_blocks; i++)
        live[0] += blocks[i].slot != TRACE_NO_SLOT ? blocks[i].requested : 0;
    for (size_t i = 0; i < *n; i++) {
        const uint8_t kind = events[i].kind;
        const bool is_free = kind == EVENT_FREE || kind == EVENT_FREE_COMPLETED;
        live[i + 1] = live[i] + (kind == EVENT_ALLOC ? events[i].bytes : is_free ? 0 - events[i].bytes : 0);
    }
    free(events);
    return live;
}

/* The event after the mark of a cut; 0: there is none. */
static size_t body_of(struct trace_reader *r)
{
    size_t n, body = 0;
    struct event *events = events_of(r, &n);
    for (size_t i = 0; i < n && body == 0; i++)
        if (events[i].kind == EVENT_MARK && strcmp(trace_label(r, events[i].slot), TRACE_CUT_MARK) == 0)
            body = i + 1;
    free(events);
    return body;
}

Test(trace_edit, a_part_has_the_live_bytes_that_the_whole_has_there)
{
    struct trace_reader *whole = generated("mix:50", 4000, 7);
    struct err_detail err = { .text = "" };
    size_t n, n_part;
    uint64_t *live = live_after(whole, &n);
    for (uint64_t first = 0; first + 400 <= n; first += 397) {
        struct trace_writer *w = writer();
        struct trace_reader *part = finished(trace_cut(whole, first, first + 400, w, &err), w, &err);
        uint64_t *live_part = live_after(part, &n_part);
        const size_t body = body_of(part);
        cr_assert_eq(n_part - body, 400);
        for (size_t i = 0; i <= 400; i++)
            cr_assert_eq(live_part[body + i], live[first + i], "from %llu, event %zu", (unsigned long long)first, i);
        free(live_part);
        trace_close(part);
    }
    free(live);
    trace_close(whole);
}

Test(trace_edit, a_part_that_is_not_there_is_refused)
{
    struct trace_reader *whole = generated("mix:50", 100, 7);
    struct trace_writer *w = writer();
    struct err_detail err = { .text = "" };
    cr_expect_eq(trace_cut(whole, 5, 5, w, &err), ERR_USAGE);
    cr_expect_eq(trace_cut(whole, 5, 101, w, &err), ERR_USAGE);
    cr_expect_not_null(strstr(err.text, "of a trace of 100"), "%s", err.text);
    trace_abandon(w);
    trace_close(whole);
}

Test(trace_edit, a_step_that_was_cut_out_repeats_its_live_bytes)
{
    enum { TIMES = 7 };
    struct trace_reader *whole = opened(SAMPLE("gpt-fp32"));
    struct err_detail err = { .text = "" };
    size_t n_step, n;
    /* the last whole step of this sample, as `replay info` finds it: as much is live after it as before it */
    uint64_t *live_whole = live_after(whole, &n);
    size_t end = n, first = 0;
    for (size_t i = n; i > n / 2 && first == 0; i--)
        for (size_t k = i - n / 4; k > 0 && k + n / 2 > i && first == 0; k--)
            if (live_whole[i] == live_whole[k] && i - k > n / 8) {
                first = k;
                end = i;
            }
    cr_assert_gt(first, 0);
    struct trace_writer *w = writer();
    struct trace_reader *step = finished(trace_cut(whole, first, end, w, &err), w, &err);
    uint64_t *live_step = live_after(step, &n_step);
    const size_t body = body_of(step);
    w = writer();
    struct trace_reader *all = finished(trace_repeat(step, TIMES, w, &err), w, &err);
    uint64_t most = 0, *live = live_after(all, &n);
    for (size_t i = 0; i <= n; i++)
        most = live[i] > most ? live[i] : most;
    cr_expect_eq(most, trace_info(step)->peak_requested_bytes);
    cr_expect_eq(live[n], live_step[n_step]);
    cr_expect_geq(n, body + TIMES * (n_step - body));
    cr_expect_eq(trace_info(all)->by_kind[EVENT_MARK], trace_info(step)->by_kind[EVENT_MARK] + TIMES);
    free(live);
    free(live_step);
    free(live_whole);
    trace_close(all);
    trace_close(step);
    trace_close(whole);
}

Test(trace_edit, a_whole_program_repeated_begins_empty_each_time)
{
    struct trace_reader *whole = generated("mix:50", 1000, 3);
    struct trace_writer *w = writer();
    struct err_detail err = { .text = "" };
    struct trace_reader *all = finished(trace_repeat(whole, 3, w, &err), w, &err);
    cr_expect_eq(trace_info(all)->peak_requested_bytes, trace_info(whole)->peak_requested_bytes);
    cr_expect_eq(trace_info(all)->by_kind[EVENT_ALLOC], 3 * trace_info(whole)->by_kind[EVENT_ALLOC]);
    cr_expect_eq(trace_info(all)->duration_ns, 3 * trace_info(whole)->duration_ns);
    trace_close(all);
    trace_close(whole);
}

Test(trace_edit, sizes_are_multiplied)
{
    struct trace_reader *whole = opened(SAMPLE("mlp-adam"));
    struct trace_writer *w = writer();
    struct err_detail err = { .text = "" };
    size_t n, n_twice;
    struct trace_reader *twice = finished(trace_resize(whole, 2, w, &err), w, &err);
    uint64_t *live = live_after(whole, &n), *live_twice = live_after(twice, &n_twice);
    cr_assert_eq(n_twice, n);
    for (size_t i = 0; i <= n; i++)
        cr_assert_eq(live_twice[i], 2 * live[i]);
    free(live);
    free(live_twice);
    trace_close(twice);
    w = writer();
    struct trace_reader *tiny = finished(trace_resize(whole, 1e-9, w, &err), w, &err);
    cr_expect_eq(trace_info(tiny)->peak_requested_bytes, trace_info(tiny)->peak_live);
    trace_close(tiny);
    trace_close(whole);
}

/* Not made smaller silently. */
Test(trace_edit, a_resized_request_that_no_trace_can_hold_is_refused)
{
    const struct trace_record large[] = { { .kind = EVENT_OOM, .bytes = UINT64_C(1) << 62 },
                                          { .kind = EVENT_ALLOC, .ptr = 1, .bytes = UINT64_C(1) << 62 } };
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        struct trace_writer *w = writer();
        struct err_detail err = { .text = "" };
        struct trace_reader *whole = finished(trace_put(w, &large[i], &err), w, &err);
        w = writer();
        cr_expect_eq(trace_resize(whole, 2, w, &err), ERR_FORMAT);
        cr_expect_not_null(strstr(err.text, "more bytes live than a trace can hold"), "%s", err.text);
        trace_abandon(w);
        trace_close(whole);
    }
}

/* Live bytes at a time: after the last event that is not later. */
static uint64_t live_at(const struct event *events, const uint64_t *live, size_t n, uint64_t ns)
{
    size_t i = 0;
    while (i < n && events[i].time_ns <= ns)
        i++;
    return live[i];
}

Test(trace_edit, merged_traces_have_the_sum_of_live_bytes_at_every_time)
{
    enum { OFFSET = 12345 };
    struct trace_reader *in[2] = { generated("mix:20", 600, 1), generated("mix:30", 500, 2) };
    const uint64_t offset[2] = { 0, OFFSET };
    struct trace_writer *w = writer();
    struct err_detail err = { .text = "" };
    size_t n[3];
    struct trace_reader *both = finished(trace_merge(in, offset, 2, w, &err), w, &err);
    struct event *events[3] = { events_of(in[0], &n[0]), events_of(in[1], &n[1]), events_of(both, &n[2]) };
    uint64_t *live[3] = { live_after(in[0], &n[0]), live_after(in[1], &n[1]), live_after(both, &n[2]) };
    cr_assert_eq(n[2], n[0] + n[1]);
    for (size_t i = 0; i < n[2]; i++) {
        const uint64_t ns = events[2][i].time_ns;
        const uint64_t second = ns < OFFSET ? 0 : live_at(events[1], live[1], n[1], ns - OFFSET);
        if (i + 1 == n[2] || events[2][i + 1].time_ns > ns)
            cr_assert_eq(live[2][i + 1], live_at(events[0], live[0], n[0], ns) + second, "at %llu ns",
                         (unsigned long long)ns);
    }
    cr_expect_eq(trace_info(both)->n_streams, trace_info(in[0])->n_streams + trace_info(in[1])->n_streams);
    for (int i = 0; i < 3; i++) {
        free(events[i]);
        free(live[i]);
    }
    trace_close(both);
    trace_close(in[0]);
    trace_close(in[1]);
}

/* Two traces hold the same, but for what names the program. */
static void expect_alike(struct trace_reader *a, struct trace_reader *b, bool has_names)
{
    struct err_detail err;
    size_t n, n_b;
    struct event *x = events_of(a, &n), *y = events_of(b, &n_b);
    cr_assert_eq(n, n_b);
    for (size_t i = 0; i < n; i++) {
        struct trace_side side_a, side_b;
        cr_assert_eq(memcmp(&x[i], &y[i], sizeof x[i]), 0, "event %zu", i);
        cr_assert_eq(trace_side_at(a, i, &side_a, &err), ERR_OK);
        cr_assert_eq(trace_side_at(b, i, &side_b, &err), ERR_OK);
        cr_assert(side_a.addr == side_b.addr && side_a.record == side_b.record);
        const char *const *frames_a = NULL, *const *frames_b = NULL;
        const size_t n_a = has_names ? trace_stack(a, side_a.stack, &frames_a) : 0;
        cr_assert_eq(trace_stack(b, side_b.stack, &frames_b), n_a);
        for (size_t k = 0; k < n_a; k++)
            cr_assert_str_eq(frames_a[k], frames_b[k]);
    }
    const struct trace_info *p = trace_info(a), *q = trace_info(b);
    cr_expect_eq(p->recorded_peak_reserved_bytes, q->recorded_peak_reserved_bytes);
    cr_expect_eq(p->n_controls, q->n_controls);
    cr_expect_eq(p->starts_mid_run, q->starts_mid_run);
    const struct trace_segment_event *s, *t;
    size_t n_s, n_t;
    cr_assert_eq(trace_segment_events(a, &s, &n_s, &err), ERR_OK);
    cr_assert_eq(trace_segment_events(b, &t, &n_t, &err), ERR_OK);
    cr_assert_eq(n_s, n_t);
    for (size_t i = 0; i < n_s; i++)
        cr_assert(s[i].before == t[i].before && s[i].record == t[i].record && s[i].addr == t[i].addr &&
                  s[i].bytes == t[i].bytes && s[i].stream == t[i].stream && s[i].pool == t[i].pool &&
                  s[i].kind == t[i].kind, "segment event %zu", i);
    free(x);
    free(y);
}

static void count_text(void *arg, const char *what, const char *text)
{
    (void)what;
    (void)text;
    ++*(size_t *)arg;
}

Test(trace_edit, an_anonymous_copy_holds_all_numbers_and_no_name)
{
    static const char *const samples[] = { SAMPLE("gpt-varlen-expand"), SAMPLE("oom-fragmented"),
                                           SAMPLE("gpt-eval-emptycache") };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        struct trace_reader *whole = opened(samples[i]);
        struct trace_writer *w = writer();
        struct err_detail err = { .text = "" };
        size_t n_texts = 0;
        cr_expect_not(trace_is_anonymous(whole, fact_is_plain, count_text, &n_texts));
        struct trace_reader *copy = finished(trace_anonymise(whole, fact_is_plain, w, &err), w, &err);
        expect_alike(whole, copy, false);
        cr_expect(trace_is_anonymous(copy, fact_is_plain, count_text, &n_texts));
        cr_expect_eq(trace_info(copy)->n_stacks, 0);
        trace_close(copy);
        trace_close(whole);
    }
}

Test(trace_edit, what_names_something_is_found)
{
    static const struct { const char *fact, *value; } secrets[] = {
        { "command", "train" }, { "source", "/home/someone" }, { "conf", "me@host" }, { "notes", "of someone" },
        { "source", "alice" }, { "profile", "alice" }, { "profile", "2.9+alice" }, { "begins", "alice" },
        { "ends", "alice" }, { "conf", "backend:alice" }, { "max_split_size", "alice" }, { "max_split_size", "10.1" },
        { "garbage_collection_threshold", "0.8 of alice" }, { "expandable_segments", "alice" },
        { "roundup_power2_divisions", "1:0,2:0,alice:3" }, { "alice", "secret" },
    };
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        struct trace_writer *w = writer();
        struct err_detail err = { .text = "" };
        size_t n_texts = 0;
        const struct trace_record r = { .kind = EVENT_ALLOC, .ptr = 1, .bytes = 8 };
        cr_assert_eq(trace_put_meta(w, secrets[i].fact, secrets[i].value, &err), ERR_OK);
        struct trace_reader *named = finished(trace_put(w, &r, &err), w, &err);
        cr_expect_not(trace_is_anonymous(named, fact_is_plain, count_text, &n_texts), "%s", secrets[i].fact);
        w = writer();
        struct trace_reader *copy = finished(trace_anonymise(named, fact_is_plain, w, &err), w, &err);
        cr_expect(trace_is_anonymous(copy, fact_is_plain, count_text, &n_texts), "%s", secrets[i].fact);
        trace_close(copy);
        trace_close(named);
    }
}

Test(trace_edit, settings_of_an_event_that_name_something_are_emptied)
{
    static const char *const texts[][2] = { { "expandable_segments:True", "expandable_segments:True" },
                                            { "backend:alice", "" } };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct trace_writer *w = writer();
        struct err_detail err = { .text = "" };
        size_t n_texts = 0;
        const struct trace_record r = { .kind = EVENT_CONTROL,
                                        .control = { .kind = CONTROL_SETTINGS, .text = texts[i][0] } };
        struct trace_reader *named = finished(trace_put(w, &r, &err), w, &err);
        w = writer();
        struct trace_reader *copy = finished(trace_anonymise(named, fact_is_plain, w, &err), w, &err);
        cr_expect_str_eq(trace_controls(copy)[0].text, texts[i][1]);
        cr_expect(trace_is_anonymous(copy, fact_is_plain, count_text, &n_texts));
        cr_expect_eq(trace_is_anonymous(named, fact_is_plain, count_text, &n_texts), i == 0);
        trace_close(copy);
        trace_close(named);
    }
}

Test(trace_edit, a_head_is_the_recording_as_it_was_then)
{
    struct trace_reader *whole = opened(SAMPLE("gpt-varlen-default"));
    struct err_detail err = { .text = "" };
    const uint64_t events = trace_info(whole)->events;
    struct trace_writer *w = writer();
    struct trace_reader *head = finished(trace_head(whole, events / 2, w, &err), w, &err);
    cr_expect_eq(trace_info(head)->events, events / 2);
    cr_expect(trace_info(head)->has_addresses && trace_info(head)->has_segment_events);
    for (uint64_t i = 0; i < events / 2; i += 97) {
        struct trace_side a, b;
        cr_assert_eq(trace_side_at(whole, i, &a, &err), ERR_OK);
        cr_assert_eq(trace_side_at(head, i, &b, &err), ERR_OK);
        cr_expect(a.addr == b.addr && a.record == b.record, "event %llu", (unsigned long long)i);
    }
    w = writer();
    struct trace_reader *all = finished(trace_head(whole, events, w, &err), w, &err);
    expect_alike(whole, all, true);
    w = writer();
    cr_expect_eq(trace_head(whole, events + 1, w, &err), ERR_USAGE);
    trace_abandon(w);
    trace_close(all);
    trace_close(head);
    trace_close(whole);
}

Test(trace_edit, a_shifted_copy_differs_in_the_time_of_day_alone)
{
    struct trace_reader *whole = opened(SAMPLE("gpt-varlen-default"));
    struct trace_writer *w = writer();
    struct err_detail err = { .text = "" };
    struct trace_reader *later = finished(trace_shift(whole, 2000000000, w, &err), w, &err);
    expect_alike(whole, later, true);
    cr_expect_eq(trace_info(later)->epoch_us, trace_info(whole)->epoch_us + 2000000);
    struct trace_reader *timeless = generated("mix:5", 10, 1);
    w = writer();
    cr_expect_eq(trace_shift(timeless, 1, w, &err), ERR_UNSUPPORTED);
    trace_abandon(w);
    trace_close(timeless);
    trace_close(later);
    trace_close(whole);
}
