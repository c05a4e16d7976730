/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Lets twice the number wanted come together, then keeps the larger half. */
#include "report/measure/lives.h"

#include "base/array.h"

#include <stdlib.h>

static double area_of(const struct life *life)
{
    return (double)life->bytes * (double)(life->ended - life->born);
}

static int by_birth(const void *a, const void *b)
{
    const struct life *x = a, *y = b;
    if (x->born != y->born)
        return x->born < y->born ? -1 : 1;
    if (x->kind != y->kind)
        return (int)y->kind - (int)x->kind;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* Ranges come first: without them the place of mapped memory would not be known. */
static int by_area_falling(const void *a, const void *b)
{
    const struct life *x = a, *y = b;
    const bool is_range_x = x->kind == LIFE_RANGE, is_range_y = y->kind == LIFE_RANGE;
    if (is_range_x != is_range_y)
        return is_range_x ? -1 : 1;
    const double area_x = area_of(x), area_y = area_of(y);
    return area_x > area_y ? -1 : area_x < area_y ? 1 : by_birth(a, b);
}

void lives_cut(struct lives *l, size_t max)
{
    if (l->n > max) {
        qsort(l->at, l->n, sizeof *l->at, by_area_falling);
        l->n = max;
        l->least_area = max > 0 ? area_of(&l->at[max - 1]) : 0;
    }
    if (l->n > 0)
        qsort(l->at, l->n, sizeof *l->at, by_birth);
}

enum err lives_put(struct lives *l, const struct life *life)
{
    l->n_all++;
    if (life->kind != LIFE_RANGE && area_of(life) < l->least_area)
        return ERR_OK;
    if (l->n >= 2 * l->max)
        lives_cut(l, l->max);
    struct life *at = array_grow(l->at, l->n, &l->room, sizeof *at);
    if (at == NULL)
        return ERR_HOST_NOMEM;
    l->at = at;
    at[l->n++] = *life;
    return ERR_OK;
}

void lives_close(struct lives *l)
{
    free(l->at);
    *l = (struct lives){ .at = NULL };
}
