/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The functions of the program, one for one: what a variable holds is dropped where Python drops it. */
#include "loads/transformer.h"

#include <stdlib.h>

static const struct value no_value = {.storage = TAPE_NONE, .node = TAPE_NONE};

/* ---- parameters, in the order of model.parameters() ---- */

static struct linear linear_make(const struct transformer *m, uint64_t n_in, uint64_t n_out)
{
    struct tape *t = m->training.layers.tape;
    struct linear linear = {.a = no_value, .b = no_value, .n_out = n_out, .is_split = false};
    linear.weight = tape_parameter(t, n_in * n_out, m->rank == 0);
    linear.bias = tape_parameter(t, n_out, m->rank == 0);
    if (m->rank > 0) {
        linear.a = tape_parameter(t, n_in * m->rank, true);
        linear.b = tape_parameter(t, m->rank * n_out, true);
    }
    return linear;
}

/* Megatron-LM splits a layer's outputs over the ranks, and the next one's inputs. */
static struct linear outputs_split(const struct transformer *m, uint64_t n_in, uint64_t n_out)
{
    return linear_make(m, n_in, n_out / m->n_tensor);
}

static struct linear inputs_split(const struct transformer *m, uint64_t n_in, uint64_t n_out)
{
    struct linear linear = linear_make(m, n_in / m->n_tensor, n_out);
    linear.is_split = m->n_tensor > 1;
    return linear;
}

static void norm_make(const struct transformer *m, struct value norm[2])
{
    for (size_t i = 0; i < 2; i++)
        norm[i] = tape_parameter(m->training.layers.tape, m->width, m->rank == 0);
}

static enum err feed_forward_make(const struct transformer *m, struct transformer_block *b, struct err_detail *err)
{
    if (m->experts.n > 0) {
        b->experts = m->experts;
        return experts_make(&b->experts, m->training.layers.tape, err);
    }
    b->up = outputs_split(m, m->width, m->hidden);
    b->down = inputs_split(m, m->hidden, m->width);
    return ERR_OK;
}

/* Each block is a group, and the rest of the model is one. */
static void transformer_shard(struct transformer *m)
{
    struct tape *t = m->training.layers.tape;
    struct tape_parameter p;
    size_t n = 0;
    while (tape_parameter_at(t, n, &p))
        n++;
    size_t *groups = malloc((n + 1) * sizeof *groups);
    const size_t n_before = 2, n_after = 3;          /* tokens and places; the norm's two, the head */
    const size_t of_block = (n - n_before - n_after) / m->n_blocks;
    if (groups == NULL) {
        tape_no_memory(t);
        return;
    }
    for (size_t i = 0; i < n; i++)
        groups[i] = i < n_before || i + n_after >= n ? m->n_blocks : (i - n_before) / of_block;
    sharded_begin(&m->sharded, t, m->n_data, groups, m->n_blocks + 1);
    free(groups);
}

static enum err transformer_place(struct transformer *m, struct err_detail *err)
{
    struct tape *t = m->training.layers.tape;
    enum err e = ERR_OK;
    if (m->is_first) {
        m->tokens = tape_parameter(t, m->vocabulary * m->width, m->rank == 0);
        m->places = tape_parameter(t, m->heads.length * m->width, m->rank == 0);
    }
    for (uint64_t i = 0; i < m->n_blocks && e == ERR_OK; i++) {
        struct transformer_block *b = &m->blocks[i];
        norm_make(m, b->norm1);
        norm_make(m, b->norm2);
        b->qkv = outputs_split(m, m->width, 3 * m->width);
        b->out = inputs_split(m, m->width, m->width);
        e = feed_forward_make(m, b, err);
    }
    if (m->is_last) {
        norm_make(m, m->norm);
        m->head = tape_parameter(t, m->vocabulary * m->width, m->rank == 0);
    }
    tape_place_parameters(t);
    if (m->is_sharded)
        transformer_shard(m);
    else if (m->n_data > 1)
        data_parallel_begin(&m->data, t);
    return e;
}

