/* The schema, and the statements on it. */
#include "report/results_db.h"

#include "base/units.h"
#include "report/csv.h"
#include "report/json_writer.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DB_APPLICATION = 0x52504c59,     /* "RPLY": what SQLite keeps to tell one program's files from another's */
    DB_VERSION = 4,
    DB_PATIENCE_MS = 60000,          /* how long another writer is waited for */
    SQL_MAX = 8192,
    PATH_BYTES = 4096 + 8,           /* the longest path that can be opened, and an ending */
};

struct results_db {
    sqlite3      *handle;
    sqlite3_stmt *look, *has, *begin_puts, *put, *commit;
    FILE         *details;                   /* of the run under way: as much of the bytes as it wrote */
    char         *details_bytes;
    size_t        details_n;
    char          path[256];
    char          columns[SQL_MAX / 4];      /* of `runs`, with commas */
    size_t        n_columns;
};

/* ---- the schema ---- */

/* The rule of verdict.c, on one trace and card: of the survivors whose driver time is no high price, the one that takes
 * least of the card, then least driver time, then changes least. `least_card_bytes` is what the others get down to. */
#define BEST_RUNS                                                                                            \
    "SELECT trace_path, trace_digest, device, policy, peak_reserved_bytes, device_time_ns, place,"           \
    " card_peak_bytes, device_calls, least_card_bytes FROM (SELECT *, row_number() OVER (PARTITION BY"       \
    " trace_path, trace_digest, device ORDER BY card_peak_bytes, device_time_ns,"                            \
    " name = 'pytorch' AND changed = 0 DESC, changed, length(policy), policy) AS place FROM (SELECT"         \
    " trace_path, trace_digest, device, policy, name, peak_reserved_bytes, card_peak_bytes, device_calls,"   \
    " device_time_ns, json_extract(details, '$.changed') AS changed, min(device_time_ns) OVER c AS least_ns," \
    " min(card_peak_bytes) OVER c AS least_card_bytes FROM survivors"                                        \
    " WINDOW c AS (PARTITION BY trace_path, trace_digest, device))"                                          \
    " WHERE device_time_ns <= 10 * least_ns + 1000000) WHERE place = 1"

/* What a run has in numbers that vary is one text in its row, so that writing a run is writing one row. */
static const char schema_views[] =
    "CREATE VIEW options AS SELECT runs.key AS run, o.key AS name, o.value AS value"
    " FROM runs, json_each(details, '$.options') AS o;"
    "CREATE VIEW remarks AS SELECT runs.key AS run, 'assumption' AS kind, a.key AS n, a.value AS text"
    " FROM runs, json_each(details, '$.assumptions') AS a UNION ALL"
    " SELECT runs.key, 'warning', w.key, w.value FROM runs, json_each(details, '$.warnings') AS w;"
    "CREATE VIEW survivors AS SELECT * FROM runs WHERE outcome = 'ok';"
    "CREATE VIEW ooms AS SELECT key, trace_path, policy, device, oom_count, oom_first_event,"
    " oom_first_requested_bytes, oom_first_reserved_bytes, oom_first_device_free_bytes FROM runs WHERE oom_count > 0;"
    "CREATE VIEW best AS " BEST_RUNS ";"
    "CREATE VIEW fits AS SELECT trace_path, trace_digest, device, count(*) AS runs, sum(outcome = 'ok') AS survived,"
    " min(CASE WHEN outcome = 'ok' THEN peak_reserved_bytes END) AS least_reserved_bytes,"
    " max(peak_reserved_bytes) AS most_reserved_bytes, max(trace_live_peak_bytes) AS live_peak_bytes,"
    " max(trace_offline_plan_bytes) AS offline_plan_bytes FROM runs GROUP BY trace_path, trace_digest, device;"
    "CREATE VIEW ranks AS SELECT job, policy, device_typed AS device, ranks, failed, rank AS worst_rank,"
    " trace_path AS worst_path, peak_reserved_bytes AS worst_bytes, spread_bytes FROM (SELECT *,"
    " count(*) OVER w AS ranks, sum(outcome != 'ok') OVER w AS failed,"
    " max(peak_reserved_bytes) OVER w - min(peak_reserved_bytes) OVER w AS spread_bytes,"
    " row_number() OVER (PARTITION BY job, policy, device_typed, seed, start, on_oom, gpu, releases, version"
    " ORDER BY outcome != 'ok' DESC, peak_reserved_bytes DESC, rank) AS place FROM runs WHERE job IS NOT NULL WINDOW w"
    " AS (PARTITION BY job, policy, device_typed, seed, start, on_oom, gpu, releases, version)) WHERE place = 1;";

