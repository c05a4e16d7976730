/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Writes native traces.
 *
 * Pointers, stream handles and pool ids of the recorded program become dense numbers (slots, streams, pools). Events
 * are collected and written by column, one section at a time, each after the tables that it refers to:
 *
 *     new names, texts, stacks, controls | sides | events | now and then: slots | new names, ...
 *
 * Memory grows with what is live and with the distinct texts and stacks, not with the length of the trace.
 */
#include "base/array.h"
#include "base/output.h"
#include "traces/event_sections.h"
#include "base/intern.h"
#include "traces/loose.h"
#include "traces/native_file.h"
#include "traces/rows.h"
#include "traces/trace.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* A fact by name. Both texts are owned. */
struct writer_fact {
    char *name, *value;
    bool  is_written;
};

/* A FREE_REQUESTED that waits for the next record: if that completes it, both become one FREE. */
struct writer_held {
    struct trace_record record;
    bool is_held;
};

struct trace_writer {
    struct output *file;             /* NULL: into `memory` */
    struct bytes   memory;
    char          *name;             /* of the trace, for messages */
    char          *source;           /* of the file that is imported, for messages about its records; NULL: none */
    ZSTD_CCtx     *zstd;
    struct bytes   raw, packed;      /* of the section that is being written */
    uint64_t       offset;           /* bytes written so far */
    enum err       broken;           /* the first failure; every later call returns it */
    struct err_detail broken_why;
    bool           is_under_way;     /* the facts and the start state are written */
    trace_watch    watch;            /* NULL: nobody */
    void          *watch_arg;
    uint64_t       watch_total;

    struct trace_info   info;
    struct writer_fact *facts;
    size_t              n_facts;
    struct stream_name *streams;
    struct pool_name   *pools;
    struct pair_map     stream_of, pool_of, slot_of;     /* by handle; by id; by pointer of a live request */
    struct slot_table   slots;
    uint32_t           *vacated;     /* stack of slots to reuse, the last vacated on top */
    size_t              n_vacated, room_vacated;
    struct text_table   strings, labels;
    struct stack_table  stacks;

    struct event       *events;      /* of the section under construction: NATIVE_SECTION_EVENTS */
    struct trace_side  *sides;       /* of these events */
    uint32_t           *side_slots;
    size_t              n_events;
    bool                has_sides;   /* an event of the section has something in its side */
    struct events_place  place;       /* at the start of the section under construction */
    struct side_memory  side_memory;
    uint64_t            n_event_sections;
    uint64_t            first_ns, last_ns;      /* by the source's clock */
    bool                has_first;
    struct writer_held  held;

    struct trace_segment       *start_segments;
    struct trace_block         *start_blocks;
    struct control_row         *controls;
    struct section             *sections;
    size_t   n_start_segments, n_start_blocks, n_controls, n_sections;
    size_t   room_start_segments, room_start_blocks, room_controls, room_sections, room_facts, room_streams, room_pools;
    struct trace_segment_event segment_events[NATIVE_ROWS];     /* not yet written */
    size_t   n_segment_events;
    uint64_t rows[SECTION_KINDS];                /* written so far */
    uint64_t table_bytes, frame_bytes;           /* of what a reader needs: tables written, frames of all stacks */
    uint64_t column_bytes[EVENT_COLUMN_COUNT];   /* compressed, for trace_bytes */
};

/* ---- failure ---- */

/* What an error about a record names. */
static const char *writer_source(const struct trace_writer *w)
{
    return w->source != NULL ? w->source : w->name;
}

/* Remembers a failure and reports it. */
static enum err writer_break(struct trace_writer *w, struct err_detail *err, enum err e)
{
    w->broken = e;
    if (err != NULL)
        *err = w->broken_why;
    return e;
}

static enum err writer_nomem(struct trace_writer *w, struct err_detail *err)
{
    return writer_break(w, err, err_no_memory(&w->broken_why));
}

/* The start of every call: after a failure nothing more can be put. */
static enum err writer_check(const struct trace_writer *w, struct err_detail *err)
{
    if (w->broken != ERR_OK && err != NULL)
        *err = w->broken_why;
    return w->broken;
}

/* ---- sections ---- */

static enum err writer_write(struct trace_writer *w, const void *data, size_t n, struct err_detail *err)
{
    if (w->file == NULL) {
        bytes_put(&w->memory, data, n);
        if (w->memory.has_failed)
            return writer_nomem(w, err);
    } else if (fwrite(data, 1, n, output_file(w->file)) != n) {
        return writer_break(w, err, err_at(&w->broken_why, ERR_IO, w->offset, w->name, "cannot be written: %s",
                                           strerror(errno)));
    }
    w->offset += n;
    return ERR_OK;
}

/* Compresses w->raw into w->packed, after room for the section's name. A block of zstd ends wherever w->raw is cut, so
 * that bytes of one sort are coded by their own statistics; w->packed is cut after each block. */
static enum err writer_compress(struct trace_writer *w, enum section_kind kind, struct err_detail *err)
{
    bytes_cut(&w->raw);
    const size_t room = NATIVE_SECTION_BYTES + ZSTD_compressBound(w->raw.n) + 64 * w->raw.n_cuts;
    bytes_clear(&w->packed);
    if (w->raw.has_failed || !bytes_reserve(&w->packed, room))
        return writer_nomem(w, err);
    ZSTD_CCtx_reset(w->zstd, ZSTD_reset_session_only);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_minMatch, kind == SECTION_EVENTS ? NATIVE_EVENT_MATCH : 0);
    ZSTD_CCtx_setPledgedSrcSize(w->zstd, w->raw.n);
    ZSTD_outBuffer out = {.dst = w->packed.data, .size = room, .pos = NATIVE_SECTION_BYTES};
    ZSTD_inBuffer in = {.src = w->raw.data};
    size_t i = 0;
    do {                                         /* at least once, also without bytes */
        in.size = w->raw.n_cuts == 0 ? 0 : w->raw.cuts[i++];
        if (ZSTD_compressStream2(w->zstd, &out, &in, in.size == w->raw.n ? ZSTD_e_end : ZSTD_e_flush) != 0)
            return writer_nomem(w, err);
        w->packed.n = out.pos;
        bytes_cut(&w->packed);
    } while (in.size < w->raw.n);
    return w->packed.has_failed ? writer_nomem(w, err) : ERR_OK;
}

/* Bytes that a reader keeps of w->raw, a section of `rows` rows. */
static uint64_t writer_table_bytes(const struct trace_writer *w, enum section_kind kind, size_t rows)
{
    const bool is_kept_whole = kind == SECTION_META || kind == SECTION_STRINGS || kind == SECTION_LABELS;
    return is_kept_whole ? w->raw.n : rows * rows_size(kind);
}

