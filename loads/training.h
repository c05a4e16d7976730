/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What every training does beside its model: the card, the batch, the optimizer. */
#ifndef REPLAY_LOADS_TRAINING_H
#define REPLAY_LOADS_TRAINING_H

#include "loads/layers.h"

enum training_optimizer { TRAINING_SGD, TRAINING_MOMENTUM, TRAINING_ADAMW };
#define TRAINING_OPTIMIZERS "sgd|momentum|adamw"

struct training {
    struct layers layers;
    enum training_optimizer optimizer;
    uint64_t n_sharers;                      /* ranks that share the states (ZeroRedundancyOptimizer); 0 or 1: none */
    size_t  *own;                            /* n_own parameters whose states are here; NULL before the first step */
    size_t   n_own;
};

/* Opens a tape for a card by any spelling of its name. ERR_USAGE for an unknown card; ERR_HOST_NOMEM. */
MUST_USE enum err training_open(struct training *t, struct trace_writer *w, const char *card, unsigned element_bytes,
                                enum training_optimizer optimizer, struct err_detail *err);
enum err training_close(struct training *t);

/* Marks the beginning of a step, counted from 0. */
void training_mark(struct training *t, uint64_t step);

/* What the loop's variables hold. */
struct training_batch { uint32_t inputs, targets, loss; };
#define TRAINING_NO_BATCH {TAPE_NONE, TAPE_NONE, TAPE_NONE}

/* `inputs, targets = ...`: the next batch comes before the last one goes. */
void training_load(struct training *t, struct training_batch *batch, uint64_t input_bytes, uint64_t target_bytes);

/* `loss = ...; loss.backward()`. */
void training_backward(struct training *t, struct training_batch *batch, struct value loss);

/* A step of the optimizer, as torch.optim with its default foreach=None, and zero_grad(). */
void training_step(struct training *t);

#endif
