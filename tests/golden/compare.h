/*
 * What was recorded against what we have: the first difference, said so that a person finds it.
 */
#ifndef REPLAY_TESTS_GOLDEN_COMPARE_H
#define REPLAY_TESTS_GOLDEN_COMPARE_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct difference {
    bool is_found;
    char text[900];                   /* where, what was expected, what we got */
};

/* Notes a difference unless one was found before; later ones are mostly consequences. */
void difference_note(struct difference *d, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Compares two values and notes where they first differ: `where`, then the path below it ("trace", "[12][1]"). `want`
 * NULL: nothing was recorded, nothing is compared. Takes over `got`; NULL, when memory ran out while it was made, is a
 * difference. */
void compare_values(const char *where, const json_t *want, json_t *got, struct difference *d);

/* A recorded error text against ours ("<Type>: <message>"). PyTorch's internal errors name a line of its source, so
 * only that there was an error is compared of them. */
void compare_errors(const char *where, const char *want_type, const char *want_text, const char *got,
                    struct difference *d);

#endif
