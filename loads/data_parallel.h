/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Training on several cards with the whole model on each (PyTorch's DistributedDataParallel): what one rank requests
 * beside its own training.
 */
#ifndef REPLAY_LOADS_DATA_PARALLEL_H
#define REPLAY_LOADS_DATA_PARALLEL_H

#include "loads/tape.h"

struct data_parallel { uint32_t bucket; bool is_rebuilt; };

/* `DistributedDataParallel(model)`: the ranks get the same parameters, and there is one bucket for all gradients. */
void data_parallel_begin(struct data_parallel *d, struct tape *t);

/* Before a forward pass: after the first backward pass the gradients get buckets in the order in which they came. */
void data_parallel_forward(struct data_parallel *d, struct tape *t);

#endif
