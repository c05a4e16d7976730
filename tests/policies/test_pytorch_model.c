/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The policy `pytorch` against a model too naive to be wrong, on random programs: the same addresses, records in the
 * same order, counters and blocks, and the same memory taken from the device.
 *
 * The operations of a program make sense in any order, so a difference can be shrunk by leaving operations out before
 * it is shown. REPLAY_LONG_TESTS in the environment makes the run a hundred times as long.
 */
#include "base/units.h"
#include "policies/spec.h"
#include "sim/device.h"
#include "sim/stream_queues.h"
#include "tests/naive_pytorch.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 1500, MAX_ADDRESSES = 2 * MAX_OPS + 16, MAX_KEYS = 200, TEXT = 512 };
enum { USER_POOL = 1, GRAPH_POOL = 3 };           /* two of each */

/* By the bytes of their keys, which puts 10_0 before 1_0. */
static const struct pool_name pool_names[NAIVE_POOLS] = {{{0, 0}}, {{0, 1}}, {{0, 2}}, {{10, 0}}, {{1, 0}}};

/* ---- programs ---- */

enum op_kind {
    OP_TOGGLE, OP_FLUSH, OP_SETTINGS, OP_FRACTION, OP_RESET_PEAK, OP_RESET_ACCUMULATED,
    OP_USE, OP_HOLD, OP_FINISH, OP_POOL, OP_CAPTURE, OP_GRAPH_RESET,
};
static const char *const op_names[] = {
    "toggle", "flush", "settings", "fraction", "reset-peak", "reset-accumulated",
    "use", "hold", "finish", "pool", "capture", "graph-reset",
};

/* What the requests of a program look like. OVERSIZE also keeps max_split_size small and segments ordinary: otherwise
 * targeted releases hardly ever happen. HOLES begins with as many blocks as there can be and gives every second one
 * back: otherwise no size ever has many free blocks. */
enum style {
    STYLE_FEW_SIZES, STYLE_SMALL, STYLE_MIXED, STYLE_LARGE, STYLE_NARROW, STYLE_OVERSIZE, STYLE_HOLES, STYLES
};

/* TOGGLE: a vacant slot is allocated, a live one freed (or retired), a retired one completed. HOLD: of the stream, on
 * or off by `choice`. FINISH: `choice` events of the stream. POOL: the pool is made; later entered, left or dropped by
 * `choice`. CAPTURE: begins on the stream, or ends. What makes no sense at its place does nothing. */
struct op {
    enum op_kind kind;
    unsigned     slot, stream, pool, choice;
    bool         retires;
    uint64_t     bytes;
    struct naive_settings settings;
    double       fraction;
};

struct program {
    uint64_t seed;
    unsigned minor;
    enum style style;
    uint64_t total;
    unsigned n_streams, ordinal;
    bool     has_events;                  /* else frees end by the trace */
    bool     has_pools;
    uint64_t handles[NAIVE_STREAMS], numbers[NAIVE_STREAMS];
    uint64_t addresses[MAX_ADDRESSES];
    struct naive_settings settings;
    double   reserve_gib;                 /* 0: none */
    double   fraction;                    /* set at the start; 2: not set */
    struct op ops[MAX_OPS];
    size_t   n_ops;
};

static struct naive_settings random_settings(const struct program *p, uint64_t *random)
{
    static const uint64_t splits[] = {21, 24, 32, 64, 200}, roundings[] = {21, 32, 64}, large[] = {11, 12, 20, 32, 64};
    static const uint64_t divisions[] = {1, 2, 4, 8, 64};
    struct naive_settings s = {.max_split = NAIVE_UNLIMITED, .large_segment = 20 * MIB, .fraction = 1.0,
                               .reserve = NAIVE_UNLIMITED};
    if (p->minor >= 11 && random_one_in(random, 3))
        s.large_segment = large[random_below(random, 5)] * MIB;
    s.non_split_rounding = s.large_segment;
    if (p->style == STYLE_OVERSIZE || random_one_in(random, 2)) {
        s.max_split = splits[random_below(random, 5)] * MIB;
        if (p->minor >= 10 && (s.max_split < s.large_segment || random_one_in(random, 4)))
            s.max_split = s.large_segment;
    }
    if (p->minor >= 6 && random_one_in(random, 3)) {
        s.non_split_rounding = roundings[random_below(random, 3)] * MIB;
        if (p->minor >= 10 && s.non_split_rounding < s.large_segment)
            s.non_split_rounding = s.large_segment;
    }
    if (random_one_in(random, 3))
        for (unsigned i = 0, d = (unsigned)random_below(random, 5); i < NAIVE_ROUNDUPS; i++)
            s.roundup[i] = divisions[random_one_in(random, 3) ? d = (unsigned)random_below(random, 5) : d];
    if (random_one_in(random, 2))
        s.gc_threshold = (double)(1 + random_below(random, 9)) / 10.0;
    /* 2.4 fails with an internal error when it gives back expandable blocks as oversize ones. */
    if (p->minor >= 4 && !(p->minor == 4 && s.max_split != NAIVE_UNLIMITED))
        s.is_expandable = p->style != STYLE_OVERSIZE && random_one_in(random, 2);
    if (p->minor >= 12 && random_one_in(random, 4)) {
        s.throws = true;
        s.fraction = random_one_in(random, 2) ? 1.0 : 0.5;
    }
    if (p->reserve_gib > 0)
        s.reserve = (uint64_t)(p->reserve_gib * (double)GIB);
    return s;
}