/* What is not in the report: who made the run, with what. NULL: the names alone. */
static size_t fields_of_identity(const struct run_identity *id, const char *key, const char *job, int64_t rank,
                                 struct field out[FIELDS_MAX])
{
    static const struct run_identity nothing;
    struct field *to = out;
    if (id == NULL)
        id = &nothing;
    *to++ = field_text("key", key);
    *to++ = field_text("version", REPLAY_VERSION);
    *to++ = field_text("job", job);
    *to++ = job != NULL ? field_number("rank", (uint64_t)rank) : (struct field){ .name = "rank" };
    *to++ = field_text("trace_digest", id->trace_digest);
    *to++ = field_text("device_typed", id->device);
    *to++ = field_number("seed", id->seed);
    *to++ = field_text("start", id->start);
    *to++ = field_text("on_oom", id->on_oom);
    *to++ = field_text("releases", id->releases);
    *to++ = field_text("format", id->from);
    *to++ = field_number_unless("gpu", (uint64_t)id->gpu, (uint64_t)-1);
    return (size_t)(to - out);
}

/* The card, resolved: with what was typed this makes a run repeatable in a program whose defaults moved on. */
static size_t fields_of_device(const struct device_config *c, struct field out[FIELDS_MAX])
{
    static const struct device_config nothing;
    struct field *to = out;
    if (c == NULL)
        c = &nothing;
    *to++ = field_number("context_bytes", c->context_bytes);
    *to++ = field_number("others_bytes", c->others_bytes);
    *to++ = field_number("alloc_ns", c->alloc_ns);
    *to++ = field_number("free_ns", c->free_ns);
    *to++ = field_number("map_ns", c->map_ns);
    *to++ = field_number("unmap_ns", c->unmap_ns);
    *to++ = field_number("packing", c->packing);
    *to++ = field_number("addresses", c->addresses);
    return (size_t)(to - out);
}

static size_t fields_of_all(const struct run_identity *id, const char *key, const char *job, int64_t rank,
                            const struct report *report, struct field out[RESULTS_COLUMNS])
{
    const struct report_run *run = report != NULL ? &report->runs[0] : NULL;
    size_t n = fields_of_identity(id, key, job, rank, out);
    n += fields_of_trace(report != NULL ? &report->trace : NULL, out + n);
    n += fields_of_device(run != NULL ? run->device_config : NULL, out + n);
    return n + fields_of_run(run, out + n);
}

size_t results_db_columns(struct field out[RESULTS_COLUMNS])
{
    const size_t n = fields_of_all(NULL, NULL, NULL, 0, NULL, out);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct field){ .name = out[i].name };
    return n;
}

static void name_columns(struct results_db *db)
{
    struct field fields[RESULTS_COLUMNS];
    db->n_columns = results_db_columns(fields);
    size_t used = 0;
    for (size_t i = 0; i < db->n_columns && used < sizeof db->columns; i++)
        used += (size_t)snprintf(db->columns + used, sizeof db->columns - used, "%s%s", i == 0 ? "" : ",",
                                 fields[i].name);
}

/* ---- statements ---- */

static enum err db_fail_at(const struct results_db *db, const char *path, struct err_detail *why)
{
    const int code = sqlite3_errcode(db->handle);
    const enum err e = code == SQLITE_NOMEM                           ? ERR_HOST_NOMEM
                       : code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR ? ERR_FORMAT
                       : code == SQLITE_CANTOPEN && path != db->path ? ERR_INPUT
                                                                      : ERR_IO;
    return err_set(why, e, 0, "%.120s: %.100s", path, sqlite3_errmsg(db->handle));
}

