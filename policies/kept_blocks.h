/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Keeps a policy's answers for it, so that it need not: a policy that shows only its free blocks (walk_free) gets a
 * walk() over all of them. policy_create does this; policies and callers see nothing of it.
 */
#ifndef REPLAY_POLICIES_KEPT_BLOCKS_H
#define REPLAY_POLICIES_KEPT_BLOCKS_H

#include "policies/policy.h"

/* Puts a policy that keeps the blocks in front of *p, which it owns from then on. ERR_HOST_NOMEM leaves *p as it is. */
MUST_USE enum err kept_blocks_wrap(struct policy **p);

#endif
