/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads native traces.
 *
 * Opening finds all sections by the index (an unfinished file has none: one is built) and loads the small tables. Event
 * sections are decoded and validated into chunks, one after the other:
 *
 *     event sections     | 0 | 1 | 2 | 3 | 4 | 5 | 6 | ...          next_section: 5, the next to decode
 *     chunks             | lent  | ahead |                          a chunk holds whole sections
 *     slots, place               state after section 4              moves with the decoding, not with the lending
 *
 * With read-ahead a producer thread fills the chunk that is not lent. Everything beside the events is read when it is
 * asked for. Memory grows with the chunks, the live requests and the tables, not with the length of the trace.
 */
#include "base/array.h"
#include "base/producer.h"
#include "traces/event_sections.h"
#include "base/intern.h"
#include "traces/loose.h"
#include "traces/native_file.h"
#include "traces/rows.h"
#include "traces/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A fact by name. Both texts point into a kept content. */
struct reader_fact {
    const char *name, *value;
};

/* Texts by number. They point into kept contents. */
struct reader_texts {
    const char **text;
    uint32_t     n;
};

/* Decoded events, and whether decoding succeeded. */
struct reader_chunk {
    struct event     *at;
    size_t            n, room;
    enum err          outcome;
    struct err_detail err;
};
enum { READER_CHUNKS = 2 };                      /* the lent one, and the one being decoded ahead */

struct trace_reader {
    struct native_file   file;
    void               **kept;                   /* contents of sections; texts point into them */
    size_t               n_kept, room_kept;
    uint64_t             kept_bytes;             /* of contents and tables */
    uint64_t             memory_limit;           /* of kept_bytes; 0: by the file's size, or by source_bytes */
    uint64_t             source_bytes;           /* of the file that was imported; 0: the trace is the file */

    struct trace_info    info;
    struct trace_bytes   costs;
    struct reader_fact  *facts;
    size_t               n_facts, room_facts;
    struct text_table    fact_names;             /* by number of the fact */
    struct stream_name  *streams;
    struct pool_name    *pools;
    struct control      *controls;
    struct reader_texts  strings, labels;
    struct stack_node   *nodes;
    uint32_t            *stacks;
    const char         **frames;                 /* of the stack asked for last */
    struct trace_segment *start_segments;
    struct trace_block   *start_blocks;
    size_t                n_start_segments, n_start_blocks;
    struct trace_segment_event *segment_events;  /* NULL: not yet read */
    size_t                n_segment_events;

    struct section      *sections;               /* all but the index, in file order */
    uint32_t             n_sections;
    size_t               room_sections;
    uint32_t            *of_kind[SECTION_KINDS]; /* by kind: the numbers of its sections */
    uint32_t             n_of_kind[SECTION_KINDS];
    uint64_t             rows[SECTION_KINDS];

    struct events_decoder *decoder;              /* allocated apart: large, and need not be zeroed */
    struct slot_table    slots;
    struct events_place  place;                  /* at the start of event section `next_section` */
    uint32_t             next_section;           /* the next event section to decode: the n-th of them */
    size_t               skip;                   /* events of the next chunk that a seek leaves out */
    bool                 has_state;              /* slots and place are valid */
    bool                 is_whole;               /* all events before next_section were decoded */
    uint64_t             by_kind[EVENT_KINDS];   /* events decoded so far; valid if is_whole */
    struct reader_chunk  chunks[READER_CHUNKS];
    unsigned             lent;                   /* index of the chunk that trace_next lent last */
    size_t               most_chunk;             /* most events of a chunk */
    bool                 is_kept;                /* the lent chunk holds the whole trace, checked */
    size_t               next_kept;              /* next event to lend, if is_kept */
    trace_watch          watch;                  /* NULL: nobody */
    void                *watch_arg;
    uint64_t             watched;                /* events lent in this reading */
    bool                 wants_ahead, is_ahead;  /* is_ahead: only the producer decodes, until it is told to rest */
    struct producer     *producer;               /* NULL: not needed so far, or could not be started */
    struct slot         *listed;                 /* scratch for a section of slots */

    struct side_memory   side_memory;
    struct trace_side   *sides;                  /* decoded sides of event section `side_section` */
    uint32_t            *side_slots;
    uint32_t             side_section;           /* UINT32_MAX: none */
};

/* Refuses a section that would make these bytes necessary. */
static enum err reader_check_kept(const struct trace_reader *r, const struct section *s, uint64_t bytes,
                                  struct err_detail *err)
{
    const uint64_t n = r->source_bytes != 0 ? r->source_bytes : r->file.size;
    if (bytes > SIZE_MAX)                       /* of WebAssembly */
        return err_at(err, ERR_HOST_NOMEM, 0, r->file.name, "needs more memory than this build of replay can have");
    if (r->memory_limit != 0 ? bytes <= r->memory_limit : native_allows(n, bytes))
        return ERR_OK;
    if (r->source_bytes != 0)
        return err_at(err, ERR_FORMAT, 0, r->file.name, "%s",
                      r->memory_limit != 0 ? "needs more memory than --memory-limit allows"
                                           : "stands for far more requests or stack frames than a file of its size can "
                                             "hold; --memory-limit SIZE allows that");
    return native_damage(&r->file, s, r->memory_limit != 0 ? "needs more memory than --memory-limit allows"
                                      : "unpacks to far more bytes than a trace of this file size can hold; "
                                        "--memory-limit SIZE allows that", err);
}

/* Counts bytes that are kept because of a section. */
static enum err reader_count_kept(struct trace_reader *r, const struct section *s, uint64_t bytes,
                                  struct err_detail *err)
{
    r->kept_bytes = add_capped(r->kept_bytes, bytes);
    return reader_check_kept(r, s, r->kept_bytes, err);
}

/* Checks what a replay of so many events and live requests needs. */
static enum err reader_check_events(const struct trace_reader *r, const struct section *s, uint64_t events,
                                    uint64_t live, struct err_detail *err)
{
    return reader_check_kept(r, s, add_capped(r->kept_bytes, live * NATIVE_MEMORY_LIVE + events * NATIVE_MEMORY_EVENT),
                             err);
}

/* Copies a section's content; the copy lives as long as the reader. */
static enum err reader_section_kept(struct trace_reader *r, const struct section *s, struct cursor *content,
                                    struct err_detail *err)
{
    size_t n;
    enum err e = native_section(&r->file, s, &n, err);
    if (e == ERR_OK)
        e = reader_count_kept(r, s, n, err);
    if (e != ERR_OK)
        return e;
    void **kept = array_grow(r->kept, r->n_kept, &r->room_kept, sizeof *kept);
    if (kept == NULL)
        return err_no_memory(err);
    r->kept = kept;
    void *copy = malloc(n == 0 ? 1 : n);
    if (copy == NULL)
        return err_no_memory(err);
    r->kept[r->n_kept++] = copy;
    memcpy(copy, r->file.raw, n);
    *content = cursor_over(copy, n);
    return ERR_OK;
}

/* ---- opening ---- */

