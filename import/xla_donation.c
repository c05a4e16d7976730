/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Counts arguments and results by shape, then by size. Source: OpenXLA, xla/service/hlo.proto; jax/_src/interpreters
 * (mlir.py, donated arguments are matched by shape and type). */
#include "import/xla_donation.h"

#include "base/array.h"
#include "base/intern.h"
#include "traces/stack_frame.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_TEXT = 256, FRAME_TEXT = 1024 };

/* ---- whose function it is ---- */

/* The letters of a name without what JAX writes as '_'. */
static bool names_are_alike(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t i = 0, k = 0;
    while (i < n_a || k < n_b) {
        if (i < n_a && !isalnum((unsigned char)a[i]))
            i++;
        else if (k < n_b && !isalnum((unsigned char)b[k]))
            k++;
        else if (i == n_a || k == n_b || a[i++] != b[k++])
            return false;
    }
    return true;
}

/* "main.<locals>.step" is called step. */
static bool is_called(const struct stack_frame *f, const char *function)
{
    const char *last = f->name;
    for (size_t i = 0; i < f->n_name; i++)
        if (f->name[i] == '.')
            last = f->name + i + 1;
    return names_are_alike(last, f->n_name - (size_t)(last - f->name), function, strlen(function));
}

static const char *text_of(char *const *texts, size_t n, int32_t number)
{
    return number > 0 && (size_t)number <= n ? texts[number - 1] : "";
}

static bool is_of_program(const ReplayProto__HloModule *m)
{
    static const char jitted[] = "jit_";
    const ReplayProto__HloStackFrames *all = m->stack_frame_index;
    char text[FRAME_TEXT];
    if (all == NULL || strncmp(m->name, jitted, sizeof jitted - 1) != 0)
        return false;
    for (size_t i = 0; i < all->n_file_locations; i++) {
        const ReplayProto__HloFileLocation *at = all->file_locations[i];
        snprintf(text, sizeof text, "%.200s %.700s:%d",
                 text_of(all->function_names, all->n_function_names, at->function_name_id),
                 text_of(all->file_names, all->n_file_names, at->file_name_id), at->line);
        const struct stack_frame f = stack_frame_parse(text);
        if (stack_frame_is_program(&f) && is_called(&f, m->name + sizeof jitted - 1))
            return true;
    }
    return false;
}

/* ---- shapes ---- */

struct shape_counts { uint64_t bytes; uint32_t arguments, donated, results; };

struct counting {
    struct text_table shapes;
    struct shape_counts *of;         /* by number of the shape */
    size_t n, room;
    bool lacks_memory;
};

/* The counts of a shape; NULL: no memory, or it has more dimensions than any array. */
static struct shape_counts *counts_of(struct counting *c, int32_t type, const int64_t *dimensions, size_t n)
{
    char text[SHAPE_TEXT];
    size_t used = (size_t)snprintf(text, sizeof text, "%" PRId32, type);
    for (size_t i = 0; i < n && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, ",%" PRId64, dimensions[i]);
    if (used >= sizeof text)
        return NULL;
    const uint32_t id = text_table_put(&c->shapes, text, used);
    struct shape_counts *grown = id == UINT32_MAX ? NULL : array_grow(c->of, c->n, &c->room, sizeof *grown);
    c->lacks_memory = c->lacks_memory || grown == NULL;
    if (grown == NULL)
        return NULL;
    c->of = grown;
    if (id == c->n)                              /* texts are numbered as they come */
        grown[c->n++] = (struct shape_counts){ .bytes = 0 };
    return &grown[id];
}

static void count_argument(struct counting *c, const ReplayProto__HloProgramShape *program,
                           const ReplayProto__HloAllocation *a)
{
    if (!a->is_entry_computation_parameter || a->parameter_number < 0 || a->size <= 0 ||
        (size_t)a->parameter_number >= program->n_parameters)
        return;
    const ReplayProto__HloShape *shape = program->parameters[a->parameter_number];
    struct shape_counts *counts = counts_of(c, shape->element_type, shape->dimensions, shape->n_dimensions);
    if (counts == NULL)
        return;
    counts->bytes = (uint64_t)a->size;
    counts->donated += a->maybe_live_out ? 1 : 0;
    counts->arguments += a->maybe_live_out ? 0 : 1;
}

