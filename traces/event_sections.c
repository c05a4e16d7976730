/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Events into columns and back.
 *
 * Decoding is the hottest code of a replay after the policies. It reads columns in batches of COLUMN_BATCH numbers, so
 * that a batch stays in the L1 cache, and walks over a batch with one of three loops: walk_guessed for the common case
 * without branches on the kind, walk_each for ALLOC and FREE, walk_each for everything. All three accept and refuse the
 * same events.
 */
#include "traces/event_sections.h"

#include "base/inline.h"
#include "base/large_pages.h"
#include "base/prefetch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- slots ---- */

bool slot_table_reach(struct slot_table *t, uint32_t slot)
{
    assert(slot < t->limit);
    if (slot < t->room)
        return true;
    uint64_t room = t->room < 1024 ? 1024 : t->room;
    while (room <= slot)
        room *= 2;
    if (room > t->limit)
        room = t->limit;
    struct slot *at = realloc(t->at, (size_t)room * sizeof *at);
    if (at == NULL)
        return false;
    large_pages_want(at, (size_t)room * sizeof *at);
    memset(at + t->room, 0, (size_t)(room - t->room) * sizeof *at);
    t->at = at;
    t->room = (uint32_t)room;
    return true;
}

static void guess_reset(struct slot_guess *g)
{
    g->next = 0;
    g->n_vacated = 0;
}

/* The guess for an ALLOC; a vacated slot is popped. */
static inline uint32_t guess_alloc(struct slot_guess *g, const uint32_t *vacated)
{
    return g->n_vacated > 0 ? vacated[--g->n_vacated] : g->next;
}

static inline void guess_allocated(struct slot_guess *g, uint32_t slot)
{
    g->next = slot + 1;
}

static inline void guess_freed(struct slot_guess *g, uint32_t *vacated, uint32_t slot, bool is_vacant)
{
    vacated[g->n_vacated] = slot;
    g->n_vacated += is_vacant;
}

/* ---- encoding events ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The greatest common divisor of all steps of time, 1 if there is none. */
static uint64_t events_time_unit(const struct event *ev, size_t n, uint64_t time_ns)
{
    uint64_t unit = 0;
    for (size_t i = 0; i < n && unit != 1; i++) {
        unit = gcd(ev[i].time_ns - time_ns, unit);
        time_ns = ev[i].time_ns;
    }
    return unit == 0 ? 1 : unit;
}

/* Fills the two columns of slots. A code depends on the events before it. */
static void events_slot_columns(const struct event *ev, size_t n, uint32_t *vacated, uint64_t *allocs,
                                size_t *n_allocs, uint64_t *frees, size_t *n_frees)
{
    struct slot_guess g;
    uint64_t last_freed = 0;
    guess_reset(&g);
    *n_allocs = *n_frees = 0;
    for (size_t i = 0; i < n; i++) {
        if (ev[i].kind == EVENT_ALLOC) {
            allocs[(*n_allocs)++] = zigzag(ev[i].slot, guess_alloc(&g, vacated));
            guess_allocated(&g, ev[i].slot);
        } else if (kind_is_free(ev[i].kind)) {
            frees[(*n_frees)++] = zigzag(ev[i].slot, last_freed);
            last_freed = ev[i].slot;
            guess_freed(&g, vacated, ev[i].slot, ev[i].kind != EVENT_FREE_REQUESTED);
        }
    }
}

/* Fills a column whose numbers are copied as they are; returns its length. */
static size_t events_plain_column(enum event_column column, const struct event *ev, size_t n, uint64_t *values)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        const bool is_free = kind_is_free(ev[i].kind);
        if (column == EVENT_COLUMN_KIND)
            values[k++] = ev[i].kind;
        else if (column == EVENT_COLUMN_BYTES && (ev[i].kind == EVENT_ALLOC || ev[i].kind == EVENT_OOM))
            values[k++] = ev[i].bytes;
        else if ((column == EVENT_COLUMN_PLACE && !is_free) || (column == EVENT_COLUMN_FREE_PLACE && is_free))
            values[k++] = place_of(ev[i].stream, ev[i].pool);
        else if (column == EVENT_COLUMN_LABEL && ev[i].kind == EVENT_MARK)
            values[k++] = ev[i].slot;
    }
    return k;
}

