/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The recording in memory, and what has to be inferred to repeat it.
 *
 * Addresses: the driver chose them, not the allocator. So the n-th segment of the policy gets the address of the n-th
 * recorded segment.
 *
 * Room on the card: every recorded growth fits the recorded peak, and every refused one exceeded it. So a device that
 * holds just the recorded peak refuses exactly what the real card refused.
 */
#include "replay/recording/verify_scene.h"

#include "base/array.h"
#include "base/torch_sizes.h"
#include "base/units.h"
#include "policies/pytorch/pytorch_rules.h"
#include "replay/recording/mapped_ranges.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASSUMED_TOTAL TIB                /* memory of a card whose size is unknown: only address ranges depend on it */
enum { OFFER_LOOKAHEAD = 4096 };         /* segment events; a genuine recording has the next of a home far sooner */

/* ---- the scene ---- */

void scene_close(struct scene *s)
{
    free(s->events);
    free(s->sides);
    free(s->takes_addresses);
    start_state_close(&s->start);
}

static enum err scene_read_events(struct scene *s, struct err_detail *err)
{
    s->events = malloc(array_bytes(s->info->events + 1, sizeof *s->events));
    s->sides = malloc(array_bytes(s->info->events + 1, sizeof *s->sides));
    if (s->events == NULL || s->sides == NULL)
        return err_no_memory(err);
    enum err e = trace_seek(s->trace, 0, err);
    while (e == ERR_OK) {
        const struct event *chunk;
        size_t n;
        e = trace_next(s->trace, &chunk, &n, err);
        if (e != ERR_OK || n == 0)
            break;
        memcpy(s->events + s->n_events, chunk, n * sizeof *chunk);
        s->n_events += n;
    }
    return e == ERR_OK ? trace_sides(s->trace, 0, s->n_events, s->sides, err) : e;
}

/* The home of mapped memory: stream, pool and size class of its request. */
static uint64_t home_of(uint16_t stream, uint8_t pool, bool is_small)
{
    return (uint64_t)stream << 16 | (uint64_t)pool << 8 | is_small;
}

static uint64_t home_of_request(const struct event *ev)
{
    return home_of(ev->stream, ev->pool, ev->bytes <= TORCH_SMALL_MAX);
}

/* Of a segment event, by the request that it was made for; if there is none, its pages tell the size class. */
static uint64_t home_of_segment(const struct scene *s, const struct trace_segment_event *g)
{
    const bool is_small = g->before < s->n_events ? s->events[g->before].bytes <= TORCH_SMALL_MAX
                                                  : g->bytes % TORCH_LARGE_SEGMENT != 0;
    return home_of(g->stream, g->pool, is_small);
}

/* All mappings: those of the start, then the events, in order. To be freed; NULL without memory. */
static struct mapped_piece *list_mappings(const struct scene *s, uint32_t *n)
{
    struct mapped_piece *at = malloc(array_bytes((uint64_t)s->n_start + s->n_segments + 1, sizeof *at));
    *n = 0;
    for (size_t i = 0; i < s->n_start && at != NULL; i++) {
        const struct trace_segment *g = &s->start_segments[i];
        if (g->is_range)
            at[(*n)++] = (struct mapped_piece){g->addr, g->bytes, home_of(g->stream, g->pool, g->is_small)};
    }
    for (size_t i = 0; i < s->n_segments && at != NULL; i++) {
        const struct trace_segment_event *g = &s->segments[i];
        if (g->kind == TRACE_SEGMENT_MAP)
            at[(*n)++] = (struct mapped_piece){g->addr, g->bytes, home_of_segment(s, g)};
    }
    return at;
}

/* Sets takes_addresses and n_taking. */
static void mark_taking(struct scene *s, struct mapped_ranges *ranges)
{
    uint32_t number = 0;
    for (size_t i = 0; i < s->n_start; i++)
        if (s->start_segments[i].is_range)
            mapped_ranges_map(ranges, number++);
    s->n_taking = 0;
    for (size_t i = 0; i < s->n_segments; i++) {
        const struct trace_segment_event *g = &s->segments[i];
        s->takes_addresses[i] = g->kind == TRACE_SEGMENT_ALLOC;
        if (g->kind == TRACE_SEGMENT_MAP)
            s->takes_addresses[i] = mapped_ranges_map(ranges, number++);
        else if (g->kind == TRACE_SEGMENT_UNMAP)
            mapped_ranges_unmap(ranges, g->addr, g->bytes);
        if (s->takes_addresses[i])
            s->n_taking = i + 1;
    }
}

enum err scene_mark_reservations(struct scene *s, uint64_t total_bytes)
{
    const uint64_t total = total_bytes != 0 ? total_bytes : ASSUMED_TOTAL;
    struct mapped_ranges ranges = {.n = 0};
    uint32_t n;
    struct mapped_piece *pieces = list_mappings(s, &n);
    const enum err e = pieces == NULL ? ERR_HOST_NOMEM : mapped_ranges_open(&ranges, pieces, n, total + total / 8);
    if (e == ERR_OK)
        mark_taking(s, &ranges);
    mapped_ranges_close(&ranges);
    free(pieces);
    return e;
}

