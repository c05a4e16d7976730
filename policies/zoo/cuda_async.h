/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The driver's pool behind cudaMallocAsync, for those who know more of it than the events of a trace tell: the
 * simulated CUDA, and tests. Requests and frees go through policy_cuda_async, as those of every policy.
 */
#ifndef REPLAY_POLICIES_ZOO_CUDA_ASYNC_H
#define REPLAY_POLICIES_ZOO_CUDA_ASYNC_H

#include "base/units.h"
#include "policies/policy.h"

extern const struct policy_ops policy_cuda_async;

/* What the driver's pools grow by. */
#define CUDA_ASYNC_UNIT_BYTES (32 * MIB)

struct cuda_async_settings {
    uint64_t unit_bytes;             /* the pool grows in multiples of it; a power of two, at least DEVICE_PAGE_BYTES */
    uint64_t threshold_bytes;        /* what a synchronisation leaves idle (cudaMemPoolAttrReleaseThreshold) */
    bool     shares_streams;         /* memory freed on one stream may serve another (cudaMemPoolReuse...) */
    uint64_t sync_every;             /* a synchronisation before every n-th request; 0: never */
};

/* A pool on a device, for that many streams; `peak_live` as in policy_config. It takes addresses, and no memory yet.
 * ERR_HOST_NOMEM, ERR_DEVICE_OOM (no addresses), ERR_DRIVER, and then *out is NULL. */
MUST_USE enum err cuda_async_open(struct device *device, uint32_t n_streams, uint32_t peak_live,
                                  const struct cuda_async_settings *settings, struct policy **out);

/* Gives memory and addresses back to the device, also of what is live, and frees the pool. */
void cuda_async_close(struct policy *p);

/* Changes two of the settings. */
void cuda_async_set(struct policy *p, uint64_t threshold_bytes, bool shares_streams);

/* Its addresses, of which most never have memory; and the memory that it has of its device. */
struct segment cuda_async_range(const struct policy *p);
uint64_t cuda_async_reserved(const struct policy *p);

/* The host has waited for a stream, or for POLICY_ALL_STREAMS. False: they had freed nothing since, and nothing
 * changes. */
bool cuda_async_sync(struct policy *p, uint32_t stream);

/* cudaMemPoolTrimTo: idle memory goes back until `keep_bytes` are left. What the host has not waited for is not
 * idle. */
void cuda_async_trim(struct policy *p, uint64_t keep_bytes);

#endif
