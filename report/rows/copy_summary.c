/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Rows are sorted by what tells groups apart; each stretch of equal rows is a group. */
#include "report/rows/copy_summary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const key_columns[] = { "trace_path", "trace_digest", "device_typed", "device", "policy", "start",
                                           "on_oom", "releases", "format", "gpu", "version", "copy_sizes_percent" };
enum { KEY_COLUMNS = sizeof key_columns / sizeof key_columns[0] };

/* A row's cells of key_columns, found once. */
struct copy_row {
    const struct field *cells[KEY_COLUMNS];
    size_t row;
};

static int compare_cells(const struct field *a, const struct field *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == FIELD_TEXT)
        return strcmp(a->text, b->text);
    return (a->number > b->number) - (a->number < b->number);
}

static int compare_keys(const struct copy_row *a, const struct copy_row *b)
{
    int order = 0;
    for (size_t i = 0; i < KEY_COLUMNS && order == 0; i++)
        order = compare_cells(a->cells[i], b->cells[i]);
    return order;
}

static int by_key(const void *a, const void *b)
{
    const struct copy_row *x = a, *y = b;
    const int order = compare_keys(x, y);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

static int by_row(const void *a, const void *b)
{
    const struct copy_group *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorts the values. */
static void quantiles_of(int64_t *values, uint64_t n, int64_t out[QUANTILES])
{
    qsort(values, n, sizeof *values, by_value);
    for (uint64_t q = 0; q < QUANTILES; q++) {
        const uint64_t place = (n * q + QUANTILES - 2) / (QUANTILES - 1);
        out[q] = values[place > 0 ? place - 1 : 0];
    }
}

const char *copy_figure_column(enum copy_figure f)
{
    static const char *const columns[] = { "peak_reserved_bytes", "card_peak_bytes", "device_time_ns" };
    static_assert(sizeof columns / sizeof columns[0] == COPY_FIGURES, "one column for each figure");
    assert(f < COPY_FIGURES);
    return columns[f];
}

static bool got_through(const struct run_table *t, size_t row)
{
    return strcmp(run_table_text(t, row, "outcome"), "ok") == 0;
}

/* `rows`: of one group, n of them; `values`: room for as many. */
static struct copy_group group_of(const struct run_table *t, const struct copy_row *rows, size_t n, int64_t *values)
{
    struct copy_group g = { .row = rows[0].row, .n = n };
    for (enum copy_figure f = 0; f < COPY_FIGURES; f++) {
        g.n_ok = 0;
        for (size_t i = 0; i < n; i++)
            if (got_through(t, rows[i].row))
                values[g.n_ok++] = run_table_number(t, rows[i].row, copy_figure_column(f));
        if (g.n_ok > 0)
            quantiles_of(values, g.n_ok, g.at[f]);
    }
    return g;
}

static void find_groups(struct copy_summary *s, struct copy_row *rows, int64_t *values)
{
    const size_t n = s->runs.n_rows;
    for (size_t i = 0; i < n; i++) {
        rows[i].row = i;
        for (size_t k = 0; k < KEY_COLUMNS; k++)
            rows[i].cells[k] = run_table_cell(&s->runs, i, key_columns[k]);
    }
    qsort(rows, n, sizeof *rows, by_key);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && compare_keys(&rows[from], &rows[to]) == 0; to++)
            ;
        s->groups[s->n++] = group_of(&s->runs, &rows[from], to - from, values);
    }
    qsort(s->groups, s->n, sizeof *s->groups, by_row);
}

enum err copy_summary_take(struct run_table *from, struct copy_summary *out)
{
    *out = (struct copy_summary){ .n = 0 };
    run_table_open(&out->runs);
    if (!run_table_move_rows(from, "copy_seed", &out->runs))
        return ERR_HOST_NOMEM;
    const size_t n = out->runs.n_rows;
    if (n == 0)
        return ERR_OK;
    struct copy_row *rows = calloc(n, sizeof *rows);
    int64_t *values = calloc(n, sizeof *values);
    out->groups = calloc(n, sizeof *out->groups);
    const bool has_room = rows != NULL && values != NULL && out->groups != NULL;
    if (has_room)
        find_groups(out, rows, values);
    free(rows);
    free(values);
    return has_room ? ERR_OK : ERR_HOST_NOMEM;
}

void copy_summary_close(struct copy_summary *s)
{
    run_table_close(&s->runs);
    free(s->groups);
    *s = (struct copy_summary){ .n = 0 };
}
