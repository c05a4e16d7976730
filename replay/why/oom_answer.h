/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the text of an OutOfMemoryError supports, for a person who recorded nothing: a verdict, and a setting to try.
 *
 * The text does not name the request. It names the segment that PyTorch asked the driver for, which may be larger, and
 * its figures are rounded to two decimals. Both may decide whether the request would have fitted.
 */
#ifndef REPLAY_REPLAY_WHY_OOM_ANSWER_H
#define REPLAY_REPLAY_WHY_OOM_ANSWER_H

#include "replay/why/why.h"

/* Bytes. */
struct oom_answer {
    enum verdict_kind verdict;
    uint64_t least_asked;            /* the smallest request that the text may stand for */
    uint64_t cached;                 /* reserved but unallocated */
    uint64_t room;                   /* what PyTorch could have taken more: what is free, or is left of the limit */
    bool     is_limit_nearer;        /* it is the limit */
    uint64_t shortfall;              /* VERDICT_FULL: at least so much is missing */
    const char *setting;             /* may serve it, in the release that wrote the text; NULL: none. Static */
};

struct oom_answer oom_answer_of(const struct oom_text *t);

/* For a terminal of 80 columns: the verdict, the line to paste, the reasons. */
void oom_answer_print(FILE *out, const struct oom_text *t);

/* The members verdict and text of the object that is open (report/SCHEMA.md, replay-why/1). */
void oom_answer_json(struct json_writer *j, const struct oom_text *t);

#endif
