/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * `replay diff`: compares two traces, two policies on one trace, or two sets of finished runs.
 *
 *     DIFF_TRACES      two traces          -> memory profiles, first event that differs
 *     DIFF_POLICIES    a trace, 2 policies -> figures, first placement and first device call that differ
 *     DIFF_RUNS        two results         -> figures, run by run
 */
#ifndef REPLAY_REPLAY_DIFF_DIFF_H
#define REPLAY_REPLAY_DIFF_DIFF_H

#include "replay/diff/first_difference.h"
#include "replay/diff/memory_profile.h"
#include "replay/diff/moved_lines.h"
#include "report/text/fields.h"
#include "report/rows/run_table.h"

enum diff_kind { DIFF_TRACES, DIFF_POLICIES, DIFF_RUNS };

enum { DIFF_TRACE_FIELDS = 24, DIFF_RUN_FIELDS = 2 * FIELDS_MAX };

/* Two runs to compare: rows of tables[0] and tables[1]. SIZE_MAX: the other run has no partner. */
struct diff_match { size_t a, b; };

struct diff {
    enum diff_kind kind;
    const char *names[2];            /* as typed: files, or policies; borrowed */
    struct trace_reader *traces[2];  /* borrowed; DIFF_POLICIES has only the first */

    /* DIFF_TRACES */
    struct profile_pair profiles;
    struct joined_lines lines;
    struct trace_difference trace_difference;
    struct field fields[2][DIFF_TRACE_FIELDS];
    size_t n_fields;

    /* DIFF_POLICIES, DIFF_RUNS */
    struct run_table   tables[2];
    struct diff_match *matches;
    size_t             n_matches;
    bool               has_run_difference;   /* there are just two runs, and they were replayed side by side */
    struct run_difference run_difference;
};

/* Compares d->traces[0] and [1]; reads each three times. ERR_HOST_NOMEM, the readers' errors. */
MUST_USE enum err diff_traces(struct diff *d, struct err_detail *err);

/* Finds for each run of d->tables[0] its partner in d->tables[1]: the run of the same trace, policy and device; then,
 * among those left, of the same policy and device; then, if each side has one left, these two. ERR_HOST_NOMEM. */
MUST_USE enum err diff_match_runs(struct diff *d, struct err_detail *err);

/* The figures that are compared, of both runs of a match: the columns of a replay's --csv and the facts of the trace.
 * Borrowed from the tables. Returns how many. */
size_t diff_match_fields(const struct diff *d, const struct diff_match *m, struct field a[DIFF_RUN_FIELDS],
                         struct field b[DIFF_RUN_FIELDS]);

/* Whether nothing differs between two runs; false if one has no partner. */
bool diff_match_is_same(const struct diff *d, const struct diff_match *m);

/* Whether nothing differs. */
bool diff_is_same(const struct diff *d);

void diff_close(struct diff *d);

/* The writers; the reader's errors, ERR_HOST_NOMEM. diff_print: tables have lines of at most `columns` letters, as far
 * as leaving columns can do it. diff_sentences: a paragraph a line, the answer first. */
MUST_USE enum err diff_print(FILE *out, const struct diff *d, size_t columns, struct err_detail *err);
MUST_USE enum err diff_sentences(FILE *out, const struct diff *d, struct err_detail *err);
MUST_USE enum err diff_json(FILE *out, const struct diff *d, struct err_detail *err);

/* The same JSON without blanks, to be embedded in a page. Of several runs only those that differ, DIFF_PAGE_RUNS at
 * most; `n_same` and `n_left_out` count the others. */
enum { DIFF_PAGE_RUNS = 1000 };
MUST_USE enum err diff_json_of_page(FILE *out, const struct diff *d, struct err_detail *err);

/* What one of the writers above writes, as a text; free() it. */
MUST_USE enum err diff_text(const struct diff *d,
                            enum err (*put)(FILE *out, const struct diff *d, struct err_detail *err), char **out,
                            struct err_detail *err);

/* For the writers: the trace's own number of an event, and the line of the program that made it, "" if unknown. */
enum { DIFF_LINE = 160 };
MUST_USE enum err diff_name_event(struct trace_reader *trace, int64_t event, int64_t *number, char line[DIFF_LINE],
                                  struct err_detail *err);

/* Lists the rows that differ, the largest difference first: by bytes at the peak, then by bytes over the step. free()
 * the list; NULL without memory. */
size_t *diff_sort_rows(const struct profile_row *rows, size_t n, size_t *n_sorted);

/* "small, 512 KiB to 1 MiB" */
const char *diff_class_name(unsigned class, char buf[64]);

/* "mark", "repetition", "none" */
const char *diff_step_name(enum steps_how how);

#endif
