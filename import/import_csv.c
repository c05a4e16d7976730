/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Logs of requests as CSV: any file whose columns are named, RMM's event log, and the instances of minimalloc.
 *
 *     time,op,ptr,size,stream          a request or its end in each line
 *     id,lower,upper,size              a request in each line, live from lower up to before upper
 *
 * A request is named by its address, or by any text: what the first one has, all must have. The id of a whole life is
 * kept as the only frame of its request's call stack.
 *
 * Sources: RMM, include/rmm/mr/logging_resource_adaptor.hpp (the columns, "(nil)", "allocate failure", hexadecimal
 * streams); minimalloc, README.md ("lower" and "upper").
 */
#include "base/intern.h"
#include "base/sorted_runs.h"
#include "base/units.h"
#include "import/csv_lines.h"
#include "import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What a column holds, and the names under which it is known without --from csv:. */
#define CSV_ROLES(X)                                                            \
    X(OP, "op", "op,action,kind,event,type,operation")                          \
    X(PTR, "ptr", "ptr,pointer,address,addr,id,handle")                         \
    X(SIZE, "size", "size,bytes,nbytes,num_bytes,size_bytes,length")                                 \
    X(TIME, "time", "time,timestamp,ts,time_ns,time_us,time_ms,time_s")         \
    X(STREAM, "stream", "stream")                                               \
    X(THREAD, "thread", "thread,tid,thread_id")                                 \
    X(LOWER, "lower", "lower,begin,start,alloc_time")                                      \
    X(UPPER, "upper", "upper,end,stop,free_time")                                          \
    X(ID, "id", "id")

enum csv_role {
#define ROLE(name, word, names) ROLE_##name,
    CSV_ROLES(ROLE)
#undef ROLE
    CSV_ROLE_COUNT
};

static const struct { const char *word, *names; } roles[CSV_ROLE_COUNT] = {
#define ROLE(name, word, names) { word, names },
    CSV_ROLES(ROLE)
#undef ROLE
};

enum { CSV_NO_COLUMN = -1, CSV_NAME_MAX = 64, SORT_BYTES = 64 << 20 };
#define DAY_NS UINT64_C(86400000000000)

struct csv_import {
    struct input *in;
    struct trace_writer *w;
    int      column[CSV_ROLE_COUNT];         /* of the heading; CSV_NO_COLUMN: it is not there */
    bool     has_no_heading;                 /* columns were given by number: the first line is a request, */
    bool     is_first;                       /* and it was not taken yet */
    uint64_t time_unit_ns;                   /* of a plain number; 0: not told */
    uint64_t size_unit;                      /* the same, in bytes */
    enum { PTR_UNKNOWN, PTR_ADDRESS, PTR_NAME } pointers;    /* what the first request has */
    struct text_table names;                 /* of requests, if they have names */
    uint64_t days, last_ns;                  /* a time of day that falls back begins another day */
    uint64_t n_unknown;                      /* ends of requests that the log does not begin */
    uint64_t n_empty;                        /* requests of 0 bytes, refused ones too */
    uint64_t latest_ns, n_back;              /* the latest time of all lines; lines with an earlier one */
    uint64_t n_other_size, other_size_line;  /* ends with another size than their request, and the first's line */
    uint64_t n_missing;                      /* ends that the log lacks, put where their address is requested again */
    bool     is_cut;                         /* the last line is not whole, and was left out */
    bool     has_no_end;                     /* the last line has all columns and no end, */
    uint64_t last_line;                      /* and this number */
    size_t   n_columns;                      /* of the first line */
    bool     puts_missing;                   /* they are put, as missing=end asks; otherwise they are refused */
    struct text_table threads;               /* of the log, in order of appearance */
    uint32_t thread;                         /* that made the last request, from 0 */
};

/* ---- the heading ---- */

/* Whether `word`, of n letters, is in a list with commas; letters of either case. */
static bool is_listed(const char *list, const char *word, size_t n)
{
    size_t length;
    for (const char *at = list;; at += length + 1) {
        length = strcspn(at, ",");
        if (length == n && strncasecmp(at, word, n) == 0)
            return true;
        if (at[length] == '\0')
            return false;
    }
}

