/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Taking pieces, giving them back, and showing what is in them. */
#include "policies/parts/heap.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdlib.h>

enum err heap_open(struct heap *h, struct upstream *upstream, uint32_t peak_live)
{
    *h = (struct heap){.upstream = upstream};
    const enum err e = block_table_hold(&h->blocks, 2 * (uint64_t)(peak_live < BLOCKS_MAX / 4 ? peak_live : 0) + 64);
    if (e != ERR_OK)
        heap_close(h);
    return e;
}

void heap_close(struct heap *h)
{
    block_table_close(&h->blocks);
    free(h->pieces);
    free(h->vacant);
    *h = (struct heap){0};
}

/* Makes room for one piece more, in both tables. */
static enum err heap_reserve_piece(struct heap *h)
{
    struct piece *pieces = array_grow(h->pieces, h->n_pieces, &h->cap_pieces, sizeof *pieces);
    if (pieces == NULL)
        return ERR_HOST_NOMEM;
    h->pieces = pieces;
    uint32_t *vacant = array_reserve(h->vacant, h->n_vacant, h->n_pieces + 1, &h->cap_vacant, sizeof *vacant);
    if (vacant == NULL)
        return ERR_HOST_NOMEM;
    h->vacant = vacant;
    return block_table_reserve(&h->blocks, 3);
}

enum err heap_grow(struct heap *h, uint64_t bytes, uint16_t stream, uint32_t *out)
{
    struct block from;
    enum err e = heap_reserve_piece(h);
    if (e != ERR_OK || (e = upstream_alloc(h->upstream, bytes, stream, &from)) != ERR_OK)
        return e;
    const uint32_t piece = h->n_vacant > 0 ? h->vacant[--h->n_vacant] : (uint32_t)h->n_pieces++;
    const uint32_t b = block_table_new(&h->blocks);
    const uint64_t place = h->order == HEAP_BY_AGE ? h->places_end : from.addr;
    h->places_end += bytes;
    h->pieces[piece] = (struct piece){.from = from, .bytes = bytes, .serial = h->n_taken++, .block = b};
    h->held_bytes += bytes;
    h->n_held++;
    h->blocks.at[b] = (struct block_entry){.addr = from.addr, .size = bytes, .tie = place, .segment = piece,
                                           .stream = stream, .flags = BLOCK_IS_USED};
    *out = b;
    return ERR_OK;
}

void heap_join_pieces(struct heap *h, uint32_t last, uint32_t b)
{
    struct block_entry *low = heap_at(h, last), *high = heap_at(h, b);
    const uint32_t gone = high->segment;
    assert(low->addr + low->size == high->addr && low->next == BLOCK_NONE && heap_is_whole(h, b));
    low->next = b;
    high->prev = last;
    high->segment = low->segment;
    h->pieces[low->segment].bytes += high->size;
    h->pieces[gone].bytes = 0;
    h->vacant[h->n_vacant++] = gone;
    h->n_held--;
}

void heap_give_back(struct heap *h, uint32_t b)
{
    const struct block_entry *e = heap_at(h, b);
    const uint32_t piece = e->segment;
    const uint64_t bytes = e->size;
    assert(heap_is_whole(h, b) && bytes == h->pieces[piece].bytes);
    upstream_free(h->upstream, bytes, e->stream, &h->pieces[piece].from);
    h->held_bytes -= bytes;
    h->n_held--;
    h->pieces[piece].bytes = 0;
    h->vacant[h->n_vacant++] = piece;
    block_table_drop(&h->blocks, b);
}

/* ---- idle pieces ---- */

struct idle_piece {
    uint64_t place;                      /* in the order that is wanted */
    uint32_t block;
};

