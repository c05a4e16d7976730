/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Two passes over a trace. The first finds the peak, the marks and what repeats; the second adds up what is live at the
 * peak and what the step requests. */
#include "replay/diff/memory_profile.h"

#include "base/array.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Repetition is searched in this many requests at the end; stacks are read in batches of this many events. */
enum { SEQUENCE_MAX = 1 << 22, SIDES_BATCH = 1 << 12 };

static enum err no_memory(struct err_detail *why)
{
    return err_set(why, ERR_HOST_NOMEM, 0, "no memory to compare traces");
}

unsigned profile_class(uint64_t bytes)
{
    unsigned k = 9;
    while (k < 64 && bytes > UINT64_C(1) << k)
        k++;
    return k;
}

/* ---- what repeats ---- */

/*
 * The Z function of the reversed sequence (Gusfield, "Algorithms on Strings, Trees, and Sequences", 1997, section 1.4):
 * z[p] is how many elements, counted from the end, equal the element p places before them. For example, p = 2:
 *
 *     values    7  1  2  1  2  1  2        z[2] = 4: each of the last four equals the one two places before it
 */
static void z_backwards(const uint64_t *values, size_t n, uint32_t *z)
{
    size_t left = 0, right = 0;
    for (size_t i = 1; i < n; i++) {
        size_t k = i < right ? z[i - left] : 0;
        if (i < right && k > right - i)
            k = right - i;
        while (i + k < n && values[n - 1 - k] == values[n - 1 - i - k])
            k++;
        z[i] = (uint32_t)k;
        if (i + k > right) {
            left = i;
            right = i + k;
        }
    }
}

enum err profile_period(const uint64_t *values, size_t n, size_t *period, size_t *repeated, struct err_detail *why)
{
    uint32_t *z = malloc((n + 1) * sizeof *z);
    *period = *repeated = 0;
    if (z == NULL)
        return no_memory(why);
    z_backwards(values, n, z);
    for (size_t p = 1; p < n; p++)
        if (z[p] >= p && z[p] + p > *repeated + *period) {
            *period = p;
            *repeated = z[p];
        }
    free(z);
    return ERR_OK;
}

/* ---- the first pass ---- */

struct first_pass {
    struct profile *p;
    uint64_t  live, skip;            /* live bytes now; how many requests to skip before `values` begins */
    uint64_t *values;                /* one number for size, stream and pool of each request */
    size_t    n_values;
    uint64_t (*marks)[3];            /* by label: how many marks, event of the last but one, event of the last */
};

static bool event_frees(const struct event *ev)
{
    return ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED;
}

static void first_event(struct first_pass *f, const struct event *ev, uint64_t number)
{
    if (ev->kind == EVENT_ALLOC) {
        f->live += ev->bytes;
        if (f->live > f->p->peak_bytes) {
            f->p->peak_bytes = f->live;
            f->p->peak_event = number;
        }
        const uint64_t place = (uint64_t)ev->stream << 8 | ev->pool;
        if (f->skip > 0)
            f->skip--;
        else
            f->values[f->n_values++] = ev->bytes ^ place << 40;
    } else if (event_frees(ev)) {
        assert(f->live >= ev->bytes);
        f->live -= ev->bytes;
    } else if (ev->kind == EVENT_MARK) {
        uint64_t *m = f->marks[ev->slot];
        m[0]++;
        m[1] = m[2];
        m[2] = number;
    }
}

static void visit_first(void *arg, const struct event *ev, uint64_t number)
{
    first_event(arg, ev, number);
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

/* Finds the step by the most frequent label, if a label stands twice. */
static bool step_by_mark(const struct first_pass *f, uint32_t n_labels, struct profile_step *step)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < n_labels; i++)
        if (f->marks[i][0] > most) {
            most = f->marks[i][0];
            *step = (struct profile_step){.how = STEP_BY_MARK, .label = i, .first = f->marks[i][1],
                                          .end = f->marks[i][2]};
        }
    return step->how == STEP_BY_MARK;
}

/* Two or three equal requests at the end of a recording are no steps of one request. */
enum { ALONE_REPEATED = 16 };

/* Finds how the step is known. A step by repetition only gets its number of requests here, counted from the end of the
 * trace; the second pass finds its first event. */
