/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Databases of results: how they are made, checked, filled and read. What is asked of them is in report/rows/sql. */
#include "report/rows/results_db.h"

#include "base/database_files.h"
#include "base/foreign_database.h"
#include "base/output.h"
#include "base/read_files.h"
#include "base/shown.h"
#include "base/terminal.h"
#include "base/text_stream.h"
#include "base/units.h"
#include "report/rows/csv.h"
#include "report/rows/results_sql.h"
#include "report/text/json_writer.h"
#include "report/rows/partial_recording.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"
#include "report/rows/winner.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DB_APPLICATION = 0x52504c59,     /* "RPLY": SQLite's application_id, which tells our files from others */
    DB_VERSION = 7,                  /* grows when a change is more than a new column */
    DB_VERSION_UPGRADED = 4,         /* from here on a database is brought up to date when it is written to */
    DB_PATIENCE_MS = 60000,          /* how long to wait for another process */
    DB_SILENCE_MS = 1000,            /* how long to do so before anyone is told */
    DB_PAUSE_MS = 20,                /* between two tries */
    SQL_MAX = 20480,
    FAILED_SHOWN = 20,               /* lines of failures on the terminal */
    COPIES_SHOWN = 40,               /* lines of quantiles on the terminal */
    COLUMNS_TEXT = 8192,
    STEPS_BETWEEN = 100000,          /* steps of SQLite's machine between two looks at the budget */
    STEPS_FREE = 20000000,           /* steps that any statement may take, and per byte of the databases */
    STEPS_PER_BYTE = 200,            /* our own statements need less than one */
    CHECKED_BYTES = 16 << 20,        /* up to this size a foreign database is checked whole (quick_check) */
};

struct results_db {
    sqlite3      *handle;
    sqlite3_stmt *look, *has, *begin_puts, *put, *commit;
    struct text_stream details;              /* the JSON text of the current run */
    char          path[DATABASE_NAME_BYTES]; /* as typed, for messages */
    char          name[DATABASE_NAME_BYTES]; /* of database_name */
    char          columns[COLUMNS_TEXT];     /* of `runs`, with commas */
    char          selected[COLUMNS_TEXT];    /* the same for SELECT: NULL for a column that the database lacks */
    size_t        n_columns;
    const struct results_db_watch *watch;    /* may be NULL */
    bool          is_wait_told;
    bool          is_of_one_process;         /* a file that nobody else knows, or none */
    bool          has_details, has_parameters, has_seed;
    const char   *other_path;                /* of the database that is attached; NULL: of none, or of no file */
    uint64_t      other_bytes;
    int64_t       looks_left;                /* of the present statement, one each STEPS_BETWEEN steps */
};

/* ---- the schema ---- */

/* In best.sql. */
static_assert(WINNER_PRICE_BYTES_PER_MS == 1048576, "the price of a database that holds none");
static_assert(WINNER_MARGIN_SHARE == 50, "how near a score is to the lowest to be alike");

static const char *sql_text(const unsigned char *embedded)
{
    return (const char *)embedded;
}

/* One row of `runs` without its details; names alone if the arguments are NULL. */
static size_t fields_of_all(const struct row_identity *id, const struct report *report,
                            struct field out[RESULTS_COLUMNS])
{
    const struct report_run *run = report != NULL ? &report->runs[0] : NULL;
    size_t n = fields_of_identity(id, out);
    n += fields_of_trace(report != NULL ? &report->trace : NULL, out + n);
    n += fields_of_card(run != NULL ? run->device_config : NULL, out + n);
    return n + fields_of_run(run, out + n);
}

size_t results_db_columns(struct field out[RESULTS_COLUMNS])
{
    return fields_of_all(NULL, NULL, out);
}

/* Lists the columns of `runs` with commas; NULL for those that the database lacks, unless `has` is NULL. */
static void list_columns(char *out, size_t size, const bool *has)
{
    struct field fields[RESULTS_COLUMNS];
    const size_t n = results_db_columns(fields);
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s%s%s", i == 0 ? "" : ",",
                                 has == NULL || has[i] ? "" : "NULL AS ", fields[i].name);
        assert(used < size);
    }
}

/* ---- statements ---- */

static bool db_is_interrupted(const struct results_db *db)
{
    return db->watch != NULL && db->watch->interrupted != NULL && *db->watch->interrupted != 0;
}

/* SQLite asks, while another process has a lock, whether to try again. The tries are counted, not the time: a process
 * that was stopped for a day has not waited for one. */
static int db_wait(void *arg, int n_tries)
{
    struct results_db *db = arg;
    const int64_t waited_ms = (int64_t)n_tries * DB_PAUSE_MS;
    if (waited_ms > DB_PATIENCE_MS || db_is_interrupted(db))
        return 0;
    if (waited_ms > DB_SILENCE_MS && !db->is_wait_told && db->watch != NULL && db->watch->waits != NULL) {
        db->is_wait_told = true;
        db->watch->waits(db->is_of_one_process && db->other_path != NULL ? db->other_path : db->path);
    }
    sqlite3_sleep(DB_PAUSE_MS);
    return 1;
}

static enum err db_fail_at(const struct results_db *db, const char *path, struct err_detail *err)
{
    const int code = sqlite3_errcode(db->handle);
    if ((code == SQLITE_INTERRUPT || code == SQLITE_BUSY) && db_is_interrupted(db))
        return err_at(err, ERR_INTERRUPTED, 0, path, "interrupted");
    if (code == SQLITE_BUSY)
        return err_at(err, ERR_IO, 0, path, "another process has it locked, for a minute by now");
    if (code == SQLITE_INTERRUPT)
        return err_at(err, ERR_FORMAT, 0, path, "takes far more work than a database of this size can need");
    const enum err e = code == SQLITE_NOMEM                           ? ERR_HOST_NOMEM
                       : code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR ||
                                 code == SQLITE_CONSTRAINT ? ERR_FORMAT
                       : code == SQLITE_CANTOPEN && path != db->path ? err_of_open(sqlite3_system_errno(db->handle))
                                                                      : ERR_IO;
    return err_at(err, e, 0, path, "%s", sqlite3_errmsg(db->handle));
}

static enum err db_fail(const struct results_db *db, struct err_detail *err)
{
    return db_fail_at(db, db->path, err);
}

/* ---- foreign databases ---- */

/*
 * A database may come from anyone. SQLite itself guards its memory; what remains is work without end, such as a view
 * in the place of a table or a column that is computed. So the tables are looked at before they are read (db_check),
 * no text or row may be larger than a run's, and a statement gets steps in proportion to the bytes of the databases.
 */
enum { DB_TEXT_MAX = 64 << 20 };

/* SQLite asks every STEPS_BETWEEN steps whether to stop. */
static int db_look_at_steps(void *arg)
{
    struct results_db *db = arg;
    return --db->looks_left < 0 || db_is_interrupted(db);
}

static uint64_t file_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

/* Of a database with its write-ahead log. */
static uint64_t database_bytes(const char *name)
{
    return file_bytes(name) + database_log_bytes(name);
}

/* Gives the next statement steps for these bytes. */
static void db_allow_steps(struct results_db *db, uint64_t bytes)
{
    db->looks_left = (int64_t)((STEPS_FREE + STEPS_PER_BYTE * bytes) / STEPS_BETWEEN);
}

/* Gives the next statement steps to go over all that is open. */
static void db_allow_all(struct results_db *db)
{
    db_allow_steps(db, database_bytes(db->name) + db->other_bytes);
}

