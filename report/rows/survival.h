/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a benchmark says of each policy: on how many of its traces it survives with how much memory.
 *
 * The interval of a share is Wilson's at 95 % ("Probable inference, the law of succession, and statistical inference",
 * 1927): what the share could be over all programs of which the traces are a sample.
 */
#ifndef REPLAY_REPORT_ROWS_SURVIVAL_H
#define REPLAY_REPORT_ROWS_SURVIVAL_H

#include "base/err.h"
#include "report/text/json_writer.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Capacities in percent of a trace's proved bound. The last one is roomy: there the figures of survivors are taken. */
enum { SURVIVAL_CAPACITIES = 5, SURVIVAL_TIGHT = SURVIVAL_CAPACITIES - 1 };
extern const unsigned survival_percents[SURVIVAL_CAPACITIES];

struct survival_row {
    const char *policy;              /* as typed; borrowed */
    unsigned n;                      /* traces */
    unsigned n_survived[SURVIVAL_CAPACITIES];
    double   sum_share, worst_share; /* of the card / the bound, with room, over the survivors there */
    uint64_t calls, requests, time_ns;       /* sums over these */
};

struct survival {
    struct survival_row *rows;       /* best first, once sorted */
    size_t n;
};

/* Counts a run: at the i-th capacity, with what it took of the card in parts of the bound. */
void survival_count(struct survival_row *r, unsigned i, double share, uint64_t calls, uint64_t requests,
                    uint64_t time_ns);

/* Best first: who survives most at the least capacity, then at the next; then the least memory; then the text. */
void survival_sort(struct survival *s);

/* Wilson's interval of k of n, in percent. */
void survival_interval(unsigned k, unsigned n, double *low, double *high);

/* Rows of a table in Markdown with its heading, and the same for a terminal. */
void survival_write_markdown(FILE *out, const struct survival *s);
MUST_USE enum err survival_print(FILE *out, const struct survival *s, size_t columns);

/* The members of answers/survival.def. */
void survival_json(struct json_writer *json, const struct survival *s);

#endif
