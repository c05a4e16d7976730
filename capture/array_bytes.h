/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The size of a CUDA array, counted by its elements.
 * What a card adds to lay an array out for textures is not documented.
 */
#ifndef REPLAY_CAPTURE_ARRAY_BYTES_H
#define REPLAY_CAPTURE_ARRAY_BYTES_H

#include <stdbool.h>
#include <stdint.h>

enum { ARRAY_LAYERED = 1, ARRAY_CUBEMAP = 4 };           /* in runtime and driver: depth counts layers or faces */

/* Bytes of `n_levels` mipmap levels, each half as wide, high and deep as the one before; UINT64_MAX on overflow. A size
 * of 0 counts as 1. */
static inline uint64_t array_memory_bytes(uint64_t element_bytes, const uint64_t extent[3], unsigned flags,
                                          unsigned n_levels)
{
    const bool has_layers = (flags & (ARRAY_LAYERED | ARRAY_CUBEMAP)) != 0;
    uint64_t bytes = 0;
    for (unsigned level = 0; level < n_levels && level < 64; level++) {
        const uint64_t sizes[] = {extent[0] >> level, extent[1] >> level, has_layers ? extent[2] : extent[2] >> level};
        uint64_t n = element_bytes, sum;
        for (unsigned i = 0; i < 3; i++)
            if (__builtin_mul_overflow(n, sizes[i] == 0 ? 1 : sizes[i], &n))
                return UINT64_MAX;
        if (__builtin_add_overflow(bytes, n, &sum))
            return UINT64_MAX;
        bytes = sum;
    }
    return bytes;
}

/* Bytes of a channel by its CUarray_format. A packed or compressed format counts as one byte per channel. */
static inline unsigned array_channel_bytes(unsigned format)
{
    static const uint8_t sizes[] = {[0x01] = 1, [0x02] = 2, [0x03] = 4, [0x08] = 1, [0x09] = 2, [0x0a] = 4,
                                    [0x10] = 2, [0x20] = 4};
    const unsigned known = format < sizeof sizes ? sizes[format] : 0;
    const bool has_two = (format >= 0xc3 && format <= 0xc5) || (format >= 0xc9 && format <= 0xcb);     /* NORM_INT16 */
    return known > 0 ? known : has_two ? 2 : 1;
}

#endif
