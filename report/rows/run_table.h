/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Finished runs from anywhere, as one table: what `replay report` reads.
 *
 * Its columns are those of the table `runs` of the database (SCHEMA.md). A column that a source lacks is null: a
 * replay's JSON does not say who made the run, and an older database lacks newer columns.
 */
#ifndef REPLAY_REPORT_ROWS_RUN_TABLE_H
#define REPLAY_REPORT_ROWS_RUN_TABLE_H

#include "base/intern.h"
#include "report/rows/results_db.h"

/* An assumption or a warning of some runs. */
struct run_remark {
    char    *text;
    uint64_t n_runs;                 /* how many runs have it */
    bool     is_warning;
};

struct run_table {
    struct field columns[RESULTS_COLUMNS];   /* the names; no values */
    enum column_values values[RESULTS_COLUMNS];      /* what those of a stranger have to be */
    size_t        n_columns;
    struct field *rows;              /* n_rows of n_columns; texts are owned */
    size_t        n_rows, cap;
    struct run_remark *remarks;      /* in order of their first appearance */
    size_t        n_remarks, room_remarks;
    struct text_table remark_texts;
    struct pair_map remark_of;       /* (number of a text, is_warning) -> index into remarks */
    uint64_t      price_bytes_per_ms;        /* of driver time (winner.h): the price of the first source that has one */
    bool          has_price;         /* a source had one, or the caller set it */
    uint64_t      allowed_bytes;     /* what further rows may take, with their texts (run_table_allow) */
    const char   *allowed_source;
    bool          is_beyond;         /* a row needed more */
};

/* An empty table, with the default price. */
void run_table_open(struct run_table *out);
void run_table_close(struct run_table *t);

/* Rows of a source may take so many bytes, with their texts: a run that is a few bytes of a file takes thousands here.
 * UINT64_MAX: any number, as in the beginning. `source`: borrowed until the next call, for a message. */
void run_table_allow(struct run_table *t, const char *source, uint64_t bytes);

/* Append the runs of a database, or of a JSON of a replay or a sweep. `most_memory`: bytes that the JSON may take once
 * it is parsed. ERR_FORMAT for a text that is neither and for a value that its column cannot have, with what
 * is wrong and where, and for more rows than are allowed;
 * results_db's errors; ERR_HOST_NOMEM. Rows appended before an error stay. */
MUST_USE enum err run_table_add_db(struct run_table *t, struct results_db *db, struct err_detail *err);
MUST_USE enum err run_table_add_json(struct run_table *t, const char *bytes, size_t n, uint64_t most_memory,
                                     const char *name, struct err_detail *err);

/* Appends the runs of a finished report, without its remarks. ERR_HOST_NOMEM. */
MUST_USE enum err run_table_add_report(struct run_table *t, const struct report *r, struct err_detail *err);

/* Appends a copy of a row of another table. ERR_HOST_NOMEM. */
MUST_USE enum err run_table_add_row(struct run_table *t, const struct run_table *from, size_t row,
                                    struct err_detail *err);

/* Moves the rows in which the column is not null to the end of another table. Returns false without memory. */
bool run_table_move_rows(struct run_table *from, const char *column, struct run_table *to);

/* The number of a column, looked for from number `from` <= n_columns on, and then from the first; n_columns: an unknown
 * name. */
size_t run_table_column(const struct run_table *t, const char *name, size_t from);

/* A cell by its column's name; null for an unknown name. */
const struct field *run_table_cell(const struct run_table *t, size_t row, const char *name);

/* Makes a cell a text. False without memory, and for an unknown name. */
bool run_table_set_text(struct run_table *t, size_t row, const char *name, const char *text);

/* The same as a number (0 if the cell is no number), and as a text ("" if it is no text). */
int64_t run_table_number(const struct run_table *t, size_t row, const char *name);
const char *run_table_text(const struct run_table *t, size_t row, const char *name);

/* One row a run, all columns; the first line names them. */
void run_table_write_csv(FILE *out, const struct run_table *t);

/* The rows alone. */
void run_table_write_csv_rows(FILE *out, const struct run_table *t);

#endif
