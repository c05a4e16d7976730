/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The runner of golden cases: it sees every recorded value, and bad cases are refused and never followed. */
#include "tests/golden/case.h"
#include "replay/conform/compare.h"
#include "tests/golden/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define CASE(name) GOLDEN_DIR "/" name

/* ---- a changed record is a difference ---- */

static void open_case(const char *path, struct golden_case *c)
{
    struct err_detail err = {0};
    cr_assert_eq(case_read(path, c, &err), ERR_OK, "%s", err.text);
}

static bool is_equal(const struct golden_case *c)
{
    struct difference diff = {0};
    struct err_detail err = {0};
    cr_assert_eq(program_run(c, &diff, &err), ERR_OK, "%s", err.text);
    return !diff.is_found;
}

/* Another value of the same kind; nothing for null, which says that there is nothing to compare. */
static json_t *changed(const json_t *v)
{
    char text[8192];
    if (json_is_integer(v))
        return json_integer(json_integer_value(v) + 1);
    if (json_is_real(v))
        return json_real(json_real_value(v) + 0.5);
    if (json_is_boolean(v))
        return json_boolean(json_is_false(v));
    if (!json_is_string(v))
        return NULL;
    snprintf(text, sizeof text, "%sx", json_string_value(v));
    return json_string(text);
}

/* Changes one value after the other below `at`, and runs the case each time. Returns how many there were. */
static size_t change_each(const struct golden_case *c, json_t *at)
{
    size_t n = 0;
    const size_t n_items = json_is_array(at) ? json_array_size(at) : 0;
    for (size_t i = 0; i < n_items; i++) {
        json_t *v = json_incref(json_array_get(at, i)), *other = changed(v);
        if (other != NULL) {
            json_array_set_new(at, i, other);
            cr_expect(!is_equal(c), "a changed value was not seen: item %zu", i);
            n++;
        }
        json_array_set(at, i, v);
        n += change_each(c, v);
        json_decref(v);
    }
    const char *key;
    json_t *v;
    void *next;
    json_object_foreach_safe(at, next, key, v) {
        json_t *keep = json_incref(v), *other = changed(v);
        if (other != NULL) {
            json_object_set_new(at, key, other);
            cr_expect(!is_equal(c), "a changed value was not seen: %s", key);
            n++;
        }
        json_object_set(at, key, keep);
        n += change_each(c, keep);
        json_decref(keep);
    }
    return n;
}

static void expect_all_seen(const char *path, const char *field)
{
    struct golden_case c;
    open_case(path, &c);
    cr_assert(is_equal(&c));
    cr_expect_gt(change_each(&c, json_object_get(c.root, field)), 0, "%s of %s", field, path);
    cr_expect(is_equal(&c), "the case is as it was");
    case_close(&c);
}

Test(golden, every_recorded_answer_counts)
{
    expect_all_seen(CASE("pytorch/rule-conf-both.json"), "results");
    expect_all_seen(CASE("pytorch/rule-mempool-onoom.json"), "results");
}

Test(golden, every_trace_record_counts)
{
    expect_all_seen(CASE("pytorch/rule-mempool.json"), "trace");
}

Test(golden, every_device_call_counts)
{
    expect_all_seen(CASE("pytorch/rule-expand.json"), "device_log");
}

Test(golden, every_counter_segment_and_line_of_the_end_counts)
{
    expect_all_seen(CASE("pytorch/rule-twodev.json"), "memory_stats");
    expect_all_seen(CASE("pytorch/rule-twodev.json"), "segments");
    expect_all_seen(CASE("pytorch/rule-twodev.json"), "memory_summary");
}

Test(golden, the_message_of_refused_settings_counts)
{
    expect_all_seen(CASE("pytorch-2.0.1/rule-throw.json"), "init_error");
}

Test(golden, a_record_too_many_or_too_few_counts)
{
    static const char *const fields[] = {"trace", "device_log", "segments", "memory_summary", "memory_stats"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct golden_case c;
        open_case(CASE("pytorch/rule-twodev.json"), &c);
        json_t *list = json_object_get(c.root, fields[i]);
        json_array_append(list, json_array_get(list, 0));
        cr_expect(!is_equal(&c), "%s too long", fields[i]);
        json_array_remove(list, json_array_size(list) - 1);
        cr_expect(is_equal(&c));
        json_array_remove(list, json_array_size(list) - 1);
        cr_expect(!is_equal(&c), "%s too short", fields[i]);
        case_close(&c);
    }
}

