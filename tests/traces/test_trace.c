/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The native trace: everything put comes back, from the start or from any event; damage is noticed; invalid records,
 * events and files are refused.
 */
#include "base/units.h"
#include "import/import.h"
#include "tests/forge.h"
#include "tests/random_draws.h"
#include "traces/event_sections.h"
#include "loads/load.h"
#include "traces/rows.h"
#include "traces/trace.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t shared_pool[2] = {0, 0};

#define MUST(call)                                                   \
    do {                                                             \
        cr_assert_eq((call), ERR_OK, "%s: %s", #call, err.text);     \
    } while (0)

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static struct trace_writer *writer_in_memory(void)
{
    struct err_detail err = {0};
    struct trace_writer *w = NULL;
    MUST(trace_create(NULL, &w, &err));
    return w;
}

static struct trace_reader *reader_over(const void *bytes, size_t n)
{
    struct err_detail err = {0};
    struct trace_reader *r = NULL;
    MUST(trace_open_bytes(bytes, n, &r, &err));
    return r;
}

static enum err put(struct trace_writer *w, enum event_kind kind, uint64_t ptr, uint64_t bytes, struct err_detail *err)
{
    const struct trace_record r = {.kind = kind, .ptr = ptr, .bytes = bytes, .record = TRACE_NO_RECORD};
    return trace_put(w, &r, err);
}

/* All events of a trace; free() them. */
static struct event *all_events(struct trace_reader *r, size_t *n)
{
    struct err_detail err = {0};
    struct event *all = malloc((trace_info(r)->events + 1) * sizeof *all);
    const struct event *events;
    size_t k;
    *n = 0;
    MUST(trace_seek(r, 0, &err));
    do {
        MUST(trace_next(r, &events, &k, &err));
        cr_assert_leq(k, TRACE_CHUNK_EVENTS);
        memcpy(all + *n, events, k * sizeof *all);
        *n += k;
    } while (k > 0);
    cr_assert_eq(*n, trace_info(r)->events);
    return all;
}

static void *generated(const char *kind, uint64_t events, uint64_t seed, size_t *n)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    void *bytes;
    MUST(load_make(kind, events, seed, w, &err));
    MUST(trace_finish_bytes(w, &bytes, n, &err));
    return bytes;
}

/* ---- a small trace with one of everything ---- */

static void put_start(struct trace_writer *w)
{
    struct err_detail err = {0};
    const struct trace_segment segments[] = {
        {.addr = 0x10000000, .bytes = 2 * MIB, .is_small = true},
        {.addr = 0x20000000, .bytes = 20 * MIB, .is_guessed = true},
        {.addr = 0x3c000000, .is_range = true},
        {.addr = 0x40000000, .bytes = 4 * MIB, .is_range = true},
    };
    const struct trace_block blocks[] = {
        {.addr = 0x10000000, .bytes = 512, .requested = 500, .segment = 0},
        {.addr = 0x10000200, .bytes = 2 * MIB - 512, .segment = 0},
        {.addr = 0x20000000, .bytes = 5 * MIB, .requested = 5 * MIB, .segment = 1, .is_pending = true},
        {.addr = 0x30000000, .requested = 7, .segment = UINT32_MAX, .is_size_guessed = true},
    };
    for (int i = 0; i < 4; i++)
        MUST(trace_put_start_segment(w, &segments[i], i >= 2 ? 0xabc : 0, shared_pool, &err));
    for (int i = 0; i < 4; i++)
        MUST(trace_put_start_block(w, &blocks[i], i != 1, i == 3 ? 0xabc : 0, shared_pool, &err));
}

static void put_controls(struct trace_writer *w, bool is_flushed)
{
    struct err_detail err = {0};
    const struct trace_record records[] = {
        {.kind = EVENT_CONTROL, .time_ns = 9000, .control = {.kind = CONTROL_SETTINGS, .text = "max_split_size_mb:64"}},
        {.kind = EVENT_CONTROL, .time_ns = 9000, .control = {.kind = CONTROL_FRACTION, .number = 0.8}},
        {.kind = EVENT_CONTROL, .time_ns = 9500, .ptr = 0x30000000, .stream = 0xdef, .control = {.kind = CONTROL_USE}},
        {.kind = EVENT_CONTROL, .time_ns = 9500, .pool = {0, 1},
         .control = {.kind = CONTROL_POOL_CREATE, .flags = POOL_NO_SPLIT}},
    };
    for (int i = 0; i < 4; i++) {
        MUST(trace_put(w, &records[i], &err));
        if (is_flushed)
            MUST(trace_flush(w, &err));
    }
}

/* Puts one of everything that a trace can hold; the caller finishes it. is_flushed: flushes after every other record.
 * */
static struct trace_writer *small_trace_put(bool is_flushed)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    const char *const deep[] = {"c", "b", "a"}, *const flat[] = {"d", "a"};
    uint32_t stacks[2], label;
    trace_writer_info(w)->capacity_bytes = 80 * GIB;
    trace_writer_info(w)->device = 3;
    MUST(trace_put_meta(w, "source", "test", &err));
    MUST(trace_put_stream_number(w, 0xabc, 35, &err));
    put_start(w);
    MUST(trace_put_stack(w, deep, 3, &stacks[0], &err));
    MUST(trace_put_stack(w, flat, 2, &stacks[1], &err));
    MUST(trace_put_label(w, "step", 4, &label, &err));
    const struct trace_record records[] = {
        {.kind = EVENT_MARK, .time_ns = 1000, .label = label, .record = 0},
        {.kind = EVENT_ALLOC, .time_ns = 2000, .ptr = 0x50000000, .addr = 0x50000000, .bytes = 1 << 20, .record = 1,
         .stack = stacks[0]},
        {.kind = EVENT_FREE_COMPLETED, .time_ns = 2500, .ptr = 0x20000000, .addr = 0x20000000, .record = 2},
        {.kind = EVENT_ALLOC, .time_ns = 3000, .ptr = 0x20000000, .addr = 0x20000000, .bytes = 3, .record = 4,
         .stream = 0xdef, .pool = {0, 1}, .stack = stacks[1]},
        {.kind = EVENT_FREE_REQUESTED, .time_ns = 4000, .ptr = 0x50000000, .addr = 0x50000000, .record = 5},
        {.kind = EVENT_OOM, .time_ns = 5000, .bytes = UINT64_C(1) << 40, .addr = 12345, .record = 6},
        {.kind = EVENT_FREE_COMPLETED, .time_ns = 6000, .ptr = 0x50000000, .addr = 0x50000000, .record = 7},
        {.kind = EVENT_FLUSH, .time_ns = 7000, .record = 8},
        {.kind = EVENT_FREE_REQUESTED, .time_ns = 8000, .ptr = 0x10000000, .addr = 0x10000000, .record = 9},
        {.kind = EVENT_FREE_COMPLETED, .time_ns = 8001, .ptr = 0x10000000, .addr = 0x10000000, .record = 10},
    };
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        if (i == 3)
            MUST(trace_put_segment_event(w, TRACE_SEGMENT_MAP, 0x60000000, 2 * MIB, 0xabc, shared_pool, 3, &err));
        MUST(trace_put(w, &records[i], &err));
        if (is_flushed && i % 2 == 0)
            MUST(trace_flush(w, &err));
    }
    put_controls(w, is_flushed);
    trace_writer_info(w)->recorded_peak_reserved_bytes = 123;
    MUST(trace_put_meta(w, "notes", "late\nand two lines", &err));
    return w;
}

static void *small_trace_flushed(bool is_flushed, size_t *n)        /* free() it */
{
    struct err_detail err = {0};
    void *bytes;
    MUST(trace_finish_bytes(small_trace_put(is_flushed), &bytes, n, &err));
    return bytes;
}

static void *small_trace(size_t *n)
{
    return small_trace_flushed(false, n);
}

Test(trace, everything_that_is_put_comes_back)
{
    struct err_detail err = {0};
    size_t n, n_events, n_segments, n_blocks, n_rows;
    void *bytes = small_trace(&n);
    struct trace_reader *r = reader_over(bytes, n);
    const struct trace_info *info = trace_info(r);
    struct event *e = all_events(r, &n_events);
    const uint8_t kinds[] = {EVENT_MARK, EVENT_ALLOC, EVENT_FREE_COMPLETED, EVENT_ALLOC, EVENT_FREE_REQUESTED,
                             EVENT_OOM, EVENT_FREE_COMPLETED, EVENT_FLUSH, EVENT_FREE, EVENT_CONTROL, EVENT_CONTROL,
                             EVENT_CONTROL, EVENT_CONTROL};
    cr_assert_eq(n_events, sizeof kinds);
    for (size_t i = 0; i < n_events; i++)
        cr_expect_eq(e[i].kind, kinds[i], "event %zu", i);
    cr_expect_eq(e[0].time_ns, 0);
    cr_expect_eq(e[7].time_ns, 6000);
    cr_expect_eq(e[2].bytes, 5 * MIB);
    cr_expect_eq(e[3].slot, e[2].slot, "the slot vacated last is taken first");
    cr_expect_eq(e[4].bytes, 1 << 20);
    cr_expect_eq(e[6].slot, e[4].slot);
    cr_expect_eq(e[8].bytes, 500);
    cr_expect_eq(trace_streams(r)[e[3].stream].handle, 0xdef);
    cr_expect_eq(trace_pools(r)[e[3].pool].id[1], 1);
    cr_expect_eq(trace_streams(r)[1].number, 35);
    cr_expect_eq(info->capacity_bytes, 80 * GIB);
    cr_expect_eq(info->device, 3);
    cr_expect_eq(info->recorded_peak_reserved_bytes, 123);
    cr_expect_eq(info->peak_live, 4);
    cr_expect_eq(info->peak_requested_bytes, 500 + 5 * MIB + 7 + (1 << 20));
    cr_expect(info->starts_mid_run && info->has_source_numbers && info->has_addresses && info->has_segment_events);

    const struct trace_segment *segments = trace_start_segments(r, &n_segments);
    const struct trace_block *blocks = trace_start_blocks(r, &n_blocks);
    cr_assert(n_segments == 4 && n_blocks == 4);
    cr_expect(segments[0].is_small && segments[1].is_guessed && segments[2].is_range && segments[2].stream == 1);
    cr_expect(segments[2].bytes == 0 && segments[3].is_range && segments[3].bytes == 4 * MIB);
    cr_expect(blocks[1].slot == TRACE_NO_SLOT && blocks[2].is_pending && blocks[3].is_size_guessed);
    cr_expect(blocks[3].segment == UINT32_MAX && blocks[2].requested == 5 * MIB && blocks[0].requested == 500);

    const struct control *c = trace_controls(r);
    cr_expect_str_eq(c[e[9].slot].text, "max_split_size_mb:64");
    cr_expect_eq(c[e[10].slot].number, 0.8);
    cr_expect_eq(c[e[11].slot].slot, blocks[3].slot);
    cr_expect_eq(trace_streams(r)[c[e[11].slot].stream].handle, 0xdef);
    cr_expect_eq(c[e[12].slot].flags, POOL_NO_SPLIT);

    const struct trace_segment_event *rows;
    MUST(trace_segment_events(r, &rows, &n_rows, &err));
    cr_assert_eq(n_rows, 1);
    cr_expect(rows[0].before == 3 && rows[0].record == 3 && rows[0].kind == TRACE_SEGMENT_MAP && rows[0].stream == 1);

    struct trace_side side;
    const char *const *frames;
    MUST(trace_side_at(r, 3, &side, &err));
    cr_expect(side.record == 4 && side.addr == 0x20000000);
    cr_assert_eq(trace_stack(r, side.stack, &frames), 2);
    cr_expect_str_eq(frames[0], "d");
    cr_expect_str_eq(frames[1], "a");
    MUST(trace_side_at(r, 5, &side, &err));
    cr_expect(side.addr == 12345 && side.stack == TRACE_NO_STACK);
    cr_expect_str_eq(trace_meta(r, "notes"), "late\nand two lines");
    cr_expect_null(trace_meta(r, "absent"));
    cr_expect_str_eq(trace_label(r, 99), "");
    free(e);
    trace_close(r);
    free(bytes);
}

/* ---- opened at once ---- */

/* Compares events and sides of two readers from several places on. */
static void expect_like(struct trace_reader *a, struct trace_reader *b)
{
    struct err_detail err = {0};
    size_t n, n_b, k, k_b;
    const uint64_t events = trace_info(a)->events, step = events / 16 + 1;
    cr_assert_eq(memcmp(trace_info(a), trace_info(b), sizeof *trace_info(a)), 0);
    struct event *all = all_events(a, &n), *all_b = all_events(b, &n_b);
    cr_expect_eq(memcmp(all, all_b, n * sizeof *all), 0);
    for (uint64_t at = 0; at < events; at += step) {
        const struct event *ev, *ev_b;
        struct trace_side side, side_b;
        MUST(trace_seek(a, at, &err));
        MUST(trace_seek(b, at, &err));
        MUST(trace_next(a, &ev, &k, &err));
        MUST(trace_next(b, &ev_b, &k_b, &err));
        cr_assert(k > 0 && k == k_b);
        cr_expect_eq(memcmp(ev, ev_b, k * sizeof *ev), 0);
        MUST(trace_side_at(a, at, &side, &err));
        MUST(trace_side_at(b, at, &side_b, &err));
        cr_expect(side.record == side_b.record && side.addr == side_b.addr && side.stack == side_b.stack);
    }
    free(all);
    free(all_b);
}