/* Reads the totals at the start of the index, in the order of writer_put_totals in writer.c. */
static void index_totals(struct cursor *c, struct trace_info *i, uint64_t column_bytes[EVENT_COLUMN_COUNT])
{
    i->events = cursor_varint(c);
    i->records = cursor_varint(c);
    i->capacity_bytes = cursor_varint(c);
    i->peak_requested_bytes = cursor_varint_at_most(c, NATIVE_LIVE_MAX);
    i->duration_ns = cursor_varint(c);
    i->recorded_peak_reserved_bytes = cursor_varint(c);
    i->recorded_peak_allocated_bytes = cursor_varint(c);
    i->recorded_end_reserved_bytes = cursor_varint(c);
    i->recorded_start_reserved_bytes = cursor_varint(c);
    i->recorded_end_segments = cursor_varint(c);
    i->epoch_us = cursor_varint(c);
    i->peak_live = (uint32_t)cursor_varint_at_most(c, UINT32_MAX - 1);
    i->device = (uint32_t)cursor_varint_at_most(c, TRACE_DEVICES_MAX - 1);
    const uint64_t flags = cursor_varint_at_most(c, INDEX_FLAGS);
    i->starts_mid_run = (flags & INDEX_STARTS_MID_RUN) != 0;
    i->has_source_numbers = (flags & INDEX_HAS_SOURCE_NUMBERS) != 0;
    i->has_addresses = (flags & INDEX_HAS_ADDRESSES) != 0;
    i->has_segment_events = (flags & INDEX_HAS_SEGMENT_EVENTS) != 0;
    for (int k = 0; k < EVENT_KINDS; k++)
        i->by_kind[k] = cursor_varint(c);
    for (int k = 0; k < EVENT_COLUMN_COUNT; k++)
        column_bytes[k] = cursor_varint(c);
}

/* Adds facts. A later fact replaces an earlier one of the same name. */
static enum err reader_read_facts(struct trace_reader *r, struct cursor *c, struct err_detail *err)
{
    const uint64_t n = cursor_varint_at_most(c, NATIVE_FACTS_MAX);
    for (uint64_t k = 0; k < n && !c->is_bad; k++) {
        const char *name = cursor_text(c), *value = cursor_text(c);
        const uint32_t i = text_table_put(&r->fact_names, name, strlen(name));
        struct reader_fact *facts = i == UINT32_MAX ? NULL : array_grow(r->facts, r->n_facts, &r->room_facts,
                                                                        sizeof *facts);
        if (facts == NULL)
            return err_no_memory(err);
        r->facts = facts;
        r->facts[i] = (struct reader_fact){.name = name, .value = value};
        r->n_facts += i == r->n_facts;
    }
    return ERR_OK;
}

/* Places section i at offset `at` of the file and numbers its rows; false if the section is invalid. */
static bool reader_number_section(struct trace_reader *r, uint32_t i, uint64_t at)
{
    struct section *s = &r->sections[i];
    const bool is_long = s->kind == SECTION_EVENTS || s->kind == SECTION_SIDES || s->kind == SECTION_SLOTS;
    if (s->kind >= SECTION_INDEX || s->rows == 0 || s->packed_bytes < NATIVE_ZSTD_MIN_BYTES ||
        s->rows > (uint32_t)(is_long ? NATIVE_SECTION_EVENTS : NATIVE_ROWS))
        return false;
    s->offset = at;
    s->first = s->kind == SECTION_SLOTS ? r->rows[SECTION_EVENTS] : r->rows[s->kind];
    r->rows[s->kind] += s->rows;
    r->n_of_kind[s->kind]++;
    return true;
}

/* Reads the list of sections. Their sizes must fill the file between head and index. */
static enum err index_sections(struct trace_reader *r, struct cursor *c, uint64_t end, struct err_detail *err)
{
    const uint64_t n = cursor_varint_at_most(c, r->file.size / (NATIVE_SECTION_BYTES + NATIVE_ZSTD_MIN_BYTES));
    r->sections = calloc((size_t)n + 1, sizeof *r->sections);
    uint64_t *values = malloc(((size_t)n + 1) * sizeof *values);
    struct column *scratch = malloc(sizeof *scratch);
    if (r->sections == NULL || values == NULL || scratch == NULL)
        c->is_bad = true;
    for (int field = 0; field < 3 && !c->is_bad && column_read_all(scratch, c, values, (size_t)n); field++)
        for (size_t i = 0; i < n; i++) {
            c->is_bad |= values[i] > UINT32_MAX;
            struct section *s = &r->sections[i];
            *(field == 0 ? &s->kind : field == 1 ? &s->rows : &s->packed_bytes) = (uint32_t)values[i];
        }
    const bool is_nomem = r->sections == NULL || values == NULL || scratch == NULL;
    free(scratch);
    free(values);
    if (is_nomem)
        return err_no_memory(err);
    r->n_sections = (uint32_t)n;
    uint64_t at = NATIVE_HEAD_BYTES;
    for (uint32_t i = 0; i < r->n_sections && !c->is_bad; i++) {
        c->is_bad |= !reader_number_section(r, i, at);
        at += NATIVE_SECTION_BYTES + (uint64_t)r->sections[i].packed_bytes;
    }
    c->is_bad |= at != end;
    return ERR_OK;
}

/* True if these sections can be those of one trace. */
static bool sections_are_consistent(const struct trace_reader *r)
{
    if (r->n_sections == 0 || r->sections[0].kind != SECTION_META)
        return false;
    for (uint32_t k = 0; k < r->n_sections; k++) {        /* sides come directly before their events */
        const struct section *s = &r->sections[k];
        const bool is_last = k + 1 == r->n_sections;
        if (s->kind == SECTION_SIDES && (is_last ? !r->info.is_unfinished
                                                 : s[1].kind != SECTION_EVENTS || s[1].rows != s->rows))
            return false;
    }
    return r->rows[SECTION_STREAMS] < NATIVE_STREAMS_MAX && r->rows[SECTION_POOLS] < NATIVE_POOLS_MAX &&
           r->rows[SECTION_STRINGS] < UINT32_MAX && r->rows[SECTION_LABELS] < UINT32_MAX &&
           r->rows[SECTION_NODES] < UINT32_MAX && r->rows[SECTION_STACKS] < UINT32_MAX &&
           r->rows[SECTION_CONTROLS] < UINT32_MAX && r->rows[SECTION_START_SEGMENTS] < UINT32_MAX;
}

/* True if the totals can be those of these sections. */
static bool index_is_consistent(const struct trace_reader *r)
{
    const struct trace_info *i = &r->info;
    uint64_t sum = 0;
    for (int k = 0; k < EVENT_KINDS; k++) {
        if (i->by_kind[k] > i->events)
            return false;
        sum += i->by_kind[k];
    }
    return sum == i->events && i->events == r->rows[SECTION_EVENTS] &&
           i->by_kind[EVENT_CONTROL] == r->rows[SECTION_CONTROLS] &&
           i->peak_live <= i->by_kind[EVENT_ALLOC] + r->rows[SECTION_START_BLOCKS];
}

static enum err reader_list_kinds(struct trace_reader *r, struct err_detail *err)
{
    for (uint32_t kind = 0; kind < SECTION_KINDS; kind++) {
        r->of_kind[kind] = malloc((r->n_of_kind[kind] + 1u) * sizeof *r->of_kind[kind]);
        if (r->of_kind[kind] == NULL)
            return err_no_memory(err);
        r->n_of_kind[kind] = 0;
    }
    for (uint32_t i = 0; i < r->n_sections; i++) {
        const uint32_t kind = r->sections[i].kind;
        r->of_kind[kind][r->n_of_kind[kind]++] = i;
    }
    return ERR_OK;
}

/* Counts what the bytes of the file are used for. */
static void reader_count_bytes(struct trace_reader *r)
{
    struct trace_bytes *b = &r->costs;
    uint64_t sections = 0;
    for (uint32_t i = 0; i < r->n_sections; i++) {
        const uint64_t n = NATIVE_SECTION_BYTES + (uint64_t)r->sections[i].packed_bytes;
        sections += n;
        switch (r->sections[i].kind) {
        case SECTION_EVENTS:
        case SECTION_CONTROLS:
        case SECTION_LABELS:
            b->events += n;
            break;
        case SECTION_SIDES:
        case SECTION_SEGMENT_EVENTS:
            b->sides += n;
            break;
        case SECTION_STRINGS:
        case SECTION_NODES:
        case SECTION_STACKS:
            b->strings += n;
            break;
        case SECTION_META:
        case SECTION_STREAMS:
        case SECTION_POOLS:
            b->index += n;
            break;
        default:
            b->state += n;
        }
    }
    b->total = r->file.size;
    b->index += b->total - sections;
}

