/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether two traces are alike to allocators: the same policies replay both, and their peaks are compared.
 */
#ifndef REPLAY_REPLAY_LIKENESS_LIKENESS_H
#define REPLAY_REPLAY_LIKENESS_LIKENESS_H

#include "traces/trace.h"

/* Peaks that differ by no more are the same, in thousandths; so are two policies for the ranking. */
enum { LIKENESS_PERMILLE = 20 };

struct likeness {
    uint64_t worst_permille;             /* the largest difference of a peak, requested or reserved */
    size_t   n_policies;
    bool     ranks_alike;                /* no policy that is better on one by more than that is worse on the other */
};

/* Errors of trials_run. */
MUST_USE enum err likeness_measure(struct trace_reader *a, struct trace_reader *b, struct likeness *out,
                                   struct err_detail *err);
bool likeness_holds(const struct likeness *l);

/* Opens in memory the load `like:file=FILE,times=TIMES` with the longest stretches that are alike to FILE, which
 * `recording` is. *stretch: how long they are; 1 is always alike. Errors of load_make and likeness_measure. */
MUST_USE enum err likeness_fit(struct trace_reader *recording, const char *file, uint64_t seed,
                               struct trace_reader **out, uint64_t *stretch, struct likeness *found,
                               struct err_detail *err);

#endif
