/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Graphs of the simulated CUDA (core.h), and the memory that their nodes take and give back. The lock is held
 * in all functions here.
 */
#ifndef REPLAY_CUDASIM_CORE_GRAPHS_H
#define REPLAY_CUDASIM_CORE_GRAPHS_H

#include "cudasim/core/state.h"

/* A host function of a graph. It runs when the graph is launched. */
struct graph_call {
    void (*function)(void *);
    void *argument;
};

/* A graph, or an instantiated one (HANDLE_EXEC). */
struct cudasim_graph {
    struct cudasim_handle handle;    /* first, so the two pointers convert */
    uint8_t *types;                  /* of each node: enum cudasim_node */
    size_t n_nodes, types_room, n_calls, calls_room;
    struct graph_call *calls;
    uint64_t capture_id;             /* of the capture that makes it; 0: it is finished */
    struct graph_memory *memory;     /* shared by a graph and its instantiation; NULL: no node takes any */
    size_t   n_steps;                /* instantiated: how many of its memory's steps */
    bool     frees_on_launch;        /* instantiated with cudaGraphInstantiateFlagAutoFreeOnLaunch */
};

struct cudasim_graph *graph_get(uint64_t name, enum cudasim_handle_kind kind);

/* A graph like another one; `from` NULL: an empty one. */
enum cudasim_code graph_create(enum cudasim_handle_kind kind, const struct cudasim_graph *from, uint64_t *graph);

/* OUT_OF_MEMORY: of the host. */
enum cudasim_code graph_add_node(struct cudasim_graph *g, enum cudasim_node type);

/* A node that takes memory, and one that gives it back. The address stays the same for all launches. */
enum cudasim_code graph_add_alloc(struct cudasim_graph *g, int device, uint64_t bytes, uint64_t *addr);
enum cudasim_code graph_add_free(struct cudasim_graph *g, uint64_t addr);

/* ---- memory: cudasim/core/graph_memory.c ---- */

struct graph_memory *graph_memory_create(void);
void graph_memory_release(struct graph_memory *m);           /* NULL is accepted */
size_t graph_memory_steps(const struct graph_memory *m);

/* One instantiation shares the memory with its graph. INVALID_VALUE: there is one. */
enum cudasim_code graph_memory_instantiate(struct graph_memory *m);
void graph_memory_end_instance(struct graph_memory *m);

enum cudasim_code graph_memory_add_alloc(struct graph_memory *m, int device, uint64_t bytes, uint64_t *addr);

/* INVALID_VALUE for what no node took, for what another free node gives back already. */
enum cudasim_code graph_memory_add_free(struct graph_memory *m, uint64_t addr);

/* Goes through the first n steps. INVALID_VALUE if memory of an earlier launch is still live and `frees_first` is
 * false; OUT_OF_MEMORY, and nothing of this launch is live. */
enum cudasim_code graph_memory_launch(struct graph_memory *m, size_t n, bool frees_first, uint64_t stream);

/* Takes what a launch would take of the card, and leaves it idle in the pool of graphs. */
enum cudasim_code graph_memory_upload(struct graph_memory *m, size_t n);

/* Gives back memory that a launch left live. INVALID_VALUE: it is not live. */
enum cudasim_code graph_memory_free(struct address_extent *e, uint64_t stream);

#endif
