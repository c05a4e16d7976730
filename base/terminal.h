/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The terminal that a person looks at: how wide and high it is, and whether letters may be bold.
 */
#ifndef REPLAY_BASE_TERMINAL_H
#define REPLAY_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TERMINAL_ANY SIZE_MAX

/* Letters in a line of `out`: the variable COLUMNS if it holds a number, else the terminal's own width. At least 40.
 * TERMINAL_ANY if `out` is not standard output, or is no terminal and COLUMNS is not set: files never depend on it. */
size_t terminal_columns(FILE *out);

/* The same for what is to fit a screen also where nothing tells its width: a file gets TERMINAL_USUAL. */
enum { TERMINAL_USUAL = 80 };
size_t terminal_screen_columns(FILE *out);

/* Lines on the screen that `out` is; 0: it is none. */
size_t terminal_rows(FILE *out);

/* Whether `out` shows bold letters: a terminal, TERM is not dumb, and NO_COLOR (no-color.org) is not set. */
bool terminal_has_bold(FILE *out);

/* Turns bold letters on or off on a terminal that has them. Not by the stream, which prints nothing that a terminal
 * obeys (base/shown.h). */
void terminal_bold(FILE *out, bool is_on);

#endif
