/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Edition 2 of the benchmark: every policy on every trace, on a card without an end and on cards of little more than
 * the trace's bound.
 *
 * A policy's cost on a trace is what it took of the card without an end, plus its driver time at a price, in parts of
 * the bound. Nothing is capped: a policy that is refused there has no place, and its row says how many it got through.
 */
#ifndef REPLAY_REPLAY_CONTEST_CONTEST_H
#define REPLAY_REPLAY_CONTEST_CONTEST_H

#include "replay/contest/contest_traces.h"
#include "replay/contest/standings.h"
#include "replay/sweep/expand.h"
#include "report/text/json_writer.h"

#include <stdio.h>

/* What stands for all policies of the edition among those asked for. */
#define CONTEST_EDITION "edition"

/* The cards: the first has no end. */
enum { CONTEST_CARDS = 7 };

struct contest_request {
    const char *folder;              /* of samples */
    const char *const *policies;     /* as typed, braces and all, or CONTEST_EDITION; n_policies 0: that one */
    size_t      n_policies;
    uint64_t    seed;                /* that draws the traces */
    const char *stratum;             /* only its traces; NULL: all */
    uint64_t    price_bytes_per_ms;  /* of driver time */
    unsigned    threads;             /* 0: one per core */
    const char *decisions;           /* a file for every decision of every run that gets through; NULL: none */
};

/* One policy on one trace. */
struct contest_run {
    bool     fits[CONTEST_CARDS];
    uint64_t card_bytes, time_ns, calls;     /* on the card without an end */
    double   cost;                           /* NAN: it was refused there */
};

struct contest {
    struct contest_request asked;    /* borrowed texts */
    struct expansion policies;
    struct contest_trace *traces;
    size_t n_traces, n_strata;
    struct contest_run *runs;        /* n_traces x policies.n */
    struct standing *standings;      /* policies.n, best first */
};

/* The i-th policy of the edition; NULL after the last. Likewise a built-in that is left out, with *why; and a card. */
const char *contest_policy_at(size_t i);
const char *contest_left_out_at(size_t i, const char **reason);
const char *contest_card_at(size_t i);

/* Runs it. Close it also after an error. Errors of traces, policies, and of a run that fails for another reason than
 * lack of memory; ERR_IO for decisions that cannot be written. */
MUST_USE enum err contest_run(const struct contest_request *asked, struct contest *out, struct err_detail *err);
void contest_close(struct contest *c);

/* Sums of a policy over the traces. */
struct contest_sums {
    size_t   n_survived[CONTEST_CARDS];
    double   card_mean, card_worst;  /* of what was taken over the bound, where it got through without an end; the
                                      * mean as the figure of standings.h */
    uint64_t calls, time_ns, n_requests;
};
struct contest_sums contest_sum(const struct contest *c, size_t policy);

/* Two tables: places and costs; cards and strata. Then the same as Markdown, and a row for each run as CSV. */
MUST_USE enum err contest_print(FILE *out, const struct contest *c, size_t columns);
void contest_write_markdown(FILE *out, const struct contest *c);
void contest_write_csv(FILE *out, const struct contest *c);

/* The members of answers/contest.def. */
void contest_json(struct json_writer *json, const struct contest *c);

#endif
