/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * When is a peak high? Between a good version and a bad one.
 *
 *     bad  |--------------------   high: nearer to bad's than to good's; with a threshold, more than so much above
 *          |  - - - - - - - - -          good's
 *     good |--------------------   low
 */
#ifndef REPLAY_REPLAY_BISECT_PEAK_RISE_H
#define REPLAY_REPLAY_BISECT_PEAK_RISE_H

#include <stdbool.h>
#include <stdint.h>

/* What "--more-than" says: "5%" of the good one's peak, or bytes. */
struct rise_threshold {
    bool     is_typed;
    double   share;                  /* of the good peak; 0: bytes */
    uint64_t bytes;
};

/* With no threshold typed, a rise of less than this share of the good peak is none. */
#define RISE_LEAST_SHARE 0.01

/* Reads "5%", "0%", "200MiB". False: it is neither. */
bool rise_threshold_read(const char *text, struct rise_threshold *out);

/* The highest peak that is no rise above `good_bytes`. */
uint64_t rise_none_above(const struct rise_threshold *t, uint64_t good_bytes);

/* The highest peak that still counts as low, between two that differ by a rise. */
uint64_t rise_low_limit(const struct rise_threshold *t, uint64_t good_bytes, uint64_t bad_bytes);

#endif