static int find_column(const struct csv_line *heading, const char *names)
{
    for (size_t i = 0; i < heading->n; i++)
        if (is_listed(names, heading->fields[i], strlen(heading->fields[i])))
            return (int)i;
    return CSV_NO_COLUMN;
}

static int find_role(const char *word, size_t n)
{
    for (int role = 0; role < CSV_ROLE_COUNT; role++)
        if (strlen(roles[role].word) == n && strncmp(roles[role].word, word, n) == 0)
            return role;
    return CSV_ROLE_COUNT;
}

/* The unit of "unit=us". */
static enum err read_unit(struct csv_import *c, const char *text, size_t n, struct err_detail *err)
{
    const uint64_t ns = units_time_ns(text, n);
    if (ns == 0)
        return err_set(err, ERR_USAGE, 0, "--from csv: unit=%.*s: expected ns, us, ms, s or min", (int)n, text);
    c->time_unit_ns = ns;
    return ERR_OK;
}

/* MB is 10^6 here: the log is another program's, and says what it means by this item only. */
static enum err read_size_unit(struct csv_import *c, const char *text, size_t n, struct err_detail *err)
{
    static const struct { const char *word; uint64_t bytes; } units[] = {
        { "B", 1 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 },
        { "kB", 1000 }, { "KB", 1000 }, { "MB", 1000000 }, { "GB", 1000000000 },
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strlen(units[i].word) == n && strncmp(units[i].word, text, n) == 0) {
            c->size_unit = units[i].bytes;
            return ERR_OK;
        }
    return err_set(err, ERR_USAGE, 0, "--from csv: size_unit=%.*s: expected B, KiB, MiB, GiB, kB, MB or GB", (int)n,
                   text);
}

static enum err read_missing(struct csv_import *c, const char *text, size_t n, struct err_detail *err)
{
    c->puts_missing = n == 3 && strncmp(text, "end", 3) == 0;
    if (c->puts_missing)
        return ERR_OK;
    return err_set(err, ERR_USAGE, 0, "--from csv: missing=%.*s: expected end", (int)n, text);
}

/* The column of a number from 1 on. */
static int column_numbered(const struct csv_line *line, const char *text)
{
    uint64_t number;
    const bool is_one = units_parse_number(text, strlen(text), &number) && number >= 1 && number <= line->n;
    return is_one ? (int)number - 1 : CSV_NO_COLUMN;
}

/* Whether all columns that `mapping` gives are numbers, and no column is called by one of them. */
static bool has_numbers_only(const struct csv_line *heading, const char *mapping)
{
    bool has_one = false;
    for (const char *at = mapping; at != NULL && *at != '\0';) {
        char name[CSV_NAME_MAX];
        const size_t n = strcspn(at, ","), n_word = strcspn(at, "=,");
        snprintf(name, sizeof name, "%.*s", (int)(n > n_word ? n - n_word - 1 : 0), at + n_word + (n > n_word));
        if (find_role(at, n_word) != CSV_ROLE_COUNT) {
            uint64_t number;
            if (!units_parse_number(name, strlen(name), &number) || find_column(heading, name) != CSV_NO_COLUMN)
                return false;
            has_one = true;
        }
        at += n + (at[n] == ',');
    }
    return has_one;
}

/* The unit that the name of a column of times ends in. */
static uint64_t unit_of_name(const char *name)
{
    const char *const last = strrchr(name, '_');
    const char *const unit = last != NULL ? last + 1 : "";
    return strcasecmp(unit, "us") == 0 ? 1000 : strcasecmp(unit, "ms") == 0 ? 1000000
         : strcasecmp(unit, "s") == 0 ? 1000000000 : 1;
}

