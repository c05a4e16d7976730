/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A report to hand on: a page that a browser opens from disk, and Markdown for a pull request.
 */
#ifndef REPLAY_REPORT_PAGE_PAGE_H
#define REPLAY_REPORT_PAGE_PAGE_H

#include "report/rows/copy_summary.h"
#include "report/rows/result_columns.h"
#include "report/rows/survival.h"
#include "report/measure/timeline.h"
#include "report/rows/verdict.h"

/* A trace whose runs are shown in detail: its requests, packed (replay/results/packed_page.h). The texts are owned. */
struct page_trace {
    char    *requests, *stacks, *events, *courses;
    uint64_t n_events, n_requests;   /* in all */
    uint64_t n_drawn;                /* requests that are packed: the largest */
    char    *folder;                 /* what the paths of the program's own files begin with, and the page leaves out;
                                      * owned, NULL: they share none */
    const char *categories;          /* words of the requests' categories, by number, each with a comma after it;
                                      * static; NULL: not told */
    uint64_t live_peak_moment;       /* the first at which most bytes were live */
};

/* A refused request of a run. */
struct page_refusal {
    uint64_t moment;                 /* events done, the refused one included */
    uint64_t bytes;
};

/* A run to be shown in detail, or the reason why it is not. */
struct page_run {
    size_t      row;                 /* of the table */
    size_t      trace;               /* of the page; valid when `placed` is there */
    char       *why_not;             /* NULL: it is shown */
    struct timeline timeline;        /* without buckets: the run is explained only */
    char       *placed, *memory;     /* packed */
    uint64_t    n_memory_left_out;   /* pieces of memory that are not packed: the smallest */
    uint64_t    n_moments;           /* events done when the run ended */
    uint64_t    peak_moment;         /* when reserved first was at its peak */
    struct page_refusal *refusals;   /* the first ones, n_refusals */
    size_t      n_refusals;
    char       *explanation;         /* of the first refusal, lines of text; NULL: none */
};

/* A figure of the answer: "asked for", "26.37 MiB". The value is owned. */
struct page_figure {
    const char *name;
    char       *value;
};

enum { PAGE_FIGURES = 3 };

/* What a rule of the allocator holds of what was reserved beyond the live peak. The words are static. */
struct page_part {
    const char *words, *does;
    int64_t     bytes;               /* below 0: the rule saves memory */
};

enum { PAGE_PARTS = 9 };

/* Which rules hold it: the parts and the live peak sum to what was reserved. */
struct page_blame {
    uint64_t reserved_bytes;         /* 0: not told */
    uint64_t live_bytes;
    bool     is_cut;                 /* the card refused a request: what came before it is explained */
    struct page_part parts[PAGE_PARTS];
    size_t   n_parts;
    char    *help;                   /* owned: what can be done about the largest; NULL: nothing */
};

/* The answer on top of a page about one trace. The texts are owned; NULL: there is none. */
struct page_answer {
    char *verdict;                   /* sentences, the first by itself says it */
    char *paste;                     /* a line for a shell */
    char *when;                      /* what it is for; NULL: it is the cure */
    char *act;                       /* without such a line: what to do */
    struct page_figure figures[PAGE_FIGURES];        /* up to the first without a value */
    char *range;                     /* predicted: what may be reserved at most, and why */
    char *replayed;                  /* how what follows differs from what was recorded */
    size_t of_recorded_settings;     /* row of the table; VERDICT_NONE: none is that */
    size_t as_it_ran, recommended;   /* the same; as_it_ran is of the recorded settings, and about what was recorded */
    bool   is_uncured;               /* a request was refused, and no setting cures that: then none is called best */
    bool   has_card;                 /* the card that the runs are on was recorded or named */
    bool   is_card_named;            /* it was named, or is JAX's or TensorFlow's; else it is what the recording shows
                                      * that PyTorch could have */
    uint64_t recorded_reserved_bytes;                /* what the recording says PyTorch reserved; 0: it does not */
    char *promise;                   /* what the line achieves */
    char *card;                      /* the smallest card */
    char *reasons;                   /* lines, each "- ..." */
    struct page_blame blame;         /* of the run as_it_ran */
};

/* A line of the program that holds different amounts in two ranks, at the peak of each. The text is owned. */
struct page_rank_line {
    char    *line;
    uint64_t worst_bytes, least_bytes;
};

enum { PAGE_RANK_LINES = 10 };

/* The lines by which the worst rank of a job and the least differ, the largest difference first. */
struct page_ranks {
    size_t worst, least;             /* cases; equal: not compared */
    struct page_rank_line lines[PAGE_RANK_LINES];    /* n_shown of n_lines */
    size_t n_shown, n_lines;
};

/* What differs between two sides, A and B, on a page about that. The texts are borrowed. */
struct page_difference {
    const char *names[2];
    const char *sentences;           /* one a line, the answer first */
    const char *json;                /* what `replay diff --json` writes, by a compact, embedded writer */
};

struct page {
    const struct verdict *verdict;   /* and with it the table */
    const struct page_difference *difference;        /* NULL: the page compares the runs of its table */
    const struct copy_summary *copies;               /* NULL: no changed copies were run */
    const struct survival *survival;                 /* of a benchmark; NULL: the page is about something else */
    struct page_answer answer;
    struct page_ranks ranks;
    struct page_trace *traces;
    size_t           n_traces;
    struct page_run *runs;
    size_t           n_runs;
    char           **notes;          /* what was left out, and why */
    size_t           n_notes;
};

/* The i-th column of result_columns.def that a page shows (those with a page title), from 0; NULL after the last. The
 * unit is the end of its name. */
const struct column *page_column(size_t i);

/* Takes the folders of the machine out of the page's texts. ERR_HOST_NOMEM: some still have them. */
MUST_USE enum err page_shorten_paths(struct page *p);

/* The writers. Errors of writing stay in the stream, for output_commit to find. */
void page_write_html(FILE *out, const struct page *p);
void page_write_markdown(FILE *out, const struct page *p);

/* The sentences at the head and what was left out: for a terminal. */
void page_write_words(FILE *out, const struct page *p);

#endif