static uint64_t random_bytes(uint64_t *random, enum style style)
{
    static const uint64_t few[] = {512, 1 * MIB, 2 * MIB, 3 * MIB, 5 * MIB, 10 * MIB, 20 * MIB, 24 * MIB};
    static const unsigned bits[STYLES] = {[STYLE_SMALL] = 18, [STYLE_MIXED] = 23, [STYLE_LARGE] = 27};
    switch (style) {
    case STYLE_FEW_SIZES:
        return few[random_below(random, 8)];
    case STYLE_NARROW:
        return 300 * KIB + random_below(random, 200) * 100;
    case STYLE_HOLES:
        return random_one_in(random, 4) ? 1024 : 512;
    case STYLE_OVERSIZE:
        return (1 + random_below(random, 128)) * MIB;
    default:
        return 1 + random_below(random, UINT64_C(1) << (4 + random_below(random, bits[style] - 3)));
    }
}

static void shuffle(uint64_t *values, size_t n, uint64_t *random)
{
    for (size_t i = n; i > 1; i--) {
        const size_t k = random_below(random, i);
        const uint64_t swapped = values[k];
        values[k] = values[i - 1];
        values[i - 1] = swapped;
    }
}

/* Where a stream belongs in a table of 16 slots. */
static uint64_t home_slot(const struct program *p, uint64_t number)
{
    const uint64_t hash = UINT64_C(1) << 56 | (uint64_t)p->ordinal << 48 | number;
    return hash * UINT64_C(11400714819323198485) >> 60;
}

/* PyTorch's own numbers hardly ever meet in a table; crowded ones share two of its slots. */
static void random_streams(struct program *p, uint64_t *random)
{
    const uint64_t first = random_below(random, 20), step = p->minor == 0 ? 8 : 32;
    const uint64_t crowded_slot = random_below(random, 16);
    const bool is_crowded = random_one_in(random, 2);
    for (unsigned i = 0; i < NAIVE_STREAMS; i++) {
        uint64_t number = (first + i) * step + 3;
        while (is_crowded && home_slot(p, number) != crowded_slot && home_slot(p, number) != crowded_slot + 1)
            number = random_next(random) >> 17;
        p->handles[i] = i * 0x1000;
        p->numbers[i] = i == 0 ? 0 : number;
    }
    shuffle(p->handles + 1, NAIVE_STREAMS - 1, random);
}

static void random_addresses(struct program *p, uint64_t *random)
{
    const uint64_t order = random_below(random, 3);
    for (size_t i = 0; i < MAX_ADDRESSES; i++) {
        const size_t place = order == 1 ? MAX_ADDRESSES - i : i;
        p->addresses[i] = UINT64_C(0x100000000000) + place * 8 * GIB;
    }
    if (order == 2)
        shuffle(p->addresses, MAX_ADDRESSES, random);
}

static enum op_kind random_kind(const struct program *p, uint64_t *random)
{
    if (random_one_in(random, 100))
        return (enum op_kind)(OP_FLUSH + random_below(random, OP_RESET_ACCUMULATED - OP_FLUSH + 1));
    if (p->has_events && random_one_in(random, 3))
        return (enum op_kind)(OP_USE + (random_one_in(random, 3) ? 1 + random_below(random, 2) : 0));
    if (p->has_pools && random_one_in(random, 10)) {
        const bool has_user_pools = p->minor >= 6;
        return (enum op_kind)(OP_GRAPH_RESET - random_below(random, has_user_pools ? 3 : 2));
    }
    return OP_TOGGLE;
}

