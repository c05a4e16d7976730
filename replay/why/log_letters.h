/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A log letter by letter without its layout. A terminal breaks lines within words and numbers, and a log puts a time
 * before each line; without blanks and prefixes a text is always the same.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_LETTERS_H
#define REPLAY_REPLAY_WHY_LOG_LETTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LETTERS_MAX = 4096 };         /* the longest text of an error is below 1,500 letters, a memory summary 3,500 */

/* text[at, n); a line may begin with `prefix`, which is the beginning of the line where the error begins. */
struct letters {
    const char *text;
    size_t      at, n;
    const char *prefix;
    size_t      n_prefix;
};

/* From text[at] on. What the line has before the error's name is its prefix, as "TIME torch.OutOfMemoryError: CUDA". */
struct letters letters_from(const char *text, size_t at, size_t n);

/* The next letter, without blanks, colours, prefixes and marks of a continued line; '\0' at the end. */
char letters_next(struct letters *l);

/* Whether the letters go on with `words`, whose blanks do not count. */
bool letters_are(struct letters l, const char *words);

/* Takes the next letters into `one`, ended by '\0'. */
void letters_take(struct letters l, char one[LETTERS_MAX]);

/* The beginning of the line of text[at], at most 256 bytes before it. */
size_t letters_line_begin(const char *text, size_t at);

/* ---- a text without blanks ---- */

/* Where `words` stand, whose blanks do not count; *end (may be NULL) is what follows them. NULL: nowhere. */
const char *letters_find(const char *text, const char *words, const char **end);

/* The size at the beginning of `at`: "64.00MiB", "1,024bytes", with a decimal comma "7,99GiB"; *end is what
 * follows it. */
bool letters_read_size(const char *at, uint64_t *bytes, const char **end);

/* The size right before or right after `words`; UINT64_MAX: there is none. */
uint64_t letters_size_before(const char *text, const char *words);
uint64_t letters_size_after(const char *text, const char *words);

/* A whole number of bytes, without a unit, right after `words`; UINT64_MAX: there is none. */
uint64_t letters_bytes_after(const char *text, const char *words);

#endif
