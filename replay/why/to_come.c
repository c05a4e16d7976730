/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The optimizer is known by the file of its step. */
#include "replay/why/to_come.h"

#include "traces/stack_frame.h"

/* States of a weight's size, in number. Of those that are left out the step tells too little: Adafactor's are smaller
 * than the weights, Adagrad's are made before any step, LBFGS keeps a history, and SGD asks for as much without any.
 * Source: torch/optim of PyTorch 2.0 to 2.15. amsgrad, centered and momentum may add one more. */
static const struct optimizer { const char *file, *name; unsigned states; } optimizers[] = {
    { "optim/adam.py", "Adam or AdamW", 2 },  { "optim/adamw.py", "AdamW", 2 },   { "optim/nadam.py", "NAdam", 2 },
    { "optim/adadelta.py", "Adadelta", 2 },   { "optim/adamax.py", "Adamax", 2 }, { "optim/radam.py", "RAdam", 2 },
    { "optim/rmsprop.py", "RMSprop", 1 },     { "optim/rprop.py", "Rprop", 2 },   { "optim/asgd.py", "ASGD", 1 },
};
enum { OPTIMIZERS = sizeof optimizers / sizeof optimizers[0], STATES_OF_ADAM = 2 };

/* The outermost that a stack shows: AdamW calls functions of Adam, and is one in later releases. NULL: none. */
static const struct optimizer *optimizer_of(const struct trace_reader *trace, uint32_t stack)
{
    const struct optimizer *found = NULL;
    const char *const *frames;
    const size_t n = trace_stack(trace, stack, &frames);
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        for (size_t k = 0; k < OPTIMIZERS; k++)
            if (stack_frame_is_torch(&f) && stack_frame_file_ends(&f, optimizers[k].file))
                found = &optimizers[k];
    }
    return found;
}

/* That any step on record shows. NULL: none. */
static const struct optimizer *seen_optimizer(const struct trace_reader *trace, const struct phases *phases)
{
    const struct optimizer *found = NULL;
    for (uint32_t i = 1; i <= trace_info(trace)->n_stacks && found == NULL; i++)
        if (phases->of_stack[i] == PHASE_OPTIMIZER)
            found = optimizer_of(trace, i);
    return found;
}

static uint64_t held_of(const struct holdings *h, enum category category)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < h->n; i++)
        bytes += h->at[i].category == category ? h->at[i].bytes : 0;
    return bytes;
}

static uint64_t rest_of(uint64_t all, uint64_t there)
{
    return all > there ? all - there : 0;
}

/* In the step all gradients are there; before it all weights may learn. `o`: NULL if none is seen. */
static void take(const struct optimizer *o, const struct holdings *h, struct to_come *out)
{
    const uint64_t gradients = held_of(h, CATEGORY_GRADIENTS);
    out->learns = out->is_in_step ? gradients : held_of(h, CATEGORY_PARAMETERS);
    out->gradients = rest_of(out->learns, gradients);
    out->optimizer = o == NULL ? NULL : o->name;
    out->states = rest_of((o == NULL ? STATES_OF_ADAM : o->states) * out->learns, held_of(h, CATEGORY_OPTIMIZER));
    out->is_told = out->gradients > 0 || out->states > 0;
}

enum err to_come_find(struct trace_reader *trace, const struct phases *phases, uint64_t refused,
                      const struct holdings *h, struct to_come *out, struct err_detail *err)
{
    uint32_t stack = TRACE_NO_STACK;
    *out = (struct to_come){ .is_told = false };
    const enum err e = trace_stacks_at(trace, &refused, 1, &stack, err);
    if (e != ERR_OK || !phases->has_python || phases->starts[PHASE_STATES].n > 0)
        return e;
    const struct optimizer *o = seen_optimizer(trace, phases);
    const bool has_stepped = phase_starts_before(&phases->starts[PHASE_OPTIMIZER], refused) != UINT64_MAX;
    out->is_in_step = stack != TRACE_NO_STACK && phases->of_stack[stack] == PHASE_OPTIMIZER;
    if (o != NULL || (!has_stepped && !out->is_in_step))
        take(o, h, out);
    return ERR_OK;
}
