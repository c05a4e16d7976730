/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A request's category follows from the phase it was born in, and from what it lives through.
 *
 *     set up | own lines | forward forward | backward backward | optimizer | forward ...
 *     ^ parameter: lives on                        ^ gradient: outlives the backward pass
 *              ^ input: lives into the forward pass              ^ state: outlives the step
 *                        ^ activation: lives into the backward pass
 */
#include "replay/recording/categories.h"

#include "traces/stack_frame.h"

#include <stdlib.h>

/* ---- labels ---- */

/* CATEGORY_KINDS: there is none. A label may say that the category is unknown. */
static int category_of_label(const struct trace_reader *trace, uint32_t stack)
{
    const char *const *frames;
    struct stack_frame label;
    const size_t n = trace_stack(trace, stack, &frames);
    const bool is_labelled = stack_frame_label(frames, n, STACK_LABEL_CATEGORY, &label);
    for (int c = 0; is_labelled && c < CATEGORY_KINDS; c++)
        if (stack_frame_is_named(&label, category_word((enum category)c)))
            return c;
    return CATEGORY_KINDS;
}

/* ---- rules ---- */

struct rules {
    struct trace_reader *trace;
    const struct phases *phases;
    const struct holdings *all;
    uint32_t *free_stacks;           /* by holding: the stack of its free; TRACE_NO_STACK: none */
    bool has_parameters;             /* a module's parameters are among what is held */
    bool has_passes;                 /* a phase other than the program's own lines is on record */
    struct pair_map sizes;           /* (bytes, category) of what has a category already */
    struct pair_map first_kept;      /* (bytes, kept_key) -> index of the first workspace that is never freed */
};

static enum phase phase_of(const struct rules *r, const struct holding *h)
{
    return (enum phase)r->phases->of_stack[h->stack];
}

static uint64_t next_of(const struct rules *r, enum phase phase, const struct holding *h)
{
    return phase_starts_after(&r->phases->starts[phase], (uint64_t)h->born);
}

/* A request was refused in its life, before event `until`: the program's course was cut short. */
static bool is_cut(const struct rules *r, const struct holding *h, uint64_t until)
{
    const uint64_t refusal = phase_starts_after(&r->phases->refusals, (uint64_t)h->born);
    return refusal < until && refusal < h->died;
}

/* Lives beyond event `until`. What is never freed does, also if `until` never comes; so does what a refusal met. */
static bool outlives(const struct rules *r, const struct holding *h, uint64_t until)
{
    return h->died == UINT64_MAX || h->died > until || is_cut(r, h, until);
}

/* The end of the stretch it was born in. */
static uint64_t stretch_end(const struct rules *r, const struct holding *h)
{
    return phase_starts_after(&r->phases->all, (uint64_t)h->born);
}

/* Sizes of the workspaces that cuBLAS and cuBLASLt keep for each handle and stream. Source: PyTorch, CUDABlas.cpp and
 * CublasHandlePool.cpp: 32 MiB on Hopper, ":4096:2:16:8" before it; 1 MiB. */
static bool is_workspace_size(uint64_t bytes)
{
    return bytes == UINT64_C(33554432) || bytes == UINT64_C(8519680) || bytes == UINT64_C(1048576);
}

/* Of requests that are never freed: the stream, and the phase they were born in. */
static uint64_t kept_key(const struct rules *r, const struct holding *h)
{
    return (uint64_t)h->stream * PHASES + (uint64_t)phase_of(r, h);
}

/* Notes the first request of each workspace's size, stream and phase that is never freed. False without memory. */
static bool note_kept(struct rules *r)
{
    bool is_there = true;
    for (size_t i = 0; i < r->all->n && is_there; i++) {
        const struct holding *h = &r->all->at[i];
        if (h->died != UINT64_MAX || h->born < 0 || !is_workspace_size(h->bytes))
            continue;
        uint32_t *first = pair_map_find(&r->first_kept, h->bytes, kept_key(r, h));
        if (first == NULL)
            is_there = pair_map_add(&r->first_kept, h->bytes, kept_key(r, h), (uint32_t)i);
        else if (h->born < r->all->at[*first].born)
            *first = (uint32_t)i;
    }
    return is_there;
}

/* Each thread's handle asks once: at the first product of the first forward and of the first backward pass. */
static bool is_workspace(const struct rules *r, const struct holding *h)
{
    const enum phase phase = phase_of(r, h);
    const bool is_kept = h->died == UINT64_MAX && is_workspace_size(h->bytes);
    const struct phase_starts *own = &r->phases->starts[phase];
    const bool has_handle = phase == PHASE_OWN || phase == PHASE_FORWARD || phase == PHASE_BACKWARD ||
                            phase == PHASE_RECOMPUTE;
    if (!is_kept || !has_handle ||
        (phase != PHASE_OWN && phase_starts_before(own, (uint64_t)h->born) != own->at[0]))
        return false;
    const uint32_t *first = pair_map_find(&r->first_kept, h->bytes, kept_key(r, h));
    return first == NULL || r->all->at[*first].born >= h->born;
}

