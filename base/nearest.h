/*
 * The nearest of several names to one that was mistyped.
 */
#ifndef REPLAY_BASE_NEAREST_H
#define REPLAY_BASE_NEAREST_H

#include <stddef.h>

/* The best name offered so far; begins as { .typed, .n_typed } with the rest zero. */
struct nearest {
    const char *typed;            /* need not be terminated */
    size_t      n_typed;
    const char *name;             /* as it was offered; NULL: none yet */
    size_t      distance;         /* letters to insert, delete or replace (Levenshtein's distance) */
};

/* Considers name[0, n). Of equally near names the first offered stays. */
void nearest_offer(struct nearest *nearest, const char *name, size_t n);

#endif
