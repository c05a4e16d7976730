/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads columns.def four times for the tables and four times for the values. */
#include "report/result_columns.h"

#include "report/results_db.h"

#include <assert.h>
#include <string.h>

/* ---- values, as columns.def writes them; the name is filled in afterwards ---- */

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

static struct field ratio(double part, double whole)
{
    return field_ratio(NULL, part, whole);
}

/* Null unless a request was refused. */
static struct field of_oom(const struct report_run *run, uint64_t n)
{
    return run->meter->ooms > 0 ? number(n) : (struct field){ .kind = FIELD_NULL };
}

/* Null unless the run came to the end of that part. */
static struct field of_part(const struct report_run *run, enum meter_part_name part, uint64_t n)
{
    return run->meter->parts[part].is_whole ? number(n) : (struct field){ .kind = FIELD_NULL };
}

/* ---- the tables ---- */

static const struct column identity_columns[] = {
#define IDENTITY_COLUMN(name, value, meaning) { #name, NULL, NULL, meaning, GROUP_NONE, NULL, NULL },
#include "report/result_columns.def"
};

static const struct column trace_columns[] = {
#define TRACE_COLUMN(name, path, type, value, meaning) { #name, path, type, meaning, GROUP_NONE, NULL, NULL },
#include "report/result_columns.def"
};

static const struct column card_columns[] = {
#define CARD_COLUMN(name, value, meaning) { #name, NULL, NULL, meaning, GROUP_NONE, NULL, NULL },
#include "report/result_columns.def"
};

static const struct column run_columns[] = {
#define RUN_COLUMN(name, path, type, value, group, title, page_title, meaning)                              \
    { #name, path, type, meaning, GROUP_##group, title, page_title },
#include "report/result_columns.def"
};

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

/* ---- the values ---- */

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
#include "report/result_columns.def"
    return (size_t)(to - out);
}

size_t fields_of_trace(const struct report_trace *t, struct field out[FIELDS_MAX])
{
    struct field *to = out;
    if (t == NULL)
        return fields_without_values(COLUMNS_OF_TRACE, out);
#define TRACE_COLUMN(name, path, type, value, meaning) *to++ = named(#name, value);
#include "report/result_columns.def"
    return (size_t)(to - out);
}

size_t fields_of_card(const struct device_config *c, struct field out[FIELDS_MAX])
{
    struct field *to = out;
    if (c == NULL)
        return fields_without_values(COLUMNS_OF_CARD, out);
#define CARD_COLUMN(name, value, meaning) *to++ = named(#name, value);
#include "report/result_columns.def"
    return (size_t)(to - out);
}

size_t fields_of_run(const struct report_run *run, struct field out[FIELDS_MAX])
{
    struct field *to = out;
    if (run == NULL)
        return fields_without_values(COLUMNS_OF_RUN, out);
#define RUN_COLUMN(name, path, type, value, group, title, page_title, meaning) *to++ = named(#name, value);
#include "report/result_columns.def"
    return (size_t)(to - out);
}
