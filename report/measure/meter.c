/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The rare paths of the meter: after a call of the device, and for a sample. */
#include "report/measure/meter.h"

#include <stdlib.h>
#include <string.h>

void meter_close(struct meter *m)
{
    free(m->segments);
    m->segments = NULL;
    m->n_segments = 0;
}

enum err meter_grow(struct meter *m, const struct device *device, uint32_t segment, struct err_detail *err)
{
    if (segment >= device->n_segments)
        return err_set(err, ERR_CORRUPT, 0, "the block lies in segment %u, which the device never gave out", segment);
    const uint32_t n = device->n_segments > UINT32_MAX / 2 ? UINT32_MAX : 2 * device->n_segments;
    struct meter_segment *grown = realloc(m->segments, (size_t)n * sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    memset(grown + m->n_segments, 0, (size_t)(n - m->n_segments) * sizeof *grown);
    m->segments = grown;
    m->n_segments = n;
    return ERR_OK;
}

void meter_end_part(struct meter *m, const struct device *device)
{
    const struct device_usage *u = &device->usage;
    const struct meter_part *start = &m->part_start;
    assert(m->n_parts < METER_PARTS);
    m->parts[m->n_parts++] = (struct meter_part){ .is_whole = true, .peak_reserved_bytes = start->peak_reserved_bytes,
                                                  .calls = u->calls - start->calls,
                                                  .time_ns = u->time_ns - start->time_ns };
    m->part_start = (struct meter_part){ .peak_reserved_bytes = u->reserved_bytes, .calls = u->calls,
                                         .time_ns = u->time_ns };
}

void meter_move(struct meter *m, const struct device *device, uint32_t from, uint32_t to)
{
    struct meter_segment *s = &m->segments[to], *was = &m->segments[from];
    if (s->n_active++ == 0) {
        s->bytes = device->segments[to].mapped_bytes;
        m->split_bytes += s->bytes;
    }
    if (--was->n_active == 0)
        m->split_bytes -= was->bytes;
    m->device_changes_seen = UINT64_MAX;
}

/* A range can gain and lose memory while blocks are active in it; a whole segment cannot. */
static void meter_look_at_ranges(struct meter *m, struct device *device)
{
    for (uint32_t id; device->moved != 0;) {
        id = device->moved - 1;
        struct segment_state *range = &device->segments[id];
        device->moved = range->next_moved;
        range->is_moved = false;
        if (id >= m->n_segments || m->segments[id].n_active == 0)
            continue;
        struct meter_segment *s = &m->segments[id];
        m->split_bytes = m->split_bytes - s->bytes + range->mapped_bytes;
        s->bytes = range->mapped_bytes;
    }
}

/* What was reserved until now lasted until now. */
static void meter_pass_time(struct meter *m, uint64_t time_ns)
{
    m->reserved_byte_ns += (double)m->now.reserved * (double)(time_ns - m->reserved_since_ns);
    m->reserved_since_ns = time_ns;
}

void meter_end(struct meter *m, uint64_t time_ns)
{
    meter_pass_time(m, time_ns);
}

void meter_device_moved(struct meter *m, const struct policy *p, uint64_t event, uint64_t time_ns)
{
    const struct device_usage *u = &p->device->usage;
    m->device_changes_seen = u->changes;
    meter_pass_time(m, time_ns);
    const uint64_t maps = u->maps + u->unmaps + u->recounts;
    if (maps != m->device_maps_seen) {
        m->device_maps_seen = maps;
        meter_look_at_ranges(m, p->device);
    }
    m->now.reserved = u->reserved_bytes;
    meter_raise(&m->part_start.peak_reserved_bytes, u->reserved_bytes);
    if (u->reserved_peak_bytes <= m->peak.reserved)
        return;
    m->peak.reserved = u->reserved_peak_bytes;
    meter_raise(&m->part_start.peak_reserved_bytes, m->peak.reserved);
    meter_keep_peak(m, p, event, time_ns);
}

void meter_keep_peak(struct meter *m, const struct policy *p, uint64_t event, uint64_t time_ns)
{
    m->at_peak_sample = meter_sample_now(m, p, event, time_ns);
    m->at_peak_sample.now.reserved = m->peak.reserved;       /* it may have been higher during the event */
    m->at_peak = m->at_peak_sample.now;
}

struct meter_sample meter_sample_now(const struct meter *m, const struct policy *p, uint64_t event, uint64_t time_ns)
{
    return (struct meter_sample){
        .event          = event,
        .time_ns        = time_ns,
        .now            = m->now,
        .inactive_split = meter_inactive_split(m),
        .largest_free   = policy_largest_free(p),
        .segments       = p->device->usage.segments + p->device->usage.ranges,
        .label          = UINT32_MAX,
    };
}