/* The most bytes reserved at once, each piece in whole pages of the driver. */
static uint64_t scene_peak(const struct scene *s)
{
    uint64_t held = 0;
    for (size_t i = 0; i < s->n_start; i++)
        held += align_up(s->start_segments[i].bytes, DEVICE_PAGE_BYTES);
    uint64_t peak = held;
    for (size_t i = 0; i < s->n_segments; i++) {
        const uint64_t bytes = align_up(s->segments[i].bytes, DEVICE_PAGE_BYTES);
        held += segment_grows(&s->segments[i]) ? bytes : -bytes;
        peak = held > peak ? held : peak;
    }
    return peak;
}

/* The memory of the recorded card, from its first OOM record: reserved plus free at that moment. 0: there is none. */
static uint64_t scene_total(const struct scene *s)
{
    uint64_t held = s->info->recorded_start_reserved_bytes;
    size_t g = 0;
    for (size_t i = 0; i < s->n_events; i++) {
        for (; g < s->n_segments && s->segments[g].before <= i; g++)
            held += segment_grows(&s->segments[g]) ? s->segments[g].bytes : -s->segments[g].bytes;
        if (s->events[i].kind == EVENT_OOM)
            return add_capped(held, s->sides[i].addr);
    }
    return 0;
}

enum err scene_open(struct trace_reader *in, uint64_t total_bytes, struct scene *s, struct err_detail *err)
{
    *s = (struct scene){.trace = in, .info = trace_info(in)};
    if (!s->info->has_addresses)
        return err_set(err, ERR_UNSUPPORTED, 0, "the trace has no recorded addresses to compare with");
    if (s->info->events > SIZE_MAX / sizeof(struct trace_side) / 2)
        return err_set(err, ERR_UNSUPPORTED, 0, "too many events to hold in memory");
    s->start_segments = trace_start_segments(in, &s->n_start);
    s->live = trace_start_blocks(in, &s->n_live);
    enum err e = trace_segment_events(in, &s->segments, &s->n_segments, err);
    if (e == ERR_OK)
        e = start_state_read(in, &s->start, err);
    if (e == ERR_OK)
        e = scene_read_events(s, err);
    if (e != ERR_OK)
        return e;
    assert(s->n_events == s->info->events);
    s->room_bytes = scene_peak(s);
    s->total_bytes = total_bytes != 0 ? total_bytes : scene_total(s);
    s->takes_addresses = calloc(s->n_segments + 1, sizeof *s->takes_addresses);
    e = s->takes_addresses == NULL ? ERR_HOST_NOMEM : scene_mark_reservations(s, s->total_bytes);
    return e == ERR_OK ? e : err_set(err, e, 0, "no memory for the recorded addresses");
}

/* ---- the stage: device and policy for one pass ---- */

enum err stage_close(struct stage *g, enum err e, struct err_detail *err)
{
    if (g->is_nomem || (g->policy != NULL && g->policy->failure != ERR_OK))
        e = err_no_memory(err);
    policy_destroy(g->policy);
    device_close(g->device);
    free(g->blocks);
    return e;
}

size_t verify_option_index(const struct policy_ops *ops, const char *name)
{
    size_t i = 0;
    while (strcmp(ops->options[i].name, name) != 0) {
        i++;
        assert(i < POLICY_OPTIONS_MAX && ops->options[i].name != NULL);
    }
    return i;
}

/* Opens a device that gives the recorded addresses. is_full: with room for the recorded peak only. */
static enum err stage_open_device(const struct scene *s, const struct setting *t, bool is_full,
                                  struct device **out, struct err_detail *err)
{
    struct device_config cfg = device_defaults();
    cfg.packing = false;
    cfg.addresses = ADDRESSES_LIST;
    cfg.address_list = s->start.addresses;
    cfg.n_addresses = s->start.n_addresses;
    const uint64_t known = t->total_bytes != 0 ? t->total_bytes : t->limit_bytes;
    cfg.total_bytes = known != 0 ? known : is_full ? ASSUMED_TOTAL : DEVICE_UNLIMITED;
    if (is_full && !t->is_total_given && s->room_bytes < cfg.total_bytes)
        cfg.others_bytes = cfg.total_bytes - s->room_bytes;
    return device_open(&device_sim, &cfg, out, err);
}

/* Sets a memory limit on trial: as a share of the card if its size is known; otherwise the card is as large as that. */
static void set_limit(const struct setting *t, struct option_value *values)
{
    struct option_value *fraction = &values[verify_option_index(t->policy->ops, "fraction")];
    if (t->total_bytes == 0) {
        values[verify_option_index(t->policy->ops, "limit-device")].number = 1;
        return;
    }
    fraction->is_set = true;
    fraction->ratio = (double)t->limit_bytes / (double)t->total_bytes;
}

