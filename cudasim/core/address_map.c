/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Nodes are numbers, so that the array may move. What stands higher is what has the larger scrambled address. */
#include "cudasim/core/address_map.h"

#include "base/array.h"
#include "base/random.h"

#include <assert.h>

enum { LOWER, HIGHER };

static bool is_above(const struct address_node *nodes, uint32_t a, uint32_t b)
{
    return random_mix(nodes[a].extent.addr) > random_mix(nodes[b].extent.addr);
}

/* ---- questions ---- */

/* The last extent that begins below `addr`, or the first other one. */
static struct address_extent *extent_beside(const struct address_map *m, uint64_t addr, int side)
{
    struct address_extent *found = NULL;
    for (uint32_t i = m->root; i != 0;) {
        struct address_node *node = &m->nodes[i];
        const int is = node->extent.addr < addr ? LOWER : HIGHER;
        found = is == side ? &node->extent : found;
        i = node->below[!is];
    }
    return found;
}

struct address_extent *address_map_below(const struct address_map *m, uint64_t addr)
{
    return extent_beside(m, addr, LOWER);
}

struct address_extent *address_map_from(const struct address_map *m, uint64_t addr)
{
    return extent_beside(m, addr, HIGHER);
}

struct address_extent *address_map_find(const struct address_map *m, uint64_t addr)
{
    struct address_extent *e = addr == UINT64_MAX ? NULL : address_map_below(m, addr + 1);
    return e != NULL && addr - e->addr < e->bytes ? e : NULL;
}

struct address_extent *address_map_at(const struct address_map *m, uint64_t addr)
{
    struct address_extent *e = address_map_from(m, addr);
    return e != NULL && e->addr == addr ? e : NULL;
}

bool address_map_overlaps(const struct address_map *m, uint64_t addr, uint64_t bytes)
{
    const struct address_extent *next = address_map_from(m, addr);
    return address_map_find(m, addr) != NULL || (next != NULL && next->addr - addr < bytes);
}

/* ---- changes ---- */

bool address_map_reserve(struct address_map *m)
{
    if (m->vacant != 0)
        return true;
    struct address_node *nodes = m->n < UINT32_MAX ? array_grow(m->nodes, m->n, &m->room, sizeof *nodes) : NULL;
    if (nodes == NULL)
        return false;
    m->nodes = nodes;
    if (m->n == 0)
        nodes[m->n++] = (struct address_node){ .below = { 0, 0 } };
    return true;
}

static uint32_t node_new(struct address_map *m)
{
    const uint32_t i = m->vacant;
    assert(i != 0 || m->n < m->room);
    if (i == 0)
        return (uint32_t)m->n++;
    m->vacant = m->nodes[i].below[LOWER];
    return i;
}

/* Divides what is below i: lower addresses go below the new node on one side, higher ones on the other. */
static void node_split(struct address_node *nodes, uint32_t i, struct address_node *made)
{
    uint32_t *ends[] = { &made->below[LOWER], &made->below[HIGHER] };
    while (i != 0) {
        const int side = nodes[i].extent.addr < made->extent.addr ? LOWER : HIGHER;
        *ends[side] = i;
        ends[side] = &nodes[i].below[!side];
        i = *ends[side];
    }
    *ends[LOWER] = *ends[HIGHER] = 0;
}

void address_map_put(struct address_map *m, uint64_t addr, uint64_t bytes, void *value)
{
    const uint32_t made = node_new(m);
    uint32_t *link = &m->root;
    m->nodes[made].extent = (struct address_extent){ .addr = addr, .bytes = bytes, .value = value };
    while (*link != 0 && is_above(m->nodes, *link, made))
        link = &m->nodes[*link].below[m->nodes[*link].extent.addr < addr ? HIGHER : LOWER];
    node_split(m->nodes, *link, &m->nodes[made]);
    *link = made;
}

/* Puts two subtrees in one place; all of the first one's addresses are lower. */
static void node_join(struct address_node *nodes, uint32_t *link, uint32_t low, uint32_t high)
{
    while (low != 0 && high != 0) {
        uint32_t *top = is_above(nodes, low, high) ? &low : &high;
        const int inner = top == &low ? HIGHER : LOWER;
        *link = *top;
        link = &nodes[*top].below[inner];
        *top = *link;
    }
    *link = low != 0 ? low : high;
}

void address_map_remove(struct address_map *m, struct address_extent *e)
{
    uint32_t *link = &m->root;
    while (&m->nodes[*link].extent != e) {
        assert(*link != 0);
        link = &m->nodes[*link].below[m->nodes[*link].extent.addr < e->addr ? HIGHER : LOWER];
    }
    const uint32_t i = *link;
    node_join(m->nodes, link, m->nodes[i].below[LOWER], m->nodes[i].below[HIGHER]);
    m->nodes[i].below[LOWER] = m->vacant;
    m->vacant = i;
}
