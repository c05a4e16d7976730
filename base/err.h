/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Every way a call can fail: one enum, one list of names and sentences.
 *
 * A function that can fail returns `enum err` and leaves its outputs as they were. The sentence for the
 * person at the terminal is written where the facts are known, into an optional `struct err_detail`.
 */
#ifndef REPLAY_BASE_ERR_H
#define REPLAY_BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define MUST_USE
#define PRINTF_LIKE(fmt, args)
#endif

/* X(name, sentence). The order is part of the plugin ABI: append only. */
#define ERR_LIST(X)                                                                        \
    X(OK, "done")                                                                          \
    X(USAGE, "wrong usage")                                                                \
    X(IO, "reading or writing failed")                                                     \
    X(FORMAT, "malformed input")                                                           \
    X(ABI, "built against another interface version")                                      \
    X(HOST_NOMEM, "the host is out of memory")                                             \
    X(DEVICE_OOM, "the device is out of memory")                                           \
    X(UNSUPPORTED, "not supported")                                                        \
    X(DRIVER, "the device driver failed")                                                  \
    X(CORRUPT, "an invariant does not hold")                                               \
    X(INTERRUPTED, "interrupted")                                                          \
    X(INPUT, "an input cannot be opened or read")

#define ERR_ENUM(name, sentence) ERR_##name,
enum err { ERR_LIST(ERR_ENUM) ERR_COUNT };
#undef ERR_ENUM

enum {
    ERR_TEXT = 512,                          /* bytes of a text, with its end */
    ERR_PLACE = 160                          /* most of them for the place */
};

/* What happened, for a person: "PLACE: SENTENCE", or a sentence alone. `offset` is a byte offset in the input, the
 * number of an event or record, or 0; `text` says which, and is always terminated. */
struct err_detail {
    uint64_t offset;
    char     text[ERR_TEXT];
};

/* "FORMAT"; "?" for a value that is no error. Static storage. */
const char *err_name(enum err e);

/* The general sentence of an error, for use without a detail. Static storage. */
const char *err_text(enum err e);

/* Of a file that cannot be opened, by errno: ERR_INPUT, or ERR_IO if the host has no descriptor left, or
 * ERR_HOST_NOMEM. */
enum err err_of_open(int reason);

/* Whether an input could not be read, as it may be at the next try: that tells nothing of what it holds. */
bool err_is_unread(enum err e);

/* The three fill `err` (may be NULL) and return the error: return err_set(...) ends a function. The text is one line,
 * whatever names it holds. If it is too long, its longest words lose their middle ("...") until it fits. */
enum err err_set(struct err_detail *err, enum err e, uint64_t offset, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* With the place before the sentence: a file, an option. A long place loses its middle, never the sentence. */
enum err err_at(struct err_detail *err, enum err e, uint64_t offset, const char *place, const char *fmt, ...)
    PRINTF_LIKE(5, 6);

/* ERR_HOST_NOMEM, in its general sentence. */
enum err err_no_memory(struct err_detail *err);

#ifdef __cplusplus
}
#endif

#endif
