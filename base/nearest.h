/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Finds the name nearest to a mistyped one.
 */
#ifndef REPLAY_BASE_NEAREST_H
#define REPLAY_BASE_NEAREST_H

#include <stddef.h>

/* The nearest name offered so far. Starts with .typed and .n_typed set and the rest zero. */
struct nearest {
    const char *typed;            /* need not be terminated */
    size_t      n_typed;
    const char *name;             /* borrowed from the offer; NULL: none yet */
    size_t      distance;         /* letters to insert, delete or replace (Levenshtein's distance) */
};

/* Offers name[0, n). Of equally near names the first stays. */
void nearest_offer(struct nearest *nearest, const char *name, size_t n);

#endif
