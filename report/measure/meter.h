/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The meter: one yardstick for every policy. It belongs to neither policy nor trace; the engine tells it of every
 * event.
 *
 * It keeps four gauges exactly (requested <= allocated <= active <= reserved, unless frees are pending), their peaks,
 * and what all of them were at the peak of reserved. result_columns.def says what results call these.
 */
#ifndef REPLAY_REPORT_MEASURE_METER_H
#define REPLAY_REPORT_MEASURE_METER_H

#include "base/err.h"
#include "base/event.h"
#include "policies/policy.h"
#include "sim/device.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* X(name, meaning), in bytes: exact current values and peaks at every event. */
#define METER_GAUGES(X)                                                                                     \
    X(requested, "bytes of live requests, as asked for")                                                    \
    X(allocated, "bytes of live requests, as handed out")                                                   \
    X(active, "allocated, and freed blocks that a stream may still touch")                                  \
    X(reserved, "all bytes that the policy has from the device")

/* X(name, meaning): counts since the start. */
#define METER_COUNTERS(X)                                                                                   \
    X(allocs, "requests served")                                                                            \
    X(frees, "requests freed")                                                                           \
    X(ooms, "requests refused")                                                                             \
    X(survived, "requests that were refused when recorded and served here")

/* X(name, unit, meaning): taken at samples. */
#define METER_SAMPLES(X)                                                                                    \
    X(inactive_split, "bytes", "free bytes in segments that also hold active blocks")                       \
    X(largest_free, "bytes", "largest free block")                                                          \
    X(segments, "count", "segments that the policy has")

struct meter_bytes {
#define METER_GAUGE(name, meaning) uint64_t name;
    METER_GAUGES(METER_GAUGE)
#undef METER_GAUGE
};

struct meter_sample {
    uint64_t event;                  /* events before it */
    uint64_t time_ns;
    struct meter_bytes now;
#define METER_SAMPLE(name, unit, meaning) uint64_t name;
    METER_SAMPLES(METER_SAMPLE)
#undef METER_SAMPLE
    uint32_t label;                  /* of a mark; UINT32_MAX: none */
};

/* The first refusal. */
struct meter_oom {
    int64_t  event;                  /* our number of the event; -1: before the first event */
    uint64_t requested_bytes;
    uint64_t live_bytes;             /* requested and live, without the request */
    uint64_t allocated_bytes;
    uint64_t reserved_bytes;
    uint64_t device_free_bytes;
    struct refusal refusal;          /* what the program would have seen */
};

/* A part of a run, which ends before a given event (replay_config.borders): what precedes the first whole step, that
 * step, and all later whole steps together. */
enum meter_part_name { METER_BEFORE_STEPS, METER_FIRST_STEP, METER_LATER_STEPS, METER_PARTS };

struct meter_part {
    bool     is_whole;               /* the run came to its end */
    uint64_t peak_reserved_bytes;    /* most reserved at once during it */
    uint64_t calls, time_ns;         /* of the device, during it */
};

/* Per segment of the device: its active blocks, and its memory when the meter last looked. */
struct meter_segment {
    uint64_t bytes;
    uint64_t n_active;
};

struct meter {
    struct meter_bytes now, peak;
    struct meter_bytes at_peak;      /* all gauges at the peak of reserved: of its moments the first with most live */
    struct meter_bytes at_live_peak; /* all gauges when requested last rose to a new peak */
    struct meter_sample at_peak_sample;
#define METER_COUNTER(name, meaning) uint64_t name;
    METER_COUNTERS(METER_COUNTER)
#undef METER_COUNTER
    uint64_t split_bytes;            /* memory of segments with active blocks; minus active: the inactive split */
    uint64_t inactive_split_peak;    /* exact */
    struct meter_segment *segments;  /* by segment id of the device */
    uint32_t n_segments;
    uint64_t device_changes_seen;    /* UINT64_MAX: meter_settle must run, whatever the device did */
    uint64_t device_maps_seen;       /* those of them that concern memory of a range */
    struct meter_oom first_oom;      /* valid when ooms > 0 */
    struct meter_part parts[METER_PARTS];
    unsigned n_parts;                /* that have ended */
    struct meter_part part_start;    /* what was counted when the present part began; its peak: so far */
    double   reserved_byte_ns;       /* `now.reserved`, each value times how long it lasted, */
    uint64_t reserved_since_ns;      /* up to here */
};

/* Frees the table of segments; the numbers stay readable. */
void meter_close(struct meter *m);

