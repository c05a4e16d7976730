/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The one rule for "best": what it promises, and that C and SQL say the same. */
#include "report/rows/result_columns.h"
#include "report/rows/verdict.h"
#include "report/rows/results_sql.h"
#include "report/rows/winner.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

static struct contender contender(const char *policy, uint64_t bytes, uint64_t time_ns)
{
    return (struct contender){ .setting = { .typed = policy }, .label = policy, .is_ok = true, .bytes = bytes,
                               .time_ns = time_ns };
}

Test(winner, a_score_is_memory_plus_driver_time_at_the_price)
{
    cr_expect_eq(winner_score(10 * MIB, 3 * MS, MIB), 13 * MIB);
    cr_expect_eq(winner_score(10 * MIB, 3 * MS, 0), 10 * MIB);
    cr_expect_eq(winner_score(0, MS / 2, MIB), MIB / 2);
    cr_expect_eq(winner_score(7, 0, TIB), 7);
}

Test(winner, a_score_that_does_not_fit_is_the_largest_number)
{
    cr_expect_eq(winner_score(UINT64_MAX, 1 * MS, 1), UINT64_MAX);
    cr_expect_eq(winner_score(0, UINT64_MAX, TIB), UINT64_MAX);
}

Test(winner, a_run_that_gets_through_comes_before_one_that_does_not)
{
    struct contender small = contender("small", 1, 0), large = contender("large", GIB, 100 * MS);
    small.is_ok = false;
    small.is_oom = true;
    cr_expect_gt(winner_compare(&small, &large, MIB), 0);
    cr_expect_eq(winner_of((struct contender[]){ small, large }, 2, MIB, NULL), 1);
    cr_expect_eq(winner_of(&small, 1, MIB, NULL), WINNER_NONE);
}

Test(winner, the_price_decides_between_memory_and_driver_time)
{
    const struct contender all[] = { contender("none", 100 * MIB, 900 * MS), contender("best-fit", 242 * MIB, 7 * MS) };
    cr_expect_eq(winner_of(all, 2, MIB, NULL), 1);
    cr_expect_eq(winner_of(all, 2, 64 * KIB, NULL), 0);
    cr_expect_eq(winner_of(all, 2, 0, NULL), 0);
}

Test(winner, of_equal_scores_the_simpler_setting_wins)
{
    static const struct simplicity ascending[] = {
        { true, 0, "pytorch:gc=off", 0 }, { false, 0, "none", 0 }, { false, 0, "pow22", 0 }, { false, 0, "pow23", 0 },
        { false, 1, "a", 0 },             { false, 2, "a", 0 },
    };
    const size_t n = sizeof ascending / sizeof ascending[0];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            const int by = winner_compare_simplicity(&ascending[i], &ascending[k]);
            cr_expect_eq((by > 0) - (by < 0), (i > k) - (i < k), "%s, %s", ascending[i].typed, ascending[k].typed);
        }
}

/* Two policies that reserve much at their start, and so call the driver once, made every other driver time look dear
 * when runs were compared with the cheapest. */
Test(winner, runs_that_are_added_never_change_the_order_of_the_others)
{
    uint64_t random = 20261123;
    for (int round = 0; round < 2000; round++) {
        struct contender all[6];
        for (size_t i = 0; i < 4; i++) {
            all[i] = contender("", random_next(&random) % 64 * 32 * MIB, random_next(&random) % 1000 * MS);
            all[i].setting.n_changed = (unsigned)i;
            all[i].is_ok = random_next(&random) % 8 != 0;
        }
        all[4] = contender("", 3 * GIB, 200 * KIB);
        all[5] = contender("", 4 * GIB, 0);
        const size_t of_four = winner_of(all, 4, MIB, NULL), of_six = winner_of(all, 6, MIB, NULL);
        cr_expect(of_six == of_four || of_six > 3, "round %d: %zu of four, %zu of six", round, of_four, of_six);
        for (size_t i = 0; i < 4; i++)
            for (size_t k = 0; k < 4; k++) {
                const int by = winner_compare(&all[i], &all[k], MIB), back = winner_compare(&all[k], &all[i], MIB);
                cr_expect_eq((by > 0) - (by < 0), (back < 0) - (back > 0), "round %d", round);
            }
    }
}

