/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A report to hand on: a page that a browser opens from disk, and Markdown for a pull request.
 */
#ifndef REPLAY_REPORT_PAGE_H
#define REPLAY_REPORT_PAGE_H

#include "report/block_map.h"
#include "report/result_columns.h"
#include "report/timeline.h"
#include "report/verdict.h"

/* A run to be shown in detail, or the reason why it is not. */
struct page_run {
    size_t      row;                 /* of the table */
    const char *why_not;             /* NULL: it is shown */
    struct timeline   timeline;      /* without buckets: the run is explained only */
    struct block_map *maps;          /* in order of their events */
    size_t      n_maps;
    uint64_t    peak_event;          /* events before reserved reached its peak */
    uint64_t    oom_event;           /* the same of the first refusal; UINT64_MAX: none */
    char       *explanation;         /* of the first refusal, lines of text; NULL: none */
};

struct page {
    const struct verdict *verdict;   /* and with it the table */
    struct page_run *runs;
    size_t           n_runs;
    char           **stacks;         /* by number from 1: frames, innermost first, one a line */
    size_t           n_stacks;
    char           **notes;          /* what was left out, and why */
    size_t           n_notes;
};

/* The i-th column of result_columns.def that a page shows (those with a page title), from 0; NULL after the last. The unit is
 * the end of its name. */
const struct column *page_column(size_t i);

/* The writers. Errors of writing stay in the stream, for output_commit to find. */
void page_write_html(FILE *out, const struct page *p);
void page_write_markdown(FILE *out, const struct page *p);

/* The sentences at the head and what was left out: for a terminal. */
void page_write_words(FILE *out, const struct page *p);

#endif
