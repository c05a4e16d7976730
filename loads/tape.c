/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Storages, parameters, the graph, and its backward pass. */
#include "loads/tape.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TAPE_LATE_MAX = 8 };
enum { TAPE_STEP_NS = 1000 };            /* from one request to the next: a trace of shapes has no times of its own */

struct storage { uint64_t ptr, bytes; uint32_t references; };

struct section {
    tape_section forward;
    struct value input;
    const void  *again;
    uint32_t first_node, n_saves;        /* what the first run made, and what it would have saved */
    uint32_t first_saving;               /* node: the last one that needs what is run again */
    bool     is_there;                   /* it was run again */
};

struct tape {
    struct trace_writer *w;
    struct err_detail *err;
    enum err e;
    uint64_t next_ptr, time_ns, pool;
    unsigned element_bytes;
    void    *context;
    struct storage *storages;
    struct tape_parameter *parameters;
    struct tape_node *nodes;
    struct section *sections;
    size_t n_storages, storages_room, n_parameters, parameters_room, n_nodes, nodes_room, n_sections, sections_room;
    uint32_t first_run;                  /* section in its first run; TAPE_NONE: none */
    uint32_t again_run;                  /* section that is run again; TAPE_NONE: none */
    uint32_t again_node, again_saves;    /* how far it is */
    struct tape_node again_dummy;        /* stands for its operations */
    struct { struct value to; uint32_t gradient; bool is_view; } given[TAPE_INPUTS_MAX];
    size_t   n_given;
    uint32_t n_arrivals, to_leaf;
    uint32_t late[TAPE_LATE_MAX];        /* to be dropped by the next request */
    size_t   n_late;
    bool     is_backward, has_no_gradients;
    bool    *is_view;                    /* of the gradient that waits for a node's first output, by node */
    size_t   is_view_room;
};

/* The node of a parameter is its index with this bit. */
#define PARAMETER_BIT UINT32_C(0x80000000)

struct tape *tape_open(struct trace_writer *w, unsigned element_bytes, void *context, struct err_detail *err)
{
    struct tape *t = calloc(1, sizeof *t);
    if (t == NULL) {
        (void)err_no_memory(err);
        return NULL;
    }
    t->w = w;
    t->err = err;
    t->element_bytes = element_bytes;
    t->context = context;
    t->first_run = t->again_run = TAPE_NONE;
    return t;
}

enum err tape_close(struct tape *t)
{
    const enum err e = t->e;
    free(t->storages);
    free(t->parameters);
    free(t->nodes);
    free(t->sections);
    free(t->is_view);
    free(t);
    return e;
}

unsigned tape_element_bytes(const struct tape *t)
{
    return t->element_bytes;
}

void *tape_context(const struct tape *t)
{
    return t->context;
}

void tape_no_memory(struct tape *t)
{
    if (t->e == ERR_OK)
        t->e = err_no_memory(t->err);
}

/* Room for one element more of an array of the tape; false after an error. */
static bool tape_room(struct tape *t, void **array, size_t n, size_t *room, size_t size)
{
    if (t->e != ERR_OK)
        return false;
    void *more = array_grow(*array, n, room, size);
    if (more == NULL) {
        tape_no_memory(t);
        return false;
    }
    *array = more;
    return true;
}

/* ---- storages ---- */

static void tape_put(struct tape *t, enum event_kind kind, uint64_t ptr, uint64_t bytes)
{
    if (t->e != ERR_OK)
        return;
    const struct trace_record r = {.kind = kind, .time_ns = t->time_ns, .ptr = ptr, .bytes = bytes,
                                   .pool = {t->pool, 0}, .record = TRACE_NO_RECORD};
    t->time_ns += TAPE_STEP_NS;
    t->e = trace_put(t->w, &r, t->err);
}

uint32_t tape_new(struct tape *t, uint64_t bytes)
{
    if (tape_has_stopped(t) ||
        !tape_room(t, (void **)&t->storages, t->n_storages, &t->storages_room, sizeof *t->storages))
        return TAPE_NONE;
    for (size_t i = 0; i < t->n_late; i++)
        tape_drop(t, t->late[i]);
    t->n_late = 0;
    t->storages[t->n_storages] = (struct storage){.ptr = ++t->next_ptr, .bytes = bytes, .references = 1};
    tape_put(t, EVENT_ALLOC, t->next_ptr, bytes);
    return (uint32_t)t->n_storages++;
}

void tape_keep(struct tape *t, uint32_t storage)
{
    if (storage != TAPE_NONE && t->e == ERR_OK)
        t->storages[storage].references++;
}

