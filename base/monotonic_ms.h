/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The time since some moment in the past, for measuring how long something takes. It never goes back.
 */
#ifndef REPLAY_BASE_MONOTONIC_MS_H
#define REPLAY_BASE_MONOTONIC_MS_H

#include <stdint.h>
#include <time.h>

static inline int64_t monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#endif
