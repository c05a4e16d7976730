/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A full group is split into halves, so a new request moves at most 64 others. */
#include "replay/plan/placed_requests.h"

#include "base/units.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_MAX = 64, SPANS = 32 };
static_assert(GROUP_MAX == 64, "a request of a group is a bit of a 64-bit word");

struct placed_request {
    uint64_t addr, top;                      /* its bytes are [addr, top) */
    uint32_t begin, end;
};

struct placed_group {
    struct placed_request at[GROUP_MAX];                 /* n of them, ascending by address */
    size_t   n;
    uint64_t living[SPANS];                  /* bit i: at[i] lives at some time of the span */
    uint64_t highest;                        /* an upper bound of all tops */
};

enum err placed_requests_open(size_t n, uint32_t n_steps, struct placed_requests *out)
{
    const size_t most = n / (GROUP_MAX / 2) + 1;     /* only full groups are split */
    struct placed_requests s = { .room = malloc(most * sizeof *s.room), .at = malloc(most * sizeof *s.at),
                                 .room_groups = most, .span_steps = n_steps / SPANS + 1 };
    if (s.room == NULL || s.at == NULL) {
        placed_requests_close(&s);
        return ERR_HOST_NOMEM;
    }
    placed_requests_clear(&s);
    *out = s;
    return ERR_OK;
}

void placed_requests_close(struct placed_requests *s)
{
    free(s->room);
    free(s->at);
    *s = (struct placed_requests){ .room = NULL };
}

/* Puts an empty group at place `i` of the order. */
static struct placed_group *placed_requests_add_group(struct placed_requests *s, size_t i)
{
    struct placed_group *group = &s->room[s->n];
    assert(i <= s->n && s->n < s->room_groups);
    memmove(s->at + i + 1, s->at + i, (s->n - i) * sizeof *s->at);
    s->at[i] = group;
    s->n++;
    group->n = 0;
    group->highest = 0;
    memset(group->living, 0, sizeof group->living);
    return group;
}

void placed_requests_clear(struct placed_requests *s)
{
    s->n = 0;
    s->height = 0;
    placed_requests_add_group(s, 0);
}

/* ---- finding ---- */

/* A request's time, and the spans that it touches. */
struct stay {
    uint32_t begin, end;
    size_t   first, last;
};

static struct stay stay_of(const struct placed_requests *s, uint32_t begin, uint32_t end)
{
    const size_t first = begin / s->span_steps, last = (end - 1) / s->span_steps;
    return (struct stay){ .begin = begin, .end = end, .first = first < SPANS ? first : SPANS - 1,
                          .last = last < SPANS ? last : SPANS - 1 };
}

/* The lowest address from `addr` on where the request overlaps no other. The loop does not branch on whether a request
 * lives at the same time: such a branch would mispredict. */
static uint64_t placed_requests_find(const struct placed_requests *s, uint64_t addr, uint64_t bytes,
                                     const struct stay *stay)
{
    for (size_t k = 0; k < s->n; k++) {
        const struct placed_group *group = s->at[k];
        uint64_t near = 0;
        if (group->highest <= addr)
            continue;
        for (size_t i = stay->first; i <= stay->last; i++)
            near |= group->living[i];
        for (; near != 0; near &= near - 1) {
            const struct placed_request *p = &group->at[__builtin_ctzll(near)];
            const bool meets = (p->begin < stay->end) & (p->end > stay->begin);
            if (meets & (p->addr >= add_capped(addr, bytes)))
                return addr;
            const uint64_t top = meets * p->top;
            addr = top > addr ? top : addr;
        }
    }
    return addr;
}

/* ---- placing ---- */

/* The last group that begins at or below `addr`, or the first of all. */
static size_t placed_requests_group_at(const struct placed_requests *s, uint64_t addr)
{
    size_t low = 0, high = s->n;
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (s->at[mid]->at[0].addr <= addr)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* Moves the upper half of the full group `k` to a new group after it. */
static void placed_requests_split(struct placed_requests *s, size_t k)
{
    const size_t half = GROUP_MAX / 2;
    struct placed_group *low = s->at[k], *high = placed_requests_add_group(s, k + 1);
    memcpy(high->at, low->at + half, half * sizeof *high->at);
    high->n = low->n = half;
    high->highest = low->highest;                /* for the low half it may be too high now */
    for (size_t i = 0; i < SPANS; i++) {
        high->living[i] = low->living[i] >> half;
        low->living[i] &= (UINT64_C(1) << half) - 1;
    }
}

static void group_insert(struct placed_group *s, const struct placed_request *p, const struct stay *stay)
{
    size_t at = 0;
    assert(s->n < GROUP_MAX && stay->first <= stay->last);
    for (size_t i = 0; i < s->n; i++)
        at += s->at[i].addr <= p->addr;
    memmove(s->at + at + 1, s->at + at, (s->n - at) * sizeof *p);
    s->at[at] = *p;
    s->n++;
    const uint64_t below = (UINT64_C(1) << at) - 1;
    for (size_t i = 0; i < SPANS; i++)
        s->living[i] = (s->living[i] & below) | (s->living[i] & ~below) << 1;
    for (size_t i = stay->first; i <= stay->last; i++)
        s->living[i] |= UINT64_C(1) << at;
    s->highest = p->top > s->highest ? p->top : s->highest;
}

void placed_requests_put(struct placed_requests *s, uint64_t addr, uint64_t bytes, uint32_t begin, uint32_t end)
{
    assert(begin < end);
    const struct stay stay = stay_of(s, begin, end);
    const struct placed_request p = { .addr = addr, .top = add_capped(addr, bytes), .begin = begin, .end = end };
    size_t k = placed_requests_group_at(s, addr);
    if (s->at[k]->n == GROUP_MAX) {
        placed_requests_split(s, k);
        k = placed_requests_group_at(s, addr);
    }
    group_insert(s->at[k], &p, &stay);
    s->height = p.top > s->height ? p.top : s->height;
}

uint64_t placed_requests_add(struct placed_requests *s, uint64_t bytes, uint32_t begin, uint32_t end)
{
    assert(begin < end);
    const struct stay stay = stay_of(s, begin, end);
    const uint64_t addr = placed_requests_find(s, 0, bytes, &stay);
    placed_requests_put(s, addr, bytes, begin, end);
    return addr;
}

uint64_t placed_requests_add_paused(struct placed_requests *s, uint64_t bytes, const uint32_t begin_pause[2],
                                    const uint32_t resume_end[2])
{
    const struct stay before = stay_of(s, begin_pause[0], begin_pause[1]);
    const struct stay after = stay_of(s, resume_end[0], resume_end[1]);
    uint64_t addr = 0, other = UINT64_MAX;
    while (addr != other) {
        other = placed_requests_find(s, addr, bytes, &before);
        addr = placed_requests_find(s, other, bytes, &after);
    }
    placed_requests_put(s, addr, bytes, before.begin, before.end);
    placed_requests_put(s, addr, bytes, after.begin, after.end);
    return addr;
}
