/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Units of memory below a range of addresses: async_units.h. */
#include "policies/zoo/async_units.h"

#include "base/array.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum err async_units_open(struct async_units *u, struct device *device, uint64_t unit_bytes, uint64_t range_bytes)
{
    u->device = device;
    u->bytes = unit_bytes;
    return device_range_reserve(device, range_bytes, &u->range);
}

void async_units_close(struct async_units *u)
{
    free(u->at);
}

/* ---- numbers ---- */

static size_t unit_of(const struct async_units *u, uint64_t addr)
{
    return (size_t)((addr - u->range.addr) / u->bytes);
}

/* The first unit that begins at an address or after it. */
static size_t unit_from(const struct async_units *u, uint64_t addr)
{
    return (size_t)divide_up(addr - u->range.addr, u->bytes);
}

static enum err make_room(struct async_units *u, size_t n)
{
    if (n <= u->n)
        return ERR_OK;
    struct async_unit *at = array_reserve(u->at, u->n, n - u->n, &u->room, sizeof *at);
    if (at == NULL)
        return ERR_HOST_NOMEM;
    memset(at + u->n, 0, (n - u->n) * sizeof *at);
    u->at = at;
    u->n = n;
    return ERR_OK;
}

/* Whether it has memory that can be taken. */
static bool is_idle(const struct async_unit *unit)
{
    return unit->phys != 0 && unit->block != BLOCK_NONE;
}

bool async_units_are_mapped(const struct async_units *u, uint64_t addr, uint64_t bytes)
{
    const size_t end = unit_from(u, addr + bytes);
    size_t i = unit_of(u, addr);
    while (i < end && i < u->n && u->at[i].phys != 0)
        i++;
    return i == end;
}

void async_units_set_block(struct async_units *u, uint64_t addr, uint64_t bytes, uint32_t block)
{
    const size_t end = unit_of(u, addr + bytes);
    for (size_t i = unit_from(u, addr); i < end && i < u->n; i++) {
        u->n_idle -= is_idle(&u->at[i]);
        u->at[i].block = block;
        if (!is_idle(&u->at[i]))
            continue;
        u->n_idle++;
        if (i >= u->idle_end)
            u->idle_end = i + 1;
    }
}

/* ---- memory ---- */

/* The highest idle unit; there is one. */
static size_t highest_idle(struct async_units *u)
{
    while (!is_idle(&u->at[u->idle_end - 1]))
        u->idle_end--;
    return u->idle_end - 1;
}

static void unmap(struct async_units *u, size_t i)
{
    device_unmap(u->device, &u->range, i * u->bytes, u->bytes);
    u->n_idle -= is_idle(&u->at[i]);
    u->at[i].phys = 0;
    u->n_mapped--;
}

/* A unit that gets memory is in use: its block is BLOCK_NONE. */
static enum err map(struct async_units *u, size_t i, uint32_t phys)
{
    const enum err e = device_map(u->device, &u->range, i * u->bytes, u->bytes, phys);
    if (e == ERR_OK) {
        u->at[i].phys = phys;
        u->n_mapped++;
    }
    return e;
}

static enum err map_new(struct async_units *u, size_t i)
{
    uint32_t phys;
    enum err e = device_phys_create(u->device, u->bytes, &phys);
    if (e == ERR_OK && (e = map(u, i, phys)) != ERR_OK)
        device_phys_destroy(u->device, phys, u->bytes);
    return e;
}

static void drop(struct async_units *u, size_t i)
{
    const uint32_t phys = u->at[i].phys;
    unmap(u, i);
    device_phys_destroy(u->device, phys, u->bytes);
}

/* Maps new memory to the first n units of [first, end) that have none. After an error it keeps what it got. */
static enum err fill_with_new(struct async_units *u, size_t first, size_t end, uint64_t n)
{
    enum err e = ERR_OK;
    for (size_t i = first; n > 0 && i < end && e == ERR_OK; i++)
        if (u->at[i].phys == 0) {
            e = map_new(u, i);
            n--;
        }
    return e;
}

/* Moves idle memory to the units of [first, end) that have none; there is enough. */
static enum err fill_with_idle(struct async_units *u, size_t first, size_t end, void (*lost)(void *arg, uint32_t block),
                               void *arg)
{
    for (size_t i = first; i < end; i++) {
        if (u->at[i].phys != 0)
            continue;
        const size_t from = highest_idle(u);
        const uint32_t phys = u->at[from].phys;
        unmap(u, from);
        lost(arg, u->at[from].block);
        const enum err e = map(u, i, phys);
        if (e != ERR_OK) {
            device_phys_destroy(u->device, phys, u->bytes);
            return e;
        }
        u->n_moved++;
    }
    return ERR_OK;
}

enum err async_units_fill(struct async_units *u, uint64_t addr, uint64_t bytes, void (*lost)(void *arg, uint32_t block),
                          void *arg, uint64_t *n_new)
{
    const size_t first = unit_of(u, addr), end = unit_from(u, addr + bytes);
    uint64_t n_missing = 0;
    enum err e = make_room(u, end);
    if (e != ERR_OK)
        return e;
    for (size_t i = first; i < end; i++)
        n_missing += u->at[i].phys == 0;
    *n_new = n_missing > u->n_idle ? n_missing - u->n_idle : 0;
    e = fill_with_new(u, first, end, *n_new);
    return e == ERR_OK ? fill_with_idle(u, first, end, lost, arg) : e;
}

void async_units_give_back(struct async_units *u, uint64_t keep_bytes, void (*lost)(void *arg, uint32_t block),
                           void *arg)
{
    while (u->n_mapped * u->bytes > keep_bytes && u->n_idle > 0) {
        const size_t i = highest_idle(u);
        const uint32_t block = u->at[i].block;
        drop(u, i);
        lost(arg, block);
    }
}

void async_units_give_back_all(struct async_units *u)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->at[i].phys != 0)
            drop(u, i);
    device_range_free(u->device, &u->range);
}
