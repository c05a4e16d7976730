/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The sizes by which PyTorch's allocator cuts the device's memory, in bytes: the same in all releases. Source: PyTorch,
 * c10/cuda/CUDACachingAllocator.cpp, get_allocation_size, should_split and round_size.
 *
 *     a request of        is served from                     of
 *     up to 1 MiB         the small pool                     segments of 2 MiB
 *     less than 10 MiB    the large pool                     segments of 20 MiB
 *     more                the large pool                     a segment of its own size, in whole 2 MiB
 *
 * The sizes in the middle are rounded ones. Under expandable segments the two pools grow by pages of 2 and 20 MiB.
 */
#ifndef REPLAY_BASE_TORCH_SIZES_H
#define REPLAY_BASE_TORCH_SIZES_H

#include "base/units.h"

#define TORCH_MIN_BLOCK     UINT64_C(512)    /* kMinBlockSize: sizes are rounded up to multiples of it */
#define TORCH_SMALL_MAX     MIB              /* kSmallSize: the largest size of the small pool */
#define TORCH_SMALL_SEGMENT (2 * MIB)        /* kSmallBuffer */
#define TORCH_LARGE_SEGMENT (20 * MIB)       /* kLargeBuffer; large_segment_size_mb changes it in newer releases */
#define TORCH_OWN_MIN       (10 * MIB)       /* kMinLargeAlloc: the least size that gets a segment of its own */
#define TORCH_OWN_ROUNDING  (2 * MIB)        /* kRoundLarge */

#endif
