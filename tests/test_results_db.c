/* The database as other programs see it, through SQLite itself. */
#include "report/results_db.h"

#include "policies/spec.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A database in a file of its own, with one run in it. */
struct kept {
    char    *path;
    sqlite3 *db;                     /* opened beside ours */
};

static const struct run_identity identity = { .trace_path = "t", .trace_digest = "d", .policy = "p", .device = "sim",
                                              .start = "fresh", .on_oom = "stop", .releases = "auto", .from = "",
                                              .gpu = -1 };

/* Under the identity of another policy where `policy` is not NULL. */
static void put_run(struct results_db *db, struct report_run *run, const char *policy, const struct device_usage *usage)
{
    static const struct device_config device;
    static const struct meter meter;
    static const struct policy_counters count;
    struct err_detail why = { .text = "" };
    run->device = "sim";
    run->device_config = &device;
    run->usage = usage;
    run->meter = &meter;
    run->count = &count;
    const struct report report = { .trace = { .path = "t", .source = "s", .numbering = "event" }, .runs = run,
                                   .n_runs = 1 };
    struct run_identity id = identity;
    id.policy = policy != NULL ? policy : identity.policy;
    cr_assert_eq(results_db_put(db, &id, NULL, -1, &report, &why), ERR_OK, "%s", why.text);
}

/* One run under `policy`, with two assumptions and a warning. */
static struct kept keep_run(const char *policy)
{
    static const struct device_usage usage;
    struct err_detail why = { .text = "" };
    struct kept k = { .path = strdup("/tmp/results-XXXXXX") };
    struct results_db *db;
    struct policy_spec spec;
    close(mkstemp(k.path));
    cr_assert_eq(policy_spec_parse(policy, &spec, &why), ERR_OK, "%s", why.text);
    struct report_run run = { .spec = &spec };
    cr_assert_eq(report_lines_add(&run.assumptions, "it \"rests\" on\nthis, caf\xc3\xa9"), ERR_OK);
    cr_assert_eq(report_lines_add(&run.assumptions, "and on this"), ERR_OK);
    cr_assert_eq(report_lines_add(&run.warnings, "beware"), ERR_OK);
    cr_assert_eq(results_db_open(k.path, false, &db, &why), ERR_OK, "%s", why.text);
    put_run(db, &run, NULL, &usage);
    put_run(db, &run, NULL, &usage);             /* there already: it stays one run */
    results_db_close(db);
    report_lines_close(&run.assumptions);
    report_lines_close(&run.warnings);
    policy_spec_close(&spec);
    cr_assert_eq(sqlite3_open(k.path, &k.db), SQLITE_OK);
    return k;
}

static void kept_close(struct kept *k)
{
    sqlite3_close(k->db);
    unlink(k->path);
    free(k->path);
}

/* All that a query gives, columns set apart by '|', rows by ';'. */
static void expect_rows(struct kept *k, const char *sql, const char *expected)
{
    char rows[1024] = "";
    size_t used = 0;
    sqlite3_stmt *s;
    cr_assert_eq(sqlite3_prepare_v2(k->db, sql, -1, &s, NULL), SQLITE_OK, "%s", sqlite3_errmsg(k->db));
    while (sqlite3_step(s) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(s) && used < sizeof rows; i++) {
            const char *text = (const char *)sqlite3_column_text(s, i);
            used += (size_t)snprintf(rows + used, sizeof rows - used, "%s%s", text != NULL ? text : "null",
                                     i + 1 < sqlite3_column_count(s) ? "|" : ";");
        }
    sqlite3_finalize(s);
    cr_expect_str_eq(rows, expected, "%s: %s", sql, rows);
}

Test(results_db, options_are_rows_with_their_values)
{
    struct kept k = keep_run("pytorch:gc=0.8,max-split=32MiB,expandable=on,version=2.6");
    expect_rows(&k, "SELECT o.name, o.value, typeof(o.value) FROM options o JOIN runs r ON r.key = o.run"
                    " WHERE o.name IN ('gc', 'max-split', 'expandable', 'version', 'fraction') ORDER BY 1",
                "expandable|1|integer;fraction|null|null;gc|0.8|real;max-split|33554432|integer;version|2.6|text;");
    kept_close(&k);
}

Test(results_db, remarks_are_rows_in_order)
{
    struct kept k = keep_run("none");
    expect_rows(&k, "SELECT kind, n, text FROM remarks JOIN runs ON runs.key = remarks.run ORDER BY 1, 2",
                "assumption|0|it \"rests\" on\nthis, caf\xc3\xa9;assumption|1|and on this;warning|0|beware;");
    kept_close(&k);
}

