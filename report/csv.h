/* What every CSV writer needs. */
#ifndef REPLAY_REPORT_CSV_H
#define REPLAY_REPORT_CSV_H

#include "report/fields.h"
#include "report/meter.h"

#include <stdio.h>

/* A field of text, quoted where a comma, a quote or a line break makes it necessary (RFC 4180). */
void csv_text(FILE *out, const char *text);

/* The gauges, each with a comma in front. */
void csv_bytes(FILE *out, const struct meter_bytes *b);

/* A line of names, and one of values; a null is an empty field. */
void csv_fields_names(FILE *out, const struct field *fields, size_t n);
void csv_fields(FILE *out, const struct field *fields, size_t n);

#endif
