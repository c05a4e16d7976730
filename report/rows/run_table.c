/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Rows of fields. A database hands rows out as fields; in a JSON each value is found by its column's name. */
#include "report/rows/run_table.h"

#include "base/array.h"
#include "base/load_json.h"
#include "base/units.h"
#include "report/rows/csv.h"
#include "report/rows/winner.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void run_table_open(struct run_table *out)
{
    *out = (struct run_table){ .price_bytes_per_ms = WINNER_PRICE_BYTES_PER_MS, .allowed_bytes = UINT64_MAX };
    out->n_columns = results_db_columns(out->columns);
    columns_values(out->values);
}

void run_table_close(struct run_table *t)
{
    for (size_t i = 0; i < t->n_rows * t->n_columns; i++)
        free((char *)t->rows[i].text);
    for (size_t i = 0; i < t->n_remarks; i++)
        free(t->remarks[i].text);
    free(t->remarks);
    text_table_free(&t->remark_texts);
    pair_map_free(&t->remark_of);
    free(t->rows);
    *t = (struct run_table){ .rows = NULL };
}

void run_table_allow(struct run_table *t, const char *source, uint64_t bytes)
{
    t->allowed_source = source;
    t->allowed_bytes = bytes;
}

/* Why a row or its text could not be added. */
static enum err cannot_add(const struct run_table *t, struct err_detail *err)
{
    if (t->is_beyond)
        return err_at(err, ERR_FORMAT, 0, t->allowed_source, "its runs take more memory than those of a file of this "
                      "size can need; --memory-limit SIZE allows that");
    return err_no_memory(err);
}

/* Takes what a row or text needs from what is allowed; false if that is not enough. */
static bool take_allowed(struct run_table *t, size_t bytes)
{
    t->is_beyond = t->is_beyond || bytes > t->allowed_bytes;
    if (!t->is_beyond && t->allowed_bytes != UINT64_MAX)
        t->allowed_bytes -= bytes;
    return !t->is_beyond;
}

/* A row of nulls; NULL without memory, or beyond what is allowed. */
static struct field *add_row(struct run_table *t)
{
    if (!take_allowed(t, t->n_columns * sizeof *t->rows))
        return NULL;
    if (t->n_rows == t->cap) {
        const size_t cap = t->cap == 0 ? 16 : 2 * t->cap;
        struct field *grown = realloc(t->rows, cap * t->n_columns * sizeof *grown);
        if (grown == NULL)
            return NULL;
        t->rows = grown;
        t->cap = cap;
    }
    struct field *row = &t->rows[t->n_rows++ * t->n_columns];
    memcpy(row, t->columns, t->n_columns * sizeof *row);
    return row;
}

static bool take_text(struct run_table *t, struct field *cell, const char *text)
{
    cell->text = take_allowed(t, strlen(text) + 1) ? strdup(text) : NULL;
    cell->kind = cell->text != NULL ? FIELD_TEXT : FIELD_NULL;
    return cell->text != NULL;
}

static enum err add_remark(struct run_table *t, bool is_warning, const char *text, uint64_t n_runs)
{
    const uint32_t number = text_table_put(&t->remark_texts, text, strlen(text));
    if (number == UINT32_MAX)
        return ERR_HOST_NOMEM;
    const uint32_t *known = pair_map_find(&t->remark_of, number, is_warning);
    if (known != NULL) {
        t->remarks[*known].n_runs += n_runs;
        return ERR_OK;
    }
    struct run_remark *grown = array_grow(t->remarks, t->n_remarks, &t->room_remarks, sizeof *grown);
    if (grown == NULL)
        return ERR_HOST_NOMEM;
    t->remarks = grown;
    char *copy = strdup(text);
    if (copy == NULL || !pair_map_add(&t->remark_of, number, is_warning, (uint32_t)t->n_remarks)) {
        free(copy);
        return ERR_HOST_NOMEM;
    }
    t->remarks[t->n_remarks++] = (struct run_remark){ .text = copy, .n_runs = n_runs, .is_warning = is_warning };
    return ERR_OK;
}