/* ---- forward ---- */

/* The ranks' parts are added in place, then the bias. */
static struct value split_run(struct transformer *m, const struct linear *linear, struct value x)
{
    struct layers *l = &m->training.layers;
    const struct value part = layers_linear(l, x, linear->weight, no_value, m->n_rows, linear->n_out);
    const struct value out = layers_add_to_each(l, part, linear->bias);
    tape_drop(l->tape, part.storage);
    return out;
}

static struct value linear_run(struct transformer *m, const struct linear *linear, struct value x)
{
    struct layers *l = &m->training.layers;
    if (linear->is_split)
        return split_run(m, linear, x);
    const struct value frozen = layers_linear(l, x, linear->weight, linear->bias, m->n_rows, linear->n_out);
    if (m->rank == 0)
        return frozen;
    const struct value low = layers_linear(l, x, linear->a, no_value, m->n_rows, m->rank);
    const struct value correction = layers_linear(l, low, linear->b, no_value, m->n_rows, linear->n_out);
    tape_drop(l->tape, low.storage);
    const struct value sum = layers_add(l, frozen, correction);
    tape_drop(l->tape, frozen.storage);
    tape_drop(l->tape, correction.storage);
    return sum;
}

/* `F.dropout(x)`, where x is in no variable. */
static struct value dropout_run(struct transformer *m, struct value x)
{
    struct layers *l = &m->training.layers;
    if (!m->has_dropout)
        return x;
    const struct value out = layers_dropout(l, x);
    tape_drop(l->tape, x.storage);
    return out;
}

static struct value attention_run(struct transformer *m, const struct transformer_block *b, struct value x,
                                  uint32_t kept[2])
{
    struct layers *l = &m->training.layers;
    const struct value normal = layers_norm(l, x, b->norm1[0], b->norm1[1]);
    const struct value qkv = linear_run(m, &b->qkv, normal);
    tape_drop(l->tape, normal.storage);
    const struct value mixed = layers_attention(l, qkv, &m->heads);
    kept[0] = qkv.storage;
    kept[1] = mixed.storage;
    return dropout_run(m, linear_run(m, &b->out, mixed));
}

static struct value feed_forward_run(struct transformer *m, const struct transformer_block *b, struct value x)
{
    struct layers *l = &m->training.layers;
    const struct value normal = layers_norm(l, x, b->norm2[0], b->norm2[1]);
    if (m->experts.n > 0) {
        const struct value mixed = experts_run(l, &b->experts, normal, m->n_rows);
        tape_drop(l->tape, normal.storage);
        return dropout_run(m, mixed);
    }
    const struct value wide = linear_run(m, &b->up, normal);
    tape_drop(l->tape, normal.storage);
    const struct value bent = layers_gelu(l, wide);
    tape_drop(l->tape, wide.storage);
    const struct value out = linear_run(m, &b->down, bent);
    tape_drop(l->tape, bent.storage);
    return dropout_run(m, out);
}

struct block_of { struct transformer *model; const struct transformer_block *block; };

static struct value block_run(struct tape *t, struct value x, const void *what)
{
    const struct block_of *of = what;
    struct layers *l = &of->model->training.layers;
    uint32_t kept[2];                                /* the function's variables: qkv, and what attention gives */
    if (of->model->is_autocast && tape_is_backward(t))       /* checkpoint() runs it in an autocast of its own */
        layers_begin_autocast(l);
    const struct value attended = attention_run(of->model, of->block, x, kept);
    const struct value middle = layers_add(l, x, attended);
    tape_drop(t, attended.storage);
    const struct value fed = feed_forward_run(of->model, of->block, middle);
    const struct value out = layers_add(l, middle, fed);
    tape_drop(t, fed.storage);
    tape_drop(t, middle.storage);
    tape_drop(t, kept[0]);
    tape_drop(t, kept[1]);
    if (tape_is_backward(t))
        layers_end_autocast(l);
    return out;
}