static enum err db_fail(const struct results_db *db, struct err_detail *why)
{
    return db_fail_at(db, db->path, why);
}

static enum err db_execute(struct results_db *db, const char *sql, struct err_detail *why)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? ERR_OK : db_fail(db, why);
}

/* The first number that a query gives; 0 where it gives none. */
static enum err db_number(struct results_db *db, const char *sql, int64_t *out, struct err_detail *why)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK)
        return db_fail(db, why);
    const int step = sqlite3_step(s);
    *out = step == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    const enum err e = step == SQLITE_ROW || step == SQLITE_DONE ? ERR_OK : db_fail(db, why);
    sqlite3_finalize(s);
    return e;
}

static enum err db_bind(struct results_db *db, sqlite3_stmt *s, int at, const struct field *f, struct err_detail *why)
{
    int code = SQLITE_OK;
    switch (f->kind) {
    case FIELD_NULL:   code = sqlite3_bind_null(s, at); break;
    case FIELD_TEXT:   code = sqlite3_bind_text(s, at, f->text, -1, SQLITE_STATIC); break;
    case FIELD_NUMBER: code = sqlite3_bind_int64(s, at, f->number); break;
    case FIELD_RATIO:  code = sqlite3_bind_double(s, at, f->ratio); break;
    }
    return code == SQLITE_OK ? ERR_OK : db_fail(db, why);
}

/* Runs a statement that returns no rows, with these values. */
static enum err db_run(struct results_db *db, sqlite3_stmt *s, const struct field *values, size_t n,
                       struct err_detail *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = db_bind(db, s, (int)i + 1, &values[i], why);
    if (e == ERR_OK && sqlite3_step(s) != SQLITE_DONE)
        e = db_fail(db, why);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return e;
}

/* ---- opening ---- */

static enum err db_create(struct results_db *db, struct err_detail *why)
{
    char sql[SQL_MAX];
    snprintf(sql, sizeof sql, "CREATE TABLE runs(%s, details TEXT NOT NULL, PRIMARY KEY(key));%s", db->columns,
             schema_views);
    const enum err e = db_execute(db, sql, why);
    if (e != ERR_OK)
        return e;
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", DB_APPLICATION, DB_VERSION);
    return db_execute(db, sql, why);
}

/* Whether the schema named (main, or an attached one) is ours; *is_empty: it holds nothing at all yet. */
static enum err db_check(struct results_db *db, const char *schema, const char *path, bool *is_empty,
                         struct err_detail *why)
{
    char sql[80];
    int64_t application, version, tables;
    snprintf(sql, sizeof sql, "PRAGMA %s.application_id", schema);
    enum err e = db_number(db, sql, &application, why);
    snprintf(sql, sizeof sql, "PRAGMA %s.user_version", schema);
    if (e == ERR_OK)
        e = db_number(db, sql, &version, why);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s.sqlite_master", schema);
    if (e == ERR_OK)
        e = db_number(db, sql, &tables, why);
    if (e != ERR_OK)
        return db_fail_at(db, path, why);
    *is_empty = application == 0 && tables == 0;
    if (*is_empty || (application == DB_APPLICATION && version == DB_VERSION))
        return ERR_OK;
    if (application != DB_APPLICATION)
        return err_set(why, ERR_FORMAT, 0, "%.150s: is no database of replay's results", path);
    return err_set(why, ERR_FORMAT, 0, "%.120s: schema %" PRId64 ", this program writes %d", path, version, DB_VERSION);
}

