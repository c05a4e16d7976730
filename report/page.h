/*
 * A report for people who were not there: one page that a browser opens from disk, and one for a pull request.
 */
#ifndef REPLAY_REPORT_PAGE_H
#define REPLAY_REPORT_PAGE_H

#include "report/block_map.h"
#include "report/timeline.h"
#include "report/verdict.h"

/* A run that is shown in detail, or the reason why it is not. */
struct page_run {
    size_t      row;                 /* of the table */
    const char *why_not;             /* NULL: it is shown */
    struct timeline   timeline;      /* without buckets: it is explained only */
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

/* X(column, title, meaning): what a page shows of each run, of the table's columns; the unit is the name's end. */
#define PAGE_COLUMNS(X)                                                                                     \
    X(peak_reserved_bytes, "reserved, peak", "all memory held from the card, at most")  \
    X(card_peak_bytes, "of the card, peak",                                                                 \
      "in whole pages of the driver, with context and others, at most: decides whether the job fits")       \
    X(peak_requested_bytes, "requested, peak", "what the program asked for at once, at most: no policy needs less")   \
    X(peak_allocated_bytes, "allocated, peak", "live requests as handed out, at most")                      \
    X(peak_active_bytes, "active, peak", "allocated, and freed blocks that a stream may still touch, at most")        \
    X(fragmentation_internal_bytes, "lost to rounding", "allocated but not requested, when reserved was at its peak") \
    X(fragmentation_external_bytes, "held unallocated", "reserved but not allocated, when reserved was at its peak")  \
    X(fragmentation_inactive_split_bytes, "pinned",                                                         \
      "free parts of segments in use, which cannot be given back, when reserved was at its peak")           \
    X(fragmentation_utilization, "utilization", "active at its peak over reserved at its peak")             \
    X(segments_peak, "segments, peak", "pieces of memory held from the card, at most")                      \
    X(device_calls, "driver calls", "calls that reached the driver")                                        \
    X(device_time_ns, "driver time", "modelled time of these calls")                                        \
    X(retries, "retries", "requests tried again after cached memory was released")                          \
    X(oom_count, "OOMs", "requests refused")

/* The writers. Errors of writing stay in the stream, for output_commit to find. */
void page_write_html(FILE *out, const struct page *p);
void page_write_markdown(FILE *out, const struct page *p);

/* The sentences at the head and what was left out: for a terminal. */
void page_write_words(FILE *out, const struct page *p);

#endif