static struct value embedding_run(struct transformer *m, uint32_t index)
{
    struct layers *l = &m->training.layers;
    const struct value tokens = layers_embedding(l, m->tokens, index, m->n_rows, m->width);
    const uint32_t numbers = tape_new(l->tape, m->heads.length * LAYERS_INDEX_BYTES);
    const struct value places = layers_embedding(l, m->places, numbers, m->heads.length, m->width);
    tape_drop(l->tape, numbers);
    const struct value sum = layers_add_to_each(l, tokens, places);
    tape_drop(l->tape, tokens.storage);
    tape_drop(l->tape, places.storage);
    return dropout_run(m, sum);
}

/* Forward and backward, a block's parameters are whole while it runs. */
static struct value sharded_block_run(struct transformer *m, struct value x, uint64_t i)
{
    struct sharded *s = &m->sharded;
    sharded_unshard(s, i);
    const struct value out = block_run(s->tape, sharded_after_backward(s, x, i), &m->again[i]);
    sharded_reshard(s, i);
    return sharded_before_backward(s, out, i, i > 0 ? i - 1 : SIZE_MAX);
}

/* Blocks, and what follows them in the last stage. Drops `x`. */
static struct value blocks_run(struct transformer *m, struct value x)
{
    struct layers *l = &m->training.layers;
    for (uint64_t i = 0; i < m->n_blocks; i++) {
        m->again[i] = (struct block_of){.model = m, .block = &m->blocks[i]};
        const struct value next = m->is_sharded        ? sharded_block_run(m, x, i)
                                  : m->is_checkpointed ? tape_checkpoint(l->tape, block_run, x, &m->again[i])
                                                       : block_run(l->tape, x, &m->again[i]);
        tape_drop(l->tape, x.storage);
        x = next;
    }
    if (!m->is_last)
        return x;
    const struct value normal = layers_norm(l, x, m->norm[0], m->norm[1]);
    const struct value logits = layers_linear(l, normal, m->head, no_value, m->n_rows, m->vocabulary);
    tape_drop(l->tape, normal.storage);
    tape_drop(l->tape, x.storage);
    if (!m->is_sharded)
        return layers_cross_entropy(l, logits);
    sharded_forget_gathered(&m->sharded);
    return layers_cross_entropy(l, sharded_before_backward(&m->sharded, logits, SIZE_MAX, m->n_blocks - 1));
}

struct value transformer_forward(struct transformer *m, struct value x)
{
    struct layers *l = &m->training.layers;
    if (m->is_autocast)
        layers_begin_autocast(l);
    if (m->is_first)
        x = embedding_run(m, x.storage);
    else
        tape_keep(l->tape, x.storage);
    const struct value out = blocks_run(m, x);
    layers_end_autocast(l);
    return out;
}

void transformer_train(struct transformer *m, struct training_batch *batch)
{
    const uint64_t index_bytes = m->n_rows * LAYERS_INDEX_BYTES;
    training_load(&m->training, batch, index_bytes, index_bytes);
    if (m->is_sharded)
        sharded_unshard(&m->sharded, m->n_blocks);
    else if (m->n_data > 1)
        data_parallel_forward(&m->data, m->training.layers.tape);
    const struct value tokens = {.storage = batch->inputs, .node = TAPE_NONE};
    training_backward(&m->training, batch, transformer_forward(m, tokens));
    if (m->is_sharded) {
        sharded_reshard(&m->sharded, m->n_blocks);
        sharded_reduce(&m->sharded, m->n_blocks);
    }
}

/* ---- generating ---- */

