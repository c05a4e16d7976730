/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Every number is the same number: JSON, CSV, table, database,
 * and a report's CSV, Markdown and page, value by value. */
#include "replay/results/result.h"
#include "replay/recording/recorded_release.h"
#include "replay/recording/recorded_settings.h"
#include "report/page/page.h"
#include "report/page/page_json.h"
#include "report/rows/results_db.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACE TEST_DATA "/../../samples/gpt-varlen-default.trace.zst"

/* One run, and all that is written of it. */
struct written {
    json_t *json, *row;              /* runs[0] of the report; the database's row */
    char   *csv, *table;
    char   *json_text, *db_text;
    json_t *report_json, *db_json;
};

static void write_database(const struct report *r, const char *policy, const char *device, char **out, size_t *n)
{
    const struct run_identity id = { .trace_path = TRACE, .trace_digest = "d", .policy = policy, .device = device,
                                     .start = "fresh", .on_oom = "stop", .releases = "auto", .from = "", .gpu = -1 };
    struct results_db *db;
    struct err_detail err = { .text = "" };
    char path[] = "/tmp/results-XXXXXX";
    close(mkstemp(path));
    cr_assert_eq(results_db_open(path, false, NULL, &db, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(results_db_put(db, &id, NULL, -1, r, &err), ERR_OK, "%s", err.text);
    FILE *to = open_memstream(out, n);
    cr_assert_eq(results_db_write_json(db, to, &err), ERR_OK, "%s", err.text);
    fclose(to);
    results_db_close(db);
    unlink(path);
}

static void write_table(FILE *out, const struct report *r)
{
    cr_assert_eq(report_table(out, r), ERR_OK);
}

static char *text_of(void (*write)(FILE *out, const struct report *r), const struct report *r)
{
    char *text;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    write(to, r);
    fclose(to);
    return text;
}

static struct written replay_and_write(const char *policy, const char *device)
{
    struct err_detail err = { .text = "" };
    struct trace_reader *trace;
    struct policy_spec spec;
    struct device_choice choice;
    struct lane lane;
    struct report_run run;
    struct report report;
    const struct replay_config cfg = { .on_oom = OOM_STOP };
    const char *release;
    char *json, *db;
    size_t n;
    cr_assert_eq(trace_open(TRACE, &trace, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(policy_spec_parse(policy, &spec, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(recorded_release(trace, &release, &err), ERR_OK, "%s", err.text);
    recorded_take_release(release, &spec);
    cr_assert_eq(device_choose(device, trace, &choice, &err), ERR_OK);
    cr_assert_eq(lane_open(&spec, choice.ops, &choice.config, trace, 0, &lane, &err), ERR_OK, "%s", err.text);
    struct bounds bounds;
    cr_assert_eq(bounds_replay(trace, &lane, 1, &cfg, true, &bounds, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(result_gather(trace, TRACE, &bounds, NULL, &lane, 1, &choice, &run, &report, &err), ERR_OK, "%s",
                 err.text);
    struct written w = { .csv = text_of(report_csv, &report), .table = text_of(write_table, &report) };
    json = text_of(report_json, &report);
    write_database(&report, policy, device, &db, &n);
    w.report_json = json_loads(json, 0, NULL);
    w.db_json = json_loads(db, 0, NULL);
    cr_assert(w.report_json != NULL && w.db_json != NULL);
    w.json = json_array_get(json_object_get(w.report_json, "runs"), 0);
    w.row = json_array_get(json_object_get(w.db_json, "runs"), 0);
    w.json_text = json;
    w.db_text = db;
    result_close(&report);
    lane_close(&lane);
    policy_spec_close(&spec);
    trace_close(trace);
    return w;
}

static void written_close(struct written *w)
{
    json_decref(w->report_json);
    json_decref(w->db_json);
    free(w->csv);
    free(w->json_text);
    free(w->db_text);
    free(w->table);
}

/* The value that a column names: its path in the object, joined by '_'. */
static const json_t *find_column(const json_t *object, const char *name)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        const size_t n = strlen(key);
        if (strcmp(key, name) == 0)
            return value;
        if (strncmp(key, name, n) != 0 || name[n] != '_')
            continue;
        const json_t *found = json_is_null(value) ? value : find_column(value, name + n + 1);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* A value as CSV has it. */
static void shown(const json_t *value, char *out, size_t size)
{
    out[0] = '\0';
    if (json_is_string(value))
        snprintf(out, size, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(out, size, "%.6g", json_real_value(value));
}

/* What is said of the trace, in JSON and in the database. */
static void expect_equal_trace(const struct written *w)
{
    const json_t *trace = json_object_get(w->report_json, "trace");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)trace, key, value) {
        char name[64], in_json[256], in_db[256];
        snprintf(name, sizeof name, "trace_%s", key);
        const json_t *column = json_object_get(w->row, name);
        cr_assert_not_null(column, "the database has no %s", name);
        shown(value, in_json, sizeof in_json);
        shown(column, in_db, sizeof in_db);
        cr_expect_str_eq(in_json, in_db, "%s: JSON %s, database %s", name, in_json, in_db);
    }
    cr_expect_gt(json_integer_value(json_object_get(trace, "offline_plan_bytes")), 0);
}

/* ---- reports of it ---- */

static void expect_in_page(const struct page *p, const struct written *w)
{
    const struct column *c;
    char *text, in_page[128], in_json[128];
    size_t n;
    FILE *to = open_memstream(&text, &n);
    page_json(to, p);
    fclose(to);
    json_t *data = json_loads(text, 0, NULL);
    cr_assert_not_null(data);
    const json_t *row = json_array_get(json_object_get(data, "rows"), 0);
    for (size_t i = 0; (c = page_column(i)) != NULL; i++) {
        shown(json_array_get(row, 4 + i), in_page, sizeof in_page);
        shown(find_column(w->json, c->name), in_json, sizeof in_json);
        cr_expect_str_eq(in_page, in_json, "%s: page %s, JSON %s", c->name, in_page, in_json);
    }
    json_decref(data);
    free(text);
}

static void expect_in_markdown(const struct page *p, const struct written *w)
{
    static const char *const columns[] = { "peak_requested_bytes", "peak_reserved_bytes",
                                           "fragmentation_internal_bytes", "fragmentation_external_bytes",
                                           "fragmentation_inactive_split_bytes" };
    char *text, cell[64];
    size_t n;
    FILE *to = open_memstream(&text, &n);
    page_write_markdown(to, p);
    fclose(to);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        const double bytes = (double)json_integer_value(find_column(w->json, columns[i]));
        snprintf(cell, sizeof cell, " %.1f |", bytes / (1 << 20));
        cr_expect_not_null(strstr(text, cell), "%s: no cell%s in %s", columns[i], cell, text);
    }
    free(text);
}

/* A report made of one of the texts has the numbers of the JSON. */
static void expect_report_of(const char *text, const struct written *w)
{
    struct run_table t;
    struct verdict v;
    struct err_detail err = { .text = "" };
    run_table_open(&t);
    cr_assert_eq(run_table_add_json(&t, text, strlen(text), UINT64_MAX, "it", &err), ERR_OK, "%s", err.text);
    for (size_t i = 0; i < t.n_columns; i++) {
        const json_t *stored = find_column(w->json, t.columns[i].name);
        const struct field *f = &t.rows[i];
        char in_json[128], in_table[128] = "";
        if (stored == NULL)
            continue;
        if (f->kind == FIELD_TEXT)
            snprintf(in_table, sizeof in_table, "%s", f->text);
        else if (f->kind == FIELD_NUMBER)
            snprintf(in_table, sizeof in_table, "%lld", (long long)f->number);
        else if (f->kind == FIELD_RATIO)
            snprintf(in_table, sizeof in_table, "%.6g", f->ratio);
        shown(stored, in_json, sizeof in_json);
        cr_expect_str_eq(in_table, in_json, "%s: report %s, JSON %s", f->name, in_table, in_json);
    }
    cr_assert_eq(verdict_open(&t, &v), ERR_OK);
    const struct page page = { .verdict = &v };
    expect_in_page(&page, w);
    expect_in_markdown(&page, w);
    verdict_close(&v);
    run_table_close(&t);
}

static void expect_equal_everywhere(const char *policy, const char *device)
{
    struct written w = replay_and_write(policy, device);
    char *names_at, *values_at, *names = strtok_r(w.csv, "\n", &names_at), *values = strtok_r(NULL, "\n", &names_at);
    unsigned n = 0;
    expect_report_of(w.json_text, &w);
    expect_report_of(w.db_text, &w);
    values_at = values;
    for (char *name = strtok_r(names, ",", &names_at); name != NULL; name = strtok_r(NULL, ",", &names_at), n++) {
        const char *value = strsep(&values_at, ",");
        char in_json[128], in_db[128];
        const json_t *a = find_column(w.json, name), *b = json_object_get(w.row, name);
        cr_assert(value != NULL && a != NULL && b != NULL, "%s is not everywhere", name);
        shown(a, in_json, sizeof in_json);
        shown(b, in_db, sizeof in_db);
        cr_expect_str_eq(in_json, value, "%s: JSON %s, CSV %s", name, in_json, value);
        cr_expect_str_eq(in_db, value, "%s: database %s, CSV %s", name, in_db, value);
    }
    cr_expect_gt(n, 30, "%u columns in CSV", n);
    expect_equal_trace(&w);
    char peak[32];
    const json_t *reserved = find_column(w.json, "peak_reserved_bytes");
    snprintf(peak, sizeof peak, " %.1f ", (double)json_integer_value(reserved) / (1 << 20));
    const char *row = strstr(w.table, "\npolicy ");          /* the titles: the answer above them names it, too */
    while (row != NULL && strncmp(row + 1, policy, strlen(policy)) != 0)
        row = strstr(row + 1, "\n");
    cr_assert_not_null(row, "the table has no row of %s", policy);
    const char *found = strstr(row, peak), *end = strchr(row + 1, '\n');
    cr_expect(found != NULL && found < end, "the table's row of %s lacks%s", policy, peak);
    written_close(&w);
}

Test(results_agree, table_json_csv_and_database_of_a_run_that_fits)
{
    expect_equal_everywhere("best-fit", "sim:300MiB");
    expect_equal_everywhere("none", "sim:24GiB");
}

Test(results_agree, table_json_csv_and_database_of_a_run_out_of_memory)
{
    expect_equal_everywhere("best-fit", "sim:200MiB");
}
