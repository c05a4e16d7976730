/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The report as JSON (answers/replay.def). */
#include "report/rows/result_columns.h"
#include "report/rows/winner.h"

#include <string.h>

void report_options_put(struct json_writer *json, const struct policy_spec *spec)
{
    for (size_t i = 0; i < spec->n_options; i++) {
        const struct policy_option *o = &spec->ops->options[i];
        const struct option_value *v = &spec->values[i];
        if (!v->is_set)
            json_put_null(json, o->name);
        else if (o->kind == OPTION_BYTES || o->kind == OPTION_NUMBER)
            json_put_number(json, o->name, v->number);
        else if (o->kind == OPTION_RATIO)
            json_put_ratio(json, o->name, v->ratio);
        else if (o->kind == OPTION_SWITCH)
            json_put_bool(json, o->name, v->number != 0);
        else
            json_put_text(json, o->name, v->text);
    }
}

void report_lines_put(struct json_writer *json, const char *first, const struct report_lines *lines)
{
    if (first != NULL)
        json_put_text(json, NULL, first);
    for (size_t i = 0; i < lines->n; i++)
        json_put_text(json, NULL, lines->at[i]);
}

/* ---- columns as nested objects ---- */

static bool are_all_null(const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fields[i].kind != FIELD_NULL)
            return false;
    return true;
}

/* The members of an object (column_member_of); null for one that holds only nulls. */
static void columns_json(struct json_writer *json, const struct column *columns, const struct field *fields, size_t n,
                         size_t n_object)
{
    struct column_member m;
    for (size_t i = 0; i < n; i += m.n) {
        m = column_member_of(&columns[i], n - i, n_object);
        if (m.object == NULL) {
            field_json(json, m.name, &fields[i]);
        } else if (are_all_null(&fields[i], m.n)) {
            json_put_null(json, m.name);
        } else {
            json_put_object(json, m.name);
            columns_json(json, &columns[i], &fields[i], m.n, strlen(m.object->path));
            json_end_object(json);
        }
    }
}

static void trace_columns_json(struct json_writer *json, const struct report_trace *t)
{
    struct field fields[FIELDS_MAX];
    size_t n;
    const struct column *columns = columns_of(COLUMNS_OF_TRACE, &n);
    fields_of_trace(t, fields);
    columns_json(json, columns, fields, n, 0);
}

/* The columns of a run from `begin` on, before `end` or their end. */
static void part_of_run_json(struct json_writer *json, const struct report_run *run, size_t begin, size_t end)
{
    struct field fields[FIELDS_MAX];
    size_t n;
    const struct column *columns = columns_of(COLUMNS_OF_RUN, &n);
    fields_of_run(run, fields);
    columns_json(json, columns + begin, fields + begin, (end < n ? end : n) - begin, 0);
}

static void run_names_json(struct json_writer *json, const struct report_run *run)
{
    part_of_run_json(json, run, 0, RUN_NAMES);
}

static void run_columns_json(struct json_writer *json, const struct report_run *run)
{
    part_of_run_json(json, run, RUN_NAMES, SIZE_MAX);
}

static bool is_taken(const struct explanation *x)
{
    return x != NULL && x->is_taken;
}

void report_json(FILE *out, const struct report *r)
{
    const size_t best = report_best(r);
    char device[512];
    snprintf(device, sizeof device, "the device is %s", r->headline);
#define ANSWER_TABLE "answers/replay.def"
#include "answers/as_json.def"
}
