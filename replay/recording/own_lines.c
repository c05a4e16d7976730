/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One pass over all events. Parameters are made before their copies, so their sizes are known when a copy is met. */
#include "replay/recording/own_lines.h"

#include "traces/stack_frame.h"

#include <stdlib.h>

/* Scalars are no tensor of anything, and two turns are a loop that makes the next input before it drops the last. */
enum { SIDES = 4096, SCALAR_BYTES = 16, TURNS_KEPT = 3, OTHER_SHARE = 10 };

/* A request that is live: the line that made it, if the program's own. `stack`: of any; UINT32_MAX: older than the
 * recording. */
struct lineage { uint32_t line, stack; bool is_own, is_first; };

struct line_pass {
    struct own_lines *o;
    const struct phases *p;
    struct lineage *live;            /* by slot */
    struct pair_map parameters;      /* (bytes, 0): sizes of what modules are made of */
    struct pair_map alike;           /* (line, bytes): met */
    uint32_t line;                   /* that asked last; UINT32_MAX: none yet */
    int      phase, last_pass;       /* last_pass: forward, backward or optimizer */
    uint64_t stretch, number;        /* where the phase that goes on began; the next event's number */
    uint64_t last_request;           /* its number */
    uint64_t fresh_bytes;            /* of the request just before, */
    uint32_t fresh_slot;             /* and its slot; UINT32_MAX: it is no request */
};

static bool is_new(struct pair_map *m, uint64_t key0, uint64_t key1, bool *has_memory)
{
    if (pair_map_find(m, key0, key1) != NULL)
        return false;
    *has_memory = *has_memory && pair_map_add(m, key0, key1, 0);
    return true;
}

static bool note_change(struct line_pass *s, uint32_t line, int phase)
{
    bool has_memory = true;
    if (phase != s->phase && s->phase != -1)
        has_memory = phase_starts_add(&s->o->ends, s->last_request);
    if (phase != s->phase)
        s->stretch = s->number;
    if (line != s->line || phase != s->phase)
        has_memory = phase_starts_add(&s->o->changes, s->number) && has_memory;
    s->line = line;
    s->phase = phase;
    s->last_request = s->number;
    return has_memory;
}

static bool note_size(struct line_pass *s, uint32_t line, uint64_t bytes)
{
    struct own_line *own = &s->o->of[line];
    bool has_memory = true;
    if (bytes <= SCALAR_BYTES)
        return true;
    own->bytes += bytes;
    if (pair_map_find(&s->parameters, bytes, 0) == NULL)
        return true;
    own->bytes_alike += bytes;
    own->n_sizes += is_new(&s->alike, line, bytes, &has_memory);
    return has_memory;
}

static void note_turn(struct line_pass *s, uint32_t line, struct lineage *one)
{
    struct own_line *own = &s->o->of[line];
    one->is_first = own->last_turn != s->stretch + 1;
    own->last_turn = s->stretch + 1;
    own->n_turns += one->is_first;
    own->asks_afresh = own->asks_afresh || s->last_pass != PHASE_FORWARD;
    own->most_turns = own->n_turns > own->most_turns ? own->n_turns : own->most_turns;
}

/* The request just before goes on living. */
static bool note_lasting(struct line_pass *s)
{
    bool has_memory = true;
    if (s->fresh_slot != UINT32_MAX)
        is_new(&s->o->lasting, s->fresh_bytes, 0, &has_memory);
    s->fresh_slot = UINT32_MAX;
    return has_memory;
}

static bool take_request(struct line_pass *s, const struct event *ev, uint32_t stack)
{
    const uint32_t line = s->p->line_of[stack];
    const enum phase phase = (enum phase)s->p->of_stack[stack];
    struct lineage *one = &s->live[ev->slot];
    bool has_memory = note_lasting(s) && note_change(s, line, (int)phase);
    *one = (struct lineage){ .line = line, .stack = stack, .is_own = phase == PHASE_OWN };
    s->fresh_slot = ev->slot;
    s->fresh_bytes = ev->bytes;
    if (phase == PHASE_SETUP)
        is_new(&s->parameters, ev->bytes, 0, &has_memory);
    if (phase == PHASE_FORWARD || phase == PHASE_BACKWARD || phase == PHASE_OPTIMIZER)
        s->last_pass = (int)phase;
    if (phase != PHASE_OWN)
        return has_memory;
    note_turn(s, line, one);
    return has_memory && note_size(s, line, ev->bytes);
}

static bool is_backward(int phase)
{
    return phase == PHASE_BACKWARD || phase == PHASE_RECOMPUTE;
}

static bool end_life(struct line_pass *s, uint32_t slot, uint32_t free_stack)
{
    struct lineage *one = &s->live[slot];
    const bool has_memory = slot == s->fresh_slot || note_lasting(s);
    s->fresh_slot = UINT32_MAX;
    if (one->is_own && one->is_first)
        s->o->of[one->line].n_turns--;
    s->o->has_free_stacks = s->o->has_free_stacks || (free_stack != TRACE_NO_STACK && one->stack != UINT32_MAX &&
                                                      s->p->line_of[free_stack] != s->p->line_of[one->stack]);
    if (one->is_own) {
        s->o->of[one->line].n_released += is_backward(s->p->of_stack[free_stack]);
        s->o->of[one->line].n_released_within += is_backward(s->phase);
    }
    *one = (struct lineage){ .stack = UINT32_MAX };
    return has_memory;
}