Test(trace, one_opened_by_its_writer_reads_like_its_bytes)
{
    struct err_detail err = {0};
    for (int flushed = 0; flushed < 2; flushed++) {
        size_t n;
        struct trace_reader *at_once;
        void *bytes = small_trace_flushed(flushed != 0, &n);
        struct trace_reader *packed = reader_over(bytes, n);
        MUST(trace_finish_open(small_trace_put(flushed != 0), "at once", &at_once, &err));
        expect_like(packed, at_once);
        trace_close(packed);
        trace_close(at_once);
        free(bytes);
    }
}

static struct trace_writer *mix_put(uint64_t events)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    if (events > 0)
        MUST(load_make("mix:100", events, 1, w, &err));
    return w;
}

Test(trace, of_any_length_it_reads_like_its_bytes)
{
    static const uint64_t lengths[] = {0, 1, 2, 1000, NATIVE_SECTION_EVENTS - 1, NATIVE_SECTION_EVENTS,
                                       NATIVE_SECTION_EVENTS + 1};
    struct err_detail err = {0};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t n;
        void *bytes;
        struct trace_reader *at_once;
        MUST(trace_finish_bytes(mix_put(lengths[i]), &bytes, &n, &err));
        MUST(trace_finish_open(mix_put(lengths[i]), "at once", &at_once, &err));
        struct trace_reader *packed = reader_over(bytes, n);
        expect_like(packed, at_once);
        trace_close(packed);
        trace_close(at_once);
        free(bytes);
    }
}

/* ---- random programs ---- */

enum { PROGRAM_EVENTS = 200000, PROGRAM_PTRS = 5000 };

/* What a random program did, as the reader should tell it. Slots are left out: the writer chooses them. */
struct program {
    struct event      events[PROGRAM_EVENTS];
    struct trace_side sides[PROGRAM_EVENTS];
    uint64_t          ptrs[PROGRAM_EVENTS];
    size_t            n;
};

/* The request that is live under each pointer while the program is made. */
struct program_live {
    uint64_t bytes;
    uint16_t stream;
    uint8_t  pool;
    bool     is_pending;
};

static void program_note(struct program *p, const struct trace_record *r, uint64_t bytes, uint16_t stream, uint8_t pool)
{
    p->events[p->n] = (struct event){.time_ns = r->time_ns, .bytes = bytes, .stream = stream, .pool = pool,
                                     .kind = (uint8_t)r->kind};
    p->sides[p->n] = (struct trace_side){.record = r->record, .addr = r->addr, .stack = r->stack};
    p->ptrs[p->n++] = r->ptr;
}

/* One step of the program: a request, a free of some kind, or something rare. */
static void program_step(struct program *p, struct program_live *live, struct trace_writer *w, uint64_t *random,
                         struct trace_record *r)
{
    struct err_detail err = {0};
    const uint64_t dice = next_random(random) % 100;
    struct program_live *l = &live[r->ptr];
    uint16_t stream = (uint16_t)(next_random(random) % 5);
    uint8_t pool = (uint8_t)(next_random(random) % 3);
    r->stream = stream == 0 ? 0 : 0x1000u + stream;
    r->pool[1] = pool;
    r->pool[0] = 0;
    if (dice < 2) {
        r->kind = dice == 0 ? EVENT_FLUSH : EVENT_OOM;
        r->bytes = 1 + next_random(random) % (UINT64_C(1) << 50);
        program_note(p, r, dice == 0 ? 0 : r->bytes, stream, pool);
    } else if (l->bytes == 0) {
        r->kind = EVENT_ALLOC;
        r->bytes = 1 + (next_random(random) >> (next_random(random) % 40 + 24));
        *l = (struct program_live){.bytes = r->bytes, .stream = stream, .pool = pool};
        program_note(p, r, l->bytes, stream, pool);
    } else {
        if (dice < 90) {                                 /* mostly with the stream and pool of the request */
            stream = l->stream;
            pool = l->pool;
            r->stream = stream == 0 ? 0 : 0x1000u + stream;
            r->pool[1] = pool;
        }
        r->kind = l->is_pending ? EVENT_FREE_COMPLETED : dice < 60 ? EVENT_FREE : EVENT_FREE_REQUESTED;
        program_note(p, r, l->bytes, stream, pool);
        l->is_pending = r->kind == EVENT_FREE_REQUESTED;
        if (!l->is_pending)
            l->bytes = 0;
    }
    MUST(trace_put(w, r, &err));
}

/* Runs a random program into a writer and records it in p. The writer numbers streams and pools by first appearance;
 * the program names all of them at the start, so that these numbers are its own. */
static void program_run(struct program *p, struct trace_writer *w, uint64_t seed)
{
    struct err_detail err = {0};
    struct program_live *live = calloc(PROGRAM_PTRS, sizeof *live);
    uint64_t random = seed, record = 0, last = PROGRAM_PTRS;
    uint32_t stacks[100];
    for (uint64_t s = 1; s < 5; s++)
        MUST(trace_put_stream_number(w, 0x1000 + s, s * 32, &err));
    for (int i = 0; i < 100; i++) {
        char names[3][32];
        const char *const frames[] = {names[0], names[1], names[2]};
        for (int k = 0; k < 3; k++)
            snprintf(names[k], sizeof names[k], "frame %d", i >> k);
        MUST(trace_put_stack(w, frames, 3, &stacks[i], &err));
    }
    struct trace_record first = {.kind = EVENT_MARK, .record = record};
    MUST(trace_put_label(w, "start", 5, &first.label, &err));
    MUST(trace_put(w, &first, &err));
    program_note(p, &first, 0, 0, 0);
    for (uint64_t pool = 1, time_ns = 0; p->n < PROGRAM_EVENTS; pool++) {
        struct trace_record r = {.ptr = next_random(&random) % PROGRAM_PTRS};
        r.stack = stacks[next_random(&random) % 100];
        if (r.ptr == last)                               /* a completion right after its request would be merged */
            continue;
        last = r.ptr;
        time_ns += next_random(&random) % 7 == 0 ? next_random(&random) % 1000000 * 250 : 250;
        record += 1 + next_random(&random) % 2;
        r.time_ns = time_ns;
        r.record = record;
        r.addr = (0x7f0000 + r.ptr) << 9;
        if (pool < 3) {
            r.kind = EVENT_FLUSH;
            r.pool[1] = pool;
            program_note(p, &r, 0, 0, (uint8_t)pool);
            MUST(trace_put(w, &r, &err));
        } else {
            program_step(p, live, w, &random, &r);
        }
    }
    free(live);
}

/* Slots must tell requests apart exactly as pointers did. */
static void expect_slots_name_pointers(const struct event *events, const uint64_t *ptrs, size_t n, uint32_t peak_live)
{
    uint64_t *owner = malloc(peak_live * sizeof *owner);
    memset(owner, 0xff, peak_live * sizeof *owner);
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &events[i];
        if (e->kind != EVENT_ALLOC && !kind_is_free(e->kind))
            continue;
        cr_assert_lt(e->slot, peak_live);
        cr_assert_eq(owner[e->slot], e->kind == EVENT_ALLOC ? UINT64_MAX : ptrs[i], "event %zu", i);
        owner[e->slot] = e->kind == EVENT_FREE || e->kind == EVENT_FREE_COMPLETED ? UINT64_MAX : ptrs[i];
    }
    free(owner);
}

Test(trace, a_random_program_comes_back_event_by_event)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct err_detail err = {0};
        struct program *p = calloc(1, sizeof *p);
        struct trace_writer *w = writer_in_memory();
        size_t n, n_events;
        void *bytes;
        cr_log_info("seed %" PRIu64, seed);
        program_run(p, w, seed);
        MUST(trace_finish_bytes(w, &bytes, &n, &err));
        struct trace_reader *r = reader_over(bytes, n);
        struct event *events = all_events(r, &n_events);
        cr_assert_eq(n_events, p->n);
        expect_slots_name_pointers(events, p->ptrs, p->n, trace_info(r)->peak_live);
        struct trace_side *sides = calloc(p->n, sizeof *sides);
        MUST(trace_sides(r, 0, p->n, sides, &err));
        for (size_t i = 0; i < p->n; i++) {
            p->events[i].slot = events[i].slot;
            cr_assert_arr_eq(&events[i], &p->events[i], sizeof events[i], "seed %" PRIu64 ", event %zu", seed, i);
            cr_assert(sides[i].record == p->sides[i].record && sides[i].addr == p->sides[i].addr &&
                      sides[i].stack == p->sides[i].stack, "seed %" PRIu64 ", event %zu", seed, i);
        }
        free(sides);
        free(events);
        trace_close(r);
        free(bytes);
        free(p);
    }
}

Test(trace, the_same_input_gives_the_same_bytes)
{
    size_t n[3];
    void *a = small_trace(&n[0]), *b = small_trace(&n[1]);
    cr_assert_eq(n[0], n[1]);
    cr_expect_arr_eq(a, b, n[0]);
    void *c = generated("mix:100", 100000, 7, &n[0]), *d = generated("mix:100", 100000, 7, &n[1]);
    void *other = generated("mix:100", 100000, 8, &n[2]);
    cr_assert_eq(n[0], n[1]);
    cr_expect_arr_eq(c, d, n[0]);
    cr_expect(n[2] != n[0] || memcmp(c, other, n[0]) != 0, "another seed, another trace");
    free(a);
    free(b);
    free(c);
    free(d);
    free(other);
}

/* ---- seeking ---- */

/* Expects a reader that seeks to an event to give what reading from the start gave. */
static void expect_same_from(struct trace_reader *r, const struct event *all, size_t n, uint64_t first)
{
    struct err_detail err = {0};
    const struct event *events;
    size_t k;
    MUST(trace_seek(r, first, &err));
    MUST(trace_next(r, &events, &k, &err));
    cr_assert_eq(k > 0, first < n);
    cr_assert_leq(first + k, n);
    cr_assert(k == 0 || memcmp(events, all + first, k * sizeof *events) == 0, "from event %" PRIu64, first);
}

Test(trace, reading_from_any_event_gives_what_reading_from_the_start_gives)
{
    size_t n_bytes, n;
    const uint64_t n_events = (uint64_t)NATIVE_SECTION_EVENTS * (2 * NATIVE_SLOTS_EVERY + 1) + 12345;
    void *bytes = generated("mix:3000", n_events, 5, &n_bytes);
    struct trace_reader *r = reader_over(bytes, n_bytes);
    struct event *all = all_events(r, &n);
    const uint64_t listed = (uint64_t)NATIVE_SECTION_EVENTS * NATIVE_SLOTS_EVERY;
    const uint64_t places[] = {0, 1, NATIVE_SECTION_EVENTS - 1, NATIVE_SECTION_EVENTS, listed - 1, listed, listed + 1,
                               n - 1, n, 2 * listed, 5, 2 * listed + 7, listed};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        expect_same_from(r, all, n, places[i]);
    uint64_t random = 99;
    for (int i = 0; i < 20; i++)
        expect_same_from(r, all, n, next_random(&random) % n);
    trace_close(r);
    r = reader_over(bytes, n_bytes);
    expect_same_from(r, all, n, 2 * listed + 7);         /* before anything else is read */
    free(all);
    trace_close(r);
    free(bytes);
}

/* Once read to its end it stays decoded, whatever was read before. */
Test(trace, a_trace_of_one_chunk_is_the_same_from_any_event_however_it_was_read_before)
{
    struct err_detail err = {0};
    const struct event *events;
    size_t n_bytes, n, k;
    void *bytes = generated("mix:300", 3 * (uint64_t)NATIVE_SECTION_EVENTS + 77, 5, &n_bytes);
    struct trace_reader *first = reader_over(bytes, n_bytes), *r = reader_over(bytes, n_bytes);
    struct event *all = all_events(first, &n);
    const uint64_t places[] = {NATIVE_SECTION_EVENTS + 5, n, 0, n - 1, 1, n, 2 * NATIVE_SECTION_EVENTS, 0};
    trace_enlarge_chunks(r);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            expect_same_from(r, all, n, places[i]);
            if (round > 0) {
                MUST(trace_next(r, &events, &k, &err));
                cr_expect_eq(k, 0);
            }
        }
    free(all);
    trace_close(first);
    trace_close(r);
    free(bytes);
}

