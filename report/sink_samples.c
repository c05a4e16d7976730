/* Samples in memory: some hundred bytes each, one per mark of the trace and as many as were asked for. */
#include "report/sink_samples.h"

#include "report/csv.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

struct sink_samples {
    struct sink base;                        /* first, so the two pointers convert */
    struct meter_sample *at;
    size_t n, cap;
};

static enum err sink_samples_sample(struct sink *sink, const struct meter_sample *m)
{
    struct sink_samples *s = (struct sink_samples *)sink;
    if (s->n == s->cap) {
        const size_t cap = s->cap == 0 ? 1024 : 2 * s->cap;
        struct meter_sample *grown = realloc(s->at, cap * sizeof *grown);
        if (grown == NULL)
            return ERR_HOST_NOMEM;
        s->at = grown;
        s->cap = cap;
    }
    s->at[s->n++] = *m;
    return ERR_OK;
}

static const struct sink_ops sink_samples_ops = {
    .abi    = 1,
    .size   = sizeof(struct sink_ops),
    .name   = "samples",
    .sample = sink_samples_sample,
};

enum err sink_samples_create(struct sink **out)
{
    struct sink_samples *s = calloc(1, sizeof *s);
    if (s == NULL)
        return ERR_HOST_NOMEM;
    s->base.ops = &sink_samples_ops;
    *out = &s->base;
    return ERR_OK;
}

void sink_samples_destroy(struct sink *sink)
{
    struct sink_samples *s = (struct sink_samples *)sink;
    if (s == NULL)
        return;
    free(s->at);
    free(s);
}

void sink_samples_write_header(FILE *out)
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

void sink_samples_write(FILE *out, const struct sink *sink, const char *policy, const struct meter_sample *peak,
                        const struct trace_labels *labels)
{
    const struct sink_samples *s = (const struct sink_samples *)sink;
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