/* All figures are exact: the card has no share of them. */
static struct contender on_card(const char *policy, uint64_t mib, unsigned n_changed, uint64_t card_bytes)
{
    struct contender c = contender(policy, mib * MIB, 0);
    c.setting.n_changed = n_changed;
    c.setting.is_default = n_changed == 0;
    c.card_bytes = card_bytes;
    return c;
}

Test(winner, of_those_within_two_percent_of_the_card_the_simplest_wins)
{
    size_t n_alike;
    const struct contender all[] = { on_card("two", 1000, 2, 10 * GIB), on_card("one", 1100, 1, 10 * GIB),
                                     on_card("other", 1050, 1, 10 * GIB), on_card("default", 1205, 0, 10 * GIB) };
    cr_expect_eq(winner_of(all, 4, MIB, &n_alike), 2, "the default is 205 MiB worse, and 2 %% are 204.8");
    cr_expect_eq(n_alike, 3);
    struct contender near = on_card("default", 1204, 0, 10 * GIB);
    cr_expect_eq(winner_of((struct contender[]){ all[0], all[1], near }, 3, MIB, &n_alike), 2);
    cr_expect_eq(n_alike, 3);
}

Test(winner, on_a_card_without_an_end_two_percent_of_the_score_are_alike)
{
    const struct contender all[] = { on_card("one", 1000, 1, UINT64_MAX), on_card("default", 1021, 0, UINT64_MAX) };
    cr_expect_eq(winner_of(all, 2, MIB, NULL), 0);
    const struct contender near[] = { on_card("one", 1000, 1, UINT64_MAX), on_card("default", 1020, 0, UINT64_MAX) };
    cr_expect_eq(winner_of(near, 2, MIB, NULL), 1);
}

Test(winner, no_winner_is_worse_in_memory_and_time_than_one_that_changes_no_more)
{
    uint64_t random = 20261127;
    for (int round = 0; round < 2000; round++) {
        struct contender all[8];
        for (size_t i = 0; i < 8; i++) {
            all[i] = on_card("p", random_next(&random) % 64, (unsigned)(random_next(&random) % 3), 512 * MIB);
            all[i].time_ns = random_next(&random) % 16 * MS;
        }
        const struct contender *w = &all[winner_of(all, 8, MIB, NULL)];
        for (size_t i = 0; i < 8; i++)
            cr_expect(all[i].setting.n_changed > w->setting.n_changed || all[i].bytes >= w->bytes ||
                      all[i].time_ns >= w->time_ns, "round %d: %zu is better in all", round, i);
    }
}

Test(winner, over_cases_the_default_wins_if_it_is_alike)
{
    const struct simplicity plain = { .typed = "a", .is_default = true }, changed = { .typed = "b", .n_changed = 1 };
    const struct contender_over_cases all[] = { { changed, 8, 1.00, 0.1 }, { plain, 8, 1.09, 0.1 } };
    size_t n_alike;
    cr_expect_eq(winner_over_cases(all, 2, &n_alike), 1);
    cr_expect_eq(n_alike, 2);
    const struct contender_over_cases apart[] = { { changed, 8, 1.00, 0.1 }, { plain, 8, 1.11, 0.1 } };
    cr_expect_eq(winner_over_cases(apart, 2, &n_alike), 0);
    cr_expect_eq(n_alike, 1);
    const struct contender_over_cases fewer[] = { { changed, 8, 1.00, 0.1 }, { plain, 7, 1.00, 0.1 } };
    cr_expect_eq(winner_over_cases(fewer, 2, &n_alike), 0);
}