/* One item of "time=ts,ptr=addr": the column of that name takes the role. */
static enum err read_item(struct csv_import *c, const struct csv_line *heading, const char *item, size_t n,
                          struct err_detail *err)
{
    char name[CSV_NAME_MAX];
    const char *equals = memchr(item, '=', n);
    const size_t n_word = equals == NULL ? n : (size_t)(equals - item), n_name = equals == NULL ? 0 : n - n_word - 1;
    if (n_name == 0 || n_name >= sizeof name)
        return err_set(err, ERR_USAGE, 0, "--from csv: '%.*s': expected NAME=COLUMN such as ptr=address", (int)n, item);
    if (n_word == 4 && strncmp(item, "unit", 4) == 0)
        return read_unit(c, equals + 1, n_name, err);
    if (n_word == 9 && strncmp(item, "size_unit", 9) == 0)
        return read_size_unit(c, equals + 1, n_name, err);
    if (n_word == 7 && strncmp(item, "missing", 7) == 0)
        return read_missing(c, equals + 1, n_name, err);
    const int role = find_role(item, n_word);
    if (role == CSV_ROLE_COUNT)
        return err_set(err, ERR_USAGE, 0, "--from csv: '%.*s' is none of op, ptr, size, time, stream, thread, lower, "
                       "upper, id, unit, size_unit, missing", (int)n_word, item);
    snprintf(name, sizeof name, "%.*s", (int)n_name, equals + 1);
    c->column[role] = c->has_no_heading ? column_numbered(heading, name) : find_column(heading, name);
    return c->column[role] == CSV_NO_COLUMN
               ? err_at(err, ERR_FORMAT, 0, input_name(c->in), "has no column '%s'", name) : ERR_OK;
}

/* Two columns of one name may say different things, and nothing tells which is meant. */
static enum err check_columns(const struct csv_import *c, const struct csv_line *heading, struct err_detail *err)
{
    for (int role = 0; role < CSV_ROLE_COUNT; role++)
        for (size_t i = (size_t)(c->column[role] + 1); c->column[role] >= 0 && i < heading->n; i++)
            if (strcasecmp(heading->fields[i], heading->fields[c->column[role]]) == 0)
                return err_at(err, ERR_FORMAT, 0, input_name(c->in), "has two columns '%s'", heading->fields[i]);
    return ERR_OK;
}

/* Which column is which: by their usual names, then as `mapping` says (NULL: nothing). */
static enum err read_heading(struct csv_import *c, const struct csv_line *heading, const char *mapping,
                             struct err_detail *err)
{
    c->n_columns = heading->n;
    c->has_no_heading = c->is_first = has_numbers_only(heading, mapping);
    for (int role = 0; role < CSV_ROLE_COUNT; role++)
        c->column[role] = c->has_no_heading ? CSV_NO_COLUMN : find_column(heading, roles[role].names);
    enum err e = ERR_OK;
    for (const char *at = mapping; at != NULL && *at != '\0' && e == ERR_OK;) {
        const size_t n = strcspn(at, ",");
        e = read_item(c, heading, at, n, err);
        at += n + (at[n] == ',');
    }
    if (c->time_unit_ns == 0)
        c->time_unit_ns = c->column[ROLE_TIME] >= 0 ? unit_of_name(heading->fields[c->column[ROLE_TIME]]) : 1;
    return e == ERR_OK && !c->has_no_heading ? check_columns(c, heading, err) : e;
}

/* The next line with a request: also the first one, if the file has no heading. The log of a program that was killed
 * ends where its last write did, which is most often in a line. */
static enum err next_line(struct csv_import *c, struct csv_line *line, struct err_detail *err)
{
    if (c->is_first) {
        c->is_first = false;
        return ERR_OK;
    }
    const enum err e = csv_next(c->in, line, err);
    if (e == ERR_OK && line->n > 0 && line->n < c->n_columns && !line->has_end) {
        c->is_cut = true;
        line->n = 0;
    }
    if (e == ERR_OK && line->n > 0 && !line->has_end) {
        c->has_no_end = true;
        c->last_line = line->number;
    }
    return e;
}

/* ---- fields ---- */

static const char *field(const struct csv_import *c, const struct csv_line *line, enum csv_role role)
{
    const int column = c->column[role];
    return column >= 0 && (size_t)column < line->n ? line->fields[column] : "";
}

