/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Runs from a JSON and from a database are the same table, and conditions on them are read as a person means them. */
#include "report/rows/run_condition.h"
#include "report/rows/run_table.h"
#include "report/rows/verdict.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char two_runs[] =
    "{\"schema\": \"replay/1\", \"trace\": {\"path\": \"a.trace\", \"events\": 12, \"numbering\": \"event\"},"
    " \"runs\": ["
    "{\"policy\": \"best-fit\", \"device\": \"sim:1GiB\", \"outcome\": \"ok\", \"capacity_bytes\": 1073741824,"
    " \"peak\": {\"requested_bytes\": 100, \"reserved_bytes\": 200}, \"device_time_ns\": 5000000,"
    " \"segments\": {\"peak\": 3}, \"fragmentation\": {\"utilization\": 0.5}, \"oom\": {\"count\": 0, \"first\": null},"
    " \"assumptions\": [\"same\", \"one\"], \"warnings\": []},"
    "{\"policy\": \"none\", \"device\": \"sim:1GiB\", \"outcome\": \"oom\", \"capacity_bytes\": null,"
    " \"peak\": {\"requested_bytes\": 100, \"reserved_bytes\": 150}, \"device_time_ns\": 90000000,"
    " \"oom\": {\"count\": 2, \"first\": {\"event\": 7, \"requested_bytes\": 64}},"
    " \"assumptions\": [\"same\"], \"warnings\": [\"beware\"]}]}";

static void open_two(struct run_table *t)
{
    struct err_detail err = { .text = "" };
    run_table_open(t);
    cr_assert_eq(run_table_add_json(t, two_runs, sizeof two_runs - 1, UINT64_MAX, "two", &err), ERR_OK, "%s", err.text);
}

Test(run_table, a_json_fills_the_columns_of_its_names)
{
    struct run_table t;
    open_two(&t);
    cr_assert_eq(t.n_rows, 2);
    cr_expect_str_eq(run_table_text(&t, 0, "trace_path"), "a.trace");
    cr_expect_eq(run_table_number(&t, 1, "trace_events"), 12);
    cr_expect_eq(run_table_number(&t, 0, "peak_reserved_bytes"), 200);
    cr_expect_eq(run_table_number(&t, 0, "segments_peak"), 3);
    cr_expect_eq(run_table_number(&t, 1, "oom_first_event"), 7);
    cr_expect_eq(run_table_cell(&t, 0, "oom_first_event")->kind, FIELD_NULL, "what is not known is no 0");
    cr_expect_eq(run_table_cell(&t, 1, "capacity_bytes")->kind, FIELD_NULL);
    cr_expect_eq(run_table_cell(&t, 0, "trace_digest")->kind, FIELD_NULL);
    cr_expect_float_eq(run_table_cell(&t, 0, "fragmentation_utilization")->ratio, 0.5, 1e-9);
    run_table_close(&t);
}

Test(run_table, a_remark_is_there_once_with_the_number_of_its_runs)
{
    struct run_table t;
    open_two(&t);
    cr_assert_eq(t.n_remarks, 3);
    cr_expect_str_eq(t.remarks[0].text, "same");
    cr_expect_eq(t.remarks[0].n_runs, 2);
    cr_expect(t.remarks[2].is_warning);
    run_table_close(&t);
}

Test(run_table, what_is_no_result_is_refused_with_a_reason)
{
    static const char *const wrong[] = { "", "{", "[]", "{}", "null", "{\"schema\": 1}", "{\"schema\": \"replay/1\"}",
        "{\"schema\": \"replay-fit/1\", \"runs\": []}", "{\"schema\": \"replay/1\", \"runs\": []}",
        "{\"schema\": \"replay-sweep/1\", \"runs\": [3]}", "{\"schema\": \"replay/1\", \"trace\": {}, \"runs\": {}}" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct run_table t;
        struct err_detail err = { .text = "" };
        run_table_open(&t);
        cr_expect_eq(run_table_add_json(&t, wrong[i], strlen(wrong[i]), UINT64_MAX, "it", &err), ERR_FORMAT, "%s",
                     wrong[i]);
        cr_expect(err.text[0] != '\0');
        run_table_close(&t);
    }
}