/* Chunks are small at first. A second reading, or trace_enlarge_chunks, gives the whole trace as one chunk. */
Test(trace, a_trace_that_was_read_to_its_end_is_one_chunk_from_then_on)
{
    struct err_detail err = {0};
    const struct event *events, *kept;
    size_t n_bytes, n, k;
    void *bytes = generated("mix:300", 3 * (uint64_t)NATIVE_SECTION_EVENTS + 77, 5, &n_bytes);
    struct trace_reader *r = reader_over(bytes, n_bytes);
    MUST(trace_next(r, &events, &k, &err));
    cr_expect_eq(k, NATIVE_SECTION_EVENTS);
    struct event *all = all_events(r, &n);
    MUST(trace_seek(r, 0, &err));
    MUST(trace_next(r, &events, &k, &err));
    cr_expect_eq(k, n);
    cr_expect_eq(memcmp(events, all, n * sizeof *all), 0);
    MUST(trace_next(r, &kept, &k, &err));
    MUST(trace_seek(r, 0, &err));
    MUST(trace_next(r, &kept, &k, &err));
    cr_expect(kept == events && k == n, "decoded again");
    free(all);
    trace_close(r);
    free(bytes);
}

/* ---- reading ahead ---- */

/* A hundred requests of any size, then their frees, over and over; each with its own address and number. */
static void *with_sides(uint64_t n_events, size_t *n)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    uint64_t random = 5;
    void *bytes;
    for (uint64_t i = 0; i < n_events; i++) {
        const struct trace_record r = {.kind = i / 100 % 2 == 0 ? EVENT_ALLOC : EVENT_FREE, .ptr = 1 + i % 100,
                                       .bytes = next_random(&random) % GIB + 1, .time_ns = 10 * i, .record = 3 * i,
                                       .addr = next_random(&random) % GIB};
        MUST(trace_put(w, &r, &err));
    }
    MUST(trace_finish_bytes(w, &bytes, n, &err));
    return bytes;
}

/* Reads everything and asks for sides on the way, which makes the reader's thread rest. */
static void expect_same_with_sides(struct trace_reader *r, struct trace_reader *plain, const struct event *all)
{
    struct err_detail err = {0};
    const struct event *events;
    uint64_t done = 0;
    MUST(trace_seek(r, 0, &err));
    for (size_t k = 1; k > 0; done += k) {
        struct trace_side side, expected;
        MUST(trace_next(r, &events, &k, &err));
        const uint64_t asked = done / 2;
        MUST(trace_side_at(r, asked, &side, &err));
        MUST(trace_side_at(plain, asked, &expected, &err));
        cr_expect(side.record == expected.record && side.addr == expected.addr, "event %" PRIu64, asked);
        cr_assert(k == 0 || memcmp(events, all + done, k * sizeof *events) == 0, "from event %" PRIu64, done);
    }
    cr_expect_eq(done, trace_info(plain)->events);
}

Test(trace, reading_ahead_gives_what_reading_gives)
{
    size_t n_bytes, n;
    const uint64_t n_events = (uint64_t)NATIVE_SECTION_EVENTS * (NATIVE_SLOTS_EVERY + 2) + 12345;
    void *bytes = with_sides(n_events, &n_bytes);
    struct trace_reader *plain = reader_over(bytes, n_bytes), *r = reader_over(bytes, n_bytes);
    struct event *all = all_events(plain, &n);
    const uint64_t places[] = {0, NATIVE_SECTION_EVENTS, n, n - 1, 5, (uint64_t)NATIVE_SECTION_EVENTS * 4 + 3, 0};
    trace_read_ahead(r);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        expect_same_from(r, all, n, places[i]);
    expect_same_with_sides(r, plain, all);
    free(all_events(r, &n));
    expect_same_from(r, all, n, 0);
    free(all);
    trace_close(plain);
    trace_close(r);                                      /* while the thread has something to decode */
    free(bytes);
}

/* How much of a damaged trace is read before reading fails, and how it fails. */
static uint64_t read_to_damage(struct trace_reader *r, struct err_detail *err)
{
    const struct event *events;
    uint64_t done = 0;
    enum err e = ERR_OK;
    for (size_t k = 1; e == ERR_OK && k > 0;) {
        e = trace_next(r, &events, &k, err);
        done += e == ERR_OK ? k : 0;
    }
    cr_expect_eq(e, ERR_FORMAT);
    return done;
}

Test(trace, damage_ahead_is_reported_in_its_turn)
{
    struct err_detail err = {0}, why_ahead = {0};
    size_t n, k;
    const struct event *events;
    unsigned char *bytes = generated("mix:50", 300000, 3, &n);
    bytes[n / 2] ^= 1;
    struct trace_reader *plain = reader_over(bytes, n), *r = reader_over(bytes, n);
    const uint64_t whole = read_to_damage(plain, &err);
    trace_read_ahead(r);
    for (int i = 0; i < 2; i++) {
        MUST(trace_seek(r, 0, &why_ahead));
        cr_expect_eq(read_to_damage(r, &why_ahead), whole);
        cr_expect_str_eq(why_ahead.text, err.text);
        cr_expect_eq(trace_next(r, &events, &k, NULL), ERR_FORMAT, "nothing can be read past the damage");
    }
    cr_expect_gt(whole, 0);
    MUST(trace_seek(r, whole - 1, &err));                /* the thread meets damage that nobody asks for */
    MUST(trace_next(r, &events, &k, &err));
    MUST(trace_seek(r, 0, &err));
    MUST(trace_next(r, &events, &k, &err));
    trace_close(plain);
    trace_close(r);
    free(bytes);
}

Test(trace, a_seek_beyond_the_end_is_refused)
{
    struct err_detail err = {0};
    size_t n;
    void *bytes = generated("530-270", 0, 0, &n);
    struct trace_reader *r = reader_over(bytes, n);
    struct trace_side sides[2];
    cr_expect_eq(trace_seek(r, 13, &err), ERR_USAGE);
    cr_expect_eq(trace_sides(r, 11, 2, sides, &err), ERR_USAGE);
    cr_expect_eq(trace_seek(r, 12, &err), ERR_OK);
    trace_close(r);
    free(bytes);
}

Test(trace, events_without_a_number_in_their_source_get_their_own)
{
    struct err_detail err = {0};
    size_t n;
    void *bytes = generated("530-270", 0, 0, &n);
    struct trace_reader *r = reader_over(bytes, n);
    struct trace_side side;
    cr_expect_not(trace_info(r)->has_source_numbers);
    cr_expect_eq(trace_info(r)->records, 12);
    MUST(trace_side_at(r, 7, &side, &err));
    cr_expect(side.record == 7 && side.addr == 0 && side.stack == TRACE_NO_STACK);
    trace_close(r);
    free(bytes);
}

/* ---- damage ---- */