/* The size of the header of a zstd frame: RFC 8878, 3.1.1.1. Ours names no dictionary. */
static size_t frame_header_bytes(const unsigned char *frame)
{
    enum { MAGIC_BYTES = 4, SINGLE_SEGMENT = 1 << 5, SIZE_SHIFT = 6 };
    const unsigned descriptor = frame[MAGIC_BYTES], size = descriptor >> SIZE_SHIFT;
    const bool is_single = (descriptor & SINGLE_SEGMENT) != 0;
    const size_t window_bytes = is_single ? 0 : 1, size_bytes = size > 0 ? (size_t)1 << size : is_single ? 1 : 0;
    return MAGIC_BYTES + 1 + window_bytes + size_bytes;
}

/* A reader takes memory in proportion to the file, and a very regular program packs better than that. So a section with
 * which the file would be too short gets empty blocks of zstd: three zeros each, before its first block. */
static enum err writer_pad(struct trace_writer *w, enum section_kind kind, size_t rows, struct err_detail *err)
{
    enum { EMPTY_BLOCK = 3 };
    const uint64_t events = w->rows[SECTION_EVENTS] + (kind == SECTION_EVENTS ? rows : 0);
    const uint64_t memory = w->table_bytes + writer_table_bytes(w, kind, rows) + w->frame_bytes +
                            events * NATIVE_MEMORY_EVENT + w->slots.n * (uint64_t)NATIVE_MEMORY_LIVE;
    if (native_allows(w->offset + w->packed.n, memory))
        return ERR_OK;
    const uint64_t lacking = memory / NATIVE_MEMORY_RATIO - (w->offset + w->packed.n);
    const size_t n = (size_t)round_up(lacking, EMPTY_BLOCK);
    const size_t at = NATIVE_SECTION_BYTES + frame_header_bytes(w->packed.data + NATIVE_SECTION_BYTES);
    if (!bytes_reserve(&w->packed, n))
        return writer_nomem(w, err);
    memmove(w->packed.data + at + n, w->packed.data + at, w->packed.n - at);
    memset(w->packed.data + at, 0, n);
    w->packed.n += n;
    return ERR_OK;
}

/* Compresses w->raw, which holds `rows` rows, into w->packed, after the section's name. */
static enum err writer_pack(struct trace_writer *w, enum section_kind kind, size_t rows, struct err_detail *err)
{
    enum err e = writer_compress(w, kind, err);
    if (e == ERR_OK)
        e = writer_pad(w, kind, rows, err);
    if (e != ERR_OK)
        return e;
    const size_t n = w->packed.n;
    w->packed.n = 0;
    bytes_put_le(&w->packed, NATIVE_SKIP_SECTION, 4);
    bytes_put_le(&w->packed, NATIVE_SECTION_BYTES - 8, 4);
    bytes_put(&w->packed, section_tag(kind), 4);
    bytes_put_le(&w->packed, rows, 4);
    bytes_put_le(&w->packed, n - NATIVE_SECTION_BYTES, 4);
    w->packed.n = n;
    return w->packed.has_failed ? writer_nomem(w, err) : ERR_OK;
}

static bool writer_list_section(struct trace_writer *w, enum section_kind kind, size_t rows)
{
    struct section *more = array_grow(w->sections, w->n_sections, &w->room_sections, sizeof *more);
    if (more == NULL)
        return false;
    w->sections = more;
    w->sections[w->n_sections++] = (struct section){
        .offset = w->offset, .first = w->rows[kind], .rows = (uint32_t)rows, .kind = kind,
        .packed_bytes = (uint32_t)(w->packed.n - NATIVE_SECTION_BYTES)};
    w->rows[kind] += rows;
    w->table_bytes += writer_table_bytes(w, kind, rows);
    return true;
}

/* Writes w->raw as a section of `rows` rows. */
static enum err writer_section(struct trace_writer *w, enum section_kind kind, size_t rows, struct err_detail *err)
{
    assert(rows > 0);
    const enum err e = writer_pack(w, kind, rows, err);
    if (e != ERR_OK)
        return e;
    if (!writer_list_section(w, kind, rows))
        return writer_nomem(w, err);
    return writer_write(w, w->packed.data, w->packed.n, err);
}

static enum err writer_rows(struct trace_writer *w, enum section_kind kind, const void *rows, size_t n,
                            struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t done = 0; done < n && e == ERR_OK; done += NATIVE_ROWS) {
        const size_t k = n - done < NATIVE_ROWS ? n - done : NATIVE_ROWS;
        bytes_clear(&w->raw);
        rows_encode(&w->raw, kind, (const char *)rows + done * rows_size(kind), k);
        e = writer_section(w, kind, k, err);
    }
    return e;
}

/* Writes the rows of a table of `n` rows that were not written yet. */
static enum err writer_new_rows(struct trace_writer *w, enum section_kind kind, const void *table, size_t n,
                                struct err_detail *err)
{
    const size_t done = (size_t)w->rows[kind];
    return n == done ? ERR_OK : writer_rows(w, kind, (const char *)table + done * rows_size(kind), n - done, err);
}

/* The same for texts, in sections of at most NATIVE_ROWS texts and about TEXT_SECTION_BYTES. */
static enum err writer_new_texts(struct trace_writer *w, enum section_kind kind, const struct text_table *t,
                                 struct err_detail *err)
{
    enum { TEXT_SECTION_BYTES = 1 << 20 };
    enum err e = ERR_OK;
    for (uint32_t first = (uint32_t)w->rows[kind], end; first < t->n && e == ERR_OK; first = end) {
        const size_t start = t->start[first];
        for (end = first + 1; end < t->n && end - first < NATIVE_ROWS; end++)
            if (t->start[end] - start > TEXT_SECTION_BYTES)
                break;
        bytes_clear(&w->raw);
        bytes_put(&w->raw, t->text + start, (end < t->n ? t->start[end] : t->n_text) - start);
        e = writer_section(w, kind, end - first, err);
    }
    return e;
}

static enum err writer_head(struct trace_writer *w, struct err_detail *err)
{
    bytes_clear(&w->raw);
    bytes_put_le(&w->raw, NATIVE_SKIP_ENDS, 4);
    bytes_put_le(&w->raw, NATIVE_HEAD_BYTES - 8, 4);
    bytes_put(&w->raw, NATIVE_HEAD_TEXT, 12);
    bytes_put_le(&w->raw, NATIVE_VERSION, 4);
    return w->raw.has_failed ? writer_nomem(w, err) : writer_write(w, w->raw.data, w->raw.n, err);
}

