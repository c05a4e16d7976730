/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "import/proto_fields.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VARINT_MAX = 10, WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

enum err proto_refuse(const struct proto_fields *p, const char *what, struct err_detail *err)
{
    return err_at(err, ERR_FORMAT, input_offset(p->in), input_name(p->in), "byte %" PRIu64 ": %s", input_offset(p->in),
                  what);
}

static void *take_memory(void *walk, size_t bytes)
{
    struct proto_fields *p = walk;
    void *taken = malloc(bytes);
    p->lacks_memory = p->lacks_memory || taken == NULL;
    return taken;
}

static void give_memory(void *walk, void *taken)
{
    (void)walk;
    free(taken);
}

ProtobufCAllocator proto_memory(struct proto_fields *p)
{
    return (ProtobufCAllocator){ .alloc = take_memory, .free = give_memory, .allocator_data = p };
}

enum err proto_undecoded(const struct proto_fields *p, const char *what, struct err_detail *err)
{
    return p->lacks_memory ? err_no_memory(err)
                           : proto_refuse(p, what, err);
}

/* The length of the varint at bytes[0, n), and its value; 0: it is none, or does not end there. */
static size_t read_varint(const unsigned char *bytes, size_t n, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < n && i < VARINT_MAX; i++) {
        *value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80)
            return i + 1;
    }
    return 0;
}

static enum err take_varint(struct proto_fields *p, uint64_t *value, struct err_detail *err)
{
    const unsigned char *bytes;
    size_t n;
    const enum err e = input_peek(p->in, VARINT_MAX, &bytes, &n, err);
    if (e != ERR_OK)
        return e;
    const size_t length = read_varint(bytes, n, value);
    if (length == 0)
        return proto_refuse(p, n < VARINT_MAX ? "the file is cut off" : "a number is longer than ten bytes", err);
    input_skip(p->in, length);
    return ERR_OK;
}

static enum err take_fixed(struct proto_fields *p, size_t width, uint64_t *value, struct err_detail *err)
{
    const unsigned char *bytes;
    size_t n;
    const enum err e = input_peek(p->in, width, &bytes, &n, err);
    if (e != ERR_OK)
        return e;
    if (n < width)
        return proto_refuse(p, "the file is cut off", err);
    *value = 0;
    for (size_t i = 0; i < width; i++)
        *value |= (uint64_t)bytes[i] << (8 * i);
    input_skip(p->in, width);
    return ERR_OK;
}

/* Whether the message has ended; then the walk goes back to the one around it. */
static enum err leave_at_end(struct proto_fields *p, bool *has_ended, struct err_detail *err)
{
    const unsigned char *bytes;
    size_t n;
    if (p->depth > 0) {
        *has_ended = input_offset(p->in) >= p->end[p->depth - 1];
        if (*has_ended && input_offset(p->in) > p->end[p->depth - 1])
            return proto_refuse(p, "a field ends after the message around it", err);
        p->depth -= *has_ended;
        return ERR_OK;
    }
    const enum err e = input_peek(p->in, 1, &bytes, &n, err);
    *has_ended = n == 0;
    return e;
}

enum err proto_next(struct proto_fields *p, struct proto_field *field, struct err_detail *err)
{
    bool has_ended = false;
    uint64_t tag;
    *field = (struct proto_field){ .number = 0 };
    enum err e = leave_at_end(p, &has_ended, err);
    if (e != ERR_OK || has_ended)
        return e;
    if ((e = take_varint(p, &tag, err)) != ERR_OK)
        return e;
    if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return proto_refuse(p, "is not a field of a message", err);
    field->number = (uint32_t)(tag >> 3);
    field->is_message = (tag & 7) == WIRE_BYTES;
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(p, &field->value, err);
    case WIRE_64:
        return take_fixed(p, 8, &field->value, err);
    case WIRE_32:
        return take_fixed(p, 4, &field->value, err);
    case WIRE_BYTES:
        e = take_varint(p, &field->value, err);
        if (e == ERR_OK && p->depth > 0 && field->value > p->end[p->depth - 1] - input_offset(p->in))
            return proto_refuse(p, "a field ends after the message around it", err);
        return e;
    default:
        return proto_refuse(p, "is not a field of a message", err);
    }
}

enum err proto_enter(struct proto_fields *p, const struct proto_field *field, struct err_detail *err)
{
    if (p->depth == PROTO_DEPTH || field->value > UINT64_MAX - input_offset(p->in))
        return proto_refuse(p, "a message lies too deep", err);
    p->end[p->depth++] = input_offset(p->in) + field->value;
    return ERR_OK;
}

enum err proto_take(struct proto_fields *p, const struct proto_field *field, const unsigned char **bytes,
                    struct err_detail *err)
{
    size_t n;
    *bytes = NULL;
    if (field->value > INPUT_PEEK_MAX)
        return proto_skip(p, field, err);
    const enum err e = input_peek(p->in, (size_t)field->value, bytes, &n, err);
    if (e != ERR_OK)
        return e;
    if (n < field->value)
        return proto_refuse(p, "the file is cut off", err);
    input_skip(p->in, (size_t)field->value);
    return ERR_OK;
}

/* Memory grows with what the input holds, not with what it says. */
enum err proto_keep(struct proto_fields *p, const struct proto_field *field, uint64_t most, unsigned char **bytes,
                    struct err_detail *err)
{
    unsigned char *kept = NULL, *grown;
    size_t n = 0, room = 0, more = 0;
    enum err e = ERR_OK;
    *bytes = NULL;
    if (field->value > most)
        return proto_skip(p, field, err);
    while (e == ERR_OK && n < field->value) {
        const unsigned char *next;
        e = input_peek(p->in, 1, &next, &more, err);
        if (e == ERR_OK && more == 0)
            e = proto_refuse(p, "the file is cut off", err);
        if (e != ERR_OK)
            break;
        more = more < field->value - n ? more : (size_t)(field->value - n);
        grown = array_reserve(kept, n, more, &room, 1);
        if (grown == NULL) {
            e = err_no_memory(err);
            break;
        }
        kept = grown;
        memcpy(kept + n, next, more);
        input_skip(p->in, more);
        n += more;
    }
    if (e != ERR_OK) {
        free(kept);
        return e;
    }
    *bytes = kept;
    return ERR_OK;
}

enum err proto_skip(struct proto_fields *p, const struct proto_field *field, struct err_detail *err)
{
    for (uint64_t left = field->value; left > 0;) {
        const unsigned char *bytes;
        size_t n;
        const enum err e = input_peek(p->in, 1, &bytes, &n, err);
        if (e != ERR_OK)
            return e;
        if (n == 0)
            return proto_refuse(p, "the file is cut off", err);
        const size_t now = n < left ? n : (size_t)left;
        input_skip(p->in, now);
        left -= now;
    }
    return ERR_OK;
}
