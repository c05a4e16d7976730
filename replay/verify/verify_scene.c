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
#include "replay/verify/verify_scene.h"

#include "base/array.h"
#include "base/torch_sizes.h"
#include "base/units.h"
#include "policies/pytorch/pytorch_rules.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASSUMED_TOTAL TIB                /* memory of a card whose size is unknown: only address ranges depend on it */

/* ---- the scene ---- */

void scene_close(struct scene *s)
{
    free(s->events);
    free(s->sides);
    free(s->takes_addresses);
    start_state_close(&s->start);
}

static enum err scene_read_events(struct scene *s, struct err_detail *why)
{
    s->events = malloc(array_bytes(s->info->events + 1, sizeof *s->events));
    s->sides = malloc(array_bytes(s->info->events + 1, sizeof *s->sides));
    if (s->events == NULL || s->sides == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for %" PRIu64 " events", s->info->events);
    enum err e = trace_seek(s->trace, 0, why);
    while (e == ERR_OK) {
        const struct event *chunk;
        size_t n;
        e = trace_next(s->trace, &chunk, &n, why);
        if (e != ERR_OK || n == 0)
            break;
        memcpy(s->events + s->n_events, chunk, n * sizeof *chunk);
        s->n_events += n;
    }
    return e == ERR_OK ? trace_sides(s->trace, 0, s->n_events, s->sides, why) : e;
}

/* An address range as the record shows it: where it starts and how much is mapped in it. With nothing mapped any more
 * the range is gone. */
struct scene_range {
    uint64_t base, mapped;
    uint16_t stream;
    uint8_t  pool;
    bool     is_small, is_gone;
};

struct scene_ranges {
    struct scene_range *at;
    size_t n, cap;
    uint64_t reach_bytes;                /* the most that a range can be long */
};

static struct scene_range *ranges_find(struct scene_ranges *r, const struct scene_range *piece)
{
    for (size_t i = 0; i < r->n; i++) {
        struct scene_range *g = &r->at[i];
        if (!g->is_gone && g->stream == piece->stream && g->pool == piece->pool && g->is_small == piece->is_small &&
            piece->base >= g->base && piece->base - g->base < r->reach_bytes)
            return g;
    }
    return NULL;
}

/* Notes a mapping. *is_new: it began a range. */
static enum err ranges_map(struct scene_ranges *r, const struct scene_range *piece, bool *is_new)
{
    struct scene_range *found = ranges_find(r, piece);
    *is_new = found == NULL;
    if (found != NULL) {
        found->mapped += piece->mapped;
        return ERR_OK;
    }
    struct scene_range *at = array_grow(r->at, r->n, &r->cap, sizeof *at);
    if (at == NULL)
        return ERR_HOST_NOMEM;
    r->at = at;
    at[r->n++] = *piece;
    return ERR_OK;
}

/* Notes an unmapping, in the range that starts closest below it. */
static void ranges_unmap(struct scene_ranges *r, uint64_t addr, uint64_t bytes)
{
    struct scene_range *found = NULL;
    for (size_t i = 0; i < r->n; i++)
        if (!r->at[i].is_gone && r->at[i].base <= addr && (found == NULL || r->at[i].base > found->base))
            found = &r->at[i];
    if (found == NULL)
        return;
    found->mapped -= bytes < found->mapped ? bytes : found->mapped;
    found->is_gone = found->mapped == 0;
}

/* The mapped piece of a segment event, with what tells ranges apart: stream, pool and size class of its request. */
static struct scene_range scene_piece(const struct scene *s, const struct trace_segment_event *g)
{
    const bool is_small =
        g->before < s->n_events ? s->events[g->before].bytes <= TORCH_SMALL_MAX : g->bytes % TORCH_LARGE_SEGMENT != 0;
    return (struct scene_range){g->addr, g->bytes, g->stream, g->pool, is_small, false};
}

static enum err scene_mark_event(struct scene *s, struct scene_ranges *ranges, size_t i)
{
    const struct trace_segment_event *g = &s->segments[i];
    const struct scene_range piece = scene_piece(s, g);
    enum err e = ERR_OK;
    s->takes_addresses[i] = g->kind == TRACE_SEGMENT_ALLOC;
    if (g->kind == TRACE_SEGMENT_MAP)
        e = ranges_map(ranges, &piece, &s->takes_addresses[i]);
    else if (g->kind == TRACE_SEGMENT_UNMAP)
        ranges_unmap(ranges, g->addr, g->bytes);
    if (s->takes_addresses[i])
        s->n_taking = i + 1;
    return e;
}

enum err scene_mark_reservations(struct scene *s, uint64_t total_bytes)
{
    const uint64_t total = total_bytes != 0 ? total_bytes : ASSUMED_TOTAL;
    struct scene_ranges ranges = {.reach_bytes = total + total / 8};
    enum err e = ERR_OK;
    bool is_new;
    s->n_taking = 0;
    for (size_t i = 0; i < s->n_start && e == ERR_OK; i++) {
        const struct trace_segment *g = &s->start_segments[i];
        if (g->is_range)
            e = ranges_map(&ranges, &(struct scene_range){g->addr, g->bytes, g->stream, g->pool, g->is_small, false},
                           &is_new);
    }
    for (size_t i = 0; i < s->n_segments && e == ERR_OK; i++)
        e = scene_mark_event(s, &ranges, i);
    free(ranges.at);
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

enum err scene_open(struct trace_reader *in, uint64_t total_bytes, struct scene *s, struct err_detail *why)
{
    *s = (struct scene){.trace = in, .info = trace_info(in)};
    if (!s->info->has_addresses)
        return err_set(why, ERR_UNSUPPORTED, 0, "the trace has no recorded addresses to compare with");
    if (s->info->events > SIZE_MAX / sizeof(struct trace_side) / 2)
        return err_set(why, ERR_UNSUPPORTED, 0, "too many events to hold in memory");
    s->start_segments = trace_start_segments(in, &s->n_start);
    s->live = trace_start_blocks(in, &s->n_live);
    enum err e = trace_segment_events(in, &s->segments, &s->n_segments, why);
    if (e == ERR_OK)
        e = start_state_read(in, &s->start, why);
    if (e == ERR_OK)
        e = scene_read_events(s, why);
    if (e != ERR_OK)
        return e;
    assert(s->n_events == s->info->events);
    s->room_bytes = scene_peak(s);
    s->total_bytes = total_bytes != 0 ? total_bytes : scene_total(s);
    s->takes_addresses = calloc(s->n_segments + 1, sizeof *s->takes_addresses);
    e = s->takes_addresses == NULL ? ERR_HOST_NOMEM : scene_mark_reservations(s, s->total_bytes);
    return e == ERR_OK ? e : err_set(why, e, 0, "no memory for the recorded addresses");
}

/* ---- the stage: device and policy for one pass ---- */

enum err stage_close(struct stage *g, enum err e, struct err_detail *why)
{
    if (g->is_nomem || (g->policy != NULL && g->policy->failure != ERR_OK))
        e = err_set(why, ERR_HOST_NOMEM, 0, "%s", err_text(ERR_HOST_NOMEM));
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
                                  struct device **out, struct err_detail *why)
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
    return device_open(&device_sim, &cfg, out, why);
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
                    struct err_detail *why)
{
    *g = (struct stage){0};
    g->blocks = calloc((size_t)s->info->peak_live + 1, sizeof *g->blocks);
    if (g->blocks == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for %" PRIu32 " live requests", s->info->peak_live);
    enum err e = stage_open_device(s, t, is_full, &g->device, why);
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
    e = policy_create(t->policy->ops, &cfg, &g->policy, why);
    if (e != ERR_OK || s->n_start == 0)
        return e;
    struct err_detail reason = {.text = ""};
    e = g->policy->ops->restore(g->policy, s->start_segments, s->n_start, s->live, s->n_live, g->blocks, &reason);
    if (e != ERR_OK && e != ERR_HOST_NOMEM)
        return err_set(why, ERR_FORMAT, reason.offset, "the record contradicts itself: %.180s", reason.text);
    return e;
}

void stage_offer(struct stage *g, uint64_t addr)
{
    g->offered = addr;
    device_list_addresses(g->device, &g->offered, 1);
}

void stage_offer_recorded(struct stage *g, const struct scene *s, size_t i, size_t next)
{
    const struct event *ev = &s->events[i];
    for (; next < s->n_taking; next++) {
        const struct trace_segment_event *r = &s->segments[next];
        const struct scene_range piece = scene_piece(s, r);
        const bool is_alike = piece.stream == ev->stream && piece.pool == ev->pool &&
                              piece.is_small == (ev->bytes <= TORCH_SMALL_MAX);
        if (s->takes_addresses[next] && (r->kind == TRACE_SEGMENT_ALLOC || is_alike)) {
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
