/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The memory that cuDNN's RNNs ask for: weights, the reserve space that a forward pass leaves for the backward pass,
 * and the workspace of either.
 *
 * NVIDIA documents none of it. cuDNN 9.19 was asked on an H100, shape by shape (tests/gpu/rnn_sizes), and rnn_sizes.c
 * holds the sums that its answers are. tests/cudasim/test_rnn_sizes.c holds them against the answers.
 */
#ifndef REPLAY_CUDASIM_STANDINS_RNN_SIZES_H
#define REPLAY_CUDASIM_STANDINS_RNN_SIZES_H

#include <stdbool.h>
#include <stdint.h>

/* cudnnRNNMode_t. */
enum rnn_cell { RNN_RELU, RNN_TANH, RNN_LSTM, RNN_GRU };

/* What a pass is given: sequences of one length, or packed ones without padding. */
struct rnn_sequences {
    uint64_t length, batch;          /* of the longest sequence; how many there are */
    uint64_t steps;                  /* of all together: length * batch, unless packed */
    uint64_t early_steps;            /* the same of the first RNN_CHUNK_STEPS of each sequence */
    bool     is_packed;
};

struct rnn_shape {
    enum rnn_cell cell;
    bool     is_persistent;          /* CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H: for small hidden states */
    bool     has_biases;             /* two for each gate */
    bool     is_both;                /* bidirectional */
    bool     has_dropout;
    uint64_t element_bytes;
    uint64_t input, hidden, layers;
    uint64_t projected;              /* of an LSTM with projection: the width of its output; otherwise 0 */
    struct rnn_sequences given;      /* weights do not depend on it */
};

/* One direction of plain RNNs is computed in so many time steps at once. */
enum { RNN_CHUNK_STEPS = 256 };

unsigned rnn_gates(enum rnn_cell cell);
uint64_t rnn_directions(const struct rnn_shape *s);
uint64_t rnn_output_width(const struct rnn_shape *s);        /* of one direction */

uint64_t rnn_weights_bytes(const struct rnn_shape *s);
uint64_t rnn_reserve_bytes(const struct rnn_shape *s);

/* Of a pass for inference; or of both passes of training, for which cuDNN says the same. Exact but for layers of one
 * direction above each other (within 1 % mostly) and for projections. */
uint64_t rnn_workspace_bytes(const struct rnn_shape *s, bool is_training);

#endif
