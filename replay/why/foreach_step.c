/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Functions of torch.optim that compute all weights at once are known by their names. */
#include "replay/why/foreach_step.h"

#include "traces/stack_frame.h"

#include <stdlib.h>
#include <string.h>

#define FOREACH_PREFIX "_multi_tensor_"

/* States are made before it, in _init_group; but SGD clones its momentum there, so nothing of SGD is taken for
 * transient. Source: torch/optim of PyTorch 2.0 to 2.15. */
static bool is_foreach_frame(const struct stack_frame *f)
{
    return stack_frame_is_in(f, "torch/optim") && f->n_name > sizeof FOREACH_PREFIX - 1 &&
           strncmp(f->name, FOREACH_PREFIX, sizeof FOREACH_PREFIX - 1) == 0 &&
           !stack_frame_is_named(f, FOREACH_PREFIX "sgd");
}

/* Adam and AdamW alone, besides SGD; Adagrad's is for the CPU. The others end in a TypeError. Source: as above. */
static bool is_fused_frame(const struct stack_frame *f)
{
    return stack_frame_is_named(f, FOREACH_PREFIX "adam") || stack_frame_is_named(f, FOREACH_PREFIX "adamw");
}

static bool has_frame(const struct trace_reader *trace, uint32_t stack, bool (*is)(const struct stack_frame *f))
{
    const char *const *frames;
    const size_t n = trace_stack(trace, stack, &frames);
    return stack_frames_any(frames, n, is);
}

static void take_transients(struct holdings *h, const bool *is_transient, struct foreach_step *out)
{
    for (size_t i = 0; i < h->n; i++) {
        struct holding *one = &h->at[i];
        if (!is_transient[one->stack])
            continue;
        one->category = CATEGORY_TEMPORARIES;
        one->is_guess = false;
        out->bytes += one->bytes;
        out->largest = one->bytes > out->largest ? one->bytes : out->largest;
    }
}

enum err foreach_step_find(struct trace_reader *trace, uint64_t refused, uint64_t asked_bytes, struct holdings *h,
                           struct foreach_step *out, struct err_detail *err)
{
    const uint32_t n_stacks = trace_info(trace)->n_stacks;
    uint32_t stack = TRACE_NO_STACK;
    *out = (struct foreach_step){ .bytes = 0 };
    enum err e = trace_stacks_at(trace, &refused, 1, &stack, err);
    if (e != ERR_OK || !has_frame(trace, stack, is_foreach_frame))
        return e;
    bool *is_transient = calloc((size_t)n_stacks + 1, sizeof *is_transient);
    if (is_transient == NULL)
        return err_no_memory(err);
    for (uint32_t i = 1; i <= n_stacks; i++)
        is_transient[i] = has_frame(trace, i, is_foreach_frame);
    out->largest = asked_bytes;
    out->has_fused = has_frame(trace, stack, is_fused_frame);
    take_transients(h, is_transient, out);
    free(is_transient);
    return ERR_OK;
}
