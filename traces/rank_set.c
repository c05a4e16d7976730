/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A 64-way tree of bits. */
#include "traces/rank_set.h"

#include "base/array.h"
#include "base/units.h"

#include <stdlib.h>

bool rank_set_open(struct rank_set *t, uint32_t n)
{
    *t = (struct rank_set){.n_levels = 0};
    uint64_t words = n;
    do {
        words = words / 64 + 1;
        t->level[t->n_levels] = calloc(array_bytes(words, sizeof(uint64_t)), 1);
        if (t->level[t->n_levels++] == NULL)
            return false;
    } while (words > 1);
    return true;
}

void rank_set_close(struct rank_set *t)
{
    for (unsigned k = 0; k < t->n_levels; k++)
        free(t->level[k]);
    *t = (struct rank_set){.n_levels = 0};
}

void rank_set_add(struct rank_set *t, uint32_t rank)
{
    for (unsigned k = 0; k < t->n_levels; k++, rank /= 64)
        t->level[k][rank / 64] |= UINT64_C(1) << rank % 64;
}

void rank_set_remove(struct rank_set *t, uint32_t rank)
{
    for (unsigned k = 0; k < t->n_levels; k++, rank /= 64) {
        t->level[k][rank / 64] &= ~(UINT64_C(1) << rank % 64);
        if (t->level[k][rank / 64] != 0)
            return;
    }
}

bool rank_set_has(const struct rank_set *t, uint32_t rank)
{
    return (t->level[0][rank / 64] >> rank % 64 & 1) != 0;
}

static uint32_t lowest_bit(uint64_t word)
{
    return log2_floor(word & (~word + 1));
}

uint32_t rank_set_below(const struct rank_set *t, uint32_t rank)
{
    for (unsigned k = 0; k < t->n_levels; k++, rank /= 64) {
        const uint64_t below = t->level[k][rank / 64] & ((UINT64_C(1) << rank % 64) - 1);
        if (below == 0)
            continue;
        uint32_t at = rank / 64 * 64 + log2_floor(below);
        while (k-- > 0)
            at = at * 64 + log2_floor(t->level[k][at]);
        return at;
    }
    return RANK_NONE;
}

uint32_t rank_set_above(const struct rank_set *t, uint32_t rank)
{
    for (unsigned k = 0; k < t->n_levels; k++, rank /= 64) {
        const uint64_t above = t->level[k][rank / 64] & (UINT64_MAX << rank % 64) & ~(UINT64_C(1) << rank % 64);
        if (above == 0)
            continue;
        uint32_t at = rank / 64 * 64 + lowest_bit(above);
        while (k-- > 0)
            at = at * 64 + lowest_bit(t->level[k][at]);
        return at;
    }
    return RANK_NONE;
}
