/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The innermost frame that decides wins: a backward pass inside an optimizer's step is a backward pass. A closure that
 * the step calls is what it does itself: Lightning's whole training step is one. */
#include "replay/recording/phases.h"

#include "base/array.h"
#include "base/intern.h"
#include "traces/stack_frame.h"

#include <stdlib.h>
#include <string.h>

/* In torch.nn.Module._apply of all releases, parameters are moved at least so many lines above buffers. */
enum { BUFFER_LINES = 20 };
enum { SIDES = 4096 };

/* ---- stacks ---- */

static bool is_optimizer(const struct stack_frame *f)
{
    static const char *const files[] = { "optimizer.py", "adam.py", "adamw.py", "sgd.py" };
    bool is_file = stack_frame_is_in(f, "torch/optim");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        is_file = is_file || stack_frame_file_ends(f, files[i]);
    return is_file && !stack_frame_file_ends(f, "lr_scheduler.py");
}

/* Optimizer.load_state_dict moves each state to where its weight is. */
static bool is_loading_states(const struct stack_frame *f)
{
    return stack_frame_is_torch(f) && is_optimizer(f) && stack_frame_is_named(f, "load_state_dict");
}

static bool is_checkpoint(const struct stack_frame *f)
{
    return stack_frame_file_ends(f, "checkpoint.py") &&
           (stack_frame_is_named(f, "unpack_hook") || stack_frame_is_named(f, "backward") ||
            stack_frame_is_named(f, "recompute_fn"));
}

/* torch.utils.checkpoint, which keeps the inputs of a module alone. */
static bool is_of_checkpoint(const struct stack_frame *f)
{
    return stack_frame_is_in(f, "torch/utils") && stack_frame_file_ends(f, "checkpoint.py");
}

/* The call that runs a backward pass: Tensor.backward, torch.autograd.backward and grad, and the engine's. */
static bool is_engine(const struct stack_frame *f)
{
    return (stack_frame_is_in(f, "torch/autograd") || stack_frame_file_ends(f, "_tensor.py") ||
            stack_frame_file_ends(f, "graph.py")) &&
           (stack_frame_is_named(f, "backward") || stack_frame_is_named(f, "_engine_run_backward") ||
            stack_frame_is_named(f, "grad") || stack_frame_is_named(f, "_make_grads"));
}

static bool is_buckets(const struct stack_frame *f)
{
    return stack_frame_is_in(f, "torch/nn/parallel") && stack_frame_file_ends(f, "distributed.py") &&
           (stack_frame_is_named(f, "_ddp_init_helper") || stack_frame_is_named(f, "_pre_forward"));
}

static bool is_apply(const struct stack_frame *f)
{
    return stack_frame_file_ends(f, "module.py") && stack_frame_is_named(f, "_apply");
}

/* An RNN puts its weights into one piece after it was moved. */
static bool is_flattening(const struct stack_frame *f)
{
    return stack_frame_file_ends(f, "modules/rnn.py") && stack_frame_is_named(f, "flatten_parameters");
}

static bool is_setup(const struct stack_frame *f)
{
    return is_apply(f) || stack_frame_file_ends(f, "serialization.py") || stack_frame_is_named(f, "__init__") ||
           stack_frame_is_named(f, "__deepcopy__") || stack_frame_is_named(f, "reset_parameters") ||
           is_flattening(f);
}

/* What one frame decides by itself; PHASE_OWN: nothing. */
static enum phase phase_of_frame(const struct stack_frame *f)
{
    if (!stack_frame_is_torch(f))
        return PHASE_OWN;
    return is_optimizer(f) ? PHASE_OPTIMIZER : is_checkpoint(f) ? PHASE_RECOMPUTE : is_engine(f) ? PHASE_BACKWARD
           : is_buckets(f) ? PHASE_BUCKETS : PHASE_OWN;
}

/* A thread of autograd that runs Python has a Function's apply at its bottom, and a native one its thread's main. What
 * stands in for cuDNN's attention on the simulated card is called by that thread itself. */
static bool is_autograd_bottom(const struct stack_frame *f)
{
    return (stack_frame_file_ends(f, "replay_attention.py") && stack_frame_is_named(f, "backward")) ||
           (stack_frame_is_torch(f) && stack_frame_file_ends(f, "function.py") && stack_frame_is_named(f, "apply")) ||
           strstr(f->name, "torch::autograd::Engine::thread_main") != NULL;
}

