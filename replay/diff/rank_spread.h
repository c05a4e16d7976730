/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The ranks of one distributed job side by side: which is the worst, how far they lie apart, and which lines of the
 * program make the difference.
 */
#ifndef REPLAY_REPLAY_DIFF_RANK_SPREAD_H
#define REPLAY_REPLAY_DIFF_RANK_SPREAD_H

#include "replay/diff/memory_profile.h"

/* One rank. */
struct rank_figures {
    uint64_t reserved_bytes;         /* peak, by the replay */
    uint64_t live_bytes;             /* peak of the requests */
    enum err outcome;                /* of the replay: OK or DEVICE_OOM */
    bool     is_lower_bound;         /* the recording holds a refused request, or is cut */
};

/* A line of the program that holds different amounts in the worst and the least rank, at the peak of each. */
struct rank_line {
    uint32_t name;                   /* in rank_spread.pair.lines.names */
    uint64_t worst_bytes, least_bytes;
};

/* Zero is a valid beginning and end. */
struct rank_spread {
    size_t worst, least;             /* indexes; equal if there is only one rank */
    uint64_t reserved_bytes, live_bytes;     /* the most less the least over all ranks */
    struct profile_pair pair;        /* A: the worst, B: the least */
    struct rank_line *lines;         /* n_lines of them, the largest difference first */
    size_t n_lines;
};

/* Finds the worst rank: one that was refused memory is worse than one that was not, then the one that reserves more; of
 * equal ones the first. The least is the other end of that order, again the first of equal ones. n >= 1. */
void rank_spread_find(const struct rank_figures *ranks, size_t n, struct rank_spread *out);

/* Compares the lines of two ranks. Reads each trace twice. ERR_HOST_NOMEM, the readers' errors. */
MUST_USE enum err rank_spread_compare(struct trace_reader *worst, struct trace_reader *least, struct rank_spread *out,
                                      struct err_detail *err);
void rank_spread_close(struct rank_spread *s);

#endif
