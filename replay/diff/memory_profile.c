/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Two passes over a trace, after the one that finds its steps. The first finds the peak; the second adds up what is
 * live at the peak and what the step requests. */
#include "replay/diff/memory_profile.h"

#include "base/array.h"
#include "replay/recording/holders.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Stacks are read in batches of this many events. */
enum { SIDES_BATCH = 1 << 12 };

unsigned profile_class(uint64_t bytes)
{
    unsigned k = 9;
    while (k < 64 && bytes > UINT64_C(1) << k)
        k++;
    return k;
}

/* ---- the first pass ---- */

struct first_pass {
    struct profile *p;
    uint64_t live;                   /* bytes now */
};

static bool event_frees(const struct event *ev)
{
    return ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED;
}

static void visit_first(void *arg, const struct event *ev, uint64_t number)
{
    struct first_pass *f = arg;
    if (ev->kind == EVENT_ALLOC) {
        f->live += ev->bytes;
        if (f->live > f->p->peak_bytes) {
            f->p->peak_bytes = f->live;
            f->p->peak_event = number;
        }
    } else if (event_frees(ev)) {
        assert(f->live >= ev->bytes);
        f->live -= ev->bytes;
    }
}

static void read_start(const struct trace_reader *trace, struct profile *p)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(trace, &n);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].slot != TRACE_NO_SLOT && !blocks[i].is_pending) {
            p->start_bytes += blocks[i].requested;
            p->start_requests++;
        }
    p->peak_bytes = p->start_bytes;
    p->peak_event = UINT64_MAX;
}

static enum err find_step(struct trace_reader *trace, struct profile_step *out, struct err_detail *err)
{
    *out = (struct profile_step){.end = trace_info(trace)->events};
    const enum err e = steps_find(trace, &out->found, err);
    if (e == ERR_OK && out->found.how != STEPS_NONE) {
        out->first = out->found.first;
        out->end = out->found.end;
    }
    return e;
}

static enum err pass_first(struct trace_reader *trace, struct profile *p, struct err_detail *err)
{
    read_start(trace, p);
    struct first_pass f = {.p = p, .live = p->start_bytes};
    return trace_each_event(trace, visit_first, &f, err);
}

/* ---- the second pass ---- */

struct live_request {
    uint64_t bytes;                  /* 0: vacant, or freed by the program */
    uint32_t stack;
    bool     is_from_start;
};

struct second_pass {
    struct trace_reader *trace;
    struct profile_pair *out;
    struct profile      *p;
    enum profile_side    side;
    const char          *stackless;  /* what a request without a stack is called, as in `replay who` */
    struct live_request *live;       /* by slot */
    uint32_t            *line_of;    /* by stack: number of its line + 1; 0: not known yet */
    struct trace_side   *sides;      /* of events [sides_first, sides_first + n_sides) */
    uint64_t             sides_first, n_sides;
    uint64_t             live_bytes;             /* now */
    uint64_t             step_start_ns;
    bool                 is_in_step;
    enum err             failure;
    struct err_detail    err;
};

static uint32_t second_stack(struct second_pass *s, uint64_t event)
{
    if (trace_info(s->trace)->n_stacks == 0)
        return TRACE_NO_STACK;
    if (event < s->sides_first || event - s->sides_first >= s->n_sides) {
        const uint64_t left = trace_info(s->trace)->events - event;
        s->n_sides = left < SIDES_BATCH ? left : SIDES_BATCH;
        s->sides_first = event;
        s->failure = trace_sides(s->trace, event, (size_t)s->n_sides, s->sides, &s->err);
        if (s->failure != ERR_OK)
            return TRACE_NO_STACK;
    }
    return s->sides[event - s->sides_first].stack;
}

/* Finds or adds the row of a line by its name. NULL without memory. */
static struct profile_row *table_row(struct profile_table *t, const char *name, uint32_t *number)
{
    const uint32_t n_before = t->names.n;
    *number = text_table_put(&t->names, name, strlen(name));
    struct profile_row *rows = *number == UINT32_MAX ? NULL : array_grow(t->rows, *number, &t->room, sizeof *rows);
    if (rows == NULL)
        return NULL;
    t->rows = rows;
    if (*number == n_before)
        rows[*number] = (struct profile_row){.side = {{0}}};
    return &rows[*number];
}

/* The share of the line that a stack belongs to. NULL without memory, and then s->failure says so. */
static struct profile_share *line_share(struct second_pass *s, uint32_t stack, bool is_from_start)
{
    const char *const *frames = NULL;
    uint32_t number;
    if (stack != TRACE_NO_STACK && s->line_of[stack] != 0)
        return &s->out->lines.rows[s->line_of[stack] - 1].side[s->side];
    const size_t n = stack == TRACE_NO_STACK ? 0 : trace_stack(s->trace, stack, &frames);
    const char *name = is_from_start ? "(before the recording)" : stack_frame_of_program(frames, n);
    struct profile_row *row = table_row(&s->out->lines, name != NULL ? name : s->stackless, &number);
    if (row == NULL) {
        s->failure = err_no_memory(&s->err);
        return NULL;
    }
    if (stack != TRACE_NO_STACK)
        s->line_of[stack] = number + 1;
    return &row->side[s->side];
}