static bool is_loading_frame(const struct stack_frame *f)
{
    return (stack_frame_is_torch(f) && (stack_frame_file_ends(f, "torch/serialization.py") ||
                                        stack_frame_file_ends(f, "_weights_only_unpickler.py"))) ||
           stack_frame_file_ends(f, "safetensors/torch.py");
}

bool stack_loads_file(const struct trace_reader *trace, uint32_t stack)
{
    const char *const *frames;
    const size_t n = trace_stack(trace, stack, &frames);
    return stack_frames_any(frames, n, is_loading_frame);
}

static bool is_copying_frame(const struct stack_frame *f)
{
    return stack_frame_is_named(f, "__deepcopy__") || stack_frame_is_named(f, "deepcopy");
}

bool stack_copies_module(const struct trace_reader *trace, uint32_t stack)
{
    const char *const *frames;
    const size_t n = trace_stack(trace, stack, &frames);
    return stack_frames_any(frames, n, is_copying_frame);
}

static bool is_closure(const struct stack_frame *f)
{
    return stack_frame_is_named(f, "closure") || stack_frame_is_named(f, "_wrap_closure");
}

static enum phase phase_of_frames(const char *const *frames, size_t n)
{
    bool has_python = false, has_module = false, has_closure = false, has_setup = false, is_autograd = false;
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        const bool is_python = stack_frame_is_python(&f) || stack_frame_is_program(&f);
        const enum phase phase = is_python ? phase_of_frame(&f) : PHASE_OWN;
        if (phase == PHASE_OPTIMIZER && (has_module || has_closure))
            return has_module ? PHASE_FORWARD : PHASE_OWN;
        if (phase == PHASE_OPTIMIZER && stack_frames_any(frames + i, n - i, is_loading_states))
            return PHASE_STATES;
        if (phase != PHASE_OWN)
            return phase;
        has_python = has_python || is_python;
        has_closure = has_closure || is_closure(&f);
        has_module = has_module || (stack_frame_file_ends(&f, "module.py") && stack_frame_is_named(&f, "_call_impl"));
        has_setup = has_setup || is_setup(&f);
        is_autograd = i + 1 == n && is_autograd_bottom(&f);
    }
    return !has_python || is_autograd ? PHASE_BACKWARD
           : has_module               ? PHASE_FORWARD
           : has_setup                ? PHASE_SETUP
                                      : PHASE_OWN;
}

/* The line of the innermost frame of Module._apply; 0: there is none, or it moves nothing itself. */
static uint32_t apply_line(const char *const *frames, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (is_apply(&f) || is_flattening(&f))
            return is_apply(&f) ? f.line : 0;
    }
    return 0;
}

/* One stack of n frames; its line in `lines`. False without memory. */
static bool read_stack(struct phases *p, uint32_t stack, const char *const *frames, size_t n, struct text_table *lines)
{
    const size_t n_code = stack_frames_of_code(frames, n);
    const char *line = stack_frame_of_program(frames, n_code);
    p->of_stack[stack] = (uint8_t)phase_of_frames(frames, n_code);
    p->is_checkpointing = p->is_checkpointing || stack_frames_any(frames, n_code, is_of_checkpoint);
    p->has_python = p->has_python || p->of_stack[stack] != PHASE_BACKWARD;
    p->line_of[stack] = text_table_put(lines, line == NULL ? "" : line, line == NULL ? 0 : strlen(line));
    return p->line_of[stack] != UINT32_MAX;
}

/* Parameters and buffers are moved by one function, on different lines of it. */
static void find_buffers(struct phases *p, const uint32_t *apply, size_t n_stacks)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 1; i <= n_stacks; i++)
        least = p->of_stack[i] == PHASE_SETUP && apply[i] > 0 && apply[i] < least ? apply[i] : least;
    for (size_t i = 1; i <= n_stacks; i++)
        if (p->of_stack[i] == PHASE_SETUP && apply[i] > 0 && apply[i] >= least + BUFFER_LINES)
            p->of_stack[i] = PHASE_BUFFER;
}