/* Writes the facts that were not written yet, with the present values of the numbers next to them. */
static enum err writer_facts(struct trace_writer *w, struct err_detail *err)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_facts; i++)
        n += !w->facts[i].is_written;
    bytes_clear(&w->raw);
    bytes_put_varint(&w->raw, w->info.capacity_bytes);
    bytes_put_varint(&w->raw, w->info.epoch_us);
    bytes_put_varint(&w->raw, w->info.device);
    bytes_put_varint(&w->raw, n);
    for (size_t i = 0; i < w->n_facts; i++)
        if (!w->facts[i].is_written) {
            bytes_put_text(&w->raw, w->facts[i].name);
            bytes_put_text(&w->raw, w->facts[i].value);
            w->facts[i].is_written = true;
        }
    return writer_section(w, SECTION_META, 1, err);
}

static enum err writer_late_facts(struct trace_writer *w, struct err_detail *err)
{
    for (size_t i = 0; i < w->n_facts; i++)
        if (!w->facts[i].is_written)
            return writer_facts(w, err);
    return ERR_OK;
}

/* Writes new names. The default stream and the shared pool have no row. */
static enum err writer_names(struct trace_writer *w, struct err_detail *err)
{
    const enum err e = writer_new_rows(w, SECTION_STREAMS, w->streams + 1, w->info.n_streams - 1, err);
    return e != ERR_OK ? e : writer_new_rows(w, SECTION_POOLS, w->pools + 1, w->info.n_pools - 1, err);
}

/* Writes what comes before the first event: facts, names, start state. */
static enum err writer_begin(struct trace_writer *w, struct err_detail *err)
{
    if (w->is_under_way)
        return ERR_OK;
    w->is_under_way = true;
    enum err e = writer_facts(w, err);
    if (e == ERR_OK)
        e = writer_names(w, err);
    if (e == ERR_OK)
        e = writer_rows(w, SECTION_START_SEGMENTS, w->start_segments, w->n_start_segments, err);
    if (e == ERR_OK)
        e = writer_rows(w, SECTION_START_BLOCKS, w->start_blocks, w->n_start_blocks, err);
    return e;
}

/* Writes all that the next event section may refer to and that is not written yet: names, texts, stacks, controls. Also
 * the recorded segment events. */
static enum err writer_tables(struct trace_writer *w, struct err_detail *err)
{
    const size_t n_segment_events = w->n_segment_events;
    enum err e = writer_names(w, err);
    if (e == ERR_OK)
        e = writer_new_texts(w, SECTION_STRINGS, &w->strings, err);
    if (e == ERR_OK)
        e = writer_new_rows(w, SECTION_NODES, w->stacks.node, w->stacks.n_nodes, err);
    if (e == ERR_OK)
        e = writer_new_rows(w, SECTION_STACKS, w->stacks.stack, w->stacks.n_stacks, err);
    if (e == ERR_OK)
        e = writer_new_texts(w, SECTION_LABELS, &w->labels, err);
    if (e == ERR_OK)
        e = writer_new_rows(w, SECTION_CONTROLS, w->controls, w->n_controls, err);
    w->n_segment_events = 0;
    return e != ERR_OK ? e : writer_rows(w, SECTION_SEGMENT_EVENTS, w->segment_events, n_segment_events, err);
}

/* ---- events ---- */

/* Writes the slots in use, so that a reader can start here. */
static enum err writer_flush_slots(struct trace_writer *w, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (uint32_t first = 0; first < w->slots.n && e == ERR_OK; first += NATIVE_SECTION_EVENTS) {
        const uint32_t left = w->slots.n - first;
        const uint32_t n = left < NATIVE_SECTION_EVENTS ? left : NATIVE_SECTION_EVENTS;
        bytes_clear(&w->raw);
        bytes_put_varint(&w->raw, w->place.first_event);
        bytes_put_varint(&w->raw, first);
        slots_encode(&w->raw, w->slots.at + first, n);
        e = writer_section(w, SECTION_SLOTS, n, err);
    }
    return e;
}

static enum err writer_flush_sides(struct trace_writer *w, struct err_detail *err)
{
    for (size_t i = 0; i < w->n_events; i++)
        w->side_slots[i] = w->events[i].kind == EVENT_ALLOC || kind_is_free(w->events[i].kind) ? w->events[i].slot
                                                                                               : UINT32_MAX;
    bytes_clear(&w->raw);
    if (!sides_encode(&w->raw, w->sides, w->side_slots, w->n_events, &w->side_memory))
        return writer_nomem(w, err);
    return writer_section(w, SECTION_SIDES, w->n_events, err);
}

/* Adds the compressed bytes of each column of the section packed last. `ends`: of the columns in w->raw. */
static void writer_add_costs(struct trace_writer *w, const size_t ends[EVENT_COLUMN_COUNT])
{
    uint64_t before = NATIVE_SECTION_BYTES;
    int c = 0;
    for (size_t i = 0; i < w->raw.n_cuts; i++) {
        while (ends[c] < w->raw.cuts[i])
            c++;
        assert(c < EVENT_COLUMN_COUNT);              /* the last cut is the end of the last column */
        w->column_bytes[c] += w->packed.cuts[i] - before;
        before = w->packed.cuts[i];
    }
}

/* Writes the events under construction, after the tables they refer to and their sides. Every NATIVE_SLOTS_EVERY
 * sections the slots follow. */
static enum err writer_flush_events(struct trace_writer *w, struct err_detail *err)
{
    if (w->n_events == 0)
        return ERR_OK;
    size_t ends[EVENT_COLUMN_COUNT], n_controls = 0;
    enum err e = writer_tables(w, err);
    if (e == ERR_OK && w->has_sides)
        e = writer_flush_sides(w, err);
    bytes_clear(&w->raw);
    events_encode(&w->raw, w->events, w->n_events, &w->place, ends);
    if (e == ERR_OK)
        e = writer_section(w, SECTION_EVENTS, w->n_events, err);
    if (e == ERR_OK)
        writer_add_costs(w, ends);
    for (size_t i = 0; i < w->n_events; i++)
        n_controls += w->events[i].kind == EVENT_CONTROL;
    w->place.first_event += w->n_events;
    w->place.first_controls += n_controls;
    w->place.time_ns = w->events[w->n_events - 1].time_ns;
    w->n_events = 0;
    w->has_sides = false;
    if (e == ERR_OK && ++w->n_event_sections % NATIVE_SLOTS_EVERY == 0)
        e = writer_flush_slots(w, err);
    return e;
}

/* Turns the events under construction into what a reader would decode: frees get their own stream and pool instead of
 * the exclusive or, and sides get the numbers of events without a source record. `places`: scratch, by slot, all zero.
 * */