static struct op random_op(const struct program *p, uint64_t *random, unsigned n_slots)
{
    struct op op = {.kind = random_kind(p, random), .slot = (unsigned)random_below(random, n_slots),
                    .stream = (unsigned)random_below(random, p->n_streams),
                    .pool = (unsigned)random_below(random, 2), .choice = (unsigned)random_below(random, 8),
                    .retires = !p->has_events && random_one_in(random, 4), .bytes = random_bytes(random, p->style)};
    if (op.kind == OP_SETTINGS)
        op.settings = random_settings(p, random);
    if (op.kind == OP_FRACTION)
        op.fraction = (double)(3 + random_below(random, 8)) / 10.0;
    return op;
}

/* The first operations of a program of many holes: all slots in turn, then every second one again. */
static void program_begin_with_holes(struct program *p)
{
    for (unsigned i = 0; i < NAIVE_SLOTS + NAIVE_SLOTS / 2; i++)
        p->ops[i] = (struct op){.kind = OP_TOGGLE, .slot = i < NAIVE_SLOTS ? i : 2 * (i - NAIVE_SLOTS), .bytes = 512,
                                .stream = p->ops[i].stream};
}

static void program_make(struct program *p, unsigned minor, uint64_t seed)
{
    static const uint64_t totals[] = {100 * MIB, 200 * MIB, 500 * MIB, 1200 * MIB, 6 * GIB};
    static const unsigned most_streams[] = {1, 3, 8, NAIVE_STREAMS};
    uint64_t random = seed;
    p->seed = seed;
    p->minor = minor;
    p->style = (enum style)random_below(&random, STYLES);
    p->total = totals[random_below(&random, 5)];
    p->n_streams = 1 + (unsigned)random_below(&random, most_streams[random_below(&random, 4)]);
    p->ordinal = (unsigned)random_below(&random, 3);
    p->has_events = random_one_in(&random, 2);
    p->has_pools = random_one_in(&random, 2);
    random_streams(p, &random);
    p->reserve_gib = minor >= 15 && random_one_in(&random, 4) ? (double)(1 + random_below(&random, 8)) / 16.0 : 0.0;
    p->fraction = random_one_in(&random, 2) ? 2.0 : (double)(3 + random_below(&random, 8)) / 10.0;
    p->settings = random_settings(p, &random);
    random_addresses(p, &random);
    const unsigned most_slots = p->style == STYLE_HOLES ? NAIVE_SLOTS : 1u << (3 + random_below(&random, 6));
    unsigned n_slots = most_slots;
    p->n_ops = p->style == STYLE_HOLES ? MAX_OPS : 200 + random_below(&random, MAX_OPS - 200);
    for (size_t i = 0; i < p->n_ops; i++) {
        if (random_one_in(&random, 150))                       /* a phase with more or less alive */
            n_slots = 1 + (unsigned)random_below(&random, most_slots);
        p->ops[i] = random_op(p, &random, n_slots);
    }
    if (p->style == STYLE_HOLES)
        program_begin_with_holes(p);
}

static void text_add(char *text, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void text_add(char *text, const char *fmt, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + used, TEXT - used, fmt, args);
    va_end(args);
}

/* Names every option that a text would otherwise keep. */
static const char *settings_text(const struct program *p, const struct naive_settings *s, char text[TEXT])
{
    text[0] = '\0';
    if (s->max_split != NAIVE_UNLIMITED)
        text_add(text, "max_split_size_mb:%" PRIu64 ",", s->max_split / MIB);
    if (p->minor >= 6 && s->non_split_rounding != s->large_segment)
        text_add(text, "max_non_split_rounding_mb:%" PRIu64 ",", s->non_split_rounding / MIB);
    if (p->minor >= 11)
        text_add(text, "large_segment_size_mb:%" PRIu64 ",", s->large_segment / MIB);
    if (s->gc_threshold > 0)
        text_add(text, "garbage_collection_threshold:%g,", s->gc_threshold);
    if (p->minor >= 4)
        text_add(text, "expandable_segments:%s,", s->is_expandable ? "True" : "False");
    if (p->minor >= 12)
        text_add(text, "throw_on_cudamalloc_oom:%s,per_process_memory_fraction:%g,", s->throws ? "True" : "False",
                 s->fraction);
    if (p->reserve_gib > 0)
        text_add(text, "expandable_segments_reserve:%gG,", p->reserve_gib);
    if (s->roundup[0] != 0) {
        text_add(text, "roundup_power2_divisions:[");
        for (unsigned i = 0; i < NAIVE_ROUNDUPS; i++)
            text_add(text, "%s%u:%" PRIu64, i > 0 ? "," : "", 1u << i, s->roundup[i]);
        text_add(text, "],");
    }
    text[strlen(text) > 0 ? strlen(text) - 1 : 0] = '\0';
    return text;
}

