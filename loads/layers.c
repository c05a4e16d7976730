/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The rules of each layer, forward and backward. */
#include "loads/layers.h"

#include "base/units.h"

#include "base/array.h"

#include <stddef.h>
#include <string.h>

enum { FLOAT_BYTES = 4, HALF_BYTES = 2 };

uint32_t layers_new(struct layers *l, uint64_t count, struct value like)
{
    return tape_new(l->tape, count * like.element_bytes);
}

uint32_t layers_gradient(struct layers *l, const struct tape_node *n, uint32_t i)
{
    return layers_new(l, n->inputs[i].count, n->inputs[i]);
}

/* cuBLAS and cuBLASLt take a workspace at the first product of each thread: the program's, and the one that runs the
 * backward pass. cuBLASLt does products with a bias (PyTorch 2.9, CUDABlas.cpp). */
static void layers_need_workspace(struct layers *l, bool has_bias)
{
    const bool is_backward = tape_is_backward(l->tape);
    const unsigned generation = l->card->capability / 10;
    if (tape_has_stopped(l->tape))
        return;
    if (!l->has_cublas[is_backward])
        (void)tape_new(l->tape, generation == 9 ? 32 * MIB : 8 * MIB + 128 * KIB);
    l->has_cublas[is_backward] = true;
    if (has_bias && !l->has_cublas_lt[is_backward])
        (void)tape_new(l->tape, MIB);
    l->has_cublas_lt[is_backward] |= has_bias;
}

/* ---- autocast ---- */

static void cast_backward(struct tape *t, struct tape_node *n)
{
    tape_give(t, n, 0, layers_gradient(tape_context(t), n, 0), false);
}

static struct value cast_run(struct layers *l, struct value v, unsigned element_bytes)
{
    const struct value like = {.element_bytes = element_bytes};
    struct tape_node *n = tape_operation(l->tape, cast_backward, &v, 1);
    return tape_output(l->tape, n, 0, layers_new(l, v.count, like), v.count, like);
}

/* Where the cast of a parameter is kept; NULL: nowhere, as for what is not trained (PyTorch, autocast_mode.cpp,
 * cached_cast). */
static struct value *cast_kept(struct layers *l, struct value v)
{
    const size_t i = tape_parameter_of(v);
    if (i == SIZE_MAX)
        return NULL;
    if (i >= l->n_casts) {
        struct value *more = array_reserve(l->casts, l->n_casts, i + 1 - l->n_casts, &l->casts_room, sizeof *more);
        if (more == NULL) {
            tape_no_memory(l->tape);
            return NULL;
        }
        memset(more + l->n_casts, 0xff, (i + 1 - l->n_casts) * sizeof *more);
        l->casts = more;
        l->n_casts = i + 1;
    }
    return &l->casts[i];
}

/* The value in elements of that size, with a reference of its own. */
static struct value layers_cast(struct layers *l, struct value v, unsigned element_bytes)
{
    if (!l->is_autocast || v.count == 0 || v.element_bytes == element_bytes) {
        tape_keep(l->tape, v.storage);
        return v;
    }
    struct value *kept = cast_kept(l, v);
    if (kept == NULL)
        return cast_run(l, v, element_bytes);
    if (kept->storage == TAPE_NONE)
        *kept = cast_run(l, v, element_bytes);
    tape_keep(l->tape, kept->storage);
    return *kept;
}

void layers_begin_autocast(struct layers *l)
{
    l->is_autocast = true;
}

void layers_end_autocast(struct layers *l)
{
    for (size_t i = 0; i < l->n_casts; i++)
        tape_drop(l->tape, l->casts[i].storage);
    l->n_casts = 0;
    l->is_autocast = false;
}

/* ---- reductions ---- */

static uint64_t power_of_two_up_to(uint64_t n)
{
    uint64_t p = 1;
    while (p <= n / 2)
        p *= 2;
    return p;
}

/* The sum of a matrix over its rows, as for the gradient of a bias. With many rows several blocks of threads share a
 * column: they put partial sums into a buffer, and count themselves in another. Source: PyTorch,
 * aten/src/ATen/native/cuda/Reduce.cuh, setReduceConfig. */
