/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The fields of a Protocol Buffers message of any size, one at a time. The library that decodes messages (protobuf-c)
 * needs each of them whole in memory, so that only the innermost messages are given to it; what is around them is
 * walked here.
 *
 *     XSpace { XPlane { XLine { XEvent XEvent ...      walked | each an XEvent, decoded
 *
 * Source: protobuf.dev, "Encoding".
 */
#ifndef REPLAY_IMPORT_PROTO_FIELDS_H
#define REPLAY_IMPORT_PROTO_FIELDS_H

#include "base/input.h"

#include <protobuf-c/protobuf-c.h>

#include <stdbool.h>
#include <stdint.h>

enum { PROTO_DEPTH = 4 };

struct proto_fields {
    struct input *in;
    uint64_t end[PROTO_DEPTH];       /* where each message that was entered ends */
    unsigned depth;                  /* 0: the outermost message, which ends with the input */
    bool     lacks_memory;           /* of proto_memory */
};

struct proto_field {
    uint32_t number;                 /* 0: the message has ended, and the walk is back in the one around it */
    bool     is_message;             /* a message, text or bytes, of `value` bytes, which follow */
    uint64_t value;                  /* of a number; of a fixed-width number its bits */
};

/* Takes the next field's head. A message that follows must be entered, taken or skipped before the next call.
 * ERR_FORMAT for what is no field, and for a message that ends after the one around it; input_peek's errors. */
MUST_USE enum err proto_next(struct proto_fields *p, struct proto_field *field, struct err_detail *err);

/* Goes into the message that follows: the next fields are its own. ERR_FORMAT if it lies too deep. */
MUST_USE enum err proto_enter(struct proto_fields *p, const struct proto_field *field, struct err_detail *err);

/* Lends the bytes that follow until the next call. One of more than INPUT_PEEK_MAX bytes is skipped: *bytes is NULL. */
MUST_USE enum err proto_take(struct proto_fields *p, const struct proto_field *field, const unsigned char **bytes,
                             struct err_detail *err);

/* Takes the bytes that follow into memory of the caller's. One of more than `most` bytes is skipped: *bytes is NULL. */
MUST_USE enum err proto_keep(struct proto_fields *p, const struct proto_field *field, uint64_t most,
                             unsigned char **bytes, struct err_detail *err);
MUST_USE enum err proto_skip(struct proto_fields *p, const struct proto_field *field, struct err_detail *err);

/* Memory for protobuf-c's unpacking. The library says of a message only that it cannot be unpacked, never why. */
ProtobufCAllocator proto_memory(struct proto_fields *p);

/* Why it cannot: ERR_HOST_NOMEM, or ERR_FORMAT with the place. */
enum err proto_undecoded(const struct proto_fields *p, const char *what, struct err_detail *err);

/* ERR_FORMAT with the place. */
enum err proto_refuse(const struct proto_fields *p, const char *what, struct err_detail *err);

#endif