void events_encode(struct bytes *out, const struct event *ev, size_t n, const struct events_place *place,
                   size_t ends[EVENT_COLUMN_COUNT])
{
    assert(n > 0 && n <= NATIVE_SECTION_EVENTS);
    uint64_t *values = malloc(2 * n * sizeof *values);
    uint32_t *vacated = malloc((n + 1) * sizeof *vacated);
    if (values == NULL || vacated == NULL) {
        out->has_failed = true;
        free(vacated);
        free(values);
        return;
    }
    uint64_t *frees = values + n;
    const uint64_t unit = events_time_unit(ev, n, place->time_ns);
    size_t n_allocs = 0, n_frees = 0;
    bytes_put_varint(out, place->first_event);
    bytes_put_varint(out, n);
    bytes_put_varint(out, place->first_controls);
    bytes_put_varint(out, place->time_ns);
    bytes_put_varint(out, unit);
    for (int c = 0; c < EVENT_COLUMN_COUNT; c++) {
        if (c == EVENT_COLUMN_TIME) {
            for (size_t i = 0; i < n; i++)
                values[i] = (ev[i].time_ns - (i == 0 ? place->time_ns : ev[i - 1].time_ns)) / unit;
            column_put(out, values, n);
        } else if (c == EVENT_COLUMN_ALLOC_SLOT) {
            events_slot_columns(ev, n, vacated, values, &n_allocs, frees, &n_frees);
            column_put(out, values, n_allocs);
        } else if (c == EVENT_COLUMN_FREE_SLOT) {
            column_put(out, frees, n_frees);
        } else {
            column_put(out, values, events_plain_column((enum event_column)c, ev, n, values));
        }
        bytes_cut(out);
        ends[c] = out->n;
    }
    free(vacated);
    free(values);
}

/* ---- decoding events ---- */

/* The only reason that is not the trace's fault. */
static const char no_memory[] = "needs more memory than the host has";

static bool events_fail(struct events_fault *fault, uint64_t event, const char *reason)
{
    *fault = (struct events_fault){.event = event, .reason = reason, .is_nomem = reason == no_memory};
    return false;
}

static_assert(NATIVE_SECTION_EVENTS % 8 == 0, "there is room for eight bytes at a time");

/* A word whose first byte in memory has bit 0, the next one bit 1, and so on. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ONE_BIT_EACH UINT64_C(0x8040201008040201)
#else
#define ONE_BIT_EACH UINT64_C(0x0102040810204080)
#endif

/* Spreads n bits, lowest first, over a byte each, and pads with zeros to a multiple of eight bytes. Eight at a time:
 * all bytes of a word get a copy of the eight bits, each keeps one of them, and adding 127 carries it to the byte's top
 * bit. */
static void spread_bits(const unsigned char *bits, size_t n, unsigned char *bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), one_each = ONE_BIT_EACH;
    for (size_t i = 0; i < n; i += 8) {
        const uint64_t kept = bits[i / 8] * ones & one_each, spread = (kept + 0x7f * ones) >> 7 & ones;
        memcpy(bytes + i, &spread, 8);
    }
}

/* The kinds of a section of n events, a byte each; NULL if their column has another form than kinds may have. */
static const unsigned char *events_kinds(struct events_decoder *d, size_t n)
{
    const struct column *c = &d->columns[EVENT_COLUMN_KIND];
    if (c->width == COLUMN_BITS && c->n_dict == 0 && c->main != NULL) {
        spread_bits(c->main, n, d->spread_kinds);
        return d->spread_kinds;
    }
    if (c->width == 1 && c->n_dict == 0 && c->escapes.at == c->escapes.end)
        return c->main;
    if (!column_is_constant(c) || c->constant >= EVENT_KINDS)
        return NULL;
    return memset(d->spread_kinds, (int)c->constant, n);
}

/* Counts each kind among k <= COLUMN_BATCH bytes; false if a byte is no kind. Compilers turn these loops into vector
 * code, and mostly there are only the first two kinds. */
static bool events_count_kinds(const unsigned char *kinds, size_t k, uint16_t by_kind[EVENT_KINDS])
{
    enum { RUN = 128 };                          /* the count of a run fits a byte */
    size_t all = 0;
    memset(by_kind, 0, EVENT_KINDS * sizeof by_kind[0]);
    for (unsigned kind = 0; kind < EVENT_KINDS && all < k; kind++) {
        for (size_t i = 0; i < k; i += RUN) {
            const size_t end = k - i < RUN ? k : i + RUN;
            unsigned char count = 0;
            for (size_t at = i; at < end; at++)
                count = (unsigned char)(count + (kinds[at] == (unsigned char)kind));
            by_kind[kind] = (uint16_t)(by_kind[kind] + count);
        }
        all += by_kind[kind];
    }
    return all == k;
}

/* Counts the kinds of a section, in all and per batch: they tell how long the other columns are. */
static bool events_count_all_kinds(struct events_decoder *d, size_t n)
{
    d->kinds = events_kinds(d, n);
    memset(d->by_kind, 0, sizeof d->by_kind);
    for (size_t i = 0; i < n && d->kinds != NULL; i += COLUMN_BATCH) {
        uint16_t *by_kind = d->batch_kinds[i / COLUMN_BATCH];
        if (!events_count_kinds(d->kinds + i, n - i < COLUMN_BATCH ? n - i : COLUMN_BATCH, by_kind))
            return false;
        for (int kind = 0; kind < EVENT_KINDS; kind++)
            d->by_kind[kind] += by_kind[kind];
    }
    return d->kinds != NULL;
}

