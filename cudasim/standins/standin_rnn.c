/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * cuDNN's RNNs, by the calls that newer releases of PyTorch make (cudnn_adv.h, "v8"): what a program asks of them
 * before it allocates. The passes themselves do nothing, as all of a stand-in. The memory that each needs is in
 * rnn_sizes.h.
 *
 * A descriptor is memory of its own, as in cuDNN: its handle is the address.
 */
#include "cudasim/core/entry.h"
#include "cudasim/standins/rnn_sizes.h"

#include <stdlib.h>

enum {
    OK = 0, NO_MEMORY = 2, BAD_PARAM = 3,            /* as of cuDNN 8; 9 gives all but 0 new numbers */
    DIMENSIONS_MAX = 8,
    TYPE_FLOAT = 0, TYPE_DOUBLE = 1, TYPE_HALF = 2, TYPE_BFLOAT16 = 9,
    NO_BIAS = 0,                                     /* PyTorch asks for two biases; one alone was not tried */
    ALGORITHM_PERSISTENT = 3, LAYOUT_PACKED = 1,
    MULTIPROCESSORS = 16, THREADS_OF_MULTIPROCESSOR = 39,
    STATE_BYTES = 24,                                /* of a thread's random numbers, as on an H100 */
};

struct tensor {
    int type, n, dimensions[DIMENSIONS_MAX];
};

struct dropout {
    float share;
};

struct rnn {
    struct rnn_shape shape;                          /* without `given`, which a data descriptor holds */
    int type;
};

static int create(void **out, size_t bytes)
{
    if (out == NULL)
        return BAD_PARAM;
    *out = calloc(1, bytes);
    return *out == NULL ? NO_MEMORY : OK;
}

/* Every ...Destroy of a descriptor that is made here. */
ENTRY(int, cudasim_standin_forget, void *descriptor)
{
    free(descriptor);
    return OK;
}

ENTRY(int, cudasim_standin_tensor, void **out)
{
    return create(out, sizeof(struct tensor));
}

ENTRY(int, cudasim_standin_dropout, void **out)
{
    return create(out, sizeof(struct dropout));
}

ENTRY(int, cudasim_standin_rnn_data, void **out)
{
    return create(out, sizeof(struct rnn_sequences));
}

ENTRY(int, cudasim_standin_rnn, void **out)
{
    return create(out, sizeof(struct rnn));
}

/* cudnnGetTensorNdDescriptor: what cudnnGetRNNWeightParams put there. Of others nothing is known. */
ENTRY(int, cudasim_standin_tensor_get, const struct tensor *t, int wanted, int *type, int *n, int *dimensions,
      int *strides)
{
    if (t == NULL || type == NULL || n == NULL || dimensions == NULL || strides == NULL)
        return BAD_PARAM;
    *type = t->type;
    *n = t->n;
    int stride = 1;
    for (int i = (wanted < t->n ? wanted : t->n) - 1; i >= 0; i--) {
        dimensions[i] = t->dimensions[i];
        strides[i] = stride;
        stride *= t->dimensions[i];
    }
    return OK;
}

/* ---- descriptions ---- */

/* cudnnSetDropoutDescriptor and cudnnRestoreDropoutDescriptor. */
ENTRY(int, cudasim_standin_dropout_set, struct dropout *d, uint64_t handle, float share, void *states, size_t bytes,
      unsigned long long seed)
{
    (void)handle, (void)states, (void)bytes, (void)seed;
    if (d == NULL)
        return BAD_PARAM;
    d->share = share;
    return OK;
}

/* cudnnDropoutGetStatesSize. */
ENTRY(int, cudasim_standin_dropout_states, uint64_t handle, size_t *bytes)
{
    int multiprocessors = 0, threads = 0;
    (void)handle;
    if (bytes == NULL)
        return BAD_PARAM;
    const int device = cudasim_current_device();
    (void)cudasim_attribute(MULTIPROCESSORS, device, &multiprocessors);
    (void)cudasim_attribute(THREADS_OF_MULTIPROCESSOR, device, &threads);
    *bytes = (size_t)multiprocessors * (size_t)threads * STATE_BYTES;
    return OK;
}

static uint64_t element_bytes(int type)
{
    return type == TYPE_DOUBLE ? 8 : type == TYPE_HALF || type == TYPE_BFLOAT16 ? 2 : 4;
}

/* cudnnSetRNNDescriptor_v8. For bfloat16 cuDNN has no persistent algorithm and takes the usual one. */
ENTRY(int, cudasim_standin_rnn_set, struct rnn *r, int algorithm, int cell, int biases, int is_both, int input_mode,
      int type, int precision, int math, int input, int hidden, int projected, int layers, const struct dropout *drop,
      unsigned flags)
{
    (void)input_mode, (void)precision, (void)math, (void)flags;
    if (r == NULL || cell < RNN_RELU || cell > RNN_GRU || input <= 0 || hidden <= 0 || projected < 0 || layers <= 0)
        return BAD_PARAM;
    *r = (struct rnn){
        .shape = {
            .cell = (enum rnn_cell)cell, .is_both = is_both != 0, .has_biases = biases != NO_BIAS,
            .is_persistent = algorithm == ALGORITHM_PERSISTENT && type != TYPE_BFLOAT16,
            .has_dropout = drop != NULL && drop->share > 0, .element_bytes = element_bytes(type),
            .input = (uint64_t)input, .hidden = (uint64_t)hidden, .layers = (uint64_t)layers,
            .projected = cell == RNN_LSTM && projected < hidden ? (uint64_t)projected : 0,
        },
        .type = type,
    };
    return OK;
}

