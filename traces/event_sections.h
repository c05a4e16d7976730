/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The contents of three kinds of section: events by column, what was recorded beside them ("sides"), and the live
 * requests at one place ("slots"); traces/FORMAT.md, "Events", "Sides", "Slots". Encoders and decoders work on memory:
 * no files, no zstd.
 *
 * A column holds numbers for some of a section's events only. Its length follows from the kinds:
 *
 *     event        0      1      2      3      4
 *     KIND         MARK   ALLOC  ALLOC  FREE   ALLOC     every event
 *     TIME         step   step   step   step   step      every event: time since the one before
 *     ALLOC_SLOT          code   code          code      zigzag(slot, guessed slot)
 *     FREE_SLOT                         code             zigzag(slot, slot of the free before)
 *     BYTES               size   size          size      ALLOC and OOM; a free takes the size from its slot
 *     PLACE        place  place  place         place     stream | pool << 16, of all that are no free
 *     FREE_PLACE                        xor              place, exclusive or with that of the ALLOC
 *     LABEL        label                                 MARK
 *
 * In the file, the sections of a trace alternate. A list of slots lets a reader start there:
 *
 *     tables | sides | events | tables | sides | events | ... | slots | tables | sides | events | ...
 */
#ifndef REPLAY_TRACES_EVENT_SECTIONS_H
#define REPLAY_TRACES_EVENT_SECTIONS_H

#include "base/event.h"
#include "traces/columns.h"
#include "traces/native.h"
#include "traces/trace.h"

#include <assert.h>

/* X(name): the columns of an event section, in their order. */
#define EVENT_COLUMNS(X) X(KIND) X(TIME) X(ALLOC_SLOT) X(FREE_SLOT) X(BYTES) X(PLACE) X(FREE_PLACE) X(LABEL)
#define EVENT_COLUMN_ENUM(name) EVENT_COLUMN_##name,
enum event_column { EVENT_COLUMNS(EVENT_COLUMN_ENUM) EVENT_COLUMN_COUNT };
#undef EVENT_COLUMN_ENUM

enum slot_state { SLOT_VACANT, SLOT_LIVE, SLOT_PENDING };     /* PENDING: between FREE_REQUESTED and FREE_COMPLETED */

/* A live request, as the decoder keeps it to validate later events. */
struct slot {
    uint64_t bytes;
    uint32_t place;                  /* stream | pool << 16 */
    uint32_t state;                  /* enum slot_state; a vacant slot is all zero */
};

/* All slots that were used so far; grows with them. */
struct slot_table {
    struct slot *at;
    uint32_t n, room, limit;         /* used so far; allocated; most that the trace says it uses */
    uint64_t live_bytes, peak_bytes;
};

static inline uint32_t place_of(uint16_t stream, uint8_t pool)
{
    return stream | (uint32_t)pool << 16;
}

static inline bool kind_is_free(unsigned kind)
{
    return kind == EVENT_FREE || kind == EVENT_FREE_REQUESTED || kind == EVENT_FREE_COMPLETED;
}

/* Makes slot number `slot` (< limit) addressable; false if the host is out of memory. */
bool slot_table_reach(struct slot_table *t, uint32_t slot);

/* Fills a vacant slot that is addressable; slot_table_vacate empties it. */
static inline void slot_table_take(struct slot_table *t, uint32_t slot, struct slot request)
{
    assert(slot < t->room && t->at[slot].state == SLOT_VACANT);
    t->at[slot] = request;
    t->live_bytes += request.bytes;
    if (t->live_bytes > t->peak_bytes)
        t->peak_bytes = t->live_bytes;
    if (slot >= t->n)
        t->n = slot + 1;
}

static inline void slot_table_vacate(struct slot_table *t, uint32_t slot)
{
    assert(slot < t->n && t->at[slot].state != SLOT_VACANT && t->at[slot].bytes <= t->live_bytes);
    t->live_bytes -= t->at[slot].bytes;
    t->at[slot] = (struct slot){0};
}

/* Which event of a section is bad, and why: the rest of a sentence that begins with "event N". */
struct events_fault {
    uint64_t    event;
    const char *reason;
    bool        is_nomem;            /* the host is out of memory; the section may be sound */
};

/* What comes before an event section. */
struct events_place {
    uint64_t first_event;
    uint64_t first_controls;         /* CONTROL events before it: the i-th of a trace refers to control i */
    uint64_t time_ns;                /* of the event before it */
};

