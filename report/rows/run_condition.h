/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A condition on runs, as a person types it: "reserved_peak > 22GiB", "outcome != ok", "device_time_ns >= 50ms".
 */
#ifndef REPLAY_REPORT_ROWS_RUN_CONDITION_H
#define REPLAY_REPORT_ROWS_RUN_CONDITION_H

#include "report/rows/run_table.h"

enum condition_relation { CONDITION_LESS, CONDITION_AT_MOST, CONDITION_EQUAL, CONDITION_UNEQUAL, CONDITION_AT_LEAST,
                          CONDITION_MORE };

struct run_condition {
    const char *column;              /* static */
    enum condition_relation relation;
    enum field_kind kind;            /* of the value on the right: TEXT, or RATIO for any number */
    double      number;              /* in the column's unit */
    const char *text;                /* within the text that was parsed; n_text long */
    size_t      n_text;
};

/* Reads a condition; `text` must outlive it. The column is one of the table `runs`: its words may come in any order,
 * and its unit may be left out. Sizes and times may have units. Blanks around the value do not count. ERR_USAGE with
 * the place; for an unknown name with the nearest one. */
MUST_USE enum err run_condition_parse(const char *text, struct run_condition *out, struct err_detail *err);

/* Whether a run meets the condition; a null never does. */
bool run_condition_holds(const struct run_condition *c, const struct run_table *t, size_t row);

#endif