Test(winner, over_cases_more_cases_come_first_and_then_the_mean_score)
{
    const struct simplicity plain = { .typed = "a" }, longer = { .typed = "aa" };
    const struct contender_over_cases most = { plain, 9, 3, 0 }, low = { plain, 8, 1, 0 }, high = { plain, 8, 2, 0 },
                                      same = { longer, 8, 1, 0 };
    cr_expect_lt(winner_compare_over_cases(&most, &low), 0);
    cr_expect_lt(winner_compare_over_cases(&low, &high), 0);
    cr_expect_lt(winner_compare_over_cases(&low, &same), 0);
    cr_expect_eq(winner_compare_over_cases(&low, &low), 0);
}

/* Of JAX's own requests; `source` as a trace tells it. */
static struct contender own(const char *policy, const char *source, uint64_t mib, bool is_ok)
{
    struct contender c = on_card(policy, mib, 0, 8 * GIB);
    c.setting.n_changed = policy_text_changes(policy);
    c.setting.is_default = policy_text_is_default(policy);
    c.is_ok = is_ok;
    c.is_oom = !is_ok;
    simplicity_take_own(&c.setting, policy, source);
    return c;
}

/* What JAX takes in advance is no need: another setting changes nothing for a program that runs. */
Test(winner, of_a_library_s_own_settings_the_first_that_runs_wins)
{
    size_t n_alike;
    struct contender all[] = { own("jax-platform", "xplane", 190, true), own("jax-async", "xplane", 190, true),
                               own("jax-fraction=0.95", "xplane", 7700, true), own("jax-grow", "xplane", 300, true),
                               own("jax", "xplane", 6144, true) };
    for (size_t n = 5; n > 0; n--) {
        cr_expect_eq(winner_of(all, 5, MIB, &n_alike), n - 1);
        cr_expect_eq(n_alike, n);
        all[n - 1] = own(all[n - 1].label, "xplane", 0, false);
    }
    cr_expect_eq(winner_of(all, 5, MIB, NULL), WINNER_NONE);
    const struct contender mixed[] = { own("tf", "xplane", 7000, true), own("tf-async", "xplane", 10, true) };
    cr_expect_eq(winner_of(mixed, 2, MIB, NULL), 0);
}

Test(winner, of_another_recording_they_are_judged_as_any_policy)
{
    const struct contender all[] = { own("jax", "pytorch-snapshot", 6144, true),
                                     own("jax-grow", "pytorch-snapshot", 300, true) };
    cr_expect_eq(winner_of(all, 2, MIB, NULL), 1);
    cr_expect(all[0].setting.own_order == 0 && all[1].setting.own_order == 0);
    cr_expect_eq(own("tf-bfc:gc=off", "xplane", 1, true).setting.own_order, 0, "which no variable sets");
}

/* ---- in SQL ---- */

static void execute(sqlite3 *db, const char *sql)
{
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
}

