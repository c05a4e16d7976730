/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The runs that a page is about: those of traces are made first, then all are ranked, and some are replayed in detail.
 */
#ifndef REPLAY_REPLAY_PROGRAM_PAGE_RUNS_H
#define REPLAY_REPLAY_PROGRAM_PAGE_RUNS_H

#include "replay/program/cli.h"
#include "report/page/page.h"

/* page_runs_open fills it in; then fill `table`, by results_file_add or page_runs_add_traces. Do not move it. */
struct page_runs {
    const struct options *options;
    struct run_table table;          /* once drawn, without the runs of changed copies, */
    struct copy_summary copies;      /* which are here */
    struct verdict   verdict;
    struct page      page;
    uint64_t n_left_out;             /* traces and runs that failed: said on standard error and on the page */
    size_t   n_notes;                /* how many notes of the page, the first ones, name them */
    bool     is_out_of_memory;
    struct progress progress;        /* of the runs that are made */
};

void page_runs_open(struct page_runs *out, const struct options *options);
void page_runs_close(struct page_runs *r);       /* zero is accepted */

/* Runs traces and appends the runs to the table, with the device and the other options of the command, and with
 * progress. Errors of sweep_open and sweep_run. */
MUST_USE enum err page_runs_add_traces(struct page_runs *r, const char *const *traces, size_t n,
                                       const char *const *policies, size_t n_policies, struct err_detail *err);

/* Ranks the runs. `is_detailed`: also replays those that a page shows in detail, with progress. ERR_HOST_NOMEM. */
MUST_USE enum err page_runs_draw(struct page_runs *r, bool is_detailed, struct err_detail *err);

#endif
