/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Profiles of Nsight Systems, made here by the documented schema: requests, marks, facts, and what is refused. */
#include "tests/opened_text.h"

#include <sqlite3.h>
#include <unistd.h>

#define EVENTS                                                                                                         \
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER, deviceId INTEGER, "         \
    "contextId INTEGER, address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, "    \
    "name TEXT, correlationId INTEGER, streamId INTEGER);"
#define EVENT(start, pid, device, address, bytes, kind, operation)                                                     \
    "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (" #start "," #pid "," #device ",1," #address ",0," #bytes        \
    "," #kind "," #operation ",NULL,1,7);"
#define MARKS                                                                                                          \
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL); INSERT INTO StringIds VALUES (5, 'step');"  \
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER);"             \
    "INSERT INTO NVTX_EVENTS VALUES (15, 40, 59, NULL, 5), (45, NULL, 34, 'end', NULL), (1, 2, 33, 'category', NULL);"
#define FACTS                                                                                                          \
    "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER);"                                       \
    "INSERT INTO TARGET_INFO_GPU VALUES (0, 'A', 1024), (1, 'B', 4096);"                                               \
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"                                                \
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);"

static enum err opened_database(const char *sql, int64_t gpu, struct trace_reader **out, struct err_detail *err)
{
    const struct import_config cfg = {.gpu = gpu};
    char path[] = "/tmp/replay-nsys-XXXXXX", *message = NULL;
    sqlite3 *db;
    close(mkstemp(path));
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_OK, "%s", message);
    sqlite3_close(db);
    const enum err e = trace_open_any(path, NULL, &cfg, out, err);
    remove(path);
    return e;
}

static void expect_refused(const char *sql, enum err e, const char *says)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    cr_expect_eq(opened_database(sql, -1, &r, &err), e, "%s", err.text);
    cr_expect_not_null(strstr(err.text, says), "'%s' lacks '%s'", err.text, says);
}

Test(import_nsys, calls_become_requests_in_order_of_time_and_ranges_become_marks)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[256];
    cr_assert_eq(opened_database(EVENTS EVENT(30, 9, 1, 4096, 512, 2, 1) EVENT(10, 9, 1, 4096, 512, 2, 0)
                                 EVENT(20, 9, 1, 8192, 1024, 3, 0) EVENT(21, 9, 1, 77, 64, 1, 0) MARKS FACTS, -1, &r,
                                 &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(events_text(r, got, sizeof got), "+512 !step +1024 -512 !end ");
    cr_expect_eq(trace_info(r)->capacity_bytes, 4096);
    cr_expect_eq(trace_info(r)->device, 1);
    cr_expect_eq(trace_info(r)->epoch_us, UINT64_C(1700000000000000));
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "page-locked host memory, left out: 1"));
    trace_close(r);
}

Test(import_nsys, the_same_address_of_two_processes_is_two_requests)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[256];
    cr_assert_eq(opened_database(EVENTS EVENT(1, 8, 0, 4096, 512, 2, 0) EVENT(2, 9, 0, 4096, 64, 2, 0)
                                 EVENT(3, 8, 0, 4096, 512, 2, 1), -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(events_text(r, got, sizeof got), "+512 +64 -512 ");
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "processes: 2"));
    trace_close(r);
}

Test(import_nsys, what_is_missing_at_either_end_is_counted)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[256];
    cr_assert_eq(opened_database(EVENTS EVENT(1, 8, 0, 4096, 512, 2, 1) EVENT(2, 8, 0, 8192, 64, 2, 0)
                                 EVENT(3, 8, 0, 8192, 32, 2, 0), -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(events_text(r, got, sizeof got), "-512 +64 -64 +32 ");
    cr_expect(trace_info(r)->starts_mid_run);
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "address was handed out again: 1"));
    trace_close(r);
}

Test(import_nsys, what_cannot_be_taken_is_said)
{
    expect_refused("CREATE TABLE runs (id INTEGER)", ERR_UNSUPPORTED, "--cuda-memory-usage=true");
    expect_refused("PRAGMA application_id = 0x52504c59; CREATE TABLE runs (id INTEGER)", ERR_FORMAT,
                   "results are read by `replay report`");
    expect_refused(EVENTS, ERR_UNSUPPORTED, "holds no request for a card's memory");
    expect_refused(EVENTS EVENT(1, 8, 0, 4096, 512, 2, 5), ERR_FORMAT,
                   "row 0 of CUDA_GPU_MEMORY_USAGE_EVENTS: 5 is neither");
    expect_refused(EVENTS EVENT(1, 8, 0, 4096, 512, 2, 0) EVENT(1, 8, 1, 4096, 512, 2, 0), ERR_USAGE,
                   "choose a device with --gpu");
    expect_refused("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER)", ERR_FORMAT, "no such column");
    expect_refused("CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 "
                   "FROM c) SELECT x AS start FROM c", ERR_UNSUPPORTED, "without the table");
}

/* SQLite shares a database that keeps a log with others by a file beside it, and leaves that to whoever may write. */
Test(import_nsys, nothing_is_left_beside_a_database_that_keeps_a_log)
{
    const struct import_config cfg = {.gpu = -1};
    char folder[] = "/tmp/replay-nsys-XXXXXX", path[64], shared[128];
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    sqlite3 *db;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/p.sqlite", folder);
    snprintf(shared, sizeof shared, "%s-shm", path);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, "PRAGMA journal_mode = WAL;" EVENTS EVENT(1, 8, 0, 4096, 512, 2, 0), NULL, NULL,
                              NULL), SQLITE_OK);
    sqlite3_close(db);
    cr_expect_eq(trace_open_any(path, NULL, &cfg, &r, &err), ERR_OK, "%s", err.text);
    trace_close(r);
    cr_expect_neq(access(shared, F_OK), 0);
    remove(path);
    cr_expect_eq(rmdir(folder), 0);
}
