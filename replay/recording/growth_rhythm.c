/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A turn counts if it leaves at least half as much as the one that leaves most; turns that count and lie near each
 * other are one burst. */
#include "replay/recording/growth_rhythm.h"

/* A rhythm has so many bursts. Between two nothing is left for longer than half of the longest time without. One may
 * come later than another by a quarter, and a turn. */
enum { BURSTS_LEAST = 3, APART_SHARE = 2, LATE_SHARE = 4 };

static bool counts(const uint64_t *left_bytes, size_t i, uint64_t most)
{
    return left_bytes[i] > 0 && left_bytes[i] >= most - most / 2;
}

static uint64_t most_of(const uint64_t *left_bytes, size_t n)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = left_bytes[i] > most ? left_bytes[i] : most;
    return most;
}

/* The longest way from a turn that counts to the next. *n_counting: how many count. */
static size_t longest_way(const uint64_t *left_bytes, size_t n, uint64_t most, size_t *n_counting)
{
    size_t longest = 0, last = 0;
    *n_counting = 0;
    for (size_t i = 0; i < n; i++) {
        if (!counts(left_bytes, i, most))
            continue;
        if ((*n_counting)++ > 0 && i - last > longest)
            longest = i - last;
        last = i;
    }
    return longest;
}

struct bursts {
    size_t n, first, last, nearest, farthest;    /* where they begin, and how far apart they do */
};

static void add_burst(struct bursts *b, size_t at)
{
    const size_t apart = at - b->last;
    if (b->n == 0)
        b->first = at;
    if (b->n > 0 && (b->nearest == 0 || apart < b->nearest))
        b->nearest = apart;
    if (b->n > 0 && apart > b->farthest)
        b->farthest = apart;
    b->last = at;
    b->n++;
}

static struct bursts find_bursts(const uint64_t *left_bytes, size_t n, uint64_t most, size_t longest)
{
    struct bursts b = { .n = 0 };
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (!counts(left_bytes, i, most))
            continue;
        if (b.n == 0 || i - last > longest / APART_SHARE)
            add_burst(&b, i);
        last = i;
    }
    return b;
}

/* Up to the last burst, which may be cut. */
static uint64_t bytes_of_bursts(const uint64_t *left_bytes, const struct bursts *b)
{
    uint64_t bytes = 0;
    for (size_t i = b->first; i < b->last; i++)
        bytes += left_bytes[i];
    return bytes;
}

struct growth_rhythm growth_rhythm_of(const uint64_t *left_bytes, size_t n)
{
    const uint64_t most = most_of(left_bytes, n);
    struct growth_rhythm out = { .turns = 0 };
    size_t n_counting;
    const size_t longest = longest_way(left_bytes, n, most, &n_counting);
    const struct bursts b = find_bursts(left_bytes, n, most, longest);
    const bool is_even = b.farthest <= b.nearest + b.nearest / LATE_SHARE + 1;
    if (longest > 1 && b.n >= BURSTS_LEAST && is_even) {
        out.turns = (b.last - b.first + (b.n - 1) / 2) / (b.n - 1);
        out.bytes = bytes_of_bursts(left_bytes, &b) / (b.n - 1);
    }
    out.is_uneven = out.turns == 0 && n_counting < n / 2;
    return out;
}
