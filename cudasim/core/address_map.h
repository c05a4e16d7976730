/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Extents that do not overlap, by address: which allocation, stream or event does this number name?
 *
 * It is a treap (Seidel and Aragon, "Randomized search trees", 1996): ordered by addresses from left to right, and from
 * top to bottom by a scrambled copy of them, so that it is about as balanced as a tree made in random order. Each call
 * takes a logarithm of the number of extents, in whatever order they come and go.
 */
#ifndef REPLAY_CUDASIM_CORE_ADDRESS_MAP_H
#define REPLAY_CUDASIM_CORE_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_extent {
    uint64_t addr, bytes;            /* bytes > 0 */
    void    *value;                  /* belongs to the map's user */
};

struct address_node {
    struct address_extent extent;
    uint32_t below[2];               /* lower and higher ones; 0: none. Of a vacant node, below[0] is the next one */
};

/* All zero: no extents. Node 0 is no extent. */
struct address_map {
    struct address_node *nodes;
    size_t   n, room;                /* nodes that were ever used, node 0 among them */
    uint32_t root, vacant;
};

/* The extent that holds `addr`, and the one that begins there; NULL if there is none. Lent until the next change. */
struct address_extent *address_map_find(const struct address_map *m, uint64_t addr);
struct address_extent *address_map_at(const struct address_map *m, uint64_t addr);

/* The last extent that begins below `addr`, and the first that begins there or above; NULL if there is none. A walk
 * over all extents goes on from the address of the last one, which may be gone by then. */
struct address_extent *address_map_below(const struct address_map *m, uint64_t addr);
struct address_extent *address_map_from(const struct address_map *m, uint64_t addr);

/* Whether any extent has a byte in [addr, addr + bytes). */
bool address_map_overlaps(const struct address_map *m, uint64_t addr, uint64_t bytes);

/* Makes room for one more, so that the next put cannot fail. False without host memory. */
bool address_map_reserve(struct address_map *m);
void address_map_put(struct address_map *m, uint64_t addr, uint64_t bytes, void *value);
void address_map_remove(struct address_map *m, struct address_extent *e);

#endif