/* What events may refer to. */
struct events_bounds {
    uint32_t n_streams, n_pools, n_labels, n_controls;
    const struct control *controls;  /* n_controls */
};

/* Guesses the slot of the next ALLOC from the events before it in the section: the slot vacated last, else the one
 * after the last ALLOC's. Our writer reuses slots this way, so the slots of its ALLOCs cost nearly no bytes. Encoder
 * and decoder both keep a guess, and next to it a stack of the slots vacated in the section and not taken again. */
struct slot_guess {
    uint32_t next, n_vacated;
};

/* Encodes `n` > 0 events. For frees, `bytes` is ignored, and stream and pool must be the exclusive or with those of the
 * ALLOC. `ends` gets the end of each column in `out`, where `out` is cut as well. Without memory out->has_failed is
 * set. */
void events_encode(struct bytes *out, const struct event *ev, size_t n, const struct events_place *place,
                   size_t ends[EVENT_COLUMN_COUNT]);

enum {
    SLOTS_NEAR  = 1 << 14,            /* this many slots (256 KiB) stay in the caches */
    FREES_AHEAD = 8,                  /* the slot of a free is prefetched this many frees early */
};

/* Scratch memory of decoding, about 470 KiB. Need not be zeroed. */
struct events_decoder {
    struct column columns[EVENT_COLUMN_COUNT];
    uint64_t      values[EVENT_COLUMN_COUNT][COLUMN_BATCH];
    uint64_t      free_slots[COLUMN_BATCH + FREES_AHEAD];    /* of the frees of a batch, then zeros */
    uint64_t      last_freed;                    /* the last of them, also of an earlier batch */
    uint32_t      vacated[NATIVE_SECTION_EVENTS + 2];      /* stack of vacated slots from [1] on; [0] is no slot */
    const unsigned char *kinds;                  /* of the section's events, a byte each */
    unsigned char spread_kinds[NATIVE_SECTION_EVENTS];     /* holds them if the section does not have a byte each */
    uint32_t      by_kind[EVENT_KINDS];          /* events of the section decoded last, and of each of its batches */
    uint16_t      batch_kinds[NATIVE_SECTION_EVENTS / COLUMN_BATCH][EVENT_KINDS];
};

/* Reads from a section what comes before it; false if the section is damaged. */
bool events_find_place(const void *raw, size_t raw_bytes, struct events_place *place);

/* Decodes and validates the `n` events of a section and advances `slots` and `place` past them. False, with *fault set,
 * if the section does not hold exactly `n` valid events; `slots` is then partly advanced. */
bool events_decode(struct events_decoder *d, const void *raw, size_t raw_bytes, size_t n, struct events_place *place,
                   const struct events_bounds *bounds, struct slot_table *slots, struct event *out,
                   struct events_fault *fault);

/* Decodes only the slots of a section's events, UINT32_MAX for kinds without a slot. Checks them against `limit`, but
 * not whether they are live, so it needs nothing from before the section. */
bool events_decode_slots(struct events_decoder *d, const void *raw, size_t raw_bytes, size_t n, uint32_t limit,
                         uint32_t *slots);

/* The address last seen in each slot, within one section: addresses are coded relative to it. */
struct side_memory {
    uint64_t *addr;                  /* by slot */
    uint32_t *stamp;                 /* by slot: the section in which it was set */
    uint32_t  n, now;
};

void side_memory_free(struct side_memory *m);

/* What was recorded beside `n` events. `slots` are the slots of these events, UINT32_MAX for none; a missing record
 * number is TRACE_NO_RECORD. Encoding returns false if the host is out of memory. Decoding: ERR_HOST_NOMEM; ERR_FORMAT.
 * */
bool sides_encode(struct bytes *out, const struct trace_side *sides, const uint32_t *slots, size_t n,
                  struct side_memory *memory);
enum err sides_decode(struct column *scratch, const void *raw, size_t raw_bytes, const uint32_t *slots, size_t n,
                      struct side_memory *memory, struct trace_side *out);

/* n slots of a table. Decoding returns false if a slot is damaged or out of bounds. */
void slots_encode(struct bytes *out, const struct slot *slots, size_t n);
bool slots_decode(struct column *scratch, const void *raw, size_t raw_bytes, size_t n,
                  const struct events_bounds *bounds, struct slot *out);

#endif
