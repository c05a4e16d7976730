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

#include "replay/recording/own_lines.h"
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

enum { CALL_EVENTS = 4 };            /* so many events lie between a product's result and its workspaces, at most */

struct rules {
    struct trace_reader *trace;
    const struct phases *phases;
    const struct own_lines *lines;
    const struct holdings *all;
    bool *loads;                     /* by stack: it sets up, and loads a file */
    uint32_t *free_stacks;           /* by holding: the stack of its free; TRACE_NO_STACK: none */
    bool is_guess;                   /* the category that is being told is likely, and no more */
    bool has_parameters;             /* a module's parameters are among what is held */
    bool has_passes;                 /* a phase other than the program's own lines is on record */
    struct pair_map sizes;           /* (bytes, category) of what has a category already */
    struct pair_map first_kept;      /* (bytes, kept_key) -> index of the first workspace that is never freed, */
    struct pair_map second_kept;     /* and of the second in the same call */
};

/* Likely, by size or by custom: no rule forbids another one. */
static enum category guessed(struct rules *r, enum category category)
{
    r->is_guess = true;
    return category;
}

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
#define WORKSPACE_HOPPER UINT64_C(33554432)
#define WORKSPACE UINT64_C(8519680)
#define WORKSPACE_LT UINT64_C(1048576)
static bool is_workspace_size(uint64_t bytes)
{
    return bytes == WORKSPACE_HOPPER || bytes == WORKSPACE || bytes == WORKSPACE_LT;
}

/* Of requests that are never freed: the stream, and the phase they were born in. */
static uint64_t kept_key(const struct rules *r, const struct holding *h)
{
    return (uint64_t)h->stream * PHASES + (uint64_t)phase_of(r, h);
}

static uint64_t stretch_start(const struct rules *r, const struct holding *h)
{
    return phase_starts_before(&r->phases->all, (uint64_t)h->born);
}

static bool may_be_kept_workspace(const struct holding *h)
{
    return h->died == UINT64_MAX && h->born >= 0 && is_workspace_size(h->bytes);
}

/* Notes the first request of each workspace's size, stream and phase that is never freed. False without memory. */
static bool note_first_kept(struct rules *r)
{
    bool is_there = true;
    for (size_t i = 0; i < r->all->n && is_there; i++) {
        const struct holding *h = &r->all->at[i];
        uint32_t *first = may_be_kept_workspace(h) ? pair_map_find(&r->first_kept, h->bytes, kept_key(r, h)) : NULL;
        if (first == NULL && may_be_kept_workspace(h))
            is_there = pair_map_add(&r->first_kept, h->bytes, kept_key(r, h), (uint32_t)i);
        else if (first != NULL && h->born < r->all->at[*first].born)
            *first = (uint32_t)i;
    }
    return is_there;
}

/* A product asks for its result and then for its workspaces: of two alike in one call the second is the workspace. */
static bool is_of_one_call(const struct rules *r, const struct holding *result, const struct holding *h)
{
    return h->born > result->born && h->born - result->born < CALL_EVENTS && phase_of(r, h) == PHASE_FORWARD &&
           stretch_start(r, h) == stretch_start(r, result) &&
           r->phases->line_of[h->stack] == r->phases->line_of[result->stack];
}

static bool note_kept(struct rules *r)
{
    bool is_there = note_first_kept(r);
    for (size_t i = 0; i < r->all->n && is_there; i++) {
        const struct holding *h = &r->all->at[i];
        const uint32_t *first = may_be_kept_workspace(h) ? pair_map_find(&r->first_kept, h->bytes, kept_key(r, h))
                                                         : NULL;
        if (first != NULL && is_of_one_call(r, &r->all->at[*first], h) &&
            pair_map_find(&r->second_kept, h->bytes, kept_key(r, h)) == NULL)
            is_there = pair_map_add(&r->second_kept, h->bytes, kept_key(r, h), (uint32_t)i);
    }
    return is_there;
}

/* The one that is the workspace, if any of this one's size, stream and phase is; NULL: none. */
static const struct holding *kept_workspace(const struct rules *r, const struct holding *h, uint64_t bytes)
{
    const uint32_t *first = pair_map_find(&r->first_kept, bytes, kept_key(r, h));
    const uint32_t *second = pair_map_find(&r->second_kept, bytes, kept_key(r, h));
    return second != NULL ? &r->all->at[*second] : first != NULL ? &r->all->at[*first] : NULL;
}

/* cuBLASLt's is asked for beside cuBLAS's. */
static bool has_larger_beside(const struct rules *r, const struct holding *h)
{
    static const uint64_t sizes[] = { WORKSPACE_HOPPER, WORKSPACE };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct holding *larger = kept_workspace(r, h, sizes[i]);
        if (larger != NULL && stretch_start(r, larger) == stretch_start(r, h))
            return true;
    }
    return false;
}

