/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A table for a terminal: widths come from the content, and on a narrow terminal columns leave in a fixed order.
 */
#ifndef REPLAY_REPORT_TEXT_TERMINAL_TABLE_H
#define REPLAY_REPORT_TEXT_TERMINAL_TABLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TABLE_COLUMNS_MAX = 32, TABLE_CELL = 48 };

struct text_column {
    const char *title;
    const char *group;               /* stands above the columns that share it; NULL: none */
    bool        is_left;             /* aligned to the left, as names are */
    unsigned    leaves;              /* the order in which columns leave, 1 first; 0: it stays */
};

/* Rows are held as copies. Zero, with `columns` and `n_columns` set, is a table without rows. */
struct terminal_table {
    const struct text_column *columns;       /* borrowed */
    size_t n_columns;                        /* at most TABLE_COLUMNS_MAX */
    char (*cells)[TABLE_CELL];               /* row by row */
    size_t n_rows;
    size_t bold_row;                         /* if the terminal can; n_rows or more: none */
    bool   is_short;                         /* there was no memory for a row */
};

/* Adds a row; a cell longer than TABLE_CELL is cut, and each is one line. */
void terminal_table_add(struct terminal_table *t, const char *const cells[]);

/* Prints titles and rows in lines of at most `columns` letters, as far as leaving columns can do it, names those that
 * left in a line of their own, and empties the table. ERR_HOST_NOMEM, and nothing is printed, if a row is missing. */
MUST_USE enum err terminal_table_print(FILE *out, struct terminal_table *t, size_t columns);

#endif