Test(run_table, a_value_that_its_column_cannot_have_is_refused_with_its_place)
{
    static const struct { const char *value, *wanted; } wrong[] = {
        { "\"peak\": {\"reserved_bytes\": \"7\"}", "'peak_reserved_bytes' is not a whole number from 0 on" },
        { "\"peak\": {\"reserved_bytes\": -7}", "'peak_reserved_bytes' is not a whole number from 0 on" },
        { "\"device_time_ns\": 1.5", "'device_time_ns' is not a whole number from 0 on" },
        { "\"device_time_ns\": 1e19", "'device_time_ns' is not a whole number from 0 on" },
        { "\"device_calls\": true", "'device_calls' is not a value" },
        { "\"device_calls\": [1]", "'device_calls' is not a value" },
        { "\"fragmentation\": {\"internal_bytes\": \"-1\"}", "'fragmentation_internal_bytes' is not a whole number" },
        { "\"fragmentation\": {\"utilization\": -0.5}", "'fragmentation_utilization' is not a number from 0 on" },
        { "\"policy\": 3", "'policy' is not a text" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct run_table t;
        struct err_detail err = { .text = "" };
        char json[200], expected[160];
        snprintf(json, sizeof json, "{\"schema\": \"replay-sweep/1\", \"runs\": [{}, {%s}]}", wrong[i].value);
        snprintf(expected, sizeof expected, "it: of run 1 %s", wrong[i].wanted);
        run_table_open(&t);
        cr_expect_eq(run_table_add_json(&t, json, strlen(json), UINT64_MAX, "it", &err), ERR_FORMAT, "%s", json);
        cr_expect_str_eq(err.text, expected);
        run_table_close(&t);
    }
}

Test(run_table, numbers_as_other_programs_write_them_are_the_same_numbers)
{
    static const char json[] =
        "{\"schema\": \"replay-sweep/1\", \"runs\": [{\"peak\": {\"reserved_bytes\": 2097152.0},"
        " \"fragmentation\": {\"utilization\": 1, \"internal_bytes\": -512}, \"oom\": {\"first\": {\"event\": -1}}}]}";
    struct run_table t;
    struct err_detail err = { .text = "" };
    run_table_open(&t);
    cr_assert_eq(run_table_add_json(&t, json, sizeof json - 1, UINT64_MAX, "it", &err), ERR_OK, "%s", err.text);
    cr_expect_eq(run_table_number(&t, 0, "peak_reserved_bytes"), 2097152);
    cr_expect_eq(run_table_cell(&t, 0, "fragmentation_utilization")->kind, FIELD_RATIO);
    cr_expect_float_eq(run_table_cell(&t, 0, "fragmentation_utilization")->ratio, 1, 1e-9);
    cr_expect_eq(run_table_number(&t, 0, "fragmentation_internal_bytes"), -512);
    cr_expect_eq(run_table_number(&t, 0, "oom_first_event"), -1);
    run_table_close(&t);
}

/* ---- conditions ---- */

static bool holds(const struct run_table *t, const char *text, size_t row)
{
    struct run_condition c;
    struct err_detail err = { .text = "" };
    cr_assert_eq(run_condition_parse(text, &c, &err), ERR_OK, "%s: %s", text, err.text);
    return run_condition_holds(&c, t, row);
}

Test(run_condition, words_of_a_name_may_stand_in_any_order_and_without_the_unit)
{
    static const char *const names[] = { "peak_reserved_bytes", "peak_reserved", "reserved_peak",
                                         "reserved_peak_bytes" };
    struct run_table t;
    open_two(&t);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s > 199", names[i]);
        cr_expect(holds(&t, text, 0), "%s", text);
        cr_expect(!holds(&t, text, 1), "%s", text);
    }
    run_table_close(&t);
}