static enum err db_execute(struct results_db *db, const char *sql, struct err_detail *err)
{
    db_allow_all(db);
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? ERR_OK : db_fail(db, err);
}

/* The first number that a query gives; 0 if it gives none. */
static enum err db_number(struct results_db *db, const char *sql, int64_t *out, struct err_detail *err)
{
    sqlite3_stmt *s;
    db_allow_all(db);
    if (sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK)
        return db_fail(db, err);
    const int step = sqlite3_step(s);
    *out = step == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    const enum err e = step == SQLITE_ROW || step == SQLITE_DONE ? ERR_OK : db_fail(db, err);
    sqlite3_finalize(s);
    return e;
}

static enum err db_bind(struct results_db *db, sqlite3_stmt *s, int at, const struct field *f, struct err_detail *err)
{
    int code = SQLITE_OK;
    switch (f->kind) {
    case FIELD_NULL:   code = sqlite3_bind_null(s, at); break;
    case FIELD_TEXT:   code = sqlite3_bind_text(s, at, f->text, -1, SQLITE_STATIC); break;
    case FIELD_NUMBER: code = sqlite3_bind_int64(s, at, f->number); break;
    case FIELD_RATIO:  code = sqlite3_bind_double(s, at, f->ratio); break;
    }
    return code == SQLITE_OK ? ERR_OK : db_fail(db, err);
}

/* Runs a statement that returns no rows, with these values. */
static enum err db_run(struct results_db *db, sqlite3_stmt *s, const struct field *values, size_t n,
                       struct err_detail *err)
{
    enum err e = ERR_OK;
    db_allow_steps(db, 0);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = db_bind(db, s, (int)i + 1, &values[i], err);
    if (e == ERR_OK && sqlite3_step(s) != SQLITE_DONE)
        e = db_fail(db, err);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return e;
}

/* ---- opening ---- */

static enum err db_set_version(struct results_db *db, struct err_detail *err)
{
    char sql[96];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", DB_APPLICATION, DB_VERSION);
    return db_execute(db, sql, err);
}

static const char *const view_names[] = { "options", "remarks", "survivors", "ooms", "best", "fits", "ranks",
                                          "copies" };

/* Runs text that is put together. */
static enum err db_execute_format(struct results_db *db, struct err_detail *err, const char *form, ...)
{
    char sql[SQL_MAX];
    va_list args;
    va_start(args, form);
    const int n = vsnprintf(sql, sizeof sql, form, args);
    va_end(args);
    assert(n > 0 && (size_t)n < sizeof sql);
    (void)n;
    return db_execute(db, sql, err);
}

/* The schema but for `runs`, in a database that has none of its views. */
static enum err db_create_views(struct results_db *db, struct err_detail *err)
{
    enum err e = db_execute(db, sql_text(results_schema_sql), err);
    if (e == ERR_OK)
        e = db_execute_format(db, err, "CREATE VIEW best AS %s", sql_text(results_best_sql));
    if (e == ERR_OK)
        e = db_execute_format(db, err, "CREATE VIEW copies AS %s", sql_text(results_copies_sql));
    return e == ERR_OK ? db_set_version(db, err) : e;
}

static enum err db_create(struct results_db *db, struct err_detail *err)
{
    const enum err e = db_execute_format(db, err, "CREATE TABLE runs(%s, details TEXT NOT NULL, PRIMARY KEY(key))",
                                         db->columns);
    return e == ERR_OK ? db_create_views(db, err) : e;
}

/* What a schema (main, or an attached one) holds. */
struct db_facts {
    bool    is_empty;                /* nothing at all yet */
    int64_t version;
    bool    has_details, has_parameters;
    bool    has_seed;                /* versions up to 4 told runs apart by a seed, which no result depends on */
    bool    has_column[RESULTS_COLUMNS];
    size_t  n_missing;               /* of our columns */
};

/* Notes a column of `runs`. */
static void note_column(struct db_facts *facts, const struct field *ours, size_t n, const char *name)
{
    facts->has_details |= strcmp(name, "details") == 0;
    facts->has_seed |= strcmp(name, "seed") == 0;
    for (size_t i = 0; i < n; i++)
        if (!facts->has_column[i] && strcmp(ours[i].name, name) == 0) {
            facts->has_column[i] = true;
            facts->n_missing--;
        }
}

/* Finds which of our columns `runs` has. */
static enum err db_find_columns(struct results_db *db, const char *schema, struct db_facts *facts,
                                struct err_detail *err)
{
    struct field ours[RESULTS_COLUMNS];
    const size_t n = results_db_columns(ours);
    char sql[96];
    sqlite3_stmt *s;
    int step;
    snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_info('runs', '%s')", schema);
    if (sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK)
        return db_fail(db, err);
    facts->n_missing = n;
    while ((step = sqlite3_step(s)) == SQLITE_ROW)
        note_column(facts, ours, n, (const char *)sqlite3_column_text(s, 0));
    const enum err e = step == SQLITE_DONE ? ERR_OK : db_fail(db, err);
    sqlite3_finalize(s);
    return e;
}

/* Adds the columns that an older database lacks, and makes its views those of this program. Within a transaction. */
static enum err db_upgrade(struct results_db *db, const struct db_facts *facts, struct err_detail *err)
{
    struct field fields[RESULTS_COLUMNS];
    enum err e = ERR_OK;
    const size_t n = results_db_columns(fields);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        if (!facts->has_column[i])
            e = db_execute_format(db, err, "ALTER TABLE runs ADD COLUMN %s", fields[i].name);
    for (size_t i = 0; i < sizeof view_names / sizeof view_names[0] && e == ERR_OK; i++)
        e = db_execute_format(db, err, "DROP VIEW IF EXISTS %s", view_names[i]);
    return e == ERR_OK ? db_create_views(db, err) : e;
}

static enum err no_database(const char *path, struct err_detail *err)
{
    return err_at(err, ERR_FORMAT, 0, path, "is not a database of replay's results");
}

static enum err db_count_tables(struct results_db *db, const char *schema, const char *name, int64_t *out,
                                struct err_detail *err)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s.sqlite_master WHERE name LIKE '%s'", schema, name);
    return db_number(db, sql, out, err);
}

/* Whether `runs` is a plain table: no view, no virtual table, no column that is computed. */
static enum err db_check_table(struct results_db *db, const char *schema, const char *path, struct err_detail *err)
{
    char sql[256];
    int64_t n_plain = 0, n_computed = 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s.sqlite_master WHERE name = 'runs' AND type = 'table' AND"
             " rootpage > 0", schema);
    enum err e = db_number(db, sql, &n_plain, err);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_xinfo('runs', '%s') WHERE hidden <> 0", schema);
    if (e == ERR_OK && n_plain > 0)
        e = db_number(db, sql, &n_computed, err);
    if (e == ERR_OK && (n_plain != 1 || n_computed > 0))
        e = err_at(err, ERR_FORMAT, 0, path, "its 'runs' is not a plain table");
    return e;
}

/* A plain constraint refuses a run, which is an error. One may also say what to do instead: ON CONFLICT IGNORE drops
 * the run, ON CONFLICT REPLACE those that it meets. */
static enum err db_check_constraints(struct results_db *db, struct err_detail *err)
{
    int64_t n_quiet = 0;
    const enum err e = db_number(db, "SELECT count(*) FROM main.sqlite_master WHERE name IN ('runs', 'parameters') AND"
                                 " sql LIKE '%conflict%'", &n_quiet, err);
    if (e == ERR_OK && n_quiet > 0)
        return err_at(err, ERR_FORMAT, 0, db->path, "its tables drop or replace rows by ON CONFLICT, which is not "
                      "ours");
    return e;
}

