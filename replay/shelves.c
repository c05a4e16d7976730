/* A shelf is arrays rather than structs, so that compilers compare several times in one instruction. */
#include "replay/shelves.h"

#include "base/units.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SHELF = 64 };
static_assert(SHELF == 64, "a bit each in a word");

/* Ascending by address. Behind the `n` in use stand lives that end before they begin, which meet none. */
struct shelf {
    uint64_t addr[SHELF], top[SHELF];        /* the first address of each, and the first behind it */
    int32_t  begin[SHELF], end[SHELF];
    uint64_t highest;                        /* no top is above it */
    size_t   n;
};

enum err shelves_open(size_t n, struct shelves *out)
{
    const size_t most = n / (SHELF / 2) + 1;     /* one that is full is cut into halves */
    struct shelves s = { .room = malloc(most * sizeof *s.room), .at = malloc(most * sizeof *s.at) };
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

/* A shelf for what ascends behind the one at `i` - 1. */
static struct shelf *shelves_add(struct shelves *s, size_t i)
{
    struct shelf *shelf = &s->room[s->n];
    memmove(s->at + i + 1, s->at + i, (s->n - i) * sizeof *s->at);
    s->at[i] = shelf;
    s->n++;
    shelf->n = 0;
    shelf->highest = 0;
    for (size_t k = 0; k < SHELF; k++) {
        shelf->begin[k] = INT32_MAX;
        shelf->end[k] = 0;
    }
    return shelf;
}

void shelves_clear(struct shelves *s)
{
    s->n = 0;
    s->height = 0;
    shelves_add(s, 0);
}

/* ---- finding ---- */

/* A bit for each on the shelf that lives at some time from `begin` to `end`. */
static uint64_t shelf_meeting(const struct shelf *s, int32_t begin, int32_t end)
{
    unsigned char meets[SHELF];                  /* 0 or 1 */
    uint64_t bits = 0;
    for (size_t i = 0; i < SHELF; i++)
        meets[i] = (s->begin[i] < end) & (s->end[i] > begin);
    for (size_t i = 0; i < SHELF; i += 8) {
        const unsigned char *m = &meets[i];
        const uint64_t eight = m[0] | (uint64_t)m[1] << 8 | (uint64_t)m[2] << 16 | (uint64_t)m[3] << 24 |
                               (uint64_t)m[4] << 32 | (uint64_t)m[5] << 40 | (uint64_t)m[6] << 48 | (uint64_t)m[7] << 56;
        bits |= (eight * UINT64_C(0x0102040810204080) >> 56) << i;      /* its low bits by byte, side by side */
    }
    return bits;
}

/* The lowest address at which all that lives from `begin` to `end` leaves room. */
static uint64_t shelves_find(const struct shelves *s, uint64_t bytes, int32_t begin, int32_t end)
{
    uint64_t addr = 0;
    for (size_t k = 0; k < s->n; k++) {
        const struct shelf *shelf = s->at[k];
        if (shelf->highest <= addr)
            continue;
        for (uint64_t meeting = shelf_meeting(shelf, begin, end); meeting != 0; meeting &= meeting - 1) {
            const unsigned i = (unsigned)__builtin_ctzll(meeting);
            if (shelf->addr[i] >= add_capped(addr, bytes))
                return addr;
            addr = shelf->top[i] > addr ? shelf->top[i] : addr;
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
        if (s->at[mid]->addr[0] <= addr)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* Moves `n` entries, from one shelf to another or within one. */
static void shelf_move(struct shelf *to, size_t at, const struct shelf *from, size_t first, size_t n)
{
    memmove(to->addr + at, from->addr + first, n * sizeof *to->addr);
    memmove(to->top + at, from->top + first, n * sizeof *to->top);
    memmove(to->begin + at, from->begin + first, n * sizeof *to->begin);
    memmove(to->end + at, from->end + first, n * sizeof *to->end);
}

/* Moves the upper half of the full shelf `k` to a shelf of its own behind it. */
static void shelves_cut(struct shelves *s, size_t k)
{
    const size_t half = SHELF / 2;
    struct shelf *low = s->at[k], *high = shelves_add(s, k + 1);
    shelf_move(high, 0, low, half, half);
    high->n = low->n = half;
    high->highest = low->highest;                /* of either it is no more than a bound now */
    for (size_t i = half; i < SHELF; i++) {
        low->begin[i] = INT32_MAX;
        low->end[i] = 0;
    }
}

static void shelf_insert(struct shelf *s, uint64_t addr, uint64_t top, int32_t begin, int32_t end)
{
    size_t i = 0;
    for (size_t k = 0; k < s->n; k++)
        i += s->addr[k] <= addr;
    shelf_move(s, i + 1, s, i, s->n - i);
    s->n++;
    s->addr[i] = addr;
    s->top[i] = top;
    s->begin[i] = begin;
    s->end[i] = end;
    s->highest = top > s->highest ? top : s->highest;
}

uint64_t shelves_place(struct shelves *s, uint64_t bytes, uint32_t begin, uint32_t end)
{
    const int32_t from = (int32_t)begin, to = end < INT32_MAX ? (int32_t)end : INT32_MAX;
    const uint64_t addr = shelves_find(s, bytes, from, to), top = add_capped(addr, bytes);
    size_t k = shelves_at(s, addr);
    if (s->at[k]->n == SHELF) {
        shelves_cut(s, k);
        k = shelves_at(s, addr);
    }
    shelf_insert(s->at[k], addr, top, from, to);
    s->height = top > s->height ? top : s->height;
    return addr;
}
