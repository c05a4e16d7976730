/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The streams that an RMM resource has seen, in the order in which it asks them for memory.
 *
 * RMM makes a CUDA event for a stream at its first request or free, and orders streams by the handles of these events.
 * Where handles rise, that is the order in which the streams were first seen; a real process may have any order.
 */
#ifndef REPLAY_POLICIES_ZOO_RMM_STREAMS_H
#define REPLAY_POLICIES_ZOO_RMM_STREAMS_H

#include "base/max_tree.h"
#include "policies/policy.h"

struct rmm_streams {
    uint16_t *seen;                  /* in order of first sight */
    uint16_t *place;                 /* by dense stream: its place in `seen` */
    bool     *is_seen;               /* by dense stream */
    struct max_tree listed;          /* by place: 1 if the stream has a list of free blocks, perhaps empty; whoever
                                      * takes a list over deletes it */
    uint32_t  n_seen;
    bool      is_last_first;         /* handles fall */
};

#define RMM_ORDER_OPTION \
    {"order", OPTION_TEXT, 0, 0, "first-seen", "first-seen or last-seen", \
     "in which order other streams are asked for their free memory (RMM: by the handles of its CUDA events)"}

/* ERR_USAGE if `order` is no such word: the place is for the option with index `option`. ERR_HOST_NOMEM. */
MUST_USE enum err rmm_streams_open(struct rmm_streams *s, const struct policy_config *cfg, int option,
                                   struct err_detail *err);
void rmm_streams_close(struct rmm_streams *s);

/* A stream makes a request or a free. */
static inline void rmm_streams_see(struct rmm_streams *s, uint16_t stream)
{
    if (!s->is_seen[stream]) {
        s->is_seen[stream] = true;
        s->place[stream] = (uint16_t)s->n_seen;
        s->seen[s->n_seen++] = stream;
    }
    if (max_tree_at(&s->listed, s->place[stream]) == 0)
        max_tree_put(&s->listed, s->place[stream], 1);
}

/* The next place in order after `place`, or the first if that is MAX_TREE_NONE, that `marks` (a row by place) marks;
 * MAX_TREE_NONE if there is none. */
static inline uint32_t rmm_streams_next(const struct rmm_streams *s, const struct max_tree *marks, uint32_t place)
{
    if (s->is_last_first)
        return max_tree_before(marks, place, 1);
    return max_tree_from(marks, place == MAX_TREE_NONE ? 0 : place + 1, 1);
}

#endif
