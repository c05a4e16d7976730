/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A stage begins with one batch for each stage after it, then does a batch backward for each one forward (Megatron-LM's
 * schedule): so many batches wait at once. What is sent does not come from PyTorch's allocator, what is received does.
 */
#include "loads/pipeline.h"

#include <stdlib.h>

/* A batch that waits for its backward pass. */
struct waiting { struct value x, y; uint32_t targets, first_node; };

static struct waiting batch_forward(struct transformer *m)
{
    struct layers *l = &m->training.layers;
    struct tape *t = l->tape;
    const uint64_t count = m->n_rows * m->width, index_bytes = m->n_rows * LAYERS_INDEX_BYTES;
    struct waiting w = {.targets = TAPE_NONE, .first_node = tape_here(t)};
    if (m->is_first) {
        w.x = (struct value){.storage = tape_new(t, index_bytes), .node = TAPE_NONE};
    } else {
        const struct value like = {.element_bytes = tape_element_bytes(t)};
        w.x = tape_leaf(t, layers_new(l, count, like), count, like);
    }
    if (m->is_last)
        w.targets = tape_new(t, index_bytes);
    w.y = transformer_forward(m, w.x);
    return w;
}

static void batch_backward(struct transformer *m, const struct waiting *w)
{
    struct layers *l = &m->training.layers;
    struct tape *t = l->tape;
    const uint32_t gradient = m->is_last ? TAPE_NONE : layers_new(l, w->y.count, w->y);
    const uint32_t to_x = tape_run_part(t, w->y, w->first_node, gradient);
    tape_drop_later(t, to_x);                        /* what was sent or received is another stream's, too */
    (m->is_first ? tape_drop : tape_drop_later)(t, w->x.storage);
    (m->is_last ? tape_drop : tape_drop_later)(t, w->y.storage);
    tape_drop(t, w->targets);
    tape_drop_later(t, gradient);
}

void pipeline_batches(struct transformer *m, uint64_t stage, uint64_t n_stages, uint64_t n_batches)
{
    const uint64_t after = n_stages - stage - 1, warm = after < n_batches ? after : n_batches;
    struct waiting *waiting = malloc((warm + 1) * sizeof *waiting);      /* a ring */
    uint64_t begun = 0, ended = 0;
    if (waiting == NULL) {
        tape_no_memory(m->training.layers.tape);
        return;
    }
    while (ended < n_batches) {
        if (begun < n_batches) {
            waiting[begun % (warm + 1)] = batch_forward(m);
            begun++;
        }
        if (begun > warm) {
            batch_backward(m, &waiting[ended % (warm + 1)]);
            ended++;
        }
    }
    tape_forget(m->training.layers.tape);
    free(waiting);
}