/* The first source that has a price decides. */
static void take_price(struct run_table *t, uint64_t price_bytes_per_ms)
{
    if (!t->has_price)
        t->price_bytes_per_ms = price_bytes_per_ms;
    t->has_price = true;
}

/* ---- from a report ---- */

/* Puts a field into the column of its name; *column: where to begin to look, then the one after it. */
static bool take_field(struct run_table *t, struct field *row, const struct field *f, size_t *column)
{
    const size_t i = run_table_column(t, f->name, *column);
    if (i == t->n_columns)
        return true;
    *column = i + 1;
    row[i] = (struct field){ .name = t->columns[i].name, .kind = f->kind, .number = f->number, .ratio = f->ratio };
    return f->kind != FIELD_TEXT || take_text(t, &row[i], f->text);
}

enum err run_table_add_report(struct run_table *t, const struct report *r, struct err_detail *err)
{
    for (size_t run = 0; run < r->n_runs; run++) {
        struct field fields[2 * FIELDS_MAX];
        size_t n = fields_of_trace(&r->trace, fields), column = 0;
        n += fields_of_run(&r->runs[run], fields + n);
        struct field *row = add_row(t);
        for (size_t i = 0; i < n; i++)
            if (row == NULL || !take_field(t, row, &fields[i], &column))
                return cannot_add(t, err);
    }
    return ERR_OK;
}

/* ---- from a table ---- */

enum err run_table_add_row(struct run_table *t, const struct run_table *from, size_t row, struct err_detail *err)
{
    struct field *to = add_row(t);
    size_t column = 0;
    for (size_t i = 0; i < t->n_columns; i++)
        if (to == NULL || !take_field(t, to, &from->rows[row * from->n_columns + i], &column))
            return cannot_add(t, err);
    return ERR_OK;
}

bool run_table_move_rows(struct run_table *from, const char *column, struct run_table *to)
{
    size_t n_kept = 0;
    bool is_done = true;
    for (size_t row = 0; row < from->n_rows; row++) {
        struct field *at = &from->rows[row * from->n_columns];
        const bool is_moved = is_done && run_table_cell(from, row, column)->kind != FIELD_NULL;
        struct field *there = is_moved ? add_row(to) : NULL;
        is_done = is_done && (there != NULL || !is_moved);
        if (there == NULL)
            there = &from->rows[n_kept++ * from->n_columns];
        memmove(there, at, from->n_columns * sizeof *at);
    }
    from->n_rows = n_kept;
    return is_done;
}

/* ---- from a database ---- */

struct db_target {
    struct run_table *table;
    enum err e;
};

static void take_db_row(void *arg, const struct field *fields, size_t n)
{
    struct db_target *target = arg;
    struct run_table *t = target->table;
    struct field *row = target->e == ERR_OK ? add_row(t) : NULL;
    if (row == NULL)
        target->e = ERR_HOST_NOMEM;
    for (size_t i = 0; i < n && i < t->n_columns && target->e == ERR_OK; i++) {
        row[i].number = fields[i].number;
        row[i].ratio = fields[i].ratio;
        row[i].kind = fields[i].kind;
        if (fields[i].kind == FIELD_TEXT && !take_text(t, &row[i], fields[i].text))
            target->e = ERR_HOST_NOMEM;
    }
}

static void take_db_remark(void *arg, bool is_warning, const char *text, uint64_t n_runs)
{
    struct db_target *target = arg;
    if (target->e == ERR_OK)
        target->e = add_remark(target->table, is_warning, text, n_runs);
}

enum err run_table_add_db(struct run_table *t, struct results_db *db, struct err_detail *err)
{
    struct db_target target = { .table = t };
    enum err e = results_db_each_run(db, take_db_row, &target, err);
    if (e == ERR_OK)
        e = results_db_each_remark(db, take_db_remark, &target, err);
    uint64_t price;
    bool has_price = false;
    if (e == ERR_OK)
        e = results_db_price(db, &price, &has_price, err);
    if (has_price)
        take_price(t, price);
    return e == ERR_OK && target.e != ERR_OK ? cannot_add(t, err) : e;
}

/* ---- from a JSON ---- */