static struct value cached_block_run(struct transformer *m, const struct transformer_block *b, struct value x,
                                     struct layers_cache *c, uint64_t n_done, uint64_t n_new)
{
    struct layers *l = &m->training.layers;
    const struct layers_heads heads = {.batch = m->heads.batch, .length = n_new, .n = m->heads.n,
                                       .width = m->heads.width};
    const struct value normal = layers_norm(l, x, b->norm1[0], b->norm1[1]);
    const struct value qkv = linear_run(m, &b->qkv, normal);
    tape_drop(l->tape, normal.storage);
    layers_grow_cache(l, c, qkv.storage, m->heads.batch * (n_done + n_new) * m->width * qkv.element_bytes);
    const struct value mixed = layers_attention(l, qkv, &heads);
    tape_drop(l->tape, qkv.storage);
    const struct value attended = linear_run(m, &b->out, mixed);
    tape_drop(l->tape, mixed.storage);
    const struct value middle = layers_add(l, x, attended);
    tape_drop(l->tape, attended.storage);
    const struct value fed = feed_forward_run(m, b, middle);
    const struct value out = layers_add(l, middle, fed);
    tape_drop(l->tape, fed.storage);
    tape_drop(l->tape, middle.storage);
    return out;
}

/* A forward pass of n_new tokens of each sequence; returns the next ones. */
static uint32_t cached_run(struct transformer *m, struct layers_cache *caches, uint32_t index, uint64_t n_done,
                           uint64_t n_new)
{
    struct layers *l = &m->training.layers;
    m->n_rows = m->heads.batch * n_new;
    struct value x = layers_embedding(l, m->tokens, index, m->n_rows, m->width);
    for (uint64_t i = 0; i < m->n_blocks; i++) {
        const struct value next = cached_block_run(m, &m->blocks[i], x, &caches[i], n_done, n_new);
        tape_drop(l->tape, x.storage);
        x = next;
    }
    const uint32_t logits = layers_linear(l, x, m->head, no_value, m->heads.batch, m->vocabulary).storage;
    tape_drop(l->tape, x.storage);
    const uint32_t next = tape_new(l->tape, m->heads.batch * LAYERS_INDEX_BYTES);
    tape_drop(l->tape, logits);
    return next;
}

void transformer_generate(struct transformer *m, uint64_t prompt, uint64_t answer)
{
    struct tape *t = m->training.layers.tape;
    struct layers_cache *caches = malloc(m->n_blocks * sizeof *caches);
    const uint64_t n_rows = m->n_rows;
    if (caches == NULL) {
        tape_no_memory(t);
        return;
    }
    for (uint64_t i = 0; i < m->n_blocks; i++)
        caches[i] = LAYERS_NO_CACHE;
    tape_want_gradients(t, false);
    uint32_t tokens = tape_new(t, m->heads.batch * prompt * LAYERS_INDEX_BYTES);
    for (uint64_t done = 0, n = prompt; done < prompt + answer - 1; done += n, n = 1) {
        n = done == 0 ? prompt : 1;
        const uint32_t next = cached_run(m, caches, tokens, done, n);
        tape_drop(t, tokens);
        tokens = next;
    }
    tape_drop(t, tokens);
    for (uint64_t i = m->n_blocks; i-- > 0;)
        layers_drop_cache(&m->training.layers, caches[i]);
    tape_want_gradients(t, true);
    m->n_rows = n_rows;
    free(caches);
}

/* ---- */

enum err transformer_open(struct transformer *m, struct trace_writer *w, const char *card, unsigned element_bytes,
                          enum training_optimizer optimizer, struct err_detail *err)
{
    m->blocks = calloc(m->n_blocks, sizeof *m->blocks);
    m->again = calloc(m->n_blocks, sizeof *m->again);
    if (m->blocks == NULL || m->again == NULL)
        return err_no_memory(err);
    const enum err e = training_open(&m->training, w, card, element_bytes, optimizer, err);
    return e == ERR_OK ? transformer_place(m, err) : e;
}

enum err transformer_close(struct transformer *m)
{
    for (uint64_t i = 0; m->blocks != NULL && i < m->n_blocks; i++)
        experts_free(&m->blocks[i].experts);
    sharded_end(&m->sharded);
    free(m->blocks);
    free(m->again);
    return m->training.layers.tape == NULL ? ERR_OK : training_close(&m->training);
}
