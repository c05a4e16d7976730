/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The report as JSON, schema "replay/1": report/SCHEMA.md says what each key means. */
#include "report/rows/result_columns.h"
#include "report/rows/winner.h"

#include <assert.h>
#include <string.h>

void report_options_json(struct json_writer *w, const char *key, const struct policy_spec *spec)
{
    json_put_object(w, key);
    for (size_t i = 0; i < spec->n_options; i++) {
        const struct policy_option *o = &spec->ops->options[i];
        const struct option_value *v = &spec->values[i];
        if (!v->is_set)
            json_put_null(w, o->name);
        else if (o->kind == OPTION_BYTES || o->kind == OPTION_NUMBER)
            json_put_number(w, o->name, v->number);
        else if (o->kind == OPTION_RATIO)
            json_put_ratio(w, o->name, v->ratio);
        else if (o->kind == OPTION_SWITCH)
            json_put_bool(w, o->name, v->number != 0);
        else
            json_put_text(w, o->name, v->text);
    }
    json_end_object(w);
}

void report_lines_json(struct json_writer *w, const char *key, const char *first, const struct report_lines *lines)
{
    json_put_array(w, key);
    if (first != NULL)
        json_put_text(w, NULL, first);
    for (size_t i = 0; i < lines->n; i++)
        json_put_text(w, NULL, lines->at[i]);
    json_end_array(w);
}

/* ---- columns as nested objects ---- */

/* Where the last name of a path begins: "event" in "oom.first.event". */
static const char *last_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

/* Whether a path lies in the object whose path is the first n letters of `object`. */
static bool is_within(const char *path, const char *object, size_t n)
{
    return n == 0 || (strncmp(path, object, n) == 0 && path[n] == '.');
}

/* How many columns from the first on lie in that object. */
static size_t count_within(const struct column *columns, size_t n, size_t n_object)
{
    size_t i = 1;
    while (i < n && is_within(columns[i].path, columns[0].path, n_object))
        i++;
    return i;
}

static bool are_all_null(const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fields[i].kind != FIELD_NULL)
            return false;
    return true;
}

/* Opens an object, or puts a null for one that holds only nulls. The name of the object ends at n_object of `path`. */
static bool open_object(struct json_writer *w, const char *path, size_t n_object, bool is_null)
{
    char name[64];
    size_t begin = n_object;
    while (begin > 0 && path[begin - 1] != '.')
        begin--;
    assert(n_object - begin < sizeof name);
    snprintf(name, sizeof name, "%.*s", (int)(n_object - begin), path + begin);
    if (is_null)
        json_put_null(w, name);
    else
        json_put_object(w, name);
    return !is_null;
}

/*
 * Writes columns whose paths begin with the same n_object letters, those of the object that is open now:
 *
 *     oom.count              "oom": { "count": 1,
 *     oom.first.event                 "first": { "event": 7,
 *     oom.first.bytes                            "bytes": 512 } }
 */
static void json_columns(struct json_writer *w, const struct column *columns, const struct field *fields, size_t n,
                         size_t n_object)
{
    for (size_t i = 0; i < n;) {
        const char *path = columns[i].path, *member = n_object == 0 ? path : path + n_object + 1;
        const size_t n_member = strcspn(member, ".");
        if (member[n_member] == '\0') {
            field_json(w, last_name(path), &fields[i++]);
            continue;
        }
        const size_t end = (size_t)(member - path) + n_member, n_within = count_within(&columns[i], n - i, end);
        if (open_object(w, path, end, are_all_null(&fields[i], n_within))) {
            json_columns(w, &columns[i], &fields[i], n_within, end);
            json_end_object(w);
        }
        i += n_within;
    }
}

static void json_trace(struct json_writer *w, const struct report_trace *t)
{
    struct field fields[FIELDS_MAX];
    size_t n;
    const struct column *columns = columns_of(COLUMNS_OF_TRACE, &n);
    fields_of_trace(t, fields);
    json_put_object(w, "trace");
    json_columns(w, columns, fields, n, 0);
    json_end_object(w);
}

static void json_setup(struct json_writer *w, const struct report_setup *s)
{
    json_put_object(w, "setup");
    json_put_text(w, "start", s->start);
    json_put_text(w, "on_oom", s->on_oom);
    json_put_text(w, "releases", s->releases);
    json_put_text(w, "format", s->format);
    json_put_number(w, "seed", s->seed);
    json_put_number(w, "price_bytes_per_ms", s->price_bytes_per_ms);
    json_end_object(w);
}

enum { N_BEFORE_OPTIONS = 2 };      /* `policy` and `name` stand before `options` */

static void json_run(struct json_writer *w, const struct report *r, const struct report_run *run)
{
    char device[512];
    snprintf(device, sizeof device, "the device is %s", r->headline);
    struct field fields[FIELDS_MAX];
    size_t n;
    const struct column *columns = columns_of(COLUMNS_OF_RUN, &n);
    fields_of_run(run, fields);
    json_put_object(w, NULL);
    json_columns(w, columns, fields, N_BEFORE_OPTIONS, 0);
    report_options_json(w, "options", run->spec);
    json_columns(w, columns + N_BEFORE_OPTIONS, fields + N_BEFORE_OPTIONS, n - N_BEFORE_OPTIONS, 0);
    report_lines_json(w, "assumptions", r->is_device_assumed ? device : NULL, &run->assumptions);
    report_lines_json(w, "warnings", NULL, &run->warnings);
    json_put_object(w, "explanation");
    explain_json(w, "first_oom", run->at_oom, &r->names);
    explain_json(w, "event", run->at_event, &r->names);
    json_end_object(w);
    report_measured_json(w, run);
    json_end_object(w);
}

void report_json(FILE *out, const struct report *r)
{
    struct json_writer w = json_writer(out);
    json_put_object(&w, NULL);
    json_put_text(&w, "schema", "replay/1");
    json_trace(&w, &r->trace);
    json_setup(&w, &r->setup);
    json_put_array(&w, "runs");
    for (size_t i = 0; i < r->n_runs; i++)
        json_run(&w, r, &r->runs[i]);
    json_end_array(&w);
    const size_t best = report_best(r);
    if (best != WINNER_NONE)
        json_put_number(&w, "best", best);
    else
        json_put_null(&w, "best");
    report_comparisons_json(&w, r);
    json_end_object(&w);
}