/* The value that a column names: its path in the object, joined by '_'. NULL: there is none. */
static const json_t *find_value(const json_t *object, const char *name)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        const size_t n = strlen(key);
        if (strcmp(key, name) == 0)
            return value;
        if (strncmp(key, name, n) != 0 || name[n] != '_' || !json_is_object(value))
            continue;
        const json_t *found = find_value(value, name + n + 1);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* The value as a field whose text is borrowed. False for one that no column can have. */
static bool field_of_value(const json_t *value, struct field *out)
{
    const char *name = out->name;
    if (value == NULL || json_is_null(value))
        out->kind = FIELD_NULL;
    else if (json_is_string(value))
        *out = field_text(name, json_string_value(value));
    else if (json_is_integer(value))
        *out = field_number(name, (uint64_t)json_integer_value(value));
    else if (json_is_real(value))
        *out = (struct field){ .name = name, .kind = FIELD_RATIO, .ratio = json_real_value(value) };
    else
        return false;
    return true;
}

/* Where in a JSON we are, for messages. */
struct json_place {
    const char *name;                /* of the file */
    size_t      run;
    struct err_detail *err;
};

static enum err take_value(struct run_table *t, size_t column, struct field *cell, const json_t *value,
                           const struct json_place *place)
{
    struct field f = { .name = cell->name };
    const char *wanted = field_of_value(value, &f) ? column_value_take(t->values[column], &f) : "a value";
    if (wanted != NULL)
        return err_at(place->err, ERR_FORMAT, place->run, place->name, "of run %zu '%s' is not %s", place->run, f.name,
                      wanted);
    if (f.kind == FIELD_TEXT)
        return take_text(t, cell, f.text) ? ERR_OK : cannot_add(t, place->err);
    *cell = f;
    return ERR_OK;
}

/* What all runs of a JSON share. In a replay's the trace and the setup are objects of their own (`trace`, `setup`); in
 * a sweep's one object holds all columns of a run. Found once: either may have many members, and there may be many
 * runs. */
struct shared_values {
    const json_t *of_trace[RESULTS_COLUMNS], *of_setup[RESULTS_COLUMNS];     /* by column; NULL: none */
    bool          has_trace;
};

static bool is_of_trace(const char *column)
{
    return strncmp(column, "trace_", strlen("trace_")) == 0;
}

/* `trace`, `setup`: NULL in a sweep's JSON. */
static void find_shared(const struct run_table *t, const json_t *trace, const json_t *setup, struct shared_values *out)
{
    *out = (struct shared_values){ .has_trace = trace != NULL };
    for (size_t i = 0; i < t->n_columns; i++) {
        const char *name = t->columns[i].name;
        if (trace != NULL && is_of_trace(name))
            out->of_trace[i] = find_value(trace, name + strlen("trace_"));
        out->of_setup[i] = json_object_get(setup, name);
    }
}

static const json_t *find_column(const struct run_table *t, size_t i, const struct shared_values *shared,
                                 const json_t *run)
{
    if (shared->has_trace && is_of_trace(t->columns[i].name))
        return shared->of_trace[i];
    const json_t *found = find_value(run, t->columns[i].name);
    return found != NULL ? found : shared->of_setup[i];
}

static enum err take_json_run(struct run_table *t, const struct shared_values *shared, const json_t *run,
                              const struct json_place *place)
{
    if (!json_is_object(run))
        return err_at(place->err, ERR_FORMAT, place->run, place->name, "run %zu is not an object", place->run);
    struct field *row = add_row(t);
    enum err e = row != NULL ? ERR_OK : cannot_add(t, place->err);
    for (size_t i = 0; i < t->n_columns && e == ERR_OK; i++)
        e = take_value(t, i, &row[i], find_column(t, i, shared, run), place);
    return e;
}

static enum err take_json_remarks(struct run_table *t, const json_t *run, const char *key, bool is_warning,
                                  struct err_detail *err)
{
    const json_t *lines = json_object_get(run, key);
    enum err e = ERR_OK;
    for (size_t i = 0; i < json_array_size(lines) && e == ERR_OK; i++) {
        const char *text = json_string_value(json_array_get(lines, i));
        if (text != NULL)
            e = add_remark(t, is_warning, text, 1);
    }
    return e == ERR_OK ? e : cannot_add(t, err);
}

