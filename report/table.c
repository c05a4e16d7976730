/*
 * The report for a person at a terminal: what it ran on, and a row per policy. What follows is in words.c.
 *
 * All sizes of a table are in one unit, so that a column can be compared by eye. Widths come from the content.
 */
#include "base/units.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { TABLE_CELL = 48, TABLE_POLICY = 36 };

/* X(group, name, title): the columns. A group's title stands above its columns, a rule under it. */
#define TABLE_COLUMNS(X)                                                                                    \
    X(NONE, POLICY, "policy")                                                                               \
    X(PEAK, REQUESTED, "requested") X(PEAK, ALLOCATED, "allocated") X(PEAK, ACTIVE, "active")               \
    X(PEAK, RESERVED, "reserved") X(PEAK, CARD, "nvidia-smi")                                               \
    X(LOST, INTERNAL, "internal") X(LOST, EXTERNAL, "external") X(LOST, PINNED, "pinned")                   \
    X(SEGMENTS, SEGMENTS_PEAK, "peak") X(SEGMENTS, SEGMENTS_END, "end")                                     \
    X(DRIVER, CALLS, "calls") X(DRIVER, TIME, "time")                                                       \
    X(NONE, RETRIES, "retries") X(NONE, OOMS, "OOMs")

enum table_group { GROUP_NONE, GROUP_PEAK, GROUP_LOST, GROUP_SEGMENTS, GROUP_DRIVER };
static const char *const group_titles[] = {
    [GROUP_NONE] = "", [GROUP_PEAK] = "peak", [GROUP_LOST] = "lost at that peak", [GROUP_SEGMENTS] = "segments",
    [GROUP_DRIVER] = "driver",
};

#define TABLE_ENUM(group, name, title) COLUMN_##name,
enum table_column { TABLE_COLUMNS(TABLE_ENUM) COLUMN_COUNT };
#undef TABLE_ENUM

static const struct {
    enum table_group group;
    const char      *title;
} columns[] = {
#define TABLE_ROW(group, name, title) {GROUP_##group, title},
    TABLE_COLUMNS(TABLE_ROW)
#undef TABLE_ROW
};

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

static void row_fill(char row[COLUMN_COUNT][TABLE_CELL], const struct report_run *run, const struct table_unit *unit)
{
    const struct meter *m = run->meter;
    cell_policy(row[COLUMN_POLICY], run->label);
    cell_bytes(row[COLUMN_REQUESTED], (double)m->peak.requested, unit);
    cell_bytes(row[COLUMN_ALLOCATED], (double)m->peak.allocated, unit);
    cell_bytes(row[COLUMN_ACTIVE], (double)m->peak.active, unit);
    cell_bytes(row[COLUMN_RESERVED], (double)m->peak.reserved, unit);
    cell_bytes(row[COLUMN_CARD], (double)run->card_peak_bytes, unit);
    cell_bytes(row[COLUMN_INTERNAL], (double)report_internal_bytes(m), unit);
    cell_bytes(row[COLUMN_EXTERNAL], (double)report_external_bytes(m), unit);
    if (report_has_ranges(run))
        snprintf(row[COLUMN_PINNED], TABLE_CELL, "-");
    else
        cell_bytes(row[COLUMN_PINNED], (double)m->at_peak_sample.inactive_split, unit);
    text_count(run->usage->segments_peak, row[COLUMN_SEGMENTS_PEAK]);
    text_count(run->usage->segments, row[COLUMN_SEGMENTS_END]);
    text_count(run->usage->calls, row[COLUMN_CALLS]);
    text_time(run->usage->time_ns, row[COLUMN_TIME]);
    text_count(run->count->retries, row[COLUMN_RETRIES]);
    cell_ooms(row[COLUMN_OOMS], run);
}

/* Widest content of each column. */
static void table_widths(const struct report *r, const struct table_unit *unit, int width[COLUMN_COUNT])
{
    for (int c = 0; c < COLUMN_COUNT; c++)
        width[c] = (int)strlen(columns[c].title);
    for (size_t i = 0; i < r->n_runs; i++) {
        char row[COLUMN_COUNT][TABLE_CELL];
        row_fill(row, &r->runs[i], unit);
        for (int c = 0; c < COLUMN_COUNT; c++)
            if ((int)strlen(row[c]) > width[c])
                width[c] = (int)strlen(row[c]);
    }
}

static const char *column_gap(int c)
{
    return c == 0 ? "" : "  ";
}

/* The titles of the groups, each between rules over its columns. The last columns have none, so the line ends early. */
static void print_groups(FILE *out, const struct table_unit *unit, const int width[COLUMN_COUNT])
{
    int pending = 0;                            /* spaces that are only written in front of something */
    for (int c = 0; c < COLUMN_COUNT;) {
        const enum table_group group = columns[c].group;
        const char *gap = column_gap(c);
        int span = width[c];
        for (c++; group != GROUP_NONE && c < COLUMN_COUNT && columns[c].group == group; c++)
            span += 2 + width[c];
        pending += (int)strlen(gap);
        if (group == GROUP_NONE) {
            pending += span;
            continue;
        }
        char title[TABLE_CELL], rule[2 * TABLE_CELL];
        const bool is_bytes = group == GROUP_PEAK || group == GROUP_LOST;
        snprintf(title, sizeof title, " %s%s%s%s ", group_titles[group], is_bytes ? " (" : "",
                 is_bytes ? unit->name : "", is_bytes ? ")" : "");
        const int rest = span - (int)strlen(title) > 0 ? span - (int)strlen(title) : 0;
        memset(rule, rest < 4 ? ' ' : '-', sizeof rule - 1);
        rule[sizeof rule - 1] = '\0';
        fprintf(out, "%*s%.*s%s%.*s", pending, "", rest / 2, rule, title, rest - rest / 2, rule);
        pending = 0;
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const char *const cells[COLUMN_COUNT], const int width[COLUMN_COUNT])
{
    for (int c = 0; c < COLUMN_COUNT; c++)
        fprintf(out, "%s%*s", column_gap(c), c == COLUMN_POLICY ? -width[c] : width[c], cells[c]);
    fputc('\n', out);
}

static void print_table(FILE *out, const struct report *r)
{
    const struct table_unit unit = table_unit(r);
    int width[COLUMN_COUNT];
    table_widths(r, &unit, width);
    print_groups(out, &unit, width);
    const char *cells[COLUMN_COUNT];
    for (int c = 0; c < COLUMN_COUNT; c++)
        cells[c] = columns[c].title;
    print_row(out, cells, width);
    for (size_t i = 0; i < r->n_runs; i++) {
        char row[COLUMN_COUNT][TABLE_CELL];
        row_fill(row, &r->runs[i], &unit);
        for (int c = 0; c < COLUMN_COUNT; c++)
            cells[c] = row[c];
        print_row(out, cells, width);
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