static uint32_t layers_sum_rows(struct layers *l, uint64_t n_rows, struct value like)
{
    enum { THREADS = 512, WARP = 32, VALUES = 256, COLUMNS_MAX = 4096, SPLIT_ROWS = 16 };
    const uint64_t n_columns = like.count;
    const uint32_t out = layers_new(l, n_columns, like);
    const uint64_t vector = n_columns % 4 == 0 ? 4 : n_columns % 2 == 0 ? 2 : 1;
    const uint64_t threads = THREADS / vector, columns = power_of_two_up_to(n_columns / vector);
    uint64_t width = columns < WARP ? columns : WARP;
    const uint64_t rows = power_of_two_up_to(n_rows);
    const uint64_t height = rows < threads / width ? rows : threads / width;
    width = columns < threads / height ? columns : threads / height;
    const uint64_t grid = divide_up(n_columns / vector, width), values = divide_up(n_rows, height);
    if (values < VALUES || n_columns > COLUMNS_MAX)
        return out;
    const uint64_t resident = l->class->threads / (width * height) * l->card->multiprocessors;
    const uint64_t wanted = divide_up(resident, grid), split = divide_up(values, SPLIT_ROWS);
    const uint64_t least = divide_up(values, VALUES);
    uint64_t blocks = wanted < split ? wanted : split;
    blocks = blocks > least ? blocks : least;
    if (blocks < 2)
        return out;
    const uint32_t sums = tape_new(l->tape, FLOAT_BYTES * n_columns * blocks * width * vector);
    tape_temporary(l->tape, FLOAT_BYTES * grid);
    tape_drop(l->tape, sums);
    return out;
}

/* ---- embedding ---- */

/* Above so many indices they are sorted first. */
enum { EMBEDDING_UNSORTED_MAX = 3072 };

/* Keys of a tile in cub's sort and scan of 64-bit numbers, by capability, as observed. */
struct cub_tiles { unsigned capability, sort, scan; };

static struct cub_tiles cub_tiles_of(const struct device_model *card)
{
    static const struct cub_tiles tiles[] = {{90, 4608, 4608}, {81, 3840, 320}, {80, 3840, 1792}, {0, 2816, 320}};
    size_t i = 0;
    while (card->capability < tiles[i].capability)
        i++;
    return tiles[i];
}

/* What cub::DeviceRadixSort takes beside its arrays: a second copy of keys and values, a histogram for each digit, and
 * a count for each tile and digit. As observed. */
static uint64_t sort_bytes(uint64_t n, uint64_t tile)
{
    return 2 * align_up(n * LAYERS_INDEX_BYTES, 256) + divide_up(n, tile) * 1024 + 16895;
}

/* What cub's scans take: a state for each tile, and 32 more. As observed. */
static uint64_t scan_bytes(uint64_t n, uint64_t tile)
{
    return align_up((divide_up(n, tile) + 32) * 16, 256) + 255;
}

/* The rows of one index are added up in parts of ten, and then the parts (PyTorch, cuda/EmbeddingBackwardKernel.cu). */
static void embedding_add_parts(struct tape *t, uint64_t n_rows, uint64_t n_table, uint64_t width)
{
    enum { PART = 10, OFFSETS_TILE = 896 };
    const struct layers *l = tape_context(t);
    const uint64_t n_distinct = n_rows < n_table ? n_rows : n_table, n_parts = n_rows / PART + n_distinct;
    const uint32_t begins = tape_new(t, n_rows * LAYERS_INDEX_BYTES), n_begins = tape_new(t, LAYERS_INDEX_BYTES);
    const uint32_t numbers = tape_new(t, n_rows * LAYERS_INDEX_BYTES);
    tape_temporary(t, scan_bytes(n_rows, cub_tiles_of(l->card).scan));
    tape_drop(t, numbers);
    const uint32_t parts_of = tape_new(t, n_distinct * LAYERS_INDEX_BYTES);
    const uint32_t offsets = tape_new(t, n_distinct * LAYERS_INDEX_BYTES);
    tape_temporary(t, scan_bytes(n_distinct, OFFSETS_TILE));
    const uint32_t n_all = tape_new(t, LAYERS_INDEX_BYTES), parts = tape_new(t, n_parts * LAYERS_INDEX_BYTES);
    tape_temporary(t, n_parts * width * FLOAT_BYTES);
    const uint32_t made[] = {parts, n_all, offsets, parts_of, n_begins, begins};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        tape_drop(t, made[i]);
}

