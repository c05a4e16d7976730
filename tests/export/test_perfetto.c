/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Timelines: valid JSON whatever the labels say, exact peaks, every slice that begins ends, and a limit. */
#include "base/units.h"
#include "replay/export/perfetto.h"
#include "tests/recorded_run.h"

#include <stdlib.h>

#define SAMPLE TEST_DATA "/../../samples/gpt-varlen-default.trace.zst"

enum { LANES_MAX = 3 };

/* Lanes that have run, and their timeline. */
struct timeline {
    struct policy_spec specs[LANES_MAX];
    struct lane lanes[LANES_MAX];
    size_t n;
    json_t *root, *events;
};

static struct timeline timeline_of(struct trace_reader *trace, const char *const *policies, size_t n,
                                   const char *device, uint64_t every_events, unsigned threads)
{
    struct timeline t = {.n = n};
    struct perfetto runs[LANES_MAX];
    struct device_choice choice;
    struct err_detail err = {0};
    const struct replay_config cfg = {.sample_every_events = every_events, .threads = threads, .on_oom = OOM_SKIP};
    char *text;
    size_t size;
    cr_assert_eq(device_choose(device, trace, &choice, &err), ERR_OK, "%s", err.text);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(policy_spec_parse(policies[i], &t.specs[i], &err), ERR_OK, "%s", err.text);
        cr_assert_eq(lane_open(&t.specs[i], choice.ops, &choice.config, trace, 0, &t.lanes[i], &err), ERR_OK);
        cr_assert_eq(perfetto_listen(&runs[i], (unsigned)i + 1, policies[i], &t.lanes[i], trace, &cfg, &err), ERR_OK);
    }
    cr_assert_eq(replay_run(trace, t.lanes, n, &cfg, &err), ERR_OK, "%s", err.text);
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < n; i++)
        perfetto_finish(&runs[i], &t.lanes[i]);
    cr_assert_eq(perfetto_write(out, runs, n, trace, "a \"trace\"", &err), ERR_OK, "%s", err.text);
    fclose(out);
    json_error_t error;
    t.root = json_loadb(text, size, 0, &error);
    cr_assert_not_null(t.root, "%s at %d", error.text, error.position);
    t.events = json_object_get(t.root, "traceEvents");
    free(text);
    for (size_t i = 0; i < n; i++)
        perfetto_close(&runs[i]);
    return t;
}

static void timeline_close(struct timeline *t)
{
    json_decref(t->root);
    for (size_t i = 0; i < t->n; i++) {
        lane_close(&t->lanes[i]);
        policy_spec_close(&t->specs[i]);
    }
}

static bool is_event(const json_t *e, size_t lane, const char *phase)
{
    return json_integer_value(json_object_get(e, "pid")) == (json_int_t)lane + 1 &&
           strcmp(json_string_value(json_object_get(e, "ph")), phase) == 0;
}

static const char *text_at(const json_t *e, const char *key)
{
    return json_string_value(json_object_get(e, key));
}