static bool is_size_of(const struct rules *r, enum category category, uint64_t bytes)
{
    return pair_map_find(&r->sizes, bytes, category) != NULL;
}

/* The backward pass is over when anything but a backward pass asks again. */
static uint64_t backward_end(const struct rules *r, const struct holding *h)
{
    static const enum phase others[] = { PHASE_OWN, PHASE_SETUP, PHASE_BUCKETS, PHASE_FORWARD, PHASE_OPTIMIZER };
    uint64_t end = UINT64_MAX;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const uint64_t next = next_of(r, others[i], h);
        end = next < end ? next : end;
    }
    return end;
}

/* The phase that freed it, by the stack of the free; the phase it was born in if it is never freed. */
static enum phase phase_of_free(const struct rules *r, const struct holding *h)
{
    const uint32_t stack = h->died == UINT64_MAX ? h->stack : r->free_stacks[h - r->all->at];
    return (enum phase)r->phases->of_stack[stack];
}

/* A gradient outlives its backward pass: a later request finds it alive, or the program's own thread frees it. */
static enum category backward_category(const struct rules *r, const struct holding *h)
{
    const uint64_t end = backward_end(r, h);
    if (is_cut(r, h, end) || (h->died == UINT64_MAX && end == UINT64_MAX))
        return is_size_of(r, CATEGORY_PARAMETERS, h->bytes) ? CATEGORY_GRADIENTS
               : r->has_parameters                          ? CATEGORY_TEMPORARIES
                                                            : CATEGORY_UNKNOWN;
    const enum phase freed = phase_of_free(r, h);
    return outlives(r, h, end) || (freed != PHASE_BACKWARD && freed != PHASE_RECOMPUTE) ? CATEGORY_GRADIENTS
                                                                                        : CATEGORY_TEMPORARIES;
}

/* A state outlives its step, or it is freed outside of any. */
static enum category optimizer_category(const struct rules *r, const struct holding *h)
{
    return outlives(r, h, stretch_end(r, h)) || phase_of_free(r, h) != PHASE_OPTIMIZER ? CATEGORY_OPTIMIZER
                                                                                       : CATEGORY_TEMPORARIES;
}

/* Kept for the backward pass, or from one forward pass to the next. */
static enum category forward_category(const struct rules *r, const struct holding *h)
{
    const uint64_t backward = next_of(r, PHASE_BACKWARD, h), forward = next_of(r, PHASE_FORWARD, h);
    return outlives(r, h, backward < forward ? backward : forward) ? CATEGORY_ACTIVATIONS : CATEGORY_TEMPORARIES;
}

/* Own lines after a forward pass, before its backward pass: do they add to the graph, or make the next input? What the
 * backward pass frees belongs to the graph. The same line tells it from step to step. */
static bool is_of_graph(const struct rules *r, const struct holding *h)
{
    const struct phase_starts *starts = r->phases->starts;
    const uint64_t born = (uint64_t)h->born, forward = phase_starts_before(&starts[PHASE_FORWARD], born);
    const uint64_t backward = phase_starts_before(&starts[PHASE_BACKWARD], born);
    const uint64_t step = phase_starts_before(&starts[PHASE_OPTIMIZER], born);
    const uint64_t graph = phase_starts_before(&r->phases->graphs, born);
    const bool is_fresh = forward == UINT64_MAX || (backward != UINT64_MAX && backward > forward) ||
                          (step != UINT64_MAX && step > forward);
    const int64_t released = r->phases->released[r->phases->line_of[h->stack]];
    if (is_fresh || released != 0)
        return !is_fresh && released > 0;
    return graph != UINT64_MAX && (backward == UINT64_MAX || backward < graph);
}

/* Made by the program's own lines: an input if a forward pass begins in its life, before a backward pass. */
static enum category own_category(const struct rules *r, const struct holding *h)
{
    const uint64_t forward = next_of(r, PHASE_FORWARD, h), backward = next_of(r, PHASE_BACKWARD, h);
    if (!r->has_parameters && h->died == UINT64_MAX && is_size_of(r, CATEGORY_OPTIMIZER, h->bytes))
        return CATEGORY_PARAMETERS;                  /* a program without modules */
    if (!r->has_passes)
        return CATEGORY_UNKNOWN;                     /* tensors alone: nothing tells what they are for */
    if (!outlives(r, h, forward < backward ? forward : backward))
        return CATEGORY_TEMPORARIES;
    return forward < backward && !is_of_graph(r, h) ? CATEGORY_INPUTS : CATEGORY_ACTIVATIONS;
}

static enum category lasting(const struct rules *r, const struct holding *h, uint64_t until, enum category kept)
{
    return outlives(r, h, until) ? kept : CATEGORY_TEMPORARIES;
}

