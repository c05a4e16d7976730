/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * How long the calls of one kind took. Every call is kept, so percentiles are exact.
 */
#ifndef REPLAY_SIM_CALL_TIMES_H
#define REPLAY_SIM_CALL_TIMES_H

#include <stddef.h>
#include <stdint.h>

/* All zero at the start. Calls for which the host had no memory are counted and summed, but not in `ns`. */
struct call_times {
    uint64_t *ns;
    size_t    n, cap;
    uint64_t  calls, total_ns;
};

void call_times_add(struct call_times *t, uint64_t ns);
void call_times_close(struct call_times *t);

/* The smallest time that at least `percent` (1 to 100) of the calls did not exceed; 0 without a call. Sorts. */
uint64_t call_times_percentile(struct call_times *t, unsigned percent);

#endif