/* Each thread's handle asks once for each stream, at the first product: of the first forward and of the first backward
 * pass, or later if these had none. What is kept from pass to pass and has the size is likely one. */
static bool is_workspace(struct rules *r, const struct holding *h)
{
    const enum phase phase = phase_of(r, h);
    const bool has_handle = phase == PHASE_OWN || phase == PHASE_FORWARD || phase == PHASE_BACKWARD ||
                            phase == PHASE_RECOMPUTE;
    if (!has_handle || !may_be_kept_workspace(h) || kept_workspace(r, h, h->bytes) != h)
        return false;
    const struct phase_starts *own = &r->phases->starts[phase];
    r->is_guess = phase == PHASE_OWN;                /* a tensor of the program may have this size */
    if (phase == PHASE_OWN || phase_starts_before(own, (uint64_t)h->born) == own->at[0])
        return true;
    r->is_guess = next_of(r, phase, h) != UINT64_MAX && (h->bytes != WORKSPACE_LT || has_larger_beside(r, h));
    return r->is_guess;
}

static bool is_size_of(const struct rules *r, enum category category, uint64_t bytes)
{
    return pair_map_find(&r->sizes, bytes, category) != NULL;
}

/* The backward pass is over when anything but a backward pass asks again. */
static uint64_t backward_end(const struct rules *r, const struct holding *h)
{
    static const enum phase others[] = { PHASE_OWN, PHASE_SETUP, PHASE_STATES, PHASE_BUCKETS, PHASE_FORWARD,
                                          PHASE_OPTIMIZER };
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

/* It is given back before anything else is asked for. */
static bool is_brief(const struct holding *h)
{
    return h->born >= 0 && h->died == (uint64_t)h->born + 1;
}

/* What is added to something has the size of a thing that lasts; the workspace of a convolution has its own size. */
static bool is_convolution_workspace(const struct rules *r, const struct holding *h)
{
    if (!is_brief(h))
        return false;
    return phase_of(r, h) == PHASE_FORWARD || phase_of(r, h) == PHASE_RECOMPUTE
               ? r->lines->convolves[h->stack] != 0
               : r->lines->has_convolutions && pair_map_find(&r->lines->lasting, h->bytes, 0) == NULL;
}

/* Something has this size that may have a gradient: a parameter, or, for all that is known, what is older than the
 * recording or was made by the program's own lines. */
static bool may_have_gradient(const struct rules *r, uint64_t bytes)
{
    return is_size_of(r, CATEGORY_UNKNOWN, bytes) || is_size_of(r, CATEGORY_INPUTS, bytes) || !r->has_parameters;
}

/* By the stack of the free, or where frees have none by what asks before and after it. */
static bool is_freed_by_backward(const struct rules *r, const struct holding *h)
{
    const enum phase freed = phase_of_free(r, h);
    if (h->died == UINT64_MAX)
        return false;
    return r->lines->has_free_stacks ? freed == PHASE_BACKWARD || freed == PHASE_RECOMPUTE
                                     : own_lines_within_backward(r->lines, r->phases, h->died);
}

/* A later backward pass frees it: it is part of a graph (create_graph). Without an optimizer nobody else frees
 * gradients, and it may be one that another takes the place of. */
static enum category released_later(const struct rules *r, const struct holding *h)
{
    const bool has_optimizer = r->phases->starts[PHASE_OPTIMIZER].n > 0;
    return !has_optimizer && is_size_of(r, CATEGORY_PARAMETERS, h->bytes) ? CATEGORY_GRADIENTS : CATEGORY_ACTIVATIONS;
}

/* It outlives its backward pass. */
static enum category kept_by_backward(struct rules *r, const struct holding *h)
{
    if (is_freed_by_backward(r, h))
        return guessed(r, released_later(r, h));
    if (h->died != UINT64_MAX && r->lines->has_free_stacks && phase_of_free(r, h) == PHASE_OPTIMIZER)
        return CATEGORY_GRADIENTS;
    if (is_size_of(r, CATEGORY_PARAMETERS, h->bytes))
        return CATEGORY_GRADIENTS;
    return guessed(r, may_have_gradient(r, h->bytes) ? CATEGORY_GRADIENTS : CATEGORY_ACTIVATIONS);
}

/* A gradient outlives its backward pass: a later request finds it alive, or the program's own thread frees it. */
static enum category backward_category(struct rules *r, const struct holding *h)
{
    const uint64_t end = backward_end(r, h);
    if (is_convolution_workspace(r, h))
        return guessed(r, CATEGORY_WORKSPACES);
    if (is_cut(r, h, end) || (h->died == UINT64_MAX && end == UINT64_MAX))
        return guessed(r, is_size_of(r, CATEGORY_PARAMETERS, h->bytes) ? CATEGORY_GRADIENTS
                          : r->has_parameters                          ? CATEGORY_TEMPORARIES
                                                                       : CATEGORY_UNKNOWN);
    const enum phase freed = phase_of_free(r, h);
    if (outlives(r, h, end) || (freed != PHASE_BACKWARD && freed != PHASE_RECOMPUTE))
        return kept_by_backward(r, h);
    /* A Function's backward that is written in Python may compute with a graph of its own, and torch.autograd.grad may
     * leave one for the pass that follows at once. */
    const bool may_have_graph = r->phases->line_of[h->stack] != 0 || (r->lines->asks_gradients && !is_brief(h));
    return may_have_graph ? guessed(r, CATEGORY_TEMPORARIES) : CATEGORY_TEMPORARIES;
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
    if (is_convolution_workspace(r, h))
        return CATEGORY_WORKSPACES;
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
    if (r->lines->of[r->phases->line_of[h->stack]].asks_afresh)
        return false;                                /* it makes inputs, also of later modules */
    if (is_fresh || released != 0)
        return !is_fresh && released > 0;
    if (starts[PHASE_BACKWARD].n == 0 && r->phases->refusals.n == 0)
        return false;                                /* the program has no backward pass */
    return graph != UINT64_MAX && (backward == UINT64_MAX || backward < graph);
}

/* No other line of the program asks while it lives: a part of an expression. */
static bool ends_in_its_line(const struct rules *r, const struct holding *h)
{
    return h->died < phase_starts_after(&r->lines->changes, (uint64_t)h->born);
}

/* One of each parameter: part of a graph, of the loss (a penalty on weights) or before a forward pass (MAML's inner
 * weights); or a copy, of the gradients if a backward pass has just gone by, otherwise of the weights. */
static enum category copy_category(struct rules *r, const struct holding *h)
{
    const struct phase_starts *starts = r->phases->starts;
    const uint64_t born = (uint64_t)h->born, backward = phase_starts_before(&starts[PHASE_BACKWARD], born);
    const uint64_t forward = phase_starts_before(&starts[PHASE_FORWARD], born);
    const uint64_t step = phase_starts_before(&starts[PHASE_OPTIMIZER], born);
    const bool is_after_backward = backward != UINT64_MAX && (forward == UINT64_MAX || backward > forward) &&
                                   (step == UINT64_MAX || backward > step);
    const bool is_of_a_graph = own_line_is_released(r->lines, &r->lines->of[r->phases->line_of[h->stack]]);
    if (is_of_a_graph && next_of(r, PHASE_BACKWARD, h) < next_of(r, PHASE_FORWARD, h))
        return guessed(r, CATEGORY_ACTIVATIONS);
    return guessed(r, is_after_backward && !is_of_a_graph ? CATEGORY_GRADIENTS : CATEGORY_PARAMETERS);
}

/* Made by the program's own lines between passes. No stack says what for: an input if a forward pass begins in its
 * life, before a backward pass, or if the recording ends before any. */
static enum category met_category(struct rules *r, const struct holding *h)
{
    const uint64_t forward = next_of(r, PHASE_FORWARD, h), backward = next_of(r, PHASE_BACKWARD, h);
    const struct own_line *line = &r->lines->of[r->phases->line_of[h->stack]];
    const bool is_later = phase_starts_before(&r->phases->starts[PHASE_FORWARD], (uint64_t)h->born) != UINT64_MAX;
    if (own_line_is_per_parameter(line) && is_size_of(r, CATEGORY_PARAMETERS, h->bytes))
        return copy_category(r, h);
    const bool is_before_all = !is_later && backward == UINT64_MAX;
    if ((forward < backward || is_before_all) && !is_of_graph(r, h))
        return guessed(r, is_later && own_line_keeps_results(line) ? CATEGORY_ACTIVATIONS : CATEGORY_INPUTS);
    return is_freed_by_backward(r, h) ? CATEGORY_ACTIVATIONS : guessed(r, CATEGORY_ACTIVATIONS);
}

static enum category own_category(struct rules *r, const struct holding *h)
{
    const uint64_t forward = next_of(r, PHASE_FORWARD, h), backward = next_of(r, PHASE_BACKWARD, h);
    if (ends_in_its_line(r, h))
        return CATEGORY_TEMPORARIES;
    if (!r->has_parameters && h->died == UINT64_MAX && is_size_of(r, CATEGORY_OPTIMIZER, h->bytes))
        return guessed(r, CATEGORY_PARAMETERS);      /* a program without modules */
    if (!r->has_passes)
        return CATEGORY_UNKNOWN;                     /* tensors alone: nothing tells what they are for */
    return outlives(r, h, forward < backward ? forward : backward) ? met_category(r, h) : CATEGORY_TEMPORARIES;
}

static enum category lasting(const struct rules *r, const struct holding *h, uint64_t until, enum category kept)
{
    return outlives(r, h, until) ? kept : CATEGORY_TEMPORARIES;
}

/* A file holds weights, and may hold states of an optimizer, or a copy that only lies there. */
static enum category setup_category(struct rules *r, const struct holding *h)
{
    const enum category c = lasting(r, h, next_of(r, PHASE_FORWARD, h), CATEGORY_PARAMETERS);
    return r->loads[h->stack] && c == CATEGORY_PARAMETERS ? guessed(r, c) : c;
}

static enum category category_of(struct rules *r, const struct holding *h)
{
    if (h->born < 0)
        return CATEGORY_UNKNOWN;
    if (is_workspace(r, h))
        return CATEGORY_WORKSPACES;
    switch (phase_of(r, h)) {
    case PHASE_BACKWARD:  return backward_category(r, h);
    case PHASE_OPTIMIZER: return optimizer_category(r, h);
    case PHASE_SETUP:     return setup_category(r, h);
    case PHASE_BUFFER:    return lasting(r, h, next_of(r, PHASE_FORWARD, h), CATEGORY_BUFFERS);
    case PHASE_STATES:    return lasting(r, h, next_of(r, PHASE_FORWARD, h), CATEGORY_OPTIMIZER);
    case PHASE_BUCKETS:   return lasting(r, h, next_of(r, PHASE_BACKWARD, h), CATEGORY_GRADIENTS);
    case PHASE_RECOMPUTE: return lasting(r, h, stretch_end(r, h), CATEGORY_ACTIVATIONS);
    case PHASE_FORWARD:   return forward_category(r, h);
    case PHASE_OWN:       return own_category(r, h);
    case PHASES:          break;
    }
    return CATEGORY_UNKNOWN;
}

/* Parameters, states and what is older than the recording come first: others are compared with them. */
static int round_of(const struct rules *r, const struct holding *h)
{
    const enum phase phase = h->born < 0 ? PHASE_SETUP : phase_of(r, h);
    const bool is_lasting = phase == PHASE_SETUP || phase == PHASE_BUFFER || phase == PHASE_STATES ||
                            phase == PHASE_OPTIMIZER;
    return is_lasting ? 0 : phase == PHASE_OWN ? 1 : 2;
}

static enum err apply_rules(struct rules *r, struct holdings *h, struct err_detail *err)
{
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < h->n; i++) {
            if (round_of(r, &h->at[i]) != round)
                continue;
            r->is_guess = false;
            const enum category category = category_of(r, &h->at[i]);
            h->at[i].category = (uint8_t)category;
            h->at[i].is_guess = r->is_guess && category != CATEGORY_UNKNOWN;
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

static enum err read_loads(struct rules *r, struct err_detail *err)
{
    const uint32_t n_stacks = trace_info(r->trace)->n_stacks;
    r->loads = calloc((size_t)n_stacks + 1, sizeof *r->loads);
    if (r->loads == NULL)
        return err_no_memory(err);
    for (uint32_t i = 1; i <= n_stacks; i++)
        r->loads[i] = r->phases->of_stack[i] == PHASE_SETUP && stack_loads_file(r->trace, i);
    return ERR_OK;
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
        one->is_guess = one->is_guess && label == CATEGORY_KINDS;
        facts->named_bytes += one->category != CATEGORY_UNKNOWN ? one->bytes : 0;
        facts->guessed_bytes += one->is_guess ? one->bytes : 0;
    }
    free(label_of);
    return ERR_OK;
}

/* Sets the categories by rules alone. */
static enum err tell_by_rules(struct trace_reader *trace, const struct phases *phases, struct holdings *h,
                              struct err_detail *err)
{
    struct own_lines lines;
    struct rules r = { .trace = trace, .phases = phases, .lines = &lines, .all = h, .has_passes = has_passes(phases) };
    enum err e = own_lines_read(trace, phases, &lines, err);
    if (e == ERR_OK)
        e = read_free_stacks(&r, err);
    if (e == ERR_OK)
        e = read_loads(&r, err);
    if (e == ERR_OK)
        e = note_kept(&r) ? apply_rules(&r, h, err) : err_no_memory(err);
    own_lines_close(&lines);
    free(r.free_stacks);
    free(r.loads);
    pair_map_free(&r.sizes);
    pair_map_free(&r.first_kept);
    pair_map_free(&r.second_kept);
    return e;
}

enum err categories_tell(struct trace_reader *trace, const struct phases *phases, struct holdings *h,
                         struct category_facts *facts, struct err_detail *err)
{
    const enum err e = phases->has_python ? tell_by_rules(trace, phases, h, err) : ERR_OK;
    return e == ERR_OK ? apply_labels(trace, h, facts, err) : e;
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