static uint64_t highest(const struct timeline *t, size_t lane, const char *counter)
{
    uint64_t most = 0;
    size_t i;
    json_t *e;
    json_array_foreach(t->events, i, e) {
        if (!is_event(e, lane, "C") || strcmp(text_at(e, "name"), counter) != 0)
            continue;
        const uint64_t bytes = (uint64_t)json_integer_value(json_object_get(json_object_get(e, "args"), "bytes"));
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool is_request(const json_t *e)
{
    const char *category = text_at(e, "cat");
    return category != NULL && strcmp(category, "request") == 0;
}

/* Slices of memory, or of requests, that begin or end. */
static size_t count(const struct timeline *t, size_t lane, const char *phase, bool of_requests)
{
    size_t i, n = 0;
    json_t *e;
    json_array_foreach(t->events, i, e)
        n += is_event(e, lane, phase) && is_request(e) == of_requests;
    return n;
}

static void expect_exact_peaks(const struct timeline *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct meter *m = &t->lanes[i].meter;
#define EXPECT_GAUGE(gauge, meaning) \
        cr_expect_eq(highest(t, i, #gauge), m->peak.gauge, "%s, lane %zu: " #gauge, name, i);
        METER_GAUGES(EXPECT_GAUGE)
#undef EXPECT_GAUGE
        cr_expect_eq(highest(t, i, "inactive_split"), m->inactive_split_peak, "%s, lane %zu", name, i);
    }
}

static const char *const three[] = {"best-fit", "pytorch:expandable", "none"};

Test(perfetto, peaks_are_exact_however_far_apart_the_points)
{
    static const uint64_t distances[] = {1, 7, 100, 1000000};
    struct trace_reader *trace = recorded_open(SAMPLE, -1);
    for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
        struct timeline t = timeline_of(trace, three, 3, "sim:80GiB", distances[i], 1);
        const uint64_t stretches = trace_info(trace)->events / distances[i] + 2;
        expect_exact_peaks(&t, "80 GiB");
        for (size_t k = 0; k < 3; k++)
            cr_expect_leq(count(&t, k, "C", false), PERFETTO_COUNTER_COUNT * (2 * stretches + 1));
        timeline_close(&t);
    }
    trace_close(trace);
}

Test(perfetto, a_refused_request_is_an_instant_and_peaks_stay_exact)
{
    struct trace_reader *trace = recorded_open(SAMPLE, -1);
    struct timeline t = timeline_of(trace, three, 3, "sim:190MiB", 100, 1);
    for (size_t i = 0; i < 3; i++) {
        cr_expect_gt(t.lanes[i].meter.ooms, 0);
        cr_expect_eq(count(&t, i, "i", false), t.lanes[i].meter.ooms);
    }
    expect_exact_peaks(&t, "190 MiB");
    timeline_close(&t);
    trace_close(trace);
}

Test(perfetto, every_slice_ends_and_is_one_segment)
{
    struct trace_reader *trace = recorded_open(SAMPLE, -1);
    struct timeline t = timeline_of(trace, three, 3, "sim:80GiB", 100, 1);
    for (size_t lane = 0; lane < 3; lane++) {
        struct pair_map open = {.room = 0};
        size_t i;
        json_t *e;
        json_array_foreach(t.events, i, e) {
            const bool begins = is_event(e, lane, "b");
            if ((!begins && !is_event(e, lane, "e")) || is_request(e))
                continue;
            const uint64_t id = strtoull(text_at(json_object_get(e, "id2"), "local"), NULL, 0);
            cr_assert_eq(pair_map_find(&open, id, 0) == NULL, begins, "0x%" PRIx64, id);
            if (begins)
                cr_assert(pair_map_add(&open, id, 0, 0));
            else
                pair_map_remove(&open, id, 0);
        }
        cr_expect_eq(open.n, 0, "lane %zu", lane);
        pair_map_free(&open);
    }
    cr_expect_eq(count(&t, 0, "b", false), t.lanes[0].device->usage.segment_allocs);
    cr_expect_eq(count(&t, 1, "b", false), 2, "a range of small blocks and one of large");
    timeline_close(&t);
    trace_close(trace);
}

/* Its search and SQL find them by name and by stack. */
Test(perfetto, each_request_is_a_slice_with_its_line_and_stack)
{
    struct trace_reader *trace = recorded_open(SAMPLE, -1);
    struct timeline t = timeline_of(trace, three, 3, "sim:80GiB", 100, 1);
    const uint64_t n_requests = trace_info(trace)->by_kind[EVENT_ALLOC];
    size_t i, n_with_stack = 0;
    json_t *e;
    for (size_t lane = 0; lane < 3; lane++) {
        cr_expect_eq(count(&t, lane, "b", true), n_requests);
        cr_expect_eq(count(&t, lane, "e", true), n_requests);
    }
    json_array_foreach(t.events, i, e) {
        if (!is_event(e, 0, "b") || !is_request(e))
            continue;
        const json_t *args = json_object_get(e, "args");
        const char *stack = text_at(args, "stack"), *name = text_at(e, "name");
        cr_expect_geq(json_integer_value(json_object_get(args, "block_bytes")),
                      json_integer_value(json_object_get(args, "bytes")));
        if (stack == NULL || strncmp(name, "train.py:", 9) != 0)
            continue;
        const char *line = strchr(name, ' ');   /* "train.py:19 forward" is in the stack as "forward .../train.py:19" */
        cr_assert(line != NULL && strstr(stack, line + 1) != NULL, "%s is not in %s", name, stack);
        n_with_stack++;
    }
    cr_expect_gt(n_with_stack, n_requests / 2);
    timeline_close(&t);
    trace_close(trace);
}

Test(perfetto, threads_do_not_change_it)
{
    struct trace_reader *trace = recorded_open(SAMPLE, -1);
    struct timeline one = timeline_of(trace, three, 3, "sim:80GiB", 100, 1);
    struct timeline three_threads = timeline_of(trace, three, 3, "sim:80GiB", 100, 3);
    cr_expect(json_equal(one.root, three_threads.root));
    timeline_close(&one);
    timeline_close(&three_threads);
    trace_close(trace);
}

/* Requests that live on, with a mark in front. */
static struct trace_reader *forged(const char *label, uint32_t n)
{
    struct trace_writer *w;
    void *bytes;
    size_t size;
    struct trace_reader *r = NULL;
    struct trace_record record = {.kind = EVENT_MARK, .record = TRACE_NO_RECORD};
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    cr_assert_eq(trace_put_label(w, label, strlen(label), &record.label, NULL), ERR_OK);
    cr_assert_eq(trace_put(w, &record, NULL), ERR_OK);
    for (uint32_t i = 0; i < n; i++) {
        record = (struct trace_record){.kind = EVENT_ALLOC, .ptr = 1 + i, .bytes = 512, .record = TRACE_NO_RECORD};
        cr_assert_eq(trace_put(w, &record, NULL), ERR_OK);
    }
    cr_assert_eq(trace_finish_bytes(w, &bytes, &size, NULL), ERR_OK);
    cr_assert_eq(trace_open_owned(bytes, size, "forged", 0, &r, NULL), ERR_OK);
    return r;
}

Test(perfetto, a_label_is_text_whatever_is_in_it)
{
    static const char label[] = "</script><script>alert(\"1\")\n\\\x01\xff";
    struct trace_reader *trace = forged(label, 3);
    struct timeline t = timeline_of(trace, three, 1, "sim:80GiB", 100, 1);
    size_t i, n = 0;
    json_t *e;
    json_array_foreach(t.events, i, e) {
        if (!is_event(e, 0, "i"))
            continue;
        cr_expect_str_eq(text_at(e, "name"), "</script><script>alert(\"1\")\n\\\x01\xef\xbf\xbd");
        n++;
    }
    cr_expect_eq(n, 1);
    cr_expect_str_eq(text_at(json_object_get(t.root, "otherData"), "time"), "numbers of events, as microseconds");
    timeline_close(&t);
    trace_close(trace);
}

/* What a note says is left out. */
static json_int_t left_out(const struct timeline *t, const char *note)
{
    size_t i;
    json_t *e;
    json_array_foreach(t->events, i, e)
        if (is_event(e, 0, "i") && strcmp(text_at(e, "name"), note) == 0)
            return json_integer_value(json_object_get(json_object_get(e, "args"), "left_out"));
    return -1;
}

Test(perfetto, slices_beyond_the_limit_are_counted_and_left_out)
{
    enum { BEYOND = 123 };
    struct trace_reader *trace = forged("m", PERFETTO_MARKS_MAX - 1 + BEYOND);
    struct timeline t = timeline_of(trace, three + 2, 1, "sim:80GiB", 1000, 1);
    cr_expect_eq(count(&t, 0, "b", false), PERFETTO_MARKS_MAX - 1, "and a mark");
    cr_expect_eq(count(&t, 0, "e", false), PERFETTO_MARKS_MAX - 1);
    cr_expect_eq(count(&t, 0, "b", true), PERFETTO_REQUESTS_MAX);
    cr_expect_eq(left_out(&t, "no more slices and instants from here on"), BEYOND);
    cr_expect_eq(left_out(&t, "later requests have no slices"),
                 PERFETTO_MARKS_MAX - 1 + BEYOND - PERFETTO_REQUESTS_MAX);
    expect_exact_peaks(&t, "beyond the limit");
    timeline_close(&t);
    trace_close(trace);
}
