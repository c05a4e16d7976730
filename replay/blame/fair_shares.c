/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Sums of differences by the number of those who left before, each divided exactly. */
#include "replay/blame/fair_shares.h"

#include <assert.h>

static int64_t choose(unsigned n, unsigned k)
{
    int64_t c = 1;
    for (unsigned i = 0; i < k; i++)
        c = c * (int64_t)(n - i) / (int64_t)(i + 1);
    return c;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* An order in which k have left before is one of n * choose(n - 1, k) alike. All shares are whole multiples of one part
 * in so many. */
static int64_t parts_of(unsigned n)
{
    int64_t parts = 1;
    for (unsigned k = 0; k < n; k++) {
        const int64_t c = choose(n - 1, k);
        parts = parts / common_divisor(parts, c) * c;
    }
    return parts * (int64_t)n;
}

/* A share as whole + rest / parts, 0 <= rest < parts. */
struct share {
    int64_t whole, rest;
};

static void share_add(struct share *s, int64_t sum, int64_t divisor, int64_t parts)
{
    const int64_t rest = (sum % divisor + divisor) % divisor;
    s->whole += (sum - rest) / divisor;
    s->rest += rest * (parts / divisor);
    s->whole += s->rest / parts;
    s->rest %= parts;
}

static struct share share_of(const uint64_t *left, unsigned n, unsigned i, int64_t parts)
{
    int64_t sums[FAIR_SHARES_MAX] = { 0 };
    struct share s = { .whole = 0 };
    for (unsigned set = 0; set < 1u << n; set++)
        if ((set >> i & 1) == 0)
            sums[__builtin_popcount(set)] += (int64_t)left[set] - (int64_t)left[set | 1u << i];
    for (unsigned k = 0; k < n; k++)
        share_add(&s, sums[k], (int64_t)n * choose(n - 1, k), parts);
    return s;
}

void fair_shares(const uint64_t *left, unsigned n, int64_t shares[FAIR_SHARES_MAX])
{
    assert(n <= FAIR_SHARES_MAX);
    const int64_t parts = n > 0 ? parts_of(n) : 1;
    struct share s[FAIR_SHARES_MAX];
    int64_t over = (int64_t)left[0] - (int64_t)left[(1u << n) - 1];
    for (unsigned i = 0; i < n; i++) {
        s[i] = share_of(left, n, i, parts);
        shares[i] = s[i].whole;
        over -= s[i].whole;
    }
    for (; over > 0; over--) {                   /* fewer than n: each rest is less than a whole */
        unsigned most = 0;
        for (unsigned i = 1; i < n; i++)
            most = s[i].rest > s[most].rest ? i : most;
        shares[most]++;
        s[most].rest = -1;
    }
}