static void writer_loosen(const struct trace_writer *w, uint32_t *places)
{
    for (size_t i = 0; i < w->n_start_blocks; i++)
        if (w->start_blocks[i].slot != TRACE_NO_SLOT)
            places[w->start_blocks[i].slot] = place_of(w->start_blocks[i].stream, w->start_blocks[i].pool);
    for (size_t i = 0; i < w->n_events; i++) {
        struct event *ev = &w->events[i];
        if (ev->kind == EVENT_ALLOC) {
            places[ev->slot] = place_of(ev->stream, ev->pool);
        } else if (kind_is_free(ev->kind)) {
            ev->stream = (uint16_t)(ev->stream ^ (uint16_t)places[ev->slot]);
            ev->pool = (uint8_t)(ev->pool ^ places[ev->slot] >> 16);
        }
        if (!w->info.has_source_numbers)
            w->sides[i].record = i;
    }
}

/* If the trace has no event section yet, hands out its events instead of encoding them. They get a section without
 * content, after the tables that they refer to. */
static enum err writer_hand_out(struct trace_writer *w, struct loose_events *out, struct err_detail *err)
{
    if (w->n_event_sections > 0 || w->n_events == 0)
        return ERR_OK;
    uint32_t *places = calloc((size_t)w->slots.n + 1, sizeof *places);
    if (places == NULL)
        return writer_nomem(w, err);
    writer_loosen(w, places);
    free(places);
    enum err e = writer_tables(w, err);
    bytes_clear(&w->raw);
    if (e == ERR_OK)
        e = writer_section(w, SECTION_EVENTS, w->n_events, err);
    *out = (struct loose_events){.events = w->events, .sides = w->sides, .n = w->n_events};
    w->events = NULL;
    w->sides = NULL;
    w->n_events = 0;
    return e;
}

/* Appends an event whose kind, bytes, slot and place are filled in. */
static enum err writer_push(struct trace_writer *w, const struct trace_record *r, struct event ev,
                            struct err_detail *err)
{
    assert(w->n_events < NATIVE_SECTION_EVENTS);
    if (!w->has_first)
        w->first_ns = w->last_ns = r->time_ns;
    w->has_first = true;
    if (r->time_ns > w->last_ns)
        w->last_ns = r->time_ns;
    ev.time_ns = w->last_ns - w->first_ns;
    const struct trace_side side = {.record = r->record, .addr = r->addr, .stack = r->stack};
    w->has_sides |= side.record != TRACE_NO_RECORD || side.addr != 0 || side.stack != TRACE_NO_STACK;
    w->info.has_source_numbers |= side.record != TRACE_NO_RECORD;
    w->info.has_addresses |= side.addr != 0;
    w->info.by_kind[ev.kind]++;
    w->info.events++;
    w->info.duration_ns = ev.time_ns;
    w->events[w->n_events] = ev;
    w->sides[w->n_events++] = side;
    if (w->n_events < NATIVE_SECTION_EVENTS)
        return ERR_OK;
    if (w->watch != NULL)
        w->watch(w->watch_arg, w->info.events, w->watch_total);
    return writer_flush_events(w, err);
}

void trace_watch_writing(struct trace_writer *w, uint64_t total, trace_watch watch, void *arg)
{
    w->watch = watch;
    w->watch_arg = arg;
    w->watch_total = total;
}

/* ---- dense numbers ---- */

/* Things that have numbers, in the order of their first appearance: streams, pools. */
struct numbered {
    struct pair_map *number_of;
    void           **array;
    size_t          *room, size;
    uint32_t         n, most;
    const char      *what;
};

/* The number of `id`. If it is new its number is `n`, and the array has room for it. */
static enum err writer_number(struct trace_writer *w, const struct numbered *of, const uint64_t id[2], uint32_t *number,
                              struct err_detail *err)
{
    const uint32_t *known = pair_map_find(of->number_of, id[0], id[1]);
    *number = known != NULL ? *known : of->n;
    if (known != NULL)
        return ERR_OK;
    if (of->n == of->most)
        return err_at(err, ERR_FORMAT, w->info.events, writer_source(w), "event %llu: more than %u %s",
                      (unsigned long long)w->info.events, of->most, of->what);
    void *array = array_grow(*of->array, of->n, of->room, of->size);
    if (array == NULL)
        return writer_nomem(w, err);
    *of->array = array;
    return pair_map_add(of->number_of, id[0], id[1], of->n) ? ERR_OK : writer_nomem(w, err);
}

static enum err writer_stream(struct trace_writer *w, uint64_t handle, uint16_t *stream, struct err_detail *err)
{
    uint32_t number;
    void *streams = w->streams;
    const struct numbered of = { &w->stream_of, &streams, &w->room_streams, sizeof *w->streams, w->info.n_streams,
                                 NATIVE_STREAMS_MAX, "streams" };
    const enum err e = writer_number(w, &of, (uint64_t[]){ handle, 0 }, &number, err);
    w->streams = streams;
    if (e != ERR_OK)
        return e;
    if (number == w->info.n_streams)
        w->streams[w->info.n_streams++] = (struct stream_name){ .handle = handle, .number = number };
    *stream = (uint16_t)number;
    return ERR_OK;
}

static enum err writer_pool(struct trace_writer *w, const uint64_t id[2], uint8_t *pool, struct err_detail *err)
{
    uint32_t number;
    void *pools = w->pools;
    const struct numbered of = { &w->pool_of, &pools, &w->room_pools, sizeof *w->pools, w->info.n_pools,
                                 NATIVE_POOLS_MAX, "pools" };
    const enum err e = writer_number(w, &of, id, &number, err);
    w->pools = pools;
    if (e != ERR_OK)
        return e;
    if (number == w->info.n_pools)
        w->pools[w->info.n_pools++] = (struct pool_name){ .id = { id[0], id[1] } };
    *pool = (uint8_t)number;
    return ERR_OK;
}

/* A request that was refused is bounded like one that was served, since a replay may serve it. */
static enum err writer_check_live(const struct trace_writer *w, uint64_t bytes, struct err_detail *err)
{
    if (bytes <= NATIVE_LIVE_MAX - w->slots.live_bytes)
        return ERR_OK;
    return err_at(err, ERR_FORMAT, w->info.events, writer_source(w), "event %llu: more bytes live than a trace can "
                  "hold", (unsigned long long)w->info.events);
}

/* Gives a new request a slot: the one vacated last, which the encoding guesses, else a new one. */
static enum err writer_take_slot(struct trace_writer *w, uint64_t ptr, struct slot request, uint32_t *slot,
                                 struct err_detail *err)
{
    const enum err e = writer_check_live(w, request.bytes, err);
    if (e != ERR_OK)
        return e;
    const uint32_t s = w->n_vacated > 0 ? w->vacated[w->n_vacated - 1] : w->slots.n;
    if (!slot_table_reach(&w->slots, s) || !pair_map_add(&w->slot_of, ptr, 0, s))
        return writer_nomem(w, err);
    if (w->n_vacated > 0)
        w->n_vacated--;
    else
        w->slots.n++;
    slot_table_take(&w->slots, s, request);
    *slot = s;
    return ERR_OK;
}

