/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What cuDNN's RNNs ask for: rnn_sizes.h. Each buffer is a sum of pieces, which are rounded up to 32 bytes. A piece is
 * a multiple of one of these, in elements:
 *
 *     steps * input, steps * hidden      of all time steps
 *     batch * hidden * layers            of the states, in both directions
 *
 * Training may need less than inference would; then it gets what inference gets.
 */
#include "cudasim/standins/rnn_sizes.h"

#include "base/units.h"

enum {
    PIECE_BYTES = 32, HEAD_BYTES = 256, LAYER_BYTES = 8 << 20,
    WAVE_STEPS = 24,                 /* of layers above each other that are computed side by side, about */
    PIECES_MAX = 4,
};

/* Multiples, as many as there are; 0 ends them. */
struct rnn_pieces {
    uint8_t inference[PIECES_MAX], training[PIECES_MAX];
};

enum rnn_family { FAMILY_PLAIN, FAMILY_LSTM, FAMILY_GRU };

/* Of the states, by algorithm and directions; without those that padded sequences add. */
static const struct rnn_pieces of_states[][2][2] = {
    [FAMILY_PLAIN] = {{{{1}, {1}}, {{1, 2}, {1, 2}}}, {{{2}, {2}}, {{1, 2}, {1, 2}}}},
    [FAMILY_LSTM] = {{{{2, 4}, {1, 2}}, {{2, 2, 4}, {1, 2, 2}}}, {{{2, 2}, {2, 2}}, {{1, 2, 2}, {1, 2, 2}}}},
    [FAMILY_GRU] = {{{{3}, {1}}, {{2, 3}, {1, 2}}}, {{{2}, {2}}, {{1, 2}, {1, 2}}}},
};

/* What the persistent algorithm adds of time steps. */
static const struct rnn_pieces of_persistent[] = {
    [FAMILY_PLAIN] = {{4}, {1, 8}}, [FAMILY_LSTM] = {{16}, {4, 8}}, [FAMILY_GRU] = {{12}, {6, 8}},
};

static enum rnn_family family_of(enum rnn_cell cell)
{
    return cell == RNN_LSTM ? FAMILY_LSTM : cell == RNN_GRU ? FAMILY_GRU : FAMILY_PLAIN;
}

unsigned rnn_gates(enum rnn_cell cell)
{
    return cell == RNN_LSTM ? 4 : cell == RNN_GRU ? 3 : 1;
}

uint64_t rnn_directions(const struct rnn_shape *s)
{
    return s->is_both ? 2 : 1;
}

uint64_t rnn_output_width(const struct rnn_shape *s)
{
    return s->projected != 0 ? s->projected : s->hidden;
}

static uint64_t piece(const struct rnn_shape *s, uint64_t elements)
{
    return align_up(elements * s->element_bytes, PIECE_BYTES);
}

static uint64_t pieces(const struct rnn_shape *s, const uint8_t multiples[static PIECES_MAX], uint64_t elements)
{
    uint64_t sum = 0;
    for (int i = 0; i < PIECES_MAX && multiples[i] != 0; i++)
        sum += piece(s, multiples[i] * elements);
    return sum;
}

/* Without biases. */
static uint64_t matrix_elements(const struct rnn_shape *s)
{
    const uint64_t output = rnn_output_width(s), gate_rows = rnn_gates(s->cell) * s->hidden;
    const uint64_t first = gate_rows * (s->input + output);
    const uint64_t later = gate_rows * (rnn_directions(s) * output + output);
    return rnn_directions(s) * (first + (s->layers - 1) * later + s->layers * s->projected * s->hidden);
}

uint64_t rnn_weights_bytes(const struct rnn_shape *s)
{
    const uint64_t biases = s->has_biases ? 2 * rnn_gates(s->cell) * s->hidden * s->layers * rnn_directions(s) : 0;
    return (matrix_elements(s) + biases) * s->element_bytes;
}

