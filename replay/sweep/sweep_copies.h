/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The replicates of a sweep: each trace is also run on copies whose sizes are changed a little (altered_trace.h).
 *
 *     sizes=2%,seeds=1..20       twenty copies; in each, sizes change by up to 2 %
 */
#ifndef REPLAY_REPLAY_SWEEP_SWEEP_COPIES_H
#define REPLAY_REPLAY_SWEEP_SWEEP_COPIES_H

#include "base/err.h"

#include <stdint.h>

enum { COPIES_PERCENT_MAX = 50, COPIES_MAX = 10000 };

/* n == 0: no copies. */
struct sweep_copies {
    unsigned percent;                /* sizes change by up to this much */
    uint64_t first_seed, n;          /* one copy for each of the seeds from first_seed on */
};

/* Reads what was typed. Both items must be there, in any order. ERR_USAGE. */
MUST_USE enum err sweep_copies_parse(const char *text, struct sweep_copies *out, struct err_detail *err);

#endif
