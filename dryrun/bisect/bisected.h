/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * `replay bisect`: which version raised the peak. The good and the bad one are predicted, then those in the middle of
 * what is left, until one is named; what it holds is compared with what the version before it holds.
 */
#ifndef REPLAY_DRYRUN_BISECT_BISECTED_H
#define REPLAY_DRYRUN_BISECT_BISECTED_H

#include "dryrun/bisect/history.h"
#include "dryrun/bisect/what_grew.h"
#include "replay/bisect/bisection.h"
#include "replay/bisect/peak_rise.h"

#include <stdio.h>

/* Texts are as typed and borrowed until bisected_close; NULL: not given. */
struct bisect_request {
    struct history_request versions;
    const char *device, *more_than, *torch_libs, *values;
    uint64_t    steps, within_s;     /* as of a prediction */
    bool        without_overlay;
    unsigned    threads;
};

/* One version, predicted. */
struct version_peak {
    bool     is_tried, is_known;     /* is_known: it ran, and its peak is one */
    uint64_t peak_bytes;             /* reserved at most; of JAX, held by its allocator at most */
    bool     grows;                  /* each step held more than the one before: the peak is what was seen */
    bool     is_of_jax;
    char     reason[QUIET_REASON];   /* why it is not known */
    char     trace[PATH_MAX];        /* its recording */
    char     foreign[QUIET_REASON];  /* a line of the person's own tree that it ran; "": none */
};

enum bisect_end {
    BISECT_NAMED,                    /* one version is the first that is high */
    BISECT_OPEN,                     /* one of several is: the others of them could not be tried */
    BISECT_NOT_HIGHER,               /* the bad one's peak is no higher than the good one's */
    BISECT_INTERRUPTED,
};

struct bisected {
    struct bisect_request asked;
    struct history history;
    struct rise_threshold threshold;
    struct bisection bisection;
    struct version_peak *at, *good;  /* by version, and after them the good one */
    uint64_t none_above, low_limit;  /* bytes (peak_rise.h) */
    unsigned n_runs, n_not_run;      /* versions that were tried, and could not be */
    enum bisect_end end;
    size_t   before;                 /* BISECT_NAMED: of its parents the one with the highest peak; SIZE_MAX: good */
    struct what_grew grew;           /* from `before` to the named one */
};

/* Reads the request, and finds the versions. ERR_USAGE and the errors of history_open. Close it also after an error. */
MUST_USE enum err bisected_make(const struct bisect_request *request, struct bisected *out, struct err_detail *err);
void bisected_close(struct bisected *b);

/* Of a version; SIZE_MAX: the good one. */
struct version_peak *bisected_peak(const struct bisected *b, size_t version);

/* What is left of the rise from good to bad, before and after what the named version did; 0: not more than counts. */
struct rise_left { uint64_t before_bytes, after_bytes; };
struct rise_left bisected_left(const struct bisected *b);

/* The answer on one screen, and as JSON (report/SCHEMA.md, replay-bisect/1). ERR_HOST_NOMEM. */
MUST_USE enum err bisected_print(FILE *out, const struct bisected *b);
void bisected_write_json(FILE *out, const struct bisected *b);

#endif