/* Each two of the contenders are the runs of one trace in a database's place, and best.sql says which one wins. */
Test(winner, sql_finds_the_run_that_the_rule_finds)
{
    enum { N = 60 };
    static const char *const policies[] = { "pytorch:gc=off", "gc=0.8", "none", "jax", "jax-grow" };
    struct contender all[N];
    uint64_t random = 26;
    sqlite3 *db;
    sqlite3_stmt *s;
    char sql[512];
    size_t n = 0;
    cr_assert_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    execute(db, "CREATE TABLE parameters(name, value); CREATE TABLE survivors(trace_path,"
                " trace_digest, device, policy, name, peak_reserved_bytes INTEGER, card_peak_bytes INTEGER,"
                " device_calls, device_time_ns INTEGER, details, copy_seed, capacity_bytes INTEGER)");
    for (size_t i = 0; i < N; i++) {
        const char *policy = policies[random_next(&random) % 5];
        all[i] = contender(policy, random_next(&random) % 4 * MIB, random_next(&random) % 3 * MS + 1);
        all[i].card_bytes = 100 * MIB;
        all[i].setting.n_changed = (unsigned)(random_next(&random) % 2);
        all[i].setting.is_default = strncmp(policy, "pytorch", 7) == 0 && all[i].setting.n_changed == 0;
        simplicity_take_own(&all[i].setting, policy, "xplane");
        all[i].setting.is_default |= all[i].setting.own_order == 1;
        for (size_t k = 0; k < N; k++) {
            snprintf(sql, sizeof sql, "INSERT INTO survivors VALUES('%zu %zu', 'd', 'c', '%s', '%.7s', 0, %" PRIu64
                     ", %zu, %" PRIu64 ", '{\"changed\":%u,\"own_order\":%u}', NULL, 104857600)", i < k ? i : k,
                     i < k ? k : i, policy, policy, all[i].bytes, i, all[i].time_ns, all[i].setting.n_changed,
                     all[i].setting.own_order);
            execute(db, sql);
        }
    }
    cr_assert_eq(sqlite3_prepare_v2(db, (const char *)results_best_sql, -1, &s, NULL), SQLITE_OK, "%s",
                 sqlite3_errmsg(db));
    for (; sqlite3_step(s) == SQLITE_ROW; n++) {
        size_t i, k;
        cr_assert_eq(sscanf((const char *)sqlite3_column_text(s, 0), "%zu %zu", &i, &k), 2);
        const struct contender *best = &all[sqlite3_column_int64(s, 8)];
        const struct contender two[] = { all[i], all[k] };
        size_t n_alike;
        const struct contender *winner = &two[winner_of(two, 2, MIB, &n_alike)];
        cr_expect_eq(winner_compare(best, winner, MIB), 0, "runs %zu and %zu", i, k);
        cr_expect(i == k || sqlite3_column_int64(s, 11) == (int64_t)n_alike, "runs %zu and %zu", i, k);
        cr_expect_eq((uint64_t)sqlite3_column_int64(s, 10), contender_score(best, MIB));
    }
    cr_expect_eq(n, N * (N + 1) / 2);
    sqlite3_finalize(s);
    sqlite3_close(db);
}

/* ---- the list of columns ---- */

/* All of a file. */
static char *text_of_file(const char *path)
{
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in);
    char *text = calloc(1, 1 << 20);
    cr_assert_gt(fread(text, 1, (1 << 20) - 1, in), 0);
    fclose(in);
    return text;
}

/* Each column is described in SCHEMA.md as in result_columns.def; the line to paste is printed. */
Test(columns, are_described_in_the_schema)
{
    char *schema = text_of_file(TEST_DATA "/../../report/SCHEMA.md"), line[1024];
    for (int kind = 0; kind < COLUMN_KINDS; kind++) {
        size_t n;
        const struct column *all = columns_of((enum column_kind)kind, &n);
        for (size_t i = 0; i < n; i++) {
            if (all[i].path == NULL)
                snprintf(line, sizeof line, "\n| `%s` | %s |\n", all[i].name, all[i].meaning);
            else
                snprintf(line, sizeof line, "\n| `%s%s` | %s | %s |\n", kind == COLUMNS_OF_RUN ? "runs[]." : "trace.",
                         all[i].path, all[i].type, all[i].meaning);
            cr_expect_not_null(strstr(schema, line), "SCHEMA.md lacks:%s", line);
        }
    }
    free(schema);
}

Test(columns, are_named_by_their_paths)
{
    for (int kind = 0; kind < COLUMN_KINDS; kind++) {
        size_t n;
        const struct column *all = columns_of((enum column_kind)kind, &n);
        for (size_t i = 0; i < n; i++) {
            char name[96] = "";
            if (all[i].path == NULL)
                continue;
            snprintf(name, sizeof name, "%s%s", kind == COLUMNS_OF_TRACE ? "trace_" : "", all[i].path);
            for (char *dot = name; (dot = strchr(dot, '.')) != NULL;)
                *dot = '_';
            cr_expect_str_eq(all[i].name, name);
        }
    }
}

/* A table that an empty line cuts in two is no table for Markdown. */
Test(columns, no_table_of_the_schema_is_cut)
{
    char *schema = text_of_file(TEST_DATA "/../../report/SCHEMA.md");
    cr_expect_null(strstr(schema, "|\n\n|"));
    free(schema);
}
