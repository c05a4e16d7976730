/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The files of report/rows/sql as they are in the program: embed/embed.c makes them texts.
 */
#ifndef REPLAY_REPORT_ROWS_RESULTS_SQL_H
#define REPLAY_REPORT_ROWS_RESULTS_SQL_H

extern const unsigned char results_schema_sql[];     /* statements */
extern const unsigned char results_best_sql[], results_copies_sql[], results_cases_sql[], results_remarks_sql[];

#endif