/* Checks a foreign database whole, where that is cheap. */
static enum err db_check_pages(struct results_db *db, const char *schema, const char *path, struct err_detail *err)
{
    char sql[128];
    int64_t n_faults = 0;
    if (file_bytes(path) > CHECKED_BYTES)
        return ERR_OK;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_quick_check(1, '%s') WHERE quick_check <> 'ok'", schema);
    const enum err e = db_number(db, sql, &n_faults, err);
    if (e != ERR_OK)
        return db_fail_at(db, path, err);
    return n_faults == 0 ? ERR_OK : err_at(err, ERR_FORMAT, 0, path, "the database is damaged");
}

static enum err db_find_facts(struct results_db *db, const char *schema, const char *path, struct db_facts *out,
                              struct err_detail *err)
{
    char sql[80];
    int64_t application = 0, n_tables = 0, n_parameters = 0;
    *out = (struct db_facts){ .version = 0 };
    snprintf(sql, sizeof sql, "PRAGMA %s.application_id", schema);
    enum err e = db_number(db, sql, &application, err);
    snprintf(sql, sizeof sql, "PRAGMA %s.user_version", schema);
    if (e == ERR_OK)
        e = db_number(db, sql, &out->version, err);
    if (e == ERR_OK)
        e = db_count_tables(db, schema, "%", &n_tables, err);
    if (e == ERR_OK)
        e = db_count_tables(db, schema, "parameters", &n_parameters, err);
    if (e != ERR_OK)
        return db_fail_at(db, path, err);
    out->is_empty = application == 0 && n_tables == 0;
    if (out->is_empty)
        return ERR_OK;
    if (application != DB_APPLICATION)
        return no_database(path, err);
    out->has_parameters = n_parameters > 0;
    e = db_check_table(db, schema, path, err);
    if (e == ERR_OK)
        e = db_find_columns(db, schema, out, err);
    return e == ERR_OK && out->n_missing == db->n_columns ? no_database(path, err) : e;
}

/* Looks at what a schema holds. ERR_FORMAT if it is another program's. What is read is of one moment: another process
 * may make its tables meanwhile, and half of them would be nobody's database. */
static enum err db_check(struct results_db *db, const char *schema, const char *path, struct db_facts *out,
                         struct err_detail *err)
{
    enum err e = db_execute(db, "SAVEPOINT facts", err);
    if (e != ERR_OK)
        return e;
    e = db_find_facts(db, schema, path, out, err);
    sqlite3_exec(db->handle, "RELEASE facts", NULL, NULL, NULL);         /* nothing was written: it cannot fail */
    return e;
}

/* " To convert it: replay merge OLD.db -o NEW.db" for a shell, to be freed. NULL: the name would not be shown as it is,
 * or there is no memory. */
static char *db_conversion(const char *path)
{
    struct text_stream to;
    if (!shown_is_clean(path) || text_stream_open(&to) == NULL)
        return NULL;
    fputs(" To convert it: replay merge ", to.file);
    text_put_file_word(to.file, path);
    fputs(" -o NEW.db", to.file);
    return text_stream_take(&to);
}

/* A database may be written to if it is of this version, or of one that db_upgrade understands. The command that
 * converts it is said whole or not at all. */
static enum err db_check_writable(const char *path, const struct db_facts *facts, struct err_detail *err)
{
    static const char form[] = "schema %" PRId64 "; this program writes %d.%s";
    if (facts->version >= DB_VERSION_UPGRADED && facts->version <= DB_VERSION)
        return ERR_OK;
    char *command = db_conversion(path);
    const bool fits = command != NULL && (size_t)snprintf(NULL, 0, form, facts->version, DB_VERSION, command) <
                                             ERR_TEXT - ERR_PLACE - strlen(": ");
    err_at(err, ERR_FORMAT, 0, path, form, facts->version, DB_VERSION, fits ? command : "");
    free(command);
    return ERR_FORMAT;
}

/* Ends an INSERT: only a run that is there already may stay out. OR IGNORE would also pass over one that a constraint
 * of somebody else refuses. */
/* The outcomes of runs that have no result. */
#define GONE_WRONG "'corrupt', 'error'"

#define UNLESS_THERE " ON CONFLICT(key) DO NOTHING"

