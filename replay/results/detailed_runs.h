/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The runs that a page shows in detail. They are replayed again from their traces, because results hold figures only.
 *
 *     first pass      the trace alone: the life of each request
 *     second pass     all its runs at once: where each request lies, the memory held, the course, an explained refusal
 *
 * A replayed run must have every figure that the results have; otherwise it is not shown, and the page says why.
 */
#ifndef REPLAY_REPLAY_RESULTS_DETAILED_RUNS_H
#define REPLAY_REPLAY_RESULTS_DETAILED_RUNS_H

#include "replay/engine/engine.h"
#include "report/page/page.h"

/* Chooses runs and replays them into page->runs, stacks and notes. `page` holds the verdict and is otherwise zero. A
 * run that cannot be shown says why; the only error is ERR_HOST_NOMEM. `progress` may be NULL. */
MUST_USE enum err detailed_runs_replay(struct page *page, unsigned threads,
                                       void (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                                       struct err_detail *err);

/* Frees what detailed_runs_replay made. Accepts zero. */
void detailed_runs_close(struct page *page);

/* Opens the trace of a run, if it is still the file that the results come from; else *why says why not. */
MUST_USE enum err detailed_runs_open_trace(const struct run_table *t, size_t row, struct trace_reader **out,
                                           struct err_detail *err);

/* Appends a note to the page. ERR_HOST_NOMEM. */
MUST_USE enum err detailed_runs_note(struct page *page, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