/* The length of each column. */
static void events_column_lengths(const uint32_t by_kind[EVENT_KINDS], size_t n, size_t lengths[EVENT_COLUMN_COUNT])
{
    const size_t n_frees = by_kind[EVENT_FREE] + by_kind[EVENT_FREE_REQUESTED] + by_kind[EVENT_FREE_COMPLETED];
    lengths[EVENT_COLUMN_KIND] = lengths[EVENT_COLUMN_TIME] = n;
    lengths[EVENT_COLUMN_ALLOC_SLOT] = by_kind[EVENT_ALLOC];
    lengths[EVENT_COLUMN_FREE_SLOT] = lengths[EVENT_COLUMN_FREE_PLACE] = n_frees;
    lengths[EVENT_COLUMN_BYTES] = by_kind[EVENT_ALLOC] + by_kind[EVENT_OOM];
    lengths[EVENT_COLUMN_PLACE] = n - n_frees;
    lengths[EVENT_COLUMN_LABEL] = by_kind[EVENT_MARK];
}

/* Opens all columns of a section. False if they do not fill its content exactly. */
static bool events_open_columns(struct events_decoder *d, struct cursor in, size_t n)
{
    size_t lengths[EVENT_COLUMN_COUNT];
    d->last_freed = 0;
    const struct cursor start = in;
    column_open(&d->columns[EVENT_COLUMN_KIND], &in, n);
    if (in.is_bad || !events_count_all_kinds(d, n))
        return false;
    events_column_lengths(d->by_kind, n, lengths);
    in = start;
    for (int c = 0; c < EVENT_COLUMN_COUNT; c++) {
        column_open(&d->columns[c], &in, lengths[c]);
        for (size_t i = 0; i < COLUMN_BATCH && column_is_constant(&d->columns[c]); i++)
            d->values[c][i] = d->columns[c].constant;
    }
    return !in.is_bad && in.at == in.end;
}

/* Decodes the slots of a batch's frees before the walk, so that the walk can prefetch: each slot is coded by its
 * distance from the free before. */
static void frees_find(struct events_decoder *d, size_t n)
{
    uint64_t slot = d->last_freed;
    assert(n <= COLUMN_BATCH);
    for (size_t i = 0; i < n; i++)
        d->free_slots[i] = slot = unzigzag(d->values[EVENT_COLUMN_FREE_SLOT][i], slot);
    memset(d->free_slots + n, 0, FREES_AHEAD * sizeof d->free_slots[0]);
    d->last_freed = slot;
}

/* Reads the numbers of one batch of k events from every column. Constant columns were filled in when opened. */
static bool events_read_batch(struct events_decoder *d, size_t batch, size_t k)
{
    uint32_t by_kind[EVENT_KINDS];
    size_t lengths[EVENT_COLUMN_COUNT];
    for (int kind = 0; kind < EVENT_KINDS; kind++)
        by_kind[kind] = d->batch_kinds[batch][kind];
    events_column_lengths(by_kind, k, lengths);
    for (int c = 0; c < EVENT_COLUMN_COUNT; c++) {
        if (c == EVENT_COLUMN_KIND || column_is_constant(&d->columns[c]))
            continue;
        if (!column_read(&d->columns[c], d->values[c], lengths[c]))
            return false;
        if (lengths[c] < COLUMN_BATCH)
            d->values[c][lengths[c]] = 0;        /* walk_guessed reads one too many, and ignores it */
    }
    frees_find(d, lengths[EVENT_COLUMN_FREE_SLOT]);
    return true;
}

/* The state of a walk over a section. Everything that each event touches is copied here, so that it stays in registers.
 * */
struct events_walk {
    const unsigned char *kinds;                      /* of the batch */
    const uint64_t    (*values)[COLUMN_BATCH];       /* of it, by column */
    const uint64_t     *free_slots;                  /* of its frees */
    size_t              n_allocs, n_frees, n_sized, n_labels, n_placed;     /* numbers used so far of the batch */
    bool                is_plain;                    /* a full batch of ALLOC and FREE only */
    bool                is_guessed;                  /* is_plain, and each ALLOC has the guessed slot */
    bool                are_places_kept;             /* every free has the place of its ALLOC */
    bool                are_places_zero;             /* every other event has stream 0 and pool 0 */
    uint64_t            live_bytes, peak_bytes, control;
    struct slot_guess   guess;
    uint32_t           *vacated;
    struct slot        *slots;
    uint32_t            n_slots;                     /* in use so far */
    struct slot_table  *table;
    struct events_bounds bounds;
};

/* Compilers turn this loop into vector code. */
static bool numbers_are_zero(const uint64_t *numbers, size_t k)
{
    uint64_t any = 0;
    for (size_t i = 0; i < k; i++)
        any |= numbers[i];
    return any == 0;
}

