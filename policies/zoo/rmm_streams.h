/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The streams that an RMM resource has seen, in the order in which it asks them for memory.
 *
 * RMM makes a CUDA event for a stream at its first request or free, and orders streams by the handles of these events.
 * Where handles rise, that is the order in which the streams were first seen; a real process may have any order.
 */
#ifndef REPLAY_POLICIES_ZOO_RMM_STREAMS_H
#define REPLAY_POLICIES_ZOO_RMM_STREAMS_H

#include "policies/policy.h"

struct rmm_streams {
    uint16_t *seen;                  /* in order of first sight */
    bool     *is_seen;               /* by dense stream */
    bool     *has_list;              /* by dense stream: it has a list of free blocks, perhaps empty; whoever takes a
                                      * list over deletes it */
    uint32_t  n_seen;
    bool      is_last_first;         /* handles fall */
};

#define RMM_ORDER_OPTION \
    {"order", OPTION_TEXT, 0, 0, "first-seen", "first-seen or last-seen", \
     "in which order other streams are asked for their free memory (RMM: by the handles of its CUDA events)"}

/* ERR_USAGE if `order` is no such word: the place is for the option with index `option`. ERR_HOST_NOMEM. */
MUST_USE enum err rmm_streams_open(struct rmm_streams *s, const struct policy_config *cfg, int option,
                                   struct err_detail *why);
void rmm_streams_close(struct rmm_streams *s);

/* A stream makes a request or a free. */
static inline void rmm_streams_see(struct rmm_streams *s, uint16_t stream)
{
    s->has_list[stream] = true;
    if (s->is_seen[stream])
        return;
    s->is_seen[stream] = true;
    s->seen[s->n_seen++] = stream;
}

/* The i-th stream (i < n_seen) in order. */
static inline uint16_t rmm_streams_at(const struct rmm_streams *s, uint32_t i)
{
    return s->seen[s->is_last_first ? s->n_seen - 1 - i : i];
}

#endif
