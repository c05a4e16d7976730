/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * cuda-async: the driver's pool behind cudaMallocAsync. Its source is closed. What it does was asked of the driver,
 * call by call (release 580.159.04 on an H100 and an H200; tests/gpu/pools). test_cuda_async.c holds this file
 * against the answers: addresses, reserved bytes and refusals.
 *
 *   1. A pool has one range of addresses, twice as large as the card's memory, and memory in units of 32 MiB below it.
 *      A request is rounded up to 512 bytes and takes the low end of a free block.
 *   2. A freed block belongs to the stream that freed it, until the driver has seen that the stream got there. It
 *      coalesces with neighbours of the same stream. What all streams may have is general; it coalesces too.
 *   3. The best fit of the first of these that has one: the request's own stream; the general blocks of which every
 *      unit is mapped; the other streams that got there, in the order in which they first used the pool. Then all that
 *      the streams have freed becomes general, the last freed first, and the best fit of it is taken, mapped or not.
 *      The last block reaches to the end of the range. Of equal blocks the first that became free is taken.
 *   4. Units that the block lacks are moved from free general blocks, the highest address first; what these cannot
 *      give is new memory. After a refusal the pool keeps what new memory there still was.
 *   5. Waiting for a stream makes what it freed general. If there was any, idle units above the release threshold go
 *      back, the highest address first.
 *
 * Whether a stream has got there depends on how busy the card is. Here every stream always has, as on an idle card.
 */
#include "policies/zoo/cuda_async.h"

#include "base/array.h"
#include "base/units.h"
#include "policies/parts/split_coalesce.h"
#include "policies/zoo/async_units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ASYNC_ROUND = 512 };
/* The range of a card without an end. */
#define ASYNC_RANGE_MOST (16 * TIB)
/* No card has so much. A larger request is refused before its units are counted. */
#define ASYNC_LARGEST    (2 * TIB)

/* In which set a free block is; its `pool`. */
enum async_set { ASYNC_OF_STREAM, ASYNC_MAPPED, ASYNC_HOLED };

/* The blocks that a stream freed, the last one first, linked by block number. */
struct async_link {
    uint32_t newer, older;
};

struct async_stream {
    uint32_t newest;                         /* BLOCK_NONE: all is general */
    uint32_t place;                          /* in `seen`, from 1; 0: it has not used the pool yet */
    bool     is_listed;                      /* among `waiting` */
};

struct cuda_async {
    struct policy base;                      /* first, so the two pointers convert */
    struct async_units units;
    struct block_table blocks;               /* one chain; `pool` is their set, `tie` says since when */
    struct free_set of_streams, mapped, holed;       /* the last two have all in the bins of stream 0 */
    struct async_link *links;                /* by block */
    size_t   room_links;
    struct async_stream *streams;
    uint16_t *seen;                          /* the streams, in the order in which they first used the pool */
    uint32_t n_seen;
    uint32_t *waiting;                       /* places of the streams that may have freed blocks, in no order */
    uint32_t n_waiting;
    uint64_t next_tie;
    struct cuda_async_settings settings;
    uint64_t n_requests;
};

enum { ASYNC_THRESHOLD, ASYNC_UNIT, ASYNC_REUSE, ASYNC_SYNC_EVERY };

static const struct policy_option cuda_async_options[] = {
    [ASYNC_THRESHOLD] = {"threshold", OPTION_BYTES, 0, UINT64_MAX / 4, "0", "bytes",
                         "what a synchronisation leaves idle (cudaMemPoolAttrReleaseThreshold)"},
    [ASYNC_UNIT] = {"unit", OPTION_BYTES, DEVICE_PAGE_BYTES, TIB, "32MiB", "bytes",
                    "the pool grows in multiples of it; a power of two (the driver's: 32 MiB)"},
    [ASYNC_REUSE] = {"reuse", OPTION_TEXT, 0, 0, "all", "all or same",
                     "whether memory freed on one stream may serve another, which then waits (cudaMemPoolReuse...)"},
    [ASYNC_SYNC_EVERY] = {"sync-every", OPTION_NUMBER, 0, UINT64_MAX, "0", "requests",
                          "how often the program synchronises, which traces do not tell; 0: never"},
    {.name = NULL},
};

