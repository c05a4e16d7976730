/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* An array that is sorted when it is shown. */
#include "policies/block_views.h"

#include "base/array.h"

#include <stdlib.h>

void block_views_add(void *arg, const struct block_view *b)
{
    struct block_views *v = arg;
    struct block_view *grown = v->is_short ? NULL : array_grow(v->at, v->n, &v->room, sizeof *grown);
    v->is_short = grown == NULL;
    if (grown == NULL)
        return;
    v->at = grown;
    grown[v->n++] = *b;
}

static int view_compare(const void *a, const void *b)
{
    const struct block_view *x = a, *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

enum err block_views_show(struct block_views *v, enum err e, block_visit visit, void *arg)
{
    if (e == ERR_OK && v->is_short)
        e = ERR_HOST_NOMEM;
    if (e == ERR_OK && v->n > 0)
        qsort(v->at, v->n, sizeof *v->at, view_compare);
    for (size_t i = 0; i < v->n && e == ERR_OK; i++)
        visit(arg, &v->at[i]);
    free(v->at);
    *v = (struct block_views){.n = 0};
    return e;
}
