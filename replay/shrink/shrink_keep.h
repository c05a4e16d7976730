/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The property that shrinking keeps. */
#ifndef REPLAY_REPLAY_SHRINK_SHRINK_KEEP_H
#define REPLAY_REPLAY_SHRINK_SHRINK_KEEP_H

#include "replay/results/result.h"

enum keep_kind {
    KEEP_REFUSED,                    /* the card refuses a request; if what is live and the request would have fitted,
                                      * that stays so */
    KEEP_PEAK,                       /* at least `bytes` are reserved */
    KEEP_DIFFERS,                    /* the peaks of two policies differ, and the same one is larger, by at least the
                                      * share of its peak that it is in the recording */
};

/* Zero is a valid beginning and end. */
struct keep {
    enum keep_kind kind;
    uint64_t bytes;
    struct policy_spec other;
    /* Found on the recording. */
    bool     is_fragmented, is_other_larger;
    double   difference;             /* share of the larger peak */
    uint64_t live_bytes;             /* no more may be live at once, so that nothing is kept by asking for more */
};

/* "refused", "peak>=2GiB", "differs:POLICY". ERR_USAGE, policy_spec_parse's errors. */
MUST_USE enum err keep_parse(const char *text, struct keep *out, struct err_detail *err);
void keep_close(struct keep *k);

/* Who runs the calls, and what it cost so far. */
struct keep_runner {
    struct keep *keep;
    struct policy_spec   *spec;      /* borrowed, as are all */
    struct device_choice *device;
    struct trace_reader  *trace;     /* names the streams and pools; starts empty; its slots are those of the calls */
    uint64_t work;                   /* events run */
    size_t   end;                    /* out: the number of calls after which it is so */
    uint64_t peak_bytes, other_bytes;            /* out: reserved at most */
};

/* Whether the calls have the property. `is_first`: of the recording, which says what is kept. */
MUST_USE enum err keep_holds(struct keep_runner *r, const struct event *calls, size_t n, bool is_first, bool *holds,
                             struct err_detail *err);

#endif