/* ---- a run ---- */

struct pair {
    const struct program *program;
    struct naive  *naive;
    struct device *device;
    struct stream_queues *queues;
    struct policy_spec spec;
    struct policy *policy;
    struct policy_observer observer;
    struct stream_name stream_names[NAIVE_STREAMS];
    uint64_t pool_ids[NAIVE_POOLS][2];
    bool     is_made[NAIVE_POOLS], is_dropped[NAIVE_POOLS];
    unsigned uses[NAIVE_POOLS];                   /* regions open, captures made and not reset */
    unsigned capturing;                           /* the pool of the capture under way; 0: none */
    struct block   blocks[NAIVE_SLOTS];
    uint64_t       bytes[NAIVE_SLOTS];
    unsigned       streams[NAIVE_SLOTS];
    char           state[NAIVE_SLOTS];            /* 0 vacant, 'l'ive, 'r'etired */
    struct naive_record records[4096];            /* the policy's, of this operation */
    size_t         n_records;
    unsigned       ended[NAIVE_SLOTS];
    size_t         n_ended;
    uint64_t       done;                          /* operations that did something */
    char           difference[TEXT];              /* "": none */
};

static void pair_record(void *arg, const struct policy_record *r)
{
    static const char actions[RECORD_ACTIONS] = {
        [RECORD_ALLOC] = 'a', [RECORD_FREE_REQUESTED] = 'f', [RECORD_FREE_COMPLETED] = 'c',
        [RECORD_SEGMENT_ALLOC] = 'S', [RECORD_SEGMENT_FREE] = 'R', [RECORD_SEGMENT_MAP] = 'M',
        [RECORD_SEGMENT_UNMAP] = 'U', [RECORD_SNAPSHOT] = 's', [RECORD_OOM] = 'o',
    };
    struct pair *t = arg;
    if (t->n_records < sizeof t->records / sizeof t->records[0])
        t->records[t->n_records++] = (struct naive_record){actions[r->action], r->stream, r->pool, r->addr, r->bytes};
}

static void pair_completed(void *arg, uint32_t slot)
{
    struct pair *t = arg;
    if (t->n_ended < NAIVE_SLOTS)
        t->ended[t->n_ended++] = slot;
}

static uint64_t limit_of(const struct program *p, double fraction)
{
    const bool is_none = fraction > 1.0 || (fraction >= 1.0 && p->minor >= 10);
    return is_none ? NAIVE_UNLIMITED : (uint64_t)(fraction * (double)p->total + (p->minor >= 13 ? 0.5 : 0.0));
}

static void pair_open_device(struct pair *t, const struct program *p)
{
    struct err_detail err = {0};
    struct device_config dev = device_defaults();
    cr_assert_eq(stream_queues_create(NAIVE_STREAMS, &t->queues), ERR_OK);
    dev.total_bytes = p->total;
    dev.packing = false;
    dev.addresses = ADDRESSES_LIST;
    dev.address_list = p->addresses;
    dev.n_addresses = MAX_ADDRESSES;
    dev.queues = t->queues;
    cr_assert_eq(device_open(&device_sim, &dev, &t->device, &err), ERR_OK, "%s", err.text);
}

static void pair_open_policy(struct pair *t, const struct program *p)
{
    struct err_detail err = {0};
    char conf[TEXT], spec[2 * TEXT];
    settings_text(p, &p->settings, conf);
    snprintf(spec, sizeof spec, "pytorch:version=2.%u%s%s", p->minor, conf[0] != '\0' ? "," : "", conf);
    if (p->fraction <= 1.0)
        snprintf(spec + strlen(spec), sizeof spec - strlen(spec), ",fraction=%g", p->fraction);
    cr_assert_eq(policy_spec_parse(spec, &t->spec, &err), ERR_OK, "%s: %s", spec, err.text);
    for (unsigned i = 0; i < NAIVE_STREAMS; i++)
        t->stream_names[i] = (struct stream_name){.handle = p->handles[i], .number = p->numbers[i]};
    const struct policy_config cfg = {
        .device = t->device, .peak_live = NAIVE_SLOTS, .values = t->spec.values, .streams = t->stream_names,
        .n_streams = p->n_streams, .pools = pool_names, .n_pools = NAIVE_POOLS, .ordinal = p->ordinal,
    };
    cr_assert_eq(policy_create(t->spec.ops, &cfg, &t->policy, &err), ERR_OK, "%s: %s", spec, err.text);
    t->observer = (struct policy_observer){.record = pair_record, .completed = pair_completed, .arg = t};
    t->policy->observer = &t->observer;
}

