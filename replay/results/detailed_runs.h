/*
 * The runs of a report that are shown in detail: replayed again from their traces, because results hold numbers only.
 *
 * What comes out must be what the results say, in every number, or it is not shown. A trace is read twice for all of
 * its runs: for the course of the run, and for the blocks at moments that are known only then.
 */
#ifndef REPLAY_REPLAY_RESULTS_DETAILED_RUNS_H
#define REPLAY_REPLAY_RESULTS_DETAILED_RUNS_H

#include "replay/engine/engine.h"
#include "report/page.h"

/* Chooses the runs and replays them into page->runs, stacks and notes. `page` holds the verdict and is otherwise zero.
 * A run that cannot be shown says why; only ERR_HOST_NOMEM is an error. `progress` may be NULL. */
MUST_USE enum err detailed_runs_replay(struct page *page, unsigned threads,
                               void (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                               struct err_detail *why);

/* Releases what detailed_runs_replay made. Zero is accepted. */
void detailed_runs_close(struct page *page);

/* Appends a note. ERR_HOST_NOMEM. */
MUST_USE enum err detailed_runs_note(struct page *page, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