static struct block_entry *entry(const struct cuda_async *c, uint32_t b)
{
    return &c->blocks.at[b];
}

/* ---- sets ---- */

static struct free_bins *bins_of(const struct cuda_async *c, const struct block_entry *b)
{
    return b->pool == ASYNC_OF_STREAM ? free_set_bins(&c->of_streams, b->stream)
                                      : free_set_bins(b->pool == ASYNC_MAPPED ? &c->mapped : &c->holed, 0);
}

static void set_insert(struct cuda_async *c, uint32_t b, enum async_set set)
{
    entry(c, b)->pool = (uint8_t)set;
    free_bins_insert(bins_of(c, entry(c, b)), c->blocks.at, b);
}

static void set_remove(struct cuda_async *c, uint32_t b)
{
    free_bins_remove(bins_of(c, entry(c, b)), c->blocks.at, b);
}

/* Links `b` in the place of one that it stands for, or as the newest of its stream (`like` BLOCK_NONE). */
static void link_insert(struct cuda_async *c, uint32_t b, uint32_t like)
{
    struct async_stream *s = &c->streams[entry(c, b)->stream];
    struct async_link *at = c->links;
    at[b] = like != BLOCK_NONE ? at[like] : (struct async_link){.newer = BLOCK_NONE, .older = s->newest};
    at[at[b].older].newer = b;               /* entry 0, of BLOCK_NONE, may be written at will */
    at[at[b].newer].older = b;
    if (at[b].newer == BLOCK_NONE)
        s->newest = b;
}

static void link_remove(struct cuda_async *c, uint32_t b)
{
    struct async_stream *s = &c->streams[entry(c, b)->stream];
    const struct async_link was = c->links[b];
    c->links[was.newer].older = was.older;
    c->links[was.older].newer = was.newer;
    if (was.newer == BLOCK_NONE)
        s->newest = was.older;
}

static bool is_of_stream(const struct cuda_async *c, uint32_t b, uint16_t stream)
{
    return block_is_idle(&c->blocks, b) && entry(c, b)->pool == ASYNC_OF_STREAM && entry(c, b)->stream == stream;
}

static bool is_general(const struct cuda_async *c, uint32_t b)
{
    return block_is_idle(&c->blocks, b) && entry(c, b)->pool != ASYNC_OF_STREAM;
}

/* A block in no set swallows its free neighbours: the general ones, or those of its own stream. */
static void coalesce(struct cuda_async *c, uint32_t b, bool with_general)
{
    for (int is_front = 0; is_front < 2; is_front++) {
        const uint32_t neighbour = is_front ? entry(c, b)->prev : entry(c, b)->next;
        if (!(with_general ? is_general(c, neighbour) : is_of_stream(c, neighbour, entry(c, b)->stream)))
            continue;
        set_remove(c, neighbour);
        if (!with_general)
            link_remove(c, neighbour);
        block_swallow(&c->blocks, b, is_front != 0, true);
        c->base.count.coalesces++;
    }
}

/* A block in no set becomes the newest of its stream. */
static void give_to_stream(struct cuda_async *c, uint32_t b)
{
    const uint16_t stream = entry(c, b)->stream;
    coalesce(c, b, false);
    entry(c, b)->tie = c->next_tie++;
    set_insert(c, b, ASYNC_OF_STREAM);
    link_insert(c, b, BLOCK_NONE);
    struct async_stream *s = &c->streams[stream];
    if (!s->is_listed) {
        s->is_listed = true;
        c->waiting[c->n_waiting++] = s->place;
    }
}

/* Puts a block that is in no set among the general ones. */
static void insert_general(struct cuda_async *c, uint32_t b)
{
    const struct block_entry *e = entry(c, b);
    async_units_set_block(&c->units, e->addr, e->size, b);
    set_insert(c, b, async_units_are_mapped(&c->units, e->addr, e->size) ? ASYNC_MAPPED : ASYNC_HOLED);
}

static void make_general(struct cuda_async *c, uint32_t b)
{
    coalesce(c, b, true);
    entry(c, b)->tie = c->next_tie++;
    insert_general(c, b);
}