/* Makes room for a segment id. ERR_CORRUPT for one that the device never gave out, ERR_HOST_NOMEM. */
MUST_USE enum err meter_grow(struct meter *m, const struct device *device, uint32_t segment, struct err_detail *err);

/* Call this after the device was called: it reads what is reserved now, and keeps the state at a new peak. `event` and
 * `time_ns` are those of the current event. */
void meter_device_moved(struct meter *m, const struct policy *p, uint64_t event, uint64_t time_ns);

/* All values at this moment. */
struct meter_sample meter_sample_now(const struct meter *m, const struct policy *p, uint64_t event, uint64_t time_ns);

/* ---- what the engine calls for every event; inline, because real calls would halve its speed ---- */

static inline void meter_raise(uint64_t *peak, uint64_t now)
{
    if (now > *peak)
        *peak = now;
}

static inline uint64_t meter_inactive_split(const struct meter *m)
{
    return m->split_bytes > m->now.active ? m->split_bytes - m->now.active : 0;
}

/* Keeps this moment as the one of the peak of reserved. */
void meter_keep_peak(struct meter *m, const struct policy *p, uint64_t event, uint64_t time_ns);

/* Whether reserved is at its peak with more live than when it was before. */
static inline bool meter_is_fuller(const struct meter *m)
{
    return m->now.reserved == m->peak.reserved && m->now.requested > m->at_peak.requested;
}

/* Ends the accounting of an event, after gauges and segments have been updated: reads the device if it was called, then
 * raises the peak of the inactive split. */
static inline void meter_settle(struct meter *m, const struct policy *p, uint64_t event, uint64_t time_ns)
{
    if (p->device->usage.changes != m->device_changes_seen)
        meter_device_moved(m, p, event, time_ns);
    if (meter_is_fuller(m))
        meter_keep_peak(m, p, event, time_ns);
    meter_raise(&m->inactive_split_peak, meter_inactive_split(m));
}

/* A request was served; its segment id is below n_segments. Returns false if meter_settle would find nothing to do: the
 * device was not called, the block lies in a segment that was active before, and the peak is no fuller. */
static inline bool meter_alloc(struct meter *m, const struct device *device, uint64_t requested, const struct block *b)
{
    assert(b->segment < m->n_segments);
    struct meter_segment *s = &m->segments[b->segment];
    const bool was_idle = s->n_active++ == 0;
    if (was_idle) {
        s->bytes = device->segments[b->segment].mapped_bytes;
        m->split_bytes += s->bytes;
    }
    m->now.requested += requested;
    meter_raise(&m->peak.allocated, m->now.allocated += b->bytes);
    meter_raise(&m->peak.active, m->now.active += b->bytes);
    if (m->now.requested > m->peak.requested) {
        m->peak.requested = m->now.requested;
        m->at_live_peak = m->now;
        m->at_live_peak.reserved = device->usage.reserved_bytes;
    }
    return was_idle || meter_is_fuller(m) || device->usage.changes != m->device_changes_seen;
}

/* The run ends. */
void meter_end(struct meter *m, uint64_t time_ns);

/* The mean of what was reserved, over the time of the trace; 0: the trace has no times, or the run has not ended. */
static inline uint64_t meter_mean_reserved(const struct meter *m)
{
    return m->reserved_since_ns == 0 ? 0 : (uint64_t)(m->reserved_byte_ns / (double)m->reserved_since_ns);
}

/* The present part of the run ends, and the next one begins. */
void meter_end_part(struct meter *m, const struct device *device);

/* An active block left one segment for another. */
void meter_move(struct meter *m, const struct device *device, uint32_t from, uint32_t to);

/* The program freed a block, but a stream may still touch it. */
static inline void meter_retire(struct meter *m, const struct block *b)
{
    m->now.allocated -= b->bytes;
}

/* A retired block is reusable. */
static inline void meter_complete(struct meter *m, uint64_t requested, const struct block *b)
{
    struct meter_segment *s = &m->segments[b->segment];
    assert(s->n_active > 0);         /* sums are not checked: a plugin may answer any size */
    if (--s->n_active == 0)
        m->split_bytes -= s->bytes;
    m->now.requested -= requested;
    m->now.active -= b->bytes;
}

/* The same, during an event of another block. */
static inline void meter_complete_early(struct meter *m, uint64_t requested, const struct block *b)
{
    meter_complete(m, requested, b);
    m->device_changes_seen = UINT64_MAX;
}

#endif
