/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The errors of a log after the one that is answered, which memory has no part in.
 *
 * Most are its consequences. Python says so where it chains exceptions, and where it ignores one. Processes of a run
 * that lose a peer fail in their communication, and what other ranks say proves nothing of the one that was refused.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_LATER_H
#define REPLAY_REPLAY_WHY_LOG_LATER_H

#include <stdbool.h>
#include <stddef.h>

enum { LOG_LATER_LINE = 200 };

struct log_later {
    char other[LOG_LATER_LINE];      /* the last that is no consequence; "": there is none */
    char of_it[LOG_LATER_LINE];      /* the last that is one; "": there is none */
};

/* The error begins at, or its line holds, text[at]. If the program lived on after it (`is_survived`), only Python's own
 * words make a later error its consequence. */
void log_later_read(const char *text, size_t n, size_t at, bool is_survived, struct log_later *out);

#endif
