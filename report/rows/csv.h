/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Parts of every CSV writer. */
#ifndef REPLAY_REPORT_ROWS_CSV_H
#define REPLAY_REPORT_ROWS_CSV_H

#include "report/text/fields.h"
#include "report/measure/meter.h"

#include <stdio.h>

/* A field of text, in quotes if it holds a comma, a quote or a line break (RFC 4180), or a semicolon or a tab, at
 * which some programs part cells. */
void csv_text(FILE *out, const char *text);

/* The gauges, with a comma before each. */
void csv_bytes(FILE *out, const struct meter_bytes *b);

/* A line of names; a line of values, with an empty field for a null. */
void csv_fields_names(FILE *out, const struct field *fields, size_t n);
void csv_fields(FILE *out, const struct field *fields, size_t n);

#endif
