/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Where a caching allocator gets its memory from: the device, or another policy, named in brackets.
 *
 *     rmm-binning:upstream=[rmm-pool:initial=1GiB]
 *
 *     requests --> rmm-binning --> upstream --> rmm-pool --> upstream --> device
 *
 * A third kind is one range of addresses to whose end memory is mapped, so that each piece touches the one before it if
 * that fills its pages.
 *
 * What is taken is a struct block, as a policy answers it: `segment` is the device's id of the segment that it lies in,
 * whatever stands between.
 */
#ifndef REPLAY_POLICIES_PARTS_UPSTREAM_H
#define REPLAY_POLICIES_PARTS_UPSTREAM_H

#include "policies/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that was mapped to a range. */
struct mapped_piece {
    uint64_t offset, bytes;
};

struct upstream {
    struct device *device;           /* borrowed */
    struct policy *policy;           /* owned; NULL: the device itself, or a range of it */
    struct segment range;            /* bytes 0: none */
    uint64_t mapped_bytes;           /* of the range, from its start */
    struct mapped_piece *mapped;
    size_t   n_mapped, cap_mapped;
};

/* The option that names an upstream, for a policy's table. */
#define UPSTREAM_OPTION \
    {"upstream", OPTION_UPSTREAM, 0, 0, NULL, NULL, \
     "where it takes its memory from: a policy in brackets; not set: the device"}

/* Opens what an option of kind UPSTREAM names, for the same program as `cfg`. policy_create's errors; ERR_DEVICE_OOM if
 * the upstream was refused the memory that it starts with. upstream_close accepts an upstream of zeros. */
MUST_USE enum err upstream_open(struct upstream *u, const struct policy_config *cfg, const struct option_value *value,
                                struct err_detail *err);
void upstream_close(struct upstream *u);

/* Opens a range of at most `bytes`. What is taken from it is mapped in whole pages and never given back. The device's
 * errors. */
MUST_USE enum err upstream_open_range(struct upstream *u, struct device *device, uint64_t bytes);

/* Takes `bytes` (> 0) for a stream. ERR_DEVICE_OOM and the errors of the device or the policy above it. */
MUST_USE enum err upstream_alloc(struct upstream *u, uint64_t bytes, uint16_t stream, struct block *out);

/* Gives back what upstream_alloc took; `bytes`: what was asked for then. */
void upstream_free(struct upstream *u, uint64_t bytes, uint16_t stream, const struct block *b);

/* Shows the upstream's blocks by address; what is taken from it is allocated. The device's segments are one block each.
 * ERR_HOST_NOMEM; ERR_UNSUPPORTED if the policy there cannot show its blocks. */
MUST_USE enum err upstream_walk(const struct upstream *u, block_visit visit, void *arg);

/* Bytes of the largest free block: of `own`, the largest of the policy above, and those of the policy there. */
uint64_t upstream_largest_free(const struct upstream *u, uint64_t own);

/* A counter of the policy above. */
struct own_stat {
    const char *key;
    uint64_t    value;
};

/* Visits the policy's own counters, which come in byte order, and those of its upstream among them. Of two with the
 * same key the own one is shown. */
void upstream_stats(const struct upstream *u, const struct own_stat *own, size_t n, stat_visit visit, void *arg);

/* The invariants of the policy there; ERR_OK for the device. */
MUST_USE enum err upstream_check(const struct upstream *u, struct err_detail *err);

#ifdef __cplusplus
}
#endif

#endif
