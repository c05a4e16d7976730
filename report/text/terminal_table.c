/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "report/text/terminal_table.h"

#include "base/shown.h"
#include "base/terminal.h"
#include "report/text/text.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 2 };

/* A table as it is printed: the columns that stay, and their widths. */
struct layout {
    size_t at[TABLE_COLUMNS_MAX];            /* numbers of columns */
    size_t n;
    int    width[TABLE_COLUMNS_MAX];         /* by number of the column */
    bool   has_left[TABLE_COLUMNS_MAX];
};

void terminal_table_add(struct terminal_table *t, const char *const cells[])
{
    char (*grown)[TABLE_CELL] = t->is_short ? NULL : realloc(t->cells, (t->n_rows + 1) * t->n_columns * sizeof *grown);
    t->is_short = grown == NULL;
    if (t->is_short)
        return;
    t->cells = grown;
    for (size_t c = 0; c < t->n_columns; c++) {
        char *cell = grown[t->n_rows * t->n_columns + c];
        snprintf(cell, TABLE_CELL, "%s", cells[c]);
        shown_join(cell);
    }
    t->n_rows++;
}

static const char *cell(const struct terminal_table *t, size_t row, size_t column)
{
    return t->cells[row * t->n_columns + column];
}

static bool is_same_group(const struct terminal_table *t, size_t a, size_t b)
{
    const char *one = t->columns[a].group, *other = t->columns[b].group;
    return one != NULL && other != NULL && strcmp(one, other) == 0;
}

/* The end of the group that begins at the i-th column that stays, and the letters that it spans. */
static size_t group_end(const struct terminal_table *t, const struct layout *l, size_t i, int *span)
{
    size_t end = i + 1;
    *span = l->width[l->at[i]];
    for (; end < l->n && is_same_group(t, l->at[i], l->at[end]); end++)
        *span += GAP + l->width[l->at[end]];
    return end;
}

/* A column without any text in its rows is not shown. */
static bool has_text(const struct terminal_table *t, size_t column)
{
    bool is_found = t->n_rows == 0;
    for (size_t row = 0; row < t->n_rows && !is_found; row++)
        is_found = cell(t, row, column)[0] != '\0';
    return is_found;
}

/* Takes the columns that have not left, in order, each as wide as its widest text.
 * A group's title widens its last one. */
static void layout_take(const struct terminal_table *t, struct layout *l)
{
    l->n = 0;
    for (size_t c = 0; c < t->n_columns; c++) {
        l->width[c] = (int)strlen(t->columns[c].title);
        for (size_t row = 0; row < t->n_rows; row++)
            if ((int)strlen(cell(t, row, c)) > l->width[c])
                l->width[c] = (int)strlen(cell(t, row, c));
        if (!l->has_left[c] && has_text(t, c))
            l->at[l->n++] = c;
    }
    for (size_t i = 0, end; i < l->n; i = end) {
        int span;
        const char *group = t->columns[l->at[i]].group;
        end = group_end(t, l, i, &span);
        if (group != NULL && span < (int)strlen(group))
            l->width[l->at[end - 1]] += (int)strlen(group) - span;
    }
}

static size_t layout_width(const struct layout *l)
{
    size_t sum = 0;
    for (size_t i = 0; i < l->n; i++)
        sum += (i > 0 ? GAP : 0) + (size_t)l->width[l->at[i]];
    return sum;
}

/* The column that leaves next; n_columns: none. */
static size_t next_to_leave(const struct terminal_table *t, const struct layout *l)
{
    size_t next = t->n_columns;
    for (size_t c = 0; c < t->n_columns; c++)
        if (!l->has_left[c] && has_text(t, c) && t->columns[c].leaves > 0 &&
            (next == t->n_columns || t->columns[c].leaves < t->columns[next].leaves))
            next = c;
    return next;
}

static void layout_fit(const struct terminal_table *t, size_t columns, struct layout *l)
{
    size_t leaving;
    *l = (struct layout){ .n = 0 };
    layout_take(t, l);
    while (layout_width(l) > columns && (leaving = next_to_leave(t, l)) < t->n_columns) {
        l->has_left[leaving] = true;
        layout_take(t, l);
    }
}

/* A group's title over `span` letters, with rules on both sides if there is room for them. Returns the blanks that are
 * still missing. */