static void embedding_backward(struct tape *t, struct tape_node *n)
{
    struct layers *l = tape_context(t);
    const uint64_t n_rows = n->sizes[0], width = n->sizes[1], count = n->inputs[0].count;
    const bool is_sorted = n_rows > EMBEDDING_UNSORTED_MAX;
    uint32_t sorted = TAPE_NONE, order = TAPE_NONE;
    if (is_sorted) {
        sorted = tape_new(t, n_rows * LAYERS_INDEX_BYTES);
        order = tape_new(t, n_rows * LAYERS_INDEX_BYTES);
        const uint32_t numbers = tape_new(t, n_rows * LAYERS_INDEX_BYTES);
        tape_temporary(t, sort_bytes(n_rows, cub_tiles_of(l->card).sort));
        tape_drop(t, numbers);
    }
    const uint32_t gradient = layers_gradient(l, n, 0);
    if (is_sorted)
        embedding_add_parts(t, n_rows, count / width, width);
    tape_drop(t, order);
    tape_drop(t, sorted);
    tape_give(t, n, 0, gradient, false);
}

struct value layers_embedding(struct layers *l, struct value table, uint32_t index, uint64_t n_rows, uint64_t width)
{
    struct tape_node *n = tape_operation(l->tape, embedding_backward, &table, 1);
    tape_save(l->tape, n, index);
    if (n != NULL) {
        n->sizes[0] = n_rows;
        n->sizes[1] = width;
    }
    return tape_output(l->tape, n, 0, layers_new(l, n_rows * width, table), n_rows * width, table);
}

/* ---- a + b ---- */

static void add_backward(struct tape *t, struct tape_node *n)
{
    struct layers *l = tape_context(t);
    const struct value a = n->inputs[0], b = n->inputs[1];
    const bool is_cast = a.element_bytes < b.element_bytes;
    uint32_t to_a = n->gradients[0], to_b = n->gradients[0];
    if (a.node != TAPE_NONE && is_cast)
        to_a = layers_gradient(l, n, 0);
    else if (a.node != TAPE_NONE)
        tape_keep(t, to_a);
    if (b.node != TAPE_NONE && n->sizes[0] > 0)
        to_b = layers_sum_rows(l, a.count / b.count, b);
    else if (b.node != TAPE_NONE)
        tape_keep(t, to_b);
    if (b.node != TAPE_NONE)
        tape_give(t, n, 1, to_b, false);
    if (a.node != TAPE_NONE)
        tape_give(t, n, 0, to_a, false);
}

static struct value add_run(struct layers *l, struct value a, struct value b, bool is_repeated)
{
    struct tape_node *n = tape_operation(l->tape, add_backward, (struct value[]){a, b}, 2);
    if (n != NULL)
        n->sizes[0] = is_repeated;
    const struct value like = b.element_bytes > a.element_bytes ? b : a;
    return tape_output(l->tape, n, 0, layers_new(l, a.count, like), a.count, like);
}

struct value layers_add(struct layers *l, struct value a, struct value b)
{
    return add_run(l, a, b, false);
}

struct value layers_add_to_each(struct layers *l, struct value a, struct value b)
{
    return add_run(l, a, b, true);
}

/* ---- layer norm, batch norm ---- */

static void norm_backward(struct tape *t, struct tape_node *n)
{
    struct layers *l = tape_context(t);
    if (n->inputs[0].node != TAPE_NONE)
        tape_give(t, n, 0, layers_gradient(l, n, 0), false);
    for (uint32_t i = 1; i < 3; i++)
        if (n->inputs[i].node != TAPE_NONE)
            tape_give(t, n, i, layers_gradient(l, n, i), false);
    tape_used(t, n, 2);
    tape_used(t, n, 1);
    tape_used(t, n, 0);
}

