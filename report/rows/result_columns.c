/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads result_columns.def four times for the tables and four times for the values. */
#include "report/rows/result_columns.h"

#include "report/rows/results_db.h"

#include <assert.h>
#include <string.h>

/* ---- the tables ---- */

/* Of a value the tables need only what its function, further below, tells of it. */
#define text(...)         VALUES_TEXT
#define number(...)       VALUES_COUNT
#define unless(...)       VALUES_COUNT
#define whole(...)        VALUES_WHOLE
#define ratio(...)        VALUES_RATIO
#define of_oom(...)       VALUES_COUNT
#define event_of_oom(...) VALUES_WHOLE
#define of_copy(...)      VALUES_WHOLE
#define of_part(...)      VALUES_COUNT

static const struct column identity_columns[] = {
#define IDENTITY_COLUMN(name, value, meaning) { #name, NULL, NULL, meaning, GROUP_NONE, NULL, NULL, value },
#include "report/rows/result_columns.def"
};

static const struct column trace_columns[] = {
#define TRACE_COLUMN(name, path, type, value, meaning) { #name, path, type, meaning, GROUP_NONE, NULL, NULL, value },
#include "report/rows/result_columns.def"
};

static const struct column card_columns[] = {
#define CARD_COLUMN(name, value, meaning) { #name, NULL, NULL, meaning, GROUP_NONE, NULL, NULL, value },
#include "report/rows/result_columns.def"
};

static const struct column run_columns[] = {
#define RUN_COLUMN(name, path, type, value, group, title, page_title, meaning)                              \
    { #name, path, type, meaning, GROUP_##group, title, page_title, value },
#include "report/rows/result_columns.def"
};

#undef text
#undef number
#undef unless
#undef whole
#undef ratio
#undef of_oom
#undef event_of_oom
#undef of_copy
#undef of_part

#define COUNT(table) (sizeof (table) / sizeof (table)[0])
static_assert(COUNT(identity_columns) <= FIELDS_MAX && COUNT(trace_columns) <= FIELDS_MAX &&
              COUNT(card_columns) <= FIELDS_MAX && COUNT(run_columns) <= FIELDS_MAX, "a row has room for its kind");

const struct column *columns_of(enum column_kind kind, size_t *n)
{
    static const struct { const struct column *at; size_t n; } kinds[COLUMN_KINDS] = {
        [COLUMNS_OF_IDENTITY] = { identity_columns, COUNT(identity_columns) },
        [COLUMNS_OF_TRACE]    = { trace_columns, COUNT(trace_columns) },
        [COLUMNS_OF_CARD]     = { card_columns, COUNT(card_columns) },
        [COLUMNS_OF_RUN]      = { run_columns, COUNT(run_columns) },
    };
    assert(kind < COLUMN_KINDS);
    *n = kinds[kind].n;
    return kinds[kind].at;
}

/* ---- the objects in JSON ---- */

static const struct column_object column_objects[] = {
#define COLUMN_OBJECT(path, may_be_null, meaning) { path, may_be_null, meaning },
#include "report/rows/result_columns.def"
};

static const struct column_object *object_of(const char *path, size_t n_path)
{
    size_t i = 0;
    while (i < COUNT(column_objects) &&
           !(strncmp(column_objects[i].path, path, n_path) == 0 && column_objects[i].path[n_path] == '\0'))
        i++;
    assert(i < COUNT(column_objects));
    return &column_objects[i];
}

static const char *last_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

struct column_member column_member_of(const struct column *columns, size_t n, size_t n_object)
{
    const char *path = columns->path;
    const size_t begin = n_object == 0 ? 0 : n_object + 1, end = begin + strcspn(path + begin, ".");
    if (path[end] == '\0')
        return (struct column_member){ .name = last_name(path), .n = 1 };
    struct column_member m = { .object = object_of(path, end), .n = 1 };
    m.name = last_name(m.object->path);
    while (m.n < n && strncmp(columns[m.n].path, path, end + 1) == 0)
        m.n++;
    return m;
}

void columns_values(enum column_values out[COLUMN_KINDS * FIELDS_MAX])
{
    for (enum column_kind kind = 0; kind < COLUMN_KINDS; kind++) {
        size_t n;
        const struct column *columns = columns_of(kind, &n);
        for (size_t i = 0; i < n; i++)
            *out++ = columns[i].values;
    }
}

/* ---- values of strangers ---- */

/* Makes a ratio that is a whole number one. Beyond 2^53 a double holds no odd number: such a ratio is no count. */
static void make_whole(struct field *f)
{
    if (f->kind != FIELD_RATIO || !(f->ratio >= -0x1p53 && f->ratio <= 0x1p53))
        return;
    const int64_t whole = (int64_t)f->ratio;
    if (!((double)whole < f->ratio) && !((double)whole > f->ratio))
        *f = field_number(f->name, (uint64_t)whole);
}

static void make_ratio(struct field *f)
{
    if (f->kind == FIELD_NUMBER)
        *f = (struct field){ .name = f->name, .kind = FIELD_RATIO, .ratio = (double)f->number };
}

const char *column_value_take(enum column_values values, struct field *f)
{
    if (f->kind == FIELD_NULL)
        return NULL;
    if (values == VALUES_RATIO)
        make_ratio(f);
    else if (values != VALUES_TEXT)
        make_whole(f);
    switch (values) {
    case VALUES_TEXT:
        return f->kind == FIELD_TEXT ? NULL : "a text";
    case VALUES_COUNT:
        return f->kind == FIELD_NUMBER && f->number >= 0 ? NULL : "a whole number from 0 on";
    case VALUES_WHOLE:
        return f->kind == FIELD_NUMBER ? NULL : "a whole number";
    case VALUES_RATIO:
        return f->kind == FIELD_RATIO && f->ratio >= 0 ? NULL : "a number from 0 on";
    }
    return NULL;
}

/* ---- values, as result_columns.def writes them; the name is filled in afterwards ---- */

static struct field text(const char *text)
{
    return field_text(NULL, text);
}

static struct field number(uint64_t n)
{
    return field_number(NULL, n);
}

static struct field unless(uint64_t n, uint64_t none)
{
    return field_number_unless(NULL, n, none);
}

static struct field whole(int64_t n)
{
    return field_number(NULL, (uint64_t)n);
}

static struct field ratio(double part, double whole)
{
    return field_ratio(NULL, part, whole);
}

/* Null unless a request was refused. */
static struct field of_oom(const struct report_run *run, uint64_t n)
{
    return run->meter->ooms > 0 ? number(n) : (struct field){ .kind = FIELD_NULL };
}

static struct field event_of_oom(const struct report_run *run)
{
    return of_oom(run, (uint64_t)run->first_oom_event);
}

/* Null unless it is a changed copy of the trace that ran. */
static struct field of_copy(const struct run_identity *run, uint64_t seed)
{
    return run->copy_percent > 0 ? number(seed) : (struct field){ .kind = FIELD_NULL };
}

/* Null unless the run came to the end of that part. */
static struct field of_part(const struct report_run *run, enum meter_part_name part, uint64_t n)
{
    return run->meter->parts[part].is_whole ? number(n) : (struct field){ .kind = FIELD_NULL };
}

/* ---- rows ---- */

/* Names alone. */
static size_t fields_without_values(enum column_kind kind, struct field out[FIELDS_MAX])
{
    size_t n;
    const struct column *columns = columns_of(kind, &n);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct field){ .name = columns[i].name };
    return n;
}