static uint64_t digest(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t digest_text(uint64_t h, const char *text)
{
    return text == NULL ? h + 1 : digest(h, text, strlen(text) + 1);
}

/* Adds numbers one by one: structs have padding. */
static uint64_t digest_numbers(uint64_t h, const uint64_t *numbers, size_t n)
{
    return digest(h, numbers, n * sizeof *numbers);
}

#define DIGEST(h, ...)                                                                      \
    digest_numbers((h), (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static uint64_t digest_info(uint64_t h, const struct trace_info *i)
{
    h = digest_numbers(h, i->by_kind, EVENT_KINDS);
    h = DIGEST(h, i->events, i->capacity_bytes, i->records, i->peak_requested_bytes, i->duration_ns, i->epoch_us);
    h = DIGEST(h, i->recorded_peak_reserved_bytes, i->recorded_peak_allocated_bytes, i->recorded_end_reserved_bytes,
               i->recorded_start_reserved_bytes, i->recorded_end_segments, i->peak_live, i->device);
    return DIGEST(h, i->n_streams, i->n_pools, i->n_labels, i->n_stacks, i->n_controls, i->starts_mid_run,
                  i->has_source_numbers, i->has_addresses, i->has_segment_events);
}

static uint64_t digest_start(uint64_t h, const struct trace_reader *r)
{
    size_t n;
    const struct trace_segment *s = trace_start_segments(r, &n);
    for (size_t i = 0; i < n; i++)
        h = DIGEST(h, s[i].addr, s[i].bytes, s[i].stream, s[i].pool, s[i].is_small, s[i].is_range, s[i].is_guessed);
    const struct trace_block *b = trace_start_blocks(r, &n);
    for (size_t i = 0; i < n; i++)
        h = DIGEST(h, b[i].addr, b[i].bytes, b[i].requested, b[i].slot, b[i].segment, b[i].stream, b[i].pool,
                   b[i].is_pending, b[i].is_size_guessed);
    return h;
}

/* Reads everything but events and sides. */
static uint64_t digest_tables(const struct trace_reader *r)
{
    const struct trace_info *i = trace_info(r);
    uint64_t h = digest_start(digest_info(1, i), r);
    const char *value, *const *frames;
    for (size_t k = 0; trace_meta_at(r, k, &value) != NULL; k++)
        h = digest_text(digest_text(h, trace_meta_at(r, k, &value)), value);
    for (uint32_t k = 0; k < i->n_streams; k++)
        h = DIGEST(h, trace_streams(r)[k].handle, trace_streams(r)[k].number);
    for (uint32_t k = 0; k < i->n_pools; k++)
        h = DIGEST(h, trace_pools(r)[k].id[0], trace_pools(r)[k].id[1]);
    for (uint32_t k = 0; k < i->n_labels; k++)
        h = digest_text(h, trace_label(r, k));
    for (uint32_t k = 1; k <= i->n_stacks; k++)
        for (size_t f = 0, depth = trace_stack(r, k, &frames); f < depth; f++)
            h = digest_text(h, frames[f]);
    for (uint32_t k = 0; k < i->n_controls; k++) {
        const struct control *c = &trace_controls(r)[k];
        h = digest_text(digest(h, &c->number, sizeof c->number), c->text);
        h = DIGEST(h, c->kind, c->pool, c->stream, c->slot, c->flags);
    }
    return h;
}

/* Reads everything; returns a sum over all that was read, 0 if anything is refused. */
static uint64_t digest_trace(const void *bytes, size_t n, struct err_detail *err)
{
    struct trace_reader *r;
    const struct event *events;
    const struct trace_segment_event *rows;
    size_t k;
    if (trace_open_bytes(bytes, n, &r, err) != ERR_OK)
        return 0;
    uint64_t h = digest_tables(r);
    bool is_good = true;
    do {
        is_good = trace_next(r, &events, &k, err) == ERR_OK;
        h = is_good ? digest(h, events, k * sizeof *events) : 0;
    } while (is_good && k > 0);
    for (uint64_t i = 0; is_good && i < trace_info(r)->events; i++) {
        struct trace_side side;
        is_good = trace_side_at(r, i, &side, err) == ERR_OK;
        h = is_good ? DIGEST(h, side.record, side.addr, side.stack) : 0;
    }
    is_good = is_good && trace_segment_events(r, &rows, &k, err) == ERR_OK;
    h = is_good ? h : 0;
    for (size_t i = 0; is_good && i < k; i++)
        h = DIGEST(h, rows[i].before, rows[i].record, rows[i].addr, rows[i].bytes, rows[i].stream, rows[i].pool,
                   rows[i].kind);
    trace_close(r);
    return h;
}

Test(trace, a_flipped_bit_is_noticed_or_changes_nothing)
{
    size_t n, unnoticed = 0;
    struct err_detail err = {0};
    unsigned char *bytes = small_trace(&n);
    const uint64_t whole = digest_trace(bytes, n, &err);
    cr_assert_neq(whole, 0, "%s", err.text);
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit += i % 4 == 0 ? 1 : 3) {
            bytes[i] ^= (unsigned char)(1 << bit);
            err.text[0] = '\0';
            const uint64_t h = digest_trace(bytes, n, &err);
            cr_assert(h == 0 || h == whole, "byte %zu, bit %d", i, bit);
            cr_assert(h != 0 || strlen(err.text) > 0, "byte %zu, bit %d: no reason is given", i, bit);
            unnoticed += h != 0;
            bytes[i] ^= (unsigned char)(1 << bit);
        }
    cr_expect_lt(unnoticed, n / 10, "%zu flips change nothing", unnoticed);
    free(bytes);
}

/* ---- unfinished traces ---- */

/* Expects a trace that was cut off to be a prefix of the whole one. */
static void expect_prefix(struct trace_reader *part, struct trace_reader *whole)
{
    struct err_detail err = {0};
    const struct trace_info *info = trace_info(part);
    const struct trace_segment_event *rows, *whole_rows;
    size_t n, n_whole, n_rows, n_whole_rows;
    cr_assert_leq(info->events, trace_info(whole)->events);
    struct event *events = all_events(part, &n), *whole_events = all_events(whole, &n_whole);
    cr_expect(n == 0 || memcmp(events, whole_events, n * sizeof *events) == 0);
    for (uint64_t i = 0; i < n; i += 1 + n / 50) {
        struct trace_side side, whole_side;
        const struct event *at;
        size_t k;
        MUST(trace_side_at(part, i, &side, &err));
        MUST(trace_side_at(whole, i, &whole_side, &err));
        cr_expect(side.record == whole_side.record && side.addr == whole_side.addr && side.stack == whole_side.stack);
        MUST(trace_seek(part, i, &err));
        MUST(trace_next(part, &at, &k, &err));
        cr_expect(k > 0 && memcmp(at, &events[i], sizeof *at) == 0);
    }
    MUST(trace_segment_events(part, &rows, &n_rows, &err));
    MUST(trace_segment_events(whole, &whole_rows, &n_whole_rows, &err));
    cr_expect_leq(n_rows, n_whole_rows);
    for (size_t i = 0; i < n_rows; i++)
        cr_expect(rows[i].before == whole_rows[i].before && rows[i].addr == whole_rows[i].addr);
    cr_expect(n_rows == n_whole_rows || whole_rows[n_rows].before >= info->events);
    free(events);
    free(whole_events);
}

/* Opens the first k bytes of a trace: a prefix of it, or refused. Returns its number of events. */
static uint64_t expect_cut(const unsigned char *bytes, size_t k, struct trace_reader *whole, size_t facts_bytes)
{
    struct err_detail err = {0};
    struct trace_reader *r = NULL;
    unsigned char *copy = malloc(k + 1);                 /* a sanitizer sees a read beyond its end */
    memcpy(copy, bytes, k);
    const enum err e = trace_open_bytes(copy, k, &r, &err);
    cr_assert_eq(e, k < facts_bytes ? ERR_FORMAT : ERR_OK, "%zu bytes: %s", k, err.text);
    cr_assert(e == ERR_OK || strlen(err.text) > 0);
    uint64_t events = 0;
    if (e == ERR_OK) {
        cr_expect(trace_info(r)->is_unfinished && trace_info(r)->cut_off_bytes < k);
        expect_prefix(r, whole);
        events = trace_info(r)->events;
    }
    trace_close(r);
    free(copy);
    return events;
}

/* Bytes up to the end of the first section, which holds the facts. */
static size_t facts_end(const unsigned char *bytes)
{
    struct cursor c = cursor_over(bytes + NATIVE_HEAD_BYTES + NATIVE_SECTION_BYTES - 4, 4);
    return NATIVE_HEAD_BYTES + NATIVE_SECTION_BYTES + (size_t)cursor_le(&c, 4);
}

Test(trace, a_trace_that_is_cut_anywhere_holds_what_was_whole)
{
    for (int is_flushed = 0; is_flushed < 2; is_flushed++) {
        size_t n;
        uint64_t events = 0;
        unsigned char *bytes = small_trace_flushed(is_flushed != 0, &n);
        struct trace_reader *whole = reader_over(bytes, n);
        for (size_t k = 0; k < n; k++) {
            const uint64_t now = expect_cut(bytes, k, whole, facts_end(bytes));
            cr_expect_geq(now, events, "%zu bytes hold less than fewer", k);
            events = now;
        }
        cr_expect_eq(events, trace_info(whole)->events, "all but the index");
        trace_close(whole);
        free(bytes);
    }
}

Test(trace, a_long_trace_that_is_cut_anywhere_holds_what_was_whole)
{
    uint64_t random = 11;
    size_t n;
    unsigned char *bytes = generated("mix:50", (uint64_t)NATIVE_SECTION_EVENTS * (NATIVE_SLOTS_EVERY + 1) + 7, 3, &n);
    struct trace_reader *whole = reader_over(bytes, n);
    const int n_cuts = getenv("REPLAY_LONG_TESTS") != NULL ? 100 : 4;
    for (int i = 0; i < n_cuts; i++) {
        const size_t k = i == 0 ? n - 1 : next_random(&random) % n;
        (void)expect_cut(bytes, k, whole, facts_end(bytes));
    }
    trace_close(whole);
    free(bytes);
}

Test(trace, what_was_flushed_is_in_the_file_before_it_is_finished)
{
    struct err_detail err = {0};
    char folder[] = "/tmp/replay-growing-XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace", folder);
    struct trace_writer *w = NULL;
    struct trace_reader *r = NULL;
    MUST(trace_create_growing(path, &w, &err));
    for (uint64_t i = 1; i <= 5; i++) {
        MUST(put(w, EVENT_ALLOC, i, i * 100, &err));
        MUST(trace_flush(w, &err));
        MUST(trace_open(path, &r, &err));
        cr_expect(trace_info(r)->is_unfinished && trace_info(r)->cut_off_bytes == 0);
        cr_expect(trace_info(r)->events == i && trace_info(r)->peak_live == i);
        cr_expect_eq(trace_info(r)->peak_requested_bytes, i * (i + 1) * 50);
        trace_close(r);
    }
    MUST(trace_finish(w, &err));
    MUST(trace_open(path, &r, &err));
    cr_expect(!trace_info(r)->is_unfinished && trace_info(r)->events == 5);
    trace_close(r);
    MUST(trace_create_growing(path, &w, &err));
    trace_abandon(w);
    cr_expect_neq(access(path, F_OK), 0, "a trace that was given up is gone");
    rmdir(folder);
}

/* Flips bits of an unfinished trace: it is then refused, or a prefix of what it was. */
Test(trace, a_flipped_bit_of_an_unfinished_trace_makes_a_prefix_at_most)
{
    size_t n;
    unsigned char *bytes = small_trace_flushed(true, &n);
    struct trace_reader *whole = reader_over(bytes, n);
    struct forge *f = forge_open(bytes, n);
    cr_assert_not_null(f);
    f->is_unfinished = true;
    struct bytes cut = forge_pack(f);
    for (size_t i = 0; i < cut.n; i++) {
        struct err_detail err = {0};
        struct trace_reader *r = NULL;
        cut.data[i] ^= (unsigned char)(1 << i % 8);
        if (trace_open_bytes(cut.data, cut.n, &r, &err) == ERR_OK)
            cr_expect_leq(trace_info(r)->events, trace_info(whole)->events, "byte %zu", i);
        else
            cr_expect(strlen(err.text) > 0, "byte %zu", i);
        trace_close(r);
        cut.data[i] ^= (unsigned char)(1 << i % 8);
    }
    bytes_free(&cut);
    forge_free(f);
    trace_close(whole);
    free(bytes);
}

Test(trace, what_is_damaged_and_not_cut_off_is_refused)
{
    size_t n;
    unsigned char *bytes = small_trace(&n);
    const size_t places[] = {NATIVE_HEAD_BYTES, facts_end(bytes), facts_end(bytes) - 1, n - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct err_detail err = {0};
        struct trace_reader *r = NULL;
        bytes[places[i]] ^= 0x40;
        cr_expect_eq(trace_open_bytes(bytes, n - (i < 3), &r, &err), ERR_FORMAT, "byte %zu", places[i]);
        cr_expect_not_null(strstr(err.text, "damaged"), "%s", err.text);
        trace_close(r);
        bytes[places[i]] ^= 0x40;
    }
    free(bytes);
}

Test(trace, damage_in_the_middle_names_its_section)
{
    struct err_detail err = {0};
    size_t n, k;
    unsigned char *bytes = generated("mix:50", 300000, 3, &n);
    bytes[n / 2] ^= 1;
    struct trace_reader *r = reader_over(bytes, n);      /* opening does not read the damage */
    const struct event *events;
    enum err e = ERR_OK;
    for (k = 1; e == ERR_OK && k > 0;)
        e = trace_next(r, &events, &k, &err);
    cr_expect_eq(e, ERR_FORMAT);
    cr_expect(err.offset > NATIVE_HEAD_BYTES && err.offset <= n / 2, "%s", err.text);
    cr_expect_not_null(strstr(err.text, "'evts'"), "%s", err.text);
    cr_expect_eq(trace_next(r, &events, &k, &err), ERR_FORMAT, "nothing can be read past the damage");
    MUST(trace_seek(r, 0, &err));
    trace_close(r);
    free(bytes);
}

Test(trace, what_is_no_trace_is_refused)
{
    const char *const texts[] = {"", "\x80\x04", "replay trace", "0123456789012345678901234567890123456789"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct err_detail err = {0};
        struct trace_reader *r = NULL;
        cr_expect_eq(trace_open_bytes(texts[i], strlen(texts[i]), &r, &err), ERR_FORMAT);
        cr_expect_not_null(strstr(err.text, "not a native trace"), "%s", err.text);
        cr_expect_not(trace_is_native((const unsigned char *)texts[i], strlen(texts[i])));
    }
    size_t n;
    unsigned char *bytes = small_trace(&n);
    cr_expect(trace_is_native(bytes, 24) && !trace_is_native(bytes, 23));
    free(bytes);
}

/* Version 2 had no columns of bits; nothing else differs. There was no version 3. */
Test(trace, the_version_before_is_read_and_no_other)
{
    for (unsigned char version = 0; version < 10; version++) {
        size_t n;
        unsigned char *bytes = small_trace(&n);
        struct err_detail err = {0};
        struct trace_reader *r = NULL;
        bytes[NATIVE_HEAD_BYTES - 4] = version;
        const enum err e = trace_open_bytes(bytes, n, &r, &err);
        cr_expect_eq(e, version == 2 || version == 4 ? ERR_OK : ERR_FORMAT, "version %u: %s", version, err.text);
        if (e != ERR_OK)
            cr_expect_not_null(strstr(err.text, "this program reads 2 and 4"), "%s", err.text);
        trace_close(r);
        free(bytes);
    }
}

/* ---- slots, mostly as guessed ---- */

/* n events in up to `n_slots` slots. A model of the guess chooses the slots, except one time in 300. */
static void fill_row(struct event *row, size_t n, uint32_t n_slots, uint64_t *state)
{
    uint32_t *stack = calloc(n + 1, sizeof *stack), next = 0;
    uint64_t *live = calloc(n_slots, sizeof *live);      /* bytes */
    size_t n_stack = 0, n_live = 0;
    for (size_t i = 0; i < n; i++) {
        const bool is_alloc = n_live == 0 || (n_live < n_slots && random_one_in(state, 2));
        uint32_t slot = (uint32_t)random_below(state, n_slots);
        if (is_alloc) {
            const uint32_t guess = n_stack > 0 ? stack[--n_stack] : next;
            slot = guess < n_slots && !random_one_in(state, 300) ? guess : slot;
        }
        while ((live[slot] == 0) != is_alloc)
            slot = (slot + 1) % n_slots;
        row[i] = (struct event){.kind = is_alloc ? EVENT_ALLOC : EVENT_FREE, .slot = slot, .time_ns = i,
                                .bytes = is_alloc ? 1 + random_below(state, 1000) : live[slot]};
        next = is_alloc ? slot + 1 : next;
        live[slot] = is_alloc ? row[i].bytes : UINT64_C(0);
        n_live = is_alloc ? n_live + 1 : n_live - 1;
        if (!is_alloc)
            stack[n_stack++] = slot;
    }
    free(live);
    free(stack);
}

static void expect_read_as_written(struct events_decoder *d, const struct event *row, size_t n, uint32_t n_slots,
                                   uint64_t seed)
{
    const struct events_bounds bounds = {.n_streams = 1, .n_pools = 1};
    struct event *out = calloc(n, sizeof *out);
    struct bytes raw = {0};
    struct events_place written = {0}, read = {0};
    struct slot_table slots = {.limit = n_slots};
    struct events_fault fault = {0};
    size_t ends[EVENT_COLUMN_COUNT];
    events_encode(&raw, row, n, &written, ends);
    cr_assert(events_decode(d, raw.data, raw.n, n, &read, &bounds, &slots, out, &fault), "seed %" PRIu64 ": %s", seed,
              fault.reason);
    cr_assert_arr_eq(out, row, n * sizeof *row, "seed %" PRIu64, seed);
    free(slots.at);
    bytes_free(&raw);
    free(out);
}

Test(trace, slots_are_read_as_written_whether_guessed_or_not)
{
    enum { ROW = 8 * COLUMN_BATCH };
    struct event *row = calloc(ROW, sizeof *row);
    struct events_decoder *d = malloc(sizeof *d);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t state = seed;
        const uint32_t n_slots = 1 + (uint32_t)random_below(&state, 40);
        fill_row(row, ROW, n_slots, &state);
        expect_read_as_written(d, row, ROW, n_slots, seed);
    }
    free(d);
    free(row);
}

/* Slot 0 is vacant, but the request that got slot 2 took it off the stack. */
Test(trace, where_no_slot_was_vacated_the_next_one_is_the_guess)
{
    const struct event first[] = {
        {.kind = EVENT_ALLOC, .bytes = 1}, {.kind = EVENT_ALLOC, .bytes = 1, .slot = 1},
        {.kind = EVENT_FREE, .bytes = 1}, {.kind = EVENT_ALLOC, .bytes = 1, .slot = 2},
    };
    enum { FIRST = sizeof first / sizeof first[0], ROW = 2 * COLUMN_BATCH };
    struct event *row = calloc(ROW, sizeof *row);
    struct events_decoder *d = calloc(1, sizeof *d);
    memcpy(row, first, sizeof first);
    for (size_t k = FIRST; k < ROW; k++)
        row[k] = (struct event){.kind = k % 2 == 0 ? EVENT_FREE : EVENT_ALLOC, .bytes = 1, .slot = 2};
    row[ROW - 2] = (struct event){.kind = EVENT_ALLOC, .bytes = 1, .slot = 3};
    row[ROW - 1] = (struct event){.kind = EVENT_FREE, .bytes = 1, .slot = 3};
    expect_read_as_written(d, row, ROW, 4, 0);
    free(d);
    free(row);
}

/* ---- invalid events with right checksums ---- */