static enum err writer_vacate_slot(struct trace_writer *w, uint64_t ptr, uint32_t slot, struct err_detail *err)
{
    uint32_t *vacated = array_grow(w->vacated, w->n_vacated, &w->room_vacated, sizeof *vacated);
    if (vacated == NULL)
        return writer_nomem(w, err);
    w->vacated = vacated;
    w->vacated[w->n_vacated++] = slot;
    pair_map_remove(&w->slot_of, ptr, 0);
    slot_table_vacate(&w->slots, slot);
    return ERR_OK;
}

/* ---- records ---- */

/* Reports a record that is refused. */
static enum err writer_refuse(const struct trace_writer *w, const struct trace_record *r, const char *what,
                              struct err_detail *err)
{
    const uint64_t at = r->record != TRACE_NO_RECORD ? r->record : w->info.events;
    return err_at(err, ERR_FORMAT, at, writer_source(w), "%s %llu: %s 0x%llx",
                  r->record != TRACE_NO_RECORD ? "record" : "event", (unsigned long long)at, what,
                  (unsigned long long)r->ptr);
}

static enum err writer_place(struct trace_writer *w, const struct trace_record *r, struct event *ev,
                             struct err_detail *err)
{
    const enum err e = writer_stream(w, r->stream, &ev->stream, err);
    return e != ERR_OK ? e : writer_pool(w, r->pool, &ev->pool, err);
}

uint64_t trace_live_bytes(const struct trace_writer *w, uint64_t ptr)
{
    const uint32_t *slot = pair_map_find(&w->slot_of, ptr, 0);
    return slot != NULL ? w->slots.at[*slot].bytes : 0;
}

static enum err writer_put_alloc(struct trace_writer *w, const struct trace_record *r, struct err_detail *err)
{
    struct event ev = {.kind = EVENT_ALLOC, .bytes = r->bytes};
    if (r->bytes == 0)
        return writer_refuse(w, r, "a request of 0 bytes at", err);
    if (trace_live_bytes(w, r->ptr) > 0)
        return writer_refuse(w, r, "a second request at the live address", err);
    enum err e = writer_place(w, r, &ev, err);
    const struct slot request = {.bytes = r->bytes, .place = place_of(ev.stream, ev.pool), .state = SLOT_LIVE};
    if (e == ERR_OK)
        e = writer_take_slot(w, r->ptr, request, &ev.slot, err);
    return e != ERR_OK ? e : writer_push(w, r, ev, err);
}

/* A free of any kind. It is refused unless its slot is in the right state. */
static enum err writer_put_free(struct trace_writer *w, const struct trace_record *r, struct err_detail *err)
{
    const uint32_t *known = pair_map_find(&w->slot_of, r->ptr, 0);
    const uint32_t needed = r->kind == EVENT_FREE_COMPLETED ? SLOT_PENDING : SLOT_LIVE;
    if (known == NULL)
        return writer_refuse(w, r, "nothing is live at the freed address", err);
    const uint32_t slot = *known;
    struct slot *s = &w->slots.at[slot];
    if (s->state != needed)
        return writer_refuse(w, r, needed == SLOT_LIVE ? "a second free of" : "no free was requested of", err);
    struct event ev = {.kind = (uint8_t)r->kind, .slot = slot, .bytes = s->bytes};
    enum err e = writer_place(w, r, &ev, err);
    if (e != ERR_OK)
        return e;
    ev.stream = (uint16_t)(ev.stream ^ (uint16_t)s->place);          /* as events_encode expects them */
    ev.pool = (uint8_t)(ev.pool ^ s->place >> 16);
    if (r->kind == EVENT_FREE_REQUESTED)
        s->state = SLOT_PENDING;
    else
        e = writer_vacate_slot(w, r->ptr, slot, err);
    return e != ERR_OK ? e : writer_push(w, r, ev, err);
}

/* Puts an event and its row in the table of controls, whose numbers follow the order of CONTROL events. */
static enum err writer_put_control(struct trace_writer *w, const struct trace_record *r, struct event ev,
                                   struct err_detail *err)
{
    struct control_row row = {.control = r->control};
    row.control.text = NULL;
    row.control.stream = ev.stream;
    row.control.pool = ev.pool;
    row.control.slot = 0;
    if (r->control.kind >= CONTROL_KINDS)
        return writer_refuse(w, r, "an unknown control at", err);
    if (r->control.kind == CONTROL_USE) {
        const uint32_t *slot = pair_map_find(&w->slot_of, r->ptr, 0);
        if (slot == NULL)
            return writer_refuse(w, r, "nothing is live at the used address", err);
        row.control.slot = *slot;
    }
    const size_t n_text = r->control.text == NULL ? 0 : strlen(r->control.text);
    if (n_text >= NATIVE_TEXT_MAX)
        return writer_refuse(w, r, "a control's text is too long at", err);
    struct control_row *controls = array_grow(w->controls, w->n_controls, &w->room_controls, sizeof *controls);
    if (controls == NULL)
        return writer_nomem(w, err);
    w->controls = controls;
    if (r->control.text != NULL && (row.text = text_table_put(&w->strings, r->control.text, n_text) + 1) == 0)
        return writer_nomem(w, err);
    ev.slot = (uint32_t)w->n_controls;
    w->controls[w->n_controls++] = row;
    return writer_push(w, r, ev, err);
}

static enum err writer_put_other(struct trace_writer *w, const struct trace_record *r, struct err_detail *err)
{
    struct event ev = {.kind = (uint8_t)r->kind};
    enum err e = writer_place(w, r, &ev, err);
    if (e != ERR_OK)
        return e;
    if (r->kind == EVENT_CONTROL)
        return writer_put_control(w, r, ev, err);
    if (r->kind == EVENT_OOM && (ev.bytes = r->bytes) == 0)
        return writer_refuse(w, r, "a refused request of 0 bytes at", err);
    if (r->kind == EVENT_OOM && (e = writer_check_live(w, ev.bytes, err)) != ERR_OK)
        return e;
    if (r->kind == EVENT_MARK && (ev.slot = r->label) >= w->labels.n)
        return writer_refuse(w, r, "an unknown label at", err);
    return writer_push(w, r, ev, err);
}

/* Puts the FREE_REQUESTED that was held back, if there is one. */
static enum err writer_put_held(struct trace_writer *w, struct err_detail *err)
{
    if (!w->held.is_held)
        return ERR_OK;
    w->held.is_held = false;
    return writer_put_free(w, &w->held.record, err);
}

