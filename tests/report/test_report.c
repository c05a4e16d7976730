/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The report: its JSON says what was measured, CSV and table are well-formed, its words are true. */
#include "tests/engine_rig.h"

#include "replay/results/result.h"
#include "report/text/json_writer.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16, N_LANES = 3 };

/* A replay with three outcomes: served, refused and found wrong. */
struct sample_report {
    struct rig_trace     trace;
    struct policy_spec   specs[N_LANES];
    struct lane          lanes[N_LANES];
    struct report_run    runs[N_LANES];
    struct device_choice device;
    struct report        report;
};

static void sample_open(struct sample_report *s)
{
    static const struct trace_record records[] = {
        {.kind = EVENT_ALLOC, .ptr = 1, .bytes = 3 * MIB, .record = 5},
        {.kind = EVENT_ALLOC, .ptr = 2, .bytes = 1000, .record = 7, .time_ns = 10},
        {.kind = EVENT_FREE, .ptr = 1, .record = 9, .time_ns = 20},
        {.kind = EVENT_ALLOC, .ptr = 3, .bytes = 5 * MIB, .record = 11, .time_ns = 30},
    };
    static char first[] = "sound", second[] = "tight, \"quoted\"", third[] = "wrong";
    char *const typed[N_LANES] = {first, second, third};
    struct err_detail err = {.text = ""};
    memset(s, 0, sizeof *s);
    cr_assert_eq(rig_trace_open(&s->trace, records, sizeof records / sizeof records[0], &err), ERR_OK, "%s", err.text);
    cr_assert_eq(device_choose(NULL, s->trace.reader, &s->device, &err), ERR_OK, "%s", err.text);
    for (size_t i = 0; i < N_LANES; i++) {
        struct device_config device = s->device.config;
        device.total_bytes = i == 1 ? 8 * MIB : device.total_bytes;
        s->specs[i] = bump_spec(i == 2 ? BUMP_OVERLAPS : BUMP_SOUND, 2);
        s->specs[i].typed = typed[i];
        cr_assert_eq(lane_open(&s->specs[i], &device_sim, &device, s->trace.reader, 0, &s->lanes[i], &err), ERR_OK);
    }
    const struct replay_config cfg = {.audit = true, .borders = {1, 2, 3}, .n_borders = 3};
    struct bounds bounds;
    cr_assert_eq(bounds_replay(s->trace.reader, s->lanes, N_LANES, &cfg, true, &bounds, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(result_gather(s->trace.reader, "a trace", &bounds, NULL, s->lanes, N_LANES, &s->device, s->runs,
                               &s->report, &err), ERR_OK, "%s", err.text);
}

static void sample_close(struct sample_report *s)
{
    result_close(&s->report);
    for (size_t i = 0; i < N_LANES; i++)
        lane_close(&s->lanes[i]);
    rig_trace_close(&s->trace);
}

/* What a writer writes for the sample. */
static void write_text(void (*write)(FILE *, const struct report *), const struct report *r, char text[TEXT_MAX])
{
    memset(text, 0, TEXT_MAX);
    FILE *out = fmemopen(text, TEXT_MAX - 1, "w");
    write(out, r);
    cr_assert_eq(fclose(out), 0);
}

static void write_table(FILE *out, const struct report *r)
{
    cr_assert_eq(report_table(out, r), ERR_OK);
}

Test(report, the_json_says_what_was_measured_in_the_numbering_of_the_source)
{
    static char text[TEXT_MAX];
    struct sample_report s;
    sample_open(&s);
    write_text(report_json, &s.report, text);
    json_t *root = json_loads(text, 0, NULL);
    const json_t *trace = json_object_get(root, "trace"), *runs = json_object_get(root, "runs");
    cr_expect_str_eq(json_string_value(json_object_get(root, "schema")), "replay/1");
    cr_expect_str_eq(json_string_value(json_object_get(trace, "numbering")), "source");
    cr_expect_str_eq(json_string_value(json_object_get(trace, "starts")), "empty");
    cr_expect_eq(json_integer_value(json_object_get(trace, "events")), 4);
    cr_expect_eq(json_integer_value(json_object_get(trace, "allocs")), 3);
    cr_expect_eq(json_integer_value(json_object_get(trace, "frees")), 1);
    cr_expect(json_is_null(json_object_get(trace, "capacity_bytes")));

    const char *const outcomes[N_LANES] = {"ok", "oom", "corrupt"};
    for (size_t i = 0; i < N_LANES; i++)
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(runs, i), "outcome")), outcomes[i]);
    const json_t *sound = json_array_get(runs, 0), *peak = json_object_get(sound, "peak");
    cr_expect_eq(json_integer_value(json_object_get(peak, "reserved_bytes")), 10 * MIB);
    cr_expect_eq(json_integer_value(json_object_get(json_object_get(sound, "at_peak"), "requested_bytes")),
                 5 * MIB + 1000);
    const json_t *lost = json_object_get(sound, "fragmentation");
    cr_expect_eq(json_integer_value(json_object_get(lost, "internal_bytes")), 24);
    cr_expect_eq(json_integer_value(json_object_get(lost, "external_bytes")), 5 * MIB - 1024);
    cr_expect_float_eq(json_real_value(json_object_get(lost, "utilization")), (5.0 * MIB + 1024) / (10 * MIB), 1e-5);
    const json_t *tight = json_array_get(runs, 1), *first = json_object_get(json_object_get(tight, "oom"), "first");
    cr_expect_str_eq(json_string_value(json_object_get(tight, "policy")), "tight, \"quoted\"");
    cr_expect_eq(json_integer_value(json_object_get(first, "event")), 11, "the source's own number");
    cr_expect_eq(json_integer_value(json_object_get(first, "requested_bytes")), 5 * MIB);
    const json_t *warnings = json_object_get(json_array_get(runs, 2), "warnings");
    cr_expect_not_null(strstr(json_string_value(json_array_get(warnings, 0)), "record 7"));
    json_decref(root);
    sample_close(&s);
}