void tape_drop(struct tape *t, uint32_t storage)
{
    if (storage == TAPE_NONE || t->e != ERR_OK)
        return;
    assert(t->storages[storage].references > 0);
    if (--t->storages[storage].references == 0)
        tape_put(t, EVENT_FREE, t->storages[storage].ptr, 0);
}

void tape_drop_later(struct tape *t, uint32_t storage)
{
    if (storage == TAPE_NONE)
        return;
    assert(t->n_late < TAPE_LATE_MAX);
    t->late[t->n_late++] = storage;
}

void tape_temporary(struct tape *t, uint64_t bytes)
{
    if (bytes > 0)
        tape_drop(t, tape_new(t, bytes));
}

void tape_flush(struct tape *t)
{
    const struct trace_record r = {.kind = EVENT_FLUSH, .time_ns = t->time_ns, .record = TRACE_NO_RECORD};
    if (t->e == ERR_OK)
        t->e = trace_put(t->w, &r, t->err);
}

void tape_wait_until(struct tape *t, uint64_t time_ns)
{
    t->time_ns = t->time_ns > time_ns ? t->time_ns : time_ns;
}

void tape_use_pool(struct tape *t, unsigned pool)
{
    t->pool = pool;
}

void tape_mark(struct tape *t, const char *label)
{
    struct trace_record r = {.kind = EVENT_MARK, .time_ns = t->time_ns, .record = TRACE_NO_RECORD};
    if (t->e == ERR_OK)
        t->e = trace_put_label(t->w, label, strlen(label), &r.label, t->err);
    if (t->e == ERR_OK)
        t->e = trace_put(t->w, &r, t->err);
}

/* ---- parameters ---- */

void tape_buffer(struct tape *t, uint64_t bytes)
{
    if (!tape_room(t, (void **)&t->parameters, t->n_parameters, &t->parameters_room, sizeof *t->parameters))
        return;
    t->parameters[t->n_parameters++] = (struct tape_parameter){
        .storage = TAPE_NONE, .gradient = TAPE_NONE, .bytes = bytes};
}

struct value tape_parameter(struct tape *t, uint64_t count, bool is_trained)
{
    const uint32_t i = (uint32_t)t->n_parameters;
    tape_buffer(t, count * t->element_bytes);
    if (t->e == ERR_OK)
        t->parameters[i].is_trained = is_trained;
    return (struct value){.storage = TAPE_NONE, .node = is_trained ? PARAMETER_BIT | i : TAPE_NONE, .count = count,
                          .element_bytes = t->element_bytes};
}

size_t tape_parameter_of(struct value v)
{
    const bool is_parameter = v.node != TAPE_NONE && (v.node & PARAMETER_BIT) != 0;
    return is_parameter ? v.node & ~PARAMETER_BIT : SIZE_MAX;
}

void tape_place_parameters(struct tape *t)
{
    for (size_t i = 0; i < t->n_parameters; i++)
        if (t->parameters[i].storage == TAPE_NONE)
            t->parameters[i].storage = tape_new(t, t->parameters[i].bytes);
}

bool tape_parameter_at(const struct tape *t, size_t i, struct tape_parameter *out)
{
    if (i >= t->n_parameters)
        return false;
    *out = t->parameters[i];
    return true;
}

void tape_replace_parameter(struct tape *t, size_t i, uint32_t storage, uint64_t bytes)
{
    t->parameters[i].storage = storage;
    t->parameters[i].bytes = bytes;
}

void tape_replace_gradient(struct tape *t, size_t i, uint32_t gradient)
{
    tape_drop(t, t->parameters[i].gradient);
    t->parameters[i].gradient = gradient;
}

void tape_drop_gradients(struct tape *t)
{
    for (size_t i = 0; i < t->n_parameters; i++) {
        tape_drop(t, t->parameters[i].gradient);
        t->parameters[i].gradient = TAPE_NONE;
    }
}

/* ---- operations ---- */

void tape_want_gradients(struct tape *t, bool are_wanted)
{
    t->has_no_gradients = !are_wanted;
}

struct tape_node *tape_operation(struct tape *t, tape_backward backward, const struct value *inputs, size_t n)
{
    bool is_any_wanted = false;
    for (size_t i = 0; i < n; i++)
        is_any_wanted |= inputs[i].node != TAPE_NONE;
    if (!is_any_wanted || t->has_no_gradients || t->e != ERR_OK)
        return NULL;
    if (t->again_run != TAPE_NONE) {
        t->again_node++;
        return &t->again_dummy;
    }
    if (!tape_room(t, (void **)&t->nodes, t->n_nodes, &t->nodes_room, sizeof *t->nodes))
        return NULL;
    struct tape_node *node = &t->nodes[t->n_nodes++];
    *node = (struct tape_node){.backward = backward, .section = t->first_run};
    memcpy(node->inputs, inputs, n * sizeof *inputs);
    memset(node->saved, 0xff, sizeof node->saved);
    memset(node->gradients, 0xff, sizeof node->gradients);
    return node;
}