static void count_results(struct counting *c, const ReplayProto__HloResult *r)
{
    struct shape_counts *counts = r->n_tuple_shapes > 0
                                      ? NULL : counts_of(c, r->element_type, r->dimensions, r->n_dimensions);
    if (counts != NULL)
        counts->results++;
    for (size_t i = 0; i < r->n_tuple_shapes; i++) {
        const ReplayProto__HloShape *s = r->tuple_shapes[i];
        counts = counts_of(c, s->element_type, s->dimensions, s->n_dimensions);
        if (counts != NULL)
            counts->results++;
    }
}

/* ---- sizes ---- */

/* What a run asks the allocator for, of this size. */
static uint32_t count_requests(const ReplayProto__HloBufferAssignment *assigned, uint64_t bytes)
{
    uint32_t n = 0;
    for (size_t i = 0; i < assigned->n_buffer_allocations; i++) {
        const ReplayProto__HloAllocation *a = assigned->buffer_allocations[i];
        n += a->maybe_live_out && !a->is_entry_computation_parameter && a->size > 0 &&
             (uint64_t)a->size == bytes;
    }
    return n;
}

/* That of a program and a size, made if there is none; NULL: no memory. */
static struct xla_donation *donation_of(struct xla_donations *d, size_t first, uint32_t name, uint64_t bytes)
{
    for (size_t i = first; i < d->n; i++)
        if (d->at[i].bytes == bytes)
            return &d->at[i];
    struct xla_donation *grown = array_grow(d->at, d->n, &d->room, sizeof *grown);
    if (grown == NULL)
        return NULL;
    d->at = grown;
    grown[d->n] = (struct xla_donation){ .name = name, .bytes = bytes };
    return &grown[d->n++];
}

static bool add_shape(struct xla_donations *d, size_t first, uint32_t name, const struct shape_counts *s)
{
    const uint32_t free_results = s->results > s->donated ? s->results - s->donated : 0;
    const uint32_t arguments = s->arguments < free_results ? s->arguments : free_results;
    if (arguments == 0 || s->bytes < XLA_DONATION_LEAST)
        return true;
    struct xla_donation *one = donation_of(d, first, name, s->bytes);
    if (one == NULL)
        return false;
    one->arguments += arguments;
    return true;
}

/* Programs of one name are told apart by their sizes alone: what they disagree on is not known. */
static void settle(struct xla_donations *d, size_t first)
{
    for (size_t i = 0; i < first; i++)
        for (size_t k = first; k < d->n; k++)
            if (d->at[i].name == d->at[k].name && d->at[i].bytes == d->at[k].bytes) {
                const bool are_equal = d->at[i].results == d->at[k].results;
                if (!are_equal || d->at[k].arguments < d->at[i].arguments)
                    d->at[i].arguments = are_equal ? d->at[k].arguments : 0;
                d->at[k--] = d->at[--d->n];
            }
}

enum err xla_donations_put(struct xla_donations *d, uint32_t name, const ReplayProto__HloModule *module,
                           const ReplayProto__HloBufferAssignment *assigned, struct err_detail *err)
{
    const ReplayProto__HloProgramShape *program = module->host_program_shape;
    struct counting c = { .shapes.seed = hash_seed() };
    const size_t first = d->n;
    bool has_memory;
    if (program == NULL || program->result == NULL || assigned == NULL || d->n >= XLA_DONATIONS_MOST ||
        !is_of_program(module))
        return ERR_OK;
    for (size_t i = 0; i < assigned->n_buffer_allocations; i++)
        count_argument(&c, program, assigned->buffer_allocations[i]);
    count_results(&c, program->result);
    has_memory = !c.lacks_memory;
    for (size_t i = 0; i < c.n && has_memory && d->n < XLA_DONATIONS_MOST; i++)
        has_memory = add_shape(d, first, name, &c.of[i]);
    for (size_t i = first; i < d->n; i++)
        d->at[i].results = count_requests(assigned, d->at[i].bytes);
    settle(d, first);
    text_table_free(&c.shapes);
    free(c.of);
    return has_memory ? ERR_OK : err_no_memory(err);
}
