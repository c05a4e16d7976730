/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Rows as numbers. For each kind of row, *_fields turns a struct into numbers and *_from numbers into a struct;
 * encoding and decoding are the same for all kinds.
 */
#include "traces/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One field of a row. is_near: the column holds differences from the previous row, from 0 in the first row of a
 * section. */
struct row_field {
    uint64_t value;
    uint64_t max;
    bool     is_near;
};

#define FIELD(v, most, near) (struct row_field){.value = (uint64_t)(v), .max = (most), .is_near = (near)}

enum { SEGMENT_IS_SMALL = 1, SEGMENT_IS_RANGE = 2, SEGMENT_IS_GUESSED = 4, SEGMENT_FLAGS = 7 };
enum { BLOCK_IS_PENDING = 1, BLOCK_IS_SIZE_GUESSED = 2, BLOCK_FLAGS = 3 };

static size_t stream_fields(const struct stream_name *s, struct row_field f[ROW_FIELDS_MAX])
{
    f[0] = FIELD(s->handle, UINT64_MAX, true);
    f[1] = FIELD(s->number, UINT64_MAX, false);
    return 2;
}

static void stream_from(struct stream_name *s, const uint64_t v[ROW_FIELDS_MAX])
{
    *s = (struct stream_name){.handle = v[0], .number = v[1]};
}

static size_t pool_fields(const struct pool_name *p, struct row_field f[ROW_FIELDS_MAX])
{
    f[0] = FIELD(p->id[0], UINT64_MAX, false);
    f[1] = FIELD(p->id[1], UINT64_MAX, false);
    return 2;
}

static void pool_from(struct pool_name *p, const uint64_t v[ROW_FIELDS_MAX])
{
    *p = (struct pool_name){.id = {v[0], v[1]}};
}

static size_t segment_fields(const struct trace_segment *s, struct row_field f[ROW_FIELDS_MAX])
{
    f[0] = FIELD(s->addr, UINT64_MAX, true);
    f[1] = FIELD(s->bytes, UINT64_MAX, false);
    f[2] = FIELD(s->stream, UINT16_MAX, false);
    f[3] = FIELD(s->pool, UINT8_MAX, false);
    f[4] = FIELD((s->is_small ? SEGMENT_IS_SMALL : 0) | (s->is_range ? SEGMENT_IS_RANGE : 0) |
                     (s->is_guessed ? SEGMENT_IS_GUESSED : 0), SEGMENT_FLAGS, false);
    return 5;
}

static void segment_from(struct trace_segment *s, const uint64_t v[ROW_FIELDS_MAX])
{
    *s = (struct trace_segment){.addr = v[0], .bytes = v[1], .stream = (uint16_t)v[2], .pool = (uint8_t)v[3],
                                .is_small = (v[4] & SEGMENT_IS_SMALL) != 0, .is_range = (v[4] & SEGMENT_IS_RANGE) != 0,
                                .is_guessed = (v[4] & SEGMENT_IS_GUESSED) != 0};
}

static size_t block_fields(const struct trace_block *b, struct row_field f[ROW_FIELDS_MAX])
{
    f[0] = FIELD(b->addr, UINT64_MAX, true);
    f[1] = FIELD(b->bytes, UINT64_MAX, false);
    f[2] = FIELD(b->requested, UINT64_MAX, false);
    f[3] = FIELD(b->slot, UINT32_MAX, true);
    f[4] = FIELD(b->segment, UINT32_MAX, true);
    f[5] = FIELD(b->stream, UINT16_MAX, false);
    f[6] = FIELD(b->pool, UINT8_MAX, false);
    f[7] = FIELD((b->is_pending ? BLOCK_IS_PENDING : 0) | (b->is_size_guessed ? BLOCK_IS_SIZE_GUESSED : 0),
                 BLOCK_FLAGS, false);
    return 8;
}

static void block_from(struct trace_block *b, const uint64_t v[ROW_FIELDS_MAX])
{
    *b = (struct trace_block){.addr = v[0], .bytes = v[1], .requested = v[2], .slot = (uint32_t)v[3],
                              .segment = (uint32_t)v[4], .stream = (uint16_t)v[5], .pool = (uint8_t)v[6],
                              .is_pending = (v[7] & BLOCK_IS_PENDING) != 0,
                              .is_size_guessed = (v[7] & BLOCK_IS_SIZE_GUESSED) != 0};
}

