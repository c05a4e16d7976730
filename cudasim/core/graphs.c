/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Graphs of the simulated CUDA: nodes by their types, the host's functions among them, and the memory that they take.
 *
 * A launch is one piece of work. Edges are not kept: nodes run in the order in which they were added.
 */
#include "cudasim/core/graphs.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* A node's handle holds its graph's handle, and above it the node's number, from 1. */
enum { NODE_SHIFT = 40 };

static uint64_t node_name(uint64_t graph, size_t i)
{
    return graph + ((uint64_t)(i + 1) << NODE_SHIFT);
}

struct cudasim_graph *graph_get(uint64_t name, enum cudasim_handle_kind kind)
{
    return (struct cudasim_graph *)cudasim_handle_get(name, kind);
}

/* A copy of n elements with room for one more; NULL without host memory. */
static void *copy_of(const void *from, size_t n, size_t size)
{
    void *copy = calloc(n + 1, size);
    if (copy != NULL && n > 0)
        memcpy(copy, from, n * size);
    return copy;
}

enum cudasim_code graph_create(enum cudasim_handle_kind kind, const struct cudasim_graph *from, uint64_t *graph)
{
    struct cudasim_graph *g = calloc(1, sizeof *g);
    if (g == NULL)
        return CODE_OUT_OF_MEMORY;
    if (from != NULL) {
        g->n_nodes = from->n_nodes;
        g->n_calls = from->n_calls;
    }
    g->types = copy_of(from == NULL ? NULL : from->types, g->n_nodes, sizeof *g->types);
    g->calls = copy_of(from == NULL ? NULL : from->calls, g->n_calls, sizeof *g->calls);
    g->types_room = g->n_nodes + 1;
    g->calls_room = g->n_calls + 1;
    void *types = g->types, *calls = g->calls;
    const bool is_whole = types != NULL && calls != NULL;
    if (!is_whole || !cudasim_handle_put(&g->handle, kind)) {
        free(types);
        free(calls);
        if (!is_whole)
            free(g);
        return CODE_OUT_OF_MEMORY;
    }
    *graph = g->handle.name;
    return CODE_SUCCESS;
}

static enum cudasim_code graph_add_call(struct cudasim_graph *g, void (*function)(void *), void *argument)
{
    struct graph_call *calls = array_grow(g->calls, g->n_calls, &g->calls_room, sizeof *calls);
    if (calls == NULL)
        return CODE_OUT_OF_MEMORY;
    g->calls = calls;
    calls[g->n_calls++] = (struct graph_call){ function, argument };
    return CODE_SUCCESS;
}

enum cudasim_code graph_add_node(struct cudasim_graph *g, enum cudasim_node type)
{
    uint8_t *types = array_grow(g->types, g->n_nodes, &g->types_room, sizeof *types);
    if (types == NULL)
        return CODE_OUT_OF_MEMORY;
    g->types = types;
    types[g->n_nodes++] = (uint8_t)type;
    return CODE_SUCCESS;
}

/* Nodes of memory; the graph gets its memory with the first. */
static enum cudasim_code graph_begin_memory(struct cudasim_graph *g)
{
    if (g->memory == NULL)
        g->memory = graph_memory_create();
    return g->memory == NULL ? CODE_OUT_OF_MEMORY : CODE_SUCCESS;
}

enum cudasim_code graph_add_alloc(struct cudasim_graph *g, int device, uint64_t bytes, uint64_t *addr)
{
    enum cudasim_code code = graph_begin_memory(g);
    if (code == CODE_SUCCESS)
        code = graph_memory_add_alloc(g->memory, device, bytes, addr);
    return code == CODE_SUCCESS ? graph_add_node(g, NODE_ALLOC) : code;
}

enum cudasim_code graph_add_free(struct cudasim_graph *g, uint64_t addr)
{
    enum cudasim_code code = graph_begin_memory(g);
    if (code == CODE_SUCCESS)
        code = graph_memory_add_free(g->memory, addr);
    return code == CODE_SUCCESS ? graph_add_node(g, NODE_FREE) : code;
}

/* ---- what the program asks ---- */

static enum cudasim_code begin_graph(uint64_t graph, struct cudasim_graph **g)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    *g = graph_get(graph, HANDLE_GRAPH);
    return *g != NULL ? CODE_SUCCESS : cudasim_end(CODE_INVALID_VALUE);
}

