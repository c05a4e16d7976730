/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/plan/plan_file.h"

#include "report/rows/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The times of an instance of minimalloc, as its trace is walked. */
struct source_times {
    struct plan_row *rows;
    size_t   *in_slot;               /* request by slot */
    uint64_t *born;                  /* event by request */
    size_t    n;
};

static void times_visit(void *arg, const struct event *ev, uint64_t number)
{
    struct source_times *t = arg;
    if (ev->kind == EVENT_ALLOC) {
        t->in_slot[ev->slot] = t->n;
        t->born[t->n] = number;
        t->rows[t->n++].lower = ev->time_ns;
    } else if (ev->kind == EVENT_FREE) {
        t->rows[t->in_slot[ev->slot]].upper = ev->time_ns;
    }
}

/* The time of the instance at which its trace begins. Traces of before 0.2.0 do not tell. */
static uint64_t first_time(const struct trace_reader *trace)
{
    const char *time = trace_meta(trace, "first_time");
    return time == NULL ? 0 : strtoull(time, NULL, 10);
}

/* The importer keeps an id as the only frame of a call stack. */
static void name_row(const struct trace_reader *trace, const struct trace_side *side, struct plan_row *row)
{
    const char *const *frames;
    const size_t n = trace_stack(trace, side->stack, &frames);
    row->id = side->record - 1;
    row->name = n == 1 ? frames[0] : NULL;
}

/* The trace starts empty, refuses nothing and frees everything: its allocs are the requests. */
static enum err read_source(struct trace_reader *trace, size_t n, struct plan_row *rows, struct err_detail *err)
{
    struct source_times t = { .rows = rows, .born = calloc(n + 1, sizeof *t.born) };
    t.in_slot = calloc((size_t)trace_info(trace)->peak_live + 1, sizeof *t.in_slot);
    enum err e = t.in_slot == NULL || t.born == NULL
                     ? err_no_memory(err)
                     : trace_each_event(trace, times_visit, &t, err);
    const uint64_t first = first_time(trace);
    for (size_t i = 0; i < t.n && e == ERR_OK; i++) {
        struct trace_side side;
        e = trace_side_at(trace, t.born[i], &side, err);
        rows[i].lower += first;
        rows[i].upper += first;
        if (e == ERR_OK)
            name_row(trace, &side, &rows[i]);
    }
    free(t.in_slot);
    free(t.born);
    return e;
}

bool plan_has_times(const struct trace_reader *trace)
{
    const char *source = trace_meta(trace, "source");
    return source != NULL && strcmp(source, "minimalloc") == 0;
}

enum err plan_rows_read(struct trace_reader *trace, const struct lifetimes *l, struct plan_row **out,
                        struct err_detail *err)
{
    struct plan_row *rows = malloc((l->n + 1) * sizeof *rows);
    enum err e = ERR_OK;
    if (rows == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < l->n; i++)
        rows[i] = (struct plan_row){ .id = i, .lower = l->at[i].begin,
                                     .upper = l->at[i].end == UINT32_MAX ? l->n_steps : l->at[i].end };
    if (plan_has_times(trace))
        e = read_source(trace, l->n, rows, err);
    if (e == ERR_OK)
        *out = rows;
    else
        free(rows);
    return e;
}

void plan_file_write(const struct plan_row *rows, const struct lifetimes *l, const uint64_t *offsets,
                     const struct plan_loop *loop, FILE *out)
{
    fprintf(out, "id,lower,upper,size,offset%s\n", loop == NULL ? "" : ",loop");
    for (size_t i = 0; i < l->n; i++) {
        if (rows[i].name != NULL)
            csv_text(out, rows[i].name);
        else
            fprintf(out, "%" PRIu64, rows[i].id);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, rows[i].lower, rows[i].upper, l->at[i].bytes,
                offsets[i]);
        fputs(loop == NULL ? "\n" : i + loop->n_requests < l->n ? ",0\n" : ",1\n", out);
    }
}
