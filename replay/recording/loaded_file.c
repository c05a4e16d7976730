/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The sizes of what was loaded and of what else stays are sorted, and walked side by side. A file of weights and states
 * has the weights in a row, first or last, and then states of each weight side by side. */
#include "replay/recording/loaded_file.h"

#include "replay/recording/phases.h"
#include "replay/recording/telling_lines.h"

#include <stdlib.h>
#include <string.h>

/* Fewer pieces may be of the same sizes by chance. */
enum { MODEL_PIECES = 4 };

/* The most that a counter of steps takes. */
enum { COUNTER_BYTES = 8 };

/* By stack: whether it loads a file, or copies a module. */
struct origins { bool *loads, *copies; };

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

/* A weight or buffer of a model that was made, and not copied from another one. */
static bool is_of_made_model(const struct holding *h, const struct origins *from)
{
    const bool is_weight = h->category == CATEGORY_PARAMETERS || h->category == CATEGORY_BUFFERS;
    return is_weight && !h->is_guess && !from->copies[h->stack];
}

/* Parts what is live. What is younger than the load may be made of it, such as states of a model that was only loaded,
 * or a copy of it; the weights of a model that was made on the card are not. */
static void part(const struct holdings *h, const struct origins *from, struct holdings *loaded,
                 struct holdings *others)
{
    const int64_t first = first_loaded(h, from->loads);
    for (size_t i = 0; i < h->n; i++) {
        const struct holding *one = &h->at[i];
        if (from->loads[one->stack]) {
            loaded->at[loaded->n++] = *one;
            loaded->bytes += one->bytes;
        } else if ((is_lasting(one) && one->born < first) || is_of_made_model(one, from)) {
            others->at[others->n++] = *one;
        }
    }
}

/* ---- all weights of the model in a row ---- */

static int compare_births(const void *a, const void *b)
{
    const struct holding *x = a, *y = b;
    return (x->born > y->born) - (x->born < y->born);
}

/* Whether n pieces are of just the sizes of `own`, which is sorted. `room`: for n. */
static bool are_of_sizes(const struct holding *at, const struct holding *own, size_t n, struct holding *room)
{
    memcpy(room, at, n * sizeof *at);
    qsort(room, n, sizeof *room, compare_sizes);
    for (size_t i = 0; i < n; i++)
        if (room[i].bytes != own[i].bytes)
            return false;
    return true;
}

static size_t keep_model(const struct holdings *others, bool with_buffers, struct holding *own)
{
    size_t n = 0;
    for (size_t i = 0; i < others->n; i++) {
        const struct holding *one = &others->at[i];
        if (one->category == CATEGORY_PARAMETERS || (with_buffers && one->category == CATEGORY_BUFFERS))
            own[n++] = *one;
    }
    qsort(own, n, sizeof *own, compare_sizes);
    return n;
}

/* Whether the pieces of a file are states of an optimizer, as of Adam: each weight's `each` side by side, which the
 * weights of a second model are not, and counters of steps between them. The load may have been cut in the last. */
static bool are_states(const struct holding *at, size_t n, size_t each)
{
    size_t run = 0, runs = 0, counters = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (at[i].bytes <= COUNTER_BYTES) {
            counters++;
        } else if (at[i].bytes == bytes) {
            run++;
        } else if (run % each != 0) {
            return false;
        } else {
            bytes = at[i].bytes;
            run = 1;
            runs++;
        }
    }
    return runs >= 2 || (runs == 1 && counters > 0);
}

/* Whether `loaded`, by birth, is all weights of the model, once or more, and states beside them. `own`: the model's
 * sizes, sorted. */
static bool is_checkpoint_of(const struct holdings *loaded, const struct holding *own, size_t n,
                             struct holding *room)
{
    size_t first = 0, end = loaded->n;
    while (end - first >= n && are_of_sizes(loaded->at + first, own, n, room))
        first += n;
    while (end - first >= n && are_of_sizes(loaded->at + (end - n), own, n, room))
        end -= n;
    return end - first < loaded->n && (are_states(loaded->at + first, end - first, 2) ||
                                       are_states(loaded->at + first, end - first, 3));
}

/* Sorts `loaded` by birth. */
static bool has_whole_model(struct holdings *loaded, const struct holdings *others, struct holding *own,
                            struct holding *room)
{
    bool has = false;
    qsort(loaded->at, loaded->n, sizeof *loaded->at, compare_births);
    for (int with_buffers = 0; with_buffers < 2 && !has; with_buffers++) {
        const size_t n = keep_model(others, with_buffers, own);
        has = n >= MODEL_PIECES && is_checkpoint_of(loaded, own, n, room);
    }
    return has;
}

static enum err find_whole_model(struct holdings *loaded, const struct holdings *others, bool *has,
                                 struct err_detail *err)
{
    const size_t most = loaded->n > others->n ? loaded->n : others->n;
    struct holding *own = calloc(2 * (most + 1), sizeof *own);
    if (own == NULL)
        return err_no_memory(err);
    *has = has_whole_model(loaded, others, own, own + most + 1);
    free(own);
    return ERR_OK;
}

static enum err find(struct trace_reader *trace, const struct holdings *h, const struct origins *from,
                     struct holdings *loaded, struct holdings *others, struct loaded_file *out, struct err_detail *err)
{
    part(h, from, loaded, others);
    const uint64_t twins = count_twins(loaded, others);
    bool has_model = false;
    const enum err e = find_whole_model(loaded, others, &has_model, err);
    if (e != ERR_OK || loaded->n == 0 || (twins < loaded->bytes / 2 && !has_model))
        return e;
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
    struct origins from = { .loads = calloc((size_t)n_stacks + 1, sizeof *from.loads),
                            .copies = calloc((size_t)n_stacks + 1, sizeof *from.copies) };
    const bool has_room = loaded.at != NULL && others.at != NULL && from.loads != NULL && from.copies != NULL;
    *out = (struct loaded_file){ .bytes = 0 };
    for (uint32_t i = 1; has_room && i <= n_stacks; i++) {
        from.loads[i] = stack_loads_file(trace, i);
        from.copies[i] = stack_copies_module(trace, i);
    }
    const enum err e = has_room ? find(trace, h, &from, &loaded, &others, out, err) : err_no_memory(err);
    free(loaded.at);
    free(others.at);
    free(from.loads);
    free(from.copies);
    return e;
}

void loaded_file_close(struct loaded_file *f)
{
    holders_close(&f->lines);
}