/* cudnnSetRNNDataDescriptor. */
ENTRY(int, cudasim_standin_rnn_data_set, struct rnn_sequences *d, int type, int layout, int length, int batch,
      int width, const int lengths[], void *filling)
{
    (void)type, (void)width, (void)filling;
    if (d == NULL || length <= 0 || batch <= 0 || lengths == NULL)
        return BAD_PARAM;
    *d = (struct rnn_sequences){.length = (uint64_t)length, .batch = (uint64_t)batch,
                                .is_packed = layout == LAYOUT_PACKED};
    for (int i = 0; i < batch; i++) {
        const int n = d->is_packed ? lengths[i] : length;
        if (n < 0 || n > length)
            return BAD_PARAM;
        d->steps += (uint64_t)n;
        d->early_steps += (uint64_t)(n < RNN_CHUNK_STEPS ? n : RNN_CHUNK_STEPS);
    }
    return OK;
}

/* ---- sizes ---- */

/* cudnnGetRNNWeightSpaceSize. */
ENTRY(int, cudasim_standin_rnn_weights, uint64_t handle, const struct rnn *r, size_t *bytes)
{
    (void)handle;
    if (r == NULL || bytes == NULL)
        return BAD_PARAM;
    *bytes = rnn_weights_bytes(&r->shape);
    return OK;
}

/* cudnnGetRNNTempSpaceSizes. Either size may be left out. */
ENTRY(int, cudasim_standin_rnn_sizes, uint64_t handle, const struct rnn *r, int is_training,
      const struct rnn_sequences *d, size_t *workspace_bytes, size_t *reserve_bytes)
{
    (void)handle;
    if (r == NULL || d == NULL)
        return BAD_PARAM;
    struct rnn_shape s = r->shape;
    s.given = *d;
    if (workspace_bytes != NULL)
        *workspace_bytes = rnn_workspace_bytes(&s, is_training != 0);
    if (reserve_bytes != NULL)
        *reserve_bytes = is_training != 0 ? rnn_reserve_bytes(&s) : 0;
    return OK;
}

/* ---- where the weights lie ---- */

/* Columns of a matrix: gates of the input come first, then those of the state, then a projection. */
static uint64_t columns(const struct rnn_shape *s, bool is_first, uint64_t matrix)
{
    const uint64_t gates = rnn_gates(s->cell), output = rnn_output_width(s);
    const uint64_t below = is_first ? s->input : output * rnn_directions(s);
    return matrix < gates ? below : matrix < 2 * gates ? output : s->hidden;
}

static uint64_t matrix_elements(const struct rnn_shape *s, bool is_first, uint64_t matrix)
{
    const uint64_t rows = matrix < 2 * rnn_gates(s->cell) ? s->hidden : s->projected;
    return rows * columns(s, is_first, matrix);
}

static uint64_t layer_elements(const struct rnn_shape *s, bool is_first, uint64_t n_matrices)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n_matrices; i++)
        sum += matrix_elements(s, is_first, i);
    return sum;
}

static void describe(struct tensor *t, int type, uint64_t rows, uint64_t n_columns)
{
    if (t != NULL)
        *t = (struct tensor){.type = type, .n = 3, .dimensions = {1, (int)rows, (int)n_columns}};
}

/* cudnnGetRNNWeightParams: all matrices, layer by layer, and behind them all biases. Which comes first is cuDNN's own
 * affair, and programs ask. Matrix or bias may be left out. TensorFlow asks each LSTM for its projection: if it
 * has none, that is empty and lies nowhere. */
ENTRY(int, cudasim_standin_rnn_weight, uint64_t handle, const struct rnn *r, int layer, size_t bytes, char *weights,
      int number, struct tensor *matrix, void **matrix_at, struct tensor *bias, void **bias_at)
{
    (void)handle, (void)bytes;
    if (r == NULL || layer < 0 || number < 0)
        return BAD_PARAM;
    const struct rnn_shape *s = &r->shape;
    const uint64_t d = rnn_directions(s), l = (uint64_t)layer, k = (uint64_t)number, gates = rnn_gates(s->cell);
    const uint64_t n_matrices = 2 * gates + (s->projected != 0), n_first = l < d ? l : d;
    const bool has_matrix = k < n_matrices;
    if (l >= s->layers * d || k >= 2 * gates + (s->cell == RNN_LSTM))
        return BAD_PARAM;
    const uint64_t before = n_first * layer_elements(s, true, n_matrices) +
                            (l - n_first) * layer_elements(s, false, n_matrices) + layer_elements(s, l < d, k);
    struct rnn_shape without = *s;
    without.has_biases = false;
    describe(matrix, r->type, has_matrix ? matrix_elements(s, l < d, k) / columns(s, l < d, k) : 0,
             has_matrix ? columns(s, l < d, k) : 0);
    if (matrix_at != NULL)
        *matrix_at = has_matrix ? weights + before * s->element_bytes : NULL;
    const bool has_bias = s->has_biases && k < 2 * gates;
    describe(bias, r->type, has_bias ? s->hidden : 0, has_bias);
    if (bias_at != NULL)
        *bias_at = !has_bias ? NULL
                 : weights + rnn_weights_bytes(&without) + (l * 2 * gates + k) * s->hidden * s->element_bytes;
    return OK;
}
