/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* All mappings are known beforehand, so each has a place in two orders, and two sets of places find the nearest. */
#include "replay/recording/mapped_ranges.h"

#include "base/array.h"

#include <stdlib.h>

/* A number on its way into an order. */
struct numbered {
    uint64_t home, addr;
    uint32_t number;
};

static int by_home_and_addr(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->home != y->home)
        return x->home < y->home ? -1 : 1;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Of those at one address the first comes last: it is then the nearest from above. */
static int by_addr_alone(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return (x->number < y->number) - (x->number > y->number);
}

static void put_in_order(struct numbered *at, uint32_t n, int (*compare)(const void *, const void *), uint32_t *order,
                         uint32_t *rank)
{
    qsort(at, n, sizeof *at, compare);
    for (uint32_t i = 0; i < n; i++) {
        order[i] = at[i].number;
        rank[at[i].number] = i;
    }
}

enum err mapped_ranges_open(struct mapped_ranges *r, const struct mapped_piece *pieces, uint32_t n,
                            uint64_t reach_bytes)
{
    const size_t room = (size_t)n + 1;
    struct numbered *at = malloc(array_bytes(room, sizeof *at));
    *r = (struct mapped_ranges){ .pieces = pieces, .n = n, .reach_bytes = reach_bytes,
                                 .mapped = calloc(room, sizeof *r->mapped),
                                 .by_home = calloc(room, sizeof *r->by_home),
                                 .by_addr = calloc(room, sizeof *r->by_addr),
                                 .home_rank = calloc(room, sizeof *r->home_rank),
                                 .addr_rank = calloc(room, sizeof *r->addr_rank) };
    const bool is_open = rank_set_open(&r->in_home, n + 1) && rank_set_open(&r->in_addr, n + 1) && at != NULL &&
                         r->mapped != NULL && r->by_home != NULL && r->by_addr != NULL && r->home_rank != NULL &&
                         r->addr_rank != NULL;
    for (uint32_t i = 0; i < n && is_open; i++)
        at[i] = (struct numbered){ .home = pieces[i].home, .addr = pieces[i].addr, .number = i };
    if (is_open) {
        put_in_order(at, n, by_home_and_addr, r->by_home, r->home_rank);
        put_in_order(at, n, by_addr_alone, r->by_addr, r->addr_rank);
    }
    free(at);
    return is_open ? ERR_OK : ERR_HOST_NOMEM;
}

void mapped_ranges_close(struct mapped_ranges *r)
{
    rank_set_close(&r->in_home);
    rank_set_close(&r->in_addr);
    free(r->mapped);
    free(r->by_home);
    free(r->by_addr);
    free(r->home_rank);
    free(r->addr_rank);
    *r = (struct mapped_ranges){ .n = 0 };
}

bool mapped_ranges_map(struct mapped_ranges *r, uint32_t i)
{
    const struct mapped_piece *piece = &r->pieces[i];
    const uint32_t rank = rank_set_below(&r->in_home, r->home_rank[i]);
    const uint32_t range = rank == RANK_NONE ? i : r->by_home[rank];
    const struct mapped_piece *first = &r->pieces[range];
    const bool is_new = rank == RANK_NONE || first->home != piece->home ||
                        piece->addr - first->addr >= r->reach_bytes;
    r->mapped[is_new ? i : range] += piece->bytes;
    if (is_new) {
        rank_set_add(&r->in_home, r->home_rank[i]);
        rank_set_add(&r->in_addr, r->addr_rank[i]);
    }
    return is_new;
}

/* The number of mappings at or below an address. */
static uint32_t count_up_to(const struct mapped_ranges *r, uint64_t addr)
{
    uint32_t low = 0, high = r->n;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (r->pieces[r->by_addr[mid]].addr <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void mapped_ranges_unmap(struct mapped_ranges *r, uint64_t addr, uint64_t bytes)
{
    const uint32_t rank = rank_set_below(&r->in_addr, count_up_to(r, addr));
    if (rank == RANK_NONE)
        return;
    const uint32_t range = r->by_addr[rank];
    r->mapped[range] -= bytes < r->mapped[range] ? bytes : r->mapped[range];
    if (r->mapped[range] == 0) {
        rank_set_remove(&r->in_home, r->home_rank[range]);
        rank_set_remove(&r->in_addr, rank);
    }
}
