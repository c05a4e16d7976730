/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A transformer that predicts the next token: its training, and generation with a cache, from its shape.
 *
 * The program is tests/against-torch/load_programs.py: learned places, pre-norm blocks, fused queries, keys and values,
 * scaled_dot_product_attention, gelu, dropout after the embedding, attention and feed-forward.
 */
#ifndef REPLAY_LOADS_TRANSFORMER_H
#define REPLAY_LOADS_TRANSFORMER_H

#include "loads/data_parallel.h"
#include "loads/experts.h"
#include "loads/sharded.h"
#include "loads/training.h"

/* A linear layer, or a frozen one with a correction of low rank, or one of which each rank has some of the inputs. */
struct linear { struct value weight, bias, a, b; uint64_t n_out; bool is_split; };

struct transformer_block { struct value norm1[2], norm2[2]; struct linear qkv, out, up, down; struct experts experts; };

/* The caller fills in the shape: all but `training` and what stands behind the blank line. */
struct transformer {
    struct training training;
    uint64_t n_blocks, width, hidden, vocabulary;
    uint64_t rank;                           /* of trained corrections to frozen layers; 0: all is trained */
    uint64_t n_data, n_tensor;               /* ranks that share the data; that share each layer; 1: one card */
    uint64_t n_rows;                         /* tokens of a batch */
    struct layers_heads heads;               /* of this rank */
    struct experts experts;                  /* as of each block, without parameters; n = 0: none */
    bool is_checkpointed, is_autocast, has_dropout;
    bool is_sharded;                         /* n_data ranks have a share of each parameter */
    bool is_first, is_last;                  /* the embedding is here; norm, head and loss are */

    struct value tokens, places, norm[2], head;
    struct transformer_block *blocks;
    struct data_parallel data;
    struct sharded sharded;
    struct block_of *again;                  /* for each block, what runs it again */
};

/* Opens the tape and places the parameters. Errors of training_open; transformer_close frees, also after an error, and
 * returns the tape's error. */
MUST_USE enum err transformer_open(struct transformer *m, struct trace_writer *w, const char *card,
                                   unsigned element_bytes, enum training_optimizer optimizer, struct err_detail *err);
enum err transformer_close(struct transformer *m);

/* A batch through what is here: `x` are tokens in the first stage, else what the stage before gave. Gives the loss in
 * the last stage, else what goes to the next one. */
struct value transformer_forward(struct transformer *m, struct value x);

/* A batch forward and backward. */
void transformer_train(struct transformer *m, struct training_batch *batch);

/* Without gradients: answers of `answer` tokens to a batch of prompts of `prompt` tokens, with keys and values kept by
 * concatenation. */
void transformer_generate(struct transformer *m, uint64_t prompt, uint64_t answer);

#endif
