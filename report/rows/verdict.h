/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a table of runs amounts to: its settings and cases, which setting wins (winner.h), and at what cost.
 *
 * A case is what is given: a trace on a device. A setting is what one may choose: the policy. Memory over several cases
 * is told as a share: the peak of the card over the peak of requested bytes, so that small traces count as large ones.
 */
#ifndef REPLAY_REPORT_ROWS_VERDICT_H
#define REPLAY_REPORT_ROWS_VERDICT_H

#include "report/rows/run_table.h"
#include "report/text/text.h"
#include "report/rows/winner.h"

#define VERDICT_NONE WINNER_NONE

struct verdict_setting {
    char    *label;                  /* the policy, and what else tells it from the others; owned */
    unsigned n_changed;              /* options that differ from their defaults */
    bool     is_default;             /* PyTorch's allocator as it comes */
    unsigned own_order;              /* as in struct simplicity, if it is of all its runs; else 0 */
    size_t   first_row;
    uint64_t n_runs, n_ok, n_oom;    /* the rest failed in another way */
    uint64_t n_possible;             /* runs in cases that some setting gets through */
    double   mean_share, worst_share;        /* card / requested, over the runs that got through; 0: none did */
    double   mean_score, mean_margin;        /* score / requested and margin / requested, over the same runs */
    uint64_t most_bytes;             /* of the card, at the largest peak of a run that got through */
    uint64_t time_ns, calls;         /* sums over these */
};

struct verdict_case {
    char    *label;                  /* what tells it from the others: trace, device, or both; owned */
    size_t   first_row;
    uint64_t n_runs, n_ok;
    size_t   best_row;               /* VERDICT_NONE: none got through */
};

struct verdict {
    const struct run_table *table;   /* borrowed */
    struct verdict_setting *settings;
    size_t   n_settings;
    struct verdict_case    *cases;   /* in order of their first rows */
    size_t   n_cases, n_traces, n_devices;
    size_t   n_possible_cases;       /* that some setting gets through */
    uint32_t *setting_of, *case_of;  /* by row */
    struct contender *contenders;    /* the rows, as they compete */
    uint32_t *rows_best_first;       /* row numbers: case by case, within a case best first */
    uint32_t *settings_best_first;   /* numbers of settings */
    size_t   best_setting;           /* VERDICT_NONE: none got through anything */
    size_t   n_alike_settings;       /* how many are as good over all, the best among them (winner.h) */
};

/* The table outlives it. ERR_HOST_NOMEM. */
MUST_USE enum err verdict_open(const struct run_table *t, struct verdict *out);
void verdict_close(struct verdict *v);

bool verdict_is_ok(const struct run_table *t, size_t row);

/* Of the ranks of one job on one kind of card: the case of the rank that needs most under the setting that is compared
 * (*setting); VERDICT_NONE: the cases are something else. */
size_t verdict_worst_rank(const struct verdict *v, size_t *setting);

/* Likewise the case of the rank that needs least. */
size_t verdict_least_rank(const struct verdict *v);

/* Whether two runs are of one trace. */
bool verdict_is_same_trace(const struct run_table *t, size_t a, size_t b);

/* Whether the row's policy is PyTorch's allocator as it comes, in whatever words. */
bool verdict_is_default(const struct verdict *v, size_t row);

/* The sentences at the head of a report, `i` from 0: how far ranks lie apart; who wins and at what cost
 * (VERDICT_WINNER); what the winner's memory is spent on; what is possible; who runs out of memory. Skip an empty one.
 * Returns false after the last. */
enum { VERDICT_WINNER = 1 };
bool verdict_sentence(const struct verdict *v, size_t i, struct words *out);

#endif