enum err trace_put(struct trace_writer *w, const struct trace_record *r, struct err_detail *err)
{
    enum err e = writer_check(w, err);
    if (e == ERR_OK)
        e = writer_begin(w, err);
    if (e != ERR_OK)
        return e;
    if (w->held.is_held && r->kind == EVENT_FREE_COMPLETED && r->ptr == w->held.record.ptr) {
        w->held.record.kind = EVENT_FREE;
        return writer_put_held(w, err);
    }
    e = writer_put_held(w, err);
    if (e != ERR_OK)
        return e;
    if (r->stack > w->stacks.n_stacks)
        return writer_refuse(w, r, "an unknown stack at", err);
    switch (r->kind) {
    case EVENT_ALLOC:
        return writer_put_alloc(w, r, err);
    case EVENT_FREE:
    case EVENT_FREE_COMPLETED:
        return writer_put_free(w, r, err);
    case EVENT_FREE_REQUESTED: {
        const uint32_t *slot = pair_map_find(&w->slot_of, r->ptr, 0);
        if (slot == NULL || w->slots.at[*slot].state != SLOT_LIVE)
            return writer_put_free(w, r, err);          /* refuses it */
        w->held = (struct writer_held){.record = *r, .is_held = true};
        return ERR_OK;
    }
    case EVENT_FLUSH:
    case EVENT_OOM:
    case EVENT_CONTROL:
    case EVENT_MARK:
        return writer_put_other(w, r, err);
    case EVENT_KINDS:
        break;
    }
    return writer_refuse(w, r, "an unknown kind of record at", err);
}

enum err trace_put_segment_event(struct trace_writer *w, enum trace_segment_kind kind, uint64_t addr, uint64_t bytes,
                                 uint64_t stream, const uint64_t pool[2], uint64_t record, struct err_detail *err)
{
    struct trace_segment_event row = {.record = record, .addr = addr, .bytes = bytes, .kind = (uint8_t)kind};
    enum err e = writer_check(w, err);
    if (e == ERR_OK)
        e = writer_begin(w, err);
    if (e == ERR_OK)
        e = writer_put_held(w, err);
    if (e == ERR_OK)
        e = writer_stream(w, stream, &row.stream, err);
    if (e == ERR_OK)
        e = writer_pool(w, pool, &row.pool, err);
    if (e != ERR_OK)
        return e;
    if (bytes > UINT64_MAX - addr || kind > TRACE_SEGMENT_UNMAP)
        return err_at(err, ERR_FORMAT, record, writer_source(w), "record %llu: an invalid segment event at 0x%llx",
                      (unsigned long long)record, (unsigned long long)addr);
    assert(w->n_segment_events < NATIVE_ROWS);
    row.before = w->info.events;
    w->info.has_segment_events = true;
    w->segment_events[w->n_segment_events++] = row;
    return w->n_segment_events < NATIVE_ROWS ? ERR_OK : writer_tables(w, err);
}

/* ---- what comes first ---- */

enum err trace_put_meta(struct trace_writer *w, const char *name, const char *value, struct err_detail *err)
{
    const enum err e = writer_check(w, err);
    if (e != ERR_OK)
        return e;
    if (strlen(name) >= NATIVE_TEXT_MAX || strlen(value) >= NATIVE_TEXT_MAX)
        return err_at(err, ERR_FORMAT, 0, writer_source(w), "the text of \"%s\" is too long", name);
    size_t i = 0;
    while (i < w->n_facts && strcmp(w->facts[i].name, name) != 0)
        i++;
    if (i == w->n_facts) {
        if (w->n_facts == NATIVE_FACTS_MAX)
            return err_at(err, ERR_FORMAT, 0, writer_source(w), "more than %d facts", NATIVE_FACTS_MAX);
        struct writer_fact *facts = array_grow(w->facts, w->n_facts, &w->room_facts, sizeof *facts);
        if (facts == NULL)
            return writer_nomem(w, err);
        w->facts = facts;
        w->facts[i] = (struct writer_fact){.name = strdup(name)};
        w->n_facts++;
    }
    free(w->facts[i].value);
    w->facts[i].value = strdup(value);
    w->facts[i].is_written = false;
    return w->facts[i].name == NULL || w->facts[i].value == NULL ? writer_nomem(w, err) : ERR_OK;
}

enum err trace_put_source_path(struct trace_writer *w, const char *path, struct err_detail *err)
{
    const enum err e = trace_put_meta(w, "path", path, err);
    if (e != ERR_OK)
        return e;
    free(w->source);
    w->source = strdup(path);
    return w->source == NULL ? writer_nomem(w, err) : ERR_OK;
}

struct trace_info *trace_writer_info(struct trace_writer *w)
{
    return &w->info;
}

enum err trace_put_stream_number(struct trace_writer *w, uint64_t handle, uint64_t number, struct err_detail *err)
{
    uint16_t stream = 0;
    enum err e = writer_check(w, err);
    if (e == ERR_OK)
        e = writer_stream(w, handle, &stream, err);
    if (e != ERR_OK || w->streams[stream].number == number)
        return e;
    if (stream <= w->rows[SECTION_STREAMS])
        return err_at(err, ERR_USAGE, 0, w->name, "stream 0x%llx has its number already", (unsigned long long)handle);
    w->streams[stream].number = number;
    return ERR_OK;
}

/* Reports a row of the start state that is refused. */
static enum err writer_refuse_start(const struct trace_writer *w, const char *what, uint64_t addr,
                                    struct err_detail *err)
{
    return err_at(err, ERR_FORMAT, 0, writer_source(w), "start state: the %s at 0x%llx", what,
                  (unsigned long long)addr);
}

enum err trace_put_start_segment(struct trace_writer *w, const struct trace_segment *s, uint64_t stream,
                                 const uint64_t pool[2], struct err_detail *err)
{
    struct trace_segment row = *s;
    enum err e = writer_check(w, err);
    if (e == ERR_OK)
        e = writer_stream(w, stream, &row.stream, err);
    if (e == ERR_OK)
        e = writer_pool(w, pool, &row.pool, err);
    if (e != ERR_OK)
        return e;
    const size_t n = w->n_start_segments;
    const char *fault = w->is_under_way || w->n_start_blocks > 0 ? "segment comes too late" : NULL;
    if (fault == NULL)
        fault = start_segment_fault(&row, n == 0 ? NULL : &w->start_segments[n - 1]);
    if (fault != NULL)
        return writer_refuse_start(w, fault, s->addr, err);
    struct trace_segment *rows = array_grow(w->start_segments, n, &w->room_start_segments, sizeof *rows);
    if (rows == NULL)
        return writer_nomem(w, err);
    w->start_segments = rows;
    w->start_segments[w->n_start_segments++] = row;
    w->info.starts_mid_run = true;
    return ERR_OK;
}

/* Gives a used block its slot. */
static enum err writer_start_slot(struct trace_writer *w, struct trace_block *row, struct err_detail *err)
{
    const struct slot request = {.bytes = row->requested, .place = place_of(row->stream, row->pool),
                                 .state = row->is_pending ? SLOT_PENDING : SLOT_LIVE};
    return writer_take_slot(w, row->addr, request, &row->slot, err);
}

