/* Shelves are cut into halves when they are full, so that a request moves some dozens of others at most. */
#include "replay/plan/placed_requests.h"

#include "base/units.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SHELF = 64, SPANS = 32 };
static_assert(SHELF == 64, "a bit each in a word");

struct placed {
    uint64_t addr, top;                      /* its first address, and the first behind it */
    uint32_t begin, end;
};

struct shelf {
    struct placed at[SHELF];                 /* n of them, ascending by address */
    size_t   n;
    uint64_t living[SPANS];                  /* bit i: the i-th lives at some time of the span */
    uint64_t highest;                        /* no top is above it */
};

enum err shelves_open(size_t n, uint32_t n_steps, struct shelves *out)
{
    const size_t most = n / (SHELF / 2) + 1;     /* one that is full is cut into halves */
    struct shelves s = { .room = malloc(most * sizeof *s.room), .at = malloc(most * sizeof *s.at),
                         .span_steps = n_steps / SPANS + 1 };
    if (s.room == NULL || s.at == NULL) {
        shelves_close(&s);
        return ERR_HOST_NOMEM;
    }
    shelves_clear(&s);
    *out = s;
    return ERR_OK;
}

void shelves_close(struct shelves *s)
{
    free(s->room);
    free(s->at);
    *s = (struct shelves){ .room = NULL };
}

/* An empty shelf for what ascends behind the one at `i` - 1. */
static struct shelf *shelves_add(struct shelves *s, size_t i)
{
    struct shelf *shelf = &s->room[s->n];
    memmove(s->at + i + 1, s->at + i, (s->n - i) * sizeof *s->at);
    s->at[i] = shelf;
    s->n++;
    shelf->n = 0;
    shelf->highest = 0;
    memset(shelf->living, 0, sizeof shelf->living);
    return shelf;
}

void shelves_clear(struct shelves *s)
{
    s->n = 0;
    s->height = 0;
    shelves_add(s, 0);
}

/* ---- finding ---- */

/* A request's time, and the spans that it touches. */
struct stay {
    uint32_t begin, end;
    size_t   first, last;
};

static struct stay stay_of(const struct shelves *s, uint32_t begin, uint32_t end)
{
    const size_t first = begin / s->span_steps, last = (end - 1) / s->span_steps;
    return (struct stay){ .begin = begin, .end = end, .first = first < SPANS ? first : SPANS - 1,
                          .last = last < SPANS ? last : SPANS - 1 };
}

/* The lowest address at which all that lives meanwhile leaves room. Without a branch on who lives when, which nobody
 * can guess. */
static uint64_t shelves_find(const struct shelves *s, uint64_t bytes, const struct stay *stay)
{
    uint64_t addr = 0;
    for (size_t k = 0; k < s->n; k++) {
        const struct shelf *shelf = s->at[k];
        uint64_t near = 0;
        if (shelf->highest <= addr)
            continue;
        for (size_t i = stay->first; i <= stay->last; i++)
            near |= shelf->living[i];
        for (; near != 0; near &= near - 1) {
            const struct placed *p = &shelf->at[__builtin_ctzll(near)];
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

/* The last shelf that begins at or below `addr`, or the first of all. */
static size_t shelves_at(const struct shelves *s, uint64_t addr)
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

/* Moves the upper half of the full shelf `k` to a shelf of its own behind it. */
static void shelves_cut(struct shelves *s, size_t k)
{
    const size_t half = SHELF / 2;
    struct shelf *low = s->at[k], *high = shelves_add(s, k + 1);
    memcpy(high->at, low->at + half, half * sizeof *high->at);
    high->n = low->n = half;
    high->highest = low->highest;                /* of either it is no more than a bound now */
    for (size_t i = 0; i < SPANS; i++) {
        high->living[i] = low->living[i] >> half;
        low->living[i] &= (UINT64_C(1) << half) - 1;
    }
}

static void shelf_insert(struct shelf *s, const struct placed *p, const struct stay *stay)
{
    size_t at = 0;
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

uint64_t shelves_place(struct shelves *s, uint64_t bytes, uint32_t begin, uint32_t end)
{
    const struct stay stay = stay_of(s, begin, end);
    const uint64_t addr = shelves_find(s, bytes, &stay);
    const struct placed p = { .addr = addr, .top = add_capped(addr, bytes), .begin = begin, .end = end };
    size_t k = shelves_at(s, addr);
    if (s->at[k]->n == SHELF) {
        shelves_cut(s, k);
        k = shelves_at(s, addr);
    }
    shelf_insert(s->at[k], &p, &stay);
    s->height = p.top > s->height ? p.top : s->height;
    return addr;
}