/* Points the walk at the batch that was just read. */
static void walk_take_batch(struct events_walk *w, const struct events_decoder *d, size_t batch)
{
    const uint16_t *by_kind = d->batch_kinds[batch];
    w->free_slots = d->free_slots;
    w->kinds = d->kinds + batch * COLUMN_BATCH;
    w->values = d->values;
    w->n_allocs = w->n_frees = w->n_sized = w->n_labels = w->n_placed = 0;
    w->are_places_kept = column_is_all_zero(&d->columns[EVENT_COLUMN_FREE_PLACE]);
    w->are_places_zero = column_is_all_zero(&d->columns[EVENT_COLUMN_PLACE]);
    w->is_plain = by_kind[EVENT_ALLOC] + by_kind[EVENT_FREE] == COLUMN_BATCH;
    w->is_guessed = w->is_plain && numbers_are_zero(d->values[EVENT_COLUMN_ALLOC_SLOT], by_kind[EVENT_ALLOC]);
}

static inline bool place_is_good(uint64_t place, const struct events_bounds *b)
{
    return (place & 0xffff) < b->n_streams && place >> 16 < b->n_pools;
}

/* Sets everything but the time. */
static inline void event_set(struct event *ev, unsigned kind, uint64_t bytes, uint64_t slot, uint64_t place)
{
    ev->bytes = bytes;
    ev->slot = (uint32_t)slot;
    ev->stream = (uint16_t)place;
    ev->pool = (uint8_t)(place >> 16);
    ev->kind = (uint8_t)kind;
}

/* Decodes an ALLOC. Returns why it is refused, or NULL. The same holds for walk_free and walk_other. */
static inline const char *walk_alloc(struct events_walk *w, struct event *ev)
{
    const uint64_t code = w->values[EVENT_COLUMN_ALLOC_SLOT][w->n_allocs++];
    const uint64_t slot = unzigzag(code, guess_alloc(&w->guess, w->vacated));
    const uint64_t place = w->values[EVENT_COLUMN_PLACE][w->n_placed++];
    const uint64_t bytes = w->values[EVENT_COLUMN_BYTES][w->n_sized++];
    if (slot >= w->table->room) {
        if (slot >= w->table->limit)
            return "uses a slot out of range";
        if (!slot_table_reach(w->table, (uint32_t)slot))
            return no_memory;
        w->slots = w->table->at;
    }
    if (!w->are_places_zero && !place_is_good(place, &w->bounds))
        return "names a stream or pool out of range";
    if (bytes - 1 >= NATIVE_LIVE_MAX - w->live_bytes)
        return "has a size out of range";
    if (w->slots[slot].state != SLOT_VACANT)
        return "allocates into a slot that is not vacant";
    w->slots[slot] = (struct slot){.bytes = bytes, .place = (uint32_t)place, .state = SLOT_LIVE};
    w->live_bytes += bytes;
    w->peak_bytes = w->live_bytes > w->peak_bytes ? w->live_bytes : w->peak_bytes;
    if (slot >= w->n_slots)
        w->n_slots = (uint32_t)slot + 1;
    guess_allocated(&w->guess, (uint32_t)slot);
    event_set(ev, EVENT_ALLOC, bytes, slot, place);
    return NULL;
}

/* Decodes a free of any kind; prefetches the slot of a later one. */
static inline const char *walk_free(struct events_walk *w, unsigned kind, struct event *ev)
{
    const size_t i = w->n_frees++;
    const uint64_t slot = w->free_slots[i], ahead = w->free_slots[i + FREES_AHEAD];
    if (slot >= w->n_slots)
        return "frees a slot out of range";
    prefetch(&w->slots[ahead < w->n_slots ? ahead : 0]);
    struct slot *s = &w->slots[slot];
    const uint64_t place = s->place ^ w->values[EVENT_COLUMN_FREE_PLACE][i];
    if (s->state != (kind == EVENT_FREE_COMPLETED ? SLOT_PENDING : SLOT_LIVE))
        return kind == EVENT_FREE_COMPLETED ? "completes a free that was not requested"
                                            : "frees a slot that is not live";
    if (!w->are_places_kept && !place_is_good(place, &w->bounds))
        return "names a stream or pool out of range";
    event_set(ev, kind, s->bytes, slot, place);
    const bool is_vacant = kind != EVENT_FREE_REQUESTED;
    guess_freed(&w->guess, w->vacated, (uint32_t)slot, is_vacant);
    if (is_vacant) {
        w->live_bytes -= s->bytes;
        *s = (struct slot){0};
    } else {
        s->state = SLOT_PENDING;
    }
    return NULL;
}