/* All that a stream freed becomes general, the last freed first. False: there was none. */
static bool make_stream_general(struct cuda_async *c, uint16_t stream)
{
    struct async_stream *s = &c->streams[stream];
    const bool has_any = s->newest != BLOCK_NONE;
    while (s->newest != BLOCK_NONE) {
        const uint32_t b = s->newest;
        set_remove(c, b);
        link_remove(c, b);
        make_general(c, b);
    }
    return has_any;
}

static int compare_places(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The same for all streams, in the order in which they first used the pool. */
static bool make_all_general(struct cuda_async *c)
{
    bool has_any = false;
    qsort(c->waiting, c->n_waiting, sizeof *c->waiting, compare_places);
    for (uint32_t i = 0; i < c->n_waiting; i++) {
        const uint16_t stream = c->seen[c->waiting[i] - 1];
        has_any |= make_stream_general(c, stream);
        c->streams[stream].is_listed = false;
    }
    c->n_waiting = 0;
    return has_any;
}

/* A general block lost a unit's memory. */
static void note_hole(void *arg, uint32_t b)
{
    struct cuda_async *c = arg;
    if (entry(c, b)->pool != ASYNC_MAPPED)
        return;
    set_remove(c, b);
    set_insert(c, b, ASYNC_HOLED);
}

/* ---- life ---- */

static void cuda_async_destroy(struct policy *p)
{
    struct cuda_async *c = (struct cuda_async *)p;
    free_set_close(&c->of_streams);
    free_set_close(&c->mapped);
    free_set_close(&c->holed);
    block_table_close(&c->blocks);
    async_units_close(&c->units);
    free(c->links);
    free(c->streams);
    free(c->seen);
    free(c->waiting);
    free(c);
}

static enum err reserve_blocks(struct cuda_async *c)
{
    const enum err e = block_table_reserve(&c->blocks, 2);
    if (e != ERR_OK || c->room_links >= c->blocks.cap)
        return e;
    struct async_link *links = realloc(c->links, array_bytes(c->blocks.cap, sizeof *links));
    if (links == NULL)
        return ERR_HOST_NOMEM;
    c->links = links;
    c->room_links = c->blocks.cap;
    return ERR_OK;
}

static enum err open_general(struct cuda_async *c, struct free_set *set)
{
    const enum err e = free_set_open(set, &c->blocks, NULL, 1);
    return e == ERR_OK ? free_set_add_stream(set, 0) : e;
}

/* The one free block of a new range. */
static void open_range(struct cuda_async *c)
{
    const struct segment *range = &c->units.range;
    const uint32_t b = block_table_new(&c->blocks);
    *entry(c, b) = (struct block_entry){.addr = range->addr, .size = range->bytes, .segment = range->id,
                                        .flags = BLOCK_IS_USED};
    insert_general(c, b);
}

static enum err open_parts(struct cuda_async *c, struct device *device, uint32_t n_streams, uint32_t peak_live)
{
    const uint64_t total = device->cfg.total_bytes, unit_bytes = c->settings.unit_bytes;
    const uint64_t wanted = total > ASYNC_RANGE_MOST / 2 ? ASYNC_RANGE_MOST : 2 * total;
    c->streams = calloc(n_streams, sizeof *c->streams);
    c->seen = calloc(n_streams, sizeof *c->seen);
    c->waiting = calloc(n_streams, sizeof *c->waiting);
    if (c->streams == NULL || c->seen == NULL || c->waiting == NULL)
        return ERR_HOST_NOMEM;
    enum err e = block_table_hold(&c->blocks, peak_live + UINT64_C(64));
    if (e == ERR_OK)
        e = free_set_open(&c->of_streams, &c->blocks, NULL, n_streams);
    if (e == ERR_OK)
        e = open_general(c, &c->mapped);
    if (e == ERR_OK)
        e = open_general(c, &c->holed);
    if (e == ERR_OK)
        e = reserve_blocks(c);
    if (e == ERR_OK)
        e = async_units_open(&c->units, device, unit_bytes, align_up(wanted, unit_bytes));
    if (e == ERR_OK)
        open_range(c);
    return e;
}

enum err cuda_async_open(struct device *device, uint32_t n_streams, uint32_t peak_live,
                         const struct cuda_async_settings *settings, struct policy **out)
{
    struct cuda_async *c = calloc(1, sizeof *c);
    *out = NULL;
    if (c == NULL)
        return ERR_HOST_NOMEM;
    c->settings = *settings;
    const enum err e = open_parts(c, device, n_streams, peak_live);
    if (e == ERR_OK)
        *out = &c->base;
    else
        cuda_async_destroy(&c->base);
    return e;
}

void cuda_async_close(struct policy *p)
{
    struct cuda_async *c = (struct cuda_async *)p;
    async_units_give_back_all(&c->units);
    cuda_async_destroy(p);
}

static enum err cuda_async_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    const struct option_value *v = cfg->values;
    const struct cuda_async_settings settings = {
        .unit_bytes = v[ASYNC_UNIT].number, .threshold_bytes = v[ASYNC_THRESHOLD].number,
        .shares_streams = strcmp(v[ASYNC_REUSE].text, "all") == 0, .sync_every = v[ASYNC_SYNC_EVERY].number,
    };
    if (!settings.shares_streams && strcmp(v[ASYNC_REUSE].text, "same") != 0)
        return err_set(err, ERR_USAGE, POLICY_PLACE(ASYNC_REUSE, 0), "reuse is all or same");
    if (!is_power_of_two(settings.unit_bytes))
        return err_set(err, ERR_USAGE, POLICY_PLACE(ASYNC_UNIT, 0), "unit is a power of two");
    const enum err e = cuda_async_open(cfg->device, cfg->n_streams, cfg->peak_live, &settings, out);
    return e == ERR_OK ? e : err_set(err, e, 0, "policy cuda-async cannot begin: %s", err_text(e));
}