enum cudasim_code cudasim_graph_create(uint64_t *graph)
{
    const enum cudasim_code code = cudasim_begin();
    return code != CODE_SUCCESS ? code : cudasim_end(graph_create(HANDLE_GRAPH, NULL, graph));
}

/* Writes the node that was added last. */
static enum cudasim_code end_node(const struct cudasim_graph *g, enum cudasim_code code, uint64_t *node)
{
    if (code == CODE_SUCCESS)
        *node = node_name(g->handle.name, g->n_nodes - 1);
    return cudasim_end(code);
}

enum cudasim_code cudasim_graph_add(uint64_t graph, enum cudasim_node type, void (*function)(void *), void *argument,
                                    uint64_t *node)
{
    struct cudasim_graph *g;
    enum cudasim_code code = node == NULL ? CODE_INVALID_VALUE : begin_graph(graph, &g);
    if (code != CODE_SUCCESS)
        return code;
    code = function == NULL ? CODE_SUCCESS : graph_add_call(g, function, argument);
    return end_node(g, code == CODE_SUCCESS ? graph_add_node(g, type) : code, node);
}

enum cudasim_code cudasim_graph_add_child(uint64_t graph, uint64_t child, uint64_t *node)
{
    struct cudasim_graph *g;
    enum cudasim_code code = node == NULL ? CODE_INVALID_VALUE : begin_graph(graph, &g);
    if (code != CODE_SUCCESS)
        return code;
    const struct cudasim_graph *c = graph_get(child, HANDLE_GRAPH);
    if (c == NULL || c == g || c->memory != NULL)
        return cudasim_end(c == NULL || c == g ? CODE_INVALID_VALUE : CODE_NOT_SUPPORTED);
    for (size_t i = 0; code == CODE_SUCCESS && i < c->n_calls; i++)
        code = graph_add_call(g, c->calls[i].function, c->calls[i].argument);
    return end_node(g, code == CODE_SUCCESS ? graph_add_node(g, NODE_GRAPH) : code, node);
}

/* Memory of a device, for this process only. */
static bool is_alloc_valid(const struct cudasim_alloc_params *p)
{
    enum { PINNED = 1, ON_DEVICE = 1 };
    return p->pool.type == PINNED && p->pool.handle_types == 0 && p->pool.location_type == ON_DEVICE &&
           p->pool.location_id >= 0 && p->pool.location_id < cudasim.n_devices;
}

enum cudasim_code cudasim_graph_add_alloc(uint64_t graph, struct cudasim_alloc_params *params, uint64_t *node)
{
    struct cudasim_graph *g;
    const enum cudasim_code code = node == NULL || params == NULL ? CODE_INVALID_VALUE : begin_graph(graph, &g);
    if (code != CODE_SUCCESS)
        return code;
    if (!is_alloc_valid(params))
        return cudasim_end(CODE_INVALID_VALUE);
    return end_node(g, graph_add_alloc(g, params->pool.location_id, params->bytes, &params->addr), node);
}

enum cudasim_code cudasim_graph_add_free(uint64_t graph, uint64_t addr, uint64_t *node)
{
    struct cudasim_graph *g;
    const enum cudasim_code code = node == NULL ? CODE_INVALID_VALUE : begin_graph(graph, &g);
    return code != CODE_SUCCESS ? code : end_node(g, graph_add_free(g, addr), node);
}

enum cudasim_code cudasim_graph_add_any(uint64_t graph, struct cudasim_node_params *p, uint64_t *node)
{
    switch (p == NULL ? -1 : p->type) {
    case -1:
        return CODE_INVALID_VALUE;
    case NODE_KERNEL: case NODE_COPY: case NODE_SET: case NODE_EMPTY: case NODE_WAIT: case NODE_RECORD:
        return cudasim_graph_add(graph, (enum cudasim_node)p->type, NULL, NULL, node);
    case NODE_HOST:
        return p->of.host.function == NULL ? CODE_INVALID_VALUE
             : cudasim_graph_add(graph, NODE_HOST, p->of.host.function, p->of.host.argument, node);
    case NODE_GRAPH:
        return cudasim_graph_add_child(graph, p->of.child, node);
    case NODE_ALLOC:
        return cudasim_graph_add_alloc(graph, &p->of.alloc, node);
    case NODE_FREE:
        return cudasim_graph_add_free(graph, p->of.addr, node);
    default:
        return CODE_NOT_SUPPORTED;
    }
}

