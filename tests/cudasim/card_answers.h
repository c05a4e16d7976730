/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a card answered, shape by shape: a file of tests/data with a head and rows of whole numbers. */
#ifndef REPLAY_TESTS_CUDASIM_CARD_ANSWERS_H
#define REPLAY_TESTS_CUDASIM_CARD_ANSWERS_H

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CARD_ANSWERS_LINE = 400 };

/* Opens the file behind its head; the caller closes it. */
static inline FILE *card_answers_open(const char *path)
{
    char head[CARD_ANSWERS_LINE];
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s", path);
    cr_assert_not_null(fgets(head, sizeof head, f));
    return f;
}

/* The next row of n numbers; false at the end. */
static inline bool card_answers_read(FILE *f, uint64_t *row, int n)
{
    char line[CARD_ANSWERS_LINE], *at = line;
    if (fgets(line, sizeof line, f) == NULL)
        return false;
    for (int i = 0; i < n; i++) {
        row[i] = strtoull(at, &at, 10);
        cr_assert_eq(*at++, i + 1 < n ? ',' : '\n', "%s", line);
    }
    return true;
}

#endif