/* A norm that saves its input, and a mean and a deviation for each of n_groups. */
static struct value norm_run(struct layers *l, const struct value inputs[3], uint64_t n_groups)
{
    const struct value x = inputs[0];
    struct tape_node *n = tape_operation(l->tape, norm_backward, inputs, 3);
    tape_save(l->tape, n, x.storage);
    const uint32_t out = layers_new(l, x.count, x);
    const uint32_t mean = tape_new(l->tape, n_groups * FLOAT_BYTES);
    const uint32_t deviation = tape_new(l->tape, n_groups * FLOAT_BYTES);
    tape_save(l->tape, n, mean);
    tape_save(l->tape, n, deviation);
    tape_drop(l->tape, mean);
    tape_drop(l->tape, deviation);
    return tape_output(l->tape, n, 0, out, x.count, x);
}

struct value layers_norm(struct layers *l, struct value x, struct value weight, struct value bias)
{
    return norm_run(l, (struct value[]){x, weight, bias}, x.count / weight.count);
}

struct value layers_batch_norm(struct layers *l, struct value x, struct value weight, struct value bias)
{
    return norm_run(l, (struct value[]){x, weight, bias}, weight.count);
}

/* ---- linear ---- */

static uint32_t linear_to_x(struct layers *l, const struct tape_node *n)
{
    if (n->inputs[0].node == TAPE_NONE)
        return TAPE_NONE;
    const uint32_t to_x = layers_gradient(l, n, 0);
    layers_need_workspace(l, false);
    return to_x;
}

static void linear_backward(struct tape *t, struct tape_node *n)
{
    struct layers *l = tape_context(t);
    const struct value weight = n->inputs[1], bias = n->inputs[2];
    const bool has_bias = bias.count > 0;
    uint32_t to_x = TAPE_NONE, to_weight = TAPE_NONE;
    if (has_bias)
        to_x = linear_to_x(l, n);
    if (weight.node != TAPE_NONE) {
        to_weight = layers_gradient(l, n, 1);
        layers_need_workspace(l, false);
    }
    if (!has_bias)
        to_x = linear_to_x(l, n);
    tape_used(t, n, 0);
    tape_used(t, n, 1);
    if (to_x != TAPE_NONE)
        tape_give(t, n, 0, to_x, true);
    if (bias.node != TAPE_NONE) {
        tape_give(t, n, 2, layers_sum_rows(l, n->sizes[0], bias), false);
    }
    if (to_weight != TAPE_NONE)
        tape_give(t, n, 1, to_weight, false);
}

static struct value linear_run(struct layers *l, const struct value in[3], uint64_t n_rows, uint64_t n_out)
{
    struct tape_node *n = tape_operation(l->tape, linear_backward, in, 3);
    if (in[1].node != TAPE_NONE)
        tape_save(l->tape, n, in[0].storage);
    if (in[0].node != TAPE_NONE)
        tape_save(l->tape, n, in[1].storage);        /* none if it is a parameter, which is there anyway */
    if (n != NULL)
        n->sizes[0] = n_rows;
    const uint32_t out = layers_new(l, n_rows * n_out, in[0]);
    layers_need_workspace(l, in[2].count > 0);
    return tape_output(l->tape, n, 0, out, n_rows * n_out, in[0]);
}

struct value layers_linear(struct layers *l, struct value x, struct value weight, struct value bias, uint64_t n_rows,
                           uint64_t n_out)
{
    struct value in[3] = {x, weight, bias};
    for (size_t i = 3; i-- > 0;)                     /* gcc evaluates arguments from the last to the first */
        in[i] = layers_cast(l, in[i], HALF_BYTES);
    const struct value out = linear_run(l, in, n_rows, n_out);
    for (size_t i = 0; i < 3; i++)
        tape_drop(l->tape, in[i].storage);
    return out;
}

/* ---- keys and values that are kept ---- */