static int idle_compare(const void *a, const void *b)
{
    const struct idle_piece *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

static bool heap_is_idle_piece(const struct heap *h, const struct piece *piece)
{
    return piece->bytes > 0 && block_is_idle(&h->blocks, piece->block) && heap_is_whole(h, piece->block);
}

enum err heap_idle_pieces(const struct heap *h, enum heap_order order, uint32_t **out, size_t *n)
{
    struct idle_piece *idle = malloc(array_bytes(h->n_held + 1, sizeof *idle));
    uint32_t *blocks = malloc(array_bytes(h->n_held + 1, sizeof *blocks));
    size_t n_idle = 0;
    if (idle == NULL || blocks == NULL) {
        free(idle);
        free(blocks);
        return ERR_HOST_NOMEM;
    }
    for (size_t i = 0; i < h->n_pieces; i++) {
        const struct piece *piece = &h->pieces[i];
        if (heap_is_idle_piece(h, piece))
            idle[n_idle++] = (struct idle_piece){
                .place = order == HEAP_BY_ADDRESS ? piece->from.addr : piece->serial, .block = piece->block};
    }
    qsort(idle, n_idle, sizeof *idle, idle_compare);
    for (size_t i = 0; i < n_idle; i++)
        blocks[i] = idle[i].block;
    free(idle);
    *out = blocks;
    *n = n_idle;
    return ERR_OK;
}

/* ---- showing ---- */

/* The first block of a piece. */
struct heap_head {
    uint64_t addr;
    uint32_t heap, block;
};

struct heaps_walk {
    const struct heap *const *heaps;
    struct heap_head *heads;             /* by address */
    size_t n_heads, next;
    uint64_t shown_end;                  /* of the last piece */
    block_visit visit;
    void  *arg;
};

static int head_compare(const void *a, const void *b)
{
    const struct heap_head *x = a, *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Shows the blocks of a piece; `below` is the block of the upstream that holds it, or the first of several. If the
 * upstream gave more than was asked for, the last block has the surplus. */
static void heap_show_piece(struct heaps_walk *w, const struct heap_head *head, const struct block_view *below)
{
    const struct block_entry *at = w->heaps[head->heap]->blocks.at;
    const uint64_t below_end = below->addr + below->bytes;
    for (uint32_t b = head->block; b != BLOCK_NONE; b = at[b].next) {
        const bool is_allocated = (at[b].flags & BLOCK_IS_ALLOCATED) != 0;
        struct block_view v = *below;
        v.addr = at[b].addr;
        w->shown_end = at[b].addr + at[b].size;
        if (at[b].next == BLOCK_NONE && w->shown_end < below_end)
            w->shown_end = below_end;
        v.bytes = w->shown_end - at[b].addr;
        v.requested = at[b].requested;
        v.stream = at[b].stream;
        v.is_small = (at[b].flags & BLOCK_IS_SMALL) != 0;
        v.state = is_allocated ? BLOCK_ALLOCATED : BLOCK_FREE;
        w->visit(w->arg, &v);
    }
}

static void heaps_see(void *arg, const struct block_view *below)
{
    struct heaps_walk *w = arg;
    if (below->addr < w->shown_end)
        return;
    while (w->next < w->n_heads && w->heads[w->next].addr < below->addr)
        w->next++;
    if (below->state == BLOCK_ALLOCATED && w->next < w->n_heads && w->heads[w->next].addr == below->addr)
        heap_show_piece(w, &w->heads[w->next], below);
    else
        w->visit(w->arg, below);
}

enum err heaps_walk(const struct heap *const *heaps, size_t n, block_visit visit, void *arg)
{
    size_t n_heads = 0;
    for (size_t i = 0; i < n; i++)
        n_heads += heaps[i]->n_held;
    struct heaps_walk w = {.heaps = heaps, .visit = visit, .arg = arg};
    w.heads = malloc((n_heads + 1) * sizeof *w.heads);
    if (w.heads == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < n; i++)
        for (uint32_t b = 1; b < heaps[i]->blocks.n; b++) {
            const struct block_entry *e = heap_at(heaps[i], b);
            if ((e->flags & BLOCK_IS_USED) != 0 && e->prev == BLOCK_NONE)
                w.heads[w.n_heads++] = (struct heap_head){.addr = e->addr, .heap = (uint32_t)i, .block = b};
        }
    qsort(w.heads, w.n_heads, sizeof *w.heads, head_compare);
    const enum err e = upstream_walk(heaps[0]->upstream, heaps_see, &w);
    free(w.heads);
    return e;
}

/* ---- checking ---- */

/* Follows the chain that starts at `b`; returns where it ends, 0 if a link is wrong. */
static uint64_t heap_chain_end(const struct heap *h, uint32_t b)
{
    const uint32_t piece = heap_at(h, b)->segment;
    uint64_t end = heap_at(h, b)->addr;
    for (uint32_t before = BLOCK_NONE; b != BLOCK_NONE; before = b, b = heap_at(h, b)->next) {
        const struct block_entry *e = heap_at(h, b);
        if ((e->flags & BLOCK_IS_USED) == 0 || e->addr != end || e->prev != before || e->segment != piece ||
            e->size == 0)
            return 0;
        end += e->size;
    }
    return end;
}

enum err heap_check(const struct heap *h, const char *policy, struct err_detail *err)
{
    uint64_t bytes = 0, n = 0;
    for (uint32_t b = 1; b < h->blocks.n; b++) {
        const struct block_entry *e = heap_at(h, b);
        if ((e->flags & BLOCK_IS_USED) == 0 || e->prev != BLOCK_NONE)
            continue;
        const struct piece *piece = &h->pieces[e->segment];
        if (heap_at(h, piece->block)->segment != e->segment || !(heap_at(h, piece->block)->flags & BLOCK_IS_USED))
            return err_at(err, ERR_CORRUPT, 0, policy, "no block of the piece at 0x%" PRIx64 " is known",
                          piece->from.addr);
        if (e->addr != piece->from.addr || heap_chain_end(h, b) != piece->from.addr + piece->bytes)
            return err_at(err, ERR_CORRUPT, 0, policy, "the blocks do not cover their piece at 0x%" PRIx64,
                          piece->from.addr);
        bytes += piece->bytes;
        n++;
    }
    if (bytes != h->held_bytes || n != h->n_held)
        return err_at(err, ERR_CORRUPT, 0, policy, "%" PRIu64 " B in %" PRIu64 " pieces are held, and %" PRIu64 " B "
                      "counted", bytes, n, h->held_bytes);
    return upstream_check(h->upstream, err);
}