Test(report, every_csv_row_has_as_many_fields_as_the_header)
{
    static char text[TEXT_MAX];
    struct sample_report s;
    size_t fields = 1, expected = 0, rows = 0;
    bool is_quoted = false;
    sample_open(&s);
    write_text(report_csv, &s.report, text);
    for (const char *at = text; *at != '\0'; at++) {
        is_quoted ^= *at == '"';
        fields += *at == ',' && !is_quoted;
        if (*at != '\n' || is_quoted)
            continue;
        expected = rows++ == 0 ? fields : expected;
        cr_expect_eq(fields, expected, "row %zu", rows);
        fields = 1;
    }
    cr_expect_eq(rows, N_LANES + 1);
    cr_expect_not_null(strstr(text, "\n\"tight, \"\"quoted\"\"\","));
    sample_close(&s);
}

Test(report, the_table_has_a_row_per_policy_and_no_line_is_too_long)
{
    static char text[TEXT_MAX];
    struct sample_report s;
    size_t rows = 0;
    sample_open(&s);
    write_text(write_table, &s.report, text);
    cr_expect_eq(strncmp(text, "Device: ", 8), 0, "the first line says what it ran on");
    cr_expect_not_null(strstr(text, "--device"), "and how to choose otherwise");
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        cr_expect_leq(strlen(line), 140, "%zu: %s", strlen(line), line);
        for (size_t i = 0; i < N_LANES; i++)
            rows += strncmp(line, s.specs[i].typed, strlen(s.specs[i].typed)) == 0 && strstr(line, " us ") != NULL;
    }
    cr_expect_geq(rows, N_LANES);
    sample_close(&s);
}

Test(report, the_words_name_the_policy_that_got_through_and_those_that_did_not)
{
    static char text[TEXT_MAX];
    struct sample_report s;
    sample_open(&s);
    write_text(write_table, &s.report, text);
    cr_expect_not_null(strstr(text, "sound needs least memory: 10 MiB"));
    cr_expect_not_null(strstr(text, "tight, \"quoted\" runs out of memory"));
    cr_expect_not_null(strstr(text, "ran out of memory at record 11: 5 MiB asked for"));
    cr_expect_not_null(strstr(text, "Warning: the run failed at record 7"));
    cr_expect_not_null(strstr(text, "[wrong]"));
    sample_close(&s);
}

Test(report, what_came_before_the_first_event_has_no_number)
{
    static char text[TEXT_MAX];
    struct sample_report s;
    sample_open(&s);
    s.runs[1].first_oom_event = -1;
    write_text(write_table, &s.report, text);
    cr_expect_not_null(strstr(text, "1 at start"), "%s", text);
    cr_expect_null(strstr(text, "-1"), "%s", text);
    sample_close(&s);
}

/* ---- the device of a run ---- */