/* Reads the index: totals and the list of sections. */
static enum err reader_load_index(struct trace_reader *r, const struct section *index, struct err_detail *err)
{
    struct cursor c;
    uint64_t column_bytes[EVENT_COLUMN_COUNT];
    size_t n;
    enum err e = native_section(&r->file, index, &n, err);
    if (e != ERR_OK)
        return e;
    c = cursor_over(r->file.raw, n);
    index_totals(&c, &r->info, column_bytes);
    e = index_sections(r, &c, index->offset, err);
    if (e != ERR_OK)
        return e;
    if (c.is_bad || c.at != c.end || !sections_are_consistent(r) || !index_is_consistent(r))
        return native_damage(&r->file, index, "contradicts itself or the file", err);
    r->costs.times = column_bytes[EVENT_COLUMN_TIME];
    return reader_check_events(r, index, r->info.events, r->info.peak_live, err);
}

/* Lists the sections of a file without index, up to the place where the file is cut off. */
static enum err reader_walk(struct trace_reader *r, struct err_detail *err)
{
    struct section s;
    uint64_t at = NATIVE_HEAD_BYTES;
    enum err e;
    r->info.is_unfinished = true;
    while ((e = native_walk(&r->file, at, &s, err)) == ERR_OK && s.kind != SECTION_KINDS) {
        struct section *more = array_grow(r->sections, r->n_sections, &r->room_sections, sizeof *more);
        if (more == NULL)
            return err_no_memory(err);
        r->sections = more;
        r->sections[r->n_sections++] = s;
        if (!reader_number_section(r, r->n_sections - 1, at))
            return native_damage(&r->file, &s, "is invalid", err);
        at += NATIVE_SECTION_BYTES + (uint64_t)s.packed_bytes;
    }
    if (e != ERR_OK)
        return e;
    if (r->n_sections == 0)
        return err_at(err, ERR_FORMAT, at, r->file.name, "byte %llu: the trace is cut off here, before its facts",
                      (unsigned long long)at);
    if (!sections_are_consistent(r))
        return native_damage(&r->file, &r->sections[0], "is not followed by the sections of a trace", err);
    r->info.cut_off_bytes = r->file.size - at;
    return ERR_OK;
}

/* Finds all sections. */
static enum err reader_find_sections(struct trace_reader *r, struct err_detail *err)
{
    struct section index;
    enum err e = native_find_index(&r->file, &index, err);
    if (e == ERR_OK)
        e = index.rows > 0 ? reader_load_index(r, &index, err) : reader_walk(r, err);
    if (e != ERR_OK)
        return e;
    reader_count_bytes(r);
    return reader_list_kinds(r, err);
}

/* Writes the sentence for an error `e` of decoding a section. */
static enum err reader_explain(const struct trace_reader *r, const struct section *s, enum err e,
                               struct err_detail *err)
{
    if (e == ERR_FORMAT)
        return native_damage(&r->file, s, "has damaged columns", err);
    return e == ERR_HOST_NOMEM ? err_no_memory(err) : e;
}

/* Reads all rows of a kind into a new array, after `before` rows of zeros. The array has at least one element. */
static enum err reader_rows(struct trace_reader *r, enum section_kind kind, size_t before, void **out,
                            struct err_detail *err)
{
    const size_t size = rows_size(kind);
    char *rows = calloc(before + 1, size);
    size_t done = before;
    enum err e = rows == NULL ? err_no_memory(err) : ERR_OK;
    for (uint32_t i = 0; i < r->n_of_kind[kind] && e == ERR_OK; i++) {
        const struct section *s = &r->sections[r->of_kind[kind][i]];
        size_t n;
        e = native_section(&r->file, s, &n, err);
        if (e == ERR_OK)
            e = reader_count_kept(r, s, (uint64_t)s->rows * size, err);
        char *more = e == ERR_OK ? realloc(rows, (done + s->rows) * size) : NULL;
        if (more != NULL)
            rows = more;
        else if (e == ERR_OK)
            e = err_no_memory(err);
        if (e == ERR_OK)
            e = reader_explain(r, s, rows_decode(kind, r->file.raw, n, rows + done * size, s->rows), err);
        done += s->rows;
    }
    if (e != ERR_OK)
        free(rows);
    else
        *out = rows;
    return e;
}

static enum err reader_texts(struct trace_reader *r, enum section_kind kind, struct reader_texts *t,
                             struct err_detail *err)
{
    size_t room = 0;
    for (uint32_t i = 0; i < r->n_of_kind[kind]; i++) {
        const struct section *s = &r->sections[r->of_kind[kind][i]];
        struct cursor c;
        const enum err e = reader_section_kept(r, s, &c, err);
        if (e != ERR_OK)
            return e;
        for (uint32_t k = 0; k < s->rows && !c.is_bad; k++) {
            const char **text = array_grow(t->text, t->n, &room, sizeof *text);
            if (text == NULL)
                return err_no_memory(err);
            t->text = text;
            t->text[t->n++] = cursor_text(&c);
            c.is_bad |= strnlen(text[t->n - 1], NATIVE_TEXT_MAX) == NATIVE_TEXT_MAX;
        }
        if (c.is_bad || c.at != c.end)
            return native_damage(&r->file, s, "does not hold the texts that the index says", err);
    }
    return ERR_OK;
}

/* "FILE: byte B: section 'evts': row N is invalid": an error that no checksum shows. */
static enum err reader_bad_row(const struct trace_reader *r, enum section_kind kind, uint64_t row,
                               struct err_detail *err)
{
    const struct section *s = NULL;
    for (uint32_t i = 0; i < r->n_of_kind[kind]; i++)
        if (row >= r->sections[r->of_kind[kind][i]].first)
            s = &r->sections[r->of_kind[kind][i]];
    return err_at(err, ERR_FORMAT, s->offset, r->file.name, "byte %llu: section '%s': row %llu is invalid",
                  (unsigned long long)s->offset, section_tag(kind), (unsigned long long)row);
}

/* Reads facts. The numbers next to them count only without an index, which has later values. */
static enum err reader_load_meta(struct trace_reader *r, const struct section *s, struct err_detail *err)
{
    struct cursor c;
    enum err e = reader_section_kept(r, s, &c, err);
    if (e != ERR_OK)
        return e;
    const uint64_t capacity_bytes = cursor_varint(&c), epoch_us = cursor_varint(&c);
    const uint32_t device = (uint32_t)cursor_varint_at_most(&c, TRACE_DEVICES_MAX - 1);
    if (r->info.is_unfinished) {
        r->info.capacity_bytes = capacity_bytes;
        r->info.epoch_us = epoch_us;
        r->info.device = device;
    }
    e = reader_read_facts(r, &c, err);
    if (e == ERR_OK && (c.is_bad || c.at != c.end))
        e = native_damage(&r->file, s, "has damaged facts", err);
    return e;
}

static enum err reader_load_facts(struct trace_reader *r, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (uint32_t i = 0; i < r->n_of_kind[SECTION_META] && e == ERR_OK; i++)
        e = reader_load_meta(r, &r->sections[r->of_kind[SECTION_META][i]], err);
    return e;
}

