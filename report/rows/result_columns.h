/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The columns of results (result_columns.def), and a run as a row of them.
 */
#ifndef REPLAY_REPORT_ROWS_RESULT_COLUMNS_H
#define REPLAY_REPORT_ROWS_RESULT_COLUMNS_H

#include "report/text/fields.h"
#include "report/rows/report.h"

#include <stddef.h>

/* The groups of the terminal's table, in its order. */
enum table_group { GROUP_NONE, GROUP_PEAK, GROUP_LOST, GROUP_SEGMENTS, GROUP_DRIVER, GROUP_OUTCOME };

/* What the values of a column are, unless they are null. */
enum column_values {
    VALUES_TEXT,
    VALUES_COUNT,                    /* whole numbers from 0 on */
    VALUES_WHOLE,
    VALUES_RATIO,                    /* numbers from 0 on */
};

/* One row of result_columns.def; members that its kind lacks are NULL or GROUP_NONE. */
struct column {
    const char *name, *path, *type, *meaning;
    enum table_group group;
    const char *title, *page_title;
    enum column_values values;
};

enum column_kind { COLUMNS_OF_IDENTITY, COLUMNS_OF_TRACE, COLUMNS_OF_CARD, COLUMNS_OF_RUN, COLUMN_KINDS };

/* `policy` and `name` of a run stand before its options. */
enum { RUN_NAMES = 2 };

/* The columns of a kind, in order, n of them. */
const struct column *columns_of(enum column_kind kind, size_t *n);

/* An object of JSON that columns of a run lie in. */
struct column_object {
    const char *path;                /* "oom.first" */
    bool        may_be_null;
    const char *meaning;
};

/* A member of such an object. */
struct column_member {
    const char *name;
    const struct column_object *object;      /* NULL: it is the value of a column */
    size_t      n;                           /* columns that it holds */
};

/*
 * The member that the first of n columns lies in, within the object whose path is the first n_object letters of theirs
 * (0: outside of all):
 *
 *     oom.count              "oom": { "count": 1,
 *     oom.first.event                 "first": { "event": 7,
 *     oom.first.bytes                            "bytes": 512 } }
 */
struct column_member column_member_of(const struct column *columns, size_t n, size_t n_object);

enum { FIELDS_MAX = 64 };            /* of each kind */

/* What the values of all columns are, in the order of a row (results_db_columns). */
void columns_values(enum column_values out[COLUMN_KINDS * FIELDS_MAX]);

/*
 * Makes a value of a stranger's results one of the column's. What other programs write as 3.0 is 3 in a column of whole
 * numbers, and 1 is a ratio in a column of ratios. Returns NULL, or the words for what is needed instead of it.
 */
const char *column_value_take(enum column_values values, struct field *f);

/* Who made the run, and from what. */
struct run_identity;
struct row_identity {
    const struct run_identity *run;
    const char *key;
    const char *job;                 /* NULL: the trace is of no rank, and `rank` does not count */
    int64_t     rank;
};

/* One field for each column of the kind, in order; names alone if the argument is NULL. Texts are borrowed. Returns how
 * many. */
size_t fields_of_identity(const struct row_identity *id, struct field out[FIELDS_MAX]);
size_t fields_of_trace(const struct report_trace *t, struct field out[FIELDS_MAX]);
size_t fields_of_card(const struct device_config *c, struct field out[FIELDS_MAX]);
size_t fields_of_run(const struct report_run *run, struct field out[FIELDS_MAX]);

#endif