Test(run_condition, who_types_a_word_of_a_column_is_told_it)
{
    static const char *const cases[][2] = {
        { "peak > 1", "peak_reserved_bytes" }, { "reserved > 1", "peak_reserved_bytes" },
        { "waits > 1", "device_waits" }, { "pollicy = a", "policy" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run_condition c;
        struct err_detail err = { .text = "" };
        char meant[64];
        snprintf(meant, sizeof meant, "did you mean '%s'?", cases[i][1]);
        cr_expect_eq(run_condition_parse(cases[i][0], &c, &err), ERR_USAGE);
        cr_expect(strstr(err.text, meant) != NULL, "%s: %s", cases[i][0], err.text);
    }
}

Test(run_condition, every_relation_on_both_sides_of_its_border)
{
    static const struct { const char *text; bool at_199, at_200, at_201; } cases[] = {
        { "peak_reserved < 200", true, false, false },  { "peak_reserved <= 200", true, true, false },
        { "peak_reserved == 200", false, true, false }, { "peak_reserved = 200", false, true, false },
        { "peak_reserved != 200", true, false, true },  { "peak_reserved >= 200", false, true, true },
        { "peak_reserved>200", false, false, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int bytes = 199; bytes <= 201; bytes++) {
            char json[160];
            struct run_table t;
            snprintf(json, sizeof json, "{\"schema\":\"replay-sweep/1\",\"runs\":[{\"peak_reserved_bytes\":%d}]}",
                     bytes);
            run_table_open(&t);
            cr_assert_eq(run_table_add_json(&t, json, strlen(json), UINT64_MAX, "one", NULL), ERR_OK);
            const bool want = bytes == 199 ? cases[i].at_199 : bytes == 200 ? cases[i].at_200 : cases[i].at_201;
            cr_expect_eq(holds(&t, cases[i].text, 0), want, "%s at %d", cases[i].text, bytes);
            run_table_close(&t);
        }
}

Test(run_condition, units_texts_and_nulls)
{
    struct run_table t;
    open_two(&t);
    cr_expect(holds(&t, "capacity >= 1GiB", 0));
    cr_expect(!holds(&t, "capacity >= 0", 1), "an unlimited card has no size to compare");
    cr_expect(!holds(&t, "capacity < 1TiB", 1));
    cr_expect(holds(&t, "device_time == 5ms", 0));
    cr_expect(holds(&t, "device_time_ns > 0.05s", 1));
    cr_expect(holds(&t, "outcome != ok", 1));
    cr_expect(!holds(&t, "outcome != ok", 0));
    cr_expect(holds(&t, "utilization_fragmentation < 0.6", 0));
    run_table_close(&t);
}

Test(run_condition, blanks_around_the_value_do_not_belong_to_it)
{
    struct run_table t;
    open_two(&t);
    cr_expect(holds(&t, " oom_count > 0 ", 1));
    cr_expect(holds(&t, "capacity >= 1GiB\t", 0));
    cr_expect(holds(&t, "device_time == 5ms \n", 0));
    cr_expect(holds(&t, "outcome == oom ", 1));
    cr_expect(!holds(&t, "outcome == oo", 1), "a text is compared as a whole");
    cr_expect(!holds(&t, "outcome == oom2 ", 1));
    cr_expect(!holds(&t, "outcome != ok  ", 0));
    run_table_close(&t);
}

Test(run_condition, what_cannot_be_meant_is_refused)
{
    static const char *const wrong[] = { "", ">", "peak_reserved", "peak_reserved >", "peak_reserved > much",
        "peak_peak > 1", "reserved > 1", "bytes > 1", "> 3GiB", "oom_count > GiB", "outcome > ok",
        "device_time < 3MiB", "outcome == \t", "oom_count > 0 0" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct run_condition c;
        struct err_detail err = { .text = "" };
        cr_expect_eq(run_condition_parse(wrong[i], &c, &err), ERR_USAGE, "%s", wrong[i]);
        cr_expect(err.text[0] != '\0');
    }
}

/* ---- who wins ---- */

/* A sweep's JSON of runs given as trace, policy, outcome, requested, reserved and time; all of one kind of policy. */
struct made_run {
    const char *trace, *policy, *outcome;
    int requested, reserved, time_ms;
};

static void open_made(const struct made_run *runs, size_t n, const char *name, struct run_table *t)
{
    char *json;
    size_t n_json;
    FILE *to = open_memstream(&json, &n_json);
    fputs("{\"schema\":\"replay-sweep/1\",\"runs\":[", to);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s{\"trace_path\":\"%s\",\"policy\":\"%s\",\"name\":\"%s\",\"device\":\"sim\","
                "\"outcome\":\"%s\",\"peak_requested_bytes\":%d,\"peak_reserved_bytes\":%d,"
                "\"device_time_ns\":%d000000}", i > 0 ? "," : "", runs[i].trace, runs[i].policy, name,
                runs[i].outcome, runs[i].requested, runs[i].reserved, runs[i].time_ms);
    fputs("]}", to);
    fclose(to);
    run_table_open(t);
    cr_assert_eq(run_table_add_json(t, json, n_json, UINT64_MAX, "made", NULL), ERR_OK);
    free(json);
}

Test(verdict, the_least_sum_of_memory_and_driver_time_wins)
{
    static const struct made_run runs[] = { { "a", "wide", "ok", 100, 300, 5 },   { "a", "narrow", "ok", 100, 200, 5 },
                                            { "a", "none", "ok", 100, 100, 900 }, { "a", "tight", "oom", 100, 50, 1 } };
    struct run_table t;
    struct verdict v;
    open_made(runs, 4, "made", &t);
    cr_assert_eq(verdict_open(&t, &v), ERR_OK);
    cr_expect_eq(v.n_cases, 1);
    cr_expect_eq(v.n_settings, 4);
    cr_expect_eq(v.cases[0].best_row, 1);
    verdict_close(&v);
    run_table_close(&t);
}

Test(verdict, over_traces_the_setting_wins_that_gets_through_most_of_them)
{
    static const struct made_run runs[] = { { "a", "fits", "ok", 100, 190, 5 }, { "b", "fits", "ok", 1000, 1500, 5 },
                                            { "a", "slim", "ok", 100, 110, 5 }, { "b", "slim", "oom", 1000, 900, 5 } };
    struct run_table t;
    struct verdict v;
    open_made(runs, 4, "made", &t);
    cr_assert_eq(verdict_open(&t, &v), ERR_OK);
    cr_expect_eq(v.n_cases, 2);
    cr_assert_eq(v.best_setting, 0);
    cr_expect_float_eq(v.settings[0].mean_share, 1.7, 1e-9);
    cr_expect_float_eq(v.settings[0].worst_share, 1.9, 1e-9);
    cr_expect_eq(v.cases[0].best_row, 2);
    verdict_close(&v);
    run_table_close(&t);
}

Test(verdict, what_a_source_does_not_say_tells_no_traces_apart)
{
    static const char with_digest[] =
        "{\"schema\":\"replay-sweep/1\",\"runs\":[{\"trace_path\":\"a\",\"trace_digest\":\"12\",\"policy\":\"wide\","
        "\"version\":\"1\",\"device\":\"sim\",\"outcome\":\"ok\"}]}";
    static const struct made_run runs[] = { { "a", "wide", "ok", 100, 200, 5 }, { "b", "wide", "ok", 100, 200, 5 } };
    struct run_table t;
    struct verdict v;
    open_made(runs, 2, "made", &t);
    cr_assert_eq(run_table_add_json(&t, with_digest, sizeof with_digest - 1, UINT64_MAX, "more", NULL), ERR_OK);
    cr_assert_eq(verdict_open(&t, &v), ERR_OK);
    cr_expect_eq(v.n_cases, 2);
    cr_expect_eq(v.n_settings, 1);
    cr_expect_eq(v.case_of[2], v.case_of[0]);
    verdict_close(&v);
    run_table_close(&t);
}

/* The row that is named best of runs of one trace. */
static size_t best_of(const struct made_run *runs, size_t n, const char *name)
{
    struct run_table t;
    struct verdict v;
    open_made(runs, n, name, &t);
    cr_assert_eq(verdict_open(&t, &v), ERR_OK);
    const size_t row = v.cases[0].best_row;
    verdict_close(&v);
    run_table_close(&t);
    return row;
}

Test(verdict, of_equals_the_default_is_named)
{
    static const struct made_run runs[] = { { "a", "gc=0.8", "ok", 100, 200, 5 },
                                            { "a", "best-fit", "ok", 100, 200, 5 } };
    cr_expect_eq(best_of(runs, 2, "made"), 1);
}

Test(verdict, of_equals_the_default_is_named_also_where_it_is_spelled_out)
{
    static const struct made_run runs[] = {
        { "a", "pytorch:gc=0.6", "ok", 100, 200, 5 },   { "a", "pytorch:max-split=none,gc=off", "ok", 100, 200, 5 },
        { "a", "pytorch:gc=0.8", "ok", 100, 200, 5 },   { "b", "pytorch:gc=0.6", "ok", 100, 200, 5 },
        { "b", "pytorch:max-split=none,gc=off", "ok", 100, 200, 5 },
    };
    struct run_table t;
    struct verdict v;
    open_made(runs, 5, "pytorch", &t);
    cr_assert_eq(verdict_open(&t, &v), ERR_OK);
    cr_expect_eq(v.cases[0].best_row, 1);
    cr_expect_eq(v.cases[1].best_row, 4);
    cr_expect_eq(v.best_setting, 1);
    cr_expect(verdict_is_default(&v, 1));
    cr_expect(!verdict_is_default(&v, 0));
    verdict_close(&v);
    run_table_close(&t);
}

Test(verdict, of_equals_without_the_default_the_one_that_changes_least_is_named)
{
    static const struct made_run runs[] = { { "a", "gc=0.8,max-split=32MiB", "ok", 100, 200, 5 },
                                            { "a", "pytorch:max-split=32MiB,expandable=off", "ok", 100, 200, 5 },
                                            { "a", "gc=0.8", "ok", 100, 200, 5 } };
    cr_expect_eq(best_of(runs, 3, "pytorch"), 1);
}

Test(verdict, a_setting_changes_what_is_not_the_default_anyway)
{
    static const struct { const char *policy; unsigned n; } cases[] = {
        { "best-fit", 0 },  { "pytorch", 0 },  { "none", 0 },  { "pow2", 1 },  { "no such policy", 0 },
        { "gc=0.8", 2 },    /* the share, and the card as its limit */
        { "pytorch:gc=0.8,max-split=32MiB", 2 },          { "pytorch:gc=off,max-split=none,expandable=off", 0 },
        { "pytorch:roundup=[64:2,>:1],gc=0.8", 2 },       { "pytorch:version=2.6", 1 },
        { "max_split_size_mb:32,expandable_segments:True", 2 }, { "expandable_segments:False", 0 },
        { "roundup_power2_divisions:[64:2,>:1]", 1 },     { "./page_fit.so:page=64KiB,x=[1,2]", 2 },
        { "./page_fit.so", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(policy_text_changes(cases[i].policy), cases[i].n, "%s: %u", cases[i].policy,
                     policy_text_changes(cases[i].policy));
}

Test(verdict, there_is_none_where_nothing_got_through)
{
    static const struct made_run runs[] = { { "a", "x", "oom", 100, 50, 1 }, { "a", "y", "error", 100, 50, 1 } };
    struct run_table t;
    struct verdict v;
    struct words w;
    open_made(runs, 2, "made", &t);
    cr_assert_eq(verdict_open(&t, &v), ERR_OK);
    cr_expect_eq(v.cases[0].best_row, VERDICT_NONE);
    cr_expect_eq(v.best_setting, VERDICT_NONE);
    for (size_t i = 0; verdict_sentence(&v, i, &w); i++)
        cr_expect(i != VERDICT_WINNER || strstr(w.text, "No policy") != NULL, "%s", w.text);
    verdict_close(&v);
    run_table_close(&t);
}
