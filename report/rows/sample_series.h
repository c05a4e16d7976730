/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The samples of one run over time: kept while the run lasts, written as CSV when it has ended.
 */
#ifndef REPLAY_REPORT_ROWS_SAMPLE_SERIES_H
#define REPLAY_REPORT_ROWS_SAMPLE_SERIES_H

#include "report/measure/meter.h"

#include <stdio.h>

/* The texts of marks, by their numbers. */
struct trace_labels {
    const char *(*text)(const void *arg, uint32_t label);
    const void *arg;
};

/* Zero is an empty series. */
struct sample_series {
    struct meter_sample *at;         /* n of them, in order of events; owned */
    size_t n, cap;
};

void sample_series_close(struct sample_series *s);

/* Appends a copy of `m`; `series` is a struct sample_series, so that this can be a lane's `sample`. ERR_HOST_NOMEM. */
MUST_USE enum err sample_series_add(void *series, const struct meter_sample *m);

void sample_series_write_header(FILE *out);

/* Writes one row per sample of `policy`'s run, and one for the peak of reserved (`peak`) at its place in the order.
 * Errors of writing stay in the stream. */
void sample_series_write(FILE *out, const struct sample_series *s, const char *policy, const struct meter_sample *peak,
                         const struct trace_labels *labels);

#endif