uint64_t rnn_reserve_bytes(const struct rnn_shape *s)
{
    static const uint8_t of_gates[] = {[FAMILY_PLAIN] = 1, [FAMILY_LSTM] = 4, [FAMILY_GRU] = 6};
    const uint64_t d = rnn_directions(s), all = s->layers * d * s->given.steps, between = (s->layers - 1) * d;
    const enum rnn_family family = family_of(s->cell);
    uint64_t sum = HEAD_BYTES + piece(s, of_gates[family] * all * s->hidden) +
                   piece(s, between * s->given.steps * s->hidden);
    if (family == FAMILY_LSTM)
        sum += piece(s, all * s->hidden);
    if (s->projected != 0)
        sum += piece(s, all * s->hidden) + piece(s, all * s->projected);
    if (s->has_dropout)                                       /* a bit for each */
        sum += between * align_up(divide_up(s->given.length * s->given.batch * s->hidden * d, 8), PIECE_BYTES);
    return sum;
}

/* What padded sequences add, `times` over: input, output, and the states before and after. */
static uint64_t padding_bytes(const struct rnn_shape *s, uint64_t states, uint64_t times)
{
    const uint64_t shown_states = states / s->hidden * rnn_output_width(s);
    const uint64_t cells_bytes = s->cell == RNN_LSTM ? 2 * piece(s, states) : 0;
    if (s->given.is_packed)
        return 0;
    return align_up(8 * s->given.batch, PIECE_BYTES) +
           times * (piece(s, s->given.steps * s->input) + piece(s, rnn_directions(s) * s->given.steps * s->hidden) +
                    2 * piece(s, shown_states) + cells_bytes);
}

static uint64_t inference_bytes(const struct rnn_shape *s, uint64_t states)
{
    const uint64_t in_steps = s->given.steps * s->hidden, gates = rnn_gates(s->cell);
    const enum rnn_family family = family_of(s->cell);
    uint64_t sum = padding_bytes(s, states, 1) +
                   pieces(s, of_states[family][s->is_persistent][s->is_both].inference, states);
    if (s->is_both)
        sum += piece(s, 2 * gates * in_steps) + piece(s, 4 * in_steps);
    else
        sum += piece(s, gates * s->hidden * (s->is_persistent ? s->given.steps : s->given.early_steps));
    if (s->is_persistent)
        sum += pieces(s, of_persistent[family].inference, in_steps);
    if (s->has_dropout && !s->is_both)
        sum += piece(s, in_steps);
    return sum;
}

/* Of the gradients that one layer hands to the next. */
static uint64_t between_layers_bytes(const struct rnn_shape *s)
{
    const uint64_t in_steps = rnn_directions(s) * s->given.steps * s->hidden;
    if (s->layers == 1)
        return piece(s, in_steps);
    if (s->is_both || s->is_persistent)
        return piece(s, 2 * in_steps);
    const bool is_whole = s->has_dropout || s->given.length < WAVE_STEPS;
    return piece(s, is_whole ? in_steps : WAVE_STEPS * s->given.batch * s->hidden);
}

static uint64_t training_bytes(const struct rnn_shape *s, uint64_t states)
{
    const uint64_t wider = s->input > s->hidden ? s->input : s->hidden;
    const enum rnn_family family = family_of(s->cell);
    uint64_t sum = padding_bytes(s, states, 2) + piece(s, (s->is_both ? 4 : 1) * s->given.steps * wider) +
                   between_layers_bytes(s) +
                   pieces(s, of_states[family][s->is_persistent][s->is_both].training, states);
    if (s->is_persistent)
        sum += pieces(s, of_persistent[family].training, s->given.steps * s->hidden);
    return sum;
}

uint64_t rnn_workspace_bytes(const struct rnn_shape *s, bool is_training)
{
    const uint64_t states = s->given.batch * s->hidden * s->layers * rnn_directions(s);
    const uint64_t fixed = HEAD_BYTES + s->layers * rnn_directions(s) * LAYER_BYTES + piece(s, matrix_elements(s)) +
                           piece(s, rnn_directions(s) * s->given.steps * s->projected);
    const uint64_t inference = inference_bytes(s, states), training = is_training ? training_bytes(s, states) : 0;
    return fixed + (training > inference ? training : inference);
}
