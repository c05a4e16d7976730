/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The experts run one after the other; each adds its part to a copy of what the ones before it gave. */
#include "loads/experts.h"

#include <stdlib.h>

static const struct value no_value = {.storage = TAPE_NONE, .node = TAPE_NONE};

enum err experts_make(struct experts *e, struct tape *t, struct err_detail *err)
{
    e->up = calloc(e->n, 2 * sizeof *e->up);
    e->down = calloc(e->n, 2 * sizeof *e->down);
    if (e->up == NULL || e->down == NULL)
        return err_no_memory(err);
    e->router = tape_parameter(t, e->width * e->n, true);
    for (uint64_t i = 0; i < e->n; i++) {
        e->up[2 * i] = tape_parameter(t, e->width * e->hidden, true);
        e->up[2 * i + 1] = tape_parameter(t, e->hidden, true);
    }
    for (uint64_t i = 0; i < e->n; i++) {
        e->down[2 * i] = tape_parameter(t, e->hidden * e->width, true);
        e->down[2 * i + 1] = tape_parameter(t, e->width, true);
    }
    return ERR_OK;
}

void experts_free(struct experts *e)
{
    free(e->up);
    free(e->down);
}

/* The weight of expert i, from skew * (n - 1) for the first down to n - 1 for the last one. */
static uint64_t experts_weight(const struct experts *e, uint64_t i)
{
    const uint64_t steps = e->n > 1 ? e->n - 1 : 1;
    return e->skew * (steps - i) + i;
}

/* n * part / whole, rounded down. The product of all three may exceed 64 bits; part is at most whole, which is below
 * 2^32. */
static uint64_t share_of(uint64_t n, uint64_t part, uint64_t whole)
{
    return n / whole * part + n % whole * part / whole;
}

uint64_t experts_rows(const struct experts *e, uint64_t n_rows, uint64_t i)
{
    uint64_t all = 0, before = 0;
    for (uint64_t k = 0; k < e->n; k++) {
        before += k < i ? experts_weight(e, k) : 0;
        all += experts_weight(e, k);
    }
    const uint64_t n_all = n_rows * e->chosen;
    return share_of(n_all, before + experts_weight(e, i), all) - share_of(n_all, before, all);
}

/* ---- x[rows] ---- */

static void gather_backward(struct tape *t, struct tape_node *n)
{
    struct layers *l = tape_context(t);
    tape_give(t, n, 0, layers_gradient(l, n, 0), false);
    tape_used(t, n, 0);
}

static struct value gather(struct layers *l, struct value x, uint32_t rows, uint64_t count)
{
    struct tape_node *n = tape_operation(l->tape, gather_backward, &x, 1);
    tape_save(l->tape, n, rows);
    return tape_output(l->tape, n, 0, layers_new(l, count, x), count, x);
}

/* ---- y * weights, and out.index_add(0, rows, y) ---- */

static void scale_backward(struct tape *t, struct tape_node *n)
{
    const uint64_t bytes = n->inputs[0].count * n->sizes[0];
    tape_temporary(t, bytes);                        /* towards the weights, before it is summed */
    tape_give(t, n, 0, tape_new(t, bytes), false);
    tape_used(t, n, 0);
}

/* The weights have four bytes an element under autocast, and so has the product. */
static struct value scale(struct layers *l, struct value y, struct value like)
{
    struct tape_node *n = tape_operation(l->tape, scale_backward, &y, 1);
    tape_save(l->tape, n, y.storage);
    if (n != NULL)
        n->sizes[0] = like.element_bytes;
    return tape_output(l->tape, n, 0, layers_new(l, y.count, like), y.count, like);
}

static void index_add_backward(struct tape *t, struct tape_node *n)
{
    struct layers *l = tape_context(t);
    tape_give(t, n, 1, layers_gradient(l, n, 1), false);
    if (n->inputs[0].node != TAPE_NONE) {
        tape_keep(t, n->gradients[0]);
        tape_give(t, n, 0, n->gradients[0], false);
    }
    tape_used(t, n, 1);
    tape_used(t, n, 0);
}

static struct value index_add(struct layers *l, struct value out, uint32_t rows, struct value y)
{
    struct tape_node *n = tape_operation(l->tape, index_add_backward, (struct value[]){out, y}, 2);
    tape_save(l->tape, n, rows);
    tape_save(l->tape, n, y.storage);
    return tape_output(l->tape, n, 0, layers_new(l, out.count, out), out.count, out);
}

/* ---- the layer ---- */

static struct value expert_run(struct layers *l, const struct experts *e, uint64_t i, struct value x, uint64_t n_rows,
                               struct value out)
{
    const uint32_t rows = tape_new(l->tape, n_rows * LAYERS_INDEX_BYTES);
    const struct value mine = gather(l, x, rows, n_rows * e->width);
    const struct value wide = layers_linear(l, mine, e->up[2 * i], e->up[2 * i + 1], n_rows, e->hidden);
    tape_drop(l->tape, mine.storage);
    const struct value bent = layers_gelu(l, wide);
    tape_drop(l->tape, wide.storage);
    const struct value y = layers_linear(l, bent, e->down[2 * i], e->down[2 * i + 1], n_rows, e->width);
    tape_drop(l->tape, bent.storage);
    const struct value scaled = scale(l, y, out);
    const struct value sum = index_add(l, out, rows, scaled);
    tape_drop(l->tape, scaled.storage);
    tape_drop(l->tape, out.storage);
    tape_drop(l->tape, y.storage);
    tape_drop(l->tape, rows);
    return sum;
}

struct value experts_run(struct layers *l, const struct experts *e, struct value x, uint64_t n_rows)
{
    const struct value scores = layers_linear(l, x, e->router, no_value, n_rows, e->n);
    tape_temporary(l->tape, n_rows * e->n * x.element_bytes);       /* softmax; its gradient is small */
    struct value out = {.storage = layers_new(l, x.count, x), .node = TAPE_NONE, .count = x.count,
                        .element_bytes = x.element_bytes};
    for (uint64_t i = 0; i < e->n; i++) {
        const uint64_t n_mine = experts_rows(e, n_rows, i);
        if (n_mine > 0)
            out = expert_run(l, e, i, x, n_mine, out);
    }
    tape_drop(l->tape, scores.storage);
    return out;
}