static enum err db_prepare(struct results_db *db, struct err_detail *err)
{
    char sql[SQL_MAX] = "";
    size_t used = (size_t)snprintf(sql, sizeof sql, "INSERT INTO runs(%s,details) VALUES(?", db->columns);
    for (size_t i = 0; i < db->n_columns; i++)
        used += (size_t)snprintf(sql + used, sizeof sql - used, ",?");
    snprintf(sql + used, sizeof sql - used, ")" UNLESS_THERE);
    const struct { const char *sql; sqlite3_stmt **out; } all[] = {
        { "BEGIN", &db->look },
        { "SELECT outcome IN (" GONE_WRONG ") FROM runs WHERE key = ?", &db->has },
        { "BEGIN IMMEDIATE", &db->begin_puts },
        { sql, &db->put },
        { "COMMIT", &db->commit },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (sqlite3_prepare_v2(db->handle, all[i].sql, -1, all[i].out, NULL) != SQLITE_OK)
            return db_fail(db, err);
    return text_stream_open(&db->details) != NULL ? ERR_OK : err_no_memory(err);
}

/* Makes an empty database ours, or brings an older one up to date. Within a transaction. */
static enum err db_make_current(struct results_db *db, const struct db_facts *facts, struct err_detail *err)
{
    if (facts->is_empty)
        return db_create(db, err);
    const enum err e = db_check_writable(db->path, facts, err);
    return e == ERR_OK ? db_upgrade(db, facts, err) : e;
}

static bool is_current(const struct db_facts *facts)
{
    return !facts->is_empty && facts->version == DB_VERSION && facts->n_missing == 0 && facts->has_parameters;
}

/* One transaction under the write lock makes the schema, so that two programs that start at once make one. */
static enum err db_begin_schema(struct results_db *db, struct err_detail *err)
{
    struct db_facts facts;
    enum err e = db_check(db, "main", db->path, &facts, err);
    if (e == ERR_OK)
        e = db_check_constraints(db, err);
    if (e == ERR_OK && !is_current(&facts)) {
        e = db_execute(db, facts.is_empty && !db->is_of_one_process ? "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE"
                                                                    : "BEGIN IMMEDIATE", err);
        if (e == ERR_OK)
            e = db_check(db, "main", db->path, &facts, err);
        if (e == ERR_OK && !is_current(&facts))
            e = db_make_current(db, &facts, err);
        if (e == ERR_OK)
            e = db_execute(db, "COMMIT", err);
    }
    db->has_details = db->has_parameters = true;
    db->has_seed = facts.has_seed;
    memcpy(db->selected, db->columns, sizeof db->selected);
    return e == ERR_OK ? db_prepare(db, err) : e;
}

static const char in_memory[] = ":memory:";

/* Opens a file, a URI or in_memory without a look at its schema; `name` is its file, `path` is for messages. *out is
 * set even after an error, for results_db_close. */
static enum err db_open_file(const char *opened, const char *name, const char *path, int flags,
                             const struct results_db_watch *watch, struct results_db **out, struct err_detail *err)
{
    struct results_db *db = *out = calloc(1, sizeof *db);
    if (db == NULL)
        return err_no_memory(err);
    snprintf(db->path, sizeof db->path, "%s", path);
    snprintf(db->name, sizeof db->name, "%s", name);
    db->watch = watch;
    if (path != in_memory)
        read_files_note_name(path);
    struct field fields[RESULTS_COLUMNS];
    db->n_columns = results_db_columns(fields);
    list_columns(db->columns, sizeof db->columns, NULL);
    /* A handle is used by one thread at a time: its calls need no lock. */
    if (sqlite3_open_v2(opened, &db->handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL) != SQLITE_OK) {
        const enum err e = db_fail(db, err);
        return e == ERR_IO && (flags & SQLITE_OPEN_CREATE) == 0 ? err_of_open(sqlite3_system_errno(db->handle)) : e;
    }
    sqlite3_busy_handler(db->handle, db_wait, db);
    if (path != in_memory)
        sqlite3_progress_handler(db->handle, STEPS_BETWEEN, db_look_at_steps, db);
    foreign_database_limit(db->handle, DB_TEXT_MAX);
    return ERR_OK;
}

/* The database's name, if nothing that lies there hinders opening it. */
static enum err db_find(const char *path, char name[DATABASE_NAME_BYTES], struct err_detail *err)
{
    const enum err e = database_name(path, name, err);
    return e == ERR_OK ? database_files_check(name, err) : e;
}

/* Opens a file to write to it. A new one is made first, so that a link to it leads somewhere. */
static enum err db_open_to_write(const char *path, bool must_exist, const struct results_db_watch *watch,
                                 struct results_db **out, struct err_detail *err)
{
    char name[DATABASE_NAME_BYTES];
    enum err e = db_find(path, name, err);
    const bool is_missing = e == ERR_OK && must_exist && access(name, F_OK) != 0;
    if (is_missing && errno == ENOENT)
        return err_at(err, ERR_INPUT, 0, path, "is not there, so there is nothing to go on with");
    if (e == ERR_OK && !is_missing)
        e = database_make(name, path, err);
    if (e == ERR_OK) {
        output_remove_left_behind(name);
        e = db_find(path, name, err);
    }
    const int flags = SQLITE_OPEN_READWRITE | (must_exist ? 0 : SQLITE_OPEN_CREATE);
    return e == ERR_OK ? db_open_file(name, name, path, flags, watch, out, err) : e;
}

/* Closes the database after an error, or hands it out. */
static enum err db_hand_out(struct results_db *db, enum err e, struct results_db **out)
{
    if (e != ERR_OK)
        results_db_close(db);
    else
        *out = db;
    return e;
}

enum err results_db_open(const char *path, bool must_exist, const struct results_db_watch *watch,
                         struct results_db **out, struct err_detail *err)
{
    struct results_db *db = NULL;
    enum err e = path != NULL ? db_open_to_write(path, must_exist, watch, &db, err)
                              : db_open_file(in_memory, in_memory, in_memory,
                                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, watch, &db, err);
    if (e == ERR_OK)
        e = db_execute(db, "PRAGMA synchronous = FULL", err);
    if (e == ERR_OK)
        e = db_begin_schema(db, err);
    return db_hand_out(db, e, out);
}

enum err results_db_open_new(const char *temporary, const char *path, const struct results_db_watch *watch,
                             struct results_db **out, struct err_detail *err)
{
    struct results_db *db = NULL;
    enum err e = db_open_file(temporary, temporary, path, SQLITE_OPEN_READWRITE, watch, &db, err);
    if (e == ERR_OK) {
        db->is_of_one_process = true;
        e = db_execute(db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF", err);
    }
    if (e == ERR_OK)
        e = db_begin_schema(db, err);
    return db_hand_out(db, e, out);
}

/* Whether a file lies in a folder in which SQLite cannot make the files that it shares with other processes, and no
 * other process has left any. */
static bool is_in_sealed_folder(const char *name)
{
    char folder[DATABASE_NAME_BYTES];
    const char *slash = strrchr(name, '/');
    assert(slash != NULL);                               /* database_name puts one */
    snprintf(folder, sizeof folder, "%.*s", (int)(slash == name ? 1 : slash - name), name);
    return access(folder, W_OK) != 0 && database_log_bytes(name) == 0;
}

/* SQLite falls back to reading if it may not write. If it may, it also removes its own two files next to the database,
 * which a handle for reading would leave there. A log that others left stays as it is, and so does the database. */
static enum err db_open_to_read(const char *path, const struct results_db_watch *watch, struct results_db **out,
                                struct err_detail *err)
{
    char name[DATABASE_NAME_BYTES], uri[DATABASE_URI_BYTES];
    const enum err e = db_find(path, name, err);
    if (e != ERR_OK)
        return e;
    if (!is_in_sealed_folder(name)) {
        const bool stays = database_log_bytes(name) > 0;
        const enum err opened = db_open_file(name, name, path, SQLITE_OPEN_READWRITE, watch, out, err);
        if (opened == ERR_OK && stays)
            sqlite3_db_config((*out)->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        return opened;
    }
    database_unchanged_uri(name, uri);
    return db_open_file(uri, name, path, SQLITE_OPEN_READONLY, watch, out, err);
}

enum err results_db_open_read(const char *path, const struct results_db_watch *watch, struct results_db **out,
                              struct err_detail *err)
{
    struct results_db *db = NULL;
    struct db_facts facts;
    enum err e = db_open_to_read(path, watch, &db, err);
    if (e == ERR_OK)
        e = db_execute(db, "PRAGMA query_only = ON", err);
    if (e == ERR_OK)
        e = db_check_pages(db, "main", path, err);
    if (e == ERR_OK)
        e = db_check(db, "main", path, &facts, err);
    if (e == ERR_OK && facts.is_empty)
        e = no_database(path, err);
    if (e == ERR_IO && db != NULL && sqlite3_errcode(db->handle) != SQLITE_BUSY)
        e = err_of_open(sqlite3_system_errno(db->handle));
    if (e != ERR_OK) {
        results_db_close(db);
        return e;
    }
    db->has_details = facts.has_details;
    db->has_parameters = facts.has_parameters;
    db->has_seed = facts.has_seed;
    list_columns(db->selected, sizeof db->selected, facts.has_column);
    *out = db;
    return ERR_OK;
}

void results_db_close(struct results_db *db)
{
    if (db == NULL)
        return;
    sqlite3_finalize(db->look);
    sqlite3_finalize(db->has);
    sqlite3_finalize(db->begin_puts);
    sqlite3_finalize(db->put);
    sqlite3_finalize(db->commit);
    sqlite3_close(db->handle);
    free(text_stream_take(&db->details));
    free(db);
}

/* ---- runs ---- */

void run_identity_key(const struct run_identity *id, char key[SHA256_HEX])
{
    char numbers[96];
    /* The 0 was once a seed. It stays, so that runs of older databases keep their keys. */
    const int n = snprintf(numbers, sizeof numbers, "0 %" PRId64, id->gpu);
    if (id->copy_percent > 0)
        snprintf(numbers + n, sizeof numbers - (size_t)n, " copy %u %" PRIu64, id->copy_percent, id->copy_seed);
    const char *const parts[] = { REPLAY_VERSION, id->trace_path, id->trace_digest, id->policy, id->device,
                                  id->start, id->on_oom, id->releases, id->from, numbers };
    sha256_texts(parts, sizeof parts / sizeof parts[0], key);
}

enum err results_db_look(struct results_db *db, struct err_detail *err)
{
    return db_run(db, db->look, NULL, 0, err);
}

enum err results_db_look_away(struct results_db *db, struct err_detail *err)
{
    return db_run(db, db->commit, NULL, 0, err);
}

enum err results_db_has(struct results_db *db, const char *key, enum stored_run *out, struct err_detail *err)
{
    const struct field f = field_text("key", key);
    const enum err e = db_bind(db, db->has, 1, &f, err);
    db_allow_steps(db, 0);
    const int step = e == ERR_OK ? sqlite3_step(db->has) : SQLITE_ERROR;
    *out = step != SQLITE_ROW ? STORED_NOT : sqlite3_column_int(db->has, 0) != 0 ? STORED_FAILED : STORED_RESULT;
    sqlite3_reset(db->has);
    return e == ERR_OK && step != SQLITE_ROW && step != SQLITE_DONE ? db_fail(db, err) : e;
}

/* Options, assumptions and warnings as one JSON text, valid until the next call. */
static enum err details_of(struct results_db *db, const struct report_run *run, const char *source,
                           struct field *out, struct err_detail *err)
{
    struct simplicity own = { .n_changed = 0 };
    simplicity_take_own(&own, run->spec->typed, source);
    text_stream_empty(&db->details);
    struct json_writer w = json_writer(db->details.file);
    w.is_compact = true;
    json_put_object(&w, NULL);
    json_put_object(&w, "options");
    report_options_put(&w, run->spec);
    json_end_object(&w);
    json_put_array(&w, "assumptions");
    report_lines_put(&w, NULL, &run->assumptions);
    json_end_array(&w);
    json_put_array(&w, "warnings");
    report_lines_put(&w, NULL, &run->warnings);
    json_end_array(&w);
    json_put_number(&w, "changed", policy_spec_changes(run->spec));
    if (own.own_order > 0)
        json_put_number(&w, "own_order", own.own_order);
    json_end_object(&w);
    const char *text = text_stream_text(&db->details);
    *out = field_text("details", text);
    return text != NULL ? ERR_OK : err_no_memory(err);
}

enum err results_db_put(struct results_db *db, const struct run_identity *id, const char *job, int64_t rank,
                        const struct report *report, struct err_detail *err)
{
    struct field fields[RESULTS_COLUMNS + 1];
    char key[SHA256_HEX];
    run_identity_key(id, key);
    const size_t n = fields_of_all(&(struct row_identity){ id, key, job, rank }, report, fields);
    assert(n == db->n_columns);
    const enum err e = details_of(db, &report->runs[0], report->trace.source, &fields[n], err);
    return e == ERR_OK ? db_run(db, db->put, fields, n + 1, err) : e;
}

static bool db_is_in_transaction(const struct results_db *db)
{
    return sqlite3_get_autocommit(db->handle) == 0;
}

enum err results_db_begin_puts(struct results_db *db, struct err_detail *err)
{
    return db_is_in_transaction(db) ? ERR_OK : db_run(db, db->begin_puts, NULL, 0, err);
}

enum err results_db_end_puts(struct results_db *db, struct err_detail *err)
{
    const enum err e = db_is_in_transaction(db) ? db_run(db, db->commit, NULL, 0, err) : ERR_OK;
    return e == ERR_OK ? results_db_check_there(db, err) : e;
}

enum err results_db_check_there(struct results_db *db, struct err_detail *err)
{
    int has_moved = 0;
    sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
    return has_moved == 0 ? ERR_OK : err_at(err, ERR_IO, 0, db->path, "was removed or renamed meanwhile: what was "
                                            "written is not in it");
}

enum err results_db_count(struct results_db *db, uint64_t *out, struct err_detail *err)
{
    int64_t n = 0;
    const enum err e = db_number(db, "SELECT count(*) FROM runs", &n, err);
    *out = (uint64_t)n;
    return e;
}

/* ---- rows ---- */

/* The n-th value of the current row. */
static struct field field_of_column(sqlite3_stmt *s, int at)
{
    struct field f = { .name = sqlite3_column_name(s, at) };
    switch (sqlite3_column_type(s, at)) {
    case SQLITE_INTEGER:
        return field_number(f.name, (uint64_t)sqlite3_column_int64(s, at));
    case SQLITE_FLOAT:
        f.kind = FIELD_RATIO;
        f.ratio = sqlite3_column_double(s, at);
        return f;
    case SQLITE_TEXT:
        return field_text(f.name, (const char *)sqlite3_column_text(s, at));
    default:
        return f;
    }
}

static enum err each_row(struct results_db *db, const char *sql,
                         void (*row)(void *arg, const struct field *fields, size_t n), void *arg,
                         struct err_detail *err)
{
    struct field fields[RESULTS_COLUMNS];
    sqlite3_stmt *s;
    int step;
    db_allow_all(db);
    if (sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK)
        return db_fail(db, err);
    const size_t n = (size_t)sqlite3_column_count(s);
    while ((step = sqlite3_step(s)) == SQLITE_ROW) {
        for (size_t i = 0; i < n; i++)
            fields[i] = field_of_column(s, (int)i);
        row(arg, fields, n);
    }
    const enum err e = step == SQLITE_DONE ? ERR_OK : db_fail(db, err);
    sqlite3_finalize(s);
    return e;
}

/* Rows of `runs` on their way to `row`: none comes after one with a wrong value. */
struct checked_runs {
    void (*row)(void *arg, const struct field *fields, size_t n);    /* NULL: the rows are only checked */
    void *arg;
    const char *path;
    enum column_values values[RESULTS_COLUMNS];
    struct err_detail *err;
    enum err e;
};

static void check_run(void *checked, const struct field *fields, size_t n)
{
    struct checked_runs *to = checked;
    struct field taken[RESULTS_COLUMNS];
    for (size_t i = 0; i < n && to->e == ERR_OK; i++) {
        taken[i] = fields[i];
        const char *wanted = column_value_take(to->values[i], &taken[i]);
        if (wanted != NULL)
            to->e = err_at(to->err, ERR_FORMAT, 0, to->path, "of the run with key '%s' the column '%s' is not %s",
                           fields[0].kind == FIELD_TEXT ? fields[0].text : "", fields[i].name, wanted);
    }
    if (to->e == ERR_OK && to->row != NULL)
        to->row(to->arg, taken, n);
}

/* `sql` selects all columns of `runs`, of which the first is the key. */
static enum err each_checked_run(struct results_db *db, const char *sql, const char *path,
                                 void (*row)(void *arg, const struct field *fields, size_t n), void *arg,
                                 struct err_detail *err)
{
    struct checked_runs to = { .row = row, .arg = arg, .path = path, .err = err };
    columns_values(to.values);
    const enum err e = each_row(db, sql, check_run, &to, err);
    return e == ERR_OK ? to.e : e;
}

/* ---- merging ---- */

/* Whether a column tells how the trace was found and not what came of the run: a file that is typed has no job, and one
 * of a folder of ranks has. */
static bool is_of_finding(const char *column)
{
    return strcmp(column, "job") == 0 || strcmp(column, "rank") == 0;
}

/* Counts the runs that both have, but with other values. The program's version is part of the key, and nothing in a row
 * depends on when or where the run was made, so all values are the same, the bytes of the details too. Only
 * is_of_finding may be null in one of them, and a column that one of them lacks is not compared. */
static enum err count_differing(struct results_db *db, const struct db_facts *other, int64_t *out,
                                struct err_detail *err)
{
    struct field fields[RESULTS_COLUMNS];
    char sql[SQL_MAX];
    const size_t n = results_db_columns(fields);
    size_t used = (size_t)snprintf(sql, sizeof sql,
                                   "SELECT count(*) FROM other.runs AS a JOIN main.runs AS b ON a.key = b.key WHERE 0");
    for (size_t i = 0; i < n; i++) {
        if (!other->has_column[i])
            continue;
        used += (size_t)snprintf(sql + used, sizeof sql - used, " OR a.%s %s b.%s", fields[i].name,
                                 is_of_finding(fields[i].name) ? "<>" : "IS NOT", fields[i].name);
        assert(used < sizeof sql);
    }
    if (other->has_details)
        snprintf(sql + used, sizeof sql - used, " OR a.details IS NOT b.details");
    return db_number(db, sql, out, err);
}

/* Refuses rows whose details later reading could not take apart. */
static enum err check_details(struct results_db *db, const char *path, struct err_detail *err)
{
    int64_t n_bad = 0;
    const enum err e = db_number(db, "SELECT count(*) FROM other.runs WHERE typeof(details) <> 'text' OR"
                                 " NOT (json_valid(details) OR json_valid(details || ''))", &n_bad, err);
    if (e != ERR_OK)
        return db_fail_at(db, path, err);
    return n_bad == 0 ? ERR_OK : err_at(err, ERR_FORMAT, 0, path, "%" PRId64 " of its runs have details that are no "
                                        "JSON; nothing was taken", n_bad);
}

/* Refuses rows with values that later reading would refuse. */
static enum err check_values(struct results_db *db, const struct db_facts *other, const char *path,
                             struct err_detail *err)
{
    char sql[SQL_MAX], selected[COLUMNS_TEXT];
    list_columns(selected, sizeof selected, other->has_column);
    snprintf(sql, sizeof sql, "SELECT %s FROM other.runs", selected);
    return each_checked_run(db, sql, path, NULL, NULL, err);
}

/* Selects one of the runs that differ in their seed alone. */
#define ONE_SEED(runs)                                                                                      \
    " WHERE rowid IN (SELECT rowid FROM (SELECT rowid, row_number() OVER (PARTITION BY version, trace_path,"\
    " trace_digest, policy, device_typed, start, on_oom, releases, format, gpu ORDER BY seed, key) AS place"\
    " FROM " runs ") WHERE place = 1)"

/* Copies the other's rows, with nulls for columns that it lacks; and its price, unless this database has one. */
static enum err copy_attached(struct results_db *db, const struct db_facts *other, uint64_t *n_added,
                              struct err_detail *err)
{
    char sql[SQL_MAX], selected[COLUMNS_TEXT];
    list_columns(selected, sizeof selected, other->has_column);
    snprintf(sql, sizeof sql, "INSERT INTO main.runs(%s,details) SELECT %s,%s FROM other.runs%s" UNLESS_THERE,
             db->columns, selected, other->has_details ? "details" : "'{}'",
             other->has_seed ? ONE_SEED("other.runs") : " WHERE 1");         /* WHERE: for the parser's sake */
    enum err e = db_execute(db, sql, err);
    *n_added = (uint64_t)sqlite3_changes(db->handle);
    if (e == ERR_OK && other->has_parameters)
        e = db_execute(db, "INSERT OR IGNORE INTO main.parameters SELECT name, value FROM other.parameters", err);
    return e;
}

static enum err merge_attached(struct results_db *db, const char *path, uint64_t *n_added, struct err_detail *err)
{
    struct db_facts other;
    int64_t n_differing = 0;
    enum err e = db_check_pages(db, "other", path, err);
    if (e == ERR_OK)
        e = db_check(db, "other", path, &other, err);
    if (e != ERR_OK || other.is_empty)
        return e != ERR_OK ? e : no_database(path, err);
    if (other.has_details && (e = check_details(db, path, err)) != ERR_OK)
        return e;
    e = check_values(db, &other, path, err);
    if (e == ERR_OK)
        e = count_differing(db, &other, &n_differing, err);
    if (e == ERR_OK && n_differing > 0)
        e = err_at(err, ERR_FORMAT, 0, path, "%" PRId64 " of its runs are there with other results", n_differing);
    return e == ERR_OK ? copy_attached(db, &other, n_added, err) : e;
}

/* Takes the runs of the database attached as "other", and detaches it. */
static enum err merge_and_detach(struct results_db *db, const char *path, uint64_t *n_added, struct err_detail *err)
{
    enum err e = db_execute(db, "BEGIN IMMEDIATE", err);
    if (e == ERR_OK) {
        e = merge_attached(db, path, n_added, err);
        if (e == ERR_OK)
            e = db_execute(db, "COMMIT", err);
        if (e != ERR_OK)
            sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    }
    sqlite3_exec(db->handle, "DETACH other", NULL, NULL, NULL);
    return e;
}

/* Attaches what SQLite calls `name`; `path` is for messages. */
static enum err db_attach(struct results_db *db, const char *name, const char *path, struct err_detail *err)
{
    const struct field f = field_text("path", name);
    sqlite3_stmt *attach;
    if (sqlite3_prepare_v2(db->handle, "ATTACH ? AS other", -1, &attach, NULL) != SQLITE_OK)
        return db_fail(db, err);
    enum err e = db_run(db, attach, &f, 1, err);
    if (e != ERR_OK)
        e = db_fail_at(db, path, err);
    sqlite3_finalize(attach);
    return e;
}

/* Attaches a file and takes its runs. */
static enum err merge_file(struct results_db *db, const char *name, const char *path, uint64_t *n_added,
                           struct err_detail *err)
{
    char uri[DATABASE_URI_BYTES];
    const bool is_sealed = is_in_sealed_folder(name);
    if (is_sealed)
        database_unchanged_uri(name, uri);
    const enum err e = db_attach(db, is_sealed ? uri : name, path, err);
    return e == ERR_OK ? merge_and_detach(db, path, n_added, err) : e;
}

enum err results_db_merge(struct results_db *db, const char *path, uint64_t *n_added, struct err_detail *err)
{
    char name[DATABASE_NAME_BYTES];
    if (access(path, R_OK) != 0)
        return err_at(err, ERR_INPUT, 0, path, "cannot be opened");      /* ATTACH would create it */
    enum err e = db_find(path, name, err);
    if (e != ERR_OK)
        return e;
    db->other_path = path;
    db->other_bytes = database_bytes(name);
    e = merge_file(db, name, path, n_added, err);
    db->other_path = NULL;
    db->other_bytes = 0;
    return e;
}

enum err results_db_bytes(struct results_db *db, unsigned char **bytes, size_t *n, struct err_detail *err)
{
    sqlite3_int64 size = 0;
    *bytes = sqlite3_serialize(db->handle, "main", &size, 0);
    *n = (size_t)size;
    return *bytes != NULL ? ERR_OK : err_no_memory(err);
}

void results_db_free_bytes(unsigned char *bytes)
{
    sqlite3_free(bytes);
}

enum err results_db_merge_bytes(struct results_db *db, unsigned char *bytes, size_t n, uint64_t *n_added,
                                struct err_detail *err)
{
    const enum err e = db_attach(db, ":memory:", "results in memory", err);
    if (e != ERR_OK)
        return e;
    /* Not READONLY, although nothing is written: the transaction takes the write lock of every attached database. */
    if (sqlite3_deserialize(db->handle, "other", bytes, (sqlite3_int64)n, (sqlite3_int64)n, 0) == SQLITE_OK)
        return merge_and_detach(db, "results in memory", n_added, err);
    const enum err failed = db_fail(db, err);
    sqlite3_exec(db->handle, "DETACH other", NULL, NULL, NULL);
    return failed;
}

/* ---- all runs, and their remarks ---- */

enum err results_db_each_run(struct results_db *db, void (*row)(void *arg, const struct field *fields, size_t n),
                             void *arg, struct err_detail *err)
{
    char sql[SQL_MAX];
    snprintf(sql, sizeof sql, "SELECT %s FROM runs%s ORDER BY trace_path, policy, device, copy_sizes_percent,"
             " copy_seed, key", db->selected,
             db->has_seed ? ONE_SEED("runs") : "");
    return each_checked_run(db, sql, db->path, row, arg, err);
}

struct remark_taker {
    void (*remark)(void *arg, bool is_warning, const char *text, uint64_t n_runs);
    void *arg;
};

static void remark_row(void *taker, const struct field *f, size_t n)
{
    const struct remark_taker *to = taker;
    if (n == 3 && f[1].kind == FIELD_TEXT)
        to->remark(to->arg, f[0].number != 0, f[1].text, (uint64_t)f[2].number);
}

enum err results_db_each_remark(struct results_db *db,
                                void (*remark)(void *arg, bool is_warning, const char *text, uint64_t n_runs),
                                void *arg, struct err_detail *err)
{
    struct remark_taker to = { .remark = remark, .arg = arg };
    return db->has_details ? each_row(db, sql_text(results_remarks_sql), remark_row, &to, err) : ERR_OK;
}

/* ---- the price ---- */

enum err results_db_price(struct results_db *db, uint64_t *out, bool *is_there, struct err_detail *err)
{
    int64_t price = -1;
    enum err e = ERR_OK;
    if (db->has_parameters)
        e = db_number(db, "SELECT coalesce(max(value), -1) FROM parameters WHERE name = 'price_bytes_per_ms'", &price,
                      err);
    *is_there = price >= 0;
    *out = *is_there ? (uint64_t)price : WINNER_PRICE_BYTES_PER_MS;
    return e;
}

enum err results_db_set_price(struct results_db *db, uint64_t price_bytes_per_ms, struct err_detail *err)
{
    char sql[160];
    snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO parameters VALUES('price_bytes_per_ms', %" PRIu64 ")",
             price_bytes_per_ms);
    return db_execute(db, sql, err);
}

/* ---- writing ---- */

static void csv_row(void *out, const struct field *fields, size_t n)
{
    csv_fields(out, fields, n);
}

enum err results_db_write_csv(struct results_db *db, FILE *out, struct err_detail *err)
{
    fprintf(out, "%s\n", db->columns);
    return results_db_each_run(db, csv_row, out, err);
}

struct db_row { const struct field *fields; size_t n; };

static void database_columns_json(struct json_writer *json, const struct db_row *row)
{
    for (size_t i = 0; i < row->n; i++)
        field_json(json, row->fields[i].name, &row->fields[i]);
}

static void put_run(void *writer, const struct field *fields, size_t n)
{
    struct json_writer *json = writer;
    const struct db_row *row = &(struct db_row){ .fields = fields, .n = n };
    json_put_object(json, NULL);
#define ANSWER_TABLE "answers/sweep_run.def"
#include "answers/as_json.def"
    json_end_object(json);
}

static void put_failed(void *writer, const struct field *f, size_t n)
{
    struct json_writer *json = writer;
    (void)n;
    json_put_object(json, NULL);
#define ANSWER_TABLE "answers/sweep_failed.def"
#include "answers/as_json.def"
    json_end_object(json);
}

/* A row for each trace and policy with runs that failed: how many of how many, and the first of them in the order of
 * cards, from which SQLite takes the card and the reason, too (a lone min() does so). */
static enum err each_failed(struct results_db *db, void (*row)(void *arg, const struct field *fields, size_t n),
                            void *arg, struct err_detail *err)
{
    char sql[SQL_MAX];
    snprintf(sql, sizeof sql, "SELECT policy, trace_path, failed_runs, runs, device, reason FROM ("
             "SELECT policy, trace_path, trace_digest, sum(failed) AS failed_runs, count(*) AS runs, device, reason,"
             " min(CASE WHEN failed THEN device || ' ' || key END) AS first FROM ("
             "SELECT *, coalesce(outcome IN (" GONE_WRONG "), 0) AS failed, %s AS reason FROM runs)"
             " GROUP BY trace_path, trace_digest, policy HAVING sum(failed) > 0) ORDER BY 2, trace_digest, 1",
             db->has_details ? "CASE WHEN json_valid(details) OR json_valid(details || '')"
                               " THEN json_extract(details, '$.warnings[0]') END" : "NULL");
    return each_row(db, sql, row, arg, err);
}

enum err results_db_write_json(struct results_db *db, FILE *out, struct err_detail *err)
{
    uint64_t price;
    bool is_stored;
    enum err e = results_db_price(db, &price, &is_stored, err);
#define ANSWER_TABLE "answers/sweep.def"
#include "answers/as_json.def"
    return e;
}

/* ---- for people ---- */

/* The table of cases while it is filled. */
struct case_rows {
    struct terminal_table table;
    size_t n_folder;                 /* of each trace's path: the folder that all share, which is left out */
    bool   has_ties, has_own, has_bounds;        /* has_own: a library's own setting is best */
};

/* The folder that all paths share is the one that the first and the last in order share. */
static void folder_row(void *arg, const struct field *f, size_t n)
{
    struct case_rows *rows = arg;
    (void)n;
    if (f[0].kind != FIELD_TEXT || f[1].kind != FIELD_TEXT)
        return;
    for (size_t i = 0; f[0].text[i] != '\0' && f[0].text[i] == f[1].text[i]; i++)
        if (f[0].text[i] == '/')
            rows->n_folder = i + 1;
}

static const char *text_or_unknown(const struct field *f)
{
    return f->kind == FIELD_TEXT ? f->text : "?";            /* a database of another program may lack it */
}

/* A trace's path without the folder that all share and without the usual ending. */
static void name_of_trace(const struct field *path, size_t n_folder, char out[TABLE_CELL])
{
    static const char ending[] = ".trace.zst";
    const char *name = text_or_unknown(path);
    name += strlen(name) > n_folder ? n_folder : 0;
    const size_t n = strlen(name), n_ending = strlen(ending);
    const size_t n_kept = n > n_ending && strcmp(name + n - n_ending, ending) == 0 ? n - n_ending : n;
    const size_t n_cut = n_kept >= TABLE_CELL ? n_kept - (TABLE_CELL - 1) : 0;
    snprintf(out, TABLE_CELL, "%.*s", (int)(n_kept - n_cut), name + n_cut);
}

/* A card as other tables show it: "1640 MiB" where its device was told in bytes. */
static void name_of_card(const struct field *device, char out[TABLE_CELL])
{
    const char *text = text_or_unknown(device);
    char size[TEXT_NUMBER], *end;
    const bool has_prefix = strncmp(text, "sim:", 4) == 0;
    const uint64_t bytes = has_prefix ? strtoull(text + 4, &end, 10) : 0;
    if (has_prefix && end > text + 4 && (*end == '\0' || *end == ','))
        snprintf(out, TABLE_CELL, "%s%.20s", text_card(bytes, size), end);
    else
        snprintf(out, TABLE_CELL, "%s", text);
}

static void case_row(void *arg, const struct field *f, size_t n)
{
    struct case_rows *rows = arg;
    char trace[TABLE_CELL], card[TABLE_CELL], runs[TABLE_CELL], takes[TABLE_CELL] = "-", alike[TABLE_CELL] = "-";
    char a[UNITS_TEXT], live[UNITS_TEXT], plan[UNITS_TEXT] = "-";
    const bool is_bound = f[9].kind == FIELD_NUMBER && f[9].number != 0;
    (void)n;
    name_of_trace(&f[0], rows->n_folder, trace);
    name_of_card(&f[1], card);
    snprintf(runs, sizeof runs, "%" PRId64 " of %" PRId64, f[3].number, f[2].number);
    if (f[4].kind == FIELD_TEXT) {
        snprintf(takes, sizeof takes, "%s%s", units_format_bytes((uint64_t)f[5].number, a), is_bound ? "+" : "");
        snprintf(alike, sizeof alike, "%" PRId64, f[6].number);
        const bool is_own = policy_own_order(f[4].text) > 0;
        rows->has_ties |= !is_own && f[6].number > 1;
        rows->has_own |= is_own;
    }
    rows->has_bounds |= is_bound;
    units_format_bytes((uint64_t)f[7].number, live);
    if (f[8].kind == FIELD_NUMBER)
        units_format_bytes((uint64_t)f[8].number, plan);
    terminal_table_add(&rows->table, (const char *const[]){
        trace, card, runs, f[4].kind == FIELD_TEXT ? f[4].text : "-", takes, alike, live, plan });
}

static void print_legend(FILE *out, const struct case_rows *rows)
{
    struct words ties = { .n = 0 }, own = { .n = 0 }, bounds = { .n = 0 };
    words_add(&ties, "alike: so many settings differ by less than 2%% of the card in memory and driver time; the "
                     "simplest of them is named, PyTorch's default before all.");
    if (rows->has_ties)
        words_print(out, &ties, 0, 2);
    words_add(&own, "alike, of a library's own settings: so many run; the library as it comes is named before all.");
    if (rows->has_own)
        words_print(out, &own, 0, 2);
    words_add(&bounds, "+ or -: the recording holds a refused request, or is cut, so its figures are lower bounds.");
    if (rows->has_bounds)
        words_print(out, &bounds, 0, 2);
}

/* One row for each trace and card: the setting that does best, and what it takes. */
static enum err write_cases(struct results_db *db, FILE *out, size_t columns, struct err_detail *err)
{
    char sql[SQL_MAX];
    static const struct text_column titles[] = {
        { "trace", NULL, true, 0 },         { "card", NULL, true, 0 },       { "survive", NULL, false, 4 },
        { "best setting", NULL, true, 0 },  { "takes", NULL, false, 0 },     { "alike", NULL, false, 3 },
        { "live data", NULL, false, 2 },    { "offline plan", NULL, false, 1 },
    };
    struct case_rows rows = { .table = { .columns = titles, .n_columns = sizeof titles / sizeof titles[0],
                                         .bold_row = SIZE_MAX } };
    enum err e = each_row(db, "SELECT min(trace_path), max(trace_path) FROM fits", folder_row, &rows, err);
    snprintf(sql, sizeof sql, "WITH winners AS (%s) %s", sql_text(results_best_sql), sql_text(results_cases_sql));
    if (e == ERR_OK)
        e = each_row(db, sql, case_row, &rows, err);
    const enum err printed = terminal_table_print(out, &rows.table, columns);
    if (e == ERR_OK && printed != ERR_OK)
        e = err_set(err, printed, 0, "no memory for a table");
    if (e == ERR_OK)
        print_legend(out, &rows);
    return e;
}

static void copies_row(void *arg, const struct field *f, size_t n)
{
    struct words w = { .n = 0 };
    char text[UNITS_TEXT];
    (void)n;
    words_add(&w, "%s on %s, %s, ", text_or_unknown(&f[0]), text_or_unknown(&f[1]), text_or_unknown(&f[2]));
    words_add(&w, "%" PRId64 " copies with sizes up to %" PRId64 " %% off: %" PRId64 " survive", f[4].number,
              f[3].number, f[5].number);
    static const char *const before[] = { "; reserved, peak: least ", ", quartiles ", ", ", ", ", ", most " };
    for (size_t q = 0; q < sizeof before / sizeof before[0] && f[6].kind == FIELD_NUMBER; q++)
        words_add(&w, "%s%s", before[q], units_format_bytes((uint64_t)f[6 + q].number, text));
    words_print(arg, &w, 0, 2);
}

static void rank_row(void *arg, const struct field *f, size_t n)
{
    struct words w = { .n = 0 };
    char worst[UNITS_TEXT], spread[UNITS_TEXT];
    (void)n;
    words_add(&w, "%s, %s on %s: ", text_or_unknown(&f[0]), text_or_unknown(&f[1]), text_or_unknown(&f[2]));
    words_add(&w, "worst of %" PRId64 " ranks is rank %" PRId64 ", %s reserved%s; spread %s", f[3].number, f[5].number,
              units_format_bytes((uint64_t)f[6].number, worst), f[4].number > 0 ? ", out of memory" : "",
              units_format_bytes((uint64_t)f[7].number, spread));
    words_print(arg, &w, 0, 2);
}

/* The lines of failures while they are printed. */
struct failed_lines {
    FILE  *out;
    size_t n;
};

static void failed_row(void *arg, const struct field *f, size_t n)
{
    struct failed_lines *lines = arg;
    struct words w = { .n = 0 };
    (void)n;
    if (lines->n++ >= FAILED_SHOWN)
        return;
    words_add(&w, "FAILED: %s in %" PRId64 " of %" PRId64 " runs of %s", text_or_unknown(&f[0]), f[2].number,
              f[3].number, text_or_unknown(&f[1]));
    words_add(&w, "; on %s %s", text_or_unknown(&f[4]), f[5].kind == FIELD_TEXT ? f[5].text : "it failed");
    words_print(lines->out, &w, 0, 2);
}

enum err results_db_write_failed(struct results_db *db, FILE *out, struct err_detail *err)
{
    struct failed_lines lines = { .out = out };
    const enum err e = each_failed(db, failed_row, &lines, err);
    if (e == ERR_OK && lines.n > FAILED_SHOWN)
        fprintf(out, "%zu more traces and policies failed: the column `outcome` of the database tells all\n",
                lines.n - FAILED_SHOWN);
    return e;
}

/* The first COPIES_SHOWN, and how many there are more. */
static enum err write_copies(struct results_db *db, FILE *out, struct err_detail *err)
{
    char sql[SQL_MAX];
    int64_t n_all = 0;
    snprintf(sql, sizeof sql, "SELECT trace_path, device, policy, copy_sizes_percent, copies, survived,"
             " peak_reserved_bytes_least, peak_reserved_bytes_lower, peak_reserved_bytes_median,"
             " peak_reserved_bytes_upper, peak_reserved_bytes_most FROM (%s) ORDER BY 1, 2, 3, 4 LIMIT %d",
             sql_text(results_copies_sql), COPIES_SHOWN);
    enum err e = each_row(db, sql, copies_row, out, err);
    if (e == ERR_OK)
        e = db_number(db, "SELECT count(*) FROM copies", &n_all, err);
    if (e == ERR_OK && n_all > COPIES_SHOWN)
        fprintf(out, "%" PRId64 " more: the view `copies` of the database has all\n", n_all - COPIES_SHOWN);
    return e;
}

enum err results_db_write_table(struct results_db *db, FILE *out, size_t columns, struct err_detail *err)
{
    static const char ranks[] = "SELECT job, policy, device, ranks, failed, worst_rank, worst_bytes, spread_bytes"
                                " FROM ranks ORDER BY 1, 2, 3";
    assert(db->has_parameters);
    enum err e = write_cases(db, out, columns, err);
    if (e == ERR_OK)
        e = write_copies(db, out, err);
    return e == ERR_OK ? each_row(db, ranks, rank_row, out, err) : e;
}