static enum err take_json(struct run_table *t, const json_t *root, const char *name, struct err_detail *err)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const bool is_replay = schema != NULL && strcmp(schema, "replay/1") == 0;
    const json_t *trace = json_object_get(root, "trace"), *runs = json_object_get(root, "runs");
    const json_t *setup = is_replay ? json_object_get(root, "setup") : NULL;
    const json_t *price = json_object_get(is_replay ? setup : root, "price_bytes_per_ms");
    struct shared_values shared;
    enum err e = ERR_OK;
    if (!is_replay && (schema == NULL || strcmp(schema, "replay-sweep/1") != 0))
        return err_at(err, ERR_FORMAT, 0, name, "a JSON of schema '%s'; the results of a replay (replay/1) or a sweep "
                      "(replay-sweep/1) are needed", schema != NULL ? schema : "none");
    if (!json_is_array(runs) || (is_replay && !json_is_object(trace)))
        return err_at(err, ERR_FORMAT, 0, name, "its '%s' is missing", json_is_array(runs) ? "trace" : "runs");
    if (json_is_integer(price) && json_integer_value(price) >= 0)
        take_price(t, (uint64_t)json_integer_value(price));
    find_shared(t, is_replay ? trace : NULL, setup, &shared);
    for (size_t i = 0; i < json_array_size(runs) && e == ERR_OK; i++) {
        const json_t *run = json_array_get(runs, i);
        const struct json_place place = { .name = name, .run = i, .err = err };
        e = take_json_run(t, &shared, run, &place);
        if (e == ERR_OK)
            e = take_json_remarks(t, run, "assumptions", false, err);
        if (e == ERR_OK)
            e = take_json_remarks(t, run, "warnings", true, err);
    }
    return e;
}

enum err run_table_add_json(struct run_table *t, const char *bytes, size_t n, uint64_t most_memory, const char *name,
                            struct err_detail *err)
{
    json_t *root;
    enum err e = load_json(bytes, n, JSON_REJECT_DUPLICATES, most_memory, name, &root, err);
    if (e != ERR_OK)
        return e;
    e = take_json(t, root, name, err);
    json_decref(root);
    return e;
}

/* ---- reading ---- */

size_t run_table_column(const struct run_table *t, const char *name, size_t from)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        const size_t at = from + i < t->n_columns ? from + i : from + i - t->n_columns;
        if (strcmp(t->columns[at].name, name) == 0)
            return at;
    }
    return t->n_columns;
}

const struct field *run_table_cell(const struct run_table *t, size_t row, const char *name)
{
    static const struct field nothing;
    const size_t i = run_table_column(t, name, 0);
    assert(row < t->n_rows);
    return i < t->n_columns ? &t->rows[row * t->n_columns + i] : &nothing;
}

bool run_table_set_text(struct run_table *t, size_t row, const char *name, const char *text)
{
    const size_t i = run_table_column(t, name, 0);
    if (i == t->n_columns)
        return false;
    struct field *cell = &t->rows[row * t->n_columns + i];
    const char *was = cell->kind == FIELD_TEXT ? cell->text : NULL;
    const bool is_done = take_text(t, cell, text);
    free((char *)was);
    return is_done;
}

int64_t run_table_number(const struct run_table *t, size_t row, const char *name)
{
    const struct field *f = run_table_cell(t, row, name);
    return f->kind == FIELD_NUMBER ? f->number : 0;
}

const char *run_table_text(const struct run_table *t, size_t row, const char *name)
{
    const struct field *f = run_table_cell(t, row, name);
    return f->kind == FIELD_TEXT ? f->text : "";
}

void run_table_write_csv(FILE *out, const struct run_table *t)
{
    csv_fields_names(out, t->columns, t->n_columns);
    run_table_write_csv_rows(out, t);
}

void run_table_write_csv_rows(FILE *out, const struct run_table *t)
{
    for (size_t i = 0; i < t->n_rows; i++)
        csv_fields(out, &t->rows[i * t->n_columns], t->n_columns);
}
