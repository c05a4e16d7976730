/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The optimizer is known by the file of its step. */
#include "replay/recording/to_come.h"

#include "report/text/json_writer.h"
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

static uint64_t rest_of(uint64_t all, uint64_t there)
{
    return all > there ? all - there : 0;
}

/* In the step all gradients are there; before it all weights may learn. `o`: NULL if none is seen. */
static void take(const struct optimizer *o, const struct holdings *h, struct to_come *out)
{
    const uint64_t weights = holdings_of(h, CATEGORY_PARAMETERS, NULL);
    const uint64_t gradients = holdings_of(h, CATEGORY_GRADIENTS, NULL);
    const uint64_t states = holdings_of(h, CATEGORY_OPTIMIZER, NULL);
    out->learns = out->is_in_step ? gradients : weights;
    out->gradients = rest_of(out->learns, gradients);
    out->optimizer = o == NULL ? NULL : o->name;
    out->states = rest_of((o == NULL ? STATES_OF_ADAM : o->states) * out->learns, states);
    out->at_once = weights + gradients + out->gradients + states + out->states;
    out->is_told = out->gradients > 0 || out->states > 0;
}

/* Whether the request that was refused is one of the optimizer. A recording that ends in its step, or after it, shows
 * what learns as well. */
static enum err find_in_step(struct trace_reader *trace, const struct phases *phases, uint64_t moment, bool *is_in_step,
                             struct err_detail *err)
{
    uint32_t stack = TRACE_NO_STACK;
    if (moment >= trace_info(trace)->events) {
        *is_in_step = phase_has_begun(phases, PHASE_OPTIMIZER, moment);
        return ERR_OK;
    }
    const enum err e = trace_stacks_at(trace, &moment, 1, &stack, err);
    *is_in_step = e == ERR_OK && stack != TRACE_NO_STACK && phases->of_stack[stack] == PHASE_OPTIMIZER;
    return e;
}

enum err to_come_find(struct trace_reader *trace, const struct phases *phases, uint64_t moment,
                      const struct holdings *h, struct to_come *out, struct err_detail *err)
{
    *out = (struct to_come){ .is_refused = moment < trace_info(trace)->events };
    const enum err e = find_in_step(trace, phases, moment, &out->is_in_step, err);
    if (e != ERR_OK || !phases->has_python || phases->starts[PHASE_STATES].n > 0)
        return e;
    const struct optimizer *o = seen_optimizer(trace, phases);
    const bool has_stepped = phase_has_begun(phases, PHASE_OPTIMIZER, moment + 1);
    if (o != NULL || (!has_stepped && !out->is_in_step))
        take(o, h, out);
    return ERR_OK;
}

void to_come_keep(struct to_come *c, enum reached reached, uint64_t loaded_bytes)
{
    c->is_told = c->is_told && reached_is_in_passes(reached) && (loaded_bytes == 0 || c->is_in_step);
}

void to_come_say(struct words *w, const struct to_come *c, bool learns)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER], all[TEXT_NUMBER];
    if (!c->is_told)
        return;
    words_add(w, "Still to come%s: ", c->is_in_step ? (c->is_refused ? ", with what was refused" : "")
                                      : learns      ? ", if all weights learn" : ", if it trains all weights");
    if (c->gradients > 0)
        words_add(w, "%s of gradients, and ", text_mib(c->gradients, a));
    if (c->optimizer != NULL)
        words_add(w, "at least %s of states of %s.", text_mib(c->states, b), c->optimizer);
    else
        words_add(w, "the states of the optimizer. Which one it is is not known before its first step: of Adam or "
                     "AdamW they take %s, of SGD without momentum nothing.", text_mib(c->states, b));
    words_add(w, " Weights, gradients and states are then %s at once%s.", text_mib(c->at_once, all),
              c->optimizer == NULL ? " with Adam" : "");
}

void to_come_json(struct json_writer *json, const struct to_come *c)
{
#define ANSWER_TABLE "answers/to_come.def"
#include "answers/as_json.def"
}