static enum category category_of(const struct rules *r, const struct holding *h)
{
    if (h->born < 0)
        return CATEGORY_UNKNOWN;
    if (is_workspace(r, h))
        return CATEGORY_WORKSPACES;
    switch (phase_of(r, h)) {
    case PHASE_BACKWARD:  return backward_category(r, h);
    case PHASE_OPTIMIZER: return optimizer_category(r, h);
    case PHASE_SETUP:     return lasting(r, h, next_of(r, PHASE_FORWARD, h), CATEGORY_PARAMETERS);
    case PHASE_BUFFER:    return lasting(r, h, next_of(r, PHASE_FORWARD, h), CATEGORY_BUFFERS);
    case PHASE_BUCKETS:   return lasting(r, h, next_of(r, PHASE_BACKWARD, h), CATEGORY_GRADIENTS);
    case PHASE_RECOMPUTE: return lasting(r, h, stretch_end(r, h), CATEGORY_ACTIVATIONS);
    case PHASE_FORWARD:   return forward_category(r, h);
    case PHASE_OWN:       return own_category(r, h);
    case PHASES:          break;
    }
    return CATEGORY_UNKNOWN;
}

/* Parameters and states come first: others are compared with them. */
static int round_of(enum phase phase)
{
    return phase == PHASE_SETUP || phase == PHASE_BUFFER || phase == PHASE_OPTIMIZER ? 0 : phase == PHASE_OWN ? 1 : 2;
}

static enum err apply_rules(struct rules *r, struct holdings *h, struct err_detail *err)
{
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < h->n; i++) {
            if (round_of(phase_of(r, &h->at[i])) != round)
                continue;
            const enum category category = category_of(r, &h->at[i]);
            h->at[i].category = (uint8_t)category;
            if (!is_size_of(r, category, h->at[i].bytes) && !pair_map_add(&r->sizes, h->at[i].bytes, category, 0))
                return err_no_memory(err);
            r->has_parameters = r->has_parameters || (round == 0 && category == CATEGORY_PARAMETERS);
        }
    return ERR_OK;
}

static bool has_passes(const struct phases *p)
{
    for (size_t i = 0; i < PHASES; i++)
        if (i != PHASE_OWN && p->starts[i].n > 0)
            return true;
    return false;
}

static enum err read_free_stacks(struct rules *r, struct err_detail *err)
{
    const size_t n = r->all->n;
    uint64_t *deaths = malloc((n + 1) * sizeof *deaths);
    r->free_stacks = malloc((n + 1) * sizeof *r->free_stacks);
    for (size_t i = 0; i < n && deaths != NULL; i++)
        deaths[i] = r->all->at[i].died == UINT64_MAX ? TRACE_NO_EVENT : r->all->at[i].died;
    const enum err e = deaths == NULL || r->free_stacks == NULL
                           ? err_no_memory(err) : trace_stacks_at(r->trace, deaths, n, r->free_stacks, err);
    free(deaths);
    return e;
}

static enum err apply_labels(struct trace_reader *trace, struct holdings *h, struct category_facts *facts,
                             struct err_detail *err)
{
    const uint32_t n_stacks = trace_info(trace)->n_stacks;
    uint8_t *label_of = calloc((size_t)n_stacks + 1, 1);         /* by stack */
    *facts = (struct category_facts){ .named_bytes = 0 };
    if (label_of == NULL)
        return err_no_memory(err);
    for (uint32_t i = TRACE_NO_STACK; i <= n_stacks; i++)
        label_of[i] = (uint8_t)category_of_label(trace, i);
    for (size_t i = 0; i < h->n; i++) {
        struct holding *one = &h->at[i];
        const uint8_t label = label_of[one->stack];
        if (label != CATEGORY_KINDS && label != CATEGORY_UNKNOWN) {
            facts->labelled_bytes += one->bytes;
            facts->agreed_bytes += label == one->category ? one->bytes : 0;
        }
        one->category = label != CATEGORY_KINDS ? label : one->category;
        facts->named_bytes += one->category != CATEGORY_UNKNOWN ? one->bytes : 0;
    }
    free(label_of);
    return ERR_OK;
}

enum err categories_tell(struct trace_reader *trace, const struct phases *phases, struct holdings *h,
                         struct category_facts *facts, struct err_detail *err)
{
    struct rules r = { .trace = trace, .phases = phases, .all = h, .has_passes = has_passes(phases) };
    enum err e = phases->has_python ? read_free_stacks(&r, err) : ERR_OK;
    if (e == ERR_OK && phases->has_python)
        e = note_kept(&r) ? apply_rules(&r, h, err) : err_no_memory(err);
    if (e == ERR_OK)
        e = apply_labels(trace, h, facts, err);
    free(r.free_stacks);
    pair_map_free(&r.sizes);
    pair_map_free(&r.first_kept);
    return e;
}

enum err categories_find(struct trace_reader *trace, struct holdings *h, struct category_facts *facts,
                         struct err_detail *err)
{
    struct phases phases;
    enum err e = phases_read(trace, &phases, err);
    if (e == ERR_OK)
        e = categories_tell(trace, &phases, h, facts, err);
    phases_close(&phases);
    return e;
}
