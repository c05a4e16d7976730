/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Growing the table of blocks. */
#include "policies/parts/block_table.h"

#include "base/array.h"
#include "base/large_pages.h"

#include <stdlib.h>

enum err block_table_hold(struct block_table *t, uint64_t n)
{
    if (n < t->cap)                              /* entry 0 is not counted */
        return ERR_OK;
    const uint64_t doubled = t->cap < 128 ? 256 : 2 * (uint64_t)t->cap, cap = n < doubled ? doubled : n + 1;
    if (cap > BLOCKS_MAX)
        return ERR_HOST_NOMEM;
    struct block_entry *at = realloc(t->at, array_bytes(cap, sizeof *at));
    if (at == NULL)
        return ERR_HOST_NOMEM;
    large_pages_want(at, array_bytes(cap, sizeof *at));
    if (t->cap == 0) {
        at[BLOCK_NONE] = (struct block_entry){.addr = UINT64_MAX, .size = UINT64_MAX, .tie = UINT64_MAX,
                                                .flags = BLOCK_IS_ALLOCATED};
        t->n = 1;
    }
    t->at = at;
    t->cap = (uint32_t)cap;
    return ERR_OK;
}

enum err block_table_grow(struct block_table *t, uint32_t n)
{
    uint32_t spare = t->cap - t->n;
    for (uint32_t b = t->vacant; spare < n && b != BLOCK_NONE; b = t->at[b].next)
        spare++;
    return spare >= n ? ERR_OK : block_table_hold(t, (uint64_t)t->n + n);
}

void block_table_close(struct block_table *t)
{
    free(t->at);
}
