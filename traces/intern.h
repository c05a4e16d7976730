/*
 * Tables of the trace writer: texts and call stacks that are kept once, raw handles that become dense numbers, and
 * which slot a live pointer has.
 */
#ifndef REPLAY_TRACES_INTERN_H
#define REPLAY_TRACES_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash from a pair of 64-bit numbers to a 32-bit one; open addressing, at most half full. */
struct pair_map {
    struct pair_entry { uint64_t key[2]; uint32_t value, is_used; } *entries;
    size_t n, room;                  /* room: a power of two, or 0 */
};

/* The value of a key; NULL where there is none. Lent until the next change. */
uint32_t *pair_map_find(const struct pair_map *m, uint64_t key0, uint64_t key1);

/* Adds a key that is not there; false without memory. */
bool pair_map_add(struct pair_map *m, uint64_t key0, uint64_t key1, uint32_t value);

/* Removes a key that is there. */
void pair_map_remove(struct pair_map *m, uint64_t key0, uint64_t key1);
void pair_map_free(struct pair_map *m);

/* Texts, numbered from 0 in order of their first appearance. */
struct text_table {
    char     *text;                  /* one behind the other, each with its terminator */
    size_t    n_text, room_text;
    size_t   *start;                 /* by number */
    uint32_t  n;
    size_t    room;
    uint32_t *buckets;               /* number + 1; open addressing, at most half full */
    size_t    n_buckets;
};

/* The number of text[0, n), which holds no terminator; UINT32_MAX without memory. */
uint32_t text_table_put(struct text_table *t, const char *text, size_t n);
const char *text_table_at(const struct text_table *t, uint32_t id);
void text_table_free(struct text_table *t);

/* Stacks as nodes: a frame's text and the node of its caller. Stacks with the same callers share their nodes. Nodes
 * and stacks count from 1; node 0 is the caller of outermost frames. */
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
