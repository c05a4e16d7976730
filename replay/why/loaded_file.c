/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The sizes of what was loaded and of what else stays are sorted, and walked side by side. */
#include "replay/why/loaded_file.h"

#include "replay/recording/telling_lines.h"
#include "traces/stack_frame.h"

#include <stdlib.h>

static bool is_loading_frame(const struct stack_frame *f)
{
    return (stack_frame_is_torch(f) && (stack_frame_file_ends(f, "torch/serialization.py") ||
                                        stack_frame_file_ends(f, "_weights_only_unpickler.py"))) ||
           stack_frame_file_ends(f, "safetensors/torch.py");
}

static bool is_loading(const struct trace_reader *trace, uint32_t stack)
{
    const char *const *frames;
    const size_t n = trace_stack(trace, stack, &frames);
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (is_loading_frame(&f))
            return true;
    }
    return false;
}

static bool is_lasting(const struct holding *h)
{
    return h->category == CATEGORY_PARAMETERS || h->category == CATEGORY_BUFFERS || h->category == CATEGORY_OPTIMIZER;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct holding *x = a, *y = b;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Bytes of `loaded` for which `others` has a piece of the same size, each counted once. Sorts both. */
static uint64_t count_twins(struct holdings *loaded, struct holdings *others)
{
    uint64_t twins = 0;
    qsort(loaded->at, loaded->n, sizeof *loaded->at, compare_sizes);
    qsort(others->at, others->n, sizeof *others->at, compare_sizes);
    for (size_t i = 0, k = 0; i < loaded->n && k < others->n;) {
        const int order = compare_sizes(&loaded->at[i], &others->at[k]);
        twins += order == 0 ? loaded->at[i].bytes : 0;
        i += order <= 0;
        k += order >= 0;
    }
    return twins;
}

/* When the first of what was loaded and is live was requested. */
static int64_t first_loaded(const struct holdings *h, const bool *loads)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < h->n; i++)
        if (loads[h->at[i].stack] && h->at[i].born < first)
            first = h->at[i].born;
    return first;
}

/* Parts what is live: `loads` says of each stack whether a file was loaded there. What is younger than the load may be
 * made of it: states of a model that was only loaded. */
static void part(const struct holdings *h, const bool *loads, struct holdings *loaded, struct holdings *others)
{
    const int64_t first = first_loaded(h, loads);
    for (size_t i = 0; i < h->n; i++) {
        const struct holding *one = &h->at[i];
        if (loads[one->stack]) {
            loaded->at[loaded->n++] = *one;
            loaded->bytes += one->bytes;
        } else if (is_lasting(one) && one->born < first) {
            others->at[others->n++] = *one;
        }
    }
}

static enum err find(struct trace_reader *trace, const struct holdings *h, const bool *loads, struct holdings *loaded,
                     struct holdings *others, struct loaded_file *out, struct err_detail *err)
{
    part(h, loads, loaded, others);
    const uint64_t twins = count_twins(loaded, others);
    if (loaded->n == 0 || twins < loaded->bytes / 2)
        return ERR_OK;
    out->bytes = loaded->bytes;
    out->twin_bytes = twins;
    return telling_lines_group(trace, loaded, &out->lines, err);
}

enum err loaded_file_find(struct trace_reader *trace, const struct holdings *h, struct loaded_file *out,
                          struct err_detail *err)
{
    const uint32_t n_stacks = trace_info(trace)->n_stacks;
    struct holdings loaded = { .at = calloc(h->n + 1, sizeof *h->at) };
    struct holdings others = { .at = calloc(h->n + 1, sizeof *h->at) };
    bool *loads = calloc((size_t)n_stacks + 1, sizeof *loads);
    *out = (struct loaded_file){ .bytes = 0 };
    enum err e = loaded.at == NULL || others.at == NULL || loads == NULL ? err_no_memory(err) : ERR_OK;
    for (uint32_t i = 1; e == ERR_OK && i <= n_stacks; i++)
        loads[i] = is_loading(trace, i);
    if (e == ERR_OK)
        e = find(trace, h, loads, &loaded, &others, out, err);
    free(loaded.at);
    free(others.at);
    free(loads);
    return e;
}

void loaded_file_close(struct loaded_file *f)
{
    holders_close(&f->lines);
}