static enum err db_prepare(struct results_db *db, struct err_detail *why)
{
    char sql[SQL_MAX] = "";
    size_t used = (size_t)snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO runs(%s,details) VALUES(?", db->columns);
    for (size_t i = 0; i < db->n_columns; i++)
        used += (size_t)snprintf(sql + used, sizeof sql - used, ",?");
    snprintf(sql + used, sizeof sql - used, ")");
    const struct { const char *sql; sqlite3_stmt **out; } all[] = {
        { "BEGIN", &db->look },
        { "SELECT 1 FROM runs WHERE key = ?", &db->has },
        { "BEGIN IMMEDIATE", &db->begin_puts },
        { sql, &db->put },
        { "COMMIT", &db->commit },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (sqlite3_prepare_v2(db->handle, all[i].sql, -1, all[i].out, NULL) != SQLITE_OK)
            return db_fail(db, why);
    db->details = open_memstream(&db->details_bytes, &db->details_n);
    return db->details != NULL ? ERR_OK : err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
}

/* The schema is made in one transaction, behind the write lock, so that two who start at once make one. */
static enum err db_begin_schema(struct results_db *db, struct err_detail *why)
{
    bool is_empty;
    enum err e = db_check(db, "main", db->path, &is_empty, why);
    if (e != ERR_OK)
        return e;
    if (is_empty) {
        e = db_execute(db, "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE", why);
        if (e == ERR_OK)
            e = db_check(db, "main", db->path, &is_empty, why);
        if (e == ERR_OK && is_empty)
            e = db_create(db, why);
        if (e == ERR_OK)
            e = db_execute(db, "COMMIT", why);
    }
    return e == ERR_OK ? db_prepare(db, why) : e;
}

/* A handle on a file whose schema is not looked at yet. *out is set also on error, for results_db_close. */
static enum err db_open_file(const char *path, int flags, struct results_db **out, struct err_detail *why)
{
    struct results_db *db = *out = calloc(1, sizeof *db);
    if (db == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    snprintf(db->path, sizeof db->path, "%s", path);
    name_columns(db);
    /* A handle is used by one thread at a time: its calls need no lock. */
    if (sqlite3_open_v2(path, &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        const enum err e = db_fail(db, why);
        return e == ERR_IO && (flags & SQLITE_OPEN_CREATE) == 0 ? ERR_INPUT : e;
    }
    sqlite3_busy_timeout(db->handle, DB_PATIENCE_MS);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return ERR_OK;
}

enum err results_db_open(const char *path, bool must_exist, struct results_db **out, struct err_detail *why)
{
    struct results_db *db;
    enum err e = db_open_file(path, SQLITE_OPEN_READWRITE | (must_exist ? 0 : SQLITE_OPEN_CREATE), &db, why);
    if (e == ERR_OK)
        e = db_execute(db, "PRAGMA synchronous = NORMAL", why);
    if (e == ERR_OK)
        e = db_begin_schema(db, why);
    if (e != ERR_OK)
        results_db_close(db);
    else
        *out = db;
    return e;
}

enum err results_db_open_read(const char *path, struct results_db **out, struct err_detail *why)
{
    struct results_db *db;
    bool is_empty;
    /* SQLite itself falls back to reading where it may not write; where it may, it takes its own two files beside the
     * database away again, which one that only reads would leave there. */
    enum err e = db_open_file(path, SQLITE_OPEN_READWRITE, &db, why);
    if (e == ERR_OK)
        e = db_execute(db, "PRAGMA query_only = ON", why);
    if (e == ERR_OK)
        e = db_check(db, "main", path, &is_empty, why);
    if (e == ERR_OK && is_empty)
        e = err_set(why, ERR_FORMAT, 0, "%.150s: is no database of replay's results", path);
    if (e != ERR_OK)
        results_db_close(db);
    else
        *out = db;
    return e == ERR_IO ? ERR_INPUT : e;
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
    if (db->details != NULL)
        fclose(db->details);
    free(db->details_bytes);
    free(db);
}

void results_db_remove(const char *path)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char name[PATH_BYTES];
        if ((size_t)snprintf(name, sizeof name, "%s%s", path, ends[i]) < sizeof name)
            unlink(name);
    }
}

/* ---- runs ---- */

enum err run_identity_key(const struct run_identity *id, char key[SHA256_HEX], struct err_detail *why)
{
    char numbers[64];
    snprintf(numbers, sizeof numbers, "%" PRIu64 " %" PRId64, id->seed, id->gpu);
    const char *const parts[] = { REPLAY_VERSION, id->trace_path, id->trace_digest, id->policy, id->device,
                                  id->start, id->on_oom, id->releases, id->from, numbers };
    return sha256_texts(parts, sizeof parts / sizeof parts[0], key, why);
}

enum err results_db_look(struct results_db *db, struct err_detail *why)
{
    return db_run(db, db->look, NULL, 0, why);
}

enum err results_db_look_away(struct results_db *db, struct err_detail *why)
{
    return db_run(db, db->commit, NULL, 0, why);
}

enum err results_db_has(struct results_db *db, const char *key, bool *out, struct err_detail *why)
{
    const struct field f = field_text("key", key);
    const enum err e = db_bind(db, db->has, 1, &f, why);
    const int step = e == ERR_OK ? sqlite3_step(db->has) : SQLITE_ERROR;
    *out = step == SQLITE_ROW;
    sqlite3_reset(db->has);
    return e == ERR_OK && step != SQLITE_ROW && step != SQLITE_DONE ? db_fail(db, why) : e;
}

/* What a run has a varying number of, as one text; it is lent until the next call. */
static enum err details_of(struct results_db *db, const struct report_run *run, struct field *out,
                           struct err_detail *why)
{
    struct json_writer w = json_writer(db->details);
    w.is_compact = true;
    rewind(db->details);
    json_put_object(&w, NULL);
    report_options_json(&w, "options", run->spec);
    report_lines_json(&w, "assumptions", NULL, &run->assumptions);
    report_lines_json(&w, "warnings", NULL, &run->warnings);
    json_put_number(&w, "changed", policy_spec_changes(run->spec));
    json_end_object(&w);
    fputc('\0', db->details);
    if (fflush(db->details) != 0)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    *out = field_text("details", db->details_bytes);
    return ERR_OK;
}

enum err results_db_put(struct results_db *db, const struct run_identity *id, const char *job, int64_t rank,
                        const struct report *report, struct err_detail *why)
{
    struct field fields[RESULTS_COLUMNS + 1];
    char key[SHA256_HEX];
    enum err e = run_identity_key(id, key, why);
    if (e != ERR_OK)
        return e;
    const size_t n = fields_of_all(id, key, job, rank, report, fields);
    e = details_of(db, &report->runs[0], &fields[n], why);
    return e == ERR_OK ? db_run(db, db->put, fields, n + 1, why) : e;
}

static bool db_is_in_transaction(const struct results_db *db)
{
    return sqlite3_get_autocommit(db->handle) == 0;
}

enum err results_db_begin_puts(struct results_db *db, struct err_detail *why)
{
    return db_is_in_transaction(db) ? ERR_OK : db_run(db, db->begin_puts, NULL, 0, why);
}

enum err results_db_end_puts(struct results_db *db, struct err_detail *why)
{
    return db_is_in_transaction(db) ? db_run(db, db->commit, NULL, 0, why) : ERR_OK;
}

enum err results_db_count(struct results_db *db, uint64_t *out, struct err_detail *why)
{
    int64_t n = 0;
    const enum err e = db_number(db, "SELECT count(*) FROM runs", &n, why);
    *out = (uint64_t)n;
    return e;
}

/* ---- merging ---- */

static enum err merge_attached(struct results_db *db, const char *path, uint64_t *n_added, struct err_detail *why)
{
    char sql[SQL_MAX];
    bool is_empty;
    int64_t n_differing = 0;
    enum err e = db_check(db, "other", path, &is_empty, why);
    if (e != ERR_OK || is_empty)
        return e != ERR_OK ? e : err_set(why, ERR_FORMAT, 0, "%.150s: is no database of replay's results", path);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM (SELECT %s FROM other.runs WHERE key IN (SELECT key FROM main.runs)"
             " EXCEPT SELECT %s FROM main.runs)", db->columns, db->columns);
    e = db_number(db, sql, &n_differing, why);
    if (e == ERR_OK && n_differing > 0)
        e = err_set(why, ERR_FORMAT, 0, "%.100s: %" PRId64 " of its runs are there with other results", path,
                    n_differing);
    if (e != ERR_OK)
        return e;
    snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO main.runs(%s,details) SELECT %s,details FROM other.runs",
             db->columns, db->columns);
    e = db_execute(db, sql, why);
    *n_added = (uint64_t)sqlite3_changes(db->handle);
    return e;
}

/* Takes the runs of what is attached as "other", and lets it go. */
static enum err merge_and_detach(struct results_db *db, const char *path, uint64_t *n_added, struct err_detail *why)
{
    enum err e = db_execute(db, "BEGIN IMMEDIATE", why);
    if (e == ERR_OK) {
        e = merge_attached(db, path, n_added, why);
        if (e == ERR_OK)
            e = db_execute(db, "COMMIT", why);
        if (e != ERR_OK)
            sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    }
    sqlite3_exec(db->handle, "DETACH other", NULL, NULL, NULL);
    return e;
}

static enum err db_attach(struct results_db *db, const char *path, struct err_detail *why)
{
    const struct field f = field_text("path", path);
    sqlite3_stmt *attach;
    if (sqlite3_prepare_v2(db->handle, "ATTACH ? AS other", -1, &attach, NULL) != SQLITE_OK)
        return db_fail(db, why);
    enum err e = db_run(db, attach, &f, 1, why);
    if (e != ERR_OK)
        e = db_fail_at(db, path, why);
    sqlite3_finalize(attach);
    return e;
}

enum err results_db_merge(struct results_db *db, const char *path, uint64_t *n_added, struct err_detail *why)
{
    FILE *there = fopen(path, "rb");
    if (there == NULL)
        return err_set(why, ERR_INPUT, 0, "%.150s: cannot be opened", path);      /* ATTACH would make it */
    fclose(there);
    const enum err e = db_attach(db, path, why);
    return e == ERR_OK ? merge_and_detach(db, path, n_added, why) : e;
}

enum err results_db_bytes(struct results_db *db, unsigned char **bytes, size_t *n, struct err_detail *why)
{
    sqlite3_int64 size = 0;
    *bytes = sqlite3_serialize(db->handle, "main", &size, 0);
    *n = (size_t)size;
    return *bytes != NULL ? ERR_OK : err_set(why, ERR_HOST_NOMEM, 0, "no memory for a copy of the results");
}

void results_db_free_bytes(unsigned char *bytes)
{
    sqlite3_free(bytes);
}

enum err results_db_merge_bytes(struct results_db *db, unsigned char *bytes, size_t n, uint64_t *n_added,
                                struct err_detail *why)
{
    const enum err e = db_attach(db, ":memory:", why);
    if (e != ERR_OK)
        return e;
    /* Not READONLY, though nothing is written: the transaction takes the write lock of all that is attached. */
    if (sqlite3_deserialize(db->handle, "other", bytes, (sqlite3_int64)n, (sqlite3_int64)n, 0) == SQLITE_OK)
        return merge_and_detach(db, "results in memory", n_added, why);
    const enum err failed = db_fail(db, why);
    sqlite3_exec(db->handle, "DETACH other", NULL, NULL, NULL);
    return failed;
}

/* ---- reading ---- */

/* The n-th value of the row that the statement stands on. */
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
                         struct err_detail *why)
{
    struct field fields[RESULTS_COLUMNS];
    sqlite3_stmt *s;
    int step;
    if (sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK)
        return db_fail(db, why);
    const size_t n = (size_t)sqlite3_column_count(s);
    while ((step = sqlite3_step(s)) == SQLITE_ROW) {
        for (size_t i = 0; i < n; i++)
            fields[i] = field_of_column(s, (int)i);
        row(arg, fields, n);
    }
    const enum err e = step == SQLITE_DONE ? ERR_OK : db_fail(db, why);
    sqlite3_finalize(s);
    return e;
}

