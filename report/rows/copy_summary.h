/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The runs of changed copies (`replay sweep --copies`), summed up: one group for each setting, trace and card.
 *
 * A quantile is the value of a run, by nearest rank: of n sorted values the q-th quarter is number ceil(n q / 4). The
 * view `copies` of the database (SCHEMA.md) says the same.
 */
#ifndef REPLAY_REPORT_ROWS_COPY_SUMMARY_H
#define REPLAY_REPORT_ROWS_COPY_SUMMARY_H

#include "report/rows/run_table.h"

/* The least, the three quartiles (the second is the median), and the most. */
enum { QUANTILES = 5 };

/* What quantiles are told of. */
enum copy_figure { COPY_RESERVED, COPY_CARD, COPY_TIME, COPY_FIGURES };

struct copy_group {
    size_t   row;                    /* its first run in the table of copies */
    uint64_t n, n_ok;                /* runs; those that got through: the quantiles are of these */
    int64_t  at[COPY_FIGURES][QUANTILES];
};

struct copy_summary {
    struct run_table   runs;         /* of copies only */
    struct copy_group *groups;       /* in order of their first runs */
    size_t             n;
};

/* Moves the runs of copies out of a table, and sums them up. ERR_HOST_NOMEM. Close it also after an error. */
MUST_USE enum err copy_summary_take(struct run_table *from, struct copy_summary *out);
void copy_summary_close(struct copy_summary *s);     /* zero is accepted */

/* The column of a figure: "peak_reserved_bytes". */
const char *copy_figure_column(enum copy_figure f);

#endif
