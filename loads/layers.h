/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Layers as PyTorch's eager mode runs them on a card: what each requests, saves and gives back, in its order.
 *
 * The rules were read off recordings of PyTorch 2.9.1 under `replay run-sim`; tests/against-torch/loads.py compares
 * them again, request by request. A function takes no reference of its inputs: the caller drops them when its variable
 * ends, as Python does.
 */
#ifndef REPLAY_LOADS_LAYERS_H
#define REPLAY_LOADS_LAYERS_H

#include "loads/tape.h"
#include "sim/cards.h"

#define LAYERS_INDEX_BYTES 8             /* an index is an int64 */

/* What does not belong to one layer; it is the tape's context. */
struct layers {
    struct tape *tape;
    const struct device_model  *card;
    const struct compute_class *class;
    bool has_cublas[2], has_cublas_lt[2];    /* the workspaces of the forward and of the backward thread are there */
    bool is_autocast;                        /* torch.autocast("cuda", dtype=torch.bfloat16) is on */
    struct value *casts;                     /* by parameter, of n_casts: what autocast keeps until it ends */
    size_t n_casts, casts_room;
};

/* A storage of `count` elements of the size of those in `like`. */
uint32_t layers_new(struct layers *l, uint64_t count, struct value like);

/* A storage for the gradient of the node's i-th input. */
uint32_t layers_gradient(struct layers *l, const struct tape_node *n, uint32_t i);

/* Between these two, products are of two bytes an element, and a parameter is cast once. */
void layers_begin_autocast(struct layers *l);
void layers_end_autocast(struct layers *l);

/* Rows of `table` (n x width) by an index of `n_rows` numbers, whose storage is `index`. */
struct value layers_embedding(struct layers *l, struct value table, uint32_t index, uint64_t n_rows, uint64_t width);

/* a + b, with the larger elements of the two. _to_each: `b` has fewer dimensions and is repeated, if only once. */
struct value layers_add(struct layers *l, struct value a, struct value b);
struct value layers_add_to_each(struct layers *l, struct value a, struct value b);

struct value layers_norm(struct layers *l, struct value x, struct value weight, struct value bias);

/* x, of n_rows, times a matrix of n_out rows. A value without elements stands for no bias. */
struct value layers_linear(struct layers *l, struct value x, struct value weight, struct value bias, uint64_t n_rows,
                           uint64_t n_out);

struct layers_heads { uint64_t batch, length, n, width; bool has_dropout; };

/* Causal self-attention of queries, keys and values that stand side by side in `qkv`, by scaled_dot_product_attention:
 * the memory-efficient kernel for four bytes an element, flash attention for two. */
struct value layers_attention(struct layers *l, struct value qkv, const struct layers_heads *h);

/* The result of flash attention of h->length queries and n_keys keys, without gradients. n_keys = 0: by a kernel that
 * never splits its keys, as those for sequences of many lengths. */
uint32_t layers_flash_attention(struct layers *l, const struct layers_heads *h, uint64_t n_keys, struct value like);

/* Keys and values that were kept of a sequence, in one layer. */
struct layers_cache { uint32_t keys, values; };
#define LAYERS_NO_CACHE ((struct layers_cache){TAPE_NONE, TAPE_NONE})

/* The cache grows by those that `qkv` holds, to `bytes` each, by concatenation, as Hugging Face's DynamicCache does.
 * The first ones are a view of it. */
void layers_grow_cache(struct layers *l, struct layers_cache *c, uint32_t qkv, uint64_t bytes);
void layers_drop_cache(struct layers *l, struct layers_cache c);

struct value layers_dropout(struct layers *l, struct value x);
struct value layers_gelu(struct layers *l, struct value x);
struct value layers_relu(struct layers *l, struct value x);

/* A convolution without bias to `n_out` elements. cuDNN takes no workspace here, as under `replay run-sim`. */
struct value layers_convolution(struct layers *l, struct value x, struct value weight, uint64_t n_out);

struct value layers_batch_norm(struct layers *l, struct value x, struct value weight, struct value bias);

/* The mean over the last dimensions, of which n_out elements are left. */
struct value layers_mean(struct layers *l, struct value x, uint64_t n_out);

/* The mean cross entropy of n_rows x n_classes logits. `logits` passes its reference to this function, because the
 * program has it in no variable. */
struct value layers_cross_entropy(struct layers *l, struct value logits);

#endif
