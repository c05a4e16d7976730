/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A sorted array: there are few segments, and they are looked up far more often than changed. */
#include "import/segment_set.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The number of segments that start at or below addr. */
static size_t upper_bound(const struct segment_set *t, uint64_t addr)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (t->at[mid].addr <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static uint64_t end_of(const struct reserved_segment *s)
{
    return s->addr + s->bytes;
}

size_t segment_set_find(const struct segment_set *t, uint64_t addr, uint64_t bytes)
{
    const size_t i = upper_bound(t, addr);
    if (i == 0)
        return SIZE_MAX;
    const struct reserved_segment *s = &t->at[i - 1];
    return addr - s->addr < s->bytes && bytes <= s->bytes - (addr - s->addr) ? i - 1 : SIZE_MAX;
}

static bool insert_at(struct segment_set *t, size_t i, const struct reserved_segment *s)
{
    struct reserved_segment *bigger = array_grow(t->at, t->n, &t->room, sizeof *bigger);
    if (bigger == NULL)
        return false;
    t->at = bigger;
    assert(i <= t->n);
    memmove(t->at + i + 1, t->at + i, (t->n - i) * sizeof *t->at);
    t->at[i] = *s;
    t->n++;
    return true;
}

static void remove_at(struct segment_set *t, size_t i)
{
    assert(i < t->n);
    t->n--;
    memmove(t->at + i, t->at + i + 1, (t->n - i) * sizeof *t->at);
}

static bool joins(const struct reserved_segment *a, const struct reserved_segment *b)
{
    return a->is_range && b->is_range && end_of(a) == b->addr && a->stream == b->stream && a->pool == b->pool;
}

enum segment_change segment_set_add(struct segment_set *t, const struct reserved_segment *s)
{
    const size_t i = upper_bound(t, s->addr);
    if (s->bytes > UINT64_MAX - s->addr || (i > 0 && end_of(&t->at[i - 1]) > s->addr) ||
        (i < t->n && end_of(s) > t->at[i].addr))
        return CHANGE_CONFLICT;
    const bool joins_left = i > 0 && joins(&t->at[i - 1], s), joins_right = i < t->n && joins(s, &t->at[i]);
    if (joins_left) {
        t->at[i - 1].bytes += s->bytes + (joins_right ? t->at[i].bytes : 0);
        if (joins_right)
            remove_at(t, i);
    } else if (joins_right) {
        t->at[i].addr = s->addr;
        t->at[i].bytes += s->bytes;
    } else if (!insert_at(t, i, s)) {
        return CHANGE_NOMEM;
    }
    assert(i + 1 >= t->n || end_of(&t->at[i]) <= t->at[i + 1].addr);
    return CHANGE_DONE;
}

enum segment_change segment_set_take(struct segment_set *t, uint64_t addr, uint64_t bytes, struct reserved_segment *was)
{
    const size_t i = segment_set_find(t, addr, bytes);
    if (i == SIZE_MAX || (!t->at[i].is_range && t->at[i].bytes != bytes))
        return CHANGE_CONFLICT;
    struct reserved_segment *s = &t->at[i];
    const struct reserved_segment whole = *s;
    const uint64_t before = addr - whole.addr, behind = end_of(&whole) - (addr + bytes);
    if (before > 0 && behind > 0) {
        struct reserved_segment rest = whole;
        rest.addr = addr + bytes;
        rest.bytes = behind;
        if (!insert_at(t, i + 1, &rest))
            return CHANGE_NOMEM;
        t->at[i].bytes = before;
    } else if (before > 0) {
        s->bytes = before;
    } else if (behind > 0) {
        s->addr = addr + bytes;
        s->bytes = behind;
    } else {
        remove_at(t, i);
    }
    assert(i + 1 >= t->n || end_of(&t->at[i]) <= t->at[i + 1].addr);
    *was = whole;
    return CHANGE_DONE;
}

uint64_t segment_set_bytes(const struct segment_set *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->n; i++)
        sum += t->at[i].bytes;
    return sum;
}

bool segment_set_copy(struct segment_set *to, const struct segment_set *from)
{
    *to = (struct segment_set){.n = from->n, .room = from->n};
    if (from->n == 0)
        return true;
    to->at = malloc(from->n * sizeof *to->at);
    if (to->at == NULL)
        return false;
    memcpy(to->at, from->at, from->n * sizeof *to->at);
    return true;
}

void segment_set_free(struct segment_set *t)
{
    free(t->at);
    *t = (struct segment_set){0};
}