void layers_grow_cache(struct layers *l, struct layers_cache *c, uint32_t qkv, uint64_t bytes)
{
    const struct layers_cache old = *c;
    if (old.keys == TAPE_NONE) {
        tape_keep(l->tape, qkv);
        tape_keep(l->tape, qkv);
        *c = (struct layers_cache){qkv, qkv};
        return;
    }
    c->keys = tape_new(l->tape, bytes);
    c->values = tape_new(l->tape, bytes);
    layers_drop_cache(l, old);
}

void layers_drop_cache(struct layers *l, struct layers_cache c)
{
    tape_drop(l->tape, c.values);                    /* CPython empties a tuple from its end */
    tape_drop(l->tape, c.keys);
}

/* ---- element by element ---- */

static void one_for_one_backward(struct tape *t, struct tape_node *n)
{
    tape_give(t, n, 0, layers_gradient(tape_context(t), n, 0), false);
    tape_used(t, n, 0);
}

/* native_dropout keeps a byte an element. */
struct value layers_dropout(struct layers *l, struct value x)
{
    struct tape_node *n = tape_operation(l->tape, one_for_one_backward, &x, 1);
    const uint32_t mask = tape_new(l->tape, x.count);
    uint32_t out = layers_new(l, x.count, x);
    tape_save(l->tape, n, mask);
    tape_drop(l->tape, mask);
    if (tape_has_stopped(l->tape)) {                 /* nobody gets the result: it goes before the caller's variables */
        tape_drop(l->tape, out);
        out = TAPE_NONE;
    }
    return tape_output(l->tape, n, 0, out, x.count, x);
}

struct value layers_gelu(struct layers *l, struct value x)
{
    struct tape_node *n = tape_operation(l->tape, one_for_one_backward, &x, 1);
    tape_save(l->tape, n, x.storage);
    return tape_output(l->tape, n, 0, layers_new(l, x.count, x), x.count, x);
}

struct value layers_relu(struct layers *l, struct value x)
{
    struct tape_node *n = tape_operation(l->tape, one_for_one_backward, &x, 1);
    const uint32_t out = layers_new(l, x.count, x);
    tape_save(l->tape, n, out);
    return tape_output(l->tape, n, 0, out, x.count, x);
}

/* ---- images ---- */

static void convolution_backward(struct tape *t, struct tape_node *n)
{
    for (uint32_t i = 0; i < 2; i++)
        if (n->inputs[i].node != TAPE_NONE)
            tape_give(t, n, i, layers_gradient(tape_context(t), n, i), false);
}

struct value layers_convolution(struct layers *l, struct value x, struct value weight, uint64_t n_out)
{
    struct tape_node *n = tape_operation(l->tape, convolution_backward, (struct value[]){x, weight}, 2);
    tape_save(l->tape, n, x.storage);
    return tape_output(l->tape, n, 0, layers_new(l, n_out, x), n_out, x);
}

struct value layers_mean(struct layers *l, struct value x, uint64_t n_out)
{
    struct tape_node *n = tape_operation(l->tape, one_for_one_backward, &x, 1);
    return tape_output(l->tape, n, 0, layers_new(l, n_out, x), n_out, x);
}

/* ---- cross entropy ---- */

struct value layers_cross_entropy(struct layers *l, struct value logits)
{
    struct tape_node *n = tape_operation(l->tape, one_for_one_backward, &logits, 1);
    const uint32_t logs = layers_new(l, logits.count, logits);
    tape_save(l->tape, n, logs);
    const struct value log_softmax = tape_output(l->tape, n, 0, logs, logits.count, logits);
    const struct value exact = layers_cast(l, log_softmax, FLOAT_BYTES);     /* cross_entropy casts after log_softmax */
    n = tape_operation(l->tape, one_for_one_backward, &exact, 1);
    const uint32_t loss = layers_new(l, 1, exact), weight = layers_new(l, 1, exact);
    tape_save(l->tape, n, exact.storage);
    tape_save(l->tape, n, weight);
    tape_drop(l->tape, weight);
    tape_drop(l->tape, exact.storage);
    tape_drop(l->tape, logs);
    tape_drop(l->tape, logits.storage);
    return tape_output(l->tape, n, 0, loss, 1, exact);
}
