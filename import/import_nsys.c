/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Profiles of Nsight Systems as SQLite (nsys export --type sqlite): the table CUDA_GPU_MEMORY_USAGE_EVENTS, which
 * `nsys profile --cuda-memory-usage=true` fills, holds every call that requests memory from the driver or ends it.
 *
 *     start  deviceId  address  bytes  memKind  memoryOperationType  streamId  globalPid
 *
 * Ranges and marks of NVTX become marks. A database may hold anything under these names, so only plain tables are read,
 * and SQLite is stopped after work in proportion to the file.
 * Source: NVIDIA Nsight Systems, "SQLite Schema Reference" (tables, ENUM_CUDA_MEM_KIND, ENUM_CUDA_DEV_MEM_EVENT_OPER,
 * event types of NVTX).
 */
#include "base/database_files.h"
#include "base/foreign_database.h"
#include "import/import.h"
#include "import/timed_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KIND_PINNED = 1, KIND_DEVICE = 2, KIND_ARRAY = 3, KINDS = 8, OPERATION_ALLOCATION = 0,
       OPERATION_DEALLOCATION = 1, NVTX_MARK = 34, NVTX_PUSH_POP = 59, NVTX_START_END = 60,
       MARKS_MAX = 100000,               /* more NVTX ranges than that are no steps */
       PROCESSES_MAX = 64, PROCESS_SHIFT = 57,      /* above every address of a card */
       STEPS_AT_ONCE = 100000,           /* of SQLite's machine, between two looks at what it has done */
       STEPS_PER_BYTE = 100, TEXT_PER_BYTE = 16, QUERY_MAX = 512, APPLICATION_AT = 68, TEXT_MAX = 1 << 20 };

static const char table_events[] = "CUDA_GPU_MEMORY_USAGE_EVENTS";

struct nsys {
    const char *name;                    /* the file's */
    sqlite3 *db;
    void    *mapped;                     /* a database that is no file of its own; NULL: it is one */
    size_t   mapped_bytes;
    uint64_t steps_left, text_left;      /* text_left: bytes of marks, of which many may be one text */
    struct timed_events events;
    uint64_t n_records, n_other_kinds[KINDS], n_marks_left_out;
    int64_t  processes[PROCESSES_MAX];
    size_t   n_processes;
    const struct import_config *cfg;
};

/* ---- the database ---- */

static int count_steps(void *arg)
{
    struct nsys *s = arg;
    if (s->steps_left < STEPS_AT_ONCE)
        return 1;
    s->steps_left -= STEPS_AT_ONCE;
    return 0;
}

static enum err too_much_work(const struct nsys *s, struct err_detail *err)
{
    return err_at(err, ERR_FORMAT, 0, s->name, "reading it takes far more work than its size explains");
}

static enum err sqlite_fail(const struct nsys *s, struct err_detail *err)
{
    if (s->db != NULL && sqlite3_errcode(s->db) == SQLITE_INTERRUPT)
        return too_much_work(s, err);
    if (s->db == NULL || sqlite3_errcode(s->db) == SQLITE_NOMEM)
        return err_no_memory(err);
    return err_at(err, ERR_FORMAT, 0, s->name, "%s", sqlite3_errmsg(s->db));
}

/* Opens the file itself, and makes nothing beside it, unless there is a log, which it then reads. A copy without a name
 * is mapped, because SQLite opens files by name. */
