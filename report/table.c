/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The report for a person at a terminal: the device, the trace, and a row per policy. words.c writes the sentences
 * after the table.
 *
 * All sizes of a table have one unit, so that a column can be compared by eye. Widths come from the content.
 */
#include "base/units.h"
#include "report/result_columns.h"
#include "report/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { TABLE_CELL = 48, TABLE_POLICY = 36 };

/* A group's title stands above its columns, between rules. */
static const char *const group_titles[] = {
    [GROUP_NONE] = "", [GROUP_PEAK] = "peak", [GROUP_LOST] = "lost at that peak", [GROUP_SEGMENTS] = "segments",
    [GROUP_DRIVER] = "driver", [GROUP_OUTCOME] = "",
};
enum { N_GROUPS = sizeof group_titles / sizeof group_titles[0] };

/* The columns shown: the policy first, then those of result_columns.def that have a title, group by group. */
struct table {
    size_t n;
    struct {
        enum table_group group;
        const char      *title, *name;
        size_t           at;             /* among the columns of a run; not of the policy's */
    } columns[FIELDS_MAX];
};

static struct table table_columns(void)
{
    struct table t = { .n = 1, .columns = { { GROUP_NONE, "policy", "policy", 0 } } };
    size_t n;
    const struct column *all = columns_of(COLUMNS_OF_RUN, &n);
    for (int group = GROUP_NONE + 1; group < N_GROUPS; group++)
        for (size_t i = 0; i < n; i++)
            if ((int)all[i].group == group) {
                t.columns[t.n].group = all[i].group;
                t.columns[t.n].title = all[i].title;
                t.columns[t.n].name = all[i].name;
                t.columns[t.n++].at = i;
            }
    assert(t.n <= FIELDS_MAX);
    return t;
}

/* ---- the table ---- */

struct table_unit {
    const char *name;
    double      bytes;
    int         decimals;
};

/* One unit for the whole table, by the largest size in it. */
static struct table_unit table_unit(const struct report *r)
{
    uint64_t most = 0;
    for (size_t i = 0; i < r->n_runs; i++)
        most = r->runs[i].card_peak_bytes > most ? r->runs[i].card_peak_bytes : most;
    if (most >= 10 * GIB)
        return (struct table_unit){ "GiB", (double)GIB, 2 };
    if (most >= 10 * MIB)
        return (struct table_unit){ "MiB", (double)MIB, 1 };
    return (struct table_unit){ "KiB", (double)KIB, 1 };
}

static void cell_bytes(char cell[TABLE_CELL], double bytes, const struct table_unit *unit)
{
    snprintf(cell, TABLE_CELL, "%.*f", unit->decimals, bytes / unit->bytes);
}

static void cell_policy(char cell[TABLE_CELL], const char *typed)
{
    if (strlen(typed) <= TABLE_POLICY)
        snprintf(cell, TABLE_CELL, "%s", typed);
    else
        snprintf(cell, TABLE_CELL, "%.*s...", TABLE_POLICY - 3, typed);
}

static void cell_ooms(char cell[TABLE_CELL], const struct report_run *run)
{
    char n[TEXT_NUMBER];
    if (run->outcome == REPORT_CORRUPT || run->outcome == REPORT_ERROR)
        snprintf(cell, TABLE_CELL, "failed");
    else if (run->meter->ooms == 0)
        snprintf(cell, TABLE_CELL, "0");
    else if (run->first_oom_event < 0)
        snprintf(cell, TABLE_CELL, "%.20s at start", text_count(run->meter->ooms, n));
    else
        snprintf(cell, TABLE_CELL, "%.20s at %" PRId64, text_count(run->meter->ooms, n), run->first_oom_event);
}

static bool ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

static void cell_value(char cell[TABLE_CELL], const struct field *f, const struct table_unit *unit)
{
    if (ends_in(f->name, "_bytes"))
        cell_bytes(cell, (double)f->number, unit);
    else if (ends_in(f->name, "_ns"))
        text_time((uint64_t)f->number, cell);
    else
        text_count((uint64_t)f->number, cell);
}

static void row_fill(char row[FIELDS_MAX][TABLE_CELL], const struct table *t, const struct report_run *run,
                     const struct table_unit *unit)
{
    struct field fields[FIELDS_MAX];
    fields_of_run(run, fields);
    cell_policy(row[0], run->label);
    for (size_t c = 1; c < t->n; c++) {
        const struct field *f = &fields[t->columns[c].at];
        if (strcmp(f->name, "oom_count") == 0)
            cell_ooms(row[c], run);
        else if (strcmp(f->name, "fragmentation_inactive_split_bytes") == 0 && report_has_ranges(run))
            snprintf(row[c], TABLE_CELL, "-");           /* how much of it can be given back was not measured */
        else
            cell_value(row[c], f, unit);
    }
}

