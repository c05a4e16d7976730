/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A text that is read by looking for words: what a server printed. Nothing is copied; bytes of any kind may stand in
 * it, and the work is in proportion to what is looked through.
 */
#ifndef REPLAY_DRYRUN_LOG_REST_H
#define REPLAY_DRYRUN_LOG_REST_H

#include <stdbool.h>
#include <stdint.h>

/* The text that is still to be read. */
struct rest {
    const char *at, *end;
};

/* Goes behind the next place of these words; to the end if there is none. */
bool rest_skip(struct rest *r, const char *words);

/* Whether they stand in it. */
bool rest_has(struct rest r, const char *words);

/* The line from here on. */
struct rest rest_line(const struct rest *r);

/* A number with or without commas in it, right here. False: there is none. */
bool rest_number(struct rest *r, double *out);

/* The number after these words, in GiB, as bytes. False: there is none, and `bytes` stays. */
bool rest_gib(struct rest line, const char *words, int64_t *bytes);

/* The number before these words: "0.78 GiB for peak activation". */
bool rest_gib_before(struct rest line, const char *words, int64_t *bytes);

/* The number after these words, not below 0. */
bool rest_count(struct rest line, const char *words, int64_t *count);

/* Of an absurd number as many as a sum of several holds. */
int64_t rest_bytes_of_gib(double gib);

/* The larger, the smaller; a `kept` of INT64_MIN is none yet. */
void rest_keep_most(int64_t *kept, int64_t value);
void rest_keep_least(int64_t *kept, int64_t value);

#endif
