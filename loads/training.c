/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Optimizers work on all parameters at once: temporaries of all of them are live together. */
#include "loads/training.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err training_open(struct training *t, struct trace_writer *w, const char *card, unsigned element_bytes,
                       enum training_optimizer optimizer, struct err_detail *err)
{
    const struct device_model *model;
    if (cards_find(card, strlen(card), &model, 1) == 0)
        return err_set(err, ERR_USAGE, 0, "card=%s: there is no such card (replay --list shows all)", card);
    *t = (struct training){.optimizer = optimizer};
    t->layers.card = model;
    t->layers.class = compute_class_of(model->capability);
    t->layers.tape = tape_open(w, element_bytes, &t->layers, err);
    return t->layers.tape == NULL ? ERR_HOST_NOMEM : ERR_OK;
}

enum err training_close(struct training *t)
{
    free(t->layers.casts);
    free(t->own);
    return tape_close(t->layers.tape);
}

void training_mark(struct training *t, uint64_t step)
{
    char label[32];
    snprintf(label, sizeof label, "step %" PRIu64, step + 1);
    tape_mark(t->layers.tape, label);
}

void training_load(struct training *t, struct training_batch *batch, uint64_t input_bytes, uint64_t target_bytes)
{
    struct tape *tape = t->layers.tape;
    const struct training_batch last = *batch;
    batch->inputs = tape_new(tape, input_bytes);
    batch->targets = tape_new(tape, target_bytes);
    tape_drop(tape, last.targets);                   /* CPython stores the second of two names first */
    tape_drop(tape, last.inputs);
}

void training_backward(struct training *t, struct training_batch *batch, struct value loss)
{
    tape_drop(t->layers.tape, batch->loss);
    batch->loss = loss.storage;
    tape_run_backward(t->layers.tape, loss);
}

/* ---- the optimizer ---- */

struct sized { size_t parameter; uint64_t bytes; };

static int by_bytes_down(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->parameter > y->parameter) - (x->parameter < y->parameter);
}

/* ZeroRedundancyOptimizer gives the largest parameter that is left to the rank that has least. This rank is the first.
 * Keeps those of `all` that are its own; returns their number. `held` has an element per rank. */
static size_t own_share(struct sized *all, size_t n, uint64_t *held, uint64_t n_ranks)
{
    size_t n_own = 0;
    qsort(all, n, sizeof *all, by_bytes_down);
    for (size_t i = 0; i < n; i++) {
        uint64_t least = 0;
        for (uint64_t k = 1; k < n_ranks; k++)
            least = held[k] < held[least] ? k : least;
        held[least] += all[i].bytes;
        if (least == 0)
            all[n_own++] = all[i];
    }
    return n_own;
}

static size_t trained_parameters(const struct tape *tape, struct sized *out)
{
    struct tape_parameter p;
    size_t n = 0;
    for (size_t i = 0; tape_parameter_at(tape, i, &p); i++)
        if (p.is_trained) {
            if (out != NULL)
                out[n] = (struct sized){.parameter = i, .bytes = p.bytes};
            n++;
        }
    return n;
}

/* The parameters that this rank's optimizer has, in its order. */
static bool optimizer_parameters(struct training *t)
{
    struct tape *tape = t->layers.tape;
    const uint64_t n_ranks = t->n_sharers > 0 ? t->n_sharers : 1;
    size_t n = trained_parameters(tape, NULL);
    struct sized *all = calloc(n + 1, sizeof *all);
    uint64_t *held = calloc(n_ranks, sizeof *held);
    t->own = calloc(n + 1, sizeof *t->own);
    if (all == NULL || held == NULL || t->own == NULL) {
        tape_no_memory(tape);
    } else {
        (void)trained_parameters(tape, all);
        t->n_own = n_ranks > 1 ? own_share(all, n, held, n_ranks) : n;
        for (size_t i = 0; i < t->n_own; i++)
            t->own[i] = all[i].parameter;
    }
    free(all);
    free(held);
    return t->own != NULL;
}

/* Adam makes both moments of a parameter before the next one's, momentum one buffer (torch/optim/adam.py, sgd.py). They
 * are kept to the end. */
static void states_make(struct training *t)
{
    struct tape_parameter p;
    const unsigned n = t->optimizer == TRAINING_ADAMW ? 2 : t->optimizer == TRAINING_MOMENTUM ? 1 : 0;
    for (size_t i = 0; i < t->n_own && tape_parameter_at(t->layers.tape, t->own[i], &p); i++)
        for (unsigned k = 0; k < n && p.gradient != TAPE_NONE; k++)
            (void)tape_new(t->layers.tape, p.bytes);
}

/* The square roots of all second moments (torch._foreach_sqrt), freed in the reverse order. */
static void adamw_roots(struct training *t)
{
    struct tape *tape = t->layers.tape;
    struct tape_parameter p;
    uint32_t *roots = malloc((t->n_own + 1) * sizeof *roots);
    size_t n = 0;
    if (roots == NULL) {
        tape_no_memory(tape);
        return;
    }
    for (; n < t->n_own && tape_parameter_at(tape, t->own[n], &p); n++)
        roots[n] = p.gradient == TAPE_NONE ? TAPE_NONE : tape_new(tape, p.bytes);
    while (n > 0)
        tape_drop(tape, roots[--n]);
    free(roots);
}

void training_step(struct training *t)
{
    if (t->own == NULL && optimizer_parameters(t))
        states_make(t);
    if (t->optimizer == TRAINING_ADAMW)
        adamw_roots(t);
    tape_drop_gradients(t->layers.tape);
}