Test(results_db, what_is_put_between_begin_and_end_is_there_at_once)
{
    static const struct device_usage usage;
    struct err_detail why = { .text = "" };
    struct kept k = keep_run("none");
    struct results_db *db;
    struct policy_spec spec;
    cr_assert_eq(policy_spec_parse("none", &spec, &why), ERR_OK, "%s", why.text);
    struct report_run run = { .spec = &spec };
    cr_assert_eq(results_db_open(k.path, true, &db, &why), ERR_OK, "%s", why.text);
    for (int twice = 0; twice < 2; twice++)
        cr_assert_eq(results_db_begin_puts(db, &why), ERR_OK, "%s", why.text);
    put_run(db, &run, "a", &usage);
    put_run(db, &run, "b", &usage);
    expect_rows(&k, "SELECT count(*) FROM runs", "1;");
    for (int twice = 0; twice < 2; twice++)
        cr_assert_eq(results_db_end_puts(db, &why), ERR_OK, "%s", why.text);
    expect_rows(&k, "SELECT count(*) FROM runs", "3;");
    put_run(db, &run, "c", &usage);
    expect_rows(&k, "SELECT count(*) FROM runs", "4;");
    cr_assert_eq(results_db_begin_puts(db, &why), ERR_OK, "%s", why.text);
    put_run(db, &run, "d", &usage);
    results_db_close(db);                        /* as if killed */
    expect_rows(&k, "SELECT count(*) FROM runs", "4;");
    policy_spec_close(&spec);
    kept_close(&k);
}

struct made_run {
    const char *policy;
    uint64_t card_bytes, time_ns;
};

static struct kept keep_runs(const struct made_run *runs, size_t n)
{
    struct err_detail why = { .text = "" };
    struct kept k = { .path = strdup("/tmp/results-XXXXXX") };
    struct results_db *db;
    close(mkstemp(k.path));
    cr_assert_eq(results_db_open(k.path, false, &db, &why), ERR_OK, "%s", why.text);
    for (size_t i = 0; i < n; i++) {
        struct policy_spec spec;
        cr_assert_eq(policy_spec_parse(runs[i].policy, &spec, &why), ERR_OK, "%s", why.text);
        struct report_run run = { .spec = &spec, .card_peak_bytes = runs[i].card_bytes };
        put_run(db, &run, runs[i].policy, &(struct device_usage){ .time_ns = runs[i].time_ns });
        policy_spec_close(&spec);
    }
    results_db_close(db);
    cr_assert_eq(sqlite3_open(k.path, &k.db), SQLITE_OK);
    return k;
}

Test(results_db, the_best_is_what_takes_least_of_the_card_and_spares_the_driver)
{
    static const struct made_run runs[] = { { "none", 100, 900000000 }, { "best-fit", 242, 7400000 },
                                            { "pow2", 358, 8600000 } };
    struct kept k = keep_runs(runs, 3);
    expect_rows(&k, "SELECT policy, card_peak_bytes, least_card_bytes FROM best", "best-fit|242|100;");
    kept_close(&k);
}

Test(results_db, of_equals_the_best_is_the_default_and_then_what_changes_least)
{
    static const struct made_run runs[] = {
        { "gc=0.6", 242, 5 },
        { "pytorch:max-split=none,gc=off", 242, 5 },
        { "pytorch:max-split=32MiB,expandable=off", 242, 5 },
    };
    struct kept k = keep_runs(runs, 3);
    expect_rows(&k, "SELECT policy FROM best", "pytorch:max-split=none,gc=off;");
    cr_assert_eq(sqlite3_exec(k.db, "DELETE FROM runs WHERE policy LIKE '%off' AND policy LIKE '%none%'", NULL, NULL,
                              NULL), SQLITE_OK);
    expect_rows(&k, "SELECT policy FROM best", "pytorch:max-split=32MiB,expandable=off;");
    kept_close(&k);
}

Test(results_db, another_schema_is_refused_with_both_numbers)
{
    struct kept k = keep_run("none");
    struct results_db *db;
    struct err_detail why = { .text = "" };
    cr_assert_eq(sqlite3_exec(k.db, "PRAGMA user_version = 2", NULL, NULL, NULL), SQLITE_OK);
    cr_expect_eq(results_db_open(k.path, false, &db, &why), ERR_FORMAT);
    cr_expect_not_null(strstr(why.text, "schema 2, this program writes 4"), "%s", why.text);
    kept_close(&k);
}
