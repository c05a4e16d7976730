/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Compares what was recorded with what we have, and words the first difference so that a person finds it.
 */
#ifndef REPLAY_REPLAY_CONFORM_COMPARE_H
#define REPLAY_REPLAY_CONFORM_COMPARE_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct difference {
    bool is_found, is_short;          /* is_short: of memory, so nothing can be said */
    char text[900];                   /* where, what was expected, what we got */
};

/* Notes a difference, unless there is one already: later ones are mostly consequences. */
void difference_note(struct difference *d, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Compares two values and notes where they first differ: `where`, then the path below it ("trace", "[12][1]"). `want`
 * NULL: nothing was recorded, so nothing is compared. Takes ownership of `got`; `got` NULL means that memory ran out
 * while it was made, and is a difference. */
void compare_values(const char *where, const json_t *want, json_t *got, struct difference *d);

/* Compares a recorded error with ours ("<Type>: <message>"). PyTorch's internal errors name a line of its source, so
 * for them it is enough that there is an error. */
void compare_errors(const char *where, const char *want_type, const char *want_text, const char *got,
                    struct difference *d);

#endif
