/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The blocks of a paged cache of keys and values. A block that has an id is shared by all prompts that begin alike;
 * when nobody uses it, it stays until room is needed, and the one that was unused longest goes first.
 */
#ifndef REPLAY_LOADS_PREFIX_BLOCKS_H
#define REPLAY_LOADS_PREFIX_BLOCKS_H

#include "loads/request_trace.h"
#include "loads/tape.h"

#define NO_ID UINT32_MAX

struct shared_block { uint32_t storage, users, older, newer; };

struct prefix_blocks {
    struct tape *tape;
    uint64_t bytes;                      /* of a block */
    uint64_t n_max;                      /* blocks at once; 0: no limit */
    uint64_t n, n_promised;              /* blocks that exist; that running requests may use */
    struct shared_block *shared;         /* by id */
    size_t   n_ids;
    uint32_t oldest, newest;             /* of the blocks that nobody uses; NO_ID: none */
};

/* `n_ids`: ids are below it. ERR_HOST_NOMEM. */
MUST_USE enum err prefix_blocks_open(struct prefix_blocks *p, struct tape *t, uint64_t bytes, uint64_t n_max,
                                     size_t n_ids, struct err_detail *err);
void prefix_blocks_close(struct prefix_blocks *p);

/* Promises a request `n` blocks; false if others may need them. */
bool prefix_blocks_promise(struct prefix_blocks *p, uint64_t n);
void prefix_blocks_release(struct prefix_blocks *p, uint64_t n);

/* Takes a block of one's own, or the block `id`; *was_there: its contents need not be computed. */
uint32_t prefix_blocks_take(struct prefix_blocks *p);
void prefix_blocks_use(struct prefix_blocks *p, uint32_t id, bool *was_there);

/* Gives them back. */
void prefix_blocks_give(struct prefix_blocks *p, uint32_t storage);
void prefix_blocks_leave(struct prefix_blocks *p, uint32_t id);

#endif
