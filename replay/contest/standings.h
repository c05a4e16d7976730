/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Who is better than whom, and how sure is that? From the costs of many policies on many traces.
 *
 * A policy's figure is a mean of logarithms: first over the traces of a stratum, then over the strata, so that each
 * kind of programs weighs the same. Two policies are compared trace by trace, since both ran on the same ones: the mean
 * of their differences, and its standard error as of a stratified sample. All pairs are compared at once, so that each
 * interval is as wide as keeps all of them together at 95 % (Bonferroni).
 */
#ifndef REPLAY_REPLAY_CONTEST_STANDINGS_H
#define REPLAY_REPLAY_CONTEST_STANDINGS_H

#include "base/err.h"

#include <stddef.h>

enum { STANDINGS_STRATA_MAX = 16 };

struct standings_input {
    const double *costs;             /* n_traces x n_policies, trace by trace; NAN: the policy did not get through */
    const size_t *strata;            /* of each trace */
    size_t        n_traces, n_policies, n_strata;
};

struct standing {
    size_t policy;
    size_t n;                        /* traces that it got through */
    double mean;                     /* of the costs, as a ratio; NAN unless it got through all */
    double over_first, low, high;    /* its cost over the best one's, and the interval of that */
    size_t place_from, place_to;     /* 1 + how many are surely better; how many are not surely worse. 0: no place */
    double by_stratum[STANDINGS_STRATA_MAX];         /* geometric means; NAN as above */
};

/* How wide intervals are, in standard errors, if all pairs of n policies are to hold together at 95 %. */
double standings_width(size_t n_policies);

/* Fills in n_policies rows, best first; those that did not get through all traces come last. ERR_HOST_NOMEM. */
MUST_USE enum err standings_find(const struct standings_input *in, struct standing *out, struct err_detail *err);

#endif