static enum err read_chunk(struct line_pass *s, struct trace_reader *trace, const struct event *ev, size_t n,
                           struct trace_side sides[static SIDES], struct err_detail *err)
{
    enum err e = ERR_OK;
    bool has_memory = true;
    for (size_t i = 0; e == ERR_OK && i < n && has_memory; i++, s->number++) {
        if (i % SIDES == 0)
            e = trace_sides(trace, s->number, n - i < SIDES ? n - i : SIDES, sides, err);
        if (e == ERR_OK && ev[i].kind == EVENT_ALLOC)
            has_memory = take_request(s, &ev[i], sides[i % SIDES].stack);
        else if (e == ERR_OK && (ev[i].kind == EVENT_FREE || ev[i].kind == EVENT_FREE_REQUESTED))
            has_memory = end_life(s, ev[i].slot, sides[i % SIDES].stack);
    }
    return e == ERR_OK && !has_memory ? err_no_memory(err) : e;
}

static enum err read_events(struct line_pass *s, struct trace_reader *trace, struct err_detail *err)
{
    const uint64_t events = trace_info(trace)->events;
    const struct event *ev;
    struct trace_side *sides = malloc(SIDES * sizeof *sides);
    enum err e = sides == NULL ? err_no_memory(err) : trace_seek(trace, 0, err);
    for (size_t n = 1; e == ERR_OK && s->number < events && n > 0;) {
        e = trace_next(trace, &ev, &n, err);
        if (e == ERR_OK)
            e = read_chunk(s, trace, ev, n, sides, err);
    }
    free(sides);
    return e;
}

/* The innermost frame that has a file is torch.nn.modules.conv's. */
static bool is_convolution(const char *const *frames, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (stack_frame_is_python(&f))
            return stack_frame_is_torch(&f) && stack_frame_file_ends(&f, "modules/conv.py");
    }
    return false;
}

static bool is_autograd_grad(const struct stack_frame *f)
{
    return stack_frame_is_in(f, "torch/autograd") && stack_frame_is_named(f, "grad");
}

static void read_stacks(struct trace_reader *trace, struct own_lines *o)
{
    const char *const *frames;
    for (uint32_t i = 1; i <= trace_info(trace)->n_stacks; i++) {
        const size_t n = trace_stack(trace, i, &frames);
        o->convolves[i] = is_convolution(frames, stack_frames_of_code(frames, n));
        o->has_convolutions = o->has_convolutions || o->convolves[i];
        o->asks_gradients = o->asks_gradients || stack_frames_any(frames, n, is_autograd_grad);
    }
}

enum err own_lines_read(struct trace_reader *trace, const struct phases *p, struct own_lines *out,
                        struct err_detail *err)
{
    const size_t n_stacks = trace_info(trace)->n_stacks;
    struct line_pass s = { .o = out, .p = p, .line = UINT32_MAX, .phase = -1, .last_pass = -1,
                           .fresh_slot = UINT32_MAX };
    *out = (struct own_lines){ .of = calloc(n_stacks + 1, sizeof *out->of), .convolves = calloc(n_stacks + 1, 1) };
    s.live = calloc((size_t)trace_info(trace)->peak_live + 1, sizeof *s.live);
    enum err e = out->of == NULL || out->convolves == NULL || s.live == NULL ? err_no_memory(err) : ERR_OK;
    for (uint32_t i = 0; e == ERR_OK && i < trace_info(trace)->peak_live; i++)
        s.live[i].stack = UINT32_MAX;
    if (e == ERR_OK) {
        read_stacks(trace, out);
        e = read_events(&s, trace, err);
    }
    pair_map_free(&s.parameters);
    pair_map_free(&s.alike);
    free(s.live);
    return e;
}

void own_lines_close(struct own_lines *o)
{
    free(o->of);
    free(o->convolves);
    free(o->changes.at);
    free(o->ends.at);
    pair_map_free(&o->lasting);
    *o = (struct own_lines){ .of = NULL };
}

bool own_line_is_per_parameter(const struct own_line *line)
{
    return line->n_sizes >= 2 && line->bytes_alike >= line->bytes - line->bytes / OTHER_SHARE;
}

bool own_line_is_released(const struct own_lines *o, const struct own_line *line)
{
    return (o->has_free_stacks ? line->n_released : line->n_released_within) > 0;
}

bool own_lines_within_backward(const struct own_lines *o, const struct phases *p, uint64_t event)
{
    const uint64_t start = phase_starts_before(&p->all, event);
    const size_t stretch = phase_starts_up_to(&p->all, event > INT64_MAX ? INT64_MAX : (int64_t)event);
    const bool is_in_one = start != UINT64_MAX && (phase_starts_before(&p->starts[PHASE_BACKWARD], event) == start ||
                                                   phase_starts_before(&p->starts[PHASE_RECOMPUTE], event) == start);
    return is_in_one && (stretch > o->ends.n || event < o->ends.at[stretch - 1]);
}

bool own_line_keeps_results(const struct own_line *line)
{
    return !line->asks_afresh && line->most_turns >= TURNS_KEPT;
}
