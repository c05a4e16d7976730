/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Keeps samples in memory: about a hundred bytes each, one per mark of the trace plus as many as were asked for. */
#include "report/rows/sample_series.h"

#include "report/rows/csv.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SERIES_FIRST = 1024 };        /* room for so many samples is made at once */

void sample_series_close(struct sample_series *s)
{
    free(s->at);
    *s = (struct sample_series){ .at = NULL };
}

enum err sample_series_add(void *series, const struct meter_sample *m)
{
    struct sample_series *s = series;
    assert(s->n == 0 || s->at[s->n - 1].event <= m->event);
    if (s->n == s->cap) {
        const size_t cap = s->cap == 0 ? SERIES_FIRST : 2 * s->cap;
        struct meter_sample *grown = realloc(s->at, cap * sizeof *grown);
        if (grown == NULL)
            return ERR_HOST_NOMEM;
        s->at = grown;
        s->cap = cap;
    }
    s->at[s->n++] = *m;
    return ERR_OK;
}

void sample_series_write_header(FILE *out)
{
    fputs("policy,kind,event,time_ns", out);
#define METER_GAUGE(name, meaning) "," #name "_bytes"
    fputs(METER_GAUGES(METER_GAUGE), out);
#undef METER_GAUGE
    fputs(",inactive_split_bytes,largest_free_bytes,segments,label\n", out);
}

static void samples_write_row(FILE *out, const char *policy, const char *kind, const struct meter_sample *m,
                              const char *label)
{
    csv_text(out, policy);
    fprintf(out, ",%s,%" PRIu64 ",%" PRIu64, kind, m->event, m->time_ns);
    csv_bytes(out, &m->now);
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", m->inactive_split, m->largest_free, m->segments);
    csv_text(out, label);
    fputc('\n', out);
}

void sample_series_write(FILE *out, const struct sample_series *s, const char *policy, const struct meter_sample *peak,
                        const struct trace_labels *labels)
{
    bool is_peak_due = peak->now.reserved > 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct meter_sample *m = &s->at[i];
        if (is_peak_due && m->event > peak->event) {
            samples_write_row(out, policy, "peak", peak, "");
            is_peak_due = false;
        }
        const bool is_mark = m->label != UINT32_MAX;
        samples_write_row(out, policy, is_mark ? "mark" : i == 0 ? "start" : i + 1 == s->n ? "end" : "sample", m,
                          is_mark ? labels->text(labels->arg, m->label) : "");
    }
    if (is_peak_due)
        samples_write_row(out, policy, "peak", peak, "");
}
