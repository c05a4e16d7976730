/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Seeded hashes. Whoever makes a file chooses its keys. Without the seed, which differs from process to process, keys
 * that collide cannot be found beforehand, so a table of foreign keys stays fast. No result depends on the seed: tables
 * number what they hold in order of appearance.
 *
 * The step is the folded product of wyhash (Wang Yi, https://github.com/wangyi-fudan/wyhash): all bits of both factors
 * reach all bits of the result.
 */
#ifndef REPLAY_BASE_HASH_H
#define REPLAY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_seed {
    uint64_t word[2];
};

/* The seed of this process: the random bytes that the kernel gave it. */
struct hash_seed hash_seed(void);

/* The upper half of the 128-bit product, folded onto the lower half. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

static inline uint64_t hash_pair(const struct hash_seed *seed, uint64_t a, uint64_t b)
{
    return hash_fold(hash_fold(a ^ seed->word[0], b ^ seed->word[1]) ^ seed->word[0], UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t hash_bytes(const struct hash_seed *seed, const void *bytes, size_t n);

#endif