/* reader_rows of two kinds. Both arrays are the caller's, also after an error. */
static enum err reader_rows_twice(struct trace_reader *r, enum section_kind one, enum section_kind other, size_t before,
                                  void *rows[2], struct err_detail *err)
{
    rows[0] = rows[1] = NULL;
    const enum err e = reader_rows(r, one, before, &rows[0], err);
    return e == ERR_OK ? reader_rows(r, other, before, &rows[1], err) : e;
}

/* The default stream and the shared pool have no rows: they are number 0 and all zero. */
static enum err reader_load_names(struct trace_reader *r, struct err_detail *err)
{
    void *rows[2];
    const enum err e = reader_rows_twice(r, SECTION_STREAMS, SECTION_POOLS, 1, rows, err);
    r->streams = rows[0];
    r->pools = rows[1];
    r->info.n_streams = (uint32_t)r->rows[SECTION_STREAMS] + 1;
    r->info.n_pools = (uint32_t)r->rows[SECTION_POOLS] + 1;
    return e;
}

/* Loads and checks the start state. Slots are checked later, by reader_start_slots. */
static enum err reader_load_start(struct trace_reader *r, struct err_detail *err)
{
    void *rows[2];
    const enum err e = reader_rows_twice(r, SECTION_START_SEGMENTS, SECTION_START_BLOCKS, 0, rows, err);
    r->start_segments = rows[0];
    r->start_blocks = rows[1];
    if (e != ERR_OK)
        return e;
    r->n_start_segments = (size_t)r->rows[SECTION_START_SEGMENTS];
    r->n_start_blocks = (size_t)r->rows[SECTION_START_BLOCKS];
    for (size_t i = 0; i < r->n_start_segments; i++) {
        const struct trace_segment *s = &r->start_segments[i];
        if (s->stream >= r->info.n_streams || s->pool >= r->info.n_pools ||
            start_segment_fault(s, i == 0 ? NULL : s - 1) != NULL)
            return reader_bad_row(r, SECTION_START_SEGMENTS, i, err);
    }
    for (size_t i = 0; i < r->n_start_blocks; i++) {
        const struct trace_block *b = &r->start_blocks[i];
        if (b->stream >= r->info.n_streams || b->pool >= r->info.n_pools ||
            start_block_fault(b, i == 0 ? NULL : b - 1, r->start_segments, r->n_start_segments) != NULL)
            return reader_bad_row(r, SECTION_START_BLOCKS, i, err);
    }
    return ERR_OK;
}

/* Loads controls and resolves their texts. A CONTROL_USE is checked when its event is decoded. */
static enum err reader_load_controls(struct trace_reader *r, struct err_detail *err)
{
    void *read;
    const enum err e = reader_rows(r, SECTION_CONTROLS, 0, &read, err);
    if (e != ERR_OK)
        return e;
    struct control_row *rows = read;
    const uint32_t n = (uint32_t)r->rows[SECTION_CONTROLS];
    r->controls = calloc(n + 1u, sizeof *r->controls);
    uint32_t bad = UINT32_MAX;
    for (uint32_t i = 0; i < n && r->controls != NULL; i++) {
        r->controls[i] = rows[i].control;
        if (rows[i].text > r->strings.n || rows[i].control.stream >= r->info.n_streams ||
            rows[i].control.pool >= r->info.n_pools)
            bad = i < bad ? i : bad;
        else if (rows[i].text > 0)
            r->controls[i].text = r->strings.text[rows[i].text - 1];
    }
    free(rows);
    if (r->controls == NULL)
        return err_no_memory(err);
    r->info.n_controls = n;
    return bad == UINT32_MAX ? ERR_OK : reader_bad_row(r, SECTION_CONTROLS, bad, err);
}

/* A text's share of what is counted for a frame. Each section of strings is kept whole, so a length is read once. */
static uint16_t *reader_text_weights(const struct trace_reader *r)
{
    uint16_t *weight = calloc((size_t)r->strings.n + 1, sizeof *weight);
    for (uint32_t i = 0; weight != NULL && i < r->strings.n; i++)
        weight[i] = (uint16_t)native_frame_memory(strlen(r->strings.text[i]));
    return weight;
}

/* The frames of all stacks, one after the other, and a share of their texts. Stacks share nodes, so a few bytes may
 * stand for thousands of frames; who reads each stack to its end reads this many. */
static enum err reader_weigh_frames(const struct trace_reader *r, uint64_t *bytes, struct err_detail *err)
{
    /* With its callers; counted from 1. */
    uint64_t *of_node = calloc(array_bytes(r->rows[SECTION_NODES] + 1, sizeof *of_node), 1);
    uint16_t *of_text = reader_text_weights(r);
    const bool has_memory = of_node != NULL && of_text != NULL;
    *bytes = 0;
    for (uint64_t i = 0; has_memory && i < r->rows[SECTION_NODES]; i++)
        of_node[i + 1] = of_node[r->nodes[i].caller] + of_text[r->nodes[i].text];
    for (uint64_t i = 0; has_memory && i < r->rows[SECTION_STACKS]; i++)
        *bytes = add_capped(*bytes, of_node[r->stacks[i]]);
    free(of_node);
    free(of_text);
    return has_memory ? ERR_OK : err_no_memory(err);
}

/* Loads stacks. A caller's number is less than its node's, so following callers always ends. */
static enum err reader_load_stacks(struct trace_reader *r, struct err_detail *err)
{
    void *rows[2];
    enum err e = reader_rows_twice(r, SECTION_NODES, SECTION_STACKS, 0, rows, err);
    r->nodes = rows[0];
    r->stacks = rows[1];
    if (e != ERR_OK)
        return e;
    for (uint64_t i = 0; i < r->rows[SECTION_NODES]; i++)
        if (r->nodes[i].caller > i || r->nodes[i].text >= r->strings.n)
            return reader_bad_row(r, SECTION_NODES, i, err);
    for (uint64_t i = 0; i < r->rows[SECTION_STACKS]; i++)
        if (r->stacks[i] == 0 || r->stacks[i] > r->rows[SECTION_NODES])
            return reader_bad_row(r, SECTION_STACKS, i, err);
    r->info.n_stacks = (uint32_t)r->rows[SECTION_STACKS];
    if (r->info.n_stacks == 0)
        return ERR_OK;
    uint64_t bytes;
    if ((e = reader_weigh_frames(r, &bytes, err)) == ERR_OK)
        e = reader_check_kept(r, &r->sections[r->of_kind[SECTION_STACKS][0]], add_capped(r->kept_bytes, bytes), err);
    if (e != ERR_OK)
        return e;
    r->frames = malloc(NATIVE_STACK_MAX * sizeof *r->frames);
    return r->frames == NULL ? err_no_memory(err) : ERR_OK;
}

static enum err reader_sum_up(struct trace_reader *r, struct err_detail *err);

/* Loads everything but events, sides and recorded segment events. */
static enum err reader_load(struct trace_reader *r, struct err_detail *err)
{
    enum err e = reader_find_sections(r, err);
    if (e == ERR_OK)
        e = reader_load_facts(r, err);
    if (e == ERR_OK)
        e = reader_load_names(r, err);
    if (e == ERR_OK)
        e = reader_load_start(r, err);
    if (e == ERR_OK)
        e = reader_texts(r, SECTION_STRINGS, &r->strings, err);
    if (e == ERR_OK)
        e = reader_texts(r, SECTION_LABELS, &r->labels, err);
    if (e == ERR_OK)
        e = reader_load_controls(r, err);
    if (e == ERR_OK)
        e = reader_load_stacks(r, err);
    r->info.n_labels = r->labels.n;
    if (e == ERR_OK && r->info.is_unfinished)
        e = reader_sum_up(r, err);
    return e == ERR_OK ? trace_seek(r, 0, err) : e;
}

