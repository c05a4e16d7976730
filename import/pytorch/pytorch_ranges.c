/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Finds where the ranges of expandable segments begin that existed before the first record.
 *
 * A snapshot shows only mapped pieces. If memory at the front of a range was unmapped before the first record, the
 * first piece does not tell where the range begins:
 *
 *     range      |  unmapped  | piece | unmapped | piece | unmapped ...
 *                ^            ^
 *                begins here  `first`, all that the start state shows
 *
 * Later records tell. As long as a range has a mapped piece, PyTorch maps memory for the same stream, pool and kind of
 * request (small or large) in this range, and it fills the lowest unmapped stretch with room from its front. So the
 * lowest address ever mapped is where the range begins.
 */
#include "base/array.h"
#include "import/pytorch/pytorch_walk.h"

#include "base/event.h"
#include "base/torch_sizes.h"
#include "base/units.h"

#include <assert.h>
#include <stdlib.h>

/* One range. `first`: address of its first piece at the start, else of the first memory mapped. `low`: lowest mapped
 * address so far. */
struct range {
    uint32_t stream;
    uint16_t pool;
    bool     is_small, is_from_start;
    uint64_t first, low, end, mapped;      /* mapped bytes; 0: the allocator gave the range up */
};

/* Searched linearly: real programs have a few ranges per stream and pool. */
enum { RANGES_MAX = 4096 };

struct ranges {
    struct range *at;
    size_t n, room;
};

/* The range in which memory for such a request is mapped; NULL if there is none yet. */
static struct range *ranges_find(const struct ranges *t, const struct reserved_segment *s)
{
    for (size_t i = 0; i < t->n; i++) {
        struct range *r = &t->at[i];
        if (r->mapped > 0 && r->stream == s->stream && r->pool == s->pool && r->is_small == s->is_small)
            return r;
    }
    return NULL;
}

/* The range that holds an address: of all that begin at or below it the nearest. */
static struct range *ranges_around(const struct ranges *t, uint64_t addr)
{
    struct range *found = NULL;
    for (size_t i = 0; i < t->n; i++) {
        struct range *r = &t->at[i];
        if (r->mapped > 0 && r->low <= addr && (found == NULL || r->low > found->low))
            found = r;
    }
    return found;
}

/* Notes mapped memory. With RANGES_MAX ranges further ones are ignored: their beginnings are then not found. */
static bool ranges_map(struct ranges *t, const struct reserved_segment *s, bool is_start)
{
    struct range *r = ranges_find(t, s);
    const uint64_t end = s->addr + s->bytes;
    if (r == NULL && t->n == RANGES_MAX)
        return true;
    if (r == NULL) {
        struct range *more = array_grow(t->at, t->n, &t->room, sizeof *more);
        if (more == NULL)
            return false;
        t->at = more;
        r = &t->at[t->n++];
        *r = (struct range){.stream = s->stream, .pool = s->pool, .is_small = s->is_small, .is_from_start = is_start,
                            .first = s->addr, .low = s->addr};
    }
    r->low = s->addr < r->low ? s->addr : r->low;
    r->end = end > r->end ? end : r->end;
    r->mapped += s->bytes;
    return true;
}

static void ranges_unmap(struct ranges *t, uint64_t addr, uint64_t bytes)
{
    struct range *r = ranges_around(t, addr);
    if (r == NULL)
        return;
    assert(r->low <= addr);
    r->mapped -= bytes < r->mapped ? bytes : r->mapped;
    if (r->mapped == 0 && !r->is_from_start)
        *r = t->at[--t->n];
}

/* The request that caused record i: the next one that was served or refused. */
static uint32_t next_request(const struct walk *w, uint32_t i)
{
    while (i < w->n && w->records[i].action != ACTION_ALLOC && w->records[i].action != ACTION_OOM)
        i++;
    return i;
}

/* Follows maps and unmaps through the records. */
static bool ranges_follow(struct ranges *t, const struct walk *w)
{
    uint32_t request = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct snapshot_record *r = &w->records[i];
        if (r->action == ACTION_SEGMENT_UNMAP)
            ranges_unmap(t, r->addr, r->size);
        if (r->action != ACTION_SEGMENT_MAP || r->size > UINT64_MAX - r->addr)
            continue;
        request = next_request(w, request > i ? request : i);
        if (request == w->n)
            continue;
        const struct reserved_segment s = {.addr = r->addr, .bytes = r->size, .stream = r->stream, .pool = r->pool,
                                           .is_small = walk_round(w, w->records[request].size) <= TORCH_SMALL_MAX,
                                           .is_range = true};
        if (!ranges_map(t, &s, false))
            return false;
    }
    return true;
}

/* Notes where a range of the start state begins, unless it begins with its first piece. Also not if it cannot begin
 * there: another segment lies in between, or it would be longer than any range is. */
static bool range_note(const struct walk *w, const struct range *r, struct segment_map *starts)
{
    const struct reserved_segment s = {.addr = r->low, .stream = r->stream, .pool = r->pool, .is_small = r->is_small,
                                       .is_range = true};
    const size_t first = segment_set_find(&w->start, r->first, 1);
    const struct reserved_segment *below = first == SIZE_MAX || first == 0 ? NULL : &w->start.at[first - 1];
    const bool is_clear = first != SIZE_MAX && w->start.at[first].addr == r->first &&
                          (below == NULL || (below->addr <= r->low && below->addr + below->bytes <= r->low));
    if (!r->is_from_start || r->low == r->first || !is_clear || r->end - r->low > TRACE_RANGE_MAX)
        return true;
    return segment_map_add(starts, &s) != CHANGE_NOMEM;
}

bool walk_range_starts(struct walk *w)
{
    struct ranges t = {.n = 0};
    struct segment_map starts = {.n = 0};
    bool ok = true;
    for (size_t i = 0; i < w->start.n && ok; i++)
        if (w->start.at[i].is_range)
            ok = ranges_map(&t, &w->start.at[i], true);
    ok = ok && (t.n == 0 || ranges_follow(&t, w));
    for (size_t i = 0; i < t.n && ok; i++)
        ok = range_note(w, &t.at[i], &starts);
    ok = ok && segment_map_list(&starts, &w->range_starts);
    segment_map_free(&starts);
    free(t.at);
    return ok;
}