/* An empty field is no 0 where the answer rests on it. `needed`: bits of roles. */
static enum err expect_fields(const struct csv_import *c, const struct csv_line *line, unsigned needed,
                              struct err_detail *err)
{
    for (int role = 0; role < CSV_ROLE_COUNT; role++)
        if ((needed & 1u << role) != 0 && field(c, line, (enum csv_role)role)[0] == '\0')
            return err_at(err, ERR_FORMAT, line->number, input_name(c->in), "line %" PRIu64 ": its %s is missing",
                          line->number, roles[role].word);
    return ERR_OK;
}

/* A number, decimal or with 0x. "(nil)" and an empty field are 0. */
static enum err read_number(const struct csv_import *c, const struct csv_line *line, enum csv_role role, uint64_t *out,
                            struct err_detail *err)
{
    const char *text = field(c, line, role);
    char *end;
    *out = 0;
    if (text[0] == '\0' || strcmp(text, "(nil)") == 0)
        return ERR_OK;
    errno = 0;
    *out = strtoull(text, &end, strncasecmp(text, "0x", 2) == 0 || role == ROLE_STREAM ? 16 : 10);
    if (*end != '\0' || errno != 0 || text[0] == '-')
        return err_at(err, ERR_FORMAT, line->number, input_name(c->in), "line %" PRIu64 ": %s '%s' is not a number",
                      line->number, roles[role].word, text);
    return ERR_OK;
}

/* A size: a number of the unit that was told, or one with a unit of its own that has one meaning, such as "2 MiB". */
static enum err read_size(const struct csv_import *c, const struct csv_line *line, uint64_t *out,
                          struct err_detail *err)
{
    const char *text = field(c, line, ROLE_SIZE);
    const size_t n = strlen(text);
    if (n > 3 && strcmp(text + n - 2, "iB") == 0 && units_parse_bytes(text, n, out))
        return ERR_OK;
    if (c->size_unit == 0)
        return read_number(c, line, ROLE_SIZE, out, err);
    char *end;
    const double value = strtod(text, &end) * (double)c->size_unit;
    if (*end != '\0' || !(value >= 0 && value < 0x1p62))
        return err_at(err, ERR_FORMAT, line->number, input_name(c->in), "line %" PRIu64 ": size '%s' is not a number",
                      line->number, text);
    *out = (uint64_t)(value + 0.5);
    return ERR_OK;
}

static bool is_address(const char *text)
{
    char *end;
    errno = 0;
    (void)strtoull(text, &end, strncasecmp(text, "0x", 2) == 0 ? 16 : 10);
    return *end == '\0' && errno == 0 && text[0] != '-';
}

/* What a request is called: an address, or the number of its name. The first one decides which, so that a damaged
 * address is not taken for a name. */
static enum err read_pointer(struct csv_import *c, const struct csv_line *line, struct trace_record *r,
                             struct err_detail *err)
{
    const char *text = field(c, line, ROLE_PTR);
    const bool is_none = text[0] == '\0' || strcmp(text, "(nil)") == 0;
    if (c->pointers == PTR_UNKNOWN && !is_none)
        c->pointers = is_address(text) ? PTR_ADDRESS : PTR_NAME;
    if (is_none || c->pointers == PTR_ADDRESS) {
        const enum err e = read_number(c, line, ROLE_PTR, &r->ptr, err);
        r->addr = r->ptr;
        return e;
    }
    const uint32_t name = text_table_put(&c->names, text, strlen(text));
    r->ptr = (uint64_t)name + 1;
    return name == UINT32_MAX ? err_no_memory(err) : ERR_OK;
}

/* A number in the unit chosen. A whole one is taken exactly: a double has not the digits of a time since 1970. */
static bool read_count(const char *text, uint64_t unit_ns, uint64_t *ns)
{
    uint64_t whole;
    if (units_parse_number(text, strlen(text), &whole))
        return !__builtin_mul_overflow(whole, unit_ns, ns);
    char *end;
    const double value = strtod(text, &end) * (double)unit_ns;
    if (*end != '\0' || !(value >= 0 && value < 0x1p63))
        return false;
    *ns = (uint64_t)value;
    return true;
}