enum err stage_open(const struct scene *s, const struct setting *t, bool is_full, struct stage *g,
                    struct err_detail *err)
{
    *g = (struct stage){0};
    g->blocks = calloc((size_t)s->info->peak_live + 1, sizeof *g->blocks);
    if (g->blocks == NULL)
        return err_no_memory(err);
    enum err e = stage_open_device(s, t, is_full, &g->device, err);
    if (e != ERR_OK)
        return e;
    struct option_value values[POLICY_OPTIONS_MAX];
    memcpy(values, t->policy->values, sizeof values);
    struct option_value *version = &values[verify_option_index(t->policy->ops, "version")];
    if (!version->is_given)
        version->text = t->version;
    if (t->limit_bytes != 0)
        set_limit(t, values);
    const struct policy_config cfg = {
        .device = g->device, .ordinal = s->info->device, .peak_live = s->info->peak_live, .values = values,
        .streams = trace_streams(s->trace), .n_streams = s->info->n_streams,
        .pools = trace_pools(s->trace), .n_pools = s->info->n_pools,
    };
    e = policy_create(t->policy->ops, &cfg, &g->policy, err);
    if (e != ERR_OK || s->n_start == 0)
        return e;
    struct err_detail reason = {.text = ""};
    e = g->policy->ops->restore(g->policy, s->start_segments, s->n_start, s->live, s->n_live, g->blocks, &reason);
    if (e != ERR_OK && e != ERR_HOST_NOMEM)
        return err_set(err, ERR_FORMAT, reason.offset, "the record contradicts itself: %s", reason.text);
    return e;
}

void stage_offer(struct stage *g, uint64_t addr)
{
    g->offered = addr;
    device_list_addresses(g->device, &g->offered, 1);
}

void stage_offer_recorded(struct stage *g, const struct scene *s, size_t i, size_t next)
{
    const uint64_t home = home_of_request(&s->events[i]);
    const size_t end = next + OFFER_LOOKAHEAD < s->n_taking ? next + OFFER_LOOKAHEAD : s->n_taking;
    for (; next < end; next++) {
        const struct trace_segment_event *r = &s->segments[next];
        if (s->takes_addresses[next] && (r->kind == TRACE_SEGMENT_ALLOC || home_of_segment(s, r) == home)) {
            stage_offer(g, r->addr);
            return;
        }
    }
    device_list_addresses(g->device, NULL, 0);
}

void stage_free(struct stage *g, const struct event *ev)
{
    if (g->blocks[ev->slot].bytes != 0)
        g->policy->ops->free(g->policy, ev, &g->blocks[ev->slot]);
}

void stage_on_completed(void *stage, uint32_t slot)
{
    ((struct stage *)stage)->blocks[slot].bytes = 0;
}

/* ---- comparing ---- */

const char *const verify_segment_words[] = {"segment_alloc", "segment_free", "segment_map", "segment_unmap"};

bool pass_differ(struct verify_pass *pass, const struct scene *s, size_t i, const char *fmt, ...)
{
    assert(i <= s->n_events);
    if (pass->has_difference)
        return false;
    va_list args;
    va_start(args, fmt);
    pass->has_difference = true;
    pass->first.event = i;
    pass->first.record = i < s->n_events ? s->sides[i].record : s->info->records;
    vsnprintf(pass->first.text, sizeof pass->first.text, fmt, args);
    va_end(args);
    return true;
}

/* Visits blocks by address and appends the one at `addr`, and the one before it, to the first difference. */
struct around {
    struct verify_pass *pass;
    uint64_t addr;
    struct block_view before;
};

static void around_visit(void *arg, const struct block_view *b)
{
    static const char *const states[] = {"free", "allocated", "pending", "unmapped"};
    struct around *a = arg;
    char *text = a->pass->first.text;
    const size_t n = strlen(text), room = sizeof a->pass->first.text - n;
    if (a->addr >= b->addr && a->addr - b->addr < b->bytes) {
        if (a->before.bytes != 0 && a->before.segment == b->segment)
            snprintf(text + n, room, "; there: 0x%" PRIx64 " %" PRIu64 " B %s, 0x%" PRIx64 " %" PRIu64 " B %s",
                     a->before.addr, a->before.bytes, states[a->before.state], b->addr, b->bytes, states[b->state]);
        else
            snprintf(text + n, room, "; there: 0x%" PRIx64 " %" PRIu64 " B %s", b->addr, b->bytes, states[b->state]);
    }
    a->before = *b;
}

void pass_show_around(struct verify_pass *pass, const struct policy *p, uint64_t addr)
{
    struct around a = {.pass = pass, .addr = addr};
    (void)p->ops->walk(p, around_visit, &a);     /* if the host has no memory, the sentence ends here */
}

void pass_compare_reserved(struct verify_pass *pass, const struct scene *s, size_t i, uint64_t recorded, uint64_t ours)
{
    pass->reserved.compared++;
    pass->reserved.equal += recorded == ours;
    if (recorded != ours)
        pass_differ(pass, s, i, "reserved after the event: expected %" PRIu64 " bytes, recorded %" PRIu64, ours,
                    recorded);
}
