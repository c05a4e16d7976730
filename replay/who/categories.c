/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Each stack has a phase: what the program was doing. A request's category
 * follows from the phase it was born in and the phases that it lives through.
 *
 *     set up | forward forward | backward backward | optimizer | forward ...
 *     ^ parameter: lives on    |          ^ gradient: lives into the optimizer's step
 *              ^ activation: ends in or after backward
 */
#include "replay/who/categories.h"

#include "base/array.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What a stack shows. PHASE_OTHER: the program's own lines, outside of modules. PHASE_NONE: no stack was looked at. */
enum phase { PHASE_NONE, PHASE_OTHER, PHASE_SETUP, PHASE_BUFFER, PHASE_FORWARD, PHASE_RECOMPUTE, PHASE_BACKWARD,
             PHASE_OPTIMIZER };

/* In torch.nn.Module._apply of all releases the line for buffers is at least so far below the one for parameters. */
enum { BUFFER_LINES = 40 };

const char *category_word(unsigned category)
{
    static const char *const words[] = {
#define CATEGORY(name, word) word,
        CATEGORIES(CATEGORY)
#undef CATEGORY
    };
    assert(category < N_CATEGORIES);
    return words[category];
}

struct phases {
    struct trace_reader *trace;
    uint8_t  *of_stack;              /* by stack */
    struct moments_of { uint64_t *at; size_t n, room; } moments[PHASE_OPTIMIZER + 1];    /* its requests, ascending */
    uint32_t  apply_line;            /* the least innermost line of Module._apply */
};

static bool file_ends(const struct stack_frame *f, const char *name)
{
    const size_t n = strlen(name);
    return f->n_file >= n && memcmp(f->file + f->n_file - n, name, n) == 0 &&
           (f->n_file == n || f->file[f->n_file - n - 1] == '/');
}

static bool is_optimizer(const struct stack_frame *f)
{
    return stack_frame_is_torch(f) && !file_ends(f, "lr_scheduler.py") &&
           (stack_frame_is_in(f, "torch/optim") || file_ends(f, "optimizer.py"));
}

static bool is_apply(const struct stack_frame *f)
{
    return stack_frame_is_torch(f) && file_ends(f, "module.py") && stack_frame_is_named(f, "_apply");
}

/* The line of the innermost frame of Module._apply; 0: there is none. */
static uint32_t apply_line(const char *const *frames, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (is_apply(&f))
            return f.line;
    }
    return 0;
}

static enum phase phase_of_frames(const char *const *frames, size_t n)
{
    bool has_python = false, has_module = false, has_init = false, has_backward = false, has_checkpoint = false;
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (!stack_frame_is_python(&f) && !stack_frame_is_program(&f)) {
            has_backward = has_backward || strstr(f.name, "torch::autograd::Engine::thread_main") != NULL;
            continue;
        }
        has_python = true;
        if (is_optimizer(&f))
            return PHASE_OPTIMIZER;
        has_module = has_module || (file_ends(&f, "module.py") && stack_frame_is_named(&f, "_call_impl"));
        has_init = has_init || is_apply(&f) || stack_frame_is_named(&f, "__init__") || stack_frame_is_named(&f, "reset_parameters");
        has_checkpoint = has_checkpoint || (file_ends(&f, "checkpoint.py") && (stack_frame_is_named(&f, "unpack_hook") ||
                         stack_frame_is_named(&f, "recompute_fn") || stack_frame_is_named(&f, "backward")));
        has_backward = has_backward || (stack_frame_is_in(&f, "torch/autograd") && !file_ends(&f, "grad_mode.py") &&
                                        !stack_frame_is_named(&f, "apply"));
    }
    if (has_checkpoint)
        return PHASE_RECOMPUTE;
    if (!has_python || has_backward)
        return PHASE_BACKWARD;
    return has_module ? PHASE_FORWARD : has_init ? PHASE_SETUP : PHASE_OTHER;
}

