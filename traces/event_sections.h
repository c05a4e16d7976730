/*
 * Event sections: events by column, what was recorded beside them, and the live requests at a place (traces/FORMAT.md,
 * "Events", "Sides", "Slots"). Encoder and decoder stand side by side, without files and without zstd.
 */
#ifndef REPLAY_TRACES_EVENT_SECTIONS_H
#define REPLAY_TRACES_EVENT_SECTIONS_H

#include "base/event.h"
#include "traces/columns.h"
#include "traces/native.h"
#include "traces/trace.h"

/* X(name): the columns of an event section, in their order. */
#define EVENT_COLUMNS(X) X(KIND) X(TIME) X(ALLOC_SLOT) X(FREE_SLOT) X(BYTES) X(PLACE) X(FREE_PLACE) X(LABEL)
#define EVENT_COLUMN_ENUM(name) EVENT_COLUMN_##name,
enum event_column { EVENT_COLUMNS(EVENT_COLUMN_ENUM) EVENT_COLUMN_COUNT };
#undef EVENT_COLUMN_ENUM

enum slot_state { SLOT_VACANT, SLOT_LIVE, SLOT_PENDING };     /* PENDING: between FREE_REQUESTED and FREE_COMPLETED */

/* A live request, as the validation knows it. */
struct slot {
    uint64_t bytes;
    uint32_t place;                  /* stream | pool << 16 */
    uint32_t state;                  /* enum slot_state; a vacant slot is all zero */
};

/* All slots that were ever used; grown as they are. */
struct slot_table {
    struct slot *at;
    uint32_t n, room, limit;         /* used, allocated, and the most that the trace says it uses */
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

/* Makes slot number `slot` < limit addressable; false without memory. */
bool slot_table_reach(struct slot_table *t, uint32_t slot);

/* Fills a vacant slot within reach; empties a used one. */
static inline void slot_table_take(struct slot_table *t, uint32_t slot, struct slot request)
{
    t->at[slot] = request;
    t->live_bytes += request.bytes;
    if (t->live_bytes > t->peak_bytes)
        t->peak_bytes = t->live_bytes;
    if (slot >= t->n)
        t->n = slot + 1;
}

static inline void slot_table_vacate(struct slot_table *t, uint32_t slot)
{
    t->live_bytes -= t->at[slot].bytes;
    t->at[slot] = (struct slot){0};
}

/* Where and why a section does not decode. */
struct events_fault {
    uint64_t    event;
    const char *reason;
    bool        is_nomem;            /* the host's memory ran out, the section may be sound */
};

/* What surrounds an event section. */
struct events_place {
    uint64_t first_event;
    uint64_t first_controls;          /* COMMAND events before it: the i-th of a trace refers to control i */
    uint64_t time_ns;                /* of the event before it */
};

/* Bounds that events must keep. */
struct events_bounds {
    uint32_t n_streams, n_pools, n_labels, n_controls;
    const struct control *controls;  /* n_controls */
};

/* Guesses the slot of the next event from those before it in the section: a writer that reuses the slot vacated last
 * then needs nearly no bytes for the slots of allocs. Both sides keep one, and beside it the slots vacated and not
 * taken again, of which there are at most as many as events. */
struct slot_guess {
    uint32_t next, n_vacated;
};

/* Encodes `n` events. In those of a free kind `bytes` is ignored, and stream and pool hold the exclusive or with
 * those of their alloc. `ends` gets the place behind each column in `out`, which is cut there. */
void events_encode(struct bytes *out, const struct event *ev, size_t n, const struct events_place *place,
                   size_t ends[EVENT_COLUMN_COUNT]);

enum {
    SLOTS_NEAR  = 1 << 14,            /* up to so many slots, 256 KiB, are in the caches; of more */
    FREES_AHEAD = 8,                  /* that of a free is fetched from memory so many frees before its turn */
};

/* What decoding needs beside its input; some 470 KiB. */
struct events_decoder {
    struct column columns[EVENT_COLUMN_COUNT];
    uint64_t      values[EVENT_COLUMN_COUNT][COLUMN_BATCH];
    uint64_t      free_slots[COLUMN_BATCH + FREES_AHEAD];    /* of the frees of a batch, then zeros */
    uint64_t      last_freed;                    /* the last of them, or of the batch before it */
    uint32_t      vacated[NATIVE_SECTION_EVENTS + 2];      /* [0] is none, for who looks there in vain */
    const unsigned char *kinds;                  /* of the section's events */
    unsigned char spread_kinds[NATIVE_SECTION_EVENTS];     /* where they do not stand there a byte each */
    uint32_t      by_kind[EVENT_KINDS];          /* events of the section decoded last, and of each of its batches */
    uint16_t      batch_kinds[NATIVE_SECTION_EVENTS / COLUMN_BATCH][EVENT_KINDS];
};

/* What stands in front of an event section, as it says itself; false when it is damaged. */
bool events_find_place(const void *raw, size_t raw_bytes, struct events_place *place);

/* Decodes and validates `n` events, which must be what the content holds, and moves `slots` and `place` on. On
 * failure `slots` is somewhere between. */
bool events_decode(struct events_decoder *d, const void *raw, size_t raw_bytes, size_t n, struct events_place *place,
                   const struct events_bounds *bounds, struct slot_table *slots, struct event *out,
                   struct events_fault *fault);

/* Kinds and slots only, checked against `limit` but not against what is live: needs nothing from before the section.
 * Slots of kinds without one are UINT32_MAX. */
bool events_decode_slots(struct events_decoder *d, const void *raw, size_t raw_bytes, size_t n, uint32_t limit,
                         uint32_t *slots);

/* The address last seen in a slot, within one section. */
struct side_memory {
    uint64_t *addr;                  /* by slot */
    uint32_t *stamp;                 /* by slot: the section in which it was set */
    uint32_t  n, now;
};

void side_memory_free(struct side_memory *m);

/* Sides of `n` events whose slots (UINT32_MAX: none) are given; a record number is TRACE_NO_RECORD where there is
 * none. Encoding returns false without memory; decoding ERR_HOST_NOMEM, and ERR_FORMAT for damage. */
bool sides_encode(struct bytes *out, const struct trace_side *sides, const uint32_t *slots, size_t n,
                  struct side_memory *memory);
enum err sides_decode(struct column *scratch, const void *raw, size_t raw_bytes, const uint32_t *slots, size_t n,
                      struct side_memory *memory, struct trace_side *out);

/* Slots [first, first + n) of a table, of which those behind its end are vacant. */
void slots_encode(struct bytes *out, const struct slot *slots, size_t n);
bool slots_decode(struct column *scratch, const void *raw, size_t raw_bytes, size_t n,
                  const struct events_bounds *bounds, struct slot *out);

#endif
