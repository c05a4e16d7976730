/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Packs a trace and its runs for a page, as report/page/unpack.js unpacks them. Each text is columns of numbers
 * (report/page/packed_columns.h); a column holds one number for each entry:
 *
 *     requests   n; birth (difference), life, wait (from the program's free to the end), stack, stack of the free,
 *                stream, pool, category, unless the numbers of all events are there its place (difference, as results
 *                name events), and its size (index); then the sizes
 *     stacks     frames: n, then kind and text; nodes: n, then caller and frame; stacks: n, then node and line
 *     events     numbers in the source: n, differences; live bytes at LIVE_SAMPLES + 1 moments; marks: n, then moment
 *                and label; refusals as recorded: n, then moment and bytes; whole steps: n, then moment; reserved as
 *                recorded: n, then moment and bytes (difference); flushes: n, then moment
 *     placed     unit; whether it is placed; then of the placed ones the address in units (difference to the last of
 *                its size), and the bytes of the block beyond the request
 *     memory     n; kind, birth (difference), life, bytes, address (difference to the last of its size)
 *     courses    of all runs of a trace, each column for one run after the other: n; moment and time (differences),
 *                then for each gauge: least (difference), most less least
 */
#ifndef REPLAY_REPLAY_RESULTS_PACKED_PAGE_H
#define REPLAY_REPLAY_RESULTS_PACKED_PAGE_H

#include "replay/results/lane_lives.h"
#include "replay/results/trace_lives.h"
#include "report/page/page.h"

/* Packs a trace and its `n` runs. If all would take more than `bytes_max`, only the largest requests are packed.
 * ERR_HOST_NOMEM. */
MUST_USE enum err packed_page_trace(const struct trace_reader *trace, const struct trace_lives *lives,
                                    const struct lane_lives *lanes, size_t n, size_t bytes_max, struct page_trace *out,
                                    struct page_run *const *runs);

/* Packs the courses of a trace's runs; free() *out. ERR_HOST_NOMEM. */
MUST_USE enum err packed_page_courses(struct page_run *const *runs, size_t n, char **out);

#endif
