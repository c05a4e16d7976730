/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Input: one forward reader over files, standard input and memory. It undoes gzip and zstd on the way.
 *
 *     taken (gone) | begin [ window: readable without taking ] end | not read yet
 *                  ^ input_offset
 *
 * Memory is bounded by the window, whatever the size of the input.
 */
#ifndef REPLAY_BASE_INPUT_H
#define REPLAY_BASE_INPUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input;

/* Opens a file ("-": standard input). Compression, also twice nested, is recognised by the first bytes. ERR_INPUT
 * (missing, a directory, unreadable), ERR_HOST_NOMEM; later calls also ERR_FORMAT (damaged compression). */
MUST_USE enum err input_open(const char *path, struct input **out, struct err_detail *err);

/* The same for a name that was opened before, and may stand for a pipe by now: nothing but a regular file is opened,
 * and nobody is waited for. */
MUST_USE enum err input_open_again(const char *path, struct input **out, struct err_detail *err);

/* True if what a name stands for can be read only once: "-", a pipe, a terminal. */
bool input_is_once(const char *path);

/* Borrowed bytes, until input_close. */
MUST_USE enum err input_open_bytes(const void *bytes, size_t n, struct input **out, struct err_detail *err);
void input_close(struct input *in);

/* Unpacked bytes that an input may yield unless the caller allows more: 1,000 times what was read of the file, and 16
 * MiB whatever the file's size. Honest recordings unpack to 10 to 100 times their size; a bomb to 10,000 and more. */
enum { INPUT_UNPACKED_RATIO = 1000, INPUT_UNPACKED_FREE = 16 << 20 };

/* Allows that many unpacked bytes, whatever the file's size; 0: as above. More than that is ERR_FORMAT. */
void input_allow(struct input *in, uint64_t unpacked_bytes);

/* The bytes that it may unpack to without any regard to the file's size. */
uint64_t input_free_bytes(const struct input *in);

/* Lends the next bytes until the next call without taking them: *n >= `want` bytes, fewer only if the input ends.
 * `want` is at most INPUT_PEEK_MAX. */
enum { INPUT_PEEK_MAX = 1 << 16 };
MUST_USE enum err input_peek(struct input *in, size_t want, const unsigned char **bytes, size_t *n,
                             struct err_detail *err);

/* Takes n bytes that were peeked. */
void input_skip(struct input *in, size_t n);

/* Lends the first bytes of the file as they are, compressed or not. Only before the first input_peek. input_keep_raw
 * then turns decompression off. */
MUST_USE enum err input_peek_raw(struct input *in, size_t want, const unsigned char **bytes, size_t *n,
                                 struct err_detail *err);
void input_keep_raw(struct input *in);

/* The regular file that the input reads, as a descriptor that can be read at any place whatever was taken, also if the
 * name stands for another file by now. The caller closes it. -1: a pipe, standard input, memory; or no descriptor was
 * left. */
int input_regular_file(const struct input *in);

/* The whole of an input of which nothing was taken yet, unpacked, as a file that can be read at any place: the file
 * itself, or a copy without a name if it is compressed or no regular file. The caller closes *fd. ERR_HOST_NOMEM,
 * ERR_IO; input_peek's errors. */
MUST_USE enum err input_whole_file(struct input *in, int *fd, struct err_detail *err);

/* Says that the file holds what was wanted: from now on no output replaces it (base/read_files.h). */
void input_is_of_use(const struct input *in);

/* Opens a file of input_whole_file from its first byte on. `fd` is borrowed until input_close;
 * `name` is for messages. */
MUST_USE enum err input_open_whole(int fd, const char *name, struct input **out, struct err_detail *err);

/* Decodes the base64 text that starts here: from now on the input is what the text stands for, and ends where the text
 * ends. Once, and only after an input_peek. */
MUST_USE enum err input_push_base64(struct input *in, struct err_detail *err);

/* Goes back to the text around the base64 text, to the first byte that was not decoded. */
void input_pop_base64(struct input *in);

/* Decompressed bytes taken so far; messages name this offset. */
uint64_t input_offset(const struct input *in);

/* Bytes read from the file itself and its size (0 = unknown), for progress. */
uint64_t input_raw_offset(const struct input *in);
uint64_t input_raw_size(const struct input *in);

/* The path, or "<bytes>". */
const char *input_name(const struct input *in);

#endif