enum err trace_put_start_block(struct trace_writer *w, const struct trace_block *b, bool is_live, uint64_t stream,
                               const uint64_t pool[2], struct err_detail *err)
{
    struct trace_block row = *b;
    row.slot = TRACE_NO_SLOT;
    enum err e = writer_check(w, err);
    if (e == ERR_OK)
        e = writer_stream(w, stream, &row.stream, err);
    if (e == ERR_OK)
        e = writer_pool(w, pool, &row.pool, err);
    if (e != ERR_OK)
        return e;
    const bool is_used = is_live || row.is_pending;
    const char *fault = w->is_under_way ? "block comes too late" : NULL;
    if (fault == NULL && is_used && row.requested == 0)
        fault = "live block holds nothing";
    if (fault == NULL)
        fault = start_block_fault(&row, w->n_start_blocks == 0 ? NULL : &w->start_blocks[w->n_start_blocks - 1],
                                  w->start_segments, w->n_start_segments);
    if (fault != NULL)
        return writer_refuse_start(w, fault, b->addr, err);
    struct trace_block *rows = array_grow(w->start_blocks, w->n_start_blocks, &w->room_start_blocks, sizeof *rows);
    if (rows == NULL)
        return writer_nomem(w, err);
    w->start_blocks = rows;
    if (is_used)
        e = writer_start_slot(w, &row, err);
    if (e != ERR_OK)
        return e;
    w->start_blocks[w->n_start_blocks++] = row;
    w->info.starts_mid_run = true;
    return ERR_OK;
}

/* ---- texts ---- */

enum err trace_put_label(struct trace_writer *w, const char *text, size_t n, uint32_t *id, struct err_detail *err)
{
    const enum err e = writer_check(w, err);
    if (e != ERR_OK)
        return e;
    const size_t most = n < NATIVE_TEXT_MAX ? n : NATIVE_TEXT_MAX - 1;
    const char *end = most == 0 ? NULL : memchr(text, '\0', most);
    const uint32_t label = text_table_put(&w->labels, text, end == NULL ? most : (size_t)(end - text));
    if (label == UINT32_MAX)
        return writer_nomem(w, err);
    *id = label;
    return ERR_OK;
}

enum err trace_put_frame(struct trace_writer *w, const char *text, uint32_t *frame, struct err_detail *err)
{
    const enum err e = writer_check(w, err);
    if (e != ERR_OK)
        return e;
    const uint32_t string = text_table_put(&w->strings, text, strnlen(text, NATIVE_TEXT_MAX - 1));
    if (string == UINT32_MAX)
        return writer_nomem(w, err);
    *frame = string;
    return ERR_OK;
}

enum err trace_put_stack_of(struct trace_writer *w, const uint32_t *frames, size_t n, uint32_t *id,
                            struct err_detail *err)
{
    const enum err e = writer_check(w, err);
    if (e != ERR_OK)
        return e;
    const size_t depth = n < NATIVE_STACK_MAX ? n : NATIVE_STACK_MAX;
    const uint32_t n_before = w->stacks.n_stacks;
    const uint32_t stack = depth == 0 ? TRACE_NO_STACK : stack_table_put(&w->stacks, frames, depth);
    if (depth > 0 && stack == 0)
        return writer_nomem(w, err);
    if (w->stacks.n_stacks > n_before)
        for (size_t i = 0; i < depth; i++)
            w->frame_bytes += native_frame_memory(text_table_length(&w->strings, frames[i]));
    if (w->frame_bytes > NATIVE_FRAMES_MAX)
        return writer_break(w, err, err_at(&w->broken_why, ERR_FORMAT, w->info.events, writer_source(w), "its call "
                                           "stacks have more frames than a trace can hold"));
    *id = stack;
    return ERR_OK;
}

enum err trace_put_stack(struct trace_writer *w, const char *const *frames, size_t n, uint32_t *id,
                         struct err_detail *err)
{
    uint32_t of[NATIVE_STACK_MAX];
    const size_t depth = n < NATIVE_STACK_MAX ? n : NATIVE_STACK_MAX;
    enum err e = ERR_OK;
    for (size_t i = 0; i < depth && e == ERR_OK; i++)
        e = trace_put_frame(w, frames[i], &of[i], err);
    return e == ERR_OK ? trace_put_stack_of(w, of, depth, id, err) : e;
}

/* ---- the end ---- */

/* The totals at the start of the index, in the order of index_totals in reader.c. */
static void writer_put_totals(struct trace_writer *w)
{
    const struct trace_info *i = &w->info;
    const uint64_t totals[] = {
        i->events, i->records == 0 ? i->events : i->records, i->capacity_bytes, w->slots.peak_bytes, i->duration_ns,
        i->recorded_peak_reserved_bytes, i->recorded_peak_allocated_bytes, i->recorded_end_reserved_bytes,
        i->recorded_start_reserved_bytes, i->recorded_end_segments, i->epoch_us, w->slots.n, i->device,
        (i->starts_mid_run ? INDEX_STARTS_MID_RUN : 0u) | (i->has_source_numbers ? INDEX_HAS_SOURCE_NUMBERS : 0u) |
            (i->has_addresses ? INDEX_HAS_ADDRESSES : 0u) | (i->has_segment_events ? INDEX_HAS_SEGMENT_EVENTS : 0u),
    };
    static_assert(sizeof totals / sizeof totals[0] == INDEX_TOTALS, "as many as the format has");
    for (size_t k = 0; k < INDEX_TOTALS; k++)
        bytes_put_varint(&w->raw, totals[k]);
    for (int kind = 0; kind < EVENT_KINDS; kind++)
        bytes_put_varint(&w->raw, i->by_kind[kind]);
    for (int c = 0; c < EVENT_COLUMN_COUNT; c++)
        bytes_put_varint(&w->raw, w->column_bytes[c]);
}

static void writer_put_sections(struct trace_writer *w)
{
    const size_t n = w->n_sections;
    uint64_t *values = malloc(n * sizeof *values);
    w->raw.has_failed |= values == NULL;
    bytes_put_varint(&w->raw, n);
    for (int field = 0; field < 3 && values != NULL; field++) {
        for (size_t i = 0; i < n; i++) {
            const struct section *s = &w->sections[i];
            values[i] = field == 0 ? s->kind : field == 1 ? s->rows : s->packed_bytes;
        }
        column_put(&w->raw, values, n);
    }
    free(values);
}

static enum err writer_index(struct trace_writer *w, struct err_detail *err)
{
    const uint64_t offset = w->offset;
    bytes_clear(&w->raw);
    writer_put_totals(w);
    writer_put_sections(w);
    enum err e = writer_section(w, SECTION_INDEX, 1, err);
    if (e != ERR_OK)
        return e;
    bytes_clear(&w->raw);
    bytes_put_foot(&w->raw, offset);
    return w->raw.has_failed ? writer_nomem(w, err) : writer_write(w, w->raw.data, w->raw.n, err);
}