enum cudasim_code cudasim_graph_nodes(uint64_t graph, uint64_t *nodes, size_t *n)
{
    struct cudasim_graph *g;
    const enum cudasim_code code = n == NULL ? CODE_INVALID_VALUE : begin_graph(graph, &g);
    if (code != CODE_SUCCESS)
        return code;
    for (size_t i = 0; nodes != NULL && i < *n; i++)
        nodes[i] = i < g->n_nodes ? node_name(graph, i) : 0;
    if (nodes == NULL || g->n_nodes < *n)
        *n = g->n_nodes;
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_graph_node_type(uint64_t node, int *type)
{
    struct cudasim_graph *g;
    const uint64_t number = node >> NODE_SHIFT;
    const enum cudasim_code code =
        type == NULL ? CODE_INVALID_VALUE : begin_graph(node & ((UINT64_C(1) << NODE_SHIFT) - 1), &g);
    if (code != CODE_SUCCESS)
        return code;
    if (number == 0 || number > g->n_nodes)
        return cudasim_end(CODE_INVALID_VALUE);
    *type = g->types[number - 1];
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_graph_roots(uint64_t graph, uint64_t *nodes, size_t *n)
{
    size_t all = 0;
    const enum cudasim_code code = n == NULL ? CODE_INVALID_VALUE : cudasim_graph_nodes(graph, NULL, &all);
    if (code != CODE_SUCCESS)
        return code;
    for (size_t i = 0; nodes != NULL && i < *n; i++)
        nodes[i] = i == 0 && all > 0 ? node_name(graph, 0) : 0;
    if (nodes == NULL || *n > 1)
        *n = all > 0;
    return CODE_SUCCESS;
}

enum cudasim_code cudasim_graph_set_child(uint64_t exec, uint64_t child)
{
    struct cudasim_graph *c;
    const enum cudasim_code code = begin_graph(child, &c);
    if (code != CODE_SUCCESS)
        return code;
    return cudasim_end(graph_get(exec, HANDLE_EXEC) == NULL ? CODE_INVALID_VALUE
                       : c->n_calls > 0 ? CODE_NOT_SUPPORTED : CODE_SUCCESS);
}

/* A graph whose nodes take memory can neither be cloned nor be instantiated twice, as documented; the code is what
 * release 580 of the driver answered. */
enum cudasim_code cudasim_graph_clone(uint64_t graph, uint64_t *copy)
{
    struct cudasim_graph *g;
    const enum cudasim_code code = begin_graph(graph, &g);
    if (code != CODE_SUCCESS)
        return code;
    return cudasim_end(g->memory != NULL ? CODE_NOT_SUPPORTED : graph_create(HANDLE_GRAPH, g, copy));
}

enum cudasim_code cudasim_graph_instantiate(uint64_t graph, uint64_t flags, uint64_t *exec)
{
    struct cudasim_graph *g;
    enum cudasim_code code = begin_graph(graph, &g);
    if (code != CODE_SUCCESS)
        return code;
    code = g->memory == NULL ? CODE_SUCCESS : graph_memory_instantiate(g->memory);
    if (code != CODE_SUCCESS)
        return cudasim_end(code);
    code = graph_create(HANDLE_EXEC, g, exec);
    if (code != CODE_SUCCESS) {
        graph_memory_end_instance(g->memory);
        return cudasim_end(code);
    }
    struct cudasim_graph *made = graph_get(*exec, HANDLE_EXEC);
    made->memory = g->memory;
    made->n_steps = g->memory == NULL ? 0 : graph_memory_steps(g->memory);
    made->frees_on_launch = (flags & CUDASIM_GRAPH_FREES_ON_LAUNCH) != 0;
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_graph_destroy(uint64_t name)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_graph *g = graph_get(name, HANDLE_GRAPH), *exec = graph_get(name, HANDLE_EXEC);
    if (g == NULL && exec == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    if (g != NULL)
        graph_memory_release(g->memory);
    else
        graph_memory_end_instance(exec->memory);
    g = g != NULL ? g : exec;
    free(g->calls);
    free(g->types);
    cudasim_handle_drop(&g->handle);
    return cudasim_end(CODE_SUCCESS);
}

/* What keeps an instantiated graph from becoming like `g`; *node: the node, or 0. */
static enum cudasim_graph_update update_error(const struct cudasim_graph *exec, const struct cudasim_graph *g,
                                              uint64_t *node)
{
    *node = 0;
    if (exec->n_nodes != g->n_nodes)
        return UPDATE_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < g->n_nodes; i++)
        if (exec->types[i] != g->types[i] || g->types[i] == NODE_ALLOC || g->types[i] == NODE_FREE) {
            *node = node_name(g->handle.name, i);
            return exec->types[i] != g->types[i] ? UPDATE_TYPE_CHANGED : UPDATE_NOT_SUPPORTED;
        }
    return UPDATE_SUCCESS;
}

enum cudasim_code cudasim_graph_update(uint64_t exec, uint64_t graph, int *result, uint64_t *node)
{
    struct cudasim_graph *g;
    enum cudasim_code code = begin_graph(graph, &g);
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_graph *e = graph_get(exec, HANDLE_EXEC);
    if (e == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    *result = (int)update_error(e, g, node);
    if (*result != UPDATE_SUCCESS)
        return cudasim_end(CODE_GRAPH_UPDATE);
    struct graph_call *calls = copy_of(g->calls, g->n_calls, sizeof *calls);
    if (calls == NULL)
        return cudasim_end(CODE_OUT_OF_MEMORY);
    free(e->calls);
    e->calls = calls;
    e->n_calls = g->n_calls;
    e->calls_room = g->n_calls + 1;
    return cudasim_end(code);
}

enum cudasim_code cudasim_graph_upload(uint64_t exec)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_graph *g = graph_get(exec, HANDLE_EXEC);
    return cudasim_end(g == NULL ? CODE_INVALID_VALUE
                       : g->memory == NULL ? CODE_SUCCESS : graph_memory_upload(g->memory, g->n_steps));
}

/* The n-th host function of a graph; false after the last. Each is asked for anew, because it may change the graph. */
static bool graph_call_get(uint64_t exec, size_t n, struct graph_call *out)
{
    cudasim_lock();
    const struct cudasim_graph *g = graph_get(exec, HANDLE_EXEC);
    const bool is_there = g != NULL && n < g->n_calls;
    if (is_there)
        *out = g->calls[n];
    cudasim_unlock();
    return is_there;
}

/* Into a captured stream: the graph becomes a part of the captured one. */
static enum cudasim_code launch_into(struct cudasim_graph *captured, const struct cudasim_graph *g)
{
    enum cudasim_code code = g->memory != NULL ? CODE_NOT_SUPPORTED : CODE_SUCCESS;
    for (size_t i = 0; code == CODE_SUCCESS && i < g->n_calls; i++)
        code = graph_add_call(captured, g->calls[i].function, g->calls[i].argument);
    return code == CODE_SUCCESS ? graph_add_node(captured, NODE_GRAPH) : code;
}

enum cudasim_code cudasim_graph_launch(uint64_t exec, uint64_t stream)
{
    struct graph_call call;
    cudasim_values_unknown();
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const struct cudasim_graph *g = graph_get(exec, HANDLE_EXEC);
    if (g == NULL || cudasim_stream_device(stream) < 0)
        return cudasim_end(g == NULL ? CODE_INVALID_VALUE : CODE_INVALID_HANDLE);
    struct cudasim_graph *captured = cudasim_captured_graph(stream);
    if (captured != NULL)
        return cudasim_end(launch_into(captured, g));
    if (g->memory != NULL)
        code = graph_memory_launch(g->memory, g->n_steps, g->frees_on_launch, stream);
    if (code == CODE_SUCCESS)
        code = cudasim_work(stream, LAUNCH_NS * (1 + (uint64_t)g->n_nodes), NODE_GRAPH);
    cudasim_unlock();
    for (size_t i = 0; code == CODE_SUCCESS && graph_call_get(exec, i, &call); i++)
        call.function(call.argument);
    return code;
}