/* Decodes an event of a kind that has no slot of its own. */
static const char *walk_other(struct events_walk *w, unsigned kind, struct event *ev)
{
    const uint64_t place = w->values[EVENT_COLUMN_PLACE][w->n_placed++];
    uint64_t bytes = 0, slot = 0;
    if (!place_is_good(place, &w->bounds))
        return "names a stream or pool out of range";
    if (kind == EVENT_OOM) {
        bytes = w->values[EVENT_COLUMN_BYTES][w->n_sized++];
        if (bytes - 1 >= NATIVE_LIVE_MAX - w->live_bytes)
            return "has a size out of range";
    }
    if (kind == EVENT_MARK && (slot = w->values[EVENT_COLUMN_LABEL][w->n_labels++]) >= w->bounds.n_labels)
        return "names a label out of range";
    if (kind == EVENT_CONTROL) {
        if (w->control >= w->bounds.n_controls)
            return "names a control out of range";
        const struct control *c = &w->bounds.controls[w->control];
        if (c->kind == CONTROL_USE && (c->slot >= w->n_slots || w->slots[c->slot].state == SLOT_VACANT))
            return "uses a request that is not live";
        slot = w->control++;
    }
    event_set(ev, kind, bytes, slot, place);
    return NULL;
}

/* Fills in the times of a batch; returns how many fit 64 bits. */
static size_t walk_times(const uint64_t *steps, size_t k, uint64_t unit, uint64_t *time_ns, struct event *out)
{
    uint64_t t = *time_ns, all = 0;
    size_t i = 0;
    for (size_t j = 0; j < k; j++)
        all |= steps[j];
    const bool is_safe = all >> 32 == 0 && unit >> 20 == 0 && t >> 62 == 0;      /* 512 steps below 2^52 cannot wrap */
#if defined(__OPTIMIZE__) && !defined(__s390x__)       /* where gcc does not unroll, it warns */
#pragma GCC unroll 4
#endif
    for (; is_safe && i < k; i++) {
        t += steps[i] * unit;
        out[i].time_ns = t;
    }
    for (; i < k; i++) {
        if (steps[i] != 0 && unit > (UINT64_MAX - t) / steps[i])
            break;
        t += steps[i] * unit;
        out[i].time_ns = t;
    }
    *time_ns = t;
    return i;
}

/* Decodes events i to `end` of a batch one by one. Returns the first refused one, with *reason set, or `end`. Compiled
 * twice: with is_plain it need not ask which kind of free an event is. */
static HOT_INLINE size_t walk_each(struct events_walk *whole, size_t i, size_t end, struct event *out,
                                   const char **reason, bool is_plain)
{
    struct events_walk w = *whole;
    for (*reason = NULL; i < end; i++) {
        const unsigned kind = w.kinds[i];
        *reason = kind == EVENT_ALLOC  ? walk_alloc(&w, &out[i])
                  : is_plain           ? walk_free(&w, EVENT_FREE, &out[i])
                  : kind_is_free(kind) ? walk_free(&w, kind, &out[i])
                                       : walk_other(&w, kind, &out[i]);
        if (*reason != NULL)
            break;
    }
    assert(w.live_bytes <= NATIVE_LIVE_MAX && w.guess.n_vacated <= NATIVE_SECTION_EVENTS);
    *whole = w;
    return i;
}

/* `first` if all bits of `mask` are set, `second` if none is. */
static inline uint64_t pick(uint64_t mask, uint64_t first, uint64_t second)
{
    return (first & mask) | (second & ~mask);
}

static_assert(EVENT_ALLOC == 0 && EVENT_FREE == 1, "a kind tells which of two things is done");
static_assert(SLOT_VACANT == 0 && SLOT_LIVE == 1, "and which state a slot must have");

/*
 * Decodes events i to `end` of a batch where each ALLOC takes the slot vacated last. Stops before an event that needs
 * walk_each: one that is refused, or an ALLOC when no slot of this section is vacant.
 *
 * There is no branch on the kind: whether an ALLOC or a FREE comes next is often unpredictable, and a mispredicted
 * branch costs more than doing the work of both and picking one by a mask.
 */
