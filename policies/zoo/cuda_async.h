/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a program can do to the pool of cudaMallocAsync beside requests and frees, which the events of a trace do not
 * tell. */
#ifndef REPLAY_POLICIES_ZOO_CUDA_ASYNC_H
#define REPLAY_POLICIES_ZOO_CUDA_ASYNC_H

#include "policies/policy.h"

/* The host has waited for a stream, or for POLICY_ALL_STREAMS. `p` is a cuda-async. */
void cuda_async_sync(struct policy *p, uint32_t stream);

/* cudaMemPoolTrimTo: idle memory goes back until `keep_bytes` are left. What the host has not waited for is not
 * idle. */
void cuda_async_trim(struct policy *p, uint64_t keep_bytes);

#endif
