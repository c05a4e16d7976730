/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The times as a growing array, sorted when a percentile is asked for. */
#include "sim/call_times.h"

#include "base/array.h"

#include <stdlib.h>

void call_times_add(struct call_times *t, uint64_t ns)
{
    t->calls++;
    t->total_ns += ns;
    uint64_t *grown = array_grow(t->ns, t->n, &t->cap, sizeof *grown);
    if (grown == NULL)
        return;
    t->ns = grown;
    t->ns[t->n++] = ns;
}

void call_times_close(struct call_times *t)
{
    free(t->ns);
    *t = (struct call_times){ .ns = NULL };
}

static int call_times_compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

uint64_t call_times_percentile(struct call_times *t, unsigned percent)
{
    if (t->n == 0)
        return 0;
    qsort(t->ns, t->n, sizeof *t->ns, call_times_compare);
    const size_t rank = (t->n / 100) * percent + ((t->n % 100) * percent + 99) / 100;    /* from 1, rounded up */
    return t->ns[(rank > 0 ? rank : 1) - 1];
}