static HOT_INLINE size_t walk_guessed(struct events_walk *w, size_t i, size_t end, struct event *out, bool has_places)
{
    const struct events_bounds bounds = w->bounds;
    const unsigned char *kind = w->kinds + i;
    const unsigned char *const kinds_end = w->kinds + end;
    const uint64_t *const sizes = w->values[EVENT_COLUMN_BYTES], *size = sizes + w->n_allocs;
    const uint64_t *const frees = w->free_slots, *freed = frees + w->n_frees;
    uint32_t *vacated = w->vacated + w->guess.n_vacated;         /* one after the slot vacated last */
    struct slot *const slots = w->slots;
    const uint32_t n_slots = w->n_slots;
    uint64_t left = NATIVE_LIVE_MAX - w->live_bytes, least = NATIVE_LIVE_MAX - w->peak_bytes;
    for (out += i; kind < kinds_end; kind++, out++) {
        const size_t is_free = *kind;
        const uint64_t mask = 0 - (uint64_t)is_free;
        uint32_t *const top = vacated - 1 + is_free;             /* of an empty stack vacated[-1]: no slot */
        const uint64_t slot = pick(mask, *freed, *top);
        if (slot >= n_slots)
            break;
        struct slot *const s = &slots[slot];
        const uint64_t bytes = pick(mask, s->bytes, *size);
        uint64_t place = 0;
        if (has_places)
            place = pick(mask, s->place ^ w->values[EVENT_COLUMN_FREE_PLACE][freed - frees],
                         w->values[EVENT_COLUMN_PLACE][size - sizes]);
        if (s->state != is_free || bytes - 1 >= left || (has_places && !place_is_good(place, &bounds)))
            break;
        event_set(out, (unsigned)is_free, bytes, slot, place);
        s->bytes = bytes & ~mask;
        s->state = (uint32_t)is_free ^ 1;
        if (has_places)
            s->place = (uint32_t)(place & ~mask);
        left -= (bytes ^ mask) - mask;
        least = left < least ? left : least;
        *top = (uint32_t)slot;
        vacated = top + is_free;
        freed += is_free;
        size += is_free ^ 1;
    }
    w->n_allocs = w->n_sized = w->n_placed = (size_t)(size - sizes);
    w->n_frees = (size_t)(freed - frees);
    w->guess.n_vacated = (uint32_t)(vacated - w->vacated);
    assert(left <= NATIVE_LIVE_MAX && least <= left && w->guess.n_vacated <= NATIVE_SECTION_EVENTS);
    w->live_bytes = NATIVE_LIVE_MAX - left;
    w->peak_bytes = NATIVE_LIVE_MAX - least;
    return (size_t)(kind - w->kinds);
}

/* Tells the guess the slot of the last ALLOC before event i, which walk_guessed does not keep. */
static void walk_recall(struct events_walk *w, size_t i, const struct event *out)
{
    while (i > 0 && out[i - 1].kind != EVENT_ALLOC)
        i--;
    if (i > 0)
        guess_allocated(&w->guess, out[i - 1].slot);
}

/* walk_guessed as far as it goes, and walk_each for the events that stop it. */
static size_t walk_mostly_guessed(struct events_walk *w, size_t k, struct event *out, const char **reason)
{
    const bool has_places = w->bounds.n_streams > 1 || w->bounds.n_pools > 1 || !w->are_places_kept ||
                            !w->are_places_zero;
    size_t i = 0;
    *reason = NULL;
    /* A FREE reads the entry of the stack that it is about to write. */
    memset(w->vacated + w->guess.n_vacated, 0, k * sizeof *w->vacated);
    while (i < k && *reason == NULL) {
        i = has_places ? walk_guessed(w, i, k, out, true) : walk_guessed(w, i, k, out, false);
        walk_recall(w, i, out);
        do
            i = walk_each(w, i, i < k ? i + 1 : k, out, reason, true);
        while (i < k && *reason == NULL && w->guess.n_vacated == 0);
    }
    return i;
}

/* Decodes the k events of a batch, whose times are there. Returns how many were accepted; *reason says why not more. */
static size_t walk_batch(struct events_walk *w, size_t k, struct event *out, const char **reason)
{
    return w->is_guessed && w->n_slots <= SLOTS_NEAR ? walk_mostly_guessed(w, k, out, reason)
           : w->is_plain                             ? walk_each(w, 0, k, out, reason, true)
                                                     : walk_each(w, 0, k, out, reason, false);
}

/* Reads the numbers before the columns. */
static void events_decode_head(struct cursor *in, struct events_place *place, uint64_t *n, uint64_t *unit)
{
    place->first_event = cursor_varint(in);
    *n = cursor_varint(in);
    place->first_controls = cursor_varint(in);
    place->time_ns = cursor_varint(in);
    *unit = cursor_varint(in);
    in->is_bad |= *unit == 0;
}

bool events_find_place(const void *raw, size_t raw_bytes, struct events_place *place)
{
    struct cursor in = cursor_over(raw, raw_bytes);
    uint64_t n, unit;
    events_decode_head(&in, place, &n, &unit);
    return !in.is_bad;
}

/* Starts a walk at the end of the previous section. */
static void walk_begin(struct events_walk *w, struct events_decoder *d, const struct events_place *place,
                       const struct events_bounds *bounds, struct slot_table *slots)
{
    d->vacated[0] = UINT32_MAX;
    *w = (struct events_walk){.live_bytes = slots->live_bytes, .peak_bytes = slots->peak_bytes,
                              .control = place->first_controls, .vacated = d->vacated + 1, .slots = slots->at,
                              .n_slots = slots->n, .table = slots, .bounds = *bounds};
    guess_reset(&w->guess);
}

/* Copies back what the walk changed. */
static void walk_end(const struct events_walk *w, size_t n, struct events_place *place, struct slot_table *slots)
{
    place->first_event += n;
    place->first_controls = w->control;
    slots->n = w->n_slots;
    slots->live_bytes = w->live_bytes;
    slots->peak_bytes = w->peak_bytes;
}

