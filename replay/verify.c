/*
 * The two passes, and what has to be inferred for them: addresses that the driver chose, room that the device had.
 *
 * The n-th segment gets the address that the record gives its n-th, because the driver's choice is not the
 * allocator's. Room: every growth that was recorded fits the recorded peak, and every refusal exceeded it, so a device
 * that holds just the recorded peak refuses exactly what the real one refused.
 */
#include "replay/verify.h"

#include "base/units.h"
#include "policies/policy.h"
#include "policies/pytorch_follow.h"
#include "policies/pytorch_profile.h"
#include "policies/spec.h"
#include "replay/recorded.h"
#include "sim/device.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_MAX MIB                    /* largest request that the small pool serves */
#define ASSUMED_TOTAL TIB                /* of a device whose total is unknown: only reservations depend on it */

/* ---- the scene: everything that was recorded, in memory ---- */

struct scene {
    struct trace_reader *trace;
    const struct trace_info *info;
    struct event *events;
    struct trace_side *sides;
    size_t n_events;
    const struct trace_segment_event *segments;
    size_t n_segments;
    const struct trace_segment *start;
    size_t n_start;
    const struct trace_block *live;
    size_t n_live;
    uint64_t *addresses;                 /* that the device hands out, in order */
    size_t n_addresses;
    uint64_t total_bytes;                /* of the recorded device, as given or as an OOM record shows it; 0: unknown */
};

static bool segment_grows(const struct trace_segment_event *g)
{
    return g->kind == TRACE_SEGMENT_ALLOC || g->kind == TRACE_SEGMENT_MAP;
}

static void scene_close(struct scene *s)
{
    free(s->events);
    free(s->sides);
    free(s->addresses);
}

static enum err scene_read_events(struct scene *s, struct err_detail *why)
{
    s->events = malloc((s->info->events + 1) * sizeof *s->events);
    s->sides = malloc((s->info->events + 1) * sizeof *s->sides);
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

/* A reservation as the record shows it: where it starts and what is mapped in it. */
struct scene_range {
    uint64_t base, mapped;
    uint16_t stream;
    uint8_t  pool;
    bool     is_small;
};

struct scene_ranges {
    struct scene_range *at;
    size_t n, cap;
    uint64_t reach_bytes;                /* how far a reservation reaches at most */
};

static struct scene_range *ranges_find(struct scene_ranges *r, const struct scene_range *piece)
{
    for (size_t i = 0; i < r->n; i++) {
        struct scene_range *g = &r->at[i];
        if (g->mapped > 0 && g->stream == piece->stream && g->pool == piece->pool && g->is_small == piece->is_small &&
            piece->base >= g->base && piece->base - g->base < r->reach_bytes)
            return g;
    }
    return NULL;
}

/* Memory is mapped. *is_new: by making a reservation. */
static enum err ranges_map(struct scene_ranges *r, const struct scene_range *piece, bool *is_new)
{
    struct scene_range *found = ranges_find(r, piece);
    *is_new = found == NULL;
    if (found != NULL) {
        found->mapped += piece->mapped;
        return ERR_OK;
    }
    if (r->n == r->cap) {
        const size_t cap = r->cap == 0 ? 8 : 2 * r->cap;
        struct scene_range *at = realloc(r->at, cap * sizeof *at);
        if (at == NULL)
            return ERR_HOST_NOMEM;
        r->at = at;
        r->cap = cap;
    }
    r->at[r->n++] = *piece;
    return ERR_OK;
}

/* Memory is unmapped: of the reservation that starts closest below. */
static void ranges_unmap(struct scene_ranges *r, uint64_t addr, uint64_t bytes)
{
    struct scene_range *found = NULL;
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].mapped > 0 && r->at[i].base <= addr && (found == NULL || r->at[i].base > found->base))
            found = &r->at[i];
    if (found != NULL)
        found->mapped -= bytes < found->mapped ? bytes : found->mapped;
}

static bool scene_serves_small(const struct scene *s, const struct trace_segment_event *g)
{
    return g->before < s->n_events ? s->events[g->before].bytes <= SMALL_MAX : g->bytes % (20 * MIB) != 0;
}

