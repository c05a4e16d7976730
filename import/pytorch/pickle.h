/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A safe, streaming reader of Python pickles, protocols 0 to 5.
 *
 * Safe: nothing is executed. An opcode that would import, call or build something is refused.
 *
 * Streaming: as soon as a dictionary, list or tuple is complete, a handler turns it into one value, usually an index
 * into a table of the handler, and the items are forgotten. The reader keeps each string once and four bytes per
 * memoised object. So memory grows with what the handler keeps, not with the size of the file.
 */
#ifndef REPLAY_IMPORT_PYTORCH_PICKLE_H
#define REPLAY_IMPORT_PYTORCH_PICKLE_H

#include "base/err.h"
#include "base/input.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value has its kind in the low five bits and an index, or a signed integer that fits, above them. */
enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,              /* fits 59 bits; pickle_int reads PICKLE_BIG as well */
    PICKLE_BIG,              /* a bit pattern of 64 bits */
    PICKLE_FLOAT,
    PICKLE_STRING,           /* interned: equal strings are equal values, numbered from 0 in order of appearance */
    PICKLE_OPAQUE,           /* anything that the handler does not use */
    PICKLE_OPEN_DICT,        /* within the reader only */
    PICKLE_OPEN_LIST,
    PICKLE_USER,             /* the first of the handler's own kinds */
    PICKLE_KINDS = 32
};

enum { PICKLE_KIND_BITS = 5, PICKLE_INDEX_BITS = 27 };     /* together the 32 bits of a memo entry */
#define PICKLE_INDEX_MAX ((UINT32_C(1) << PICKLE_INDEX_BITS) - 1)

static inline unsigned pickle_kind(uint64_t value)
{
    return (unsigned)(value & (PICKLE_KINDS - 1));
}

static inline uint32_t pickle_index(uint64_t value)
{
    return (uint32_t)(value >> PICKLE_KIND_BITS);
}

/* A value of one of the handler's kinds; index <= PICKLE_INDEX_MAX. */
static inline uint64_t pickle_value(unsigned kind, uint32_t index)
{
    assert(kind < PICKLE_KINDS && index <= PICKLE_INDEX_MAX);
    return (uint64_t)index << PICKLE_KIND_BITS | kind;
}

struct pickle;

/* Called when a container is complete. `items` are lent for the call; those of a dictionary come as key, value, key,
 * ..., so n is twice the number of entries. From then on *out stands for the container. */
struct pickle_handler {
    void *arg;
    enum err (*dict)(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err);
    enum err (*list)(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err);
    enum err (*tuple)(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err);
    void     (*progress)(void *arg);  /* about every 64 KiB; may be NULL */
};

/* `words` (all different) are interned first, so words[i] is string number i. Input and handler are borrowed until
 * pickle_close. ERR_HOST_NOMEM. */
MUST_USE enum err pickle_open(struct input *in, const struct pickle_handler *handler, const char *const *words,
                              size_t n_words, struct pickle **out, struct err_detail *err);

/* Reads one pickle up to its STOP. ERR_FORMAT with the offset in the decompressed file, ERR_UNSUPPORTED for an opcode
 * that would run code, ERR_IO, and errors of the handler. */
MUST_USE enum err pickle_read(struct pickle *p, uint64_t *value, struct err_detail *err);

/* Frees the memo, which is not needed after the last pickle_read. */
void pickle_drop_memo(struct pickle *p);
void pickle_close(struct pickle *p);

/* Offset of the present opcode, for the handler's messages. */
uint64_t pickle_offset(const struct pickle *p);

/* False if the value is no integer (a boolean is one). A PICKLE_BIG comes as its 64-bit pattern. */
bool pickle_int(const struct pickle *p, uint64_t value, int64_t *out);
bool pickle_float(const struct pickle *p, uint64_t value, double *out);
/* How many distinct strings there are: their numbers are below it. */
uint32_t pickle_n_strings(const struct pickle *p);

/* The bytes of a string, zero-terminated, *n without the terminator; NULL for another kind. Valid until pickle_close.
 * */
const char *pickle_string(const struct pickle *p, uint64_t value, size_t *n);

#endif
