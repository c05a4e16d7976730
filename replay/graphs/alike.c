/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The best common sequence of two lists of requests. */
#include "replay/graphs/alike.h"

#include "base/array.h"
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

/* The table of scores takes at most 64 MiB. */
#define CELLS_MAX (UINT64_C(1) << 24)

/* Captures that are alike are of a size, so one takes its own number of cells for each request, and is aligned once
 * with the first on its stream. Those of a language model have some thousand requests. */
#define CELLS_PER_REQUEST (UINT64_C(1) << 12)

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
    memset(cell(t, t->n_a, 0), 0, ((size_t)t->n_b + 1) * sizeof *t->score);
    for (uint32_t i = 0; i < t->n_a; i++)
        *cell(t, i, t->n_b) = 0;
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
static enum err align(struct captures *c, struct alignment *x, bool *is_whole, struct err_detail *err)
{
    const struct graph_capture *a = &c->at[x->a], *b = &c->at[x->b];
    struct table t = { .a = c->requests + a->first_request, .b = c->requests + b->first_request,
                       .n_a = a->n_requests, .n_b = b->n_requests };
    const uint64_t cells = ((uint64_t)t.n_a + 1) * ((uint64_t)t.n_b + 1);
    *is_whole = x->is_alike = false;
    x->other = malloc((t.n_a + (size_t)1) * sizeof *x->other);
    const bool is_tried = cells <= CELLS_MAX && cells <= c->cells_left;
    t.score = is_tried ? array_reserve(c->score, 0, (size_t)cells, &c->score_room, sizeof *t.score) : NULL;
    if (t.score != NULL)
        c->score = t.score;
    if (x->other == NULL || (t.score == NULL && is_tried))
        return err_no_memory(err);
    memset(x->other, 0xFF, (t.n_a + (size_t)1) * sizeof *x->other);
    if (t.score != NULL) {
        c->cells_left -= cells;
        fill(&t);
        *is_whole = read_pairs(&t, x->other);
        x->is_alike = *is_whole && is_matched(&t, x->other);
    }
    return ERR_OK;
}

enum err captures_align(struct captures *c, uint32_t a, uint32_t b, const struct alignment **out,
                        struct err_detail *err)
{
    struct alignment *x = c->at[b].first_on_stream == a ? &c->with_first[b] : &c->last;
    bool is_whole;
    *out = x;
    if (x->other != NULL && x->a == a && x->b == b)
        return ERR_OK;
    free(x->other);
    *x = (struct alignment){ .a = a, .b = b };
    return align(c, x, &is_whole, err);
}

void alignments_close(struct captures *c)
{
    for (size_t i = 0; i < c->n && c->with_first != NULL; i++)
        free(c->with_first[i].other);
    free(c->with_first);
    free(c->last.other);
}

/* Compares the first capture on a stream with a later one: what only the first one keeps is made once. */
static enum err match(struct captures *c, uint32_t a, uint32_t b, struct err_detail *err)
{
    struct alignment x = { .a = a, .b = b };
    struct graph_capture *first = &c->at[a];
    enum err e = align(c, &x, &first->is_matched, err);
    for (uint32_t i = 0; e == ERR_OK && first->is_matched && i < first->n_requests; i++) {
        struct graph_request *q = &c->requests[first->first_request + i];
        q->is_once = x.other[i] == UINT32_MAX && !q->is_freed_inside;
        first->has_once |= q->is_once;
    }
    free(x.other);
    return e;
}

/* Links each capture to the next one on its stream in `next`; UINT32_MAX: none. False without memory. */
static bool link_streams(struct captures *c, uint32_t *next)
{
    struct pair_map last = { .n = 0 };               /* by stream: the last capture so far */
    bool has_memory = true;
    for (uint32_t i = 0; i < c->n && has_memory; i++) {
        uint32_t *before = pair_map_find(&last, c->at[i].stream, 0);
        next[i] = UINT32_MAX;
        c->at[i].first_on_stream = before == NULL ? i : c->at[*before].first_on_stream;
        if (before == NULL) {
            has_memory = pair_map_add(&last, c->at[i].stream, 0, i);
        } else {
            next[*before] = i;
            *before = i;
        }
    }
    pair_map_free(&last);
    return has_memory;
}

enum err captures_match(struct captures *c, struct err_detail *err)
{
    uint32_t *next = malloc((c->n + 1) * sizeof *next);
    c->with_first = calloc(c->n + 1, sizeof *c->with_first);
    enum err e = next != NULL && c->with_first != NULL && link_streams(c, next) ? ERR_OK
                 : err_no_memory(err);
    c->cells_left = CELLS_MAX + CELLS_PER_REQUEST * c->n_requests;
    for (uint32_t a = 0; a < c->n && e == ERR_OK; a++)
        for (uint32_t b = next[a]; c->at[a].first_on_stream == a && b != UINT32_MAX && !c->at[a].is_matched &&
                                   e == ERR_OK; b = next[b])
            e = match(c, a, b, err);
    free(next);
    return e;
}
