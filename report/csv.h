/* What every CSV writer needs. */
#ifndef REPLAY_REPORT_CSV_H
#define REPLAY_REPORT_CSV_H

#include "report/meter.h"

#include <stdio.h>

/* A field of text, quoted where a comma, a quote or a line break makes it necessary (RFC 4180). */
void csv_text(FILE *out, const char *text);

/* The gauges, each with a comma in front. */
void csv_bytes(FILE *out, const struct meter_bytes *b);

#endif
