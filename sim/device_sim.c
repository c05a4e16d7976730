/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The simulated device: an address space without memory.
 *
 * Memory needs no model: the front functions count it. This file only decides the next address, by mode (sim/device.h).
 * Every piece starts at a multiple of 2 MiB.
 */
#include "base/units.h"
#include "sim/device.h"

#include <stdlib.h>
#include <string.h>

#define SIM_BASE UINT64_C(0x7f0000000000)   /* where CUDA's unified addresses usually are */

struct sim_extent {
    uint64_t addr, bytes;
};

struct sim {
    struct device base;                     /* first, so the two pointers convert */
    uint64_t next;                          /* rising: the next address; descending: the last one */
    uint32_t n_phys;                        /* handles given out so far */
    struct sim_extent *taken;               /* first fit: what is in use, ascending */
    size_t   n_taken, cap_taken;
};

static enum err sim_open(const struct device_config *cfg, struct device **out, struct err_detail *why)
{
    struct sim *sim = calloc(1, sizeof *sim);
    if (sim == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for a simulated device");
    sim->next = cfg->base_addr != 0 ? cfg->base_addr : SIM_BASE;
    *out = &sim->base;
    return ERR_OK;
}

static void sim_close(struct device *dev)
{
    struct sim *sim = (struct sim *)dev;
    free(sim->taken);
    free(sim);
}

/* Puts an extent into the lowest gap that fits. */
static enum err sim_take_first_fit(struct sim *sim, uint64_t bytes, uint64_t *addr)
{
    if (sim->n_taken == sim->cap_taken) {
        const size_t cap = sim->cap_taken == 0 ? 64 : 2 * sim->cap_taken;
        struct sim_extent *taken = realloc(sim->taken, cap * sizeof *taken);
        if (taken == NULL)
            return ERR_HOST_NOMEM;
        sim->taken = taken;
        sim->cap_taken = cap;
    }
    uint64_t at = sim->next;
    size_t i = 0;
    for (; i < sim->n_taken && sim->taken[i].addr - at < bytes; i++)
        at = sim->taken[i].addr + sim->taken[i].bytes;
    memmove(sim->taken + i + 1, sim->taken + i, (sim->n_taken - i) * sizeof *sim->taken);
    sim->taken[i] = (struct sim_extent){.addr = at, .bytes = bytes};
    sim->n_taken++;
    *addr = at;
    return ERR_OK;
}

static void sim_give_back(struct device *dev, uint64_t addr, uint64_t bytes)
{
    struct sim *sim = (struct sim *)dev;
    (void)bytes;
    for (size_t i = 0; i < sim->n_taken; i++)
        if (sim->taken[i].addr == addr) {
            memmove(sim->taken + i, sim->taken + i + 1, (sim->n_taken - i - 1) * sizeof *sim->taken);
            sim->n_taken--;
            return;
        }
}

static enum err sim_take(struct device *dev, uint64_t bytes, uint64_t *addr)
{
    struct sim *sim = (struct sim *)dev;
    const uint64_t room = align_up(bytes, DEVICE_PAGE_BYTES);
    if (room >= UINT64_MAX - sim->next && dev->cfg.addresses != ADDRESSES_DESCENDING)
        return ERR_DEVICE_OOM;              /* the address space is used up */
    switch (dev->cfg.addresses) {
    case ADDRESSES_FIRST_FIT:
        return sim_take_first_fit(sim, room, addr);
    case ADDRESSES_DESCENDING:
        if (room >= sim->next)
            return ERR_DEVICE_OOM;
        *addr = sim->next -= room;
        return ERR_OK;
    case ADDRESSES_LIST:
        if (dev->n_listed < dev->cfg.n_addresses) {
            *addr = dev->cfg.address_list[dev->n_listed++];
            if (*addr < UINT64_MAX - room && sim->next < *addr + room)
                sim->next = align_up(*addr + room, DEVICE_PAGE_BYTES);
            return ERR_OK;
        }
        break;
    case ADDRESSES_RISING:
        break;
    }
    *addr = sim->next;
    sim->next += room;
    return ERR_OK;
}

static enum err sim_phys_create(struct device *dev, uint64_t bytes, uint32_t *phys)
{
    struct sim *sim = (struct sim *)dev;
    (void)bytes;
    *phys = ++sim->n_phys;
    return ERR_OK;
}

static void sim_phys_destroy(struct device *dev, uint32_t phys, uint64_t bytes)
{
    (void)dev;
    (void)phys;
    (void)bytes;
}

static enum err sim_map(struct device *dev, uint64_t addr, uint64_t bytes, uint32_t phys)
{
    (void)dev;
    (void)addr;
    (void)bytes;
    (void)phys;
    return ERR_OK;
}

static void sim_unmap(struct device *dev, uint64_t addr, uint64_t bytes)
{
    (void)dev;
    (void)addr;
    (void)bytes;
}

const struct device_ops device_sim = {
    .abi = DEVICE_ABI,
    .size = sizeof(struct device_ops),
    .name = "sim",
    .open = sim_open,               .close = sim_close,
    .segment_alloc = sim_take,      .segment_free = sim_give_back,
    .range_reserve = sim_take,      .range_free = sim_give_back,
    .phys_create = sim_phys_create, .phys_destroy = sim_phys_destroy,
    .map = sim_map,                 .unmap = sim_unmap,
};