/* The rest of opening; `e` is how opening the file ended. The reader is ready in *out, or closed. */
static enum err reader_begin(struct trace_reader *r, enum err e, struct trace_reader **out, struct err_detail *err)
{
    r->side_section = UINT32_MAX;
    r->most_chunk = NATIVE_SECTION_EVENTS;
    if (e == ERR_OK && (r->decoder = malloc(sizeof *r->decoder)) == NULL)
        e = err_no_memory(err);
    if (e == ERR_OK)
        e = reader_load(r, err);
    if (e != ERR_OK)
        trace_close(r);
    else
        *out = r;
    return e;
}

enum err trace_open(const char *path, struct trace_reader **out, struct err_detail *err)
{
    struct trace_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return err_no_memory(err);
    return reader_begin(r, native_open_path(&r->file, path, err), out, err);
}

enum err trace_open_file(int fd, const char *name, uint64_t memory_limit, struct trace_reader **out,
                         struct err_detail *err)
{
    struct trace_reader *r = calloc(1, sizeof *r);
    if (r == NULL) {
        close(fd);
        return err_no_memory(err);
    }
    r->memory_limit = memory_limit;
    return reader_begin(r, native_open_file(&r->file, fd, name, err), out, err);
}

enum err trace_open_bytes(const void *bytes, size_t n, struct trace_reader **out, struct err_detail *err)
{
    struct trace_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return err_no_memory(err);
    return reader_begin(r, native_open_bytes(&r->file, bytes, n, NULL, "<bytes>", err), out, err);
}

static enum err reader_open_owned(void *bytes, size_t n, const char *name, uint64_t source_bytes, uint64_t memory_limit,
                                  struct trace_reader **out, struct err_detail *err)
{
    struct trace_reader *r = calloc(1, sizeof *r);
    if (r == NULL) {
        free(bytes);
        return err_no_memory(err);
    }
    r->source_bytes = source_bytes;
    r->memory_limit = memory_limit;
    return reader_begin(r, native_open_bytes(&r->file, bytes, n, bytes, name, err), out, err);
}

enum err trace_open_owned(void *bytes, size_t n, const char *name, uint64_t memory_limit, struct trace_reader **out,
                          struct err_detail *err)
{
    return reader_open_owned(bytes, n, name, 0, memory_limit, out, err);
}

/* Puts the events where a reader has them after its first decoding: in a kept chunk, with the sides of the only
 * section. */
enum err trace_open_loose(void *bytes, size_t n_bytes, struct loose_events *loose, const char *name,
                          uint64_t source_bytes, uint64_t memory_limit, struct trace_reader **out,
                          struct err_detail *err)
{
    struct trace_reader *r = NULL;
    const enum err e = reader_open_owned(bytes, n_bytes, name, source_bytes, memory_limit, &r, err);
    if (e != ERR_OK || loose->n == 0) {
        free(loose->events);
        free(loose->sides);
    } else {
        assert(loose->n == r->info.events && r->n_of_kind[SECTION_EVENTS] == 1);
        r->chunks[0] = (struct reader_chunk){.at = loose->events, .n = loose->n, .room = loose->n};
        r->is_kept = true;
        r->sides = loose->sides;
        r->side_section = 0;
    }
    *loose = (struct loose_events){.n = 0};
    if (e == ERR_OK)
        *out = r;
    return e;
}

void trace_close(struct trace_reader *r)
{
    if (r == NULL)
        return;
    producer_stop(r->producer);
    native_close(&r->file);
    for (size_t i = 0; i < r->n_kept; i++)
        free(r->kept[i]);
    for (int kind = 0; kind < SECTION_KINDS; kind++)
        free(r->of_kind[kind]);
    side_memory_free(&r->side_memory);
    text_table_free(&r->fact_names);
    void *const arrays[] = {r->kept, r->facts, r->streams, r->pools, r->controls, r->strings.text, r->labels.text,
                            r->nodes, r->stacks, r->frames, r->start_segments, r->start_blocks,
                            r->segment_events, r->sections, r->slots.at, r->listed, r->sides,
                            r->side_slots, r->decoder};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    for (int i = 0; i < READER_CHUNKS; i++)
        free(r->chunks[i].at);
    free(r);
}

/* ---- facts ---- */

const struct trace_info *trace_info(const struct trace_reader *r)
{
    return &r->info;
}

struct trace_bytes trace_bytes(const struct trace_reader *r)
{
    return r->costs;
}

const char *trace_meta(const struct trace_reader *r, const char *name)
{
    for (size_t i = 0; i < r->n_facts; i++)
        if (strcmp(r->facts[i].name, name) == 0)
            return r->facts[i].value;
    return NULL;
}

const char *trace_meta_at(const struct trace_reader *r, size_t i, const char **value)
{
    if (i >= r->n_facts)
        return NULL;
    *value = r->facts[i].value;
    return r->facts[i].name;
}

const struct stream_name *trace_streams(const struct trace_reader *r)
{
    return r->streams;
}

const struct pool_name *trace_pools(const struct trace_reader *r)
{
    return r->pools;
}

const struct control *trace_controls(const struct trace_reader *r)
{
    return r->controls;
}

const char *trace_label(const struct trace_reader *r, uint32_t id)
{
    return id < r->labels.n ? r->labels.text[id] : "";
}

const struct trace_segment *trace_start_segments(const struct trace_reader *r, size_t *n)
{
    *n = r->n_start_segments;
    return r->start_segments;
}

const struct trace_block *trace_start_blocks(const struct trace_reader *r, size_t *n)
{
    *n = r->n_start_blocks;
    return r->start_blocks;
}

size_t trace_stack(const struct trace_reader *r, uint32_t stack, const char *const **frames)
{
    if (stack == TRACE_NO_STACK || stack > r->info.n_stacks)
        return 0;
    size_t n = 0;
    for (uint32_t node = r->stacks[stack - 1]; node != 0 && n < NATIVE_STACK_MAX; node = r->nodes[node - 1].caller)
        r->frames[n++] = r->strings.text[r->nodes[node - 1].text];
    *frames = r->frames;
    return n;
}

/* ---- events ---- */

static const struct section *reader_events(const struct trace_reader *r, uint32_t section)
{
    assert(section < r->n_of_kind[SECTION_EVENTS]);
    return &r->sections[r->of_kind[SECTION_EVENTS][section]];
}

static struct events_bounds reader_bounds(const struct trace_reader *r)
{
    return (struct events_bounds){.n_streams = r->info.n_streams, .n_pools = r->info.n_pools, .n_labels = r->labels.n,
                                 .n_controls = r->info.n_controls, .controls = r->controls};
}

/* "FILE: event N WHY (section at byte M)". */
static enum err reader_bad_event(const struct trace_reader *r, const struct section *s,
                                 const struct events_fault *fault, struct err_detail *err)
{
    return err_at(err, ERR_FORMAT, fault->event, r->file.name, "event %llu %s (section at byte %llu)",
                  (unsigned long long)fault->event, fault->reason, (unsigned long long)s->offset);
}

/* Resets the table of slots to the start state. */
static enum err reader_start_slots(struct trace_reader *r, struct err_detail *err)
{
    struct slot_table *t = &r->slots;
    if (t->room > 0)
        memset(t->at, 0, t->room * sizeof *t->at);
    t->n = 0;
    t->limit = r->info.peak_live;
    t->live_bytes = t->peak_bytes = 0;
    for (size_t i = 0; i < r->n_start_blocks; i++) {
        const struct trace_block *b = &r->start_blocks[i];
        if (b->slot == TRACE_NO_SLOT && !b->is_pending)
            continue;
        if (b->slot >= t->limit || b->requested == 0 || b->requested > NATIVE_LIVE_MAX - t->live_bytes)
            return reader_bad_row(r, SECTION_START_BLOCKS, i, err);
        if (!slot_table_reach(t, b->slot))
            return err_no_memory(err);
        if (t->at[b->slot].state != SLOT_VACANT)
            return reader_bad_row(r, SECTION_START_BLOCKS, i, err);
        slot_table_take(t, b->slot, (struct slot){.bytes = b->requested, .place = place_of(b->stream, b->pool),
                                                  .state = b->is_pending ? SLOT_PENDING : SLOT_LIVE});
    }
    return ERR_OK;
}

