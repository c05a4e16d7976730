/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The simulated device: an address space without memory.
 *
 * Memory needs no model: the front functions count it. This file only decides the next address, by mode (sim/device.h).
 * Every piece starts at a multiple of 2 MiB.
 *
 * ADDRESSES_LINUX is the order of Linux's driver, as public recordings show it (98 to 100 % of the pairs of segments in
 * six of them): memory comes in whole spans of 32 MiB, aligned, each below the last. The rest of a span is used before
 * a new span is begun, the lowest rest that is large enough first, from its start:
 *
 *     span 2 (lower)                          span 1 (higher)
 *     | 3: 20 MiB            | rest 12 MiB    | 1: 20 MiB            | 2: 2 | rest 10 MiB    |
 *                              the next 2 MiB go here
 *
 * No recording shows what becomes of addresses that were given back. Here they are rests again.
 *
 * On a card the libraries of a process leave holes: between what they map, some hundred MiB are free above the first
 * span. `hole_bytes` is such a hole. It lies above all spans, so it is used where no rest of a span will do.
 */
#include "base/array.h"
#include "base/units.h"
#include "sim/device.h"
#include "sim/rests.h"

#include <stdlib.h>

#define SIM_BASE  UINT64_C(0x7f0000000000)  /* where CUDA's unified addresses usually are */
#define SPAN_BYTES (UINT64_C(32) << 20)

struct sim_extent {
    uint64_t addr, bytes;
};

/* A list of extents. */
struct extents {
    struct sim_extent *all;
    size_t n, cap;
};

struct sim {
    struct device base;                     /* first, so the two pointers convert */
    uint64_t above, below;                  /* nothing was given at or above, and below these */
    uint32_t n_phys;                        /* handles given out so far */
    struct rests rests;                     /* Linux: what is left of spans. First fit: all from `above` on; or none
                                             * before the first request, and after an address of a list */
    struct extents listed;                  /* Linux: given by a list, in its order, rests not yet looked for */
};

static void sim_close(struct device *dev)
{
    struct sim *sim = (struct sim *)dev;
    rests_close(&sim->rests);
    free(sim->listed.all);
    free(sim);
}

static enum err sim_open(const struct device_config *cfg, struct device **out, struct err_detail *err)
{
    struct sim *sim = calloc(1, sizeof *sim);
    if (sim == NULL)
        return err_no_memory(err);
    sim->above = sim->below = cfg->base_addr != 0 ? cfg->base_addr : SIM_BASE;
    if (cfg->hole_bytes > 0 && rests_reserve(&sim->rests) != ERR_OK) {
        sim_close(&sim->base);
        return err_no_memory(err);
    }
    if (cfg->hole_bytes > 0)
        rests_add(&sim->rests, sim->above + 2 * SPAN_BYTES, align_up(cfg->hole_bytes, DEVICE_PAGE_BYTES));
    *out = &sim->base;
    return ERR_OK;
}

static bool extents_reserve(struct extents *x)
{
    struct sim_extent *all = array_grow(x->all, x->n, &x->cap, sizeof *all);
    if (all == NULL)
        return false;
    x->all = all;
    return true;
}

static enum err sim_take_first_fit(struct sim *sim, uint64_t bytes, uint64_t *addr)
{
    if (rests_reserve(&sim->rests) != ERR_OK)
        return ERR_HOST_NOMEM;
    if (sim->rests.root == 0)
        rests_add(&sim->rests, sim->above, UINT64_MAX - sim->above);
    return rests_take(&sim->rests, bytes, addr) ? ERR_OK : ERR_DEVICE_OOM;
}

