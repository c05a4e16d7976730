/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Prefixes by id, and a list of those that nobody uses, from the oldest to the newest. */
#include "replay/pools/kv_prefixes.h"

#include <assert.h>
#include <stdlib.h>

#define NO_ID UINT32_MAX

enum err kv_prefixes_open(struct kv_prefixes *p, size_t n_ids, struct err_detail *err)
{
    *p = (struct kv_prefixes){ .n_ids = n_ids };
    p->at = calloc(n_ids + 1, sizeof *p->at);
    if (p->at == NULL)
        return err_no_memory(err);
    kv_prefixes_empty(p);
    return ERR_OK;
}

void kv_prefixes_close(struct kv_prefixes *p)
{
    free(p->at);
}

void kv_prefixes_empty(struct kv_prefixes *p)
{
    for (size_t i = 0; i < p->n_ids; i++)
        p->at[i] = (struct kv_prefix){ .is_there = false };
    p->n_used = p->n_unused = 0;
    p->n_uses = p->n_evicted = 0;
    p->oldest = p->newest = NO_ID;
}

static void unused_remove(struct kv_prefixes *p, uint32_t id)
{
    const struct kv_prefix *x = &p->at[id];
    *(x->older == NO_ID ? &p->oldest : &p->at[x->older].newer) = x->newer;
    *(x->newer == NO_ID ? &p->newest : &p->at[x->newer].older) = x->older;
    p->n_unused--;
}

void kv_prefix_use(struct kv_prefixes *p, uint32_t id)
{
    struct kv_prefix *x = &p->at[id];
    if (x->is_there && x->users == 0)
        unused_remove(p, id);
    p->n_used += x->users == 0;
    x->is_there = true;
    x->users++;
    p->n_uses++;
}

void kv_prefix_leave(struct kv_prefixes *p, uint32_t id)
{
    struct kv_prefix *x = &p->at[id];
    assert(x->users > 0);
    p->n_uses--;
    if (--x->users > 0)
        return;
    p->n_used--;
    p->n_unused++;
    x->older = p->newest;
    x->newer = NO_ID;
    *(p->newest == NO_ID ? &p->oldest : &p->at[p->newest].newer) = id;
    p->newest = id;
}

void kv_prefixes_evict(struct kv_prefixes *p)
{
    const uint32_t id = p->oldest;
    assert(id != NO_ID);
    unused_remove(p, id);
    p->at[id].is_there = false;
    p->n_evicted++;
}