bool events_decode(struct events_decoder *d, const void *raw, size_t raw_bytes, size_t n, struct events_place *place,
                   const struct events_bounds *bounds, struct slot_table *slots, struct event *out,
                   struct events_fault *fault)
{
    struct cursor in = cursor_over(raw, raw_bytes);
    struct events_place said;
    struct events_walk w;
    uint64_t said_n, unit;
    events_decode_head(&in, &said, &said_n, &unit);
    if (in.is_bad || said_n != n || said.first_event != place->first_event || said.time_ns != place->time_ns ||
        said.first_controls != place->first_controls)
        return events_fail(fault, place->first_event, "begins a section that does not follow the one before it");
    if (!events_open_columns(d, in, n))
        return events_fail(fault, place->first_event, "begins a section whose columns are damaged");
    walk_begin(&w, d, place, bounds, slots);
    for (size_t i = 0; i < n; i += COLUMN_BATCH) {
        const size_t k = n - i < COLUMN_BATCH ? n - i : COLUMN_BATCH;
        const char *reason;
        if (!events_read_batch(d, i / COLUMN_BATCH, k))
            return events_fail(fault, place->first_event + i, "begins a batch whose columns are damaged");
        walk_take_batch(&w, d, i / COLUMN_BATCH);
        const size_t timed = walk_times(d->values[EVENT_COLUMN_TIME], k, unit, &place->time_ns, out + i);
        const size_t good = walk_batch(&w, timed, out + i, &reason);
        if (good < k)
            return events_fail(fault, place->first_event + i + good,
                              reason == NULL ? "has a time of more than 2^64 ns" : reason);
    }
    walk_end(&w, n, place, slots);
    return true;
}

/* The slot of one event; advances the guess. */
static inline uint64_t walk_slot(struct events_walk *w, unsigned kind)
{
    uint64_t slot = UINT32_MAX;
    if (kind == EVENT_ALLOC) {
        slot = unzigzag(w->values[EVENT_COLUMN_ALLOC_SLOT][w->n_allocs++], guess_alloc(&w->guess, w->vacated));
        guess_allocated(&w->guess, (uint32_t)slot);
    } else if (kind_is_free(kind)) {
        slot = w->free_slots[w->n_frees++];
        guess_freed(&w->guess, w->vacated, (uint32_t)slot, kind != EVENT_FREE_REQUESTED);
    }
    return slot;
}

bool events_decode_slots(struct events_decoder *d, const void *raw, size_t raw_bytes, size_t n, uint32_t limit,
                         uint32_t *slots)
{
    struct cursor in = cursor_over(raw, raw_bytes);
    struct events_place place;
    struct events_walk w = {.vacated = d->vacated + 1};
    uint64_t said_n, unit;
    events_decode_head(&in, &place, &said_n, &unit);
    if (in.is_bad || said_n != n || !events_open_columns(d, in, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (i % COLUMN_BATCH == 0) {
            if (!events_read_batch(d, i / COLUMN_BATCH, n - i < COLUMN_BATCH ? n - i : COLUMN_BATCH))
                return false;
            walk_take_batch(&w, d, i / COLUMN_BATCH);
        }
        const unsigned kind = w.kinds[i % COLUMN_BATCH];
        const uint64_t slot = walk_slot(&w, kind);
        if (slot >= limit && (kind == EVENT_ALLOC || kind_is_free(kind)))
            return false;
        slots[i] = (uint32_t)slot;
    }
    return true;
}

/* ---- sides ---- */

void side_memory_free(struct side_memory *m)
{
    free(m->addr);
    free(m->stamp);
    *m = (struct side_memory){0};
}

/* Makes room for the slots of a section and forgets the addresses of the previous one. */
static bool side_memory_begin(struct side_memory *m, const uint32_t *slots, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        if (slots[i] != UINT32_MAX && slots[i] >= most)
            most = slots[i] + 1;
    if (most > m->n) {
        const uint32_t room = most > UINT32_MAX / 2 ? most : most + most / 2;
        uint64_t *addr = realloc(m->addr, (size_t)room * sizeof *addr);
        if (addr != NULL)
            m->addr = addr;
        uint32_t *stamp = realloc(m->stamp, (size_t)room * sizeof *stamp);
        if (stamp != NULL)
            m->stamp = stamp;
        if (addr == NULL || stamp == NULL)
            return false;
        memset(stamp + m->n, 0, (size_t)(room - m->n) * sizeof *stamp);
        m->n = room;
    }
    if (++m->now == 0) {
        memset(m->stamp, 0, m->n * sizeof *m->stamp);
        m->now = 1;
    }
    return true;
}

/* The number that an address is coded against: the last address in its slot, else the previous address. */
static inline uint64_t side_guess(const struct side_memory *m, uint32_t slot, uint64_t last)
{
    return slot != UINT32_MAX && m->stamp[slot] == m->now ? m->addr[slot] : last;
}

static inline void side_learn(struct side_memory *m, uint32_t slot, uint64_t addr)
{
    if (slot != UINT32_MAX) {
        m->addr[slot] = addr;
        m->stamp[slot] = m->now;
    }
}

/* The number of low bits that are zero in all addresses. */
static unsigned sides_shift(const struct trace_side *sides, size_t n)
{
    uint64_t bits = 0;
    unsigned shift = 0;
    for (size_t i = 0; i < n; i++)
        bits |= sides[i].addr;
    while (bits != 0 && (bits >> shift & 1) == 0)
        shift++;
    return shift;
}

bool sides_encode(struct bytes *out, const struct trace_side *sides, const uint32_t *slots, size_t n,
                  struct side_memory *memory)
{
    uint64_t *values = malloc(n * sizeof *values);
    if (values == NULL || !side_memory_begin(memory, slots, n)) {
        free(values);
        return false;
    }
    uint64_t last = 0;
    for (size_t i = 0; i < n; i++) {
        values[i] = zigzag(sides[i].record, last + 1);
        last = sides[i].record;
    }
    column_put(out, values, n);
    bytes_cut(out);
    const unsigned shift = sides_shift(sides, n);
    last = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t addr = sides[i].addr >> shift;
        values[i] = zigzag(addr, side_guess(memory, slots[i], last));
        side_learn(memory, slots[i], addr);
        last = addr;
    }
    bytes_put_varint(out, shift);
    column_put(out, values, n);
    bytes_cut(out);
    for (size_t i = 0; i < n; i++)
        values[i] = sides[i].stack;
    column_put(out, values, n);
    free(values);
    return !out->has_failed;
}