enum err results_db_each_run(struct results_db *db, void (*row)(void *arg, const struct field *fields, size_t n),
                             void *arg, struct err_detail *why)
{
    char sql[SQL_MAX];
    snprintf(sql, sizeof sql, "SELECT %s FROM runs ORDER BY trace_path, policy, device, key", db->columns);
    return each_row(db, sql, row, arg, why);
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
                                void *arg, struct err_detail *why)
{
    struct remark_taker to = { .remark = remark, .arg = arg };
    return each_row(db, "SELECT kind = 'warning', text, count(*) FROM remarks GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2",
                    remark_row, &to, why);
}

static void csv_row(void *out, const struct field *fields, size_t n)
{
    csv_fields(out, fields, n);
}

enum err results_db_write_csv(struct results_db *db, FILE *out, struct err_detail *why)
{
    fprintf(out, "%s\n", db->columns);
    return results_db_each_run(db, csv_row, out, why);
}

static void json_row(void *writer, const struct field *fields, size_t n)
{
    struct json_writer *w = writer;
    json_put_object(w, NULL);
    for (size_t i = 0; i < n; i++)
        field_json(w, fields[i].name, &fields[i]);
    json_end_object(w);
}

enum err results_db_write_json(struct results_db *db, FILE *out, struct err_detail *why)
{
    struct json_writer w = json_writer(out);
    json_put_object(&w, NULL);
    json_put_text(&w, "schema", "replay-sweep/1");
    json_put_array(&w, "runs");
    const enum err e = results_db_each_run(db, json_row, &w, why);
    json_end_array(&w);
    json_end_object(&w);
    return e;
}