void cuda_async_set(struct policy *p, uint64_t threshold_bytes, bool shares_streams)
{
    struct cuda_async *c = (struct cuda_async *)p;
    c->settings.threshold_bytes = threshold_bytes;
    c->settings.shares_streams = shares_streams;
}

struct segment cuda_async_range(const struct policy *p)
{
    return ((const struct cuda_async *)p)->units.range;
}

uint64_t cuda_async_reserved(const struct policy *p)
{
    const struct cuda_async *c = (const struct cuda_async *)p;
    return c->units.n_mapped * c->units.bytes;
}

/* ---- requests ---- */

/* Makes sure that a stream is known. */
static enum err see_stream(struct cuda_async *c, uint16_t stream)
{
    if (c->streams[stream].place != 0)
        return ERR_OK;
    const enum err e = free_set_add_stream(&c->of_streams, stream);
    if (e != ERR_OK)
        return e;
    c->seen[c->n_seen++] = stream;
    c->streams[stream].place = c->n_seen;
    return ERR_OK;
}

static uint32_t best_general(const struct cuda_async *c, uint64_t bytes)
{
    struct block_entry *at = c->blocks.at;
    const uint32_t a = free_bins_at_least(free_set_bins(&c->mapped, 0), at, bytes);
    const uint32_t b = free_bins_at_least(free_set_bins(&c->holed, 0), at, bytes);
    if (a == BLOCK_NONE || b == BLOCK_NONE)
        return a == BLOCK_NONE ? b : a;
    return block_place_of(&at[a]) < block_place_of(&at[b]) ? a : b;
}

/* Rule 3; BLOCK_NONE: there is none. */
static uint32_t find(struct cuda_async *c, uint64_t bytes, uint16_t stream)
{
    uint32_t b = free_set_at_least(&c->of_streams, stream, bytes);
    if (b == BLOCK_NONE)
        b = free_bins_at_least(free_set_bins(&c->mapped, 0), c->blocks.at, bytes);
    if (b != BLOCK_NONE)
        return b;
    if (c->settings.shares_streams && (b = free_set_elsewhere(&c->of_streams, stream, bytes, false)) != BLOCK_NONE) {
        device_wait_event(c->units.device);
        return b;
    }
    if (c->settings.shares_streams)
        make_all_general(c);
    return best_general(c, bytes);
}

/* Cuts a block, which is in no set, to size. The rest goes where the block was. */
static uint32_t cut(struct cuda_async *c, uint32_t b, uint64_t bytes)
{
    if (entry(c, b)->size == bytes)
        return BLOCK_NONE;
    const struct tie_kind ties = {.has_numbers = true, .next_number = &c->next_tie};
    const uint32_t rest = block_split_back(&c->blocks, b, entry(c, b)->size - bytes, ties);
    entry(c, rest)->pool = entry(c, b)->pool;
    c->base.count.splits++;
    return rest;
}