struct hostile {
    const char  *reason;             /* part of the message */
    struct event events[3];          /* stream and pool of frees: exclusive or with those of the ALLOC */
    size_t       n;
};

/* Expects event number `at` to be refused for that reason. */
static void expect_event_refused(const struct event *events, size_t n, size_t at, const char *reason)
{
    const struct control use = {.kind = CONTROL_USE};
    const struct events_bounds bounds = {.n_streams = 2, .n_pools = 1, .n_labels = 1, .n_controls = 1,
                                         .controls = &use};
    struct events_decoder *d = malloc(sizeof *d);
    struct event *out = calloc(n, sizeof *out);
    struct bytes raw = {0};
    struct events_place place = {0};
    struct slot_table slots = {.limit = 2};
    struct events_fault fault = {0};
    size_t ends[EVENT_COLUMN_COUNT];
    events_encode(&raw, events, n, &place, ends);
    cr_assert_not(events_decode(d, raw.data, raw.n, n, &place, &bounds, &slots, out, &fault), "%s at %zu", reason, at);
    cr_expect_not_null(strstr(fault.reason, reason), "%s at %zu: %s", reason, at, fault.reason);
    cr_expect_eq(fault.event, at, "%s at %zu: at %" PRIu64, reason, at, fault.event);
    free(slots.at);
    bytes_free(&raw);
    free(out);
    free(d);
}

Test(trace, invalid_events_are_refused)
{
    const struct hostile cases[] = {
        {"not vacant", {{.kind = EVENT_ALLOC, .bytes = 1}, {.kind = EVENT_ALLOC, .bytes = 1}}, 2},
        {"slot out of range", {{.kind = EVENT_ALLOC, .bytes = 1, .slot = 2}}, 1},
        {"size out of range", {{.kind = EVENT_ALLOC}}, 1},
        {"size out of range", {{.kind = EVENT_ALLOC, .bytes = NATIVE_LIVE_MAX + 1}}, 1},
        {"size out of range",
         {{.kind = EVENT_ALLOC, .bytes = NATIVE_LIVE_MAX}, {.kind = EVENT_ALLOC, .bytes = 1, .slot = 1}}, 2},
        {"size out of range", {{.kind = EVENT_OOM}}, 1},
        {"size out of range", {{.kind = EVENT_OOM, .bytes = NATIVE_LIVE_MAX + 1}}, 1},
        {"size out of range",
         {{.kind = EVENT_ALLOC, .bytes = 2}, {.kind = EVENT_OOM, .bytes = NATIVE_LIVE_MAX - 1}}, 2},
        {"stream or pool", {{.kind = EVENT_ALLOC, .bytes = 1, .stream = 2}}, 1},
        {"stream or pool", {{.kind = EVENT_FLUSH, .pool = 1}}, 1},
        {"stream or pool", {{.kind = EVENT_ALLOC, .bytes = 1}, {.kind = EVENT_FREE, .stream = 2}}, 2},
        {"slot out of range", {{.kind = EVENT_FREE}}, 1},
        {"free that was not requested", {{.kind = EVENT_ALLOC, .bytes = 1}, {.kind = EVENT_FREE_COMPLETED}}, 2},
        {"a slot that is not live", {{.kind = EVENT_ALLOC, .bytes = 1}, {.kind = EVENT_FREE}, {.kind = EVENT_FREE}}, 3},
        {"a slot that is not live", {{.kind = EVENT_ALLOC, .bytes = 1}, {.kind = EVENT_FREE_REQUESTED},
                                     {.kind = EVENT_FREE}}, 3},
        {"label", {{.kind = EVENT_MARK, .slot = 1}}, 1},
        {"control", {{.kind = EVENT_ALLOC, .bytes = 1}, {.kind = EVENT_CONTROL}, {.kind = EVENT_CONTROL}}, 3},
        {"not live", {{.kind = EVENT_FLUSH}, {.kind = EVENT_CONTROL}}, 2},
        {"more than 2^64 ns", {{.kind = EVENT_FLUSH, .time_ns = 5}, {.kind = EVENT_FLUSH, .time_ns = 3}}, 2},
        {"columns", {{.kind = EVENT_KINDS}}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_event_refused(cases[i].events, cases[i].n, cases[i].n - 1, cases[i].reason);
}

/* The same among many requests and frees whose slots are all as guessed. */
Test(trace, invalid_events_are_refused_among_valid_ones)
{
    const struct hostile cases[] = {
        {"size out of range", {{.kind = EVENT_ALLOC}}, 1},
        {"size out of range", {{.kind = EVENT_ALLOC, .bytes = NATIVE_LIVE_MAX + 1}}, 1},
        {"size out of range",
         {{.kind = EVENT_ALLOC, .bytes = NATIVE_LIVE_MAX}, {.kind = EVENT_ALLOC, .bytes = 1, .slot = 1}}, 2},
        {"stream or pool", {{.kind = EVENT_ALLOC, .bytes = 1, .stream = 2}}, 1},
        {"stream or pool", {{.kind = EVENT_ALLOC, .bytes = 1, .pool = 1}}, 1},
        {"stream or pool", {{.kind = EVENT_ALLOC, .bytes = 1}, {.kind = EVENT_FREE, .stream = 2}}, 2},
        {"slot out of range", {{.kind = EVENT_FREE, .slot = 1}}, 1},
        {"slot out of range", {{.kind = EVENT_FREE, .slot = UINT32_MAX}}, 1},
        {"a slot that is not live", {{.kind = EVENT_FREE}}, 1},
        {"a slot that is not live", {{.kind = EVENT_ALLOC, .bytes = 1}, {.kind = EVENT_FREE}, {.kind = EVENT_FREE}}, 3},
    };
    enum { ROW = 4 * COLUMN_BATCH };
    struct event *row = calloc(ROW, sizeof *row);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t at = COLUMN_BATCH; at < 2 * COLUMN_BATCH; at += 2) {
            for (size_t k = 0; k < ROW; k++)
                row[k] = k % 2 == 0 ? (struct event){.kind = EVENT_ALLOC, .bytes = 1}
                                    : (struct event){.kind = EVENT_FREE};
            memcpy(row + at, cases[i].events, cases[i].n * sizeof *row);
            expect_event_refused(row, ROW, at + cases[i].n - 1, cases[i].reason);
        }
    free(row);
}

/* Slot 0 was taken again instead of slot 1, so it is live and on the stack of vacated slots as well. */
Test(trace, a_guessed_slot_that_is_not_vacant_is_refused)
{
    const struct event first[] = {
        {.kind = EVENT_ALLOC, .bytes = 1}, {.kind = EVENT_ALLOC, .bytes = 1, .slot = 1}, {.kind = EVENT_FREE},
        {.kind = EVENT_FREE, .slot = 1}, {.kind = EVENT_ALLOC, .bytes = 1},
    };
    enum { FIRST = sizeof first / sizeof first[0], ROW = 4 * COLUMN_BATCH, AT = 2 * COLUMN_BATCH + 1 };
    struct event *row = calloc(ROW, sizeof *row);
    for (size_t k = 0; k < ROW; k++) {               /* allocated and freed, and then allocated once too often */
        const size_t since = k < AT ? k - FIRST : k - AT + 1;
        row[k] = since % 2 == 0 ? (struct event){.kind = EVENT_FREE} : (struct event){.kind = EVENT_ALLOC, .bytes = 1};
    }
    memcpy(row, first, sizeof first);
    expect_event_refused(row, ROW, AT, "not vacant");
    free(row);
}

Test(trace, invalid_slots_are_refused)
{
    const struct slot cases[] = {
        {.bytes = 1},
        {.place = 1},
        {.state = SLOT_LIVE},
        {.bytes = 1, .state = SLOT_PENDING + 1},
        {.bytes = 1, .state = SLOT_LIVE, .place = 2},
        {.bytes = NATIVE_LIVE_MAX + 1, .state = SLOT_LIVE},
    };
    const struct events_bounds bounds = {.n_streams = 2, .n_pools = 1};
    struct column *scratch = malloc(sizeof *scratch);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes raw = {0};
        struct slot out;
        slots_encode(&raw, &cases[i], 1);
        cr_expect_not(slots_decode(scratch, raw.data, raw.n, 1, &bounds, &out), "case %zu", i);
        bytes_free(&raw);
    }
    free(scratch);
}

/* ---- forged files ---- */

/* Reads a forged file to its end. Expects an error that contains `reason`, or none if it is NULL. */
static void expect_refused(const struct forge *f, const char *reason)
{
    struct err_detail err = {0};
    struct bytes file = forge_pack(f);
    struct trace_reader *r = NULL;
    const struct event *events;
    const struct trace_segment_event *rows;
    size_t n = 1;
    enum err e = trace_open_bytes(file.data, file.n, &r, &err);
    if (e == ERR_OK)
        e = trace_segment_events(r, &rows, &n, &err);
    for (n = 1; e == ERR_OK && n > 0;)
        e = trace_next(r, &events, &n, &err);
    for (uint64_t i = 0; e == ERR_OK && i < trace_info(r)->events; i += 1 + trace_info(r)->events / 100) {
        struct trace_side side;
        e = trace_side_at(r, i, &side, &err);
    }
    cr_expect_eq(e, reason == NULL ? ERR_OK : ERR_FORMAT, "%s: %s", reason == NULL ? "good" : reason, err.text);
    cr_expect(reason == NULL || strstr(err.text, reason) != NULL, "%s: %s", reason, err.text);
    trace_close(r);
    bytes_free(&file);
}

/* Changes a row of a kind in the small trace and expects the row to be refused. */
static void expect_row_refused(enum section_kind kind, size_t row, void (*change)(void *row))
{
    size_t n;
    void *bytes = small_trace(&n);
    struct forge *f = forge_open(bytes, n);
    cr_assert_not_null(f);
    struct forge_section *s = forge_find(f, kind);
    cr_assert_not_null(s);
    char *rows = calloc(s->rows, rows_size(kind)), place[64];
    cr_assert_eq(rows_decode(kind, s->content.data, s->content.n, rows, s->rows), ERR_OK);
    change(rows + row * rows_size(kind));
    s->content.n = 0;
    rows_encode(&s->content, kind, rows, s->rows);
    snprintf(place, sizeof place, "'%s': row %zu is invalid", section_tag(kind), row);
    expect_refused(f, place);
    free(rows);
    forge_free(f);
    free(bytes);
}

static void empty_segment(void *row) { ((struct trace_segment *)row)->bytes = 0; }
static void foreign_segment(void *row) { ((struct trace_segment *)row)->stream = 99; }
static void block_outside(void *row) { ((struct trace_block *)row)->bytes = 3 * MIB; }
static void block_in_used_slot(void *row) { ((struct trace_block *)row)->slot = 0; }
static void block_in_no_slot(void *row) { ((struct trace_block *)row)->slot = 1000; }
static void block_of_nothing(void *row) { ((struct trace_block *)row)->requested = 0; }
static void segment_event_behind(void *row) { ((struct trace_segment_event *)row)->before = 1000; }
static void segment_event_wraps(void *row) { ((struct trace_segment_event *)row)->addr = UINT64_MAX; }
static void control_of_no_text(void *row) { ((struct control_row *)row)->text = 1000; }
static void control_in_no_pool(void *row) { ((struct control_row *)row)->control.pool = 200; }
static void node_of_itself(void *row) { ((struct stack_node *)row)->caller = 2; }
static void node_of_no_text(void *row) { ((struct stack_node *)row)->text = 1000; }
static void stack_of_no_node(void *row) { *(uint32_t *)row = 0; }
static void stack_of_unknown_node(void *row) { *(uint32_t *)row = 1000; }

Test(trace, invalid_rows_are_refused)
{
    expect_row_refused(SECTION_START_SEGMENTS, 1, empty_segment);
    expect_row_refused(SECTION_START_SEGMENTS, 0, foreign_segment);
    expect_row_refused(SECTION_START_BLOCKS, 1, block_outside);
    expect_row_refused(SECTION_START_BLOCKS, 3, block_in_used_slot);
    expect_row_refused(SECTION_START_BLOCKS, 0, block_in_no_slot);
    expect_row_refused(SECTION_START_BLOCKS, 2, block_of_nothing);
    expect_row_refused(SECTION_SEGMENT_EVENTS, 0, segment_event_behind);
    expect_row_refused(SECTION_SEGMENT_EVENTS, 0, segment_event_wraps);
    expect_row_refused(SECTION_CONTROLS, 0, control_of_no_text);
    expect_row_refused(SECTION_CONTROLS, 3, control_in_no_pool);
    expect_row_refused(SECTION_NODES, 1, node_of_itself);
    expect_row_refused(SECTION_NODES, 0, node_of_no_text);
    expect_row_refused(SECTION_STACKS, 1, stack_of_no_node);
    expect_row_refused(SECTION_STACKS, 0, stack_of_unknown_node);
}

/* A section of many equal texts. */
static void forge_texts(struct forge *f, uint32_t n, size_t length)
{
    struct forge_section s = {.kind = SECTION_STRINGS, .rows = n};
    char *text = calloc(length + 1, 1);
    memset(text, 'a', length);
    for (uint32_t i = 0; i < n; i++)
        bytes_put(&s.content, text, length + 1);
    f->sections[f->n++] = s;
    free(text);
}