/* ---- for people ---- */

/* "?" in a database that others wrote and that lacks it. */
static const char *shown(const struct field *f)
{
    return f->kind == FIELD_TEXT ? f->text : "?";
}

static void fits_row(void *arg, const struct field *f, size_t n)
{
    FILE *out = arg;
    char held[UNITS_TEXT], live[UNITS_TEXT], plan[UNITS_TEXT];
    (void)n;
    fprintf(out, "%s on %s: %" PRId64 " of %" PRId64 " runs survive", shown(&f[0]), shown(&f[1]),
            f[3].number, f[2].number);
    if (f[4].kind == FIELD_TEXT)
        fprintf(out, "; least memory%s: %s, %s of the card",
                f[6].number < f[5].number ? " of those that spare the driver" : "", f[4].text,
                units_format_bytes((uint64_t)f[5].number, held));
    fprintf(out, "; live data %s", units_format_bytes((uint64_t)f[7].number, live));
    if (f[8].kind == FIELD_NUMBER)
        fprintf(out, ", offline plan %s", units_format_bytes((uint64_t)f[8].number, plan));
    fputc('\n', out);
}

static void rank_row(void *arg, const struct field *f, size_t n)
{
    FILE *out = arg;
    char worst[UNITS_TEXT], spread[UNITS_TEXT];
    (void)n;
    fprintf(out, "%s, %s on %s: worst of %" PRId64 " ranks is rank %" PRId64 ", %s reserved%s; spread %s\n",
            shown(&f[0]), shown(&f[1]), shown(&f[2]), f[3].number, f[5].number,
            units_format_bytes((uint64_t)f[6].number, worst),
            f[4].number > 0 ? ", out of memory" : "", units_format_bytes((uint64_t)f[7].number, spread));
}

enum err results_db_write_table(struct results_db *db, FILE *out, struct err_detail *why)
{
    const enum err e = each_row(
        /* Not the view `best`: a database has the one of the version that made it. */
        db, "SELECT f.trace_path, f.device, f.runs, f.survived, b.policy, b.card_peak_bytes, b.least_card_bytes,"
            " f.live_peak_bytes, f.offline_plan_bytes FROM fits f LEFT JOIN"
            " (" BEST_RUNS ") b ON b.trace_path = f.trace_path AND b.trace_digest = f.trace_digest AND b.device = f.device"
            " ORDER BY 1, 2", fits_row, out, why);
    return e != ERR_OK ? e
                       : each_row(db, "SELECT job, policy, device, ranks, failed, worst_rank, worst_bytes, spread_bytes"
                                      " FROM ranks ORDER BY 1, 2, 3", rank_row, out, why);
}