static enum err read_stacks(struct phases *p, struct err_detail *why)
{
    const size_t n_stacks = trace_info(p->trace)->n_stacks;
    const char *const *frames;
    p->of_stack = calloc(n_stacks + 1, 1);
    if (p->of_stack == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for the phases of %zu stacks", n_stacks);
    p->of_stack[TRACE_NO_STACK] = n_stacks > 0 ? PHASE_BACKWARD : PHASE_NONE;    /* autograd's threads run no Python */
    p->apply_line = UINT32_MAX;
    for (uint32_t i = 1; i <= n_stacks; i++) {
        const size_t n = trace_stack(p->trace, i, &frames);
        const uint32_t line = apply_line(frames, n);
        p->of_stack[i] = (uint8_t)phase_of_frames(frames, n);
        p->apply_line = line > 0 && line < p->apply_line ? line : p->apply_line;
    }
    for (uint32_t i = 1; i <= n_stacks && p->apply_line < UINT32_MAX; i++) {
        const size_t n = trace_stack(p->trace, i, &frames);
        const uint32_t line = apply_line(frames, n);
        if (p->of_stack[i] == PHASE_SETUP && line >= p->apply_line + BUFFER_LINES)
            p->of_stack[i] = PHASE_BUFFER;
    }
    return ERR_OK;
}

/* A recomputed activation is requested in the backward pass. */
static bool take_request(struct phases *p, uint64_t event, uint32_t stack)
{
    const unsigned phase = p->of_stack[stack] == PHASE_RECOMPUTE ? PHASE_BACKWARD : p->of_stack[stack];
    struct moments_of *m = &p->moments[phase];
    uint64_t *grown = array_grow(m->at, m->n, &m->room, sizeof *grown);
    if (grown == NULL)
        return false;
    assert(m->n == 0 || grown[m->n - 1] < event);
    m->at = grown;
    m->at[m->n++] = event;
    return true;
}

static enum err read_events(struct phases *p, struct err_detail *why)
{
    enum { SIDES = 4096 };
    struct trace_side *sides = malloc(SIDES * sizeof *sides);
    const uint64_t events = trace_info(p->trace)->events;
    bool has_memory = sides != NULL;
    enum err e = ERR_OK;
    const struct event *ev;
    uint64_t first = 0;
    if (has_memory)
        e = trace_seek(p->trace, 0, why);
    for (size_t n = 1; e == ERR_OK && has_memory && first < events; first += n) {
        e = trace_next(p->trace, &ev, &n, why);
        for (size_t i = 0; e == ERR_OK && i < n && has_memory; i++) {
            if (i % SIDES == 0)
                e = trace_sides(p->trace, first + i, n - i < SIDES ? n - i : SIDES, sides, why);
            if (e == ERR_OK && ev[i].kind == EVENT_ALLOC)
                has_memory = take_request(p, first + i, sides[i % SIDES].stack);
        }
    }
    free(sides);
    return e != ERR_OK || has_memory ? e : err_set(why, ERR_HOST_NOMEM, 0, "no memory for the phases of requests");
}

/* ---- the rules ---- */

/* The first request of this phase after event `from`; UINT64_MAX: none. */
static uint64_t next_of(const struct phases *p, enum phase phase, uint64_t from)
{
    const struct moments_of *m = &p->moments[phase];
    size_t low = 0, high = m->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->at[middle] > from)
            high = middle;
        else
            low = middle + 1;
    }
    return low < m->n ? m->at[low] : UINT64_MAX;
}

/* cuBLAS keeps one workspace per handle and stream: PyTorch's ":4096:2:16:8" (8,519,680 bytes), 32 MiB on Hopper. */
static bool is_workspace(const struct holding *h)
{
    return h->died == UINT64_MAX && (h->bytes == UINT64_C(8519680) || h->bytes == UINT64_C(33554432) ||
                                     h->bytes == UINT64_C(4259840));
}

static bool is_parameter_size(const struct holdings *all, uint64_t bytes)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].category == CATEGORY_PARAMETERS && all->at[i].bytes == bytes)
            return true;
    return false;
}

/* Lives into the next step of the optimizer. If none follows, and the request is never freed, the size of a parameter
 * tells a gradient. */
