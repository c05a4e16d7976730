/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The report for a person at a terminal: the device, the trace, and a row per policy. words.c writes the sentences
 * after the table.
 *
 * All sizes of a table have one unit, so that a column can be compared by eye. Widths come from the content.
 */
#include "base/terminal.h"
#include "base/units.h"
#include "report/rows/result_columns.h"
#include "report/text/text.h"
#include "report/text/terminal_table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { TABLE_POLICY = 36, TABLE_DEVICE = 1024 };

/* A group's title stands above its columns. */
static const char *const group_titles[] = {
    [GROUP_NONE] = "", [GROUP_PEAK] = "peak", [GROUP_LOST] = "lost at that peak", [GROUP_SEGMENTS] = "segments",
    [GROUP_DRIVER] = "driver", [GROUP_OUTCOME] = "",
};
enum { N_GROUPS = sizeof group_titles / sizeof group_titles[0], GROUP_TEXT = 40 };

/* On a narrow terminal these leave, the first of them first. What a person compares stays: the card, the cost, OOMs. */
static const char *const leaving[] = {
    "segments_end", "segments_peak", "fragmentation_inactive_split_bytes", "peak_active_bytes", "peak_allocated_bytes",
    "fragmentation_internal_bytes", "fragmentation_external_bytes", "retries", "device_time_ns", "peak_requested_bytes",
    "device_calls", "peak_reserved_bytes",
};

/* The columns shown: the policy first, then those of result_columns.def that have a title, group by group. */
struct run_columns {
    struct text_column columns[TABLE_COLUMNS_MAX];
    size_t at[TABLE_COLUMNS_MAX];            /* number among the columns of a run; not of the policy's */
    size_t n;
    char   groups[N_GROUPS][GROUP_TEXT];
};

static unsigned leaves(const char *name)
{
    for (size_t i = 0; i < sizeof leaving / sizeof leaving[0]; i++)
        if (strcmp(leaving[i], name) == 0)
            return (unsigned)i + 1;
    return 0;
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

static void columns_choose(struct run_columns *t, const struct table_unit *unit)
{
    size_t n;
    const struct column *all = columns_of(COLUMNS_OF_RUN, &n);
    *t = (struct run_columns){ .n = 1, .columns = { { .title = "policy", .is_left = true } } };
    for (int group = GROUP_NONE + 1; group < N_GROUPS; group++) {
        const bool is_bytes = group == GROUP_PEAK || group == GROUP_LOST;
        snprintf(t->groups[group], GROUP_TEXT, is_bytes ? "%s (%s)" : "%s", group_titles[group], unit->name);
        for (size_t i = 0; i < n; i++) {
            if ((int)all[i].group != group)
                continue;
            assert(t->n < TABLE_COLUMNS_MAX);
            t->at[t->n] = i;
            t->columns[t->n++] = (struct text_column){
                .title = all[i].title, .group = group_titles[group][0] == '\0' ? NULL : t->groups[group],
                .leaves = leaves(all[i].name),
            };
        }
    }
}

static void add_run(struct terminal_table *rows, const struct run_columns *t, const struct report_run *run,
                    const struct table_unit *unit)
{
    struct field fields[FIELDS_MAX];
    char text[TABLE_COLUMNS_MAX][TABLE_CELL];
    const char *cells[TABLE_COLUMNS_MAX];
    fields_of_run(run, fields);
    cell_policy(text[0], run->label);
    for (size_t c = 1; c < t->n; c++) {
        const struct field *f = &fields[t->at[c]];
        if (strcmp(f->name, "oom_count") == 0)
            cell_ooms(text[c], run);
        else
            cell_value(text[c], f, unit);
    }
    for (size_t c = 0; c < t->n; c++)
        cells[c] = text[c];
    terminal_table_add(rows, cells);
}

static enum err print_table(FILE *out, const struct report *r, size_t columns)
{
    const struct table_unit unit = table_unit(r);
    struct run_columns t;
    columns_choose(&t, &unit);
    struct terminal_table rows = { .columns = t.columns, .n_columns = t.n, .bold_row = report_best(r) };
    for (size_t i = 0; i < r->n_runs; i++)
        add_run(&rows, &t, &r->runs[i], &unit);
    return terminal_table_print(out, &rows, columns);
}

static void print_trace(FILE *out, const struct report_trace *t)
{
    struct words w = { .n = 0 };
    char a[UNITS_TEXT], n[TEXT_NUMBER], k[TEXT_NUMBER];
    words_add(&w, "Trace: %s (%s): %s events, %s requests, %s; at most %s requested at once", t->path, t->source,
              text_count(t->events, n), text_count(t->allocs, k),
              t->starts_mid_run ? "begun while memory was live" : "recorded from the start",
              units_format_bytes(t->peak_requested_bytes, a));
    if (t->recorded_peak_reserved_bytes > 0)
        words_add(&w, ", %s reserved when recorded", units_format_bytes(t->recorded_peak_reserved_bytes, a));
    words_print(out, &w, 0, 8);
}

enum err report_table(FILE *out, const struct report *r)
{
    char device[TABLE_DEVICE];
    snprintf(device, sizeof device, "Device: %s", r->headline);
    text_put_line(out, device, 8);
    print_trace(out, &r->trace);
    fputc('\n', out);
    enum err e = report_answer(out, r);
    fputc('\n', out);
    if (e == ERR_OK)
        e = print_table(out, r, r->is_wide ? TERMINAL_ANY : terminal_columns(out));
    fputc('\n', out);
    if (e == ERR_OK)
        e = report_reasons(out, r);
    report_measured(out, r);
    report_comparisons(out, r);
    return e;
}
