/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Which of many versions of a program is the first whose peak is high? Versions and their parents are given, the last
 * one is known to be high, and those before the first are known to be low; what is asked is which one to try next.
 *
 *     low ... o --- o --- o --- o --- high      low of one: its ancestors are low as well
 *                    \         /                high of one: what does not lead to it is no candidate
 *                     o --- o
 *
 * The rules are those of git bisect: the candidates are the high version and its ancestors, without those of low ones.
 * The one to try has half of the candidates among its ancestors. A version that cannot be tried is skipped, and stays a
 * candidate.
 */
#ifndef REPLAY_REPLAY_BISECT_BISECTION_H
#define REPLAY_REPLAY_BISECT_BISECTION_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum version_state { VERSION_OPEN, VERSION_LOW, VERSION_HIGH, VERSION_SKIPPED };

/* Versions have numbers from 0; a parent has a smaller number than its children. */
struct bisection {
    size_t  n;
    size_t *first_parent;            /* n + 1: those of version i are parents[first_parent[i], first_parent[i + 1]) */
    size_t *parents;
    unsigned char *state;            /* enum version_state, as it was marked */
    unsigned char *is_below;         /* an ancestor of a low one, or low itself */
    unsigned char *is_candidate;
    size_t *n_ancestors;             /* candidates among the ancestors of a candidate, itself among them */
    size_t *stack;                   /* of a walk; n + 1 */
    size_t *seen;                    /* the walk that saw a version last */
    size_t  high;                    /* the last version that was found high */
    size_t  n_candidates, n_skipped; /* n_skipped: of the candidates */
};

/* Begins with the last version high and all others open. parents: n lists one after another, `first_parent` as above;
 * both are copied. n is 1 at least. ERR_HOST_NOMEM. */
MUST_USE enum err bisection_open(size_t n, const size_t *first_parent, const size_t *parents, struct bisection *out,
                                 struct err_detail *err);
void bisection_close(struct bisection *b);

/* What became of a candidate: low, high or skipped. */
void bisection_mark(struct bisection *b, size_t version, enum version_state state);

/* The one to try next; false: nothing is left that was not tried, and the candidates are the answer. */
bool bisection_next(const struct bisection *b, size_t *version);

/* About how many tries are left. */
unsigned bisection_left(const struct bisection *b);

#endif
