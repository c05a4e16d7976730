/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * RMM's fixed_size_memory_resource of 26.10 (cpp/src/mr/detail/fixed_size_memory_resource_impl.cpp,
 * cpp/include/rmm/mr/detail/fixed_size_free_list.hpp): blocks of one size, handed out in the order of their frees. It
 * is a policy of its own, and each bin of rmm-binning is one.
 *
 * At the start, and whenever no list has a block left, it takes `count` blocks in one piece. Each stream has a list; a
 * request takes the oldest block of its own list, or else of another.
 */
#ifndef REPLAY_POLICIES_ZOO_RMM_FIXED_H
#define REPLAY_POLICIES_ZOO_RMM_FIXED_H

#include "policies/parts/heap.h"
#include "policies/zoo/rmm_streams.h"

enum { RMM_FIXED_UNIT = 256, RMM_FIXED_COUNT = 128 };

/* The free blocks of a stream, oldest first, linked by `right`. */
struct rmm_fixed_list {
    uint32_t first, last;
};

struct rmm_fixed_bin {
    struct heap         heap;
    struct rmm_streams  streams;
    struct rmm_fixed_list *lists;        /* by dense stream */
    struct max_tree     filled;          /* by place of a stream: 1 if its list has a block */
    uint64_t block_bytes;                /* a multiple of 256 */
    uint32_t count;                      /* blocks of a piece */
    uint64_t n_free;
};

/* Takes the first piece from `upstream`, which is borrowed. `order`: the index of RMM_ORDER_OPTION. ERR_DEVICE_OOM
 * if the upstream refuses it; ERR_USAGE, ERR_HOST_NOMEM. rmm_fixed_bin_close accepts a bin of zeros, also after a
 * failure. */
MUST_USE enum err rmm_fixed_bin_open(struct rmm_fixed_bin *f, const struct policy_config *cfg, int order,
                                     struct upstream *upstream, uint64_t block_bytes, uint32_t count,
                                     struct err_detail *err);
void rmm_fixed_bin_close(struct rmm_fixed_bin *f);

/* The hot pair. A request has at most block_bytes. `count` counts. */
MUST_USE enum err rmm_fixed_bin_alloc(struct rmm_fixed_bin *f, const struct event *req, struct policy_counters *count,
                                      struct block *out);
void rmm_fixed_bin_free(struct rmm_fixed_bin *f, const struct event *req, const struct block *b);

#endif