/* A time of day, or a number in the unit chosen. */
static enum err read_time(struct csv_import *c, const struct csv_line *line, uint64_t *ns, struct err_detail *err)
{
    unsigned hour, minute;
    double seconds;
    const char *text = field(c, line, ROLE_TIME);
    if (sscanf(text, "%2u:%2u:%lf", &hour, &minute, &seconds) == 3 && seconds >= 0 && seconds < 61) {
        *ns = (uint64_t)(hour * 60 + minute) * 60000000000 + (uint64_t)(seconds * 1e9 + 0.5) + c->days * DAY_NS;
        if (*ns + DAY_NS / 2 < c->last_ns) {
            c->days++;
            *ns += DAY_NS;
        }
        c->last_ns = *ns;
        return ERR_OK;
    }
    if (read_count(text, c->time_unit_ns, ns))
        return ERR_OK;
    return err_at(err, ERR_FORMAT, line->number, input_name(c->in), "line %" PRIu64 ": time '%s' is none", line->number,
                  text);
}

static enum err read_kind(const struct csv_import *c, const struct csv_line *line, enum event_kind *out,
                          struct err_detail *err)
{
    static const struct { enum event_kind kind; const char *words; } kinds[] = {
        { EVENT_ALLOC, "alloc,allocate,malloc,cudamalloc,cumemalloc,new,a,+" },
        { EVENT_FREE, "free,deallocate,dealloc,cudafree,cumemfree,delete,f,-" },
        { EVENT_OOM, "oom,allocate failure,fail,failure" },
    };
    const char *op = field(c, line, ROLE_OP);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (is_listed(kinds[i].words, op, strlen(op))) {
            *out = kinds[i].kind;
            return ERR_OK;
        }
    return err_at(err, ERR_FORMAT, line->number, input_name(c->in), "line %" PRIu64 ": '%s' is neither a request nor "
                  "its end: expected alloc, free or oom", line->number, op);
}

/* ---- a request or its end in each line ---- */

/* No allocator hands out an address that is live. The log lacks the end of the earlier request, or it is that of
 * several programs; only who made it can know. */
static enum err put_missing_end(struct csv_import *c, const struct trace_record *r, struct err_detail *err)
{
    struct trace_record end = *r;
    char called[CSV_NAME_MAX];
    end.kind = EVENT_FREE;
    snprintf(called, sizeof called, "0x%" PRIx64, r->ptr);
    if (c->pointers == PTR_NAME && r->ptr > 0)           /* 0: "(nil)" has no name */
        snprintf(called, sizeof called, "'%s'", text_table_at(&c->names, (uint32_t)(r->ptr - 1)));
    if (!c->puts_missing)
        return err_at(err, ERR_FORMAT, r->record + 1, input_name(c->in), "line %" PRIu64 ": a request at %s, where one "
                      "is live: the log lacks an end (--from csv:missing=end puts it here), or mixes processes or "
                      "cards",
                      r->record + 1, called);
    c->n_missing++;
    return trace_put(c->w, &end, err);
}

/* An end of a request that the log does not begin is left out and counted. */
static enum err put_event(struct csv_import *c, const struct trace_record *r, struct err_detail *err)
{
    const uint64_t live_bytes = trace_live_bytes(c->w, r->ptr);
    enum err e = r->kind == EVENT_ALLOC && live_bytes > 0 ? put_missing_end(c, r, err) : ERR_OK;
    if (e != ERR_OK)
        return e;
    if (r->kind == EVENT_FREE && live_bytes > 0 && r->bytes > 0 && r->bytes != live_bytes && c->n_other_size++ == 0)
        c->other_size_line = r->record + 1;
    e = trace_put(c->w, r, err);
    if (e != ERR_FORMAT || r->kind != EVENT_FREE)
        return e;
    c->n_unknown++;
    return ERR_OK;
}

/* Says so if another thread made this line than the one before. */
static enum err put_thread(struct csv_import *c, const struct csv_line *line, uint64_t time_ns, struct err_detail *err)
{
    const char *text = field(c, line, ROLE_THREAD);
    const uint32_t thread = text_table_put(&c->threads, text, strlen(text));
    if (thread == UINT32_MAX)
        return err_no_memory(err);
    if (thread == c->thread)
        return ERR_OK;
    c->thread = thread;
    const struct trace_record r = { .kind = EVENT_CONTROL, .time_ns = time_ns, .record = line->number - 1,
                                    .control = { .kind = CONTROL_THREAD, .number = thread } };
    return trace_put(c->w, &r, err);
}

