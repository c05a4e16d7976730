/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a trace takes: shared by the tests on traces that were made from recordings. */
#ifndef REPLAY_TESTS_RESERVED_PEAK_H
#define REPLAY_TESTS_RESERVED_PEAK_H

#include "replay/results/single_run.h"

#include <criterion/criterion.h>

/* What the recorded settings reserve on a card without end, in bytes. */
static inline uint64_t reserved_peak(struct trace_reader *trace)
{
    struct single_run run = { .trace = NULL };
    const struct replay_config cfg = { .threads = 1 };
    cr_assert_eq(single_run_open(&run, trace, NULL, "sim:unlimited", NULL), ERR_OK);
    cr_assert_eq(single_run_replay(&run, &cfg, NULL), ERR_OK);
    const uint64_t peak = run.lane.device->usage.reserved_peak_bytes;
    single_run_close(&run);
    return peak;
}

#endif