static enum err choose_step(const struct first_pass *f, const struct trace_info *info, struct profile_step *step,
                            struct err_detail *why)
{
    size_t period, repeated;
    *step = (struct profile_step){.how = STEP_NONE, .end = info->events};
    if (step_by_mark(f, info->n_labels, step))
        return ERR_OK;
    const enum err e = profile_period(f->values, f->n_values, &period, &repeated, why);
    if (e == ERR_OK && period > 0 && (period > 1 || repeated >= ALONE_REPEATED)) {
        step->how = STEP_BY_REPETITION;
        step->repeated = repeated;
        step->requests = period;
    }
    return e;
}

static enum err pass_first(struct trace_reader *trace, struct profile *p, struct err_detail *why)
{
    const struct trace_info *info = trace_info(trace);
    const uint64_t allocs = info->by_kind[EVENT_ALLOC];
    const size_t kept = allocs > SEQUENCE_MAX ? SEQUENCE_MAX : (size_t)allocs;
    struct first_pass f = {.p = p, .skip = allocs - kept};
    f.values = malloc((kept + 1) * sizeof *f.values);
    f.marks = calloc((size_t)info->n_labels + 1, sizeof *f.marks);
    read_start(trace, p);
    f.live = p->start_bytes;
    enum err e = f.values == NULL || f.marks == NULL ? no_memory(why) : trace_each_event(trace, visit_first, &f, why);
    if (e == ERR_OK)
        e = choose_step(&f, info, &p->step, why);
    free(f.values);
    free(f.marks);
    return e;
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
    struct live_request *live;       /* by slot */
    uint32_t            *line_of;    /* by stack: number of its line + 1; 0: not known yet */
    struct trace_side   *sides;      /* of events [sides_first, sides_first + n_sides) */
    uint64_t             sides_first, n_sides;
    uint64_t             live_bytes, allocs;     /* now; requests so far */
    uint64_t             step_request;           /* STEP_BY_REPETITION: number of the request that begins the step */
    uint64_t             step_start_ns;
    bool                 is_in_step;
    enum err             failure;
    struct err_detail    why;
};

static uint32_t second_stack(struct second_pass *s, uint64_t event)
{
    if (trace_info(s->trace)->n_stacks == 0)
        return TRACE_NO_STACK;
    if (event < s->sides_first || event - s->sides_first >= s->n_sides) {
        const uint64_t left = trace_info(s->trace)->events - event;
        s->n_sides = left < SIDES_BATCH ? left : SIDES_BATCH;
        s->sides_first = event;
        s->failure = trace_sides(s->trace, event, (size_t)s->n_sides, s->sides, &s->why);
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
    struct profile_row *row = table_row(&s->out->lines, name != NULL ? name : "(no stack recorded)", &number);
    if (row == NULL) {
        s->failure = no_memory(&s->why);
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

static void step_begin(struct second_pass *s, uint64_t number, uint64_t time_ns)
{
    struct profile_step *step = &s->p->step;
    s->is_in_step = true;
    s->step_start_ns = time_ns;
    step->first = number;
    step->requests = 0;
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
    const bool is_request = ev->kind == EVENT_ALLOC;
    const bool begins = s->p->step.how == STEP_BY_REPETITION ? is_request && s->allocs == s->step_request
                                                             : number == s->p->step.first;
    if (s->failure != ERR_OK)
        return;
    if (s->is_in_step && number == s->p->step.end)
        s->is_in_step = false;
    if (begins)
        step_begin(s, number, ev->time_ns);
    s->allocs += is_request;
    if (is_request) {
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

static enum err pass_second(struct second_pass *s, struct err_detail *why)
{
    const struct trace_info *info = trace_info(s->trace);
    s->live = calloc((size_t)info->peak_live + 1, sizeof *s->live);
    s->line_of = calloc((size_t)info->n_stacks + 1, sizeof *s->line_of);
    s->sides = calloc(SIDES_BATCH, sizeof *s->sides);
    if (s->live == NULL || s->line_of == NULL || s->sides == NULL)
        return no_memory(why);
    assert(s->p->step.requests <= info->by_kind[EVENT_ALLOC]);
    s->step_request = info->by_kind[EVENT_ALLOC] - s->p->step.requests;
    second_take_start(s);
    const enum err e = trace_each_event(s->trace, visit_second, s, why);
    if (e == ERR_OK && s->failure != ERR_OK && why != NULL)
        *why = s->why;
    return e == ERR_OK ? s->failure : e;
}

enum err profile_read(struct trace_reader *trace, enum profile_side side, struct profile_pair *out,
                      struct err_detail *why)
{
    struct second_pass s = {.trace = trace, .out = out, .p = &out->of[side], .side = side};
    enum err e = pass_first(trace, s.p, why);
    if (e == ERR_OK)
        e = pass_second(&s, why);
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
