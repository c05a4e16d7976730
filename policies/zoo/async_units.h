/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The memory below the pool of cudaMallocAsync: one range of addresses, mapped in units of one size.
 *
 *     addresses   [ 0      ][ 1      ][ 2      ][ 3      ][ 4     ...
 *     memory        phys 7    phys 2    -         phys 5    -
 *     blocks      [ live   ][ free ......................... ][ free ...
 *     block         -         -         9         -             owner of the units that lie wholly in a free block
 *
 * A unit that lies wholly in a free block is idle. Its memory can be moved below other addresses, or given back.
 */
#ifndef REPLAY_POLICIES_ZOO_ASYNC_UNITS_H
#define REPLAY_POLICIES_ZOO_ASYNC_UNITS_H

#include "base/err.h"
#include "policies/parts/block_table.h"
#include "sim/device.h"

struct async_unit {
    uint32_t phys;                   /* the memory's handle on the device; 0: none is mapped */
    uint32_t block;                  /* the free block that it lies in; BLOCK_NONE: it is not idle */
};

struct async_units {
    struct device *device;           /* borrowed */
    struct segment range;
    uint64_t bytes;                  /* of one; a power of two */
    struct async_unit *at;           /* by number, up to the highest one that was ever needed */
    size_t   n, room;
    size_t   idle_end;               /* no unit from here on is idle, and has memory */
    uint64_t n_idle;                 /* idle ones with memory */
    uint64_t n_mapped, n_moved;      /* mapped now; moved so far */
};

/* A range of `range_bytes`, a multiple of `unit_bytes`. The device's errors. async_units_close accepts one of zeros. */
MUST_USE enum err async_units_open(struct async_units *u, struct device *device, uint64_t unit_bytes,
                                   uint64_t range_bytes);
void async_units_close(struct async_units *u);

/* Whether all units that [addr, addr + bytes) touches are mapped. */
bool async_units_are_mapped(const struct async_units *u, uint64_t addr, uint64_t bytes);

/* The units wholly in [addr, addr + bytes) are idle and belong to this free block; BLOCK_NONE: they are in use. */
void async_units_set_block(struct async_units *u, uint64_t addr, uint64_t bytes, uint32_t block);

/* Maps all units that [addr, addr + bytes) touches, which are not idle. Idle memory is moved there, that of the highest
 * unit first; what it does not suffice for is new. `lost` is told the block of each unit that lost its memory. *n_new:
 * how many are new. ERR_DEVICE_OOM, and then the new units that were still to be had stay; ERR_HOST_NOMEM;
 * ERR_DRIVER. */
MUST_USE enum err async_units_fill(struct async_units *u, uint64_t addr, uint64_t bytes,
                                   void (*lost)(void *arg, uint32_t block), void *arg, uint64_t *n_new);

/* Gives idle memory back, that of the highest unit first, until `keep_bytes` are left. `lost` as above. */
void async_units_give_back(struct async_units *u, uint64_t keep_bytes, void (*lost)(void *arg, uint32_t block),
                           void *arg);

/* Gives all memory back, idle or not, and the addresses. */
void async_units_give_back_all(struct async_units *u);

#endif