static void pair_open(struct pair *t, const struct program *p)
{
    memset(t, 0, sizeof *t);
    t->program = p;
    pair_open_device(t, p);
    pair_open_policy(t, p);
    for (unsigned i = 0; i < NAIVE_POOLS; i++)
        memcpy(t->pool_ids[i], pool_names[i].id, sizeof t->pool_ids[i]);
    const bool has_option = p->minor >= 12 && p->fraction > 1.0;
    const struct naive_config naive = {
        .minor = p->minor, .total = p->total, .addresses = p->addresses, .stream_handles = p->handles,
        .stream_numbers = p->numbers, .ordinal = p->ordinal, .pool_ids = t->pool_ids, .settings = p->settings,
        .limit = limit_of(p, has_option ? p->settings.fraction : p->fraction),
    };
    t->naive = naive_open(&naive);
}

static void pair_close(struct pair *t)
{
    naive_close(t->naive);
    policy_destroy(t->policy);
    policy_spec_close(&t->spec);
    device_close(t->device);
    stream_queues_destroy(t->queues);
}

static void differ(struct pair *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void differ(struct pair *t, const char *fmt, ...)
{
    if (t->difference[0] != '\0')
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(t->difference, sizeof t->difference, fmt, args);
    va_end(args);
}

static void compare_records(struct pair *t)
{
    size_t n, n_ended;
    const struct naive_record *wanted = naive_records(t->naive, &n);
    for (size_t i = 0; i < n && i < t->n_records; i++) {
        const struct naive_record *a = &wanted[i], *b = &t->records[i];
        if (a->action != b->action || a->stream != b->stream || a->pool != b->pool || a->addr != b->addr ||
            a->bytes != b->bytes)
            differ(t, "record %zu: wanted %c stream %u pool %u %" PRIx64 " %" PRIu64 ", got %c stream %u pool %u %"
                   PRIx64 " %" PRIu64, i, a->action, a->stream, a->pool, a->addr, a->bytes, b->action, b->stream,
                   b->pool, b->addr, b->bytes);
    }
    if (n != t->n_records)
        differ(t, "wanted %zu records, got %zu", n, t->n_records);
    const unsigned *ended = naive_ended(t->naive, &n_ended);
    if (n_ended != t->n_ended || memcmp(ended, t->ended, n_ended * sizeof *ended) != 0)
        differ(t, "wanted %zu pending frees ended early, got %zu, or others", n_ended, t->n_ended);
    if (t->device->usage.page_bytes != naive_device_used(t->naive))
        differ(t, "wanted %" PRIu64 " bytes taken from the device, got %" PRIu64, naive_device_used(t->naive),
               t->device->usage.page_bytes);
}

struct counters {
    char    key[MAX_KEYS][NAIVE_KEY];
    int64_t value[MAX_KEYS];
    size_t  n;
};

static void collect(void *arg, const char *key, int64_t value)
{
    struct counters *c = arg;
    if (c->n == MAX_KEYS)
        return;
    snprintf(c->key[c->n], NAIVE_KEY, "%s", key);
    c->value[c->n++] = value;
}

static void compare_counters(struct pair *t)
{
    static struct counters wanted, got;
    wanted.n = got.n = 0;
    naive_stats(t->naive, collect, &wanted);
    t->policy->ops->stats(t->policy, collect, &got);
    if (wanted.n != got.n)
        differ(t, "wanted %zu counters, got %zu", wanted.n, got.n);
    for (size_t i = 0; i < wanted.n && i < got.n; i++)
        if (strcmp(wanted.key[i], got.key[i]) != 0 || wanted.value[i] != got.value[i])
            differ(t, "counter: wanted %s %" PRId64 ", got %s %" PRId64, wanted.key[i], wanted.value[i], got.key[i],
                   got.value[i]);
}

struct view_check {
    struct pair *pair;
    struct naive_view *wanted;
    size_t n, at;
};

static void compare_view(void *arg, const struct block_view *b)
{
    static const char states[] = {[BLOCK_FREE] = 'f', [BLOCK_ALLOCATED] = 'a', [BLOCK_PENDING] = 'p',
                                  [BLOCK_UNMAPPED] = 'u'};
    struct view_check *c = arg;
    if (c->at >= c->n)
        return;
    const struct naive_view *w = &c->wanted[c->at++];
    if (w->addr != b->addr || w->bytes != b->bytes || w->state != states[b->state] || w->stream != b->stream ||
        w->pool != b->pool || w->is_small != b->is_small || w->page_bytes != b->page_bytes ||
        w->requested != b->requested)
        differ(c->pair, "block: wanted %c %" PRIx64 " + %" PRIu64 " (%" PRIu64 "), got %c %" PRIx64 " + %" PRIu64
               " (%" PRIu64 ")", w->state, w->addr, w->bytes, w->requested, states[b->state], b->addr, b->bytes,
               b->requested);
}

static void compare_blocks(struct pair *t)
{
    struct view_check c = {.pair = t};
    struct err_detail err = {0};
    c.wanted = naive_views(t->naive, &c.n);
    cr_assert_eq(t->policy->ops->walk(t->policy, compare_view, &c), ERR_OK);
    if (c.at != c.n)
        differ(t, "wanted %zu blocks, got %zu", c.n, c.at);
    free(c.wanted);
    if (t->policy->ops->check(t->policy, &err) != ERR_OK)
        differ(t, "check: %s", err.text);
}

static void toggle_vacant(struct pair *t, const struct op *op)
{
    const struct event req = {.kind = EVENT_ALLOC, .slot = op->slot, .bytes = op->bytes,
                              .stream = (uint16_t)op->stream};
    struct block *b = &t->blocks[op->slot];
    uint64_t addr = 0;
    const bool is_served = naive_alloc(t->naive, op->slot, op->stream, op->bytes, &addr);
    if (naive_is_undefined(t->naive))
        return;
    const enum err e = t->policy->ops->alloc(t->policy, &req, b);
    if (e != (is_served ? ERR_OK : ERR_DEVICE_OOM))
        differ(t, "wanted %s, got %s", is_served ? "an address" : "a refusal", err_name(e));
    else if (is_served && b->addr != addr)
        differ(t, "wanted address %" PRIx64 ", got %" PRIx64, addr, b->addr);
    if (is_served)
        t->state[op->slot] = 'l';
    t->bytes[op->slot] = op->bytes;
    t->streams[op->slot] = op->stream;
}

static void toggle(struct pair *t, const struct op *op)
{
    const unsigned slot = op->slot;
    struct event ev = {.slot = slot, .bytes = t->bytes[slot], .stream = (uint16_t)t->streams[slot]};
    t->done++;
    if (t->state[slot] == 0) {
        toggle_vacant(t, op);
    } else if (t->state[slot] == 'r') {
        ev.kind = EVENT_FREE_COMPLETED;
        naive_complete(t->naive, slot);
        t->policy->ops->free(t->policy, &ev, &t->blocks[slot]);
        t->state[slot] = 0;
    } else if (op->retires) {
        ev.kind = EVENT_FREE_REQUESTED;
        naive_retire(t->naive, slot);
        t->policy->ops->retire(t->policy, &ev, &t->blocks[slot]);
        t->state[slot] = 'r';
    } else {
        ev.kind = EVENT_FREE;
        naive_free(t->naive, slot);
        t->policy->ops->free(t->policy, &ev, &t->blocks[slot]);
        t->state[slot] = 0;
    }
}

/* Gives a control to both sides, but not to the policy if the model left what is defined. */
static void control(struct pair *t, const struct control *c)
{
    struct err_detail err = {0};
    const struct block *b = c->kind == CONTROL_USE ? &t->blocks[c->slot] : NULL;
    t->done++;
    if (naive_is_undefined(t->naive))
        return;
    if (t->policy->ops->control(t->policy, c, b, &err) != ERR_OK)
        differ(t, "control %u refused: %s", c->kind, err.text);
}

static void pool_op(struct pair *t, const struct op *op)
{
    const unsigned pool = USER_POOL + op->pool;
    struct control c = {.pool = (uint8_t)pool};
    if (t->is_dropped[pool])
        return;
    if (!t->is_made[pool]) {
        t->is_made[pool] = true;
        c.kind = CONTROL_POOL_CREATE;
        c.flags = (op->choice == 0 ? POOL_NO_SPLIT : 0u) | (op->choice >= 2 ? POOL_USE_ON_OOM : 0u);
        naive_pool_create(t->naive, pool, op->choice == 0, op->choice >= 2);
    } else if (op->choice < 4 && t->uses[pool] < 3) {
        t->uses[pool]++;
        c.kind = CONTROL_POOL_ENTER;
        naive_pool_enter(t->naive, pool);
    } else if (t->uses[pool] > 0) {
        t->uses[pool]--;
        c.kind = CONTROL_POOL_LEAVE;
        naive_pool_leave(t->naive, pool);
    } else {
        t->is_dropped[pool] = true;
        c.kind = CONTROL_POOL_DROP;
        naive_pool_drop(t->naive, pool);
    }
    control(t, &c);
}

static void capture_op(struct pair *t, const struct op *op)
{
    const unsigned pool = GRAPH_POOL + op->pool;
    struct control c = {.pool = (uint8_t)pool, .stream = (uint16_t)op->stream};
    if (t->capturing != 0) {
        c = (struct control){.kind = CONTROL_CAPTURE_END, .pool = (uint8_t)t->capturing};
        t->capturing = 0;
        naive_capture_end(t->naive);
        control(t, &c);
    } else if (!t->is_dropped[pool]) {
        c.kind = CONTROL_CAPTURE_BEGIN;
        t->capturing = pool;
        t->uses[pool]++;
        naive_capture_begin(t->naive, pool, op->stream);
        control(t, &c);
    }
}

static void graph_reset_op(struct pair *t, const struct op *op)
{
    const unsigned pool = GRAPH_POOL + op->pool;
    if (t->uses[pool] == 0 || t->capturing == pool)
        return;
    t->is_dropped[pool] = --t->uses[pool] == 0;
    naive_graph_reset(t->naive, pool);
    control(t, &(struct control){.kind = CONTROL_GRAPH_RESET, .pool = (uint8_t)pool});
}

static void stream_op(struct pair *t, const struct op *op)
{
    if (op->kind == OP_USE && t->state[op->slot] == 'l') {
        naive_use(t->naive, op->slot, op->stream);
        control(t, &(struct control){.kind = CONTROL_USE, .slot = op->slot, .stream = (uint16_t)op->stream});
    } else if (op->kind == OP_HOLD) {
        t->done++;
        naive_hold(t->naive, op->stream, op->choice & 1);
        stream_queues_hold(t->queues, op->stream, op->choice & 1);
    } else if (op->kind == OP_FINISH) {
        t->done++;
        naive_finish(t->naive, op->stream, op->choice);
        stream_queues_complete(t->queues, op->stream, op->choice);
    }
}

static void pair_do(struct pair *t, const struct op *op)
{
    char text[TEXT];
    switch (op->kind) {
    case OP_TOGGLE:
        toggle(t, op);
        break;
    case OP_FLUSH:
        t->done++;
        naive_flush(t->naive);
        if (!naive_is_undefined(t->naive))
            t->policy->ops->flush(t->policy, POLICY_ALL_STREAMS);
        break;
    case OP_USE:
    case OP_HOLD:
    case OP_FINISH:
        stream_op(t, op);
        break;
    case OP_POOL:
        pool_op(t, op);
        break;
    case OP_CAPTURE:
        capture_op(t, op);
        break;
    case OP_GRAPH_RESET:
        graph_reset_op(t, op);
        break;
    case OP_SETTINGS:
        naive_set(t->naive, &op->settings);
        control(t, &(struct control){.kind = CONTROL_SETTINGS, .text = settings_text(t->program, &op->settings, text)});
        break;
    case OP_FRACTION:
        naive_set_limit(t->naive, limit_of(t->program, op->fraction));
        control(t, &(struct control){.kind = CONTROL_FRACTION, .number = op->fraction});
        break;
    case OP_RESET_PEAK:
        naive_reset_peak(t->naive);
        control(t, &(struct control){.kind = CONTROL_RESET_PEAK});
        break;
    case OP_RESET_ACCUMULATED:
        naive_reset_accumulated(t->naive);
        control(t, &(struct control){.kind = CONTROL_RESET_ACCUMULATED});
        break;
    }
}

/* Runs the program up to the first difference, and returns its operation; n_ops if there is none. */
static size_t pair_run(struct pair *t)
{
    const struct program *p = t->program;
    for (size_t i = 0; i < p->n_ops; i++) {
        naive_forget(t->naive);
        t->n_records = t->n_ended = 0;
        pair_do(t, &p->ops[i]);
        if (naive_is_undefined(t->naive))
            return p->n_ops;
        compare_records(t);
        for (size_t k = 0; k < t->n_ended; k++)
            t->state[t->ended[k]] = 0;
        if (i % 32 == 0 || i + 1 == p->n_ops) {
            compare_counters(t);
            compare_blocks(t);
        }
        if (t->difference[0] != '\0')
            return i;
    }
    return p->n_ops;
}

/* ---- shrinking and showing ---- */

static bool program_differs(const struct program *p, size_t *at, char difference[TEXT])
{
    static struct pair t;
    pair_open(&t, p);
    *at = pair_run(&t);
    memcpy(difference, t.difference, TEXT);
    pair_close(&t);
    return difference[0] != '\0';
}

/* Leaves out operations that are not needed for a difference. */
static void program_shrink(struct program *p)
{
    static struct program smaller;
    char difference[TEXT];
    size_t at;
    if (program_differs(p, &at, difference) && at + 1 < p->n_ops)
        p->n_ops = at + 1;
    for (size_t chunk = p->n_ops / 2; chunk > 0; chunk /= 2)
        for (size_t from = 0; from + chunk <= p->n_ops;) {
            smaller = *p;
            memmove(smaller.ops + from, smaller.ops + from + chunk, (p->n_ops - from - chunk) * sizeof *p->ops);
            smaller.n_ops -= chunk;
            if (program_differs(&smaller, &at, difference))
                *p = smaller;
            else
                from += chunk;
        }
}

static void program_print(const struct program *p)
{
    char text[TEXT];
    printf("version 2.%u, device %" PRIu64 " MiB, fraction %g, handles", p->minor, p->total / MIB, p->fraction);
    for (unsigned i = 0; i < p->n_streams; i++)
        printf(" %" PRIx64, p->handles[i]);
    printf(", ordinal %u, %s\n", p->ordinal, settings_text(p, &p->settings, text));
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct op *op = &p->ops[i];
        printf("  %s", op_names[op->kind]);
        if (op->kind == OP_SETTINGS)
            printf(" %s\n", settings_text(p, &op->settings, text));
        else if (op->kind == OP_FRACTION)
            printf(" %g\n", op->fraction);
        else if (op->kind == OP_TOGGLE)
            printf(" slot %u: %" PRIu64 " bytes on stream %u%s\n", op->slot, op->bytes, op->stream,
                   op->retires ? ", retires" : "");
        else
            printf(" slot %u stream %u pool %u choice %u\n", op->slot, op->stream, op->pool, op->choice);
    }
}

