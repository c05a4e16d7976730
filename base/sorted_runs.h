/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Sorts more records than memory holds.
 *
 *     put -> [ records in memory ] --full--> sorted, a run in a temporary file --\
 *                                                         run, run, run ----------> merged, one record at a time
 *
 * External merge sort with one pass of merging (Knuth, "The Art of Computer Programming", volume 3, section 5.4).
 * Memory is bounded whatever the number of records; the file has no name, so that a kill leaves nothing behind.
 */
#ifndef REPLAY_BASE_SORTED_RUNS_H
#define REPLAY_BASE_SORTED_RUNS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct sorted_runs;

/* Records of `size` bytes in the order of `compare`, as qsort takes it. It must not find two records equal. At most
 * about `memory_bytes` are used, and at least a page for each run. ERR_HOST_NOMEM. */
MUST_USE enum err sorted_runs_create(size_t size, int (*compare)(const void *a, const void *b), size_t memory_bytes,
                                     struct sorted_runs **out, struct err_detail *err);
void sorted_runs_destroy(struct sorted_runs *s);     /* NULL is accepted */

/* Adds a copy of a record, before the first sorted_runs_rewind. ERR_HOST_NOMEM; ERR_IO: the folder TMPDIR, else /tmp,
 * has no room. */
MUST_USE enum err sorted_runs_put(struct sorted_runs *s, const void *record, struct err_detail *err);

/* Goes to the first record in order; may be called again. ERR_HOST_NOMEM, ERR_IO. */
MUST_USE enum err sorted_runs_rewind(struct sorted_runs *s, struct err_detail *err);

/* Lends the next record until the next call; *record is NULL after the last. ERR_IO. */
MUST_USE enum err sorted_runs_next(struct sorted_runs *s, const void **record, struct err_detail *err);

#endif
