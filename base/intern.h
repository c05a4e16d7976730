/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Tables that keep each value once and number it: texts, call stacks, pairs of numbers (raw handles, live pointers).
 */
#ifndef REPLAY_BASE_INTERN_H
#define REPLAY_BASE_INTERN_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash table from a pair of 64-bit numbers to a 32-bit one; open addressing, at most half full. The order of entries
 * differs from process to process (base/hash.h), so nothing that is written may depend on it. */
struct pair_map {
    struct pair_entry { uint64_t key[2]; uint32_t value, is_used; } *entries;
    size_t n, room;                  /* room: a power of two, or 0 */
    struct hash_seed seed;
};

/* The value of a key, lent until the next change; NULL if the key is absent. */
uint32_t *pair_map_find(const struct pair_map *m, uint64_t key0, uint64_t key1);

/* Adds a key that is absent; false without memory. */
bool pair_map_add(struct pair_map *m, uint64_t key0, uint64_t key1, uint32_t value);

/* Removes a key that is present. */
void pair_map_remove(struct pair_map *m, uint64_t key0, uint64_t key1);
void pair_map_free(struct pair_map *m);

/* Texts, numbered from 0 in order of their first appearance. */
struct text_table {
    char     *text;                  /* one after the other, each with its terminator */
    size_t    n_text, room_text;
    size_t   *start;                 /* by number */
    uint32_t  n;
    size_t    room;
    uint32_t *buckets;               /* number + 1; open addressing, at most half full */
    size_t    n_buckets;
    struct hash_seed seed;
};

/* The number of text[0, n), which holds no terminator; UINT32_MAX without memory. */
uint32_t text_table_put(struct text_table *t, const char *text, size_t n);
const char *text_table_at(const struct text_table *t, uint32_t id);
size_t text_table_length(const struct text_table *t, uint32_t id);      /* in constant time */
void text_table_free(struct text_table *t);

/* Call stacks as a tree: a node is a stack frame (its text) and the node of its caller. Stacks with the same callers
 * share nodes. A stack is its innermost node.
 *
 *     main <- train <- forward      stack 1      nodes: 1 main, 2 train (caller 1), 3 forward (caller 2),
 *                   <- backward     stack 2             4 backward (caller 2)
 *
 * Nodes and stacks count from 1; node 0 is the caller of outermost frames. */
struct stack_table {
    struct pair_map nodes;           /* (caller, text) -> node */
    struct pair_map stacks;          /* (node, 0) -> stack */
    struct stack_node { uint32_t caller, text; } *node;      /* by node - 1 */
    uint32_t *stack;                                         /* by stack - 1: its innermost node */
    uint32_t  n_nodes, n_stacks;
    size_t    room_nodes, room_stacks;
};

/* The number of a stack whose frames are texts[0, n), innermost first, n > 0; 0 without memory. */
uint32_t stack_table_put(struct stack_table *t, const uint32_t *texts, size_t n);
void stack_table_free(struct stack_table *t);

#endif