static enum err put_line(struct csv_import *c, const struct csv_line *line, struct err_detail *err)
{
    static const unsigned needed[] = { [EVENT_ALLOC] = 1u << ROLE_PTR | 1u << ROLE_SIZE, [EVENT_FREE] = 1u << ROLE_PTR,
                                       [EVENT_OOM] = 0 };
    const unsigned time = c->column[ROLE_TIME] != CSV_NO_COLUMN ? 1u << ROLE_TIME : 0;
    struct trace_record r = { .record = line->number - 1 };
    enum err e = read_kind(c, line, &r.kind, err);
    if (e == ERR_OK)
        e = expect_fields(c, line, needed[r.kind] | time, err);
    if (e == ERR_OK)
        e = read_pointer(c, line, &r, err);
    if (e == ERR_OK)
        e = read_size(c, line, &r.bytes, err);
    if (e == ERR_OK)
        e = read_number(c, line, ROLE_STREAM, &r.stream, err);
    if (e == ERR_OK && c->column[ROLE_TIME] != CSV_NO_COLUMN)
        e = read_time(c, line, &r.time_ns, err);
    if (e != ERR_OK)
        return e;
    c->n_back += r.time_ns < c->latest_ns;
    c->latest_ns = r.time_ns > c->latest_ns ? r.time_ns : c->latest_ns;
    if (r.kind == EVENT_FREE ? r.ptr == 0 : r.bytes == 0) {
        c->n_empty += r.kind != EVENT_FREE;
        return ERR_OK;
    }
    if (c->column[ROLE_THREAD] != CSV_NO_COLUMN)
        e = put_thread(c, line, r.time_ns, err);
    return e == ERR_OK ? put_event(c, &r, err) : e;
}

static enum err put_notes(struct csv_import *c, struct err_detail *err)
{
    char notes[1024];
    size_t n = (size_t)snprintf(notes, sizeof notes,
                                "not recorded: the device's capacity, settings of the allocator%s%s",
                                c->column[ROLE_TIME] == CSV_NO_COLUMN ? ", times" : "",
                                c->pointers == PTR_NAME ? ", addresses" : "");
    if (c->n_unknown > 0)
        n += (size_t)snprintf(notes + n, sizeof notes - n, "\n%" PRIu64 " ends of requests that the log does not begin "
                              "were left out: it starts in mid-run, and what was live then is missing", c->n_unknown);
    if (c->n_other_size > 0)
        n += (size_t)snprintf(notes + n, sizeof notes - n, "\n%" PRIu64 " ends have another size than their request, "
                              "the first in line %" PRIu64 ": the log may mix processes or cards, or lack lines",
                              c->n_other_size, c->other_size_line);
    if (c->n_missing > 0)
        n += (size_t)snprintf(notes + n, sizeof notes - n, "\n%" PRIu64 " ends that the log lacks were put where their "
                              "address is requested again", c->n_missing);
    if (c->n_back > 0)
        n += (size_t)snprintf(notes + n, sizeof notes - n, "\n%" PRIu64 " times that go back were taken for the latest "
                              "before them", c->n_back);
    if (c->n_empty > 0)
        n += (size_t)snprintf(notes + n, sizeof notes - n, "\n%" PRIu64 " requests of 0 bytes were left out",
                              c->n_empty);
    if (c->is_cut)
        snprintf(notes + n, sizeof notes - n, "\nthe last line is cut off, and was left out");
    else if (c->has_no_end)                  /* a number cut short can't be told from a whole one */
        snprintf(notes + n, sizeof notes - n, "\nthe last line, %" PRIu64 ", has no end: if the log was cut there, its "
                 "last field is not whole", c->last_line);
    return trace_put_meta(c->w, "notes", notes, err);
}

