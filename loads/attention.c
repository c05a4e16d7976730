/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* scaled_dot_product_attention: the memory-efficient kernel for four bytes an element, flash attention for two. */
#include "loads/layers.h"

#include "base/units.h"

#include <stddef.h>

enum { FLOAT_BYTES = 4 };

static uint64_t heads_bytes(const struct layers_heads *h, uint64_t bytes_of_head)
{
    return h->batch * h->n * bytes_of_head;
}

static struct layers_heads heads_of(const struct tape_node *n)
{
    return (struct layers_heads){.batch = n->sizes[0] >> 32, .length = n->sizes[0] & UINT32_MAX,
                                 .n = n->sizes[1] >> 32, .width = n->sizes[1] & UINT32_MAX};
}

/* PyTorch, transformers/cuda/attention_backward.cu, _efficient_attention_backward. */
static void efficient_backward(struct tape *t, const struct layers_heads *h)
{
    enum { TILE_COLUMNS = 64, TILE_HEAD_BYTES = 16 };
    const struct layers *l = tape_context(t);
    const bool has_large_tiles = l->card->capability == 80 || (l->card->capability >= 90 && l->card->capability < 120);
    const uint64_t tile_rows = h->width > 64 && has_large_tiles ? 128 : 64;
    const uint64_t tiles = divide_up(h->length, tile_rows) * divide_up(h->width, TILE_COLUMNS);
    const uint32_t product = tape_new(t, heads_bytes(h, h->length * h->width * FLOAT_BYTES));
    const uint32_t delta = tape_new(t, heads_bytes(h, h->length * FLOAT_BYTES));
    const uint32_t delta_in_order = tape_new(t, heads_bytes(h, h->length * FLOAT_BYTES));
    tape_drop(t, delta);
    tape_drop(t, product);
    const uint64_t tile_bytes = tile_rows * TILE_COLUMNS * FLOAT_BYTES + TILE_HEAD_BYTES;
    const uint32_t workspace = tape_new(t, heads_bytes(h, tiles * tile_bytes));
    tape_drop(t, delta_in_order);
    tape_drop(t, workspace);
}

/* The same file, _flash_attention_backward; flash_attn/flash_api.cpp, mha_bwd. */
static void flash_backward(struct tape *t, const struct layers_heads *h)
{
    const uint64_t rows = align_up(h->length, 128);
    const uint32_t delta = tape_new(t, heads_bytes(h, rows * FLOAT_BYTES));
    tape_temporary(t, heads_bytes(h, rows * align_up(h->width, 32) * FLOAT_BYTES));
    tape_drop(t, delta);
}

static void attention_backward(struct tape *t, struct tape_node *n)
{
    const struct layers_heads h = heads_of(n);
    uint32_t parts[3];
    for (uint32_t i = 0; i < 3; i++)
        parts[i] = layers_gradient(tape_context(t), n, i);
    if (n->inputs[0].element_bytes == FLOAT_BYTES)
        efficient_backward(t, &h);
    else
        flash_backward(t, &h);
    for (uint32_t i = TAPE_SAVED_MAX; i-- > 0;)
        tape_used(t, n, i);
    for (uint32_t i = 0; i < 3; i++)
        tape_give(t, n, i, parts[i], false);
}

/* Into how many parts the keys are split, so that there is work for all multiprocessors: the smallest number with 85 %
 * of the best use of them. Source: PyTorch, flash_attn/flash_api.cpp, num_splits_heuristic, set_params_splitkv. */