static size_t segment_event_fields(const struct trace_segment_event *e, struct row_field f[ROW_FIELDS_MAX])
{
    f[0] = FIELD(e->before, UINT64_MAX, true);
    f[1] = FIELD(e->record, UINT64_MAX, true);
    f[2] = FIELD(e->addr, UINT64_MAX, true);
    f[3] = FIELD(e->bytes, UINT64_MAX, false);
    f[4] = FIELD(e->stream, UINT16_MAX, false);
    f[5] = FIELD(e->pool, UINT8_MAX, false);
    f[6] = FIELD(e->kind, TRACE_SEGMENT_UNMAP, false);
    return 7;
}

static void segment_event_from(struct trace_segment_event *e, const uint64_t v[ROW_FIELDS_MAX])
{
    *e = (struct trace_segment_event){.before = v[0], .record = v[1], .addr = v[2], .bytes = v[3],
                                      .stream = (uint16_t)v[4], .pool = (uint8_t)v[5], .kind = (uint8_t)v[6]};
}

static uint64_t bits_of_number(double number)
{
    uint64_t bits;
    static_assert(sizeof bits == sizeof number, "a number is an IEEE 754 binary64");
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static double number_of_bits(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static size_t control_fields(const struct control_row *r, struct row_field f[ROW_FIELDS_MAX])
{
    f[0] = FIELD(r->control.kind, CONTROL_KINDS - 1, false);
    f[1] = FIELD(r->control.pool, UINT8_MAX, false);
    f[2] = FIELD(r->control.stream, UINT16_MAX, false);
    f[3] = FIELD(r->control.slot, UINT32_MAX, true);
    f[4] = FIELD(r->control.flags, UINT64_MAX, false);
    f[5] = FIELD(bits_of_number(r->control.number), UINT64_MAX, false);
    f[6] = FIELD(r->text, UINT32_MAX, false);
    return 7;
}

static void control_from(struct control_row *r, const uint64_t v[ROW_FIELDS_MAX])
{
    r->control = (struct control){.kind = (uint8_t)v[0], .pool = (uint8_t)v[1], .stream = (uint16_t)v[2],
                                  .slot = (uint32_t)v[3], .flags = v[4], .number = number_of_bits(v[5])};
    r->text = (uint32_t)v[6];
}

static size_t node_fields(const struct stack_node *n, struct row_field f[ROW_FIELDS_MAX])
{
    f[0] = FIELD(n->caller, UINT32_MAX, true);
    f[1] = FIELD(n->text, UINT32_MAX, true);
    return 2;
}

static void node_from(struct stack_node *n, const uint64_t v[ROW_FIELDS_MAX])
{
    *n = (struct stack_node){.caller = (uint32_t)v[0], .text = (uint32_t)v[1]};
}

static size_t stack_fields(const uint32_t *stack, struct row_field f[ROW_FIELDS_MAX])
{
    f[0] = FIELD(*stack, UINT32_MAX, true);
    return 1;
}

size_t rows_size(enum section_kind kind)
{
    switch (kind) {
    case SECTION_STREAMS:        return sizeof(struct stream_name);
    case SECTION_POOLS:          return sizeof(struct pool_name);
    case SECTION_START_SEGMENTS: return sizeof(struct trace_segment);
    case SECTION_START_BLOCKS:   return sizeof(struct trace_block);
    case SECTION_SEGMENT_EVENTS: return sizeof(struct trace_segment_event);
    case SECTION_CONTROLS:       return sizeof(struct control_row);
    case SECTION_NODES:          return sizeof(struct stack_node);
    case SECTION_STACKS:         return sizeof(uint32_t);
    default:                     return 0;
    }
}

/* Fills in the fields of a row; returns their number. */
static size_t row_fields(enum section_kind kind, const void *row, struct row_field f[ROW_FIELDS_MAX])
{
    switch (kind) {
    case SECTION_STREAMS:        return stream_fields(row, f);
    case SECTION_POOLS:          return pool_fields(row, f);
    case SECTION_START_SEGMENTS: return segment_fields(row, f);
    case SECTION_START_BLOCKS:   return block_fields(row, f);
    case SECTION_SEGMENT_EVENTS: return segment_event_fields(row, f);
    case SECTION_CONTROLS:       return control_fields(row, f);
    case SECTION_NODES:          return node_fields(row, f);
    case SECTION_STACKS:         return stack_fields(row, f);
    default:                     return 0;
    }
}

static void row_from(enum section_kind kind, void *row, const uint64_t v[ROW_FIELDS_MAX])
{
    switch (kind) {
    case SECTION_STREAMS:        stream_from(row, v); break;
    case SECTION_POOLS:          pool_from(row, v); break;
    case SECTION_START_SEGMENTS: segment_from(row, v); break;
    case SECTION_START_BLOCKS:   block_from(row, v); break;
    case SECTION_SEGMENT_EVENTS: segment_event_from(row, v); break;
    case SECTION_CONTROLS:       control_from(row, v); break;
    case SECTION_NODES:          node_from(row, v); break;
    case SECTION_STACKS:         *(uint32_t *)row = (uint32_t)v[0]; break;
    default:                     break;
    }
}

void rows_encode(struct bytes *out, enum section_kind kind, const void *rows, size_t n)
{
    struct row_field f[ROW_FIELDS_MAX];
    const size_t size = rows_size(kind);
    assert(size > 0 && n <= NATIVE_ROWS);
    uint64_t *values = malloc(n * sizeof *values);
    out->has_failed |= values == NULL;
    const size_t n_fields = n == 0 ? 0 : row_fields(kind, rows, f);
    for (size_t field = 0; field < n_fields && values != NULL; field++) {
        uint64_t last = 0;
        for (size_t i = 0; i < n; i++) {
            (void)row_fields(kind, (const char *)rows + i * size, f);
            values[i] = f[field].is_near ? zigzag(f[field].value, last) : f[field].value;
            last = f[field].value;
        }
        column_put(out, values, n);
    }
    free(values);
}

/* Undoes the differences of a column; false if a number does not fit its member. */
static bool row_column_is_good(const struct row_field *field, uint64_t *values, size_t n)
{
    uint64_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (field->is_near)
            values[i] = unzigzag(values[i], last);
        last = values[i];
        if (values[i] > field->max)
            return false;
    }
    return true;
}

enum err rows_decode(enum section_kind kind, const void *raw, size_t raw_bytes, void *rows, size_t n)
{
    struct cursor in = cursor_over(raw, raw_bytes);
    struct row_field f[ROW_FIELDS_MAX];
    const size_t size = rows_size(kind);
    union { struct stream_name stream; struct pool_name pool; struct trace_segment segment; struct trace_block block;
            struct trace_segment_event event; struct control_row control; struct stack_node node;
            uint32_t stack; } none;
    memset(&none, 0, sizeof none);
    const size_t n_fields = row_fields(kind, &none, f);
    assert(n_fields > 0 && n_fields <= ROW_FIELDS_MAX);
    uint64_t (*values)[NATIVE_ROWS] = malloc(n_fields * sizeof *values);
    struct column *scratch = malloc(sizeof *scratch);
    const bool is_nomem = values == NULL || scratch == NULL;
    bool is_good = !is_nomem && n <= NATIVE_ROWS;
    for (size_t field = 0; field < n_fields && is_good; field++)
        is_good = column_read_all(scratch, &in, values[field], n) && row_column_is_good(&f[field], values[field], n);
    is_good = is_good && in.at == in.end;
    for (size_t i = 0; i < n && is_good; i++) {
        uint64_t v[ROW_FIELDS_MAX];
        for (size_t field = 0; field < n_fields; field++)
            v[field] = values[field][i];
        row_from(kind, (char *)rows + i * size, v);
    }
    free(scratch);
    free(values);
    return is_nomem ? ERR_HOST_NOMEM : is_good ? ERR_OK : ERR_FORMAT;
}

const char *start_segment_fault(const struct trace_segment *s, const struct trace_segment *before)
{
    if ((s->bytes == 0 && !s->is_range) || s->bytes > UINT64_MAX - s->addr)
        return "segment has an impossible size";
    if (before != NULL && s->addr < before->addr + before->bytes)
        return "segment overlaps or precedes the one before it";
    return NULL;
}

const char *start_block_fault(const struct trace_block *b, const struct trace_block *before,
                              const struct trace_segment *segments, size_t n_segments)
{
    if (b->bytes > UINT64_MAX - b->addr || b->requested > NATIVE_LIVE_MAX)
        return "block has an impossible size";
    if (before != NULL && (b->addr <= before->addr || b->addr - before->addr < before->bytes))
        return "block overlaps or precedes the one before it";
    if (b->segment == UINT32_MAX)
        return NULL;
    if (b->segment >= n_segments)
        return "block is in an unknown segment";
    const struct trace_segment *s = &segments[b->segment];
    if (b->addr < s->addr || b->addr - s->addr >= s->bytes || b->bytes > s->bytes - (b->addr - s->addr))
        return "block is not within its segment";
    return NULL;
}
