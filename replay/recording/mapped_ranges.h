/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Which mappings of a recording began an address range, and which only made one longer. A record names the memory that
 * was mapped, not the range that was reserved for it.
 */
#ifndef REPLAY_REPLAY_RECORDING_MAPPED_RANGES_H
#define REPLAY_REPLAY_RECORDING_MAPPED_RANGES_H

#include "base/err.h"
#include "traces/rank_set.h"

#include <stddef.h>

/* A mapping. PyTorch reserves a range for each stream, pool and size class: `home` is a number for these three. */
struct mapped_piece {
    uint64_t addr, bytes;
    uint64_t home;
};

/* The ranges that stand: each is known by the number of the mapping that began it. */
struct mapped_ranges {
    const struct mapped_piece *pieces;   /* borrowed */
    uint64_t reach_bytes;
    uint64_t *mapped;                    /* by number: the bytes mapped in its range */
    uint32_t *by_home, *by_addr;         /* numbers in order of home and address, and of address alone */
    uint32_t *home_rank, *addr_rank;     /* by number: the places in these orders */
    struct rank_set in_home, in_addr;    /* ranks of those that stand */
    uint32_t n;
};

/* Begins without a range. `pieces`: all mappings of the recording in their order, fewer than 2^32, borrowed.
 * `reach_bytes`: the most that a range can be long. Close it also after an error. ERR_HOST_NOMEM. */
MUST_USE enum err mapped_ranges_open(struct mapped_ranges *r, const struct mapped_piece *pieces, uint32_t n,
                                     uint64_t reach_bytes);
void mapped_ranges_close(struct mapped_ranges *r);

/* Takes mapping number i, after all before it. Returns whether it began a range. */
bool mapped_ranges_map(struct mapped_ranges *r, uint32_t i);

/* Takes an unmapping, in the range that starts closest below it. */
void mapped_ranges_unmap(struct mapped_ranges *r, uint64_t addr, uint64_t bytes);

#endif