/* Adds up what is live now, at the peak. */
static void second_take_peak(struct second_pass *s)
{
    for (uint32_t slot = 0; slot < trace_info(s->trace)->peak_live && s->failure == ERR_OK; slot++) {
        const struct live_request *r = &s->live[slot];
        if (r->bytes == 0)
            continue;
        struct profile_share *line = line_share(s, r->stack, r->is_from_start);
        struct profile_share *class = &s->out->classes[profile_class(r->bytes)].side[s->side];
        if (line == NULL)
            return;
        line->peak_bytes += r->bytes;
        line->peak_requests++;
        class->peak_bytes += r->bytes;
        class->peak_requests++;
        s->p->peak_requests++;
    }
}

/* Notes how much is live now, in the step. */
static void step_take_level(struct second_pass *s)
{
    struct profile_step *step = &s->p->step;
    if (s->live_bytes > step->peak_bytes)
        step->peak_bytes = s->live_bytes;
    if (s->live_bytes < step->least_bytes)
        step->least_bytes = s->live_bytes;
}

static void step_begin(struct second_pass *s, uint64_t time_ns)
{
    struct profile_step *step = &s->p->step;
    s->is_in_step = true;
    s->step_start_ns = time_ns;
    step->least_bytes = s->live_bytes;
    step_take_level(s);
}

static void step_take_request(struct second_pass *s, const struct event *ev, uint32_t stack)
{
    struct profile_share *line = line_share(s, stack, false);
    struct profile_share *class = &s->out->classes[profile_class(ev->bytes)].side[s->side];
    if (line == NULL)
        return;
    line->step_bytes += ev->bytes;
    line->step_requests++;
    class->step_bytes += ev->bytes;
    class->step_requests++;
    s->p->step.requests++;
    s->p->step.requested_bytes += ev->bytes;
}

static void second_request(struct second_pass *s, const struct event *ev, uint64_t number)
{
    const uint32_t stack = second_stack(s, number);
    assert(ev->slot < trace_info(s->trace)->peak_live);
    s->live[ev->slot] = (struct live_request){.bytes = ev->bytes, .stack = stack};
    s->live_bytes += ev->bytes;
    if (s->is_in_step)
        step_take_request(s, ev, stack);
    if (number == s->p->peak_event)
        second_take_peak(s);
}

static void visit_second(void *arg, const struct event *ev, uint64_t number)
{
    struct second_pass *s = arg;
    if (s->failure != ERR_OK)
        return;
    if (s->is_in_step && number == s->p->step.end)
        s->is_in_step = false;
    if (number == s->p->step.first)
        step_begin(s, ev->time_ns);
    if (ev->kind == EVENT_ALLOC) {
        second_request(s, ev, number);
    } else if (event_frees(ev)) {
        s->live[ev->slot].bytes = 0;
        s->live_bytes -= ev->bytes;
    }
    if (s->is_in_step) {
        step_take_level(s);
        s->p->step.duration_ns = ev->time_ns - s->step_start_ns;
    }
}

static void second_take_start(struct second_pass *s)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(s->trace, &n);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].slot != TRACE_NO_SLOT && !blocks[i].is_pending)
            s->live[blocks[i].slot] = (struct live_request){.bytes = blocks[i].requested, .is_from_start = true};
    s->live_bytes = s->p->start_bytes;
    if (s->p->peak_event == UINT64_MAX)
        second_take_peak(s);
}

static enum err pass_second(struct second_pass *s, struct err_detail *err)
{
    const struct trace_info *info = trace_info(s->trace);
    s->live = calloc((size_t)info->peak_live + 1, sizeof *s->live);
    s->line_of = calloc((size_t)info->n_stacks + 1, sizeof *s->line_of);
    s->sides = calloc(SIDES_BATCH, sizeof *s->sides);
    if (s->live == NULL || s->line_of == NULL || s->sides == NULL)
        return err_no_memory(err);
    second_take_start(s);
    const enum err e = trace_each_event(s->trace, visit_second, s, err);
    if (e == ERR_OK && s->failure != ERR_OK && err != NULL)
        *err = s->err;
    return e == ERR_OK ? s->failure : e;
}

enum err profile_read(struct trace_reader *trace, enum profile_side side, struct profile_pair *out,
                      struct err_detail *err)
{
    struct second_pass s = {.trace = trace, .out = out, .p = &out->of[side], .side = side,
                            .stackless = holders_stackless_name(trace)};
    enum err e = find_step(trace, &s.p->step, err);
    if (e == ERR_OK)
        e = pass_first(trace, s.p, err);
    if (e == ERR_OK)
        e = pass_second(&s, err);
    free(s.live);
    free(s.line_of);
    free(s.sides);
    return e;
}

void profile_close(struct profile_pair *p)
{
    text_table_free(&p->lines.names);
    free(p->lines.rows);
    p->lines.rows = NULL;
}
