/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a page of a job's ranks says of the lines by which they differ: those of `replay FOLDER`.
 */
#ifndef REPLAY_REPLAY_PROGRAM_REPORT_RANKS_H
#define REPLAY_REPLAY_PROGRAM_REPORT_RANKS_H

#include "report/page/page.h"

/* Fills in page->ranks, if the page is of ranks whose traces are still there. The only error is ERR_HOST_NOMEM. */
MUST_USE enum err report_ranks_find(struct page *page, struct err_detail *err);
void report_ranks_close(struct page_ranks *r);

#endif
