/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Adds segment events up. */
#include "replay/results/recorded_reserved.h"

#include <stdlib.h>
#include <string.h>

static bool grows(const struct trace_segment_event *g)
{
    return g->kind == TRACE_SEGMENT_ALLOC || g->kind == TRACE_SEGMENT_MAP;
}

/* Writes a change for each moment that has one; returns how many. 0: more is given back than there was. */
static size_t add_up(uint64_t start_bytes, const struct trace_segment_event *events, size_t n,
                     struct reserved_change *out)
{
    size_t n_out = 0;
    out[n_out++] = (struct reserved_change){ .moment = 0, .bytes = start_bytes };
    for (size_t i = 0; i < n; i++) {
        const uint64_t bytes = out[n_out - 1].bytes, moment = events[i].before + 1;
        if (grows(&events[i]) ? bytes + events[i].bytes < bytes : bytes < events[i].bytes)
            return 0;
        if (out[n_out - 1].moment != moment)
            out[n_out++].moment = moment;
        out[n_out - 1].bytes = grows(&events[i]) ? bytes + events[i].bytes : bytes - events[i].bytes;
    }
    return n_out;
}

static uint64_t most_of(const struct reserved_change *at, size_t n)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = at[i].bytes > most ? at[i].bytes : most;
    return most;
}

/* Of at least RESERVED_CHANGES_MAX changes keeps in each stretch the highest, and the last, which holds on. */
static size_t thin(struct reserved_change *at, size_t n)
{
    const size_t n_stretches = RESERVED_CHANGES_MAX / 2;
    size_t kept = 0;
    for (size_t k = 0; k < n_stretches; k++) {
        const size_t from = n / n_stretches * k + n % n_stretches * k / n_stretches;
        const size_t end = n / n_stretches * (k + 1) + n % n_stretches * (k + 1) / n_stretches;
        size_t highest = from;
        for (size_t i = from; i < end; i++)
            highest = at[i].bytes > at[highest].bytes ? i : highest;
        at[kept++] = at[highest];
        if (highest + 1 < end)
            at[kept++] = at[end - 1];
    }
    return kept;
}

/* Whether nothing was taken or given back: a snapshot has every such event, so that without any the amount stayed. */
static bool is_constant(const struct trace_reader *trace)
{
    const struct trace_info *info = trace_info(trace);
    const char *source = trace_meta(trace, "source");
    return source != NULL && strcmp(source, "pytorch-snapshot") == 0 && info->recorded_peak_reserved_bytes > 0 &&
           info->recorded_start_reserved_bytes == info->recorded_peak_reserved_bytes &&
           info->recorded_end_reserved_bytes == info->recorded_peak_reserved_bytes;
}

enum err recorded_reserved_read(struct trace_reader *trace, struct recorded_reserved *out, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    const struct trace_segment_event *events;
    size_t n;
    *out = (struct recorded_reserved){ .n = 0 };
    const enum err e = trace_segment_events(trace, &events, &n, err);
    if (e != ERR_OK || (n == 0 && !is_constant(trace)))
        return e;
    out->at = calloc(n + 1, sizeof *out->at);
    if (out->at == NULL)
        return err_no_memory(err);
    out->n = add_up(info->recorded_start_reserved_bytes, events, n, out->at);
    if (most_of(out->at, out->n) != info->recorded_peak_reserved_bytes)
        out->n = 0;
    if (out->n > RESERVED_CHANGES_MAX)
        out->n = 1 + thin(out->at + 1, out->n - 1);
    return ERR_OK;
}

void recorded_reserved_close(struct recorded_reserved *r)
{
    free(r->at);
    *r = (struct recorded_reserved){ .n = 0 };
}
