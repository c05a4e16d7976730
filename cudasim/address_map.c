/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Extents by address, in a sorted array. */
#include "cudasim/address_map.h"

#include <stdlib.h>
#include <string.h>

/* The first extent that begins above `addr`, as an index. */
static size_t address_map_above(const struct address_map *m, uint64_t addr)
{
    size_t low = 0, high = m->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->extents[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct address_extent *address_map_find(const struct address_map *m, uint64_t addr)
{
    const size_t above = address_map_above(m, addr);
    if (above == 0 || addr - m->extents[above - 1].addr >= m->extents[above - 1].bytes)
        return NULL;
    return &m->extents[above - 1];
}

struct address_extent *address_map_at(const struct address_map *m, uint64_t addr)
{
    struct address_extent *e = address_map_find(m, addr);
    return e != NULL && e->addr == addr ? e : NULL;
}

bool address_map_overlaps(const struct address_map *m, uint64_t addr, uint64_t bytes)
{
    if (address_map_find(m, addr) != NULL)
        return true;
    const size_t above = address_map_above(m, addr);
    return above < m->n && m->extents[above].addr - addr < bytes;
}

bool address_map_reserve(struct address_map *m)
{
    if (m->n < m->cap)
        return true;
    const size_t cap = m->cap == 0 ? 64 : 2 * m->cap;
    struct address_extent *extents = realloc(m->extents, cap * sizeof *extents);
    if (extents == NULL)
        return false;
    m->extents = extents;
    m->cap = cap;
    return true;
}

void address_map_put(struct address_map *m, uint64_t addr, uint64_t bytes, void *value)
{
    const size_t i = address_map_above(m, addr);
    memmove(m->extents + i + 1, m->extents + i, (m->n - i) * sizeof *m->extents);
    m->extents[i] = (struct address_extent){ .addr = addr, .bytes = bytes, .value = value };
    m->n++;
}

void address_map_remove(struct address_map *m, struct address_extent *e)
{
    const size_t i = (size_t)(e - m->extents);
    memmove(m->extents + i, m->extents + i + 1, (m->n - i - 1) * sizeof *m->extents);
    m->n--;
}
