/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The rule that makes figures lower bounds. A study asks it of a trace, a verdict of a database's row.
 */
#ifndef REPLAY_REPORT_ROWS_PARTIAL_RECORDING_H
#define REPLAY_REPORT_ROWS_PARTIAL_RECORDING_H

#include <stdbool.h>

/* Whether a program may have needed more than its recording shows: a request was refused, or a part is missing. The
 * words are those of the columns trace_begins and trace_ends (report/rows/result_columns.def). The view `fits` of a
 * database has the same rule (report/rows/sql/schema.sql). */
bool recording_is_partial(bool has_refusal, const char *begins, const char *ends);

#endif