/* The address of each ordinary segment and each reservation, in the order in which a policy asks for them. */
static enum err scene_list_addresses(struct scene *s, struct err_detail *why)
{
    const uint64_t total = s->total_bytes != 0 ? s->total_bytes : ASSUMED_TOTAL;
    struct scene_ranges ranges = {.reach_bytes = total + total / 8};
    enum err e = ERR_OK;
    bool is_new = true;
    s->addresses = malloc((s->n_start + s->n_segments + 1) * sizeof *s->addresses);
    if (s->addresses == NULL)
        e = ERR_HOST_NOMEM;
    for (size_t i = 0; i < s->n_start && e == ERR_OK; i++) {
        const struct trace_segment *g = &s->start[i];
        is_new = true;
        if (g->is_range)
            e = ranges_map(&ranges, &(struct scene_range){g->addr, g->bytes, g->stream, g->pool, g->is_small}, &is_new);
        if (is_new)
            s->addresses[s->n_addresses++] = g->addr;
    }
    for (size_t i = 0; i < s->n_segments && e == ERR_OK; i++) {
        const struct trace_segment_event *g = &s->segments[i];
        is_new = g->kind == TRACE_SEGMENT_ALLOC;
        if (g->kind == TRACE_SEGMENT_MAP)
            e = ranges_map(&ranges, &(struct scene_range){g->addr, g->bytes, g->stream, g->pool, scene_serves_small(s, g)},
                           &is_new);
        else if (g->kind == TRACE_SEGMENT_UNMAP)
            ranges_unmap(&ranges, g->addr, g->bytes);
        if (is_new)
            s->addresses[s->n_addresses++] = g->addr;
    }
    free(ranges.at);
    return e == ERR_OK ? e : err_set(why, e, 0, "no memory for the recorded addresses");
}

/* Total of the recorded device as an OOM record shows it: what was held then and what was free. 0: none does. */
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

static enum err scene_open(struct trace_reader *in, uint64_t total_bytes, struct scene *s, struct err_detail *why)
{
    *s = (struct scene){.trace = in, .info = trace_info(in)};
    if (!s->info->has_addresses)
        return err_set(why, ERR_UNSUPPORTED, 0, "the trace has no recorded addresses to compare with");
    if (s->info->events > SIZE_MAX / sizeof(struct trace_side) / 2)
        return err_set(why, ERR_UNSUPPORTED, 0, "too many events to hold in memory");
    s->start = trace_start_segments(in, &s->n_start);
    s->live = trace_start_blocks(in, &s->n_live);
    enum err e = trace_segment_events(in, &s->segments, &s->n_segments, why);
    if (e == ERR_OK)
        e = scene_read_events(s, why);
    if (e != ERR_OK)
        return e;
    s->total_bytes = total_bytes != 0 ? total_bytes : scene_total(s);
    return scene_list_addresses(s, why);
}

/* ---- the stage: device and policy for one pass ---- */

/* How a pass is set up. */
struct setting {
    const struct policy_spec *policy;
    const char *version;                 /* used where the policy names none */
    uint64_t total_bytes;                /* 0: unknown */
    uint64_t limit_bytes;                /* memory limit found by trial; 0: as the policy sets it */
};

struct stage {
    struct device *device;
    struct policy *policy;
    struct block *blocks;                /* by slot */
};

static void stage_close(struct stage *g)
{
    policy_destroy(g->policy);
    device_close(g->device);
    free(g->blocks);
}

/* Where an option of that name stands in the policy's list. */
static size_t option_index(const struct policy_ops *ops, const char *name)
{
    size_t i = 0;
    while (strcmp(ops->options[i].name, name) != 0)
        i++;
    return i;
}

/* A device with the recorded addresses that has room for `room_bytes` (DEVICE_UNLIMITED: for everything). */
static enum err stage_open_device(const struct scene *s, const struct setting *t, uint64_t room_bytes,
                                  struct device **out, struct err_detail *why)
{
    struct device_config cfg = device_defaults();
    cfg.packing = false;
    cfg.addresses = ADDRESSES_LIST;
    cfg.address_list = s->addresses;
    cfg.n_addresses = s->n_addresses;
    const uint64_t known = t->limit_bytes != 0 ? t->limit_bytes : t->total_bytes;
    cfg.total_bytes = known != 0 ? known : ASSUMED_TOTAL;
    if (room_bytes == DEVICE_UNLIMITED)
        cfg.total_bytes = known != 0 ? known : DEVICE_UNLIMITED;
    else if (room_bytes < cfg.total_bytes)
        cfg.others_bytes = cfg.total_bytes - room_bytes;
    return device_open(&device_sim, &cfg, out, why);
}

