/*
 * Where the ranges of expandable segments begin that stand at the start. What stands there are their mapped pieces; if
 * memory in front of these was given back before the first record, none of them lies at the beginning. The allocator
 * fills the unmapped stretch of the lowest address that has room, from its front on: as long as anything in a range is
 * mapped, memory mapped for the same stream, pool and kind of request is mapped in that range, and what is mapped lowest
 * begins where the range does.
 */
#include "base/array.h"
#include "import/pytorch_walk.h"

#include "base/event.h"
#include "base/units.h"

#include <stdlib.h>

/* `first`: where its first piece stands at the start, or where it was mapped first; `low`: the lowest known since. */
struct range {
    uint32_t stream;
    uint16_t pool;
    bool     is_small, stood_at_start;
    uint64_t first, low, end, mapped;      /* nothing mapped: it was given up */
};

/* They are looked up one by one: real programs have some for each stream and pool. */
enum { RANGES_MAX = 4096 };

struct ranges {
    struct range *at;
    size_t n, room;
};

/* The one in which memory is mapped for such a request. */
static struct range *ranges_find(const struct ranges *t, const struct standing *s)
{
    for (size_t i = 0; i < t->n; i++) {
        struct range *r = &t->at[i];
        if (r->mapped > 0 && r->stream == s->stream && r->pool == s->pool && r->is_small == s->is_small)
            return r;
    }
    return NULL;
}

/* The one that an address lies in: of those that begin below it the nearest. */
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

static bool ranges_map(struct ranges *t, const struct standing *s, bool is_start)
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
        *r = (struct range){.stream = s->stream, .pool = s->pool, .is_small = s->is_small, .stood_at_start = is_start,
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
    r->mapped -= bytes < r->mapped ? bytes : r->mapped;
    if (r->mapped == 0 && !r->stood_at_start)
        *r = t->at[--t->n];
}

/* The request that the records from i on were made for: the first behind them that was served or refused. */
static uint32_t next_request(const struct walk *w, uint32_t i)
{
    while (i < w->n && w->records[i].action != ACTION_ALLOC && w->records[i].action != ACTION_OOM)
        i++;
    return i;
}

/* Follows what is mapped and unmapped through the records. */
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
        const struct standing s = {.addr = r->addr, .bytes = r->size, .stream = r->stream, .pool = r->pool,
                                   .is_small = walk_round(w, w->records[request].size) <= MIB, .is_range = true};
        if (!ranges_map(t, &s, false))
            return false;
    }
    return true;
}

/* Notes where a range of the start begins, unless that is where its first piece stands, or cannot be: with something
 * else between them, or further away than any range reaches. */
static bool range_note(struct walk *w, const struct range *r)
{
    const struct standing s = {.addr = r->low, .stream = r->stream, .pool = r->pool, .is_small = r->is_small,
                               .is_range = true};
    size_t above = 0;
    while (above < w->start.n && w->start.at[above].addr <= r->low)
        above++;
    const bool is_clear = above == 0 || w->start.at[above - 1].addr + w->start.at[above - 1].bytes <= r->low;
    if (!r->stood_at_start || r->low == r->first || !is_clear || w->start.at[above].addr != r->first ||
        r->end - r->low > TRACE_RANGE_MAX)
        return true;
    return segment_set_add(&w->range_starts, &s) != CHANGE_NOMEM;
}

bool walk_range_starts(struct walk *w)
{
    struct ranges t = {.n = 0};
    bool ok = true;
    for (size_t i = 0; i < w->start.n && ok; i++)
        if (w->start.at[i].is_range)
            ok = ranges_map(&t, &w->start.at[i], true);
    ok = ok && (t.n == 0 || ranges_follow(&t, w));
    for (size_t i = 0; i < t.n && ok; i++)
        ok = range_note(w, &t.at[i]);
    free(t.at);
    return ok;
}