static enum category backward_category(const struct phases *p, const struct holdings *all, const struct holding *h)
{
    const uint64_t optimizer = next_of(p, PHASE_OPTIMIZER, (uint64_t)h->born);
    const uint64_t forward = next_of(p, PHASE_FORWARD, (uint64_t)h->born);
    const uint64_t until = optimizer != UINT64_MAX ? optimizer : forward;
    if (until == UINT64_MAX || optimizer == UINT64_MAX)
        return h->died == UINT64_MAX && is_parameter_size(all, h->bytes) ? CATEGORY_GRADIENTS : CATEGORY_TEMPORARIES;
    return h->died > until ? CATEGORY_GRADIENTS : CATEGORY_TEMPORARIES;
}

static enum category forward_category(const struct phases *p, const struct holding *h)
{
    const uint64_t backward = next_of(p, PHASE_BACKWARD, (uint64_t)h->born);
    if (backward == UINT64_MAX)
        return h->died == UINT64_MAX ? CATEGORY_ACTIVATIONS : CATEGORY_TEMPORARIES;
    return h->died > backward ? CATEGORY_ACTIVATIONS : CATEGORY_TEMPORARIES;
}

/* Made by the program's own lines: an input if a module's forward pass comes before the backward pass. */
static enum category own_category(const struct phases *p, const struct holding *h)
{
    const uint64_t forward = next_of(p, PHASE_FORWARD, (uint64_t)h->born);
    const uint64_t backward = next_of(p, PHASE_BACKWARD, (uint64_t)h->born);
    if (forward < backward)
        return h->died > forward ? CATEGORY_INPUTS : CATEGORY_TEMPORARIES;
    return forward_category(p, h);
}

static enum category lasting(const struct phases *p, const struct holding *h, enum category kept)
{
    const uint64_t forward = next_of(p, PHASE_FORWARD, (uint64_t)h->born);
    return h->died == UINT64_MAX || h->died > forward ? kept : CATEGORY_TEMPORARIES;
}

static enum category category_of(const struct phases *p, const struct holdings *all, const struct holding *h)
{
    if (h->born < 0)
        return CATEGORY_UNKNOWN;
    const enum phase phase = p->of_stack[h->stack];
    if (phase != PHASE_SETUP && phase != PHASE_BUFFER && phase != PHASE_OPTIMIZER && is_workspace(h))
        return CATEGORY_WORKSPACES;
    switch (phase) {
    case PHASE_OPTIMIZER: return lasting(p, h, CATEGORY_OPTIMIZER);
    case PHASE_SETUP:     return lasting(p, h, CATEGORY_PARAMETERS);
    case PHASE_BUFFER:    return lasting(p, h, CATEGORY_BUFFERS);
    case PHASE_FORWARD:   return forward_category(p, h);
    case PHASE_RECOMPUTE: return CATEGORY_ACTIVATIONS;
    case PHASE_BACKWARD:  return backward_category(p, all, h);
    case PHASE_OTHER:     return own_category(p, h);
    case PHASE_NONE:      break;
    }
    return CATEGORY_UNKNOWN;
}

enum err categories_find(struct trace_reader *trace, struct holdings *h, uint64_t *named_bytes, struct err_detail *why)
{
    struct phases p = { .trace = trace };
    enum err e = read_stacks(&p, why);
    if (e == ERR_OK && trace_info(trace)->n_stacks > 0)
        e = read_events(&p, why);
    *named_bytes = 0;
    for (int round = 0; round < 2; round++)         /* parameters first: gradients are compared with them */
        for (size_t i = 0; i < h->n && e == ERR_OK; i++) {
            const enum phase phase = p.of_stack[h->at[i].stack];
            if ((phase == PHASE_BACKWARD) == (round == 1))
                h->at[i].category = (uint8_t)category_of(&p, h, &h->at[i]);
        }
    for (size_t i = 0; i < h->n && e == ERR_OK; i++)
        *named_bytes += h->at[i].category != CATEGORY_UNKNOWN ? h->at[i].bytes : 0;
    free(p.of_stack);
    for (size_t i = 0; i <= PHASE_OPTIMIZER; i++)
        free(p.moments[i].at);
    return e;
}