void tape_save(struct tape *t, struct tape_node *n, uint32_t storage)
{
    if (n == NULL || t->e != ERR_OK || tape_has_stopped(t))
        return;
    if (t->again_run != TAPE_NONE) {
        const struct section *s = &t->sections[t->again_run];
        struct tape_node *first = &t->nodes[s->first_node + t->again_node - 1];
        uint32_t i = 0;
        while (first->saved[i] != TAPE_NONE)
            i++;
        first->saved[i] = storage;
        tape_keep(t, storage);
        t->again_saves++;
        return;
    }
    assert(n->n_saved < TAPE_SAVED_MAX);
    if (t->first_run != TAPE_NONE) {
        struct section *s = &t->sections[t->first_run];
        if (s->n_saves++ == 0)
            s->first_saving = (uint32_t)(n - t->nodes);
        n->n_saved++;
        return;
    }
    n->saved[n->n_saved++] = storage;
    tape_keep(t, storage);
}

struct value tape_output(const struct tape *t, const struct tape_node *n, uint32_t output, uint32_t storage,
                         uint64_t count, struct value like)
{
    uint32_t node = TAPE_NONE;
    if (n == &t->again_dummy)
        node = t->sections[t->again_run].first_node + t->again_node - 1;
    else if (n != NULL)
        node = (uint32_t)(n - t->nodes);
    return (struct value){.storage = storage, .node = node, .output = output, .count = count,
                          .element_bytes = like.element_bytes};
}

void tape_used(struct tape *t, struct tape_node *n, uint32_t i)
{
    if (n->section == TAPE_NONE)
        return;
    tape_drop(t, n->saved[i]);
    n->saved[i] = TAPE_NONE;
}

void tape_give(struct tape *t, struct tape_node *n, uint32_t i, uint32_t gradient, bool is_view)
{
    assert(t->n_given < TAPE_INPUTS_MAX);
    t->given[t->n_given].to = n->inputs[i];
    t->given[t->n_given].gradient = gradient;
    t->given[t->n_given++].is_view = is_view;
}

/* The gradient of a parameter is the first one that comes; later ones are added to it. */
static void tape_accumulate(struct tape *t, uint32_t parameter, uint32_t gradient)
{
    struct tape_parameter *p = &t->parameters[parameter];
    if (p->arrival == 0)
        p->arrival = ++t->n_arrivals;
    if (p->gradient == TAPE_NONE)
        p->gradient = gradient;
    else
        tape_drop(t, gradient);
}

/* Hands a gradient to the node that made the value. Of two for one value the second is added to the first, in place if
 * nobody else has it. */
static void tape_deliver(struct tape *t, struct value to, uint32_t gradient, bool is_view, uint32_t *dropped)
{
    uint32_t *waits = &t->nodes[to.node].gradients[to.output];
    *dropped = TAPE_NONE;
    if (*waits == TAPE_NONE) {
        *waits = gradient;
        t->is_view[to.node] = is_view;
        return;
    }
    *dropped = gradient;
    if (t->storages[*waits].references == 1 && !t->is_view[to.node])
        return;
    const uint32_t sum = tape_new(t, to.count * to.element_bytes);
    tape_drop(t, *waits);
    *waits = sum;
    t->is_view[to.node] = false;
}

/* A gradient gets the type of its value (engine.cpp, validate_outputs). */
static void tape_cast_given(struct tape *t)
{
    for (size_t i = 0; i < t->n_given && t->e == ERR_OK; i++) {
        const struct value to = t->given[i].to;
        const uint32_t old = t->given[i].gradient;
        if (to.node == TAPE_NONE || t->storages[old].bytes == to.count * to.element_bytes)
            continue;
        t->given[i].gradient = tape_new(t, to.count * to.element_bytes);
        t->given[i].is_view = false;
        tape_drop(t, old);
    }
}

