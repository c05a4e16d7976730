/*
 * Input: one forward reader over files, standard input and memory, which undoes gzip and zstd on the way.
 *
 * Memory is bounded by the window, whatever the input's size. Nothing that is read is kept.
 */
#ifndef REPLAY_BASE_INPUT_H
#define REPLAY_BASE_INPUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input;

/* Opens a file ("-": standard input), or bytes that are borrowed until input_close. Compression is recognised by the
 * first bytes, also nested twice. ERR_IO (missing, a directory, unreadable), ERR_FORMAT (damaged compression). */
MUST_USE enum err input_open(const char *path, struct input **out, struct err_detail *why);
MUST_USE enum err input_open_bytes(const void *bytes, size_t n, struct input **out, struct err_detail *why);
void input_close(struct input *in);

/* The next bytes without taking them: at least `want` unless the input ends first; *n says how many. `want` is at
 * most INPUT_PEEK_MAX. Lent until the next call. */
enum { INPUT_PEEK_MAX = 1 << 16 };
MUST_USE enum err input_peek(struct input *in, size_t want, const unsigned char **bytes, size_t *n,
                             struct err_detail *why);

/* Takes n bytes that were peeked. */
void input_skip(struct input *in, size_t n);

/* The file's own first bytes, compressed or not; only before the first input_peek. input_keep_raw then asks for the
 * file as it is: nothing is undone. */
MUST_USE enum err input_peek_raw(struct input *in, size_t want, const unsigned char **bytes, size_t *n,
                                 struct err_detail *why);
void input_keep_raw(struct input *in);

/* From here on the input is what the base64 text at this place stands for; it ends with that text. Once, and only
 * after an input_peek. */
MUST_USE enum err input_push_base64(struct input *in, struct err_detail *why);

/* Decompressed bytes taken so far: the offset that messages name. */
uint64_t input_offset(const struct input *in);

/* Bytes read from the file itself and its size (0 = unknown), for progress. */
uint64_t input_raw_offset(const struct input *in);
uint64_t input_raw_size(const struct input *in);

/* The path, or "<bytes>". */
const char *input_name(const struct input *in);

#endif
