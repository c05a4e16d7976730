/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The sentences that a program sees when PyTorch refuses a request, by release.
 * Source: PyTorch, c10/cuda/CUDACachingAllocator.cpp (out of memory) and c10/cuda/CUDAException.cpp (device errors).
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_TEXT_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_TEXT_H

#include "policies/policy.h"
#include "policies/pytorch/pytorch_rules.h"

/* The numbers in an out-of-memory sentence, in bytes. */
struct pytorch_oom {
    uint64_t segment_bytes;           /* of the segment that the device refused */
    uint64_t rounded_bytes;           /* the request after rounding */
    uint64_t total_bytes, free_bytes; /* of the device, as it reports them */
    uint64_t process_bytes;           /* what the management library reports for this process */
    uint64_t limit_bytes;             /* UINT64_MAX: no limit set */
    uint64_t allocated_bytes, reserved_bytes;
    uint64_t private_free_bytes;      /* free blocks of private pools */
    uint64_t reserve_bytes;           /* reserve of expandable segments in force */
    uint32_t device;                  /* ordinal */
    bool     is_expandable;           /* the option is on */
    bool     has_reserve;             /* a reserve was configured */
};

/* Out of memory, after all attempts failed. */
void pytorch_text_oom(const struct pytorch_rules *rules, const struct pytorch_oom *oom, struct refusal *out);

/* Rejected before the device was asked (throw_on_cudamalloc_oom). */
void pytorch_text_rejection(uint64_t requested_bytes, struct refusal *out);

/* The device refused while caching is off. */
void pytorch_text_device_error(const struct pytorch_rules *rules, struct refusal *out);

/* A tensor of 2^60 bytes or more: refused before the allocator is asked. */
void pytorch_text_too_large(struct refusal *out);

#endif
