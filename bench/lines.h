/* Memory alone: reading cache lines in an order that no processor can guess. */
#ifndef REPLAY_BENCH_LINES_H
#define REPLAY_BENCH_LINES_H

#include <stddef.h>
#include <stdint.h>

struct line {
    struct line  *next;
    unsigned char rest[64 - sizeof(struct line *)];
};

/* `n` lines (at least one), linked into one ring in random order, the same order every time. The caller frees them; NULL
 * without memory. */
struct line *lines_make(size_t n);

/* The line `steps` lines behind `at`; each has to arrive before the next is known. */
struct line *lines_follow(struct line *at, uint64_t steps);

#endif
