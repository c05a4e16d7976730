/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Numbers packed for a page: variable-length, in columns of differences, under deflate, as text in base 85. A browser
 * unpacks them with what it has (DecompressionStream). Ten million numbers of a regular program take a few
 * hundred kilobytes.
 */
#ifndef REPLAY_REPORT_PAGE_PACKED_COLUMNS_H
#define REPLAY_REPORT_PAGE_PACKED_COLUMNS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes to be packed. Zero is a valid beginning. */
struct packed_columns {
    unsigned char *at;
    size_t n, room;
    bool   is_short;                 /* the host had no memory: packed_finish says so */
};

/* A number in groups of 7 bits, the lowest first; the top bit says that more follow (LEB128). */
void packed_put(struct packed_columns *p, uint64_t number);

/* A difference: 0, -1, 1, -2, 2 ... become 0, 1, 2, 3, 4 ... Differences wrap around, so any two numbers have one. */
void packed_put_difference(struct packed_columns *p, uint64_t from, uint64_t to);

/* Bytes as they are. */
void packed_put_bytes(struct packed_columns *p, const void *bytes, size_t n);

/* Its length, then its bytes. */
void packed_put_text(struct packed_columns *p, const char *text, size_t n);

/* Deflates what was put (zlib's format) and writes it in base 85; free() it. *n: bytes of that text. Empties the
 * columns, also after an error. ERR_HOST_NOMEM. */
MUST_USE enum err packed_finish(struct packed_columns *p, char **out, size_t *n);

#endif