Test(trace, texts_are_kept_in_proportion_to_their_file)
{
    size_t n;
    void *bytes = small_trace(&n);
    struct forge *f = forge_open(bytes, n);
    cr_assert_not_null(f);
    f->is_unfinished = true;
    forge_texts(f, 1, NATIVE_TEXT_MAX - 1);
    expect_refused(f, NULL);
    forge_texts(f, 1, NATIVE_TEXT_MAX);
    expect_refused(f, "does not hold the texts");
    bytes_free(&f->sections[--f->n].content);
    for (int i = 0; i < 9; i++)
        forge_texts(f, NATIVE_ROWS, 2000);               /* 8 MB that zstd packs into a thousand bytes */
    expect_refused(f, "unpacks to far more bytes than a trace of this file size can hold");
    forge_free(f);
    free(bytes);
}

/* More of one sort than 64 MiB of a reader's memory hold, as regular as can be. */
static void put_many_marks(struct trace_writer *w)
{
    struct err_detail err = {0};
    struct trace_record r = {.kind = EVENT_MARK, .record = TRACE_NO_RECORD};
    MUST(trace_put_label(w, "step", 4, &r.label, &err));
    for (int i = 0; i < 8500000; i++)
        MUST(trace_put(w, &r, &err));
}

static void put_many_live(struct trace_writer *w)
{
    struct err_detail err = {0};
    for (uint64_t i = 1; i <= 1000000; i++)
        MUST(put(w, EVENT_ALLOC, i, 512, &err));
}

static void put_many_blocks(struct trace_writer *w)
{
    struct err_detail err = {0};
    for (uint64_t i = 1; i <= 700000; i++) {
        const struct trace_block b = {.addr = i * 512, .bytes = 512, .requested = 512, .segment = UINT32_MAX};
        MUST(trace_put_start_block(w, &b, true, 0, shared_pool, &err));
    }
}

static void put_many_frames(struct trace_writer *w)
{
    static const char *frames[NATIVE_STACK_MAX];
    struct err_detail err = {0};
    uint32_t stack;
    for (int i = 0; i < NATIVE_STACK_MAX; i++)
        frames[i] = "a name of a few words";
    for (size_t n = 1; n <= NATIVE_STACK_MAX; n++)
        MUST(trace_put_stack(w, frames, n, &stack, &err));
    MUST(put(w, EVENT_ALLOC, 1, 512, &err));
}

static void expect_read(const char *path, bool is_unfinished)
{
    struct err_detail err = {0};
    struct trace_reader *r = NULL;
    MUST(trace_open(path, &r, &err));
    cr_expect_eq(trace_info(r)->is_unfinished, is_unfinished);
    size_t n;
    free(all_events(r, &n));
    trace_close(r);
}

/* Honest programs pack to a thousandth of what a reader needs; a file of such a size alone would be refused. */
Test(trace, whatever_is_written_can_be_read)
{
    static void (*const put_many[])(struct trace_writer *) = {put_many_marks, put_many_live, put_many_blocks,
                                                              put_many_frames};
    struct err_detail err = {0};
    char folder[] = "/tmp/replay-regular-XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace", folder);
    for (size_t i = 0; i < sizeof put_many / sizeof put_many[0]; i++) {
        struct trace_writer *w = NULL;
        MUST(trace_create_growing(path, &w, &err));
        put_many[i](w);
        MUST(trace_flush(w, &err));
        expect_read(path, true);
        MUST(trace_finish(w, &err));
        expect_read(path, false);
        struct stat st;
        cr_assert_eq(stat(path, &st), 0);
        cr_expect_lt(st.st_size, 2 * (off_t)MIB, "%zu: %lld bytes", i, (long long)st.st_size);
        unlink(path);
    }
    rmdir(folder);
}

Test(trace, stacks_of_too_many_frames_are_refused)
{
    static char text[NATIVE_TEXT_MAX];
    static uint32_t frames[NATIVE_STACK_MAX];
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    uint32_t stack;
    memset(text, 'a', sizeof text - 1);
    for (int i = 0; i < NATIVE_STACK_MAX; i++)
        MUST(trace_put_frame(w, text, &frames[i], &err));
    enum err e = ERR_OK;
    for (size_t n = NATIVE_STACK_MAX; e == ERR_OK && n > 2000; n--)
        e = trace_put_stack_of(w, frames, n, &stack, &err);
    cr_expect(e == ERR_FORMAT && strstr(err.text, "more frames than a trace can hold") != NULL, "%s", err.text);
    trace_abandon(w);
}

Test(trace, a_file_that_contradicts_its_index_is_refused)
{
    size_t n;
    void *bytes = generated("530-270", 0, 0, &n);
    struct forge *f = forge_open(bytes, n);
    cr_assert_not_null(f);
    expect_refused(f, NULL);
    f->lacks_checksums = true;
    expect_refused(f, "checksum");
    f->lacks_checksums = false;
    f->gap = 7;
    expect_refused(f, "contradicts");
    f->gap = 0;
    enum { RECORDS = 1, PEAK = 3 };                      /* places in the index of this trace */
    f->index.data[PEAK] ^= 1;
    expect_refused(f, "do not add up");
    f->index.data[PEAK] ^= 1;
    f->index.data[RECORDS - 1]++;                        /* events */
    expect_refused(f, "contradicts");
    f->index.data[RECORDS - 1]--;
    forge_find(f, SECTION_EVENTS)->rows++;
    expect_refused(f, "contradicts");
    forge_free(f);
    free(bytes);
}

Test(trace, a_wrong_list_of_slots_is_refused)
{
    size_t n;
    void *bytes = generated("mix:10", (uint64_t)NATIVE_SECTION_EVENTS * NATIVE_SLOTS_EVERY + 5, 1, &n);
    struct forge *f = forge_open(bytes, n);
    cr_assert_not_null(f);
    struct forge_section *s = forge_find(f, SECTION_SLOTS);
    cr_assert_not_null(s);
    expect_refused(f, NULL);
    struct slot slots[64];
    struct column *scratch = malloc(sizeof *scratch);
    const struct events_bounds bounds = {.n_streams = 1, .n_pools = 1};
    struct cursor in = cursor_over(s->content.data, s->content.n);
    const uint64_t at = cursor_varint(&in), first = cursor_varint(&in);
    cr_assert(slots_decode(scratch, in.at, (size_t)(in.end - in.at), s->rows, &bounds, slots));
    cr_assert(at == (uint64_t)NATIVE_SECTION_EVENTS * NATIVE_SLOTS_EVERY && first == 0 && s->rows > 1);
    for (int change = 0; change < 3; change++) {
        struct slot forged[64];
        memcpy(forged, slots, sizeof forged);
        uint32_t live = 0;
        while (forged[live].state != SLOT_LIVE)
            live++;
        forged[live].bytes += change == 0;
        forged[live].state += change == 1;
        s->content.n = 0;
        bytes_put_varint(&s->content, at);
        bytes_put_varint(&s->content, first);
        slots_encode(&s->content, forged, s->rows -= change == 2);
        expect_refused(f, change == 2 ? "incomplete list" : "does not list the slots");
    }
    free(scratch);
    forge_free(f);
    free(bytes);
}

/* ---- columns ---- */

static void expect_column_comes_back(const uint64_t *values, size_t n)
{
    struct bytes raw = {0};
    struct column *c = malloc(sizeof *c);
    uint64_t *back = malloc((n + 1) * sizeof *back);
    column_put(&raw, values, n);
    bytes_put_le(&raw, 0xab, 1);
    for (size_t cut = 0; cut < raw.n - 1 && cut < 64; cut++) {
        struct cursor in = cursor_over(raw.data, cut);
        cr_assert_not(column_read_all(c, &in, back, n), "%zu of %zu bytes", cut, raw.n - 1);
    }
    struct cursor in = cursor_over(raw.data, raw.n);
    cr_assert(column_read_all(c, &in, back, n));
    cr_assert_eq(in.at, raw.data + raw.n - 1, "the cursor stands behind the column");
    cr_assert(n == 0 || memcmp(back, values, n * sizeof *values) == 0);
    free(back);
    free(c);
    bytes_free(&raw);
}

Test(columns, numbers_at_the_edges_come_back)
{
    const uint64_t edges[] = {0, 1, 254, 255, 256, 65534, 65535, 65536, UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 32,
                              UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX};
    const size_t n_edges = sizeof edges / sizeof edges[0], lengths[] = {0, 1, 2, 3, 511, 512, 513, 1500};
    uint64_t values[1500];
    for (size_t k = 0; k < n_edges * n_edges * 8; k++) {
        for (size_t i = 0; i < lengths[k % 8]; i++)
            values[i] = edges[i % 7 == 3 ? k / 8 % n_edges : k / 8 / n_edges];
        expect_column_comes_back(values, lengths[k % 8]);
    }
}

Test(columns, random_numbers_come_back)
{
    uint64_t random = 4711;
    uint64_t *values = malloc(70000 * sizeof *values);
    for (int round = 0; round < 200; round++) {
        const size_t n = next_random(&random) % (round < 195 ? 1000 : 70000);
        const unsigned shift = (unsigned)(next_random(&random) % 64), distinct = round % 3 == 0 ? 50 : 0;
        for (size_t i = 0; i < n; i++) {
            values[i] = next_random(&random) >> (next_random(&random) % 8 == 0 ? shift / 2 : shift);
            if (distinct != 0 && i >= distinct)
                values[i] = values[values[i] % distinct];
        }
        expect_column_comes_back(values, n);
    }
    free(values);
}

enum { BITS = 2000, BITS_PERIOD = 501 };

/* Noise, or the same noise repeated. */
static void fill_with_bits(uint64_t *values, size_t n, size_t period, uint64_t *random)
{
    for (size_t i = 0; i < n; i++)
        values[i] = i < period ? next_random(random) >> 63 : values[i - period];
}

Test(columns, numbers_of_a_bit_come_back)
{
    uint64_t random = 11, values[BITS];
    for (size_t n = 1; n < BITS; n += n < 70 ? 1 : 97) {
        fill_with_bits(values, n, n, &random);
        expect_column_comes_back(values, n);
        fill_with_bits(values, n, 33, &random);
        expect_column_comes_back(values, n);
        for (size_t i = 0; i < n; i++)
            values[i] = values[i] == 0 ? 1000 : 70000;           /* the same as indices of a dictionary */
        expect_column_comes_back(values, n);
    }
}

/* A repeat of an odd number of bits is a repeat of bytes only if numbers have a byte each. */
Test(columns, noise_takes_a_bit_and_what_repeats_a_byte)
{
    uint64_t random = 12, values[BITS];
    struct bytes noise = {0}, repeats = {0};
    fill_with_bits(values, BITS, BITS, &random);
    column_put(&noise, values, BITS);
    cr_expect_eq(noise.n, 1 + BITS / 8);
    fill_with_bits(values, BITS, BITS_PERIOD, &random);
    column_put(&repeats, values, BITS);
    cr_expect_gt(repeats.n, BITS);
    bytes_free(&noise);
    bytes_free(&repeats);
}

Test(columns, bits_after_the_last_number_are_refused)
{
    struct column *c = malloc(sizeof *c);
    uint64_t back[11];
    const unsigned char good[] = {COLUMN_BITS, 0xff, 0x07}, bad[] = {COLUMN_BITS, 0xff, 0x0f};
    struct cursor in = cursor_over(good, sizeof good);
    cr_expect(column_read_all(c, &in, back, 11));
    in = cursor_over(bad, sizeof bad);
    cr_expect_not(column_read_all(c, &in, back, 11));
    free(c);
}

Test(columns, differences_wrap)
{
    const uint64_t points[] = {0, 1, 2, 127, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        for (size_t k = 0; k < sizeof points / sizeof points[0]; k++)
            cr_expect_eq(unzigzag(zigzag(points[i], points[k]), points[k]), points[i]);
    cr_expect(zigzag(5, 5) == 0 && zigzag(4, 5) == 1 && zigzag(6, 5) == 2);
}

/* ---- writing ---- */

Test(trace, an_empty_trace_is_one)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    const struct event *events;
    void *bytes;
    size_t n, k;
    MUST(trace_finish_bytes(w, &bytes, &n, &err));
    struct trace_reader *r = reader_over(bytes, n);
    cr_expect(trace_info(r)->events == 0 && trace_info(r)->n_streams == 1 && trace_info(r)->n_pools == 1);
    for (int i = 0; i < 2; i++) {
        MUST(trace_next(r, &events, &k, &err));
        cr_expect(k == 0 && events != NULL);
        MUST(trace_next(r, &events, &k, &err));
        cr_expect(k == 0 && events != NULL, "of nothing, too, there is a beginning to copy from");
        MUST(trace_seek(r, 0, &err));
    }
    trace_close(r);
    free(bytes);
}

