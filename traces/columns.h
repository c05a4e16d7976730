/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Columns: how a native trace puts numbers into bytes, before zstd (traces/FORMAT.md, "Columns").
 *
 * A column is n unsigned numbers; most are small, or only a few are different. Failure is sticky on both sides, so that
 * a long list of fields is written or read without a test after each.
 */
#ifndef REPLAY_TRACES_COLUMNS_H
#define REPLAY_TRACES_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- bytes ---- */

/* Bytes that grow. Once memory ran out, `has_failed` stays set and nothing more is appended. `cuts` (ascending) are the
 * places where bytes of another sort begin; the compressor starts a new block at each. */
struct bytes {
    unsigned char *data;
    size_t  n, room;
    size_t *cuts, n_cuts, room_cuts;
    bool    has_failed;
};

bool bytes_reserve(struct bytes *b, size_t more);                   /* room for `more` bytes; false without memory */
void bytes_put(struct bytes *b, const void *src, size_t n);
void bytes_put_le(struct bytes *b, uint64_t v, unsigned width);     /* the low `width` bytes, lowest first */
void bytes_put_varint(struct bytes *b, uint64_t v);                 /* LEB128 */
void bytes_put_text(struct bytes *b, const char *text);             /* with its terminator */
void bytes_cut(struct bytes *b);                                    /* at the present end; a second call does nothing */
void bytes_clear(struct bytes *b);                                  /* empties, keeps the room */
void bytes_free(struct bytes *b);

/* A place in bytes that are being read. Once something does not fit, `is_bad` stays set and everything reads as 0. */
struct cursor {
    const unsigned char *at, *end;
    bool is_bad;
};

struct cursor cursor_over(const void *data, size_t n);
uint64_t cursor_le(struct cursor *c, unsigned width);
uint64_t cursor_varint(struct cursor *c);
uint64_t cursor_varint_at_most(struct cursor *c, uint64_t max);     /* a larger one is bad */
const unsigned char *cursor_take(struct cursor *c, size_t n);       /* NULL if there are fewer */
const char *cursor_text(struct cursor *c);                          /* up to its terminator; "" if there is none */

/* ---- numbers ---- */

/* Codes a number by its difference from another: numbers close together get small codes. Differences wrap, so any pair
 * of 64-bit numbers has one. */
static inline uint64_t zigzag(uint64_t to, uint64_t from)
{
    const uint64_t d = to - from;
    return d << 1 ^ (0 - (d >> 63));
}

static inline uint64_t unzigzag(uint64_t code, uint64_t from)
{
    return from + (code >> 1 ^ (0 - (code & 1)));
}

/* ---- columns ---- */

enum {
    COLUMN_DICT_MAX = 4096,
    COLUMN_BATCH    = 512,
    COLUMN_BITS     = 15,            /* the width that stands for one bit per number */
};

/* Appends a column of `n` numbers. The same numbers give the same bytes. */
void column_put(struct bytes *out, const uint64_t *values, size_t n);

/* A column that is being read, at most COLUMN_BATCH numbers at a time. */
struct column {
    const unsigned char *main;       /* n * width bytes by plane (all lowest bytes first), or bits, lowest first */
    size_t        n, done;
    unsigned      width;             /* 0: all are `constant`; or COLUMN_BITS */
    uint64_t      constant;
    struct cursor escapes;
    size_t        n_dict;            /* 0: the numbers stand for themselves */
    uint64_t      dict[COLUMN_DICT_MAX];
};

/* True if the form of an open column says that all its numbers are `constant`. */
static inline bool column_is_constant(const struct column *c)
{
    return c->width == 0 && c->n_dict == 0;
}

static inline bool column_is_all_zero(const struct column *c)
{
    return column_is_constant(c) && c->constant == 0;
}

/* Opens a column of `n` numbers at the cursor and moves the cursor past it. */
void column_open(struct column *c, struct cursor *in, size_t n);

/* Reads the next k <= COLUMN_BATCH numbers. False if fewer are left, or an escape or dictionary index is damaged. */
bool column_read(struct column *c, uint64_t *out, size_t k);

/* Opens and reads a whole column; false if it is damaged. */
bool column_read_all(struct column *c, struct cursor *in, uint64_t *out, size_t n);

#endif
