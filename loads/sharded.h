/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Training on several cards, each of which has a share of every parameter (PyTorch's fully_shard on each block, and on
 * the model): a block's parameters are whole while it runs.
 *
 * A *group* is what is made whole at once: a block, or what is left of the model (the root). Peaks are right, not each
 * request: shares are not rounded to whole rows.
 */
#ifndef REPLAY_LOADS_SHARDED_H
#define REPLAY_LOADS_SHARDED_H

#include "loads/tape.h"

struct shard_group;

struct sharded {
    struct tape *tape;
    uint64_t n_ranks;
    struct shard_group *groups;              /* the blocks in their order, then the root; n of them */
    size_t   n;
    uint32_t gathered, reduced;              /* buffers that are freed when the next ones are there */
};

/* `fully_shard`: group_of_parameter[i] is the group of the i-th parameter, below n_groups. */
void sharded_begin(struct sharded *s, struct tape *t, uint64_t n_ranks, const size_t *group_of_parameter,
                   size_t n_groups);
void sharded_end(struct sharded *s);

/* Before a group runs, and after it. The root is whole from its forward pass to the end of its backward pass. */
void sharded_unshard(struct sharded *s, size_t group);
void sharded_reshard(struct sharded *s, size_t group);
void sharded_forget_gathered(struct sharded *s);

/* Passes a value on; runs backwards: the group `ahead` is gathered ahead, `group` is made whole or its gradients are
 * reduced and its parameters go. SIZE_MAX: none. */
struct value sharded_before_backward(struct sharded *s, struct value x, size_t group, size_t ahead);
struct value sharded_after_backward(struct sharded *s, struct value x, size_t group);
void sharded_reduce(struct sharded *s, size_t group);

#endif
