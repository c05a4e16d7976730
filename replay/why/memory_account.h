/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The account of a card when a request was refused, and its judge: who would have to give what, so that it fits?
 *
 *     capacity = others + context + allocated + cached + free
 *
 * The verdict follows the largest share. The same judge serves texts, whose figures are rounded, and recordings.
 */
#ifndef REPLAY_REPLAY_WHY_MEMORY_ACCOUNT_H
#define REPLAY_REPLAY_WHY_MEMORY_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_UNKNOWN UINT64_MAX

/* What may be gained, by a setting or from others, matters if it is more than one part in twenty of the card. What
 * named processes hold matters as sim/card_context.h says, what is only a rest as a gain does. */
enum { MEMORY_GAIN_SHARE = 20 };

/* Bytes. */
struct memory_account {
    uint64_t asked, least_asked;     /* the segment; the smallest request that it may stand for */
    uint64_t total, free;            /* of the card */
    uint64_t allowed;                /* limit of the program; MEMORY_UNKNOWN: none is known */
    uint64_t others;                 /* other processes hold */
    bool     are_others_named;       /* as processes; otherwise `others` is a rest, contexts among it */
    uint64_t allocated, cached;      /* by the program's allocator: live, and reserved beyond it */
    uint64_t pools;                  /* free in private pools; part of neither */
    uint64_t rounding;               /* how far the sum of free, cached and pools may be off */
    uint64_t asked_rounding;         /* the same of `asked` */
};

/* In the order in which they are asked. */
enum memory_giver {
    GIVER_HOST,                      /* more is allocated than the card has: the system lent memory of the host */
    GIVER_LIMIT,                     /* the card had room, and the program's known limit refused */
    GIVER_ROOM,                      /* it had room, and nothing in the account says why it was refused */
    GIVER_REQUEST,                   /* the request itself is the largest share, or exceeds the card */
    GIVER_OTHERS,                    /* other processes */
    GIVER_CACHE,                     /* what is free and cached suffices, but not in one piece */
    GIVER_CACHE_OR_LIVE,             /* the figures do not tell which */
    GIVER_LIVE,                      /* the live data */
};

struct memory_judgement {
    enum memory_giver giver;
    uint64_t room;                   /* what the allocator could have taken more: free, or left of the limit */
    bool     is_limit_nearer;        /* it is the limit */
    uint64_t shortfall;              /* at least so much is missing of free, cached and pools; 0: nothing */
};

struct memory_judgement memory_judge(const struct memory_account *a);

#endif
