/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Blocks by id, and a list of those that nobody uses, from the oldest to the newest. */
#include "loads/prefix_blocks.h"

#include <stdlib.h>

enum err prefix_blocks_open(struct prefix_blocks *p, struct tape *t, uint64_t bytes, uint64_t n_max, size_t n_ids,
                            struct err_detail *err)
{
    *p = (struct prefix_blocks){.tape = t, .bytes = bytes, .n_max = n_max, .n_ids = n_ids, .oldest = NO_ID,
                                .newest = NO_ID};
    p->shared = calloc(n_ids + 1, sizeof *p->shared);
    if (p->shared == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n_ids; i++)
        p->shared[i].storage = TAPE_NONE;
    return ERR_OK;
}

void prefix_blocks_close(struct prefix_blocks *p)
{
    free(p->shared);
}

bool prefix_blocks_promise(struct prefix_blocks *p, uint64_t n)
{
    if (p->n_max > 0 && p->n_promised + n > p->n_max)
        return false;
    p->n_promised += n;
    return true;
}

void prefix_blocks_release(struct prefix_blocks *p, uint64_t n)
{
    p->n_promised -= n;
}

/* ---- the list of unused blocks ---- */

static void unused_remove(struct prefix_blocks *p, uint32_t id)
{
    const struct shared_block *b = &p->shared[id];
    *(b->older == NO_ID ? &p->oldest : &p->shared[b->older].newer) = b->newer;
    *(b->newer == NO_ID ? &p->newest : &p->shared[b->newer].older) = b->older;
}

static void unused_append(struct prefix_blocks *p, uint32_t id)
{
    p->shared[id].older = p->newest;
    p->shared[id].newer = NO_ID;
    *(p->newest == NO_ID ? &p->oldest : &p->shared[p->newest].newer) = id;
    p->newest = id;
}

/* Makes room for one block, at the cost of the oldest unused one. */
static void room_make(struct prefix_blocks *p)
{
    const uint32_t id = p->oldest;
    if (p->n_max == 0 || p->n < p->n_max || id == NO_ID)
        return;
    unused_remove(p, id);
    tape_drop(p->tape, p->shared[id].storage);
    p->shared[id].storage = TAPE_NONE;
    p->n--;
}

uint32_t prefix_blocks_take(struct prefix_blocks *p)
{
    room_make(p);
    p->n++;
    return tape_new(p->tape, p->bytes);
}

void prefix_blocks_use(struct prefix_blocks *p, uint32_t id, bool *was_there)
{
    struct shared_block *b = &p->shared[id];
    *was_there = b->storage != TAPE_NONE;
    if (*was_there && b->users == 0)
        unused_remove(p, id);
    if (!*was_there)
        b->storage = prefix_blocks_take(p);
    b->users++;
}

void prefix_blocks_give(struct prefix_blocks *p, uint32_t storage)
{
    tape_drop(p->tape, storage);
    p->n--;
}

void prefix_blocks_leave(struct prefix_blocks *p, uint32_t id)
{
    if (--p->shared[id].users == 0)
        unused_append(p, id);
}