/* Takes the first bytes of a stream's block, which has all its memory. */
static void take_of_stream(struct cuda_async *c, uint32_t b, uint64_t bytes)
{
    set_remove(c, b);
    const uint32_t rest = cut(c, b, bytes);
    if (rest == BLOCK_NONE) {
        link_remove(c, b);
        return;
    }
    link_insert(c, rest, b);
    set_insert(c, rest, ASYNC_OF_STREAM);
}

/* Takes the first bytes of a general block that has all its memory. */
static void take_mapped(struct cuda_async *c, uint32_t b, uint64_t bytes)
{
    set_remove(c, b);
    async_units_set_block(&c->units, entry(c, b)->addr, entry(c, b)->size, BLOCK_NONE);
    const uint32_t rest = cut(c, b, bytes);
    if (rest == BLOCK_NONE)
        return;
    async_units_set_block(&c->units, entry(c, rest)->addr, entry(c, rest)->size, rest);
    set_insert(c, rest, ASYNC_MAPPED);
}

/* Takes the first bytes of one that lacks memory, and sees that they have it. After an error the block is whole. */
static enum err take_holed(struct cuda_async *c, uint32_t b, uint64_t bytes, uint64_t *n_new)
{
    const uint64_t addr = entry(c, b)->addr;
    set_remove(c, b);
    async_units_set_block(&c->units, addr, entry(c, b)->size, BLOCK_NONE);
    const uint32_t rest = cut(c, b, bytes);
    if (rest != BLOCK_NONE)
        insert_general(c, rest);
    entry(c, b)->flags |= BLOCK_IS_ALLOCATED;
    const enum err e = async_units_fill(&c->units, addr, bytes, note_hole, c, n_new);
    if (rest != BLOCK_NONE)
        set_remove(c, rest);                 /* the unit that both share may have its memory only now */
    if (e == ERR_OK && rest != BLOCK_NONE)
        insert_general(c, rest);
    if (e == ERR_OK)
        return ERR_OK;
    if (rest != BLOCK_NONE)
        block_swallow(&c->blocks, b, false, true);
    entry(c, b)->flags &= (uint8_t)~BLOCK_IS_ALLOCATED;
    insert_general(c, b);
    return e;
}

static enum err cuda_async_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct cuda_async *c = (struct cuda_async *)p;
    if (req->bytes > ASYNC_LARGEST)
        return ERR_DEVICE_OOM;
    enum err e = see_stream(c, req->stream);
    if (e == ERR_OK)
        e = reserve_blocks(c);
    if (e != ERR_OK)
        return e;
    if (c->settings.sync_every > 0 && ++c->n_requests % c->settings.sync_every == 0)
        cuda_async_sync(p, POLICY_ALL_STREAMS);
    const uint64_t bytes = align_up(req->bytes, ASYNC_ROUND);
    const uint32_t b = find(c, bytes, req->stream);
    uint64_t n_new = 0;
    if (b == BLOCK_NONE)
        return ERR_DEVICE_OOM;
    if (entry(c, b)->pool == ASYNC_OF_STREAM)
        take_of_stream(c, b, bytes);
    else if (entry(c, b)->pool == ASYNC_MAPPED)
        take_mapped(c, b, bytes);
    else if ((e = take_holed(c, b, bytes, &n_new)) != ERR_OK)
        return e;
    struct block_entry *at = entry(c, b);
    at->flags |= BLOCK_IS_ALLOCATED;
    at->requested = req->bytes;
    p->count.hits += n_new == 0;
    p->count.misses += n_new > 0;
    *out = (struct block){.addr = at->addr, .bytes = at->size, .segment = at->segment, .cookie = b};
    return ERR_OK;
}

static void cuda_async_free(struct policy *p, const struct event *req, const struct block *block)
{
    struct cuda_async *c = (struct cuda_async *)p;
    const enum err e = see_stream(c, req->stream);
    if (e != ERR_OK) {
        p->failure = e;                      /* the block stays taken, and the run ends */
        return;
    }
    struct block_entry *at = entry(c, block->cookie);
    at->flags &= (uint8_t)~BLOCK_IS_ALLOCATED;
    at->stream = req->stream;
    give_to_stream(c, block->cookie);
}

