/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * One program, recorded at two or three values of a parameter such as the batch; and its trace at any other value.
 *
 * The recordings must agree in everything but sizes: kinds, order, streams, pools, and which request each free ends.
 * Only the order of frees that follow one another may differ, because autocast leaves that to chance.
 */
#ifndef REPLAY_REPLAY_EXTRAPOLATE_EXTRAPOLATE_H
#define REPLAY_REPLAY_EXTRAPOLATE_EXTRAPOLATE_H

#include "replay/extrapolate/formula.h"
#include "traces/trace.h"

/* Requests whose recorded sizes are the same, and how many there are. */
struct growth {
    uint64_t bytes[FORMULA_POINTS_MAX];      /* as recorded */
    enum formula_fit fit;
    struct formula   formula;                /* FORMULA_FITS */
    uint64_t n;                              /* requests */
    uint64_t first;                          /* event of the first of them, our number */
};

struct extrapolation {
    struct trace_reader *traces[FORMULA_POINTS_MAX];     /* borrowed */
    uint64_t values[FORMULA_POINTS_MAX];
    size_t   n_traces;
    const char *parameter;                   /* borrowed */
    struct growth *growths;                  /* n_growths of them, by first appearance */
    size_t   n_growths;
    uint32_t *growth_of;                     /* by request in order (ALLOC and OOM events): index into growths */
    size_t   n_requests;
};

/* Aligns the recordings. `traces` and `parameter` outlive the result; `values` differ and are at least 1. ERR_FORMAT
 * for the first event in which the recordings differ; ERR_HOST_NOMEM; the readers' errors. */
MUST_USE enum err extrapolate_open(struct trace_reader *const *traces, const uint64_t *values, size_t n,
                                   const char *parameter, struct extrapolation *out, struct err_detail *err);
void extrapolate_close(struct extrapolation *x);

/* The number of requests of a kind: FORMULA_AMBIGUOUS: several formulas fit their sizes, and another recording would
 * tell which; FORMULA_NONE: no formula fits, as with the workspace of a kernel that depends on how it is scheduled. */
uint64_t extrapolate_count(const struct extrapolation *x, enum formula_fit fit);

/* What a request gets that no formula gives a size for. */
enum unsolved_size { UNSOLVED_SMALLEST, UNSOLVED_LARGEST };      /* of those recorded */

/* The trace at `value`, in memory. ERR_UNSUPPORTED if a size is ambiguous or comes out as no whole number of bytes. */
MUST_USE enum err extrapolate_trace(const struct extrapolation *x, uint64_t value, enum unsolved_size unsolved,
                                    struct trace_reader **out, struct err_detail *err);

/* The same, written to a file. */
MUST_USE enum err extrapolate_write(const struct extrapolation *x, uint64_t value, enum unsolved_size unsolved,
                                    const char *path, struct err_detail *err);

#endif
