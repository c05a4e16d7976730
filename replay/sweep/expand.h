/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Expands one typed text into many: the braces and ranges of a sweep.
 *
 *     none                          itself
 *     gc={off,0.6,0.8}              one for each item; several braces span the cross product; braces nest
 *     {16,24}GiB   {none,32}MiB     a unit after the braces belongs to the numbers in them
 *     16..80:8GiB  {1..3}           a range: from, to (included if a step meets it), and step (default 1)
 *     {4,[256:1,>:8]}               a comma within brackets does not separate
 *     {,x}                          an item may be empty
 */
#ifndef REPLAY_REPLAY_SWEEP_EXPAND_H
#define REPLAY_REPLAY_SWEEP_EXPAND_H

#include "base/err.h"
#include "base/intern.h"

#include <stddef.h>

/* Combinations of one text; bytes of one; braces and ranges in one. */
enum { EXPAND_MAX = 4096, EXPAND_TEXT_MAX = 1024, EXPAND_DEPTH_MAX = 24 };

/* The texts in the order typed, the last braces varying fastest; no text twice. Owned. */
struct expansion {
    char **at;
    size_t n;
    struct text_table seen;          /* the same texts, to find one again */
};

/* Appends the texts that `text` stands for. ERR_USAGE for braces that do not match, a range without end, more than
 * EXPAND_MAX texts, or a text longer than EXPAND_TEXT_MAX; ERR_HOST_NOMEM. After an error `out` is unchanged. */
MUST_USE enum err expand(const char *text, struct expansion *out, struct err_detail *err);
void expansion_close(struct expansion *x);

#endif