/* ---- the tests ---- */

static uint64_t operations_wanted(void)
{
    return getenv("REPLAY_LONG_TESTS") != NULL ? 50000000 : 500000;
}

static const unsigned releases[] = {0, 4, 6, 9, 10, 11, 12, 13, 14, 15};
enum { N_RELEASES = sizeof releases / sizeof releases[0] };

ParameterizedTestParameters(pytorch_model, every_release_does_what_the_naive_model_does)
{
    static unsigned values[N_RELEASES];
    memcpy(values, releases, sizeof values);
    return cr_make_param_array(unsigned, values, N_RELEASES);
}

ParameterizedTest(unsigned *minor, pytorch_model, every_release_does_what_the_naive_model_does)
{
    static struct program p;
    static struct pair t;
    const uint64_t wanted = operations_wanted() / N_RELEASES, first_seed = 1000000 * (uint64_t)*minor;
    uint64_t done = 0, seed = first_seed;
    for (; done < wanted; seed++) {
        program_make(&p, *minor, seed);
        pair_open(&t, &p);
        pair_run(&t);
        done += t.done;
        pair_close(&t);
        if (t.difference[0] != '\0') {
            size_t at;
            char difference[TEXT];
            program_shrink(&p);
            program_differs(&p, &at, difference);
            printf("seed %" PRIu64 ", shrunk to %zu operations: %s\n", seed, p.n_ops, difference);
            program_print(&p);
            fflush(stdout);
            cr_assert_fail("seed %" PRIu64 ": %s", seed, t.difference);
        }
    }
    printf("pytorch 2.%u: %" PRIu64 " operations equal, seeds %" PRIu64 " to %" PRIu64 "\n", *minor, done, first_seed,
           seed - 1);
    fflush(stdout);
}