Test(trace, a_trace_of_a_start_state_alone_is_one)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    const struct event *events;
    void *bytes;
    size_t n, k;
    put_start(w);
    MUST(trace_finish_bytes(w, &bytes, &n, &err));
    struct trace_reader *r = reader_over(bytes, n);
    cr_expect(trace_info(r)->events == 0 && trace_info(r)->starts_mid_run && trace_info(r)->peak_live == 3);
    MUST(trace_next(r, &events, &k, &err));
    cr_expect_eq(k, 0);
    trace_close(r);
    free(bytes);
}

Test(trace, a_start_state_of_many_blocks_comes_back)
{
    enum { BLOCKS = 3 * NATIVE_ROWS + 17 };
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    void *bytes;
    size_t n, k;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        const struct trace_block b = {.addr = i << 20, .bytes = 1024 + i, .requested = 1 + i, .segment = UINT32_MAX};
        MUST(trace_put_start_block(w, &b, i % 3 != 0, 0, shared_pool, &err));
    }
    MUST(put(w, EVENT_FREE, UINT64_C(4000) << 20, 0, &err));
    MUST(trace_finish_bytes(w, &bytes, &n, &err));
    struct trace_reader *r = reader_over(bytes, n);
    const struct trace_block *blocks = trace_start_blocks(r, &k);
    cr_assert_eq(k, BLOCKS);
    for (uint64_t i = 0; i < BLOCKS; i++)
        cr_assert(blocks[i].addr == i << 20 && blocks[i].requested == 1 + i &&
                  (blocks[i].slot == TRACE_NO_SLOT) == (i % 3 == 0));
    struct event *e = all_events(r, &k);
    cr_expect_eq(e[0].bytes, 4001);
    free(e);
    trace_close(r);
    free(bytes);
}

Test(trace, a_start_state_that_contradicts_itself_is_refused)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    const struct trace_segment s = {.addr = 0x1000, .bytes = 0x1000}, over = {.addr = 0x1800, .bytes = 0x1000};
    const struct trace_segment huge = {.addr = UINT64_MAX - 5, .bytes = 100}, empty = {.addr = 0x3000};
    const struct trace_block b = {.addr = 0x1000, .bytes = 0x200, .requested = 1};
    const struct trace_block same = {.addr = 0x1100, .bytes = 0x100, .requested = 1};
    const struct trace_block outside = {.addr = 0x1f00, .bytes = 0x200, .requested = 1};
    const struct trace_block nowhere = {.addr = 0x1f00, .bytes = 0x10, .requested = 1, .segment = 1};
    const struct trace_block nothing = {.addr = 0x1f00, .bytes = 0x10};
    MUST(trace_put_start_segment(w, &s, 0, shared_pool, &err));
    cr_expect_eq(trace_put_start_segment(w, &over, 0, shared_pool, &err), ERR_FORMAT);
    cr_expect_not_null(strstr(err.text, "0x1800"), "%s", err.text);
    cr_expect_eq(trace_put_start_segment(w, &huge, 0, shared_pool, &err), ERR_FORMAT);
    cr_expect_eq(trace_put_start_segment(w, &empty, 0, shared_pool, &err), ERR_FORMAT);
    MUST(trace_put_start_block(w, &b, true, 0, shared_pool, &err));
    cr_expect_eq(trace_put_start_block(w, &same, true, 0, shared_pool, &err), ERR_FORMAT);
    cr_expect_eq(trace_put_start_block(w, &outside, true, 0, shared_pool, &err), ERR_FORMAT);
    cr_expect_eq(trace_put_start_block(w, &nowhere, true, 0, shared_pool, &err), ERR_FORMAT);
    cr_expect_eq(trace_put_start_block(w, &nothing, true, 0, shared_pool, &err), ERR_FORMAT);
    MUST(trace_put_start_block(w, &nothing, false, 0, shared_pool, &err));
    trace_abandon(w);
}

Test(trace, a_request_to_free_and_its_completion_become_one_free_only_side_by_side)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    void *bytes;
    size_t n, k;
    for (uint64_t ptr = 1; ptr <= 4; ptr++)
        MUST(put(w, EVENT_ALLOC, ptr, ptr, &err));
    MUST(put(w, EVENT_FREE_REQUESTED, 1, 0, &err));
    MUST(put(w, EVENT_FREE_COMPLETED, 1, 0, &err));      /* directly after */
    MUST(put(w, EVENT_FREE_REQUESTED, 2, 0, &err));
    MUST(put(w, EVENT_FREE_REQUESTED, 3, 0, &err));      /* another in between */
    MUST(put(w, EVENT_FREE_COMPLETED, 3, 0, &err));
    MUST(put(w, EVENT_FREE_COMPLETED, 2, 0, &err));
    MUST(put(w, EVENT_FREE_REQUESTED, 4, 0, &err));
    MUST(trace_put_segment_event(w, TRACE_SEGMENT_FREE, 0, 1, 0, shared_pool, 0, &err));
    MUST(put(w, EVENT_FREE_COMPLETED, 4, 0, &err));      /* a segment event in between */
    MUST(trace_finish_bytes(w, &bytes, &n, &err));
    struct trace_reader *r = reader_over(bytes, n);
    struct event *e = all_events(r, &k);
    const uint8_t kinds[] = {EVENT_FREE, EVENT_FREE_REQUESTED, EVENT_FREE, EVENT_FREE_COMPLETED, EVENT_FREE_REQUESTED,
                             EVENT_FREE_COMPLETED};
    cr_assert_eq(k, 4 + sizeof kinds);
    for (size_t i = 0; i < sizeof kinds; i++)
        cr_expect_eq(e[4 + i].kind, kinds[i], "event %zu", 4 + i);
    free(e);
    trace_close(r);
    free(bytes);
}

Test(trace, a_request_to_free_at_the_very_end_stays_one)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    void *bytes;
    size_t n, k;
    MUST(put(w, EVENT_ALLOC, 1, 1, &err));
    MUST(put(w, EVENT_FREE_REQUESTED, 1, 0, &err));
    MUST(trace_finish_bytes(w, &bytes, &n, &err));
    struct trace_reader *r = reader_over(bytes, n);
    struct event *e = all_events(r, &k);
    cr_assert_eq(k, 2);
    cr_expect_eq(e[1].kind, EVENT_FREE_REQUESTED);
    free(e);
    trace_close(r);
    free(bytes);
}

Test(trace, an_invalid_record_is_refused_by_its_number_and_leaves_the_rest_as_it_was)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    const struct trace_record bad[] = {
        {.kind = EVENT_ALLOC, .ptr = 1, .bytes = 5, .record = 77},
        {.kind = EVENT_ALLOC, .ptr = 2, .bytes = 0, .record = 77},
        {.kind = EVENT_ALLOC, .ptr = 2, .bytes = UINT64_MAX, .record = 77},
        {.kind = EVENT_FREE, .ptr = 2, .record = 77},
        {.kind = EVENT_FREE_COMPLETED, .ptr = 1, .record = 77},
        {.kind = EVENT_FREE_REQUESTED, .ptr = 2, .record = 77},
        {.kind = EVENT_OOM, .record = 77},
        {.kind = EVENT_OOM, .bytes = UINT64_MAX, .record = 77},
        {.kind = EVENT_OOM, .bytes = NATIVE_LIVE_MAX - 9, .record = 77},
        {.kind = EVENT_MARK, .label = 0, .record = 77},
        {.kind = EVENT_FLUSH, .stack = 1, .record = 77},
        {.kind = EVENT_KINDS, .record = 77},
        {.kind = EVENT_CONTROL, .control = {.kind = CONTROL_USE}, .ptr = 2, .record = 77},
        {.kind = EVENT_CONTROL, .control = {.kind = CONTROL_KINDS}, .record = 77},
    };
    void *bytes;
    size_t n;
    MUST(put(w, EVENT_ALLOC, 1, 10, &err));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err = (struct err_detail){0};
        cr_expect_eq(trace_put(w, &bad[i], &err), ERR_FORMAT, "case %zu", i);
        cr_expect(err.offset == 77 || bad[i].bytes > 5, "case %zu: %s", i, err.text);
    }
    MUST(put(w, EVENT_FREE, 1, 0, &err));
    MUST(trace_finish_bytes(w, &bytes, &n, &err));
    struct trace_reader *r = reader_over(bytes, n);
    cr_expect_eq(trace_info(r)->events, 2);
    trace_close(r);
    free(bytes);
}

Test(trace, more_streams_and_pools_than_the_format_has_are_refused)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    struct trace_record r = {.kind = EVENT_FLUSH, .record = TRACE_NO_RECORD};
    for (r.stream = 0; r.stream < NATIVE_STREAMS_MAX; r.stream++)
        MUST(trace_put(w, &r, &err));
    cr_expect_eq(trace_put(w, &r, &err), ERR_FORMAT);
    cr_expect_not_null(strstr(err.text, "65535 streams"), "%s", err.text);
    r.stream = 0;
    for (r.pool[1] = 0; r.pool[1] < NATIVE_POOLS_MAX; r.pool[1]++)
        MUST(trace_put(w, &r, &err));
    cr_expect_eq(trace_put(w, &r, &err), ERR_FORMAT);
    cr_expect_not_null(strstr(err.text, "255 pools"), "%s", err.text);
    void *bytes;
    size_t n;
    MUST(trace_finish_bytes(w, &bytes, &n, &err));
    struct trace_reader *reader = reader_over(bytes, n);
    cr_expect_eq(trace_info(reader)->n_streams, NATIVE_STREAMS_MAX);
    cr_expect_eq(trace_streams(reader)[NATIVE_STREAMS_MAX - 1].handle, NATIVE_STREAMS_MAX - 1);
    struct event *e = all_events(reader, &n);
    cr_expect(e[65534].stream == 65534 && e[n - 1].pool == 254);
    free(e);
    trace_close(reader);
    free(bytes);
}

/* A snapshot of a trace has a list for each device up to its own, so the ordinal is an amount of work. */
Test(trace, an_ordinal_that_no_device_has_is_refused)
{
    struct err_detail err = {0};
    const struct { uint32_t device; enum err e; } cases[] = {
        {0, ERR_OK}, {TRACE_DEVICES_MAX - 1, ERR_OK}, {TRACE_DEVICES_MAX, ERR_FORMAT}, {UINT32_MAX, ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trace_writer *w = writer_in_memory();
        struct trace_reader *r = NULL;
        void *bytes;
        size_t n;
        trace_writer_info(w)->device = cases[i].device;
        MUST(trace_finish_bytes(w, &bytes, &n, &err));
        cr_expect_eq(trace_open_bytes(bytes, n, &r, &err), cases[i].e, "device %u", cases[i].device);
        cr_expect(cases[i].e != ERR_OK || trace_info(r)->device == cases[i].device);
        trace_close(r);
        free(bytes);
    }
}

Test(trace, time_that_steps_back_is_raised)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    const uint64_t times[] = {1000, 500, 1500, UINT64_MAX, 0};
    void *bytes;
    size_t n;
    for (int i = 0; i < 5; i++) {
        const struct trace_record r = {.kind = EVENT_FLUSH, .time_ns = times[i], .record = TRACE_NO_RECORD};
        MUST(trace_put(w, &r, &err));
    }
    MUST(trace_finish_bytes(w, &bytes, &n, &err));
    struct trace_reader *r = reader_over(bytes, n);
    struct event *e = all_events(r, &n);
    cr_expect(e[0].time_ns == 0 && e[1].time_ns == 0 && e[2].time_ns == 500);
    cr_expect(e[3].time_ns == UINT64_MAX - 1000 && e[4].time_ns == UINT64_MAX - 1000);
    free(e);
    trace_close(r);
    free(bytes);
}

Test(trace, equal_texts_and_stacks_are_kept_once)
{
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    const char *const a[] = {"x", "y"}, *const b[] = {"x", "y"}, *const c[] = {"y"};
    uint32_t ids[3], labels[2];
    MUST(trace_put_stack(w, a, 2, &ids[0], &err));
    MUST(trace_put_stack(w, b, 2, &ids[1], &err));
    MUST(trace_put_stack(w, c, 1, &ids[2], &err));
    cr_expect(ids[0] == 1 && ids[1] == 1 && ids[2] == 2);
    MUST(trace_put_stack(w, a, 0, &ids[0], &err));
    cr_expect_eq(ids[0], TRACE_NO_STACK);
    MUST(trace_put_label(w, "step", 4, &labels[0], &err));
    MUST(trace_put_label(w, "step two", 4, &labels[1], &err));
    cr_expect_eq(labels[0], labels[1]);
    trace_abandon(w);
}

Test(trace, a_stack_too_deep_keeps_its_innermost_frames)
{
    enum { DEPTH = NATIVE_STACK_MAX + 100 };
    struct err_detail err = {0};
    struct trace_writer *w = writer_in_memory();
    static char names[DEPTH][16];
    static const char *frames[DEPTH];
    const char *const *back;
    uint32_t id;
    void *bytes;
    size_t n;
    for (int i = 0; i < DEPTH; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        frames[i] = names[i];
    }
    MUST(trace_put_stack(w, frames, DEPTH, &id, &err));
    MUST(trace_finish_bytes(w, &bytes, &n, &err));
    struct trace_reader *r = reader_over(bytes, n);
    cr_assert_eq(trace_stack(r, id, &back), NATIVE_STACK_MAX);
    cr_expect_str_eq(back[0], "0");
    cr_expect_str_eq(back[NATIVE_STACK_MAX - 1], names[NATIVE_STACK_MAX - 1]);
    trace_close(r);
    free(bytes);
}

