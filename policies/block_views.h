/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Views of blocks, gathered from several sources and shown in order of address:
 * for a walk() over more than one of them.
 */
#ifndef REPLAY_POLICIES_BLOCK_VIEWS_H
#define REPLAY_POLICIES_BLOCK_VIEWS_H

#include "policies/policy.h"

struct block_views {
    struct block_view *at;
    size_t n, room;
    bool   is_short;                 /* of memory: some views are missing */
};

/* A block_visit: adds a view to the struct block_views that `arg` points to. */
void block_views_add(void *arg, const struct block_view *b);

/* Shows all by address, if `e` is ERR_OK and none is missing, and frees them. Returns e, or ERR_HOST_NOMEM. */
enum err block_views_show(struct block_views *v, enum err e, block_visit visit, void *arg);

#endif