static int print_group(FILE *out, const char *title, int span)
{
    static const char rule[] = "--------------------------------------------------------------------------------"
                               "--------------------------------------------------------------------------------";
    const int blanks = span - (int)strlen(title), rest = blanks - 2;
    if (rest < 2) {
        fprintf(out, "%*s%s", blanks / 2, "", title);
        return blanks - blanks / 2;
    }
    fprintf(out, "%.*s %s %.*s", rest / 2, rule, title, rest - rest / 2, rule);
    return 0;
}

/* The line above the titles. It ends with the last group. */
static void print_groups(FILE *out, const struct terminal_table *t, const struct layout *l)
{
    int pending = 0;                         /* spaces that are only written before something */
    bool has_groups = false;
    for (size_t i = 0, end; i < l->n; i = end) {
        int span;
        const char *group = t->columns[l->at[i]].group;
        end = group_end(t, l, i, &span);
        pending += i > 0 ? GAP : 0;
        if (group == NULL) {
            pending += span;
            continue;
        }
        fprintf(out, "%*s", pending, "");
        pending = print_group(out, group, span);
        has_groups = true;
    }
    if (has_groups)
        fputc('\n', out);
}

/* *pending: blanks that are only written before something, so that no line ends in them. */
static void print_cell(FILE *out, const struct terminal_table *t, const struct layout *l, size_t i, const char *text,
                       int *pending)
{
    const int width = l->width[l->at[i]], rest = width - (int)strlen(text);
    const bool is_left = t->columns[l->at[i]].is_left;
    *pending += i > 0 ? GAP : 0;
    if (text[0] == '\0') {
        *pending += width;
        return;
    }
    fprintf(out, "%*s%s", *pending + (is_left ? 0 : rest), "", text);
    *pending = is_left ? rest : 0;
}

enum { TITLES = -1 };

/* A row, or the titles. */
static void print_row(FILE *out, const struct terminal_table *t, const struct layout *l, long row)
{
    int pending = 0;
    for (size_t i = 0; i < l->n; i++)
        print_cell(out, t, l, i, row == TITLES ? t->columns[l->at[i]].title : cell(t, (size_t)row, l->at[i]), &pending);
}

/* "peak: allocated, active; driver: time". A group's unit in brackets is left out. */
static void print_left_out(FILE *out, const struct terminal_table *t, const struct layout *l)
{
    struct words w = { .n = 0 };
    size_t last = t->n_columns;              /* the column named before */
    for (size_t c = 0; c < t->n_columns; c++) {
        const char *group = t->columns[c].group;
        if (!l->has_left[c])
            continue;
        const bool goes_on = last < t->n_columns && is_same_group(t, last, c);
        const bool is_plain = group == NULL && last < t->n_columns && t->columns[last].group == NULL;
        words_add(&w, "%s", last == t->n_columns ? "Left out here: " : goes_on || is_plain ? ", " : "; ");
        if (group != NULL && !goes_on)
            words_add(&w, "%.*s: ", (int)(strcspn(group, "(") - (strchr(group, '(') != NULL)), group);
        words_add(&w, "%s", t->columns[c].title);
        last = c;
    }
    if (w.n == 0)
        return;
    words_add(&w, " (--wide shows all).");
    words_print(out, &w, 0, 2);
}

static void print_rows(FILE *out, const struct terminal_table *t, const struct layout *l)
{
    const bool has_bold = terminal_has_bold(out);
    for (size_t row = 0; row < t->n_rows; row++) {
        const bool is_bold = has_bold && row == t->bold_row;
        if (is_bold)
            terminal_bold(out, true);
        print_row(out, t, l, (long)row);
        if (is_bold)
            terminal_bold(out, false);
        fputc('\n', out);
    }
}

enum err terminal_table_print(FILE *out, struct terminal_table *t, size_t columns)
{
    struct layout l;
    const enum err e = t->is_short ? ERR_HOST_NOMEM : ERR_OK;
    if (e == ERR_OK) {
        layout_fit(t, columns, &l);
        print_groups(out, t, &l);
        print_row(out, t, &l, TITLES);
        fputc('\n', out);
        print_rows(out, t, &l);
        print_left_out(out, t, &l);
    }
    free(t->cells);
    t->cells = NULL;
    t->n_rows = 0;
    t->is_short = false;
    return e;
}