static enum err read_stacks(struct trace_reader *trace, struct phases *p, struct err_detail *err)
{
    const size_t n_stacks = trace_info(trace)->n_stacks;
    const char *const *frames;
    struct text_table lines = { .n = 0 };
    uint32_t *apply = calloc(n_stacks + 1, sizeof *apply);
    p->of_stack = calloc(n_stacks + 1, 1);
    p->line_of = calloc(n_stacks + 1, sizeof *p->line_of);
    p->released = calloc(n_stacks + 1, sizeof *p->released);     /* no more lines than stacks, and none */
    bool has_memory = apply != NULL && p->of_stack != NULL && p->line_of != NULL && p->released != NULL &&
                      text_table_put(&lines, "", 0) == 0;        /* the line of what has none */
    if (has_memory)
        p->of_stack[TRACE_NO_STACK] = PHASE_BACKWARD;
    for (uint32_t i = 1; has_memory && i <= n_stacks; i++) {
        const size_t n = trace_stack(trace, i, &frames);
        has_memory = read_stack(p, i, frames, n, &lines);
        apply[i] = p->of_stack[i] == PHASE_SETUP ? apply_line(frames, n) : 0;
    }
    if (has_memory)
        find_buffers(p, apply, n_stacks);
    text_table_free(&lines);
    free(apply);
    return has_memory ? ERR_OK : err_no_memory(err);
}

/* ---- stretches ---- */

struct birth {
    uint64_t stretch;                /* start of the stretch it was born in */
    uint32_t stack;
    bool     is_live;
};

struct stretch_pass {
    struct phases *p;
    struct trace_reader *trace;
    struct birth *births;            /* by slot */
    uint64_t  now;                   /* the start of the stretch that goes on */
    uint64_t  last_backward;         /* start of the last one; UINT64_MAX: none yet */
    int       phase;                 /* that goes on; -1: none yet */
};

bool phase_starts_add(struct phase_starts *s, uint64_t event)
{
    uint64_t *at = array_grow(s->at, s->n, &s->room, sizeof *at);
    if (at == NULL)
        return false;
    s->at = at;
    s->at[s->n++] = event;
    return true;
}

static bool take_request(struct stretch_pass *s, const struct event *ev, uint64_t event, uint32_t stack)
{
    const int phase = s->p->of_stack[stack];
    if (phase != s->phase) {
        s->phase = phase;
        s->now = event;
        if (phase == PHASE_BACKWARD)
            s->last_backward = event;
        if (!phase_starts_add(&s->p->starts[phase], event) || !phase_starts_add(&s->p->all, event))
            return false;
    }
    s->births[ev->slot] = (struct birth){ .stretch = s->now, .stack = stack, .is_live = true };
    return true;
}

/* What a forward stretch made goes on living in a backward pass: the stretch left a graph. If no backward pass has
 * come, it may still; but what is never freed is no part of a graph once one has come. */
static bool end_life(struct stretch_pass *s, uint32_t slot, bool is_ended, uint32_t free_stack)
{
    struct birth *b = &s->births[slot];
    const bool has_backward = s->last_backward != UINT64_MAX && s->last_backward > b->stretch;
    const enum phase born = (enum phase)s->p->of_stack[b->stack], freed = (enum phase)s->p->of_stack[free_stack];
    if (!b->is_live)
        return true;
    b->is_live = false;
    if (is_ended && has_backward && born == PHASE_OWN)
        s->p->released[s->p->line_of[b->stack]] += freed == PHASE_BACKWARD || freed == PHASE_RECOMPUTE ? 1 : -1;
    return born != PHASE_FORWARD || is_ended != has_backward || phase_starts_add(&s->p->graphs, b->stretch);
}

static enum err read_chunk(struct stretch_pass *s, const struct event *ev, size_t n, uint64_t first,
                           struct trace_side sides[static SIDES], struct err_detail *err)
{
    enum err e = ERR_OK;
    bool has_memory = true;
    for (size_t i = 0; e == ERR_OK && i < n && has_memory; i++) {
        if (i % SIDES == 0)
            e = trace_sides(s->trace, first + i, n - i < SIDES ? n - i : SIDES, sides, err);
        if (e == ERR_OK && ev[i].kind == EVENT_ALLOC)
            has_memory = take_request(s, &ev[i], first + i, sides[i % SIDES].stack);
        else if (e == ERR_OK && (ev[i].kind == EVENT_FREE || ev[i].kind == EVENT_FREE_REQUESTED))
            has_memory = end_life(s, ev[i].slot, true, sides[i % SIDES].stack);
        else if (e == ERR_OK && ev[i].kind == EVENT_OOM)
            has_memory = phase_starts_add(&s->p->refusals, first + i);
    }
    return e == ERR_OK && !has_memory ? err_no_memory(err) : e;
}