/* ---- files ---- */

static void expect_folder_holds(const char *folder, int n_expected)
{
    int n = 0;
    DIR *d = opendir(folder);
    cr_assert_not_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(d);
    cr_expect_eq(n, n_expected, "%d files", n);
}

Test(trace, a_file_appears_whole_or_not_at_all)
{
    struct err_detail err = {0};
    char folder[] = "/tmp/replay-trace-XXXXXX", path[64];
    struct trace_writer *w;
    struct trace_reader *r;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.zst", folder);
    MUST(trace_create(path, &w, &err));
    MUST(load_make("mix:10", 200000, 1, w, &err));
    cr_expect_neq(access(path, F_OK), 0, "nothing stands under the name before the end");
    trace_abandon(w);
    expect_folder_holds(folder, 0);
    MUST(trace_create(path, &w, &err));
    MUST(load_make("mix:10", 200000, 1, w, &err));
    MUST(trace_finish(w, &err));
    expect_folder_holds(folder, 1);
    MUST(trace_open(path, &r, &err));
    size_t n;
    free(all_events(r, &n));
    trace_close(r);
    unlink(path);
    rmdir(folder);
}

Test(trace, a_file_that_cannot_be_written_or_read_is_named)
{
    struct err_detail err = {0};
    struct trace_writer *w = NULL;
    struct trace_reader *r = NULL;
    cr_expect_eq(trace_create("/nonexistent/a.zst", &w, &err), ERR_IO);
    cr_expect_not_null(strstr(err.text, "/nonexistent/a.zst"), "%s", err.text);
    cr_expect_eq(trace_create("/tmp", &w, &err), ERR_IO);
    cr_expect_eq(trace_open("/nonexistent/a.zst", &r, &err), ERR_INPUT);
    cr_expect_not_null(strstr(err.text, "/nonexistent/a.zst"), "%s", err.text);
    cr_expect_eq(trace_open("/tmp", &r, &err), ERR_INPUT);
    if (access("/dev/full", W_OK) == 0) {
        MUST(trace_create("/dev/full", &w, &err));
        enum err e = load_make("mix:1000", 3000000, 1, w, &err);
        const enum err end = trace_finish(w, &err);
        cr_expect(e == ERR_OK || e == ERR_IO);
        cr_expect_eq(end, ERR_IO);
    }
}

Test(trace, a_pipe_is_read_like_a_file)
{
    struct err_detail err = {0};
    size_t n, k;
    void *bytes = small_trace(&n);
    int ends[2];
    char path[32];
    struct trace_reader *r;
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], bytes, n), (ssize_t)n);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    MUST(trace_open(path, &r, &err));
    close(ends[0]);
    struct event *e = all_events(r, &k);
    cr_expect_eq(k, 13);
    free(e);
    trace_close(r);
    free(bytes);
}

/* ---- size ---- */

Test(trace, the_bytes_of_a_file_are_all_accounted_for)
{
    size_t n;
    void *bytes = small_trace(&n);
    struct trace_reader *r = reader_over(bytes, n);
    const struct trace_bytes b = trace_bytes(r);
    cr_expect_eq(b.total, n);
    cr_expect_eq(b.events + b.sides + b.strings + b.state + b.index, b.total);
    cr_expect(b.times > 0 && b.times < b.events && b.sides > 0 && b.strings > 0 && b.state > 0);
    trace_close(r);
    free(bytes);
}

/* Imports a recording into a file and returns what its events cost there. */
static void expect_small(const char *folder, const char *name, double *worst, unsigned *n_seen)
{
    struct err_detail err = {0};
    struct trace_reader *r;
    char path[512], to[] = "/tmp/replay-test-small-XXXXXX";
    const struct import_config cfg = {.gpu = -1};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (strstr(name, ".pickle") == NULL)
        return;
    close(mkstemp(to));
    const bool is_there = trace_import(path, NULL, &cfg, to, &err) == ERR_OK;
    if (is_there)
        cr_assert_eq(trace_open(to, &r, &err), ERR_OK, "%s", err.text);
    unlink(to);
    if (!is_there)
        return;
    const struct trace_bytes b = trace_bytes(r);
    const double n = (double)trace_info(r)->events, bare = (double)(b.total - b.sides - b.strings) / n;
    if (trace_info(r)->events >= 2000) {
        cr_log_info("%s: %.2f bytes an event, %.2f of them times; %.2f with all that was recorded beside them", name,
                    bare, (double)b.times / n, (double)b.total / n);
        cr_expect_leq(bare, 3.0, "%s", name);
        *worst = bare > *worst ? bare : *worst;
        ++*n_seen;
    }
    trace_close(r);
}

/* Every recording of a folder; at least `n_least` of them must be long enough to count. */
static void expect_folder_small(const char *folder, unsigned n_least)
{
    double worst = 0;
    unsigned n_seen = 0;
    DIR *d = opendir(folder);
    cr_assert_not_null(d, "%s", folder);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        expect_small(folder, e->d_name, &worst, &n_seen);
    closedir(d);
    cr_log_info("%u recordings of 2,000 events or more; the largest cost is %.2f bytes an event", n_seen, worst);
    cr_expect_geq(n_seen, n_least);
}

Test(trace, an_event_of_a_training_loop_costs_at_most_three_bytes)
{
    expect_folder_small(GOLDEN_DIR "/training", 1);
}

Test(trace, an_event_recorded_by_others_costs_at_most_three_bytes)
{
    static const char folder[] = SHARED_DIR "/traces/pytorch-snapshot";
    if (access(folder, R_OK) != 0)
        cr_skip_test("needs recordings of others: no %s", folder);
    expect_folder_small(folder, 10);
}

/* ---- generated traces ---- */

Test(generate, rounds_of_530_and_270_MiB_are_what_they_are_called)
{
    size_t n, k;
    void *bytes = generated("530-270", 0, 0, &n);
    struct trace_reader *r = reader_over(bytes, n);
    struct event *e = all_events(r, &k);
    cr_assert_eq(k, 12);
    for (size_t i = 0; i < k; i++) {
        cr_expect_eq(e[i].kind, i % 3 == 1 ? EVENT_FREE : EVENT_ALLOC);
        cr_expect_eq(e[i].bytes, i % 3 == 2 ? 270 * MIB : 530 * MIB);
    }
    cr_expect_eq(trace_info(r)->peak_requested_bytes, (3 * 270 + 530) * MIB);
    free(e);
    trace_close(r);
    free(bytes);
}

Test(generate, a_mix_stays_around_its_number_of_live_requests)
{
    size_t n, k;
    void *bytes = generated("mix:1000", 100000, 1, &n);
    struct trace_reader *r = reader_over(bytes, n);
    struct event *e = all_events(r, &k);
    uint64_t live = 0, sum = 0;
    for (size_t i = 0; i < k; i++) {
        live += e[i].kind == EVENT_ALLOC ? 1 : UINT64_MAX;
        cr_assert(e[i].bytes >= 512 && e[i].bytes <= 64 * MIB);
        sum += i >= 20000 ? live : 0;
    }
    cr_expect(sum / 80000 > 950 && sum / 80000 < 1050, "%" PRIu64, sum / 80000);
    cr_expect_lt(trace_info(r)->peak_live, 1200);
    free(e);
    trace_close(r);
    free(bytes);
}

Test(generate, an_unknown_kind_is_refused)
{
    const char *const kinds[] = {"", "530", "mix", "mix:", "mix:0", "mix:x", "mix:5x", "mix:99999999", "mix:-1"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct err_detail err = {0};
        struct trace_writer *w = writer_in_memory();
        cr_expect_eq(load_make(kinds[i], 10, 1, w, &err), ERR_USAGE, "\"%s\"", kinds[i]);
        cr_expect_not_null(strstr(err.text, i < 2 ? "nearest" : "live="), "%s", err.text);
        trace_abandon(w);
    }
}

/* Packs a trace as an attacker would: without the empty blocks by which our writer lengthens it. Frees `bytes`. */
static void *without_padding(void *bytes, size_t *n)
{
    struct forge *f = forge_open(bytes, *n);
    cr_assert_not_null(f);
    struct bytes packed = forge_pack(f);
    forge_free(f);
    free(bytes);
    *n = packed.n;
    return packed.data;
}

/* A file of a few kilobytes may hold a million requests that are never freed. Each takes memory in a replay. */
Test(trace, a_small_file_may_not_ask_for_much_memory)
{
    enum { REQUESTS = 1000000 };
    struct trace_writer *w;
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    void *bytes;
    size_t n;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        const struct trace_record request = {.kind = EVENT_ALLOC, .ptr = i + 1, .bytes = 512, .record = i};
        cr_assert_eq(trace_put(w, &request, &err), ERR_OK, "%s", err.text);
    }
    cr_assert_eq(trace_finish_bytes(w, &bytes, &n, &err), ERR_OK, "%s", err.text);
    bytes = without_padding(bytes, &n);
    cr_assert_lt(n, 100000u, "the requests are no longer packed small");
    cr_expect_eq(trace_open_bytes(bytes, n, &r, &err), ERR_FORMAT);
    cr_expect(strstr(err.text, "--memory-limit") != NULL, "%s", err.text);
    cr_assert_eq(trace_open_owned(bytes, n, "allowed", UINT64_C(1) << 30, &r, &err), ERR_OK, "%s", err.text);
    trace_close(r);
}

/* Stacks share nodes, so each further stack of thousands of frames takes a few bytes. `name` is a frame of all. */
static void expect_stacks_refused(uint64_t n_stacks, const char *name)
{
    struct trace_writer *w = writer_in_memory();
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    uint32_t *frames = calloc(NATIVE_STACK_MAX, sizeof *frames);
    void *bytes;
    size_t n;
    char text[32];
    cr_assert_not_null(frames);
    for (size_t i = 0; i < NATIVE_STACK_MAX; i++)
        MUST(trace_put_frame(w, name, &frames[i], &err));
    for (uint64_t i = 0; i < n_stacks; i++) {
        struct trace_record request = {.kind = EVENT_ALLOC, .ptr = i + 1, .bytes = 512, .record = i};
        snprintf(text, sizeof text, "f train.py:%" PRIu64, i);
        MUST(trace_put_frame(w, text, &frames[0], &err));
        MUST(trace_put_stack_of(w, frames, NATIVE_STACK_MAX, &request.stack, &err));
        MUST(trace_put(w, &request, &err));
    }
    free(frames);
    MUST(trace_finish_bytes(w, &bytes, &n, &err));
    bytes = without_padding(bytes, &n);
    cr_assert_lt(n, 100000u, "the stacks are no longer packed small");
    cr_expect_eq(trace_open_bytes(bytes, n, &r, &err), ERR_FORMAT);
    cr_expect(strstr(err.text, "--memory-limit") != NULL, "%s", err.text);
    MUST(trace_open_owned(bytes, n, "allowed", UINT64_C(1) << 30, &r, &err));
    trace_close(r);
}

Test(trace, a_small_file_may_not_stand_for_many_frames)
{
    expect_stacks_refused(3000, "main train.py:1");
}

/* Who reads all stacks reads a shared text once for each of them. */
Test(trace, a_small_file_may_not_stand_for_much_text_of_frames)
{
    static char name[4096];
    memset(name, 'x', sizeof name - 1);
    expect_stacks_refused(100, name);
}

struct told { uint64_t done, total, n_times; };

static void tell(void *arg, uint64_t done, uint64_t total)
{
    struct told *t = arg;
    cr_expect_gt(done, t->done, "%llu after %llu", (unsigned long long)done, (unsigned long long)t->done);
    *t = (struct told){ .done = done, .total = total, .n_times = t->n_times + 1 };
}

Test(trace, who_watches_is_told_of_all_that_is_written_and_of_each_reading)
{
    enum { EVENTS = 200000 };
    struct err_detail err = { .text = "" };
    struct trace_writer *w = writer_in_memory();
    struct told told = { .done = 0 };
    void *bytes;
    size_t n;
    trace_watch_writing(w, EVENTS, tell, &told);
    cr_assert_eq(load_make("mix:100", EVENTS, 1, w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_finish_bytes(w, &bytes, &n, &err), ERR_OK, "%s", err.text);
    cr_expect(told.n_times >= 3 && told.total == EVENTS, "told %llu times", (unsigned long long)told.n_times);
    struct trace_reader *r = reader_over(bytes, n);
    for (int reading = 0; reading < 2; reading++) {
        const struct event *events;
        told = (struct told){ .done = 0 };
        trace_watch_reading(r, tell, &told);
        cr_assert_eq(trace_seek(r, 0, &err), ERR_OK);
        do
            cr_assert_eq(trace_next(r, &events, &n, &err), ERR_OK);
        while (n > 0);
        cr_expect_eq(told.done, trace_info(r)->events);
        cr_expect_eq(told.total, told.done);
    }
    trace_close(r);
    free(bytes);
}