/* What is chosen for a trace of one request of 3 MiB that was recorded with these facts. */
static struct device_choice choose(const char *text, uint64_t capacity_bytes, uint64_t peak_reserved_bytes)
{
    const struct trace_record record = {.kind = EVENT_ALLOC, .ptr = 1, .bytes = 3 * MIB, .record = TRACE_NO_RECORD};
    struct err_detail err = {.text = ""};
    struct device_choice d;
    struct rig_trace t = {.bytes = NULL};
    struct trace_writer *w;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    trace_writer_info(w)->capacity_bytes = capacity_bytes;
    trace_writer_info(w)->recorded_peak_reserved_bytes = peak_reserved_bytes;
    cr_assert_eq(trace_put(w, &record, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(rig_trace_finish(&t, w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(device_choose(text, t.reader, &d, &err), ERR_OK, "%s", err.text);
    rig_trace_close(&t);
    cr_expect_not_null(strstr(d.headline, "--device"), "'%s' does not say how to choose", d.headline);
    return d;
}

Test(device_choice, what_was_typed_counts_before_what_was_recorded)
{
    const struct device_choice d = choose("sim:24GiB,context=450MiB", 5 * GIB, 1 * GIB);
    cr_expect_eq(d.config.total_bytes, 24 * GIB);
    cr_expect_eq(d.config.context_bytes, 450 * MIB);
    cr_expect(d.has_total);
    cr_expect_str_eq(d.typed, "sim:24GiB,context=450MiB");
}

Test(device_choice, the_recorded_capacity_counts_before_the_smallest_card)
{
    const struct device_choice d = choose("sim:packing=off", 5 * GIB + 1, 1 * GIB);
    cr_expect_eq(d.config.total_bytes, 5 * GIB + 1);
    cr_expect_not(d.config.packing);
    cr_expect_str_eq(d.typed, "sim:5368709121,packing=off");
}

Test(device_choice, the_smallest_card_that_holds_what_was_reserved_is_the_default)
{
    for (size_t i = 0; device_model_at(i) != NULL; i++) {
        const struct device_model *m = device_model_at(i), *next = device_model_at(i + 1);
        char typed[64];
        const struct device_choice fits = choose(NULL, 0, m->total_bytes);
        snprintf(typed, sizeof typed, "sim:%s", m->name);
        cr_expect_str_eq(fits.typed, typed);
        cr_expect_eq(fits.config.total_bytes, m->total_bytes);
        const struct device_choice above = choose("sim", 0, m->total_bytes + 1);
        cr_expect_eq(above.config.total_bytes, next != NULL ? next->total_bytes : DEVICE_UNLIMITED);
    }
}

Test(device_choice, context_and_others_must_fit_too_and_without_a_record_the_requests_count)
{
    const struct device_model *least = device_model_at(0);
    cr_expect_eq(choose(NULL, 0, 0).config.total_bytes, least->total_bytes);
    cr_expect_gt(choose("sim:context=1GiB", 0, least->total_bytes - 1 * MIB).config.total_bytes, least->total_bytes);
}

Test(device_choice, what_is_said_to_be_chosen_means_the_same_when_typed)
{
    const struct device_choice chosen = choose("sim:others=2GiB", 0, 30 * GIB);
    const struct device_choice typed = choose(chosen.typed, 0, 0);
    cr_expect_eq(typed.config.total_bytes, chosen.config.total_bytes);
    cr_expect_eq(typed.config.others_bytes, 2 * GIB);
}

/* ---- the JSON writer ---- */

Test(json_writer, any_text_is_written_as_valid_json)
{
    const char *const texts[] = {"plain", "a \"quote\" and \\", "line\nbreak\ttab\001",
                                 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80",
                                 "\xf4\x90\x80\x80", "a\xe2\x82", "\x7f", ""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[256] = "";
        FILE *out = fmemopen(text, sizeof text - 1, "w");
        struct json_writer w = json_writer(out);
        json_put_array(&w, NULL);
        json_put_text(&w, NULL, texts[i]);
        json_end_array(&w);
        fclose(out);
        json_t *root = json_loads(text, 0, NULL);
        cr_assert_not_null(root, "text %zu: %s", i, text);
        if (i < 4)
            cr_expect_str_eq(json_string_value(json_array_get(root, 0)), texts[i]);
        json_decref(root);
    }
}

Test(json_writer, numbers_keep_every_digit_and_what_is_no_number_is_null)
{
    char text[256] = "";
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    struct json_writer w = json_writer(out);
    json_put_object(&w, NULL);
    json_put_number(&w, "most", INT64_MAX);
    json_put_number(&w, "more than a signed integer", UINT64_MAX);
    json_put_integer(&w, "least", INT64_MIN);
    json_put_ratio(&w, "half", 0.5);
    json_put_ratio(&w, "none", 0.0 / 0.0);
    json_put_object(&w, "empty");
    json_end_object(&w);
    json_end_object(&w);
    fclose(out);
    cr_expect_str_eq(text, "{\n  \"most\": 9223372036854775807,\n"
                           "  \"more than a signed integer\": 1.8446744073709552e+19,\n"
                           "  \"least\": -9223372036854775808,\n"
                           "  \"half\": 0.5,\n  \"none\": null,\n  \"empty\": {}\n}\n");
}
