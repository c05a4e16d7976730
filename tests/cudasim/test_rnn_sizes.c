/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The sizes of cuDNN's RNNs against what cuDNN 9.19 answered on an H100, shape by shape (tests/gpu/rnn_sizes). */
#include "cudasim/standins/rnn_sizes.h"

#include "tests/cudasim/card_answers.h"

#include <string.h>

enum { ALGORITHM, CELL, BIAS, BOTH, TYPE, INPUT, HIDDEN, PROJECTED, LAYERS, DROPOUT, LAYOUT, STEPS, LENGTH, BATCH,
       INFERENCE, TRAINING, RESERVE, WEIGHTS, N_COLUMNS };
enum { PERSISTENT = 3, BFLOAT16 = 9 };

static struct rnn_shape shape_of(const uint64_t row[static N_COLUMNS])
{
    static const uint64_t bytes_of_type[] = {[0] = 4, [1] = 8, [2] = 2, [BFLOAT16] = 2};
    const uint64_t early = row[LENGTH] < RNN_CHUNK_STEPS ? row[LENGTH] : RNN_CHUNK_STEPS;
    return (struct rnn_shape){
        .cell = (enum rnn_cell)row[CELL], .is_persistent = row[ALGORITHM] == PERSISTENT && row[TYPE] != BFLOAT16,
        .has_biases = row[BIAS] != 0, .is_both = row[BOTH] != 0, .has_dropout = row[DROPOUT] != 0,
        .element_bytes = bytes_of_type[row[TYPE]], .input = row[INPUT],
        .hidden = row[HIDDEN], .projected = row[PROJECTED], .layers = row[LAYERS],
        .given = {.is_packed = row[LAYOUT] != 0, .length = row[LENGTH], .batch = row[BATCH], .steps = row[STEPS],
                  .early_steps = row[LAYOUT] != 0 ? row[STEPS]                  /* no packed row has longer sequences */
                                                  : early * row[BATCH]},
    };
}

static void print_row(const uint64_t row[static N_COLUMNS], const char *what, uint64_t said)
{
    fprintf(stderr, "%s is %llu here:", what, (unsigned long long)said);
    for (int i = 0; i < N_COLUMNS; i++)
        fprintf(stderr, " %llu", (unsigned long long)row[i]);
    fputc('\n', stderr);
}

/* Counts, and shows what differs. */
static void judge(const uint64_t row[static N_COLUMNS], int column, const char *what, uint64_t said, int *n_wrong)
{
    if (said == row[column])
        return;
    print_row(row, what, said);
    ++*n_wrong;
}

/* One direction in several layers overlaps in time as cuDNN sees fit. Projections are seldom used. */
static bool is_training_exact(const struct rnn_shape *s)
{
    return s->layers == 1 || s->is_both || s->is_persistent;
}

Test(rnn_sizes, are_what_cudnn_said)
{
    uint64_t row[N_COLUMNS];
    int n = 0, n_wrong = 0;
    FILE *f = card_answers_open(TEST_DATA "/rnn_sizes.csv");
    while (card_answers_read(f, row, N_COLUMNS)) {
        const struct rnn_shape s = shape_of(row);
        judge(row, WEIGHTS, "weights", rnn_weights_bytes(&s), &n_wrong);
        if (s.projected != 0)
            continue;
        n++;
        judge(row, RESERVE, "reserve", rnn_reserve_bytes(&s), &n_wrong);
        judge(row, INFERENCE, "inference", rnn_workspace_bytes(&s, false), &n_wrong);
        if (is_training_exact(&s))
            judge(row, TRAINING, "training", rnn_workspace_bytes(&s, true), &n_wrong);
    }
    fclose(f);
    cr_expect_geq(n, 1400);
    cr_expect_eq(n_wrong, 0);
}

/* What is not exact is near: nine of ten within 1 %, all within 25 %. */
Test(rnn_sizes, of_layers_above_each_other_and_of_projections_are_near)
{
    uint64_t row[N_COLUMNS];
    int n = 0, n_near = 0;
    FILE *f = card_answers_open(TEST_DATA "/rnn_sizes.csv");
    while (card_answers_read(f, row, N_COLUMNS)) {
        const struct rnn_shape s = shape_of(row);
        if (s.projected == 0 && is_training_exact(&s))
            continue;
        const int64_t said = (int64_t)rnn_workspace_bytes(&s, true), was = (int64_t)row[TRAINING];
        n++;
        n_near += llabs(said - was) <= was / 100;
        if (llabs(said - was) > was / 4) {
            print_row(row, "training", (uint64_t)said);
            cr_expect(false);
        }
    }
    fclose(f);
    cr_expect_geq(n, 200);
    cr_expect_geq(10 * n_near, 9 * n, "%d of %d", n_near, n);
}