static int extent_compare(const void *a, const void *b)
{
    const struct sim_extent *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The rests of spans that a list of addresses began: what lies between its extents, up to a whole span. */
static enum err sim_find_rests(struct sim *sim)
{
    const struct extents *listed = &sim->listed;
    if (listed->n > 1)
        qsort(listed->all, listed->n, sizeof *listed->all, extent_compare);
    for (size_t i = 0; i < listed->n; i++) {
        const uint64_t end = listed->all[i].addr + listed->all[i].bytes;
        const uint64_t span_end = align_up(end, SPAN_BYTES);
        const uint64_t next = i + 1 < listed->n ? listed->all[i + 1].addr : UINT64_MAX;
        const uint64_t rest_end = next < span_end ? next : span_end;
        if (rests_reserve(&sim->rests) != ERR_OK)
            return ERR_HOST_NOMEM;
        if (end < rest_end)
            rests_add(&sim->rests, end, rest_end - end);
    }
    sim->listed.n = 0;
    return ERR_OK;
}

static enum err sim_take_of_spans(struct sim *sim, uint64_t bytes, uint64_t *addr)
{
    if (sim_find_rests(sim) != ERR_OK || rests_reserve(&sim->rests) != ERR_OK)
        return ERR_HOST_NOMEM;
    if (rests_take(&sim->rests, bytes, addr))
        return ERR_OK;
    const uint64_t whole = align_up(bytes, SPAN_BYTES), top = sim->below / SPAN_BYTES * SPAN_BYTES;
    if (whole >= top)
        return ERR_DEVICE_OOM;              /* the address space is used up */
    sim->below = *addr = top - whole;
    if (whole > bytes)
        rests_add(&sim->rests, *addr + bytes, whole - bytes);
    return ERR_OK;
}

/* The next address of the list. */
static enum err sim_take_listed(struct sim *sim, uint64_t bytes, uint64_t *addr)
{
    struct device *dev = &sim->base;
    if (dev->opened_with == ADDRESSES_LINUX && !extents_reserve(&sim->listed))
        return ERR_HOST_NOMEM;
    *addr = dev->cfg.address_list[dev->n_listed++];
    if (*addr < UINT64_MAX - bytes && sim->above < *addr + bytes)
        sim->above = align_up(*addr + bytes, DEVICE_PAGE_BYTES);
    if (sim->below > *addr)
        sim->below = *addr;
    if (dev->opened_with == ADDRESSES_LINUX)
        sim->listed.all[sim->listed.n++] = (struct sim_extent){.addr = *addr, .bytes = bytes};
    if (dev->opened_with == ADDRESSES_FIRST_FIT)
        rests_clear(&sim->rests);
    return ERR_OK;
}

/* Whether addresses that are given back may be taken again. First fit leaves those of a list alone. */
static bool sim_takes_again(struct sim *sim, uint64_t addr)
{
    if (sim->base.opened_with == ADDRESSES_FIRST_FIT)
        return sim->rests.root != 0 && addr >= sim->above;
    return sim->base.opened_with == ADDRESSES_LINUX && sim_find_rests(sim) == ERR_OK;
}

static void sim_give_back(struct device *dev, uint64_t addr, uint64_t bytes)
{
    struct sim *sim = (struct sim *)dev;
    if (sim_takes_again(sim, addr) && rests_reserve(&sim->rests) == ERR_OK)
        rests_add(&sim->rests, addr, align_up(bytes, DEVICE_PAGE_BYTES));    /* without host memory it stays unused */
}

static enum err sim_take(struct device *dev, uint64_t bytes, uint64_t *addr)
{
    struct sim *sim = (struct sim *)dev;
    const uint64_t room = align_up(bytes, DEVICE_PAGE_BYTES);
    const bool is_listed = dev->cfg.addresses == ADDRESSES_LIST && dev->n_listed < dev->cfg.n_addresses;
    if (is_listed)
        return sim_take_listed(sim, room, addr);
    switch (dev->cfg.addresses == ADDRESSES_LIST ? dev->opened_with : dev->cfg.addresses) {
    case ADDRESSES_FIRST_FIT:
        return room >= UINT64_MAX - sim->above ? ERR_DEVICE_OOM : sim_take_first_fit(sim, room, addr);
    case ADDRESSES_LINUX:
        return room >= sim->below ? ERR_DEVICE_OOM : sim_take_of_spans(sim, room, addr);
    case ADDRESSES_DESCENDING:
        if (room >= sim->below)
            return ERR_DEVICE_OOM;
        *addr = sim->below -= room;
        return ERR_OK;
    case ADDRESSES_LIST:
    case ADDRESSES_RISING:
        break;
    }
    if (room >= UINT64_MAX - sim->above)
        return ERR_DEVICE_OOM;              /* the address space is used up */
    *addr = sim->above;
    sim->above += room;
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
