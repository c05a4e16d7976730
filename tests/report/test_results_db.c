/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The database as other programs see it, through SQLite itself. */
#include "report/rows/results_db.h"

#include "base/units.h"
#include "policies/spec.h"
#include "report/rows/winner.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
    struct err_detail err = { .text = "" };
    run->device = "sim";
    run->device_config = &device;
    run->usage = usage;
    run->meter = &meter;
    run->count = &count;
    const struct report report = { .trace = { .path = "t", .source = "s", .numbering = "event" }, .runs = run,
                                   .n_runs = 1 };
    struct run_identity id = identity;
    id.policy = policy != NULL ? policy : identity.policy;
    cr_assert_eq(results_db_put(db, &id, NULL, -1, &report, &err), ERR_OK, "%s", err.text);
}

/* One run under `policy`, with two assumptions and a warning. */
static struct kept keep_run(const char *policy)
{
    static const struct device_usage usage;
    struct err_detail err = { .text = "" };
    struct kept k = { .path = strdup("/tmp/results-XXXXXX") };
    struct results_db *db;
    struct policy_spec spec;
    close(mkstemp(k.path));
    cr_assert_eq(policy_spec_parse(policy, &spec, &err), ERR_OK, "%s", err.text);
    struct report_run run = { .spec = &spec };
    cr_assert_eq(report_lines_add(&run.assumptions, "it \"rests\" on\nthis, caf\xc3\xa9"), ERR_OK);
    cr_assert_eq(report_lines_add(&run.assumptions, "and on this"), ERR_OK);
    cr_assert_eq(report_lines_add(&run.warnings, "beware"), ERR_OK);
    cr_assert_eq(results_db_open(k.path, false, NULL, &db, &err), ERR_OK, "%s", err.text);
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

/* The database of a kept run, open to put more into it. */
static struct results_db *reopen(const struct kept *k, struct policy_spec *spec)
{
    struct err_detail err = { .text = "" };
    struct results_db *db;
    cr_assert_eq(policy_spec_parse("none", spec, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(results_db_open(k->path, true, NULL, &db, &err), ERR_OK, "%s", err.text);
    return db;
}

Test(results_db, what_is_put_between_begin_and_end_is_there_at_once)
{
    static const struct device_usage usage;
    struct err_detail err = { .text = "" };
    struct kept k = keep_run("none");
    struct policy_spec spec;
    struct results_db *db = reopen(&k, &spec);
    struct report_run run = { .spec = &spec };
    for (int twice = 0; twice < 2; twice++)
        cr_assert_eq(results_db_begin_puts(db, &err), ERR_OK, "%s", err.text);
    put_run(db, &run, "a", &usage);
    put_run(db, &run, "b", &usage);
    expect_rows(&k, "SELECT count(*) FROM runs", "1;");
    for (int twice = 0; twice < 2; twice++)
        cr_assert_eq(results_db_end_puts(db, &err), ERR_OK, "%s", err.text);
    expect_rows(&k, "SELECT count(*) FROM runs", "3;");
    put_run(db, &run, "c", &usage);
    expect_rows(&k, "SELECT count(*) FROM runs", "4;");
    cr_assert_eq(results_db_begin_puts(db, &err), ERR_OK, "%s", err.text);
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
    struct err_detail err = { .text = "" };
    struct kept k = { .path = strdup("/tmp/results-XXXXXX") };
    struct results_db *db;
    close(mkstemp(k.path));
    cr_assert_eq(results_db_open(k.path, false, NULL, &db, &err), ERR_OK, "%s", err.text);
    for (size_t i = 0; i < n; i++) {
        struct policy_spec spec;
        cr_assert_eq(policy_spec_parse(runs[i].policy, &spec, &err), ERR_OK, "%s", err.text);
        struct report_run run = { .spec = &spec, .card_peak_bytes = runs[i].card_bytes };
        put_run(db, &run, runs[i].policy, &(struct device_usage){ .time_ns = runs[i].time_ns });
        policy_spec_close(&spec);
    }
    results_db_close(db);
    cr_assert_eq(sqlite3_open(k.path, &k.db), SQLITE_OK);
    return k;
}

Test(results_db, a_database_that_was_removed_meanwhile_is_an_error)
{
    static const struct device_usage usage;
    struct err_detail err = { .text = "" };
    struct kept k = keep_run("none");
    struct policy_spec spec;
    struct results_db *db = reopen(&k, &spec);
    struct report_run run = { .spec = &spec };
    cr_assert_eq(results_db_check_there(db, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(results_db_begin_puts(db, &err), ERR_OK, "%s", err.text);
    put_run(db, &run, "a", &usage);
    unlink(k.path);
    cr_assert_eq(results_db_end_puts(db, &err), ERR_IO);
    cr_assert_not_null(strstr(err.text, "was removed or renamed meanwhile"), "%s", err.text);
    results_db_close(db);
    policy_spec_close(&spec);
    kept_close(&k);
}

/* In a process of its own. */
static void open_new(const char *path)
{
    struct err_detail err = { .text = "" };
    struct results_db *db = NULL;
    const enum err e = results_db_open(path, false, NULL, &db, &err);
    if (e != ERR_OK)
        fprintf(stderr, "%s\n", err.text);
    _exit(e != ERR_OK);
}

/* Of 320 starts one refused the database whose tables another was making. */
Test(results_db, programs_that_begin_a_database_together_do_not_refuse_it)
{
    enum { ROUNDS = 40, STARTS = 8 };
    struct kept k = keep_run("none");
    int n_failed = 0;
    for (int i = 0; i < ROUNDS; i++) {
        unlink(k.path);
        for (int j = 0; j < STARTS; j++)
            if (fork() == 0)
                open_new(k.path);
        for (int j = 0, status; j < STARTS; j++)
            n_failed += wait(&status) < 0 || status != 0;
    }
    cr_assert_eq(n_failed, 0, "%d of %d", n_failed, ROUNDS * STARTS);
    kept_close(&k);
}

Test(results_db, the_best_has_the_least_sum_of_memory_and_driver_time_at_the_price)
{
    static const struct made_run runs[] = { { "none", 100 * MIB, 900000000 }, { "best-fit", 242 * MIB, 7500000 },
                                            { "pow2", 358 * MIB, 8600000 } };
    static const char sql[] = "SELECT policy, card_peak_bytes / 1048576, least_card_bytes / 1048576, score_bytes * 10"
                              " / 1048576 FROM best";
    struct kept k = keep_runs(runs, 3);
    struct results_db *db;
    struct err_detail err = { .text = "" };
    expect_rows(&k, sql, "best-fit|242|100|2495;");
    cr_assert_eq(results_db_open(k.path, true, NULL, &db, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(results_db_set_price(db, 64 * KIB, &err), ERR_OK, "%s", err.text);
    results_db_close(db);
    expect_rows(&k, sql, "none|100|100|1562;");
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

/* A copy of a database with one run, after one change. */
static struct kept copy_and_change(struct kept *of, const char *change)
{
    char sql[128];
    struct kept k = { .path = strdup("/tmp/results-XXXXXX") };
    close(mkstemp(k.path));
    unlink(k.path);
    snprintf(sql, sizeof sql, "VACUUM INTO '%s'", k.path);
    cr_assert_eq(sqlite3_exec(of->db, sql, NULL, NULL, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_open(k.path, &k.db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(k.db, change, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(k.db));
    return k;
}

static enum err merge_into(struct kept *k, struct kept *other, uint64_t *n_added)
{
    struct results_db *db;
    struct err_detail err = { .text = "" };
    cr_assert_eq(results_db_open(k->path, true, NULL, &db, &err), ERR_OK, "%s", err.text);
    const enum err e = results_db_merge(db, other->path, n_added, &err);
    results_db_close(db);
    return e;
}

Test(results_db, a_run_with_other_results_is_refused_whichever_comes_first_and_a_null_is_another_result)
{
    static const struct { const char *change; enum err expected; } changes[] = {
        { "UPDATE runs SET card_peak_bytes = NULL", ERR_FORMAT },
        { "UPDATE runs SET peak_reserved_bytes = 7", ERR_FORMAT },
        { "UPDATE runs SET details = '{}'", ERR_FORMAT },
        { "UPDATE runs SET details = ' ' || details", ERR_FORMAT },
        { "UPDATE runs SET job = 'folder', rank = 0", ERR_OK },        /* the same file, found as a rank of a job */
    };
    static const struct made_run one = { "none", 7, 5 };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        uint64_t n_added = 0;
        struct kept a = keep_runs(&one, 1), b = copy_and_change(&a, changes[i].change);
        cr_expect_eq(merge_into(&a, &b, &n_added), changes[i].expected, "%s", changes[i].change);
        cr_expect_eq(merge_into(&b, &a, &n_added), changes[i].expected, "%s, the other way", changes[i].change);
        cr_expect_eq(n_added, 0);
        kept_close(&b);
        kept_close(&a);
    }
}

/* ---- databases of older versions ---- */

/* Made by the program of schema 4: three policies on one trace and card, each with the seeds 0 and 7. */
#define OLD_DB TEST_DATA "/results/schema-4.db"

static char *copy_of_old(void)
{
    char *path = strdup("/tmp/results-XXXXXX"), bytes[65536];
    FILE *from = fopen(OLD_DB, "rb"), *to = fdopen(mkstemp(path), "wb");
    cr_assert(from != NULL && to != NULL);
    const size_t n = fread(bytes, 1, sizeof bytes, from);
    cr_assert(n > 0 && n < sizeof bytes && fwrite(bytes, 1, n, to) == n);
    fclose(from);
    fclose(to);
    return path;
}

static void count_rows(void *arg, const struct field *fields, size_t n)
{
    size_t *counts = arg;
    counts[0]++;
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].name, "peak_reserved_bytes") == 0 && fields[i].kind == FIELD_NUMBER)
            counts[1]++;
        else if (strcmp(fields[i].name, "trace_duration_ns") == 0 && fields[i].kind == FIELD_NULL)
            counts[2]++;
}

Test(results_db, an_older_database_is_read_and_what_it_lacks_is_null)
{
    struct results_db *db;
    struct err_detail err = { .text = "" };
    size_t counts[3] = { 0, 0, 0 };
    uint64_t price;
    bool is_there;
    char *path = copy_of_old();
    cr_assert_eq(results_db_open_read(path, NULL, &db, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(results_db_each_run(db, count_rows, counts, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(counts[0], 3, "%zu runs: those of another seed are the same again", counts[0]);
    cr_expect_eq(counts[1], 3);
    cr_expect_eq(counts[2], 3);
    cr_assert_eq(results_db_price(db, &price, &is_there, &err), ERR_OK, "%s", err.text);
    cr_expect_not(is_there);
    cr_expect_eq(price, WINNER_PRICE_BYTES_PER_MS);
    results_db_close(db);
    struct kept k = { .path = path };
    cr_assert_eq(sqlite3_open(path, &k.db), SQLITE_OK);
    expect_rows(&k, "PRAGMA user_version", "4;");                /* reading changed nothing */
    kept_close(&k);
}

Test(results_db, an_older_database_that_is_written_to_gets_the_columns_and_views_of_this_version)
{
    struct results_db *db;
    struct err_detail err = { .text = "" };
    struct kept k = { .path = copy_of_old() };
    cr_assert_eq(results_db_open(k.path, true, NULL, &db, &err), ERR_OK, "%s", err.text);
    results_db_close(db);
    cr_assert_eq(sqlite3_open(k.path, &k.db), SQLITE_OK);
    expect_rows(&k, "PRAGMA user_version", "7;");
    expect_rows(&k, "SELECT policy, score_bytes FROM best", "best-fit|261514854;");
    expect_rows(&k, "SELECT count(*), count(trace_duration_ns) FROM runs", "6|0;");
    kept_close(&k);
}

Test(results_db, an_older_database_is_merged)
{
    struct results_db *db;
    struct err_detail err = { .text = "" };
    uint64_t n_added;
    struct kept k = keep_run("none");
    char *old = copy_of_old();
    cr_assert_eq(results_db_open(k.path, true, NULL, &db, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(results_db_merge(db, old, &n_added, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(n_added, 3);
    cr_assert_eq(results_db_merge(db, old, &n_added, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(n_added, 0);
    results_db_close(db);
    expect_rows(&k, "SELECT count(*) FROM runs", "4;");
    unlink(old);
    free(old);
    kept_close(&k);
}

/* The command is quoted for a shell, whole, or not there. */
Test(results_db, the_command_that_converts_a_database_can_be_pasted_whatever_its_name)
{
    static const struct { const char *name, *command; } names[] = {
        { "plain.db", "replay merge plain.db -o NEW.db" },
        { "it's;touch x.db", "replay merge 'it'\\''s;touch x.db' -o NEW.db" },
        { "-o.db", "replay merge ./-o.db -o NEW.db" },
        { "two\nlines.db", NULL },
        /* Quoted, each ' is four letters: the command would be cut, and name another file. */
        { "''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''.db", NULL },
    };
    char *old = copy_of_old(), folder[] = "/tmp/results-XXXXXX", before[4096];
    sqlite3 *changed;
    cr_assert_eq(sqlite3_open(old, &changed), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(changed, "PRAGMA user_version = 9", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(changed);
    cr_assert(getcwd(before, sizeof before) != NULL && mkdtemp(folder) != NULL && chdir(folder) == 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct results_db *db;
        struct err_detail err = { .text = "" };
        cr_assert_eq(rename(i == 0 ? old : names[i - 1].name, names[i].name), 0, "%s", names[i].name);
        cr_expect_eq(results_db_open(names[i].name, false, NULL, &db, &err), ERR_FORMAT, "%s", err.text);
        cr_expect_not_null(strstr(err.text, "this program writes 7."), "%s", err.text);
        if (names[i].command != NULL)
            cr_expect_not_null(strstr(err.text, names[i].command), "%s", err.text);
        else
            cr_expect_null(strstr(err.text, "replay merge"), "%s", err.text);
    }
    cr_assert(unlink(names[sizeof names / sizeof names[0] - 1].name) == 0 && chdir(before) == 0 && rmdir(folder) == 0);
    free(old);
}

/* Of a version that this program cannot write to, the columns that it knows are read; the error names the way out. */
Test(results_db, a_database_of_any_version_is_read_and_merged_and_the_error_of_writing_says_so)
{
    static const int versions[] = { 1, 9 };
    for (size_t i = 0; i < 2; i++) {
        struct results_db *db;
        struct err_detail err = { .text = "" };
        uint64_t n_added;
        char sql[48], *old = copy_of_old();
        struct kept k = { .path = old };
        cr_assert_eq(sqlite3_open(old, &k.db), SQLITE_OK);
        snprintf(sql, sizeof sql, "PRAGMA user_version = %d", versions[i]);
        cr_assert_eq(sqlite3_exec(k.db, sql, NULL, NULL, NULL), SQLITE_OK);
        cr_expect_eq(results_db_open(old, false, NULL, &db, &err), ERR_FORMAT);
        cr_expect_not_null(strstr(err.text, "this program writes 7. To convert it: replay merge /tmp/results-"), "%s",
                           err.text);
        cr_assert_eq(results_db_open_read(old, NULL, &db, &err), ERR_OK, "%s", err.text);
        results_db_close(db);
        cr_assert_eq(results_db_open(NULL, false, NULL, &db, &err), ERR_OK, "%s", err.text);
        cr_assert_eq(results_db_merge(db, old, &n_added, &err), ERR_OK, "%s", err.text);
        cr_expect_eq(n_added, 3);
        results_db_close(db);
        kept_close(&k);
    }
}

Test(results_db, a_database_of_another_program_is_refused)
{
    struct kept k = keep_run("none");
    struct results_db *db;
    struct err_detail err = { .text = "" };
    cr_assert_eq(sqlite3_exec(k.db, "PRAGMA application_id = 7", NULL, NULL, NULL), SQLITE_OK);
    cr_expect_eq(results_db_open(k.path, false, NULL, &db, &err), ERR_FORMAT);
    cr_expect_eq(results_db_open_read(k.path, NULL, &db, &err), ERR_FORMAT);
    cr_expect_not_null(strstr(err.text, "is not a database of replay's results"), "%s", err.text);
    kept_close(&k);
}