void cuda_async_trim(struct policy *p, uint64_t keep_bytes)
{
    struct cuda_async *c = (struct cuda_async *)p;
    async_units_give_back(&c->units, align_up(keep_bytes, c->units.bytes), note_hole, c);
}

bool cuda_async_sync(struct policy *p, uint32_t stream)
{
    struct cuda_async *c = (struct cuda_async *)p;
    const bool has_any = stream == POLICY_ALL_STREAMS ? make_all_general(c) : make_stream_general(c, (uint16_t)stream);
    if (has_any)
        async_units_give_back(&c->units, c->settings.threshold_bytes, note_hole, c);
    return has_any;
}

static enum err cuda_async_control(struct policy *p, const struct control *control, const struct block *b,
                                   struct err_detail *err)
{
    (void)b, (void)err;
    if (control->kind != CONTROL_WAIT)
        return ERR_UNSUPPORTED;
    cuda_async_sync(p, control->number != 0 ? POLICY_ALL_STREAMS : control->stream);
    return ERR_OK;
}

static void cuda_async_flush(struct policy *p, uint32_t stream)
{
    (void)stream;
    cuda_async_sync(p, POLICY_ALL_STREAMS);
    cuda_async_trim(p, 0);
}

/* ---- showing and checking ---- */

/* Shows [from, to) of a block, as free or without memory. */
static void show_part(const struct cuda_async *c, const struct block_entry *e, uint64_t from, uint64_t to,
                      enum block_state state, block_visit visit, void *arg)
{
    const struct block_view v = {
        .addr = from, .bytes = to - from, .requested = state == BLOCK_UNMAPPED ? 0 : e->requested,
        .segment_addr = c->units.range.addr, .segment = c->units.range.id, .stream = e->stream,
        .state = (uint8_t)state, .page_bytes = c->units.bytes,
    };
    visit(arg, &v);
}

/* The end of the stretch of a free block that begins at `from`: all of it has memory, or none has. */
static uint64_t end_of_stretch(const struct cuda_async *c, const struct block_entry *e, uint64_t from, bool *has_memory)
{
    const uint64_t end = e->addr + e->size, base = c->units.range.addr, bytes = c->units.bytes;
    uint64_t to = from;
    *has_memory = async_units_are_mapped(&c->units, from, 1);
    do
        to = base + ((to - base) / bytes + 1) * bytes;
    while (to < end && (to - base) / bytes < c->units.n && async_units_are_mapped(&c->units, to, 1) == *has_memory);
    const bool is_last = !*has_memory && (to - base) / bytes >= c->units.n;       /* nothing is mapped above */
    return to > end || is_last ? end : to;
}

/* Shows a free block in stretches with and without memory. */
static void show_holed(const struct cuda_async *c, const struct block_entry *e, block_visit visit, void *arg)
{
    bool has_memory;
    for (uint64_t from = e->addr, to; from < e->addr + e->size; from = to) {
        to = end_of_stretch(c, e, from, &has_memory);
        show_part(c, e, from, to, has_memory ? BLOCK_FREE : BLOCK_UNMAPPED, visit, arg);
    }
}

static uint64_t cuda_async_largest_free(const struct policy *p)
{
    const struct cuda_async *c = (const struct cuda_async *)p;
    const uint64_t own = free_set_largest(&c->of_streams), general = free_set_largest(&c->mapped);
    uint64_t largest = own > general ? own : general;
    const struct free_bins *holed = free_set_bins(&c->holed, 0);
    for (uint32_t b = free_bins_from(holed, c->blocks.at, 0); b != BLOCK_NONE;
         b = free_bins_next(holed, c->blocks.at, b)) {
        const struct block_entry *e = entry(c, b);
        bool has_memory;
        for (uint64_t from = e->addr, to; from < e->addr + e->size; from = to) {
            to = end_of_stretch(c, e, from, &has_memory);
            largest = has_memory && to - from > largest ? to - from : largest;
        }
    }
    return largest;
}

