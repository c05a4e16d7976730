/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Measures memory alone: reads cache lines in an order that no processor can guess. */
#ifndef REPLAY_BENCH_LINES_H
#define REPLAY_BENCH_LINES_H

#include <stddef.h>
#include <stdint.h>

struct line {
    struct line  *next;
    unsigned char rest[64 - sizeof(struct line *)];
};

/* Makes `n` (> 0) lines, linked into one ring in a random order that is the same every time. free() them; NULL without
 * memory. */
struct line *lines_make(size_t n);

/* The line `steps` after `at`. Each line must arrive from memory before the next address is known. */
struct line *lines_follow(struct line *at, uint64_t steps);

#endif