static struct field named(const char *name, struct field f)
{
    f.name = name;
    return f;
}

size_t fields_of_identity(const struct row_identity *id, struct field out[FIELDS_MAX])
{
    struct field *to = out;
    if (id == NULL)
        return fields_without_values(COLUMNS_OF_IDENTITY, out);
#define IDENTITY_COLUMN(name, value, meaning) *to++ = named(#name, value);
#include "report/rows/result_columns.def"
    return (size_t)(to - out);
}

size_t fields_of_trace(const struct report_trace *t, struct field out[FIELDS_MAX])
{
    struct field *to = out;
    if (t == NULL)
        return fields_without_values(COLUMNS_OF_TRACE, out);
#define TRACE_COLUMN(name, path, type, value, meaning) *to++ = named(#name, value);
#include "report/rows/result_columns.def"
    return (size_t)(to - out);
}

size_t fields_of_card(const struct device_config *c, struct field out[FIELDS_MAX])
{
    struct field *to = out;
    if (c == NULL)
        return fields_without_values(COLUMNS_OF_CARD, out);
#define CARD_COLUMN(name, value, meaning) *to++ = named(#name, value);
#include "report/rows/result_columns.def"
    return (size_t)(to - out);
}

size_t fields_of_run(const struct report_run *run, struct field out[FIELDS_MAX])
{
    struct field *to = out;
    if (run == NULL)
        return fields_without_values(COLUMNS_OF_RUN, out);
#define RUN_COLUMN(name, path, type, value, group, title, page_title, meaning) *to++ = named(#name, value);
#include "report/rows/result_columns.def"
    return (size_t)(to - out);
}