/* Writes everything that was put. Events that can be handed out go to `loose` instead (NULL: none are handed out). */
static enum err writer_flush(struct trace_writer *w, struct loose_events *loose, struct err_detail *err)
{
    enum err e = writer_check(w, err);
    if (e == ERR_OK)
        e = writer_begin(w, err);
    if (e == ERR_OK)
        e = writer_put_held(w, err);
    if (e == ERR_OK && loose != NULL)
        e = writer_hand_out(w, loose, err);
    if (e == ERR_OK)
        e = writer_flush_events(w, err);
    if (e == ERR_OK)
        e = writer_tables(w, err);
    return e == ERR_OK ? writer_late_facts(w, err) : e;
}

enum err trace_flush(struct trace_writer *w, struct err_detail *err)
{
    const enum err e = writer_flush(w, NULL, err);
    if (e == ERR_OK && w->file != NULL && fflush(output_file(w->file)) != 0)
        return writer_break(w, err, err_at(&w->broken_why, ERR_IO, w->offset, w->name, "cannot be written: %s",
                                           strerror(errno)));
    return e;
}

static enum err writer_complete(struct trace_writer *w, struct loose_events *loose, struct err_detail *err)
{
    const enum err e = writer_flush(w, loose, err);
    return e == ERR_OK ? writer_index(w, err) : e;
}

/* Frees everything but the file. */
static void writer_free(struct trace_writer *w)
{
    for (size_t i = 0; i < w->n_facts; i++) {
        free(w->facts[i].name);
        free(w->facts[i].value);
    }
    ZSTD_freeCCtx(w->zstd);
    bytes_free(&w->memory);
    bytes_free(&w->raw);
    bytes_free(&w->packed);
    pair_map_free(&w->stream_of);
    pair_map_free(&w->pool_of);
    pair_map_free(&w->slot_of);
    text_table_free(&w->strings);
    text_table_free(&w->labels);
    stack_table_free(&w->stacks);
    side_memory_free(&w->side_memory);
    void *const arrays[] = {w->name, w->source, w->facts, w->streams, w->pools, w->slots.at, w->vacated, w->events,
                            w->sides, w->side_slots, w->start_segments, w->start_blocks, w->controls, w->sections};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    free(w);
}

void trace_abandon(struct trace_writer *w)
{
    if (w == NULL)
        return;
    output_abandon(w->file);
    writer_free(w);
}

enum err trace_finish(struct trace_writer *w, struct err_detail *err)
{
    enum err e = writer_complete(w, NULL, err);
    if (e == ERR_OK && w->file == NULL)
        e = err_at(err, ERR_USAGE, 0, w->name, "a trace in memory is ended by trace_finish_bytes");
    if (e == ERR_OK)
        e = output_commit(&w->file, err);
    trace_abandon(w);
    return e;
}

static enum err writer_finish_bytes(struct trace_writer *w, struct loose_events *loose, void **bytes, size_t *n,
                                    struct err_detail *err)
{
    enum err e = writer_complete(w, loose, err);
    if (e == ERR_OK && w->file != NULL)
        e = err_at(err, ERR_USAGE, 0, w->name, "a trace in a file is ended by trace_finish");
    if (e == ERR_OK) {
        *bytes = w->memory.data;
        *n = w->memory.n;
        w->memory = (struct bytes){0};
    }
    trace_abandon(w);
    return e;
}

enum err trace_finish_bytes(struct trace_writer *w, void **bytes, size_t *n, struct err_detail *err)
{
    return writer_finish_bytes(w, NULL, bytes, n, err);
}

enum err trace_finish_open(struct trace_writer *w, const char *name, struct trace_reader **out, struct err_detail *err)
{
    return trace_finish_import(w, name, 0, UINT64_MAX, out, err);        /* it holds what this program put there */
}

enum err trace_finish_import(struct trace_writer *w, const char *name, uint64_t source_bytes, uint64_t memory_limit,
                             struct trace_reader **out, struct err_detail *err)
{
    struct loose_events loose = {.n = 0};
    void *bytes = NULL;
    size_t n = 0;
    const enum err e = writer_finish_bytes(w, &loose, &bytes, &n, err);
    if (e == ERR_OK)
        return trace_open_loose(bytes, n, &loose, name, source_bytes, memory_limit, out, err);
    free(loose.events);
    free(loose.sides);
    return e;
}

/* The default stream and the shared pool get number 0. */
static enum err writer_prepare(struct trace_writer *w, int level, struct err_detail *err)
{
    uint16_t stream;
    uint8_t pool;
    w->slots.limit = UINT32_MAX - 1;
    w->zstd = ZSTD_createCCtx();
    w->events = malloc(NATIVE_SECTION_EVENTS * sizeof *w->events);
    w->sides = malloc(NATIVE_SECTION_EVENTS * sizeof *w->sides);
    w->side_slots = malloc(NATIVE_SECTION_EVENTS * sizeof *w->side_slots);
    if (w->zstd == NULL || w->events == NULL || w->sides == NULL || w->side_slots == NULL)
        return writer_nomem(w, err);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_contentSizeFlag, 1);
    enum err e = writer_stream(w, 0, &stream, err);
    if (e == ERR_OK)
        e = writer_pool(w, (const uint64_t[2]){0, 0}, &pool, err);
    if (e == ERR_OK)
        e = trace_put_meta(w, "units", TRACE_UNITS, err);
    return e == ERR_OK ? writer_head(w, err) : e;
}

/* Makes a writer into a file (NULL: into memory). The writer owns the file, also on error. */
static enum err writer_create(struct output *file, const char *name, int level, struct trace_writer **out,
                              struct err_detail *err)
{
    struct trace_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        output_abandon(file);
        return err_no_memory(err);
    }
    w->file = file;
    w->name = strdup(name);
    const enum err e = w->name != NULL ? writer_prepare(w, level, err)
                                       : err_no_memory(err);
    if (e != ERR_OK)
        trace_abandon(w);
    else
        *out = w;
    return e;
}

enum err trace_create(const char *path, struct trace_writer **out, struct err_detail *err)
{
    struct output *file = NULL;
    if (path == NULL)
        return writer_create(NULL, "<bytes>", NATIVE_LEVEL_MEMORY, out, err);
    const enum err e = output_open(path, &file, err);
    return e != ERR_OK ? e : writer_create(file, path, NATIVE_LEVEL, out, err);
}

enum err trace_create_growing(const char *path, struct trace_writer **out, struct err_detail *err)
{
    struct output *file = NULL;
    const enum err e = output_open_growing(path, &file, err);
    return e != ERR_OK ? e : writer_create(file, path, NATIVE_LEVEL_PASSING, out, err);
}