static enum err open_database(struct nsys *s, int fd, struct err_detail *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_at(err, ERR_IO, 0, s->name, "cannot be looked at");
    char path[DATABASE_NAME_BYTES], uri[DATABASE_URI_BYTES] = ":memory:";
    const bool has_name = st.st_nlink > 0;
    enum err e = has_name ? database_name(s->name, path, err) : ERR_OK;
    if (e == ERR_OK && has_name)
        e = database_files_check(path, err);
    if (e != ERR_OK)
        return e;
    const bool is_whole = has_name && database_log_bytes(path) == 0;
    if (is_whole)
        database_unchanged_uri(path, uri);
    if (sqlite3_open_v2(has_name && !is_whole ? path : uri, &s->db, SQLITE_OPEN_URI |
                        (has_name ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE), NULL) != SQLITE_OK)
        return sqlite_fail(s, err);
    if (!has_name) {
        s->mapped_bytes = (size_t)st.st_size;
        s->mapped = mmap(NULL, s->mapped_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (s->mapped == MAP_FAILED) {
            s->mapped = NULL;
            return err_no_memory(err);
        }
        const int status = sqlite3_deserialize(s->db, "main", s->mapped, st.st_size, st.st_size,
                                               SQLITE_DESERIALIZE_READONLY);
        if (status != SQLITE_OK)
            return sqlite_fail(s, err);
    }
    s->steps_left = UINT64_C(10000000) + STEPS_PER_BYTE * (uint64_t)st.st_size;
    s->text_left = (UINT64_C(1) << 24) + TEXT_PER_BYTE * (uint64_t)st.st_size;
    foreign_database_limit(s->db, TEXT_MAX);
    sqlite3_progress_handler(s->db, STEPS_AT_ONCE, count_steps, s);
    return ERR_OK;
}

static void close_database(struct nsys *s)
{
    sqlite3_close(s->db);
    if (s->mapped != NULL)
        munmap(s->mapped, s->mapped_bytes);
}

static enum err prepare(const struct nsys *s, const char *query, sqlite3_stmt **out, struct err_detail *err)
{
    return sqlite3_prepare_v2(s->db, query, -1, out, NULL) == SQLITE_OK ? ERR_OK : sqlite_fail(s, err);
}

/* Whether a plain table of this name is there; a view, a virtual table and one with computed columns are not. */
static enum err has_table(const struct nsys *s, const char *name, bool *has, struct err_detail *err)
{
    sqlite3_stmt *q = NULL;
    enum err e = prepare(s, "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?1 AND sql LIKE 'CREATE TABLE%' "
                         "AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(?1) WHERE hidden <> 0)",
                         &q, err);
    *has = false;
    if (e != ERR_OK)
        return e;
    sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
    const int rc = sqlite3_step(q);
    *has = rc == SQLITE_ROW;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        e = sqlite_fail(s, err);
    sqlite3_finalize(q);
    return e;
}

/* Whether a table, which is there, has the column: older exports lack some. */
static bool has_column(const struct nsys *s, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(s->db, "main", table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* ---- events ---- */

/* The number of a process in order of appearance. */
static enum err process_of(struct nsys *s, int64_t pid, uint64_t *out, struct err_detail *err)
{
    for (size_t i = 0; i < s->n_processes; i++)
        if (s->processes[i] == pid) {
            *out = i;
            return ERR_OK;
        }
    if (s->n_processes == PROCESSES_MAX)
        return err_at(err, ERR_UNSUPPORTED, 0, s->name, "holds more than %d processes", PROCESSES_MAX);
    *out = s->n_processes;
    s->processes[s->n_processes++] = pid;
    return ERR_OK;
}

static uint64_t natural(sqlite3_stmt *q, int column)
{
    const int64_t value = sqlite3_column_int64(q, column);
    return value > 0 ? (uint64_t)value : 0;
}

/* One row: start, deviceId, address, bytes, memKind, memoryOperationType, globalPid, streamId. */
static enum err take_event(struct nsys *s, sqlite3_stmt *q, struct err_detail *err)
{
    uint64_t process = 0;
    const int64_t kind = sqlite3_column_int64(q, 4), operation = sqlite3_column_int64(q, 5);
    struct timed_event e = { .time_ns = natural(q, 0), .addr = natural(q, 2), .bytes = natural(q, 3),
                             .requested = natural(q, 3), .stream = natural(q, 7), .order = s->n_records++,
                             .kind = operation == OPERATION_ALLOCATION ? EVENT_ALLOC : EVENT_FREE };
    const uint64_t device = natural(q, 1);
    if (kind != KIND_DEVICE && kind != KIND_ARRAY) {
        s->n_other_kinds[kind >= 0 && kind < KINDS ? kind : KINDS - 1]++;
        return ERR_OK;
    }
    if (operation != OPERATION_ALLOCATION && operation != OPERATION_DEALLOCATION)
        return err_at(err, ERR_FORMAT, e.order, s->name, "row %" PRIu64 " of %s: %" PRId64 " is neither a request (0) "
                      "nor its end (1)", e.order, table_events, operation);
    if (device >= TIMED_DEVICES || e.bytes == 0 || e.addr == 0)
        return ERR_OK;
    const enum err status = process_of(s, sqlite3_column_int64(q, 6), &process, err);
    e.device = (uint8_t)device;
    e.addr += process << PROCESS_SHIFT;
    return status == ERR_OK ? timed_events_put(&s->events, &e, err) : status;
}

/* Steps through a query and hands each row to `take`. */
static enum err each_row(struct nsys *s, const char *query,
                         enum err (*take)(struct nsys *s, sqlite3_stmt *q, struct err_detail *err),
                         struct err_detail *err)
{
    sqlite3_stmt *q = NULL;
    int rc = SQLITE_ROW;
    uint64_t n = 0;
    enum err e = prepare(s, query, &q, err);
    while (e == ERR_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        e = take(s, q, err);
        if (s->cfg->progress != NULL)
            s->cfg->progress(s->cfg->progress_arg, ++n, 0);
    }
    if (e == ERR_OK && rc != SQLITE_DONE)
        e = sqlite_fail(s, err);
    sqlite3_finalize(q);
    return e;
}

static enum err read_events(struct nsys *s, struct err_detail *err)
{
    char query[QUERY_MAX];
    bool has = false;
    enum err e = has_table(s, table_events, &has, err);
    if (e == ERR_OK && !has)
        return err_at(err, ERR_UNSUPPORTED, 0, s->name, "is an SQLite database without the table %s: a profile of nsys "
                      "has it if recorded with --cuda-memory-usage=true; results are read by `replay report`",
                      table_events);
    snprintf(query, sizeof query, "SELECT start, %s, address, bytes, memKind, memoryOperationType, %s, %s FROM %s",
             has_column(s, table_events, "deviceId") ? "deviceId" : "0",
             has_column(s, table_events, "globalPid") ? "globalPid" : "0",
             has_column(s, table_events, "streamId") ? "streamId" : "0", table_events);
    return e == ERR_OK ? each_row(s, query, take_event, err) : e;
}

/* ---- marks ---- */

/* One row: start, text. */
static enum err take_mark(struct nsys *s, sqlite3_stmt *q, struct err_detail *err)
{
    const char *text = (const char *)sqlite3_column_text(q, 1);
    const uint64_t n_text = text == NULL ? 0 : (uint64_t)sqlite3_column_bytes(q, 1);
    struct timed_event e = { .kind = EVENT_MARK, .time_ns = natural(q, 0), .order = s->n_records };
    if (text == NULL || text[0] == '\0')
        return ERR_OK;
    if (n_text > s->text_left)
        return too_much_work(s, err);
    s->text_left -= n_text;
    s->n_records++;
    const enum err status = trace_put_label(s->events.w, text, (size_t)n_text, &e.label, err);
    return status == ERR_OK ? timed_events_put(&s->events, &e, err) : status;
}

static enum err count_mark(struct nsys *s, sqlite3_stmt *q, struct err_detail *err)
{
    (void)err;
    s->n_marks_left_out = natural(q, 0);
    return ERR_OK;
}

static enum err read_marks(struct nsys *s, struct err_detail *err)
{
    char query[QUERY_MAX], from[QUERY_MAX / 2];
    bool has_marks = false, has_strings = false;
    enum err e = has_table(s, "NVTX_EVENTS", &has_marks, err);
    if (e == ERR_OK)
        e = has_table(s, "StringIds", &has_strings, err);
    if (e != ERR_OK || !has_marks)
        return e;
    const bool has_ids = has_strings && has_column(s, "NVTX_EVENTS", "textId");
    snprintf(from, sizeof from, "FROM NVTX_EVENTS AS n WHERE n.eventType IN (%d, %d, %d)", NVTX_MARK, NVTX_PUSH_POP,
             NVTX_START_END);
    snprintf(query, sizeof query, "SELECT count(*) %s", from);
    if ((e = each_row(s, query, count_mark, err)) != ERR_OK || s->n_marks_left_out > MARKS_MAX)
        return e;
    s->n_marks_left_out = 0;
    snprintf(query, sizeof query, "SELECT n.start, %s %s",
             has_ids ? "coalesce(n.text, (SELECT value FROM StringIds WHERE id = n.textId))" : "n.text", from);
    return each_row(s, query, take_mark, err);
}

/* ---- facts ---- */

static enum err take_capacity(struct nsys *s, sqlite3_stmt *q, struct err_detail *err)
{
    (void)err;
    trace_writer_info(s->events.w)->capacity_bytes = natural(q, 0);
    return ERR_OK;
}

static enum err take_epoch(struct nsys *s, sqlite3_stmt *q, struct err_detail *err)
{
    (void)err;
    trace_writer_info(s->events.w)->epoch_us = natural(q, 0) / 1000;
    return ERR_OK;
}

/* The card's memory and the time of day, of an export that has them. */
static enum err read_facts(struct nsys *s, int64_t device, struct err_detail *err)
{
    char query[QUERY_MAX];
    bool has_gpu = false, has_session = false;
    enum err e = has_table(s, "TARGET_INFO_GPU", &has_gpu, err);
    if (e == ERR_OK)
        e = has_table(s, "TARGET_INFO_SESSION_START_TIME", &has_session, err);
    if (e == ERR_OK && has_gpu && has_column(s, "TARGET_INFO_GPU", "totalMemory") &&
        has_column(s, "TARGET_INFO_GPU", "id")) {
        snprintf(query, sizeof query, "SELECT totalMemory FROM TARGET_INFO_GPU WHERE id = %" PRId64, device);
        e = each_row(s, query, take_capacity, err);
    }
    if (e == ERR_OK && has_session && has_column(s, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs"))
        e = each_row(s, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1", take_epoch, err);
    return e;
}

static enum err put_notes(const struct nsys *s, struct err_detail *err)
{
    static const char *const kinds[KINDS] = { "pageable host memory", "page-locked host memory", NULL, NULL,
                                              "managed memory", "static device memory", "static managed memory",
                                              "memory of unknown kind" };
    char notes[1024] = "requests are calls of the driver: of a program with a caching allocator they are segments\n"
                       "not recorded: call stacks, settings";
    size_t n = strlen(notes);
    for (int k = 0; k < KINDS; k++)
        if (s->n_other_kinds[k] > 0 && kinds[k] != NULL)
            n += (size_t)snprintf(notes + n, sizeof notes - n, "\nevents of %s, left out: %" PRIu64, kinds[k],
                                  s->n_other_kinds[k]);
    if (s->n_processes > 1)
        n += (size_t)snprintf(notes + n, sizeof notes - n, "\nprocesses: %zu; the addresses of all but the first "
                              "are moved up",
                              s->n_processes);
    if (s->n_marks_left_out > 0)
        snprintf(notes + n, sizeof notes - n, "\nranges of NVTX, too many to be steps, left out: %" PRIu64,
                 s->n_marks_left_out);
    timed_events_note(&s->events, notes, sizeof notes);
    return trace_put_meta(s->events.w, "notes", notes, err);
}

static enum err write_trace(struct nsys *s, int64_t wanted, struct err_detail *err)
{
    int64_t device = -1;
    enum err e = timed_events_choose(&s->events, wanted, &device, err);
    if (e == ERR_OK && device < 0)
        return err_at(err, ERR_UNSUPPORTED, 0, s->name, "its table %s holds no request for a card's memory",
                      table_events);
    if (e == ERR_OK)
        e = trace_put_meta(s->events.w, "source", importer_nsys.name, err);
    if (e == ERR_OK)
        e = read_facts(s, device, err);
    if (e != ERR_OK)
        return e;
    trace_writer_info(s->events.w)->records = s->n_records;
    e = timed_events_write(&s->events, device, err);
    return e == ERR_OK ? put_notes(s, err) : e;
}

static enum err nsys_import(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                            struct err_detail *err)
{
    struct nsys s = { .name = input_name(in), .cfg = cfg };
    int fd = -1;
    enum err e = timed_events_open(&s.events, s.name, w, err);
    if (e == ERR_OK)
        e = input_whole_file(in, &fd, err);
    if (e == ERR_OK)
        e = open_database(&s, fd, err);
    if (e == ERR_OK)
        e = read_events(&s, err);
    if (e == ERR_OK)
        e = read_marks(&s, err);
    if (e == ERR_OK)
        e = write_trace(&s, cfg->gpu, err);
    close_database(&s);
    if (fd >= 0)
        close(fd);
    timed_events_close(&s.events);
    return e;
}

static bool nsys_sniff(const unsigned char *head, size_t n)
{
    static const char magic[] = "SQLite format 3", our_results[] = "RPLY";     /* the application_id of results_db.c */
    const size_t n_ours = sizeof our_results - 1;
    const bool is_ours = n >= APPLICATION_AT + n_ours && memcmp(head + APPLICATION_AT, our_results, n_ours) == 0;
    return n >= sizeof magic && memcmp(head, magic, sizeof magic) == 0 && !is_ours;
}

const struct importer importer_nsys = {
    .name = "nsys",
    .summary = "a profile of Nsight Systems as SQLite (nsys profile --cuda-memory-usage=true; "
               "nsys export --type sqlite)",
    .sniff = nsys_sniff,
    .import = nsys_import,
};
