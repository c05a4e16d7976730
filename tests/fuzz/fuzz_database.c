/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: a database of results that SQL of a stranger has changed: other tables under our names, views, triggers,
 * computed columns, rows of any type. It is read, merged, and written to as `sweep -o` does.
 */
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/use_results.h"

#include <sqlite3.h>
#include <string.h>

enum { STEPS_BETWEEN_LOOKS = 1000, LOOKS_MAX = 200, SQL_BYTES_MAX = 1 << 16 };

/* The stranger may do what he likes to this file, and to no other. */
static int authorize(void *arg, int action, const char *a, const char *b, const char *c, const char *d)
{
    static const char *const allowed[] = { "application_id", "user_version", "writable_schema", "encoding",
                                           "page_size" };
    (void)arg, (void)b, (void)c, (void)d;
    if (action == SQLITE_ATTACH || action == SQLITE_DETACH)
        return SQLITE_DENY;
    if (action != SQLITE_PRAGMA)
        return SQLITE_OK;
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        if (sqlite3_stricmp(a, allowed[i]) == 0)
            return SQLITE_OK;
    return SQLITE_DENY;
}

static int count_looks(void *arg)
{
    return --*(int *)arg < 0;
}

/* Runs the statements one by one; one that fails hinders none of the others. */
static void change(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    int looks = LOOKS_MAX;
    const char *end = sql + strlen(sql);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        sqlite3_set_authorizer(db, authorize, NULL);
        sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
        sqlite3_progress_handler(db, STEPS_BETWEEN_LOOKS, count_looks, &looks);
    }
    while (db != NULL && sql < end && looks > 0) {
        sqlite3_stmt *statement = NULL;
        const char *after = sql;
        if (sqlite3_prepare_v2(db, sql, -1, &statement, &after) == SQLITE_OK)
            while (sqlite3_step(statement) == SQLITE_ROW)
                ;
        sqlite3_finalize(statement);
        const char *next = strchr(sql, ';');
        sql = after > sql ? after : next == NULL ? end : next + 1;
    }
    sqlite3_close(db);
}

/* Whether it could be written to. */
static bool write_to(const char *path)
{
    struct results_db *db = NULL;
    uint64_t n;
    struct err_detail err = { .text = "" };
    const bool is_written = results_db_open(path, true, NULL, &db, &err) == ERR_OK &&
                            results_db_count(db, &n, &err) == ERR_OK &&
                            results_db_set_price(db, 1 << 20, &err) == ERR_OK;
    FUZZ_EXPECT(is_written || err.text[0] != '\0');
    results_db_close(db);
    return is_written;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = input_file_write(data, 0);
    char *sql = path == NULL || n > SQL_BYTES_MAX ? NULL : strndup((const char *)data, n);
    if (sql != NULL && empty_database_write(path)) {
        change(path, sql);
        use_results(path);
        if (write_to(path))
            use_results(path);
    }
    free(sql);
    if (path != NULL)
        database_remove(path);
    input_file_remove();
    return 0;
}
