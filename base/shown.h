/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Cleans foreign text on its way out. Names of files, stack frames and settings may hold anything: a terminal obeys
 * escape sequences, and some letters change the order of those around them. Whatever prints text for people prints it
 * through here; `?` stands for a letter that is left out.
 *
 * Left out: control characters (C0 except a line's end, DEL, C1), what is no UTF-8, letters that set the direction of
 * text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) or end lines (U+2028, U+2029), and U+FEFF. A tab
 * becomes a space.
 */
#ifndef REPLAY_BASE_SHOWN_H
#define REPLAY_BASE_SHOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SHOWN_LETTER_MAX = 4 };        /* most bytes of a letter in UTF-8 */

/* Bytes of the letter at the start of s[0, n) if it may be shown as it is; else 0, and *left_out is how many bytes the
 * `?` stands for. n > 0. */
size_t shown_length(const char *s, size_t n, size_t *left_out);

/* Whether a zero-terminated text is shown as it is: cleaning would change nothing in it, not even a tab or a line's
 * end. */
bool shown_is_clean(const char *text);

/* Cleans a zero-terminated text in place; it gets no longer. A line's end becomes a space unless `keeps_lines`. */
void shown_clean(char *text, bool keeps_lines);

/* Puts a text on one line, in place: each line's end becomes `?`. For foreign text within a line, where it would begin
 * a line that this program did not write. */
void shown_join(char *text);

/* Writes a text, or text[0, n), on one line to a stream that cleans or is cleaned later. */
void shown_put(FILE *out, const char *text);
void shown_put_part(FILE *out, const char *text, size_t n);

/* Replaces stdout and stderr by streams that clean what is printed, line ends kept. What a program reads (JSON to "-",
 * a trace) goes through base/output.h instead, untouched. False without memory. Once, at the start of a program. */
bool shown_clean_streams(void);

/* Lines of the terminal that stdout has filled since then, with those that the terminal broke itself. 0: it is none. */
size_t shown_lines(void);

#endif