static enum err import_events(struct csv_import *c, struct csv_line *line, struct err_detail *err)
{
    if (c->column[ROLE_PTR] == CSV_NO_COLUMN || c->column[ROLE_SIZE] == CSV_NO_COLUMN)
        return err_at(err, ERR_FORMAT, 0, input_name(c->in), "the heading names no column for %s; say which it is with "
                      "--from csv:op=...,ptr=...,size=...", c->column[ROLE_PTR] == CSV_NO_COLUMN ? "ptr" : "size");
    for (;;) {
        enum err e = next_line(c, line, err);
        if (e != ERR_OK)
            return e;
        if (line->n == 0)
            return put_notes(c, err);
        if ((e = put_line(c, line, err)) != ERR_OK)
            return e;
        trace_writer_info(c->w)->records++;
    }
}

/* ---- a request with its whole life in each line ---- */

struct csv_life {
    uint64_t time, ptr, bytes;
    uint32_t id;                             /* its number in `names`, if the file has ids */
    bool     is_end;
};

/* By time; at one time ends come first, because `upper` is no longer part of a life. */
static int by_time(const void *a, const void *b)
{
    const struct csv_life *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->is_end != y->is_end)
        return x->is_end ? -1 : 1;
    return x->ptr < y->ptr ? -1 : x->ptr > y->ptr;
}

/* A trace begins at time 0; the fact keeps when the instance did. */
static enum err put_first_time(struct csv_import *c, struct sorted_runs *lives, struct err_detail *err)
{
    const void *record;
    enum err e = sorted_runs_rewind(lives, err);
    if (e == ERR_OK)
        e = sorted_runs_next(lives, &record, err);
    if (e != ERR_OK || record == NULL)
        return e;
    char time[24];
    snprintf(time, sizeof time, "%" PRIu64, ((const struct csv_life *)record)->time);
    return trace_put_meta(c->w, "first_time", time, err);
}

static enum err put_lives(struct csv_import *c, struct sorted_runs *lives, struct err_detail *err)
{
    const void *record;
    enum err e = put_first_time(c, lives, err);
    if (e == ERR_OK)
        e = sorted_runs_rewind(lives, err);
    while (e == ERR_OK && (e = sorted_runs_next(lives, &record, err)) == ERR_OK && record != NULL) {
        const struct csv_life *life = record;
        struct trace_record r = { .kind = life->is_end ? EVENT_FREE : EVENT_ALLOC, .time_ns = life->time,
                                  .ptr = life->ptr, .bytes = life->bytes, .record = life->ptr - 1 };
        const char *id = c->column[ROLE_ID] == CSV_NO_COLUMN ? NULL : text_table_at(&c->names, life->id);
        if (id != NULL && !life->is_end)
            e = trace_put_stack(c->w, &id, 1, &r.stack, err);
        if (e == ERR_OK)
            e = trace_put(c->w, &r, err);
    }
    return e == ERR_OK ? put_notes(c, err) : e;
}

/* An id stands for one request: of two, nobody could tell whose offset a plan gives. */
static enum err read_id(struct csv_import *c, const struct csv_line *line, uint32_t *id, struct err_detail *err)
{
    const char *text = field(c, line, ROLE_ID);
    const uint32_t n_before = c->names.n;
    *id = text_table_put(&c->names, text, strlen(text));
    if (*id == UINT32_MAX)
        return err_no_memory(err);
    if (c->names.n > n_before)
        return ERR_OK;
    return err_at(err, ERR_FORMAT, line->number, input_name(c->in), "line %" PRIu64 ": id '%s' is that of an earlier "
                  "line", line->number, text);
}

static enum err read_life(struct csv_import *c, const struct csv_line *line, struct csv_life pair[2],
                          struct err_detail *err)
{
    const bool has_id = c->column[ROLE_ID] != CSV_NO_COLUMN;
    uint32_t id = 0;
    uint64_t lower, upper, bytes;
    enum err e = expect_fields(c, line, 1u << ROLE_LOWER | 1u << ROLE_UPPER | 1u << ROLE_SIZE |
                               (unsigned)has_id << ROLE_ID, err);
    if (e == ERR_OK && has_id)
        e = read_id(c, line, &id, err);
    if (e == ERR_OK)
        e = read_number(c, line, ROLE_LOWER, &lower, err);
    if (e == ERR_OK)
        e = read_number(c, line, ROLE_UPPER, &upper, err);
    if (e == ERR_OK)
        e = read_size(c, line, &bytes, err);
    if (e != ERR_OK)
        return e;
    if (upper <= lower)
        return err_at(err, ERR_FORMAT, line->number, input_name(c->in), "line %" PRIu64 ": its life ends at %" PRIu64
                      ", before it begins", line->number, upper);
    pair[0] = (struct csv_life){ .time = lower, .ptr = line->number, .bytes = bytes, .id = id };
    pair[1] = (struct csv_life){ .time = upper, .ptr = line->number, .is_end = true };
    return ERR_OK;
}