static void tape_deliver_all(struct tape *t)
{
    uint32_t dropped[TAPE_INPUTS_MAX];
    const size_t n = t->n_given;
    t->n_given = 0;
    for (size_t i = 0; i < n && t->e == ERR_OK; i++) {
        dropped[i] = TAPE_NONE;
        if (t->given[i].to.node == TAPE_NONE)
            dropped[i] = t->given[i].gradient;
        else if ((t->given[i].to.node & PARAMETER_BIT) == 0)
            tape_deliver(t, t->given[i].to, t->given[i].gradient, t->given[i].is_view, &dropped[i]);
    }
    for (size_t i = 0; i < n && t->e == ERR_OK; i++)
        tape_drop(t, dropped[i]);
    for (size_t i = 0; i < n && t->e == ERR_OK; i++)
        if (t->given[i].to.node != TAPE_NONE && (t->given[i].to.node & PARAMETER_BIT) != 0)
            tape_accumulate(t, t->given[i].to.node & ~PARAMETER_BIT, t->given[i].gradient);
}

/* ---- checkpointed sections ---- */

struct value tape_checkpoint(struct tape *t, tape_section forward, struct value input, const void *again)
{
    if (!tape_room(t, (void **)&t->sections, t->n_sections, &t->sections_room, sizeof *t->sections))
        return input;
    const uint32_t section = (uint32_t)t->n_sections++;
    t->sections[section] = (struct section){.forward = forward, .input = input, .again = again,
                                            .first_node = (uint32_t)t->n_nodes,
                                            .first_saving = (uint32_t)t->n_nodes};
    tape_keep(t, input.storage);
    t->first_run = section;
    const struct value out = forward(t, input, again);
    t->first_run = TAPE_NONE;
    return out;
}

bool tape_has_stopped(const struct tape *t)
{
    return t->e != ERR_OK || (t->again_run != TAPE_NONE && t->again_saves >= t->sections[t->again_run].n_saves);
}

static void tape_run_again(struct tape *t, uint32_t section)
{
    struct section *s = &t->sections[section];
    t->again_run = section;
    t->again_node = t->again_saves = 0;
    const struct value out = s->forward(t, s->input, s->again);
    t->again_run = TAPE_NONE;
    s->is_there = true;
    tape_drop(t, out.storage);
}

/* ---- the backward pass ---- */

static void tape_run_node(struct tape *t, uint32_t i)
{
    struct tape_node *n = &t->nodes[i];
    if (n->section != TAPE_NONE && n->n_saved > 0 && !t->sections[n->section].is_there)
        tape_run_again(t, n->section);
    n->backward(t, n);
    for (uint32_t k = 0; k < TAPE_OUTPUTS_MAX; k++)
        tape_drop(t, n->gradients[k]);
    tape_cast_given(t);
    for (uint32_t k = 0; k < TAPE_SAVED_MAX; k++)
        tape_drop(t, n->saved[k]);
    if (n->section != TAPE_NONE && i == t->sections[n->section].first_saving)
        tape_drop(t, t->sections[n->section].input.storage);
    tape_deliver_all(t);
}

uint32_t tape_here(const struct tape *t)
{
    return (uint32_t)t->n_nodes;
}

static void leaf_backward(struct tape *t, struct tape_node *n)
{
    t->to_leaf = n->gradients[0];
    tape_keep(t, t->to_leaf);
}

struct value tape_leaf(struct tape *t, uint32_t storage, uint64_t count, struct value like)
{
    const struct value wanted = {.storage = TAPE_NONE, .node = 0};       /* nothing is given to it */
    const struct tape_node *n = tape_operation(t, leaf_backward, &wanted, 1);
    return tape_output(t, n, 0, storage, count, like);
}

uint32_t tape_run_part(struct tape *t, struct value from, uint32_t first_node, uint32_t gradient)
{
    if (t->e != ERR_OK || from.node == TAPE_NONE)
        return TAPE_NONE;
    bool *views = array_reserve(t->is_view, 0, t->n_nodes, &t->is_view_room, sizeof *views);
    if (views == NULL) {
        tape_no_memory(t);
        return TAPE_NONE;
    }
    t->is_view = views;
    t->is_backward = true;
    t->to_leaf = TAPE_NONE;
    const uint32_t root = gradient == TAPE_NONE ? tape_new(t, from.element_bytes) : gradient;
    tape_keep(t, root);
    t->nodes[from.node].gradients[from.output] = root;
    for (uint32_t i = from.node + 1; i-- > first_node && t->e == ERR_OK;)
        tape_run_node(t, i);
    if (gradient == TAPE_NONE)
        tape_drop(t, root);
    t->is_backward = false;
    return t->to_leaf;
}

void tape_forget(struct tape *t)
{
    t->n_nodes = t->n_sections = 0;
}

void tape_run_backward(struct tape *t, struct value loss)
{
    tape_drop(t, tape_run_part(t, loss, 0, TAPE_NONE));
    tape_forget(t);
}

bool tape_is_backward(const struct tape *t)
{
    return t->is_backward;
}
