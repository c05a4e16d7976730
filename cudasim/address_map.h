/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Extents that do not overlap, by address: which allocation, stream or event does this number name?
 *
 * It is a sorted array, because programs mostly look up, and there are thousands of extents, not millions.
 */
#ifndef REPLAY_CUDASIM_ADDRESS_MAP_H
#define REPLAY_CUDASIM_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_extent {
    uint64_t addr, bytes;            /* bytes > 0 */
    void    *value;                  /* belongs to the map's user */
};

struct address_map {
    struct address_extent *extents;
    size_t n, cap;
};

/* The extent that holds `addr`, and the one that begins there; NULL if there is none. Lent until the next change. */
struct address_extent *address_map_find(const struct address_map *m, uint64_t addr);
struct address_extent *address_map_at(const struct address_map *m, uint64_t addr);

/* Whether any extent has a byte in [addr, addr + bytes). */
bool address_map_overlaps(const struct address_map *m, uint64_t addr, uint64_t bytes);

/* Makes room for one more, so that the next put cannot fail. False without host memory. */
bool address_map_reserve(struct address_map *m);
void address_map_put(struct address_map *m, uint64_t addr, uint64_t bytes, void *value);
void address_map_remove(struct address_map *m, struct address_extent *e);

#endif