/* Widest content of each column. */
static void table_widths(const struct report *r, const struct table *t, const struct table_unit *unit,
                         int width[FIELDS_MAX])
{
    for (size_t c = 0; c < t->n; c++)
        width[c] = (int)strlen(t->columns[c].title);
    for (size_t i = 0; i < r->n_runs; i++) {
        char row[FIELDS_MAX][TABLE_CELL];
        row_fill(row, t, &r->runs[i], unit);
        for (size_t c = 0; c < t->n; c++)
            if ((int)strlen(row[c]) > width[c])
                width[c] = (int)strlen(row[c]);
    }
}

static const char *column_gap(size_t c)
{
    return c == 0 ? "" : "  ";
}

/* The title of a group over `span` letters, with rules on both sides if there is room for them. */
static void print_group(FILE *out, enum table_group group, int span, const struct table_unit *unit)
{
    char title[TABLE_CELL], rule[2 * TABLE_CELL];
    const bool is_bytes = group == GROUP_PEAK || group == GROUP_LOST;
    snprintf(title, sizeof title, " %s%s%s%s ", group_titles[group], is_bytes ? " (" : "", is_bytes ? unit->name : "",
             is_bytes ? ")" : "");
    const int rest = span - (int)strlen(title) > 0 ? span - (int)strlen(title) : 0;
    memset(rule, rest < 4 ? ' ' : '-', sizeof rule - 1);
    rule[sizeof rule - 1] = '\0';
    fprintf(out, "%.*s%s%.*s", rest / 2, rule, title, rest - rest / 2, rule);
}

/* The line above the titles. Groups without a title of their own leave it blank, so it ends early. */
static void print_groups(FILE *out, const struct table *t, const struct table_unit *unit, const int width[FIELDS_MAX])
{
    int pending = 0;                            /* spaces that are only written before something */
    for (size_t c = 0; c < t->n;) {
        const enum table_group group = t->columns[c].group;
        int span = width[c];
        pending += (int)strlen(column_gap(c));
        for (c++; c < t->n && t->columns[c].group == group; c++)
            span += 2 + width[c];
        if (group_titles[group][0] == '\0') {
            pending += span;
            continue;
        }
        fprintf(out, "%*s", pending, "");
        print_group(out, group, span, unit);
        pending = 0;
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const struct table *t, const char *const cells[FIELDS_MAX],
                      const int width[FIELDS_MAX])
{
    for (size_t c = 0; c < t->n; c++)
        fprintf(out, "%s%*s", column_gap(c), c == 0 ? -width[c] : width[c], cells[c]);
    fputc('\n', out);
}

static void print_table(FILE *out, const struct report *r)
{
    const struct table t = table_columns();
    const struct table_unit unit = table_unit(r);
    int width[FIELDS_MAX];
    const char *cells[FIELDS_MAX];
    table_widths(r, &t, &unit, width);
    print_groups(out, &t, &unit, width);
    for (size_t c = 0; c < t.n; c++)
        cells[c] = t.columns[c].title;
    print_row(out, &t, cells, width);
    for (size_t i = 0; i < r->n_runs; i++) {
        char row[FIELDS_MAX][TABLE_CELL];
        row_fill(row, &t, &r->runs[i], &unit);
        for (size_t c = 0; c < t.n; c++)
            cells[c] = row[c];
        print_row(out, &t, cells, width);
    }
}

static void print_trace(FILE *out, const struct report_trace *t)
{
    struct words w = { .n = 0 };
    char a[UNITS_TEXT], n[TEXT_NUMBER], k[TEXT_NUMBER];
    words_add(&w, "Trace: %s (%s): %s events, %s requests, %s; at most %s requested at once", t->path, t->source,
              text_count(t->events, n), text_count(t->allocs, k),
              t->starts_mid_run ? "starting in mid-run" : "from the start",
              units_format_bytes(t->peak_requested_bytes, a));
    if (t->recorded_peak_reserved_bytes > 0)
        words_add(&w, ", %s reserved when recorded", units_format_bytes(t->recorded_peak_reserved_bytes, a));
    words_print(out, &w, 0, 8);
}

void report_table(FILE *out, const struct report *r)
{
    fprintf(out, "Device: %s\n", r->headline);          /* one line, whatever its length */
    print_trace(out, &r->trace);
    fputc('\n', out);
    print_table(out, r);
    fputc('\n', out);

    report_words(out, r);
    report_measured(out, r);
    report_comparisons(out, r);
}