enum err sides_decode(struct column *scratch, const void *raw, size_t raw_bytes, const uint32_t *slots, size_t n,
                      struct side_memory *memory, struct trace_side *out)
{
    struct cursor in = cursor_over(raw, raw_bytes);
    enum err e = ERR_HOST_NOMEM;
    uint64_t *values = malloc(n * sizeof *values);
    if (values == NULL || !side_memory_begin(memory, slots, n))
        goto end;
    e = ERR_FORMAT;
    if (!column_read_all(scratch, &in, values, n))
        goto end;
    uint64_t last = 0;
    for (size_t i = 0; i < n; i++)
        last = out[i].record = unzigzag(values[i], last + 1);
    const unsigned shift = (unsigned)cursor_varint_at_most(&in, 63);
    if (!column_read_all(scratch, &in, values, n))
        goto end;
    last = 0;
    for (size_t i = 0; i < n; i++) {
        last = unzigzag(values[i], side_guess(memory, slots[i], last));
        side_learn(memory, slots[i], last);
        out[i].addr = last << shift;
    }
    if (!column_read_all(scratch, &in, values, n) || in.at != in.end)
        goto end;
    for (size_t i = 0; i < n; i++)
        out[i].stack = (uint32_t)values[i];
    e = ERR_OK;
end:
    free(values);
    return e;
}

/* ---- live requests at a place ---- */

void slots_encode(struct bytes *out, const struct slot *slots, size_t n)
{
    uint64_t *values = malloc(n * sizeof *values);
    out->has_failed |= values == NULL;
    for (int field = 0; field < 3 && values != NULL; field++) {
        for (size_t i = 0; i < n; i++)
            values[i] = field == 0 ? slots[i].bytes : field == 1 ? slots[i].place : slots[i].state;
        column_put(out, values, n);
    }
    free(values);
}

/* True if a slot is vacant and all zero, or in use and within bounds. */
static bool slot_is_good(const struct slot *s, const struct events_bounds *bounds)
{
    if (s->state == SLOT_VACANT)
        return s->bytes == 0 && s->place == 0;
    return s->state <= SLOT_PENDING && s->bytes > 0 && s->bytes <= NATIVE_LIVE_MAX && place_is_good(s->place, bounds);
}

bool slots_decode(struct column *scratch, const void *raw, size_t raw_bytes, size_t n,
                  const struct events_bounds *bounds, struct slot *out)
{
    struct cursor in = cursor_over(raw, raw_bytes);
    uint64_t values[COLUMN_BATCH];
    for (int field = 0; field < 3; field++) {
        column_open(scratch, &in, n);
        for (size_t i = 0; i < n && !in.is_bad; i++) {
            const size_t at = i % COLUMN_BATCH;
            if (at == 0 && !column_read(scratch, values, n - i < COLUMN_BATCH ? n - i : COLUMN_BATCH))
                return false;
            if (field == 0)
                out[i].bytes = values[at];
            else if (values[at] > UINT32_MAX)
                return false;
            else if (field == 1)
                out[i].place = (uint32_t)values[at];
            else
                out[i].state = (uint32_t)values[at];
        }
    }
    for (size_t i = 0; i < n && !in.is_bad; i++)
        in.is_bad |= !slot_is_good(&out[i], bounds);
    return !in.is_bad && in.at == in.end;
}