/* Reads a section of slots into r->listed; *first is its first slot. */
static enum err reader_list_slots(struct trace_reader *r, const struct section *s, uint32_t *first,
                                  struct err_detail *err)
{
    size_t n;
    enum err e = native_section(&r->file, s, &n, err);
    if (e != ERR_OK)
        return e;
    if (r->listed == NULL && (r->listed = malloc(NATIVE_SECTION_EVENTS * sizeof *r->listed)) == NULL)
        return err_no_memory(err);
    struct cursor c = cursor_over(r->file.raw, n);
    const struct events_bounds bounds = reader_bounds(r);
    c.is_bad |= cursor_varint(&c) != s->first;
    *first = (uint32_t)cursor_varint_at_most(&c, r->info.peak_live);
    if (c.is_bad || s->rows > r->info.peak_live - *first ||
        !slots_decode(&r->decoder->columns[0], c.at, (size_t)(c.end - c.at), s->rows, &bounds, r->listed))
        return native_damage(&r->file, s, "lists invalid slots", err);
    return ERR_OK;
}

/* The number of sections of a kind whose `first` is less than `at`. */
static uint32_t reader_sections_before(const struct trace_reader *r, enum section_kind kind, uint64_t at)
{
    uint32_t low = 0, high = r->n_of_kind[kind];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (r->sections[r->of_kind[kind][middle]].first < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first slot section that comes before event `at` or a later one. */
static uint32_t reader_slots_at(const struct trace_reader *r, uint64_t at)
{
    return reader_sections_before(r, SECTION_SLOTS, at);
}

/* Compares the slots listed in the file at the present place with those that the events led to. */
static enum err reader_check_slots(struct trace_reader *r, struct err_detail *err)
{
    const uint64_t at = r->place.first_event;
    uint32_t expected = 0;
    for (uint32_t i = reader_slots_at(r, at); i < r->n_of_kind[SECTION_SLOTS]; i++) {
        const struct section *s = &r->sections[r->of_kind[SECTION_SLOTS][i]];
        uint32_t first;
        if (s->first != at)
            break;
        const enum err e = reader_list_slots(r, s, &first, err);
        if (e != ERR_OK)
            return e;
        if (first != expected || s->rows > r->slots.n - first)
            return native_damage(&r->file, s, "does not list the slots that are in use there", err);
        for (uint32_t k = 0; k < s->rows; k++) {
            const struct slot *a = &r->listed[k], *b = &r->slots.at[first + k];
            if (a->bytes != b->bytes || a->place != b->place || a->state != b->state)
                return native_damage(&r->file, s, "does not list the slots that are in use there", err);
        }
        expected += s->rows;
    }
    if (expected != 0 && expected != r->slots.n)
        return native_damage(&r->file, reader_events(r, r->next_section - 1),
                             "is followed by an incomplete list of slots", err);
    return ERR_OK;
}

/* Fills the table of slots from the slot sections at event `at`. */
static enum err reader_load_slots(struct trace_reader *r, uint64_t at, struct err_detail *err)
{
    struct slot_table *t = &r->slots;
    if (t->room > 0)
        memset(t->at, 0, t->room * sizeof *t->at);
    t->n = 0;
    t->live_bytes = t->peak_bytes = 0;
    for (uint32_t i = reader_slots_at(r, at); i < r->n_of_kind[SECTION_SLOTS]; i++) {
        const struct section *s = &r->sections[r->of_kind[SECTION_SLOTS][i]];
        uint32_t first;
        if (s->first != at)
            break;
        const enum err e = reader_list_slots(r, s, &first, err);
        if (e != ERR_OK)
            return e;
        if (first != t->n)
            return native_damage(&r->file, s, "lists invalid slots", err);
        if (!slot_table_reach(t, first + s->rows - 1))
            return err_no_memory(err);
        for (uint32_t k = 0; k < s->rows; k++) {
            if (r->listed[k].bytes > NATIVE_LIVE_MAX - t->live_bytes)
                return native_damage(&r->file, s, "lists invalid slots", err);
            slot_table_take(t, first + k, r->listed[k]);
        }
    }
    return ERR_OK;
}

/* Decodes the next event section into `out`, and advances slots and place past it. */
static enum err reader_decode_events(struct trace_reader *r, struct event *out, struct err_detail *err)
{
    const struct section *s = reader_events(r, r->next_section);
    const struct events_bounds bounds = reader_bounds(r);
    struct events_fault fault;
    size_t n;
    r->has_state = false;                                /* until the section proves to be whole */
    enum err e = native_section(&r->file, s, &n, err);
    if (e != ERR_OK)
        return e;
    if (!events_decode(r->decoder, r->file.raw, n, s->rows, &r->place, &bounds, &r->slots, out, &fault))
        return fault.is_nomem ? err_no_memory(err) : reader_bad_event(r, s, &fault, err);
    for (int k = 0; k < EVENT_KINDS; k++)
        r->by_kind[k] += r->decoder->by_kind[k];
    r->next_section++;
    e = reader_check_slots(r, err);
    r->has_state = e == ERR_OK;
    return e;
}

/* After all events were decoded: compares the totals of the index with those of the events. */
static enum err reader_check_totals(const struct trace_reader *r, struct err_detail *err)
{
    const bool is_right = memcmp(r->by_kind, r->info.by_kind, sizeof r->by_kind) == 0 &&
                          r->place.time_ns == r->info.duration_ns && r->slots.n == r->info.peak_live &&
                          r->slots.peak_bytes == r->info.peak_requested_bytes;
    if (is_right)
        return ERR_OK;
    return err_at(err, ERR_FORMAT, r->info.events, r->file.name, "event %llu: the events do not add up to the index's "
                  "totals", (unsigned long long)r->info.events);
}

static enum err reader_chunk_room(const struct trace_reader *r, struct reader_chunk *c, struct err_detail *err)
{
    const size_t room = 1 + (r->info.events < r->most_chunk ? (size_t)r->info.events : r->most_chunk);
    if (room <= c->room)
        return ERR_OK;
    free(c->at);                                 /* not copied: its events are used up */
    *c = (struct reader_chunk){.at = malloc(room * sizeof *c->at)};
    c->room = c->at == NULL ? 0 : room;
    return c->at == NULL ? err_no_memory(err) : ERR_OK;
}

static bool reader_is_at_end(const struct trace_reader *r)
{
    return r->next_section == r->n_of_kind[SECTION_EVENTS];
}

/* Decodes as many of the next event sections into a chunk as fit. */
static enum err reader_decode_chunk(struct trace_reader *r, struct reader_chunk *c, struct err_detail *err)
{
    enum err e = reader_chunk_room(r, c, err);
    c->n = 0;
    while (e == ERR_OK && !reader_is_at_end(r) && c->n + reader_events(r, r->next_section)->rows <= r->most_chunk) {
        const size_t rows = reader_events(r, r->next_section)->rows;
        assert(c->n + rows <= c->room);
        e = reader_decode_events(r, c->at + c->n, err);
        c->n += rows;
    }
    return e;
}

/* Fills a chunk; true if more events follow. Runs in the producer's thread, or in the caller's without read-ahead. */
static bool reader_fill(void *arg, unsigned place)
{
    struct trace_reader *r = arg;
    assert(place < READER_CHUNKS && (r->is_ahead || place == r->lent));
    struct reader_chunk *c = &r->chunks[place];
    c->outcome = reader_decode_chunk(r, c, &c->err);
    return c->outcome == ERR_OK && !reader_is_at_end(r);
}

void trace_read_ahead(struct trace_reader *r)
{
    r->wants_ahead = true;
}

/* Lets the producer decode from here on, if there is more left than the first chunk, which the caller waits for anyway.
 * */
static void reader_begin_ahead(struct trace_reader *r)
{
    r->is_ahead = r->wants_ahead && r->has_state && r->info.events - r->place.first_event > r->most_chunk;
    if (r->is_ahead && r->producer == NULL)
        r->is_ahead = (r->producer = producer_start(READER_CHUNKS, reader_fill, r)) != NULL;
}

void trace_enlarge_chunks(struct trace_reader *r)
{
    producer_rest(r->producer);
    r->most_chunk = TRACE_CHUNK_EVENTS;
}

/* Makes the next chunk the lent one; false if there is none. */
static bool reader_move(struct trace_reader *r)
{
    if (r->is_ahead)
        return producer_take(r->producer, &r->lent);
    if (!r->has_state || reader_is_at_end(r))
        return false;
    reader_fill(r, r->lent);
    return true;
}

/* Keeps the lent chunk decoded if it holds the whole trace. */
static void reader_keep(struct trace_reader *r)
{
    const size_t n = r->chunks[r->lent].n;
    r->is_kept = n == r->info.events;
    r->next_kept = n;
}

static void reader_lend_kept(struct trace_reader *r, const struct event **events, size_t *n)
{
    const struct reader_chunk *c = &r->chunks[r->lent];
    *events = c->at + r->next_kept;
    *n = c->n - r->next_kept;
    r->next_kept = c->n;
}

/* After the last chunk: checks the totals, if all events were read. */
static enum err reader_end(struct trace_reader *r, struct err_detail *err)
{
    if (!r->has_state)
        return err_at(err, ERR_FORMAT, r->place.first_event, r->file.name, "cannot be read past the damage");
    if (!r->is_whole)
        return ERR_OK;
    const enum err e = reader_check_totals(r, err);
    if (e != ERR_OK)
        return e;
    reader_keep(r);
    if (r->info.events <= TRACE_CHUNK_EVENTS)
        trace_enlarge_chunks(r);                 /* read again, it may be read often: keep all of it */
    return ERR_OK;
}

void trace_watch_reading(struct trace_reader *r, trace_watch watch, void *arg)
{
    r->watch = watch;
    r->watch_arg = arg;
    r->watched = 0;
}

static void reader_tell(struct trace_reader *r, size_t n)
{
    r->watched = n == 0 ? 0 : r->watched + n;
    if (n > 0)
        r->watch(r->watch_arg, r->watched, r->info.events);
}

static enum err reader_next(struct trace_reader *r, const struct event **events, size_t *n, struct err_detail *err)
{
    static const struct event none;              /* callers may memcpy 0 events from it */
    *events = &none;
    *n = 0;
    if (r->is_kept) {
        if (r->info.events > 0)
            reader_lend_kept(r, events, n);
        return ERR_OK;
    }
    if (!reader_move(r))
        return reader_end(r, err);
    const struct reader_chunk *c = &r->chunks[r->lent];
    if (c->outcome != ERR_OK) {
        if (err != NULL)
            *err = c->err;
        return c->outcome;
    }
    assert(r->skip <= c->n);
    *events = c->at + r->skip;
    *n = c->n - r->skip;
    r->skip = 0;
    return ERR_OK;
}

enum err trace_next(struct trace_reader *r, const struct event **events, size_t *n, struct err_detail *err)
{
    const enum err e = reader_next(r, events, n, err);
    if (r->watch != NULL)
        reader_tell(r, *n);
    return e;
}

/* The event section that holds event `at`; the number of event sections for the end of the trace. */
static uint32_t reader_section_of(const struct trace_reader *r, uint64_t at)
{
    if (at >= r->rows[SECTION_EVENTS])
        return r->n_of_kind[SECTION_EVENTS];
    return reader_sections_before(r, SECTION_EVENTS, at + 1) - 1;
}

/* Reads from the next event section what comes before it. */
static enum err reader_find_place(struct trace_reader *r, struct err_detail *err)
{
    size_t n;
    if (r->next_section == r->n_of_kind[SECTION_EVENTS])
        return ERR_OK;
    const struct section *s = reader_events(r, r->next_section);
    const enum err e = native_section(&r->file, s, &n, err);
    if (e != ERR_OK)
        return e;
    if (!events_find_place(r->file.raw, n, &r->place) || r->place.first_event != s->first)
        return native_damage(&r->file, s, "holds other events than the index says", err);
    return ERR_OK;
}

/* Sets slots and place to a point at or before event section `section` from which decoding can start: the present one
 * if it is nearest, else the last list of slots, else the start. */
static enum err reader_rewind(struct trace_reader *r, uint32_t section, struct err_detail *err)
{
    const uint64_t target = section == r->n_of_kind[SECTION_EVENTS] ? r->info.events : reader_events(r, section)->first;
    uint32_t i = reader_slots_at(r, target + 1);
    const uint64_t at = i == 0 ? 0 : r->sections[r->of_kind[SECTION_SLOTS][i - 1]].first;
    if (r->has_state && r->place.first_event <= target && r->place.first_event >= at)
        return ERR_OK;
    r->has_state = false;
    r->is_whole = at == 0;
    memset(r->by_kind, 0, sizeof r->by_kind);
    r->place = (struct events_place){.first_event = at};
    r->next_section = 0;
    enum err e = at == 0 ? reader_start_slots(r, err) : reader_load_slots(r, at, err);
    if (e == ERR_OK && at > 0) {
        r->next_section = reader_section_of(r, at);
        e = reader_find_place(r, err);
    }
    r->has_state = e == ERR_OK;
    return e;
}

enum err trace_seek(struct trace_reader *r, uint64_t first, struct err_detail *err)
{
    if (first > r->info.events)
        return err_at(err, ERR_USAGE, first, r->file.name, "event %llu: the trace has only %llu",
                      (unsigned long long)first, (unsigned long long)r->info.events);
    r->watched = first;
    if (r->is_kept) {
        r->next_kept = (size_t)first;
        return ERR_OK;
    }
    producer_begin_anew(r->producer);
    struct reader_chunk *c = &r->chunks[r->lent];
    const uint32_t section = reader_section_of(r, first);
    enum err e = reader_rewind(r, section, err);
    c->n = 0;
    if (e == ERR_OK && r->next_section < section)
        e = reader_chunk_room(r, c, err);
    while (e == ERR_OK && r->next_section < section)
        e = reader_decode_events(r, c->at, err);
    r->skip = section == r->n_of_kind[SECTION_EVENTS] ? 0 : (size_t)(first - reader_events(r, section)->first);
    reader_begin_ahead(r);
    return e;
}

/* ---- sides and segment events ---- */

/* The section of sides of an event section; NULL if there is none. */
static const struct section *reader_sides_of(const struct trace_reader *r, uint32_t section)
{
    const uint32_t i = r->of_kind[SECTION_EVENTS][section];
    return i > 0 && r->sections[i - 1].kind == SECTION_SIDES ? &r->sections[i - 1] : NULL;
}

static enum err reader_sides_room(struct trace_reader *r, struct err_detail *err)
{
    if (r->sides == NULL)
        r->sides = malloc(NATIVE_SECTION_EVENTS * sizeof *r->sides);
    if (r->side_slots == NULL)
        r->side_slots = malloc(NATIVE_SECTION_EVENTS * sizeof *r->side_slots);
    return r->sides == NULL || r->side_slots == NULL ? err_no_memory(err) : ERR_OK;
}

/* Decodes the sides of an event section into r->sides. */
static enum err reader_decode_sides(struct trace_reader *r, uint32_t section, const struct section *s,
                                    struct err_detail *err)
{
    const struct section *events = reader_events(r, section);
    size_t n;
    enum err e = native_section(&r->file, events, &n, err);
    if (e != ERR_OK)
        return e;
    if (!events_decode_slots(r->decoder, r->file.raw, n, events->rows, r->info.peak_live, r->side_slots))
        return native_damage(&r->file, events, "has damaged columns", err);
    e = native_section(&r->file, s, &n, err);
    if (e == ERR_OK)
        e = reader_explain(r, s, sides_decode(&r->decoder->columns[0], r->file.raw, n, r->side_slots, s->rows,
                                              &r->side_memory, r->sides), err);
    for (uint32_t i = 0; e == ERR_OK && i < s->rows; i++)
        if (r->sides[i].stack > r->info.n_stacks)
            e = native_damage(&r->file, s, "names a stack that is not there", err);
    return e;
}

/* Makes r->sides those of an event section. */
static enum err reader_load_sides(struct trace_reader *r, uint32_t section, struct err_detail *err)
{
    if (r->side_section == section)
        return ERR_OK;
    r->side_section = UINT32_MAX;
    enum err e = reader_sides_room(r, err);
    if (e != ERR_OK)
        return e;
    const struct section *s = reader_sides_of(r, section), *events = reader_events(r, section);
    if (s != NULL)
        e = reader_decode_sides(r, section, s, err);
    for (uint32_t i = 0; e == ERR_OK && i < events->rows; i++) {
        if (s == NULL)
            r->sides[i] = (struct trace_side){.record = TRACE_NO_RECORD};
        if (!r->info.has_source_numbers)
            r->sides[i].record = events->first + i;
    }
    if (e == ERR_OK)
        r->side_section = section;
    return e;
}

enum err trace_sides(struct trace_reader *r, uint64_t first, size_t n, struct trace_side *out, struct err_detail *err)
{
    if (n > r->info.events || first > r->info.events - n)
        return err_at(err, ERR_USAGE, first, r->file.name, "event %llu: the trace has only %llu",
                      (unsigned long long)first, (unsigned long long)r->info.events);
    producer_rest(r->producer);
    for (size_t done = 0; done < n;) {
        const uint32_t section = reader_section_of(r, first + done);
        const enum err e = reader_load_sides(r, section, err);
        if (e != ERR_OK)
            return e;
        const struct section *s = reader_events(r, section);
        assert(first + done >= s->first && first + done - s->first < s->rows);
        const size_t from = (size_t)(first + done - s->first);
        const size_t k = s->rows - from < n - done ? s->rows - from : n - done;
        memcpy(out + done, r->sides + from, k * sizeof *out);
        done += k;
    }
    return ERR_OK;
}

enum err trace_side_at(struct trace_reader *r, uint64_t event, struct trace_side *out, struct err_detail *err)
{
    return trace_sides(r, event, 1, out, err);
}

enum err trace_segment_events(struct trace_reader *r, const struct trace_segment_event **out, size_t *n,
                              struct err_detail *err)
{
    if (r->segment_events == NULL) {
        void *rows;
        producer_rest(r->producer);
        const enum err e = reader_rows(r, SECTION_SEGMENT_EVENTS, 0, &rows, err);
        if (e != ERR_OK)
            return e;
        const struct trace_segment_event *events = rows;
        size_t n_rows = (size_t)r->rows[SECTION_SEGMENT_EVENTS];
        while (r->info.is_unfinished && n_rows > 0 && events[n_rows - 1].before > r->info.events)
            n_rows--;                                    /* the events after them are cut off */
        for (size_t i = 0; i < n_rows; i++) {
            const struct trace_segment_event *s = &events[i];
            if (s->before > r->info.events || (i > 0 && s->before < s[-1].before) || s->stream >= r->info.n_streams ||
                s->pool >= r->info.n_pools || s->bytes > UINT64_MAX - s->addr) {
                free(rows);
                return reader_bad_row(r, SECTION_SEGMENT_EVENTS, i, err);
            }
        }
        r->segment_events = rows;
        r->n_segment_events = n_rows;
    }
    *out = r->segment_events;
    *n = r->n_segment_events;
    return ERR_OK;
}

/* ---- an unfinished trace ---- */

/* Adds the next event section to the totals that an index would hold. Slots are bounded by the events read so far, so
 * memory grows only with what was read. */
static enum err reader_sum_up_events(struct trace_reader *r, struct err_detail *err)
{
    struct trace_info *i = &r->info;
    const uint32_t section = r->next_section, rows = reader_events(r, section)->rows;
    i->peak_live = rows < UINT32_MAX - 1 - i->peak_live ? i->peak_live + rows : UINT32_MAX - 1;
    r->slots.limit = i->peak_live;
    i->has_source_numbers = true;                        /* else reader_load_sides would number the events itself */
    enum err e = reader_decode_events(r, r->chunks[r->lent].at, err);
    if (e == ERR_OK)
        e = reader_check_events(r, reader_events(r, section), i->events, r->slots.n, err);
    if (e == ERR_OK)
        e = reader_load_sides(r, section, err);
    for (uint32_t k = 0; e == ERR_OK && k < rows; k++) {
        const struct trace_side *side = &r->sides[k];
        i->has_addresses |= side->addr != 0;
        if (side->record != TRACE_NO_RECORD && side->record >= i->records)
            i->records = side->record + 1;
    }
    return e;
}

/* Computes the totals of a trace without index from its events. */
static enum err reader_sum_up(struct trace_reader *r, struct err_detail *err)
{
    struct trace_info *i = &r->info;
    const uint32_t *slots = r->of_kind[SECTION_SLOTS], *events = r->of_kind[SECTION_EVENTS];
    const uint32_t n_sections = r->n_of_kind[SECTION_EVENTS];
    while (r->n_of_kind[SECTION_SLOTS] > 0 &&            /* after the last events: may be cut off, and is not needed */
           (n_sections == 0 || slots[r->n_of_kind[SECTION_SLOTS] - 1] > events[n_sections - 1]))
        r->n_of_kind[SECTION_SLOTS]--;
    i->events = r->rows[SECTION_EVENTS];
    i->starts_mid_run = r->n_start_segments + r->n_start_blocks > 0;
    i->peak_live = (uint32_t)r->n_start_blocks;
    enum err e = trace_seek(r, 0, err);
    if (e == ERR_OK)
        e = reader_chunk_room(r, &r->chunks[r->lent], err);
    while (e == ERR_OK && r->next_section < n_sections)
        e = reader_sum_up_events(r, err);
    const struct trace_segment_event *rows;
    size_t n_rows = 0;
    if (e == ERR_OK)
        e = trace_segment_events(r, &rows, &n_rows, err);
    i->has_segment_events = n_rows > 0;
    i->has_source_numbers = i->records > 0;
    i->records = i->has_source_numbers ? i->records : i->events;
    i->peak_live = r->slots.n;
    i->peak_requested_bytes = r->slots.peak_bytes;
    i->duration_ns = r->place.time_ns;
    i->n_controls = (uint32_t)r->place.first_controls;    /* later ones have no event yet */
    memcpy(i->by_kind, r->by_kind, sizeof i->by_kind);
    r->has_state = false;
    r->side_section = UINT32_MAX;
    return e;
}
