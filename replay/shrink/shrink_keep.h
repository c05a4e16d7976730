/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The property that shrinking keeps. */
#ifndef REPLAY_REPLAY_SHRINK_SHRINK_KEEP_H
#define REPLAY_REPLAY_SHRINK_SHRINK_KEEP_H

#include "replay/results/result.h"

enum keep_kind {
    KEEP_REFUSED,                    /* the card refuses a request, and it is the same story */
    KEEP_REFUSED_ANYHOW,             /* the same, whatever the story */
    KEEP_PEAK,                       /* at least `bytes` are reserved */
    KEEP_DIFFERS,                    /* the peaks of two policies differ, and the same one is larger, by at least the
                                      * share of its peak that it is in the recording */
    KEEP_APART,                      /* the peaks of two policies differ, or one refuses a request; whichever */
    KEEP_REFUSED_APART,              /* the same one of two policies refuses a request, and the other none */
};

/* A part of the card, as far as it makes a difference to what `why` says of it. */
enum card_share { SHARE_SCRAP, SHARE_BELOW_QUARTER, SHARE_BELOW_HALF, SHARE_HALF, SHARE_BEYOND };

/* What a refusal is about. The requests of what is left may be parts of lower classes than in the recording, and not of
 * higher ones: many that fill a card do not become one that does. If `why` calls the recording fragmented, the sizes do
 * not matter, and no less lies in pieces. */
struct refusal_story {
    enum card_share asked, largest;  /* the refused request; the largest that is live then; never a scrap */
    enum card_share in_pieces;       /* free, but of no use for the request; a scrap unless would_fit */
    bool     would_fit;              /* beside what is live */
    bool     is_one_tensor;          /* half of the card or more, and twice as large as all requests before */
};

/* Zero is a valid beginning and end. */
struct keep {
    enum keep_kind kind;
    uint64_t bytes;
    struct policy_spec other;
    bool     is_fragmented;          /* `why` calls the recording so: more may lie in pieces, but not less */
    /* Found on the recording. */
    struct refusal_story story;
    bool     is_other_larger;        /* or refuses */
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
    bool     is_refused, is_other_refused;       /* out */
};

/* What the program may have of a card. */
uint64_t keep_usable(const struct device_config *d);

/* False: a request of this size makes another story, so it need not be tried. */
bool keep_may_have(const struct keep_runner *r, uint64_t bytes);

/* Whether the calls have the property. `is_first`: of the recording, which says what is kept. */
MUST_USE enum err keep_holds(struct keep_runner *r, const struct event *calls, size_t n, bool is_first, bool *holds,
                             struct err_detail *err);

#endif
