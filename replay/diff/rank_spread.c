/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Orders ranks, and the lines by which two of them differ. */
#include "replay/diff/rank_spread.h"

#include <stdlib.h>

static bool is_worse(const struct rank_figures *a, const struct rank_figures *b)
{
    const bool fails = a->outcome != ERR_OK, other_fails = b->outcome != ERR_OK;
    return fails != other_fails ? fails : a->reserved_bytes > b->reserved_bytes;
}

void rank_spread_find(const struct rank_figures *ranks, size_t n, struct rank_spread *out)
{
    uint64_t most_reserved = 0, most_live = 0, least_reserved = UINT64_MAX, least_live = UINT64_MAX;
    *out = (struct rank_spread){ .worst = 0 };
    for (size_t i = 0; i < n; i++) {
        const struct rank_figures *r = &ranks[i];
        if (is_worse(r, &ranks[out->worst]))
            out->worst = i;
        if (is_worse(&ranks[out->least], r))
            out->least = i;
        most_reserved = r->reserved_bytes > most_reserved ? r->reserved_bytes : most_reserved;
        least_reserved = r->reserved_bytes < least_reserved ? r->reserved_bytes : least_reserved;
        most_live = r->live_bytes > most_live ? r->live_bytes : most_live;
        least_live = r->live_bytes < least_live ? r->live_bytes : least_live;
    }
    out->reserved_bytes = most_reserved - least_reserved;
    out->live_bytes = most_live - least_live;
}

static uint64_t difference(const struct rank_line *l)
{
    return l->worst_bytes > l->least_bytes ? l->worst_bytes - l->least_bytes : l->least_bytes - l->worst_bytes;
}

static int line_order(const void *a, const void *b)
{
    const struct rank_line *x = a, *y = b;
    if (difference(x) != difference(y))
        return difference(x) < difference(y) ? 1 : -1;
    return x->name < y->name ? -1 : x->name > y->name;
}

enum err rank_spread_compare(struct trace_reader *worst, struct trace_reader *least, struct rank_spread *out,
                             struct err_detail *err)
{
    enum err e = profile_read(worst, PROFILE_A, &out->pair, err);
    if (e == ERR_OK)
        e = profile_read(least, PROFILE_B, &out->pair, err);
    if (e != ERR_OK)
        return e;
    const struct profile_table *lines = &out->pair.lines;
    out->lines = calloc(lines->names.n + (size_t)1, sizeof *out->lines);
    if (out->lines == NULL)
        return err_no_memory(err);
    for (uint32_t i = 0; i < lines->names.n; i++) {
        const struct rank_line line = { .name = i, .worst_bytes = lines->rows[i].side[PROFILE_A].peak_bytes,
                                        .least_bytes = lines->rows[i].side[PROFILE_B].peak_bytes };
        if (difference(&line) > 0)
            out->lines[out->n_lines++] = line;
    }
    qsort(out->lines, out->n_lines, sizeof *out->lines, line_order);
    return ERR_OK;
}

void rank_spread_close(struct rank_spread *s)
{
    profile_close(&s->pair);
    free(s->lines);
    *s = (struct rank_spread){ .worst = 0 };
}