static uint32_t first_block(const struct cuda_async *c)
{
    uint32_t b = 1;
    while ((entry(c, b)->flags & BLOCK_IS_USED) == 0)
        b++;
    while (entry(c, b)->prev != BLOCK_NONE)
        b = entry(c, b)->prev;
    return b;
}

static enum err cuda_async_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct cuda_async *c = (const struct cuda_async *)p;
    for (uint32_t b = first_block(c); b != BLOCK_NONE; b = entry(c, b)->next) {
        const struct block_entry *e = entry(c, b);
        if (block_is_idle(&c->blocks, b) && e->pool == ASYNC_HOLED)
            show_holed(c, e, visit, arg);
        else
            show_part(c, e, e->addr, e->addr + e->size, block_is_idle(&c->blocks, b) ? BLOCK_FREE : BLOCK_ALLOCATED,
                      visit, arg);
    }
    return ERR_OK;
}

static void cuda_async_stats(const struct policy *p, stat_visit visit, void *arg)
{
    const struct cuda_async *c = (const struct cuda_async *)p;
    visit(arg, "cuda-async.moved_bytes", (int64_t)(c->units.n_moved * c->units.bytes));
    visit(arg, "cuda-async.reserved_bytes", (int64_t)cuda_async_reserved(p));
}

static void cuda_async_remarks(const struct policy *p, remark_visit visit, void *arg)
{
    (void)p;
    visit(arg, REMARK_ASSUMPTION,
          "cuda-async: the driver's pool as release 580 answered on an idle card. On a busy one freed memory is reused "
          "later, which a trace does not tell. When the program waited, only run-sim records: otherwise sync-every= "
          "says how often");
}

/* A free block is in the set that its memory puts it in, and the idle units know it. */
static bool block_is_right(const struct cuda_async *c, uint32_t b)
{
    const struct block_entry *e = entry(c, b);
    const bool is_mapped = async_units_are_mapped(&c->units, e->addr, e->size);
    const bool has_units = is_general(c, b);
    const uint64_t base = c->units.range.addr;
    for (size_t i = (size_t)divide_up(e->addr - base, c->units.bytes);
         i < (e->addr + e->size - base) / c->units.bytes && i < c->units.n; i++)
        if (c->units.at[i].block != (has_units ? b : BLOCK_NONE))
            return false;
    return has_units ? is_mapped == (e->pool == ASYNC_MAPPED) : is_mapped;
}

static enum err cuda_async_check(const struct policy *p, struct err_detail *err)
{
    const struct cuda_async *c = (const struct cuda_async *)p;
    const struct segment *range = &c->units.range;
    uint64_t end = range->addr, n_mapped = 0, n_idle = 0;
    uint32_t before = BLOCK_NONE;
    for (uint32_t b = first_block(c); b != BLOCK_NONE; before = b, b = entry(c, b)->next) {
        if (entry(c, b)->addr != end || entry(c, b)->prev != before || !block_is_right(c, b))
            return err_set(err, ERR_CORRUPT, 0, "block %" PRIu32 " of the pool is wrong", b);
        end += entry(c, b)->size;
    }
    for (size_t i = 0; i < c->units.n; i++) {
        const struct async_unit *unit = &c->units.at[i];
        n_mapped += unit->phys != 0;
        n_idle += unit->phys != 0 && unit->block != BLOCK_NONE;
    }
    if (end != range->addr + range->bytes || n_mapped != c->units.n_mapped || n_idle != c->units.n_idle)
        return err_set(err, ERR_CORRUPT, 0, "the blocks do not cover their range, or units are miscounted");
    return ERR_OK;
}

const struct policy_ops policy_cuda_async = {
    POLICY_HEAD,
    .name = "cuda-async",
    .summary = "cudaMallocAsync's pool, as the driver answered (release 580; closed source)",
    .options = cuda_async_options,
    .needs = POLICY_NEEDS_VMM,
    .create = cuda_async_create, .destroy = cuda_async_destroy,
    .alloc = cuda_async_alloc,   .free = cuda_async_free,
    .flush = cuda_async_flush,   .control = cuda_async_control, .walk = cuda_async_walk,
    .stats = cuda_async_stats,   .remarks = cuda_async_remarks, .check = cuda_async_check,
    .largest_free = cuda_async_largest_free,
};