static enum err stage_open(const struct scene *s, const struct setting *t, uint64_t room_bytes, struct stage *g,
                           struct err_detail *why)
{
    *g = (struct stage){0};
    g->blocks = calloc((size_t)s->info->peak_live + 1, sizeof *g->blocks);
    if (g->blocks == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for %" PRIu32 " live requests", s->info->peak_live);
    enum err e = stage_open_device(s, t, room_bytes, &g->device, why);
    if (e != ERR_OK)
        return e;
    struct option_value values[POLICY_OPTIONS_MAX];
    memcpy(values, t->policy->values, sizeof values);
    struct option_value *version = &values[option_index(t->policy->ops, "version")];
    if (!version->is_given)
        version->text = t->version;
    if (t->limit_bytes != 0)
        values[option_index(t->policy->ops, "limit-device")].number = 1;
    const struct policy_config cfg = {
        .device = g->device, .ordinal = s->info->device, .peak_live = s->info->peak_live, .values = values,
        .streams = trace_streams(s->trace), .n_streams = s->info->n_streams,
        .pools = trace_pools(s->trace), .n_pools = s->info->n_pools,
    };
    e = policy_create(t->policy->ops, &cfg, &g->policy, why);
    if (e != ERR_OK || s->n_start == 0)
        return e;
    struct err_detail reason = {.text = ""};
    e = g->policy->ops->restore(g->policy, s->start, s->n_start, s->live, s->n_live, g->blocks, &reason);
    if (e != ERR_OK && e != ERR_HOST_NOMEM)
        return err_set(why, ERR_FORMAT, reason.offset, "the record contradicts itself: %.180s", reason.text);
    return e;
}

/* Frees a request, unless the policy has ended its free early. */
static void stage_free(struct stage *g, const struct event *ev)
{
    if (g->blocks[ev->slot].bytes != 0)
        g->policy->ops->free(g->policy, ev, &g->blocks[ev->slot]);
}

/* An observer's `completed`. */
static void stage_on_completed(void *stage, uint32_t slot)
{
    ((struct stage *)stage)->blocks[slot].bytes = 0;
}

/* ---- comparing ---- */

static const char *const segment_words[] = {"segment_alloc", "segment_free", "segment_map", "segment_unmap"};

static void pass_differ(struct verify_pass *pass, const struct scene *s, size_t i, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

static void pass_differ(struct verify_pass *pass, const struct scene *s, size_t i, const char *fmt, ...)
{
    if (pass->has_difference)
        return;
    va_list args;
    va_start(args, fmt);
    pass->has_difference = true;
    pass->first.event = i;
    pass->first.record = i < s->n_events ? s->sides[i].record : s->info->records;
    vsnprintf(pass->first.text, sizeof pass->first.text, fmt, args);
    va_end(args);
}

/* Appends the blocks around an address to the first difference. */
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

static void pass_show_around(struct verify_pass *pass, const struct policy *p, uint64_t addr)
{
    struct around a = {.pass = pass, .addr = addr};
    p->ops->walk(p, around_visit, &a);
}

/* ---- following the record ---- */

struct follow {
    const struct scene *s;
    struct stage g;
    struct verify_pass *pass;
    struct policy_observer observer;
    size_t next_segment;                 /* the first recorded segment event that was not applied */
    uint64_t recorded_reserved;
    bool     is_lost;                    /* the state is no longer the record's */
};

/* The next recorded segment event that stood before event `i`, or NULL. */
static const struct trace_segment_event *follow_peek(const struct follow *f, size_t i)
{
    const struct trace_segment_event *g = &f->s->segments[f->next_segment];
    return f->next_segment < f->s->n_segments && g->before <= i ? g : NULL;
}

static bool follow_try_shrink(struct follow *f, const struct trace_segment_event *g)
{
    return g->kind == TRACE_SEGMENT_FREE ? pytorch_follow_release(f->g.policy, g->addr, g->bytes)
                                         : pytorch_follow_unmap(f->g.policy, g->addr, g->bytes);
}

/* Applies a recorded release. What it released may have been waiting for a stream until the release itself waited. */
static void follow_shrink(struct follow *f, size_t i, const struct trace_segment_event *g)
{
    struct policy *p = f->g.policy;
    f->next_segment++;
    f->recorded_reserved -= g->bytes;
    f->pass->segments.compared++;
    bool is_done = follow_try_shrink(f, g);
    if (!is_done) {
        pytorch_follow_wait(p);
        is_done = follow_try_shrink(f, g);
    }
    f->pass->segments.equal += is_done;
    if (is_done)
        return;
    f->is_lost = true;
    pass_differ(f->pass, f->s, i, "recorded %s of %" PRIu64 " bytes at 0x%" PRIx64 ": the policy could not release that",
                segment_words[g->kind], g->bytes, g->addr);
    pass_show_around(f->pass, p, g->addr);
}

/* Applies a recorded growth for event i. */
static void follow_grow(struct follow *f, size_t i, const struct trace_segment_event *g,
                        const struct pytorch_choice *choice)
{
    const struct event *ev = &f->s->events[i];
    const bool is_alloc = g->kind == TRACE_SEGMENT_ALLOC;
    f->next_segment++;
    f->recorded_reserved += g->bytes;
    f->pass->segments.compared++;
    const bool is_equal = choice->is_growth && (!is_alloc || choice->segment_bytes == g->bytes);
    f->pass->segments.equal += is_equal;
    if (!is_equal) {
        if (choice->is_growth)
            pass_differ(f->pass, f->s, i, "recorded %s of %" PRIu64 " bytes, expected %" PRIu64, segment_words[g->kind],
                        g->bytes, choice->segment_bytes);
        else
            pass_differ(f->pass, f->s, i, "recorded %s of %" PRIu64 " bytes, expected the free block at 0x%" PRIx64
                        " to be taken", segment_words[g->kind], g->bytes, choice->addr);
    }
    const enum err e = is_alloc ? pytorch_follow_segment(f->g.policy, ev, g->bytes)
                                : pytorch_follow_map(f->g.policy, ev, g->addr, g->bytes);
    if (e != ERR_OK) {
        f->is_lost = true;
        pass_differ(f->pass, f->s, i, "recorded %s of %" PRIu64 " bytes at 0x%" PRIx64 " does not fit what was there",
                    segment_words[g->kind], g->bytes, g->addr);
    }
}

/* Releases that the program asked for, or a pool's end brought: those that stand directly behind event i. */
static void follow_releases(struct follow *f, size_t i)
{
    const struct trace_segment_event *g;
    while (!f->is_lost && (g = follow_peek(f, i + 1)) != NULL && !segment_grows(g))
        follow_shrink(f, i, g);
}

/* All recorded segment events in front of a request; *is_growth tells whether memory was got for it. */
static void follow_segments(struct follow *f, size_t i, const struct pytorch_choice *choice, uint64_t *grown_at)
{
    const struct trace_segment_event *g;
    while (!f->is_lost && (g = follow_peek(f, i)) != NULL) {
        if (!segment_grows(g)) {
            follow_shrink(f, i, g);
            continue;
        }
        *grown_at = *grown_at == 0 ? g->addr : *grown_at;
        follow_grow(f, i, g, choice);
    }
}

/* Whether what decided is not in the record: which of equal blocks from before the record is the older one. */
static bool follow_is_unknowable(const struct follow *f, const struct pytorch_choice *choice, uint64_t grown_at)
{
    return f->s->info->starts_mid_run && grown_at == 0 && !choice->is_growth && choice->is_tie;
}

static void follow_place(struct follow *f, size_t i, const struct pytorch_choice *choice, uint64_t grown_at)
{
    const struct event *ev = &f->s->events[i];
    const uint64_t addr = f->s->sides[i].addr;
    struct verify_counts *counts = &f->pass->placements;
    bool is_equal;
    if (choice->is_growth)
        is_equal = grown_at != 0 && addr == (choice->addr != 0 ? choice->addr : grown_at);
    else
        is_equal = grown_at == 0 && addr == choice->addr;
    if (!is_equal && follow_is_unknowable(f, choice, grown_at)) {
        counts->unknowable++;
    } else {
        counts->compared++;
        counts->equal += is_equal;
    }
    if (!is_equal && !follow_is_unknowable(f, choice, grown_at)) {
        pass_differ(f->pass, f->s, i, "request of %" PRIu64 " bytes: expected %s 0x%" PRIx64 ", recorded 0x%" PRIx64,
                    ev->bytes, choice->is_growth ? "new memory for" : "the block at", choice->addr, addr);
        pass_show_around(f->pass, f->g.policy, addr);
    }
    if (pytorch_follow_alloc(f->g.policy, ev, addr, choice, &f->g.blocks[ev->slot]) != ERR_OK) {
        f->is_lost = true;
        pass_differ(f->pass, f->s, i, "request of %" PRIu64 " bytes recorded at 0x%" PRIx64
                    ", where no free block of that size starts", ev->bytes, addr);
        pass_show_around(f->pass, f->g.policy, addr);
    }
}

static void follow_request(struct follow *f, size_t i)
{
    const struct event *ev = &f->s->events[i];
    struct pytorch_choice choice;
    uint64_t grown_at = 0;
    if (pytorch_follow_predict(f->g.policy, ev, &choice) != ERR_OK) {
        f->is_lost = true;
        return;
    }
    follow_segments(f, i, &choice, &grown_at);
    if (f->is_lost)
        return;
    if (ev->kind == EVENT_ALLOC) {
        follow_place(f, i, &choice, grown_at);
        return;
    }
    f->pass->ooms_recorded++;
    f->pass->ooms_predicted += choice.is_growth;
    if (!choice.is_growth)
        pass_differ(f->pass, f->s, i, "recorded out of memory, expected the free block at 0x%" PRIx64, choice.addr);
}

static void follow_event(struct follow *f, size_t i)
{
    const struct event *ev = &f->s->events[i];
    struct policy *p = f->g.policy;
    switch (ev->kind) {
    case EVENT_ALLOC:
    case EVENT_OOM:
        follow_request(f, i);
        break;
    case EVENT_FREE:
    case EVENT_FREE_COMPLETED:
        stage_free(&f->g, ev);
        break;
    case EVENT_FREE_REQUESTED:
        p->ops->retire(p, ev, &f->g.blocks[ev->slot]);
        break;
    case EVENT_FLUSH:
    case EVENT_COMMAND:
        follow_releases(f, i);
        break;
    default:
        break;
    }
}

/* After an event: bytes held by the policy and by the record. */
static void pass_compare_reserved(struct verify_pass *pass, const struct scene *s, size_t i, uint64_t recorded,
                                  uint64_t ours)
{
    pass->reserved.compared++;
    pass->reserved.equal += recorded == ours;
    if (recorded != ours)
        pass_differ(pass, s, i, "reserved after the event: expected %" PRIu64 " bytes, recorded %" PRIu64, ours, recorded);
}

static enum err verify_following(const struct scene *s, const struct setting *t, struct verify_pass *pass,
                                 struct err_detail *why)
{
    struct follow f = {.s = s, .pass = pass};
    enum err e = stage_open(s, t, DEVICE_UNLIMITED, &f.g, why);
    f.recorded_reserved = s->info->recorded_start_reserved_bytes;
    f.observer = (struct policy_observer){.completed = stage_on_completed, .arg = &f.g};
    if (e == ERR_OK) {
        f.g.policy->observer = &f.observer;
        for (size_t i = 0; i < s->n_events && !f.is_lost; i++) {
            follow_event(&f, i);
            if (!f.is_lost && (follow_peek(&f, i) == NULL))
                pass_compare_reserved(pass, s, i, f.recorded_reserved, f.g.device->usage.reserved_bytes);
        }
        pass->is_done = true;
        if (f.is_lost)
            snprintf(pass->reason, sizeof pass->reason, "stopped at the difference: what is behind it was not compared");
    }
    stage_close(&f.g);
    return e;
}

/* ---- running free ---- */

struct run_free {
    const struct scene *s;
    struct stage g;
    struct verify_pass *pass;
    struct policy_observer observer;
    size_t   next_segment;
    size_t   event;
    uint64_t recorded_reserved;
    bool     is_over;
    bool     released_too_much;          /* the policy's last segment record was a release */
};

static int segment_kind_of(enum record_action a)
{
    switch (a) {
    case RECORD_SEGMENT_ALLOC:
        return TRACE_SEGMENT_ALLOC;
    case RECORD_SEGMENT_FREE:
        return TRACE_SEGMENT_FREE;
    case RECORD_SEGMENT_MAP:
        return TRACE_SEGMENT_MAP;
    case RECORD_SEGMENT_UNMAP:
        return TRACE_SEGMENT_UNMAP;
    default:
        return -1;
    }
}

/* A record of the policy: the next recorded segment event must be the same. */
static void free_on_record(void *arg, const struct policy_record *r)
{
    struct run_free *f = arg;
    const int kind = segment_kind_of(r->action);
    if (kind < 0 || f->is_over)
        return;
    const bool has_more = f->next_segment < f->s->n_segments;
    const struct trace_segment_event *g = &f->s->segments[f->next_segment];
    f->pass->segments.compared++;
    f->released_too_much = kind == TRACE_SEGMENT_FREE;
    if (has_more && g->kind == kind && g->addr == r->addr && g->bytes == r->bytes && g->before <= f->event + 1) {
        f->pass->segments.equal++;
        f->next_segment++;
        f->recorded_reserved += segment_grows(g) ? g->bytes : -g->bytes;
        return;
    }
    f->is_over = true;
    if (has_more)
        pass_differ(f->pass, f->s, f->event, "expected %s of %" PRIu64 " bytes at 0x%" PRIx64 ", the next recorded is %s of %"
                    PRIu64 " bytes at 0x%" PRIx64, segment_words[kind], r->bytes, r->addr, segment_words[g->kind],
                    g->bytes, g->addr);
    else
        pass_differ(f->pass, f->s, f->event, "expected %s of %" PRIu64 " bytes at 0x%" PRIx64 ", recorded none",
                    segment_words[kind], r->bytes, r->addr);
}

static void free_on_completed(void *arg, uint32_t slot)
{
    stage_on_completed(&((struct run_free *)arg)->g, slot);
}

static void free_request(struct run_free *f, size_t i)
{
    const struct event *ev = &f->s->events[i];
    struct policy *p = f->g.policy;
    struct block b;
    const enum err e = p->ops->alloc(p, ev, &b);
    f->pass->ooms_recorded += ev->kind == EVENT_OOM;
    f->pass->ooms_predicted += e == ERR_DEVICE_OOM;
    if (f->is_over)
        return;
    if (ev->kind == EVENT_OOM || e != ERR_OK) {
        f->is_over = (ev->kind == EVENT_OOM) != (e != ERR_OK);
        if (f->is_over)
            pass_differ(f->pass, f->s, i, e != ERR_OK ? "request of %" PRIu64 " bytes: expected out of memory, recorded 0x%" PRIx64
                                                      : "request of %" PRIu64 " bytes: recorded out of memory (free then: 0x%" PRIx64
                                                        "), expected to be served", ev->bytes, f->s->sides[i].addr);
        return;
    }
    f->g.blocks[ev->slot] = b;
    f->pass->placements.compared++;
    if (b.addr == f->s->sides[i].addr) {
        f->pass->placements.equal++;
        return;
    }
    f->is_over = true;
    pass_differ(f->pass, f->s, i, "request of %" PRIu64 " bytes: expected 0x%" PRIx64 ", recorded 0x%" PRIx64, ev->bytes,
                b.addr, f->s->sides[i].addr);
    pass_show_around(f->pass, p, f->s->sides[i].addr);
}

static void free_event(struct run_free *f, size_t i)
{
    const struct event *ev = &f->s->events[i];
    struct policy *p = f->g.policy;
    struct err_detail ignored;
    switch (ev->kind) {
    case EVENT_ALLOC:
    case EVENT_OOM:
        free_request(f, i);
        break;
    case EVENT_FREE_REQUESTED:
        p->ops->retire(p, ev, &f->g.blocks[ev->slot]);
        break;
    case EVENT_FREE:
    case EVENT_FREE_COMPLETED:
        stage_free(&f->g, ev);
        break;
    case EVENT_FLUSH:
        p->ops->flush(p);
        break;
    case EVENT_COMMAND:
        if (p->ops->command(p, &trace_commands(f->s->trace)[ev->slot], NULL, &ignored) != ERR_OK)
            f->pass->reason[0] = '\0';
        break;
    default:
        break;
    }
}

/* Recorded segment events that stood before event i and that the policy did not make. */
static void free_check_missed(struct run_free *f, size_t i)
{
    const struct trace_segment_event *g = &f->s->segments[f->next_segment];
    if (f->is_over || f->next_segment >= f->s->n_segments || g->before > i)
        return;
    f->is_over = true;
    f->pass->segments.compared++;
    pass_differ(f->pass, f->s, i, "recorded %s of %" PRIu64 " bytes at 0x%" PRIx64 ", expected none", segment_words[g->kind],
                g->bytes, g->addr);
}

/* *released_too_much: where the pass ended in a difference, whether the policy had released what the record kept. */
static enum err verify_running_free(const struct scene *s, const struct setting *t, uint64_t room_bytes,
                                    struct verify_pass *pass, bool *released_too_much, struct err_detail *why)
{
    struct run_free f = {.s = s, .pass = pass, .recorded_reserved = s->info->recorded_start_reserved_bytes};
    enum err e = stage_open(s, t, room_bytes, &f.g, why);
    if (e == ERR_OK) {
        f.observer = (struct policy_observer){.record = free_on_record, .completed = free_on_completed, .arg = &f};
        f.g.policy->observer = &f.observer;
        for (size_t i = 0; i < s->n_events && !f.is_over; i++) {
            f.event = i;
            free_event(&f, i);
            free_check_missed(&f, i);
            if (!f.is_over)
                pass_compare_reserved(pass, s, i, f.recorded_reserved, f.g.device->usage.reserved_bytes);
        }
        pass->is_done = true;
    }
    *released_too_much = f.released_too_much;
    stage_close(&f.g);
    return e;
}

/* ---- settings and version ---- */

static bool pass_is_equal(const struct verify_pass *p)
{
    return !p->has_difference;
}

bool verify_is_equal(const struct verify_report *r)
{
    return pass_is_equal(&r->following) && pass_is_equal(&r->free_running);
}

/* How much of the record comes out: for choosing among releases. */
static uint64_t report_score(const struct verify_report *r)
{
    return r->following.placements.equal + r->following.segments.equal + r->free_running.placements.equal +
           r->free_running.segments.equal;
}

/* Garbage collection goes by a memory limit that no record holds. It lies between the recorded peak and the peak over the
 * threshold (else it would never have acted), and each trial shows on which side: a policy that releases what the record
 * kept has too low a limit. Keeps the pass that comes out equal, if there is one. */
static enum err verify_with_limits(const struct scene *s, const struct setting *t, uint64_t room_bytes,
                                   struct verify_report *out, struct err_detail *why)
{
    const char *text = trace_meta(s->trace, "garbage_collection_threshold");
    const double threshold = text == NULL ? 0 : strtod(text, NULL);
    if (!(threshold > 0 && threshold < 1) || t->total_bytes != 0)
        return ERR_OK;
    uint64_t low = s->info->recorded_peak_reserved_bytes, high = (uint64_t)((double)low / threshold) + 1;
    struct setting trial = *t;
    while (low < high) {
        struct verify_pass pass = {0};
        bool released_too_much;
        trial.limit_bytes = low + (high - low) / 2;
        const enum err e = verify_running_free(s, &trial, room_bytes, &pass, &released_too_much, why);
        if (e != ERR_OK)
            return e;
        if (!pass.has_difference) {
            char limit[UNITS_TEXT];
            out->free_running = pass;
            snprintf(out->inferred, sizeof out->inferred, "a memory limit of about %s: under it garbage collection acts "
                     "when it was recorded to", units_format_bytes(trial.limit_bytes, limit));
            return ERR_OK;
        }
        if (released_too_much)
            low = trial.limit_bytes + 1;
        else
            high = trial.limit_bytes;
    }
    return ERR_OK;
}

static enum err verify_once(const struct scene *s, const struct setting *t, uint64_t room_bytes, struct verify_report *out,
                            struct err_detail *why)
{
    *out = (struct verify_report){0};
    snprintf(out->version, sizeof out->version, "%s", t->version);
    snprintf(out->settings, sizeof out->settings, "%s", t->policy->typed);
    bool released_too_much;
    enum err e = verify_following(s, t, &out->following, why);
    if (e == ERR_OK)
        e = verify_running_free(s, t, room_bytes, &out->free_running, &released_too_much, why);
    return e == ERR_OK && out->free_running.has_difference ? verify_with_limits(s, t, room_bytes, out, why) : e;
}

/* The profiles worth trying: the one that was asked for; those that share the record's layout; or all releases. */
static size_t versions_to_try(const struct scene *s, const struct policy_spec *policy, const char **out)
{
    const struct option_value *version = &policy->values[option_index(policy->ops, "version")];
    const char *layout = version->is_given ? version->text : trace_meta(s->trace, "profile");
    struct pytorch_profile profile;
    size_t n = 0;
    if (layout == NULL || !pytorch_profile_find(layout, &profile)) {
        for (int r = PYTORCH_RELEASES; r-- > 0;)
            out[n++] = pytorch_release_name((enum pytorch_release)r);
        return n;
    }
    out[n++] = pytorch_profile_name(&profile);
    if (!version->is_given && (profile.release == PYTORCH_2_11 || profile.release == PYTORCH_2_15))
        out[n++] = pytorch_release_name((enum pytorch_release)(profile.release - 1));    /* the layout is the same */
    return n;
}

/* Tries the versions and keeps the report of the one under which most comes out. */
static enum err verify_versions(const struct scene *s, struct setting *t, uint64_t room_bytes, const char *const *versions,
                                size_t n, struct verify_report *out, struct err_detail *why)
{
    for (size_t i = 0; i < n; i++) {
        struct verify_report r;
        t->version = versions[i];
        const enum err e = verify_once(s, t, room_bytes, &r, why);
        if (e != ERR_OK)
            return e;
        if (out->version[0] == '\0' || report_score(&r) > report_score(out))
            *out = r;
    }
    return ERR_OK;
}

static void report_infer(struct verify_report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void report_infer(struct verify_report *r, const char *fmt, ...)
{
    const size_t n = strlen(r->inferred);
    va_list args;
    snprintf(r->inferred + n, sizeof r->inferred - n, n > 0 ? "; " : "");
    va_start(args, fmt);
    vsnprintf(r->inferred + strlen(r->inferred), sizeof r->inferred - strlen(r->inferred), fmt, args);
    va_end(args);
}

/* The record's release by its layout; where something differs then, Ascend's port, which has PyTorch's layout. */
static enum err verify_profiles(const struct scene *s, const struct verify_options *o, const struct policy_spec *policy,
                                struct verify_report *out, struct err_detail *why)
{
    static const char *const other[] = {"npu"};
    const char *versions[PYTORCH_RELEASES];
    const size_t n = versions_to_try(s, policy, versions);
    const bool is_given = policy->values[option_index(policy->ops, "version")].is_given;
    struct setting t = {.policy = policy, .total_bytes = s->total_bytes};
    const uint64_t room = o->total_bytes != 0 ? o->total_bytes : s->info->recorded_peak_reserved_bytes;
    *out = (struct verify_report){0};
    enum err e = verify_versions(s, &t, room, versions, n, out, why);
    if (e == ERR_OK && n > 1)
        report_infer(out, "the release, among %zu whose recordings look alike: under %s most of the record comes out", n,
                     out->version);
    if (e == ERR_OK && !is_given && !verify_is_equal(out) && strcmp(out->version, other[0]) != 0) {
        e = verify_versions(s, &t, room, other, 1, out, why);
        if (e == ERR_OK && strcmp(out->version, other[0]) == 0)
            report_infer(out, "the profile npu: under PyTorch's own less of the record comes out");
    }
    return e;
}

enum err verify_trace(struct trace_reader *in, const struct verify_options *o, struct verify_report *out,
                      struct err_detail *why)
{
    struct scene s = {0};
    struct policy_spec recorded = {0};
    enum err e = o->policy == NULL ? recorded_policy(in, &recorded, why) : ERR_OK;
    const struct policy_spec *policy = o->policy == NULL ? &recorded : o->policy;
    if (e == ERR_OK && policy->ops != policy_find("pytorch"))
        e = err_set(why, ERR_USAGE, 0, "only the policy pytorch can be verified, not %s", policy->ops->name);
    if (e == ERR_OK)
        e = scene_open(in, o->total_bytes, &s, why);
    if (e == ERR_OK)
        e = verify_profiles(&s, o, policy, out, why);
    scene_close(&s);
    policy_spec_close(&recorded);
    return e;
}