static enum err read_lives(struct csv_import *c, struct csv_line *line, struct sorted_runs *lives,
                           struct err_detail *err)
{
    struct csv_life pair[2];
    for (;;) {
        enum err e = next_line(c, line, err);
        if (e != ERR_OK || line->n == 0)
            return e;
        if ((e = read_life(c, line, pair, err)) != ERR_OK)
            return e;
        trace_writer_info(c->w)->records++;
        c->n_empty += pair[0].bytes == 0;
        for (int i = 0; i < 2 && pair[0].bytes > 0 && e == ERR_OK; i++)
            e = sorted_runs_put(lives, &pair[i], err);
        if (e != ERR_OK)
            return e;
    }
}

static enum err import_lives(struct csv_import *c, struct csv_line *line, struct err_detail *err)
{
    struct sorted_runs *lives = NULL;
    enum err e = sorted_runs_create(sizeof(struct csv_life), by_time, SORT_BYTES, &lives, err);
    if (e == ERR_OK)
        e = read_lives(c, line, lives, err);
    if (e == ERR_OK)
        e = put_lives(c, lives, err);
    sorted_runs_destroy(lives);
    return e;
}

/* ---- the formats ---- */

static enum err csv_import(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                           struct err_detail *err)
{
    struct csv_import c = { .in = in, .w = w };
    struct csv_line *line = calloc(1, sizeof *line);
    if (line == NULL)
        return err_no_memory(err);
    line->may_have_blanks = true;
    enum err e = csv_next(in, line, err);
    if (e == ERR_OK)
        e = read_heading(&c, line, cfg->columns, err);
    if (e == ERR_OK)
        e = trace_put_meta(w, "source", c.column[ROLE_LOWER] != CSV_NO_COLUMN ? "minimalloc" : "csv", err);
    const bool has_lives = c.column[ROLE_LOWER] != CSV_NO_COLUMN && c.column[ROLE_UPPER] != CSV_NO_COLUMN;
    if (e == ERR_OK)
        e = has_lives ? import_lives(&c, line, err) : import_events(&c, line, err);
    text_table_free(&c.threads);
    text_table_free(&c.names);
    free(line);
    return e;
}

/* Whether the first line is a heading that names what a log of requests, or a list of lives, must have. */
static bool csv_sniff(const unsigned char *head, size_t n)
{
    bool has[CSV_ROLE_COUNT] = { false };
    const unsigned char *end = memchr(head, '\n', n);
    for (size_t from = 0, stop = end == NULL ? 0 : (size_t)(end - head); from < stop;) {
        size_t to = from;
        while (to < stop && strchr(",;\t\r", head[to]) == NULL)
            to++;
        size_t first = from, last = to;
        while (first < last && strchr(" \t\"", head[first]) != NULL)
            first++;
        while (last > first && strchr(" \t\"", head[last - 1]) != NULL)
            last--;
        for (int role = 0; role < CSV_ROLE_COUNT; role++)
            has[role] |= is_listed(roles[role].names, (const char *)head + first, last - first);
        from = to + 1;
    }
    return has[ROLE_SIZE] && ((has[ROLE_OP] && has[ROLE_PTR]) || (has[ROLE_LOWER] && has[ROLE_UPPER]));
}

const struct importer importer_csv = {
    .name = "csv",
    .summary = "requests as CSV: RMM's event log, minimalloc's lives, or any columns "
               "(csv:time=ts,ptr=addr,size=bytes,op=kind)",
    .sniff = csv_sniff,
    .import = csv_import,
};