static enum err read_events(struct stretch_pass *s, struct trace_side sides[static SIDES], struct err_detail *err)
{
    const uint64_t events = trace_info(s->trace)->events;
    const struct event *ev;
    uint64_t first = 0;
    enum err e = trace_seek(s->trace, 0, err);
    for (size_t n = 1; e == ERR_OK && first < events && n > 0; first += n) {
        e = trace_next(s->trace, &ev, &n, err);
        if (e == ERR_OK)
            e = read_chunk(s, ev, n, first, sides, err);
    }
    for (uint32_t slot = 0; e == ERR_OK && slot < trace_info(s->trace)->peak_live; slot++)
        if (!end_life(s, slot, false, TRACE_NO_STACK))
            e = err_no_memory(err);
    return e;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

enum err phases_read(struct trace_reader *trace, struct phases *out, struct err_detail *err)
{
    const size_t n_slots = trace_info(trace)->peak_live;
    struct stretch_pass s = { .p = out, .trace = trace, .phase = -1, .last_backward = UINT64_MAX };
    *out = (struct phases){ .of_stack = NULL };
    enum err e = read_stacks(trace, out, err);
    if (e != ERR_OK || !out->has_python)
        return e;
    struct trace_side *sides = malloc(SIDES * sizeof *sides);
    s.births = calloc(n_slots + 1, sizeof *s.births);
    e = sides == NULL || s.births == NULL ? err_no_memory(err) : ERR_OK;
    if (e == ERR_OK)
        e = read_events(&s, sides, err);
    if (e == ERR_OK && out->graphs.n > 0)
        qsort(out->graphs.at, out->graphs.n, sizeof *out->graphs.at, compare_numbers);
    free(sides);
    free(s.births);
    return e;
}

void phases_close(struct phases *p)
{
    for (size_t i = 0; i < PHASES; i++)
        free(p->starts[i].at);
    free(p->all.at);
    free(p->graphs.at);
    free(p->refusals.at);
    free(p->released);
    free(p->line_of);
    free(p->of_stack);
    *p = (struct phases){ .of_stack = NULL };
}

static size_t starts_up_to(const struct phase_starts *s, uint64_t event)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->at[middle] > event)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

size_t phase_starts_up_to(const struct phase_starts *s, int64_t event)
{
    return event < 0 ? 0 : starts_up_to(s, (uint64_t)event);
}

uint64_t phase_starts_after(const struct phase_starts *s, uint64_t event)
{
    const size_t i = starts_up_to(s, event);
    return i < s->n ? s->at[i] : UINT64_MAX;
}

uint64_t phase_starts_before(const struct phase_starts *s, uint64_t event)
{
    const size_t i = starts_up_to(s, event);
    return i > 0 ? s->at[i - 1] : UINT64_MAX;
}

uint64_t phases_last_learning(const struct phases *p, uint64_t until)
{
    uint64_t last = 0;
    for (int i = 0; i < 2; i++) {
        const uint64_t at = phase_starts_before(&p->starts[i == 0 ? PHASE_BACKWARD : PHASE_OPTIMIZER], until);
        last = at != UINT64_MAX && at > last ? at : last;
    }
    return last;
}

uint64_t phases_most_calls(const struct phases *p, uint64_t until)
{
    const struct phase_starts *forward = &p->starts[PHASE_FORWARD], *backward = &p->starts[PHASE_BACKWARD];
    uint64_t most = 0, n = 0;
    size_t f = 0;
    for (size_t b = 0; b < backward->n && backward->at[b] < until; b++, n = 0) {
        for (; f < forward->n && forward->at[f] < backward->at[b]; f++)
            n++;
        most = n > most ? n : most;
    }
    return most;
}