Test(golden, a_difference_names_the_op_and_both_values)
{
    struct golden_case c;
    struct difference diff = {0};
    open_case(CASE("pytorch/rule-retry.json"), &c);
    json_array_set_new(json_array_get(json_array_get(json_object_get(c.root, "results"), 1), 0), 1, json_integer(77));
    cr_assert_eq(program_run(&c, &diff, NULL), ERR_OK);
    cr_expect_not_null(strstr(diff.text, "op 1 [\"a\","), "%s", diff.text);
    cr_expect_not_null(strstr(diff.text, "[1]: expected 77, got 0"), "%s", diff.text);
    case_close(&c);
}

/* ---- bad cases ---- */

static enum err read_text(const char *bytes, size_t n)
{
    char path[] = "/tmp/golden-case-XXXXXX";
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, bytes, n), (ssize_t)n);
    close(file);
    struct golden_case c;
    const enum err e = case_read(path, &c, NULL);
    if (e == ERR_OK)
        case_close(&c);
    unlink(path);
    return e;
}

#define HEAD "{\"case\":\"x\",\"torch\":\"2.15.0\",\"device_total\":1048576,\"devices\":1,\"streams\":[[0]],"

static void expect_refused(const char *text)
{
    cr_expect_eq(read_text(text, strlen(text)), ERR_FORMAT, "%s", text);
}

Test(golden, a_case_without_ops_is_still_one)
{
    static const char text[] = HEAD "\"ops\":[],\"results\":[]}";
    cr_expect_eq(read_text(text, strlen(text)), ERR_OK);
}

Test(golden, a_case_that_is_none_is_refused)
{
    expect_refused("");
    expect_refused("[]");
    expect_refused("{}");
    expect_refused("{\"case\":1,\"torch\":[]}");
    expect_refused("{\"case\":\"x\",\"torch\":\"1.13\"}");
    expect_refused(HEAD "\"ops\":{},\"results\":[]}");
    expect_refused(HEAD "\"ops\":[[\"sync\"]],\"results\":[]}");
    expect_refused("{\"case\":\"x\",\"torch\":\"2.15.0\",\"device_total\":-1,\"devices\":1}");
    expect_refused("{\"case\":\"x\",\"torch\":\"2.15.0\",\"device_total\":1,\"devices\":1000000}");
}

Test(golden, ops_that_make_no_sense_are_refused)
{
    static const char *const ops[] = {
        "[\"b\"]",        "[]",           "7",
        "[\"sync\",1]",   "[\"a\",1,0]",  "[\"a\",1,0,-5]",
        "[\"a\",1,9,5]",  "[\"f\",1]",    "[\"a\",1,0,5],[\"a\",1,0,5]",
        "[\"a\",1,0,5,3]", "[\"rs\",1,0]", "[\"a\",1,0,5],[\"f\",1],[\"f\",1]",
        "[\"set_conf\",1]", "[\"f\",1],[\"a\",1,0,5]", "[\"hold_stream\",4,1]",
    };
    static const char *const results[] = {"[null]", "[null],[null]", "[null],[null],[null]"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        size_t n = 1;
        for (const char *at = strstr(ops[i], "],["); at != NULL; at = strstr(at + 1, "],["))
            n++;
        char text[512];
        snprintf(text, sizeof text, HEAD "\"ops\":[%s],\"results\":[%s]}", ops[i], results[n - 1]);
        expect_refused(text);
    }
}

static size_t read_file(const char *path, char *bytes, size_t cap)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    const size_t n = fread(bytes, 1, cap, file);
    fclose(file);
    cr_assert_lt(n, cap);
    return n;
}

static size_t gzip_bytes(const char *plain, size_t n, char *packed, size_t cap)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)plain, .avail_in = (uInt)n, .next_out = (Bytef *)packed,
                  .avail_out = (uInt)cap};
    cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return cap - z.avail_out;
}

Test(golden, no_truncation_of_a_case_is_taken_for_one)
{
    static char plain[16384], packed[16384];
    const size_t n = read_file(CASE("pytorch/rule-seg-10m.json"), plain, sizeof plain);
    for (size_t i = 0; i + 1 < n; i += 7)                 /* the last byte is a newline, or the closing brace */
        cr_expect_neq(read_text(plain, i), ERR_OK, "%zu bytes", i);
    const size_t k = gzip_bytes(plain, n, packed, sizeof packed);
    cr_expect_eq(read_text(packed, k), ERR_OK);
    for (size_t i = 0; i < k; i++)
        cr_expect_neq(read_text(packed, i), ERR_OK, "%zu bytes packed", i);
}

Test(golden, a_missing_file_and_a_folder_are_errors)
{
    struct golden_case c;
    cr_expect_eq(case_read(CASE("pytorch/no-such-case.json"), &c, NULL), ERR_INPUT);
    cr_expect_eq(case_read(GOLDEN_DIR "/pytorch", &c, NULL), ERR_INPUT);
}