static uint64_t flash_splits(const struct layers *l, const struct layers_heads *h, uint64_t n_keys)
{
    enum { SPLITS_MAX = 128, ROWS = 64, SHARE = 1000000 };
    const uint64_t columns = h->width <= 64 ? 256 : h->width <= 128 ? 128 : 64, n_blocks = divide_up(n_keys, columns);
    const uint64_t work = h->batch * h->n * divide_up(h->length, ROWS), room = 2 * (uint64_t)l->card->multiprocessors;
    uint64_t used[SPLITS_MAX + 1] = {0}, best = 0, splits = 1;
    if (h->has_dropout || work * 5 >= room * 4)
        return 1;
    for (uint64_t i = 1; i <= SPLITS_MAX && i <= n_blocks && i <= room; i++) {
        const bool is_new = i == 1 || divide_up(n_blocks, i) != divide_up(n_blocks, i - 1);
        used[i] = is_new ? work * i * SHARE / (room * divide_up(work * i, room)) : 0;
        best = used[i] > best ? used[i] : best;
    }
    while (splits < SPLITS_MAX && used[splits] * 100 < best * 85)
        splits++;
    return splits;
}

/* The state of the random numbers is made whether it is used or not, and once more where it is. */
static uint32_t flash_run(struct layers *l, struct tape_node *n, const struct layers_heads *h, uint64_t n_keys,
                          struct value like)
{
    struct tape *t = l->tape;
    const uint64_t splits = flash_splits(l, h, n_keys);
    const uint32_t out = layers_new(l, h->batch * h->length * h->n * h->width, like);
    const uint32_t logs = tape_new(t, heads_bytes(h, h->length * FLOAT_BYTES));
    uint32_t part_logs = TAPE_NONE, parts = TAPE_NONE;
    if (splits > 1) {
        part_logs = tape_new(t, splits * heads_bytes(h, h->length * FLOAT_BYTES));
        parts = tape_new(t, splits * heads_bytes(h, h->length * align_up(h->width, 32) * FLOAT_BYTES));
    }
    uint32_t seed = tape_new(t, 2 * LAYERS_INDEX_BYTES);
    const uint32_t offset = tape_new(t, LAYERS_INDEX_BYTES);
    if (h->has_dropout) {
        const uint32_t unused = seed;
        seed = tape_new(t, 2 * LAYERS_INDEX_BYTES);
        tape_drop(t, unused);
    }
    tape_drop(t, part_logs);
    tape_drop(t, parts);
    const uint32_t saved[] = {logs, out, seed, offset};
    for (size_t i = 0; i < sizeof saved / sizeof saved[0]; i++)
        tape_save(t, n, saved[i]);
    tape_drop(t, logs);
    tape_drop(t, seed);
    tape_drop(t, offset);
    return out;
}

uint32_t layers_flash_attention(struct layers *l, const struct layers_heads *h, uint64_t n_keys, struct value like)
{
    return flash_run(l, NULL, h, n_keys, like);
}

static uint32_t efficient_run(struct layers *l, struct tape_node *n, const struct layers_heads *h, struct value like)
{
    const uint32_t out = layers_new(l, h->batch * h->length * h->n * h->width, like);
    const uint32_t logs = tape_new(l->tape, heads_bytes(h, align_up(h->length, 32) * FLOAT_BYTES));
    tape_save(l->tape, n, logs);
    tape_save(l->tape, n, out);
    tape_drop(l->tape, logs);
    return out;
}

static void split_backward(struct tape *t, struct tape_node *n)
{
    tape_give(t, n, 0, layers_gradient(tape_context(t), n, 0), false);
}

struct value layers_attention(struct layers *l, struct value qkv, const struct layers_heads *h)
{
    const uint64_t count = h->batch * h->length * h->n * h->width;
    struct tape_node *split = tape_operation(l->tape, split_backward, &qkv, 1);
    struct value parts[3];
    for (uint32_t i = 0; i < 3; i++)
        parts[i] = tape_output(l->tape, split, i, qkv.storage, count, qkv);
    struct tape_node *n = tape_operation(l->tape, attention_backward, parts, 3);
    tape_save(l->tape, n, qkv.storage);
    if (n != NULL) {
        n->sizes[0] = h->batch << 32 | h->length;
        n->sizes[1] = h->n << 32 | h->width;
    }
    const uint32_t out = qkv.element_bytes == FLOAT_BYTES ? efficient_run(l, n, h, qkv)
                                                          : flash_run(l, n, h, h->length, qkv);
    return tape_output(l->tape, n, 0, out, count, qkv);
}
