/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether turns leave something behind each time, or once in several, as an evaluation in every 25th step does.
 *
 *     left by turn   0 0 0 0 8 8 0 0 0 0 0 8 8 0 0 0 0 0 8 8 0        bursts of 16, every 7 turns
 */
#ifndef REPLAY_REPLAY_RECORDING_GROWTH_RHYTHM_H
#define REPLAY_REPLAY_RECORDING_GROWTH_RHYTHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct growth_rhythm {
    uint64_t turns;                  /* from one burst to the next; 0: there is no such rhythm */
    uint64_t bytes;                  /* that a burst leaves behind, the mean */
    bool     is_uneven;              /* no rhythm, and most turns leave next to nothing behind */
};

/* Of `n` whole turns in their order. */
struct growth_rhythm growth_rhythm_of(const uint64_t *left_bytes, size_t n);

#endif
