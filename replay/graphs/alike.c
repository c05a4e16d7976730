/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The best common sequence of two lists of requests. */
#include "replay/graphs/alike.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* The table of scores takes at most 64 MiB. */
#define CELLS_MAX (UINT64_C(1) << 24)

/* What a pair is worth. That sizes are equal only decides between pairs: most sizes grow with the work. */
enum { PAIR_SCORE = 4, EQUAL_SIZE_SCORE = 1 };

/* Two lists of requests, and by positions in them the best score of what follows. */
struct table {
    const struct graph_request *a, *b;
    uint32_t n_a, n_b;
    uint32_t *score;
};

static uint32_t *cell(const struct table *t, uint32_t i, uint32_t k)
{
    return &t->score[(size_t)i * (t->n_b + 1) + k];
}

/* What a pair of requests is worth; 0: they do not correspond. */
static uint32_t pair_score(const struct table *t, uint32_t i, uint32_t k)
{
    const struct graph_request *p = &t->a[i], *q = &t->b[k];
    if (p->is_once || q->is_once || p->line != q->line || p->is_freed_inside != q->is_freed_inside ||
        p->stream != q->stream)
        return 0;
    return PAIR_SCORE + (p->bytes == q->bytes ? EQUAL_SIZE_SCORE : 0);
}

static void fill(const struct table *t)
{
    for (uint32_t i = t->n_a; i-- > 0;)
        for (uint32_t k = t->n_b; k-- > 0;) {
            const uint32_t pair = pair_score(t, i, k), paired = pair > 0 ? pair + *cell(t, i + 1, k + 1) : 0;
            const uint32_t past_a = *cell(t, i + 1, k), past_b = *cell(t, i, k + 1);
            const uint32_t past = past_a > past_b ? past_a : past_b;
            *cell(t, i, k) = paired > past ? paired : past;
        }
}

/* Reads the best pairs from the table, the earliest of equally good ones. False if a request of `b` that is kept has no
 * counterpart. */
static bool read_pairs(const struct table *t, uint32_t *other)
{
    uint32_t i = 0, k = 0;
    bool is_whole = true;
    while (i < t->n_a || k < t->n_b) {
        const bool can_pair = i < t->n_a && k < t->n_b && pair_score(t, i, k) > 0;
        if (can_pair && *cell(t, i, k) == pair_score(t, i, k) + *cell(t, i + 1, k + 1)) {
            other[i++] = k++;
        } else if (i < t->n_a && (k == t->n_b || *cell(t, i, k) == *cell(t, i + 1, k))) {
            i++;
        } else {
            is_whole = is_whole && (t->b[k].is_freed_inside || t->b[k].is_once);
            k++;
        }
    }
    return is_whole;
}

/* Whether all that capture `a` keeps has a counterpart. */
static bool is_matched(const struct table *t, const uint32_t *other)
{
    for (uint32_t i = 0; i < t->n_a; i++)
        if (other[i] == UINT32_MAX && !t->a[i].is_freed_inside && !t->a[i].is_once)
            return false;
    return true;
}

/* Aligns anew. *is_whole: all that `b` keeps has a counterpart. */
static enum err align(const struct captures *c, struct alignment *x, bool *is_whole, struct err_detail *why)
{
    const struct graph_capture *a = &c->at[x->a], *b = &c->at[x->b];
    struct table t = { .a = c->requests + a->first_request, .b = c->requests + b->first_request,
                       .n_a = a->n_requests, .n_b = b->n_requests };
    const uint64_t cells = ((uint64_t)t.n_a + 1) * ((uint64_t)t.n_b + 1);
    *is_whole = x->is_alike = false;
    x->other = malloc((t.n_a + (size_t)1) * sizeof *x->other);
    t.score = cells <= CELLS_MAX ? calloc(array_bytes(cells, sizeof *t.score), 1) : NULL;
    if (x->other == NULL || (t.score == NULL && cells <= CELLS_MAX)) {
        free(t.score);
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory to compare captures of %u and %u requests", t.n_a, t.n_b);
    }
    memset(x->other, 0xFF, (t.n_a + (size_t)1) * sizeof *x->other);
    if (t.score != NULL) {
        fill(&t);
        *is_whole = read_pairs(&t, x->other);
        x->is_alike = *is_whole && is_matched(&t, x->other);
    }
    free(t.score);
    return ERR_OK;
}

enum err captures_align(const struct captures *c, uint32_t a, uint32_t b, struct alignment *x, struct err_detail *why)
{
    bool is_whole;
    if (x->other != NULL && x->a == a && x->b == b)
        return ERR_OK;
    alignment_close(x);
    *x = (struct alignment){ .a = a, .b = b };
    return align(c, x, &is_whole, why);
}

void alignment_close(struct alignment *x)
{
    free(x->other);
    *x = (struct alignment){ .other = NULL };
}

/* Compares the first capture on a stream with a later one: what only the first one keeps is made once. */
static enum err match(struct captures *c, uint32_t a, uint32_t b, struct err_detail *why)
{
    struct alignment x = { .a = a, .b = b };
    struct graph_capture *first = &c->at[a];
    enum err e = align(c, &x, &first->is_matched, why);
    for (uint32_t i = 0; e == ERR_OK && first->is_matched && i < first->n_requests; i++) {
        struct graph_request *q = &c->requests[first->first_request + i];
        q->is_once = x.other[i] == UINT32_MAX && !q->is_freed_inside;
        first->has_once |= q->is_once;
    }
    alignment_close(&x);
    return e;
}

enum err captures_match(struct captures *c, struct err_detail *why)
{
    enum err e = ERR_OK;
    for (uint32_t a = 0; a < c->n && e == ERR_OK; a++) {
        uint32_t before = 0;
        while (before < a && c->at[before].stream != c->at[a].stream)
            before++;
        c->at[a].is_first_on_stream = before == a;
        for (uint32_t b = a + 1; b < c->n && before == a && !c->at[a].is_matched && e == ERR_OK; b++)
            if (c->at[b].stream == c->at[a].stream)
                e = match(c, a, b, why);
    }
    return e;
}
