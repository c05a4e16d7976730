/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Following a recording: the policy takes over the recorded state, says what it would do, and then does what the record
 * says.
 *
 * This checks the policy against a recording. The device hands out the recorded addresses (ADDRESSES_LIST): one for
 * each ordinary segment and one for each reservation, in the order in which they are made here.
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_FOLLOW_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_FOLLOW_H

#include "policies/policy.h"

/* What the policy would do with a request. */
struct pytorch_choice {
    bool     is_growth;              /* it needs memory from the device */
    uint64_t addr;                   /* of the block it would take or grow; 0: a new segment */
    uint64_t segment_bytes;          /* size of the segment it would ask for */
    uint64_t block_bytes;            /* what the request rounds to */
    bool     is_tie;                 /* another free block of the same size was there */
    uint32_t block;                  /* internal: that block, or the memory obtained for the request */
};

/* Says what alloc would do, without doing it. ERR_HOST_NOMEM. */
MUST_USE enum err pytorch_follow_predict(struct policy *base, const struct event *req, struct pytorch_choice *out);

/* The address at which the request would be placed by growing an expandable segment; 0: none can grow so far yet.
 * Changes when memory is given back in between. */
uint64_t pytorch_follow_run(struct policy *base, const struct event *req);

/* Serves the request from the free block that starts at `addr`. ERR_CORRUPT if no block there is large enough. */
MUST_USE enum err pytorch_follow_alloc(struct policy *base, const struct event *req, uint64_t addr,
                                       const struct pytorch_choice *hint, struct block *out);

/* Obtains a segment of `bytes` for the request. `hint` (NULL: nobody asks) then leads pytorch_follow_alloc to it.
 * ERR_DEVICE_OOM. */
MUST_USE enum err pytorch_follow_segment(struct policy *base, const struct event *req, uint64_t bytes,
                                         struct pytorch_choice *hint);

/* Maps memory to [addr, addr + bytes) of an expandable segment, which is made if there is none. */
MUST_USE enum err pytorch_follow_map(struct policy *base, const struct event *req, uint64_t addr, uint64_t bytes,
                                     struct pytorch_choice *hint);

/* Gives back what the record gave back. False if the policy could not have: nothing is there, or it is in use. */
bool pytorch_follow_give_back(struct policy *base, uint64_t addr, uint64_t bytes);
bool pytorch_follow_unmap(struct policy *base, uint64_t addr, uint64_t bytes);

/* How many blocks were looked at so far to find those that the record names: where the policy would have chosen others,
 * it looks at all. The caller decides when that is too much. */
uint64_t pytorch_follow_steps(const struct policy *base);

/* Ends all pending frees, as an allocator does before it gives everything back, and tells the observer. */
void pytorch_follow_wait(struct policy *base);

#endif
