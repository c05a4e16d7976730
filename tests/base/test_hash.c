/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Hashes of foreign keys: every byte counts, whatever the length, and the seed decides where keys meet. */
#include "base/hash.h"
#include "base/random.h"

#include <criterion/criterion.h>
#include <string.h>

enum { KEYS = 1 << 14, BUCKETS = 4 * KEYS };

static const struct hash_seed seeds[] = {
    {.word = {UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210)}},
    {.word = {UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb)}},
};

/* The most hashes that share one of BUCKETS places, by the bits that a table uses: the lowest ones. */
static unsigned most_in_a_bucket(const uint64_t *hashes)
{
    static uint16_t buckets[BUCKETS];
    unsigned most = 0;
    memset(buckets, 0, sizeof buckets);
    for (size_t i = 0; i < KEYS; i++) {
        const unsigned n = ++buckets[hashes[i] & (BUCKETS - 1)];
        most = n > most ? n : most;
    }
    return most;
}

/* 16,384 keys thrown at random into 65,536 buckets put more than 8 into one with a probability below 1 in 10^7. */
enum { MOST_BY_CHANCE = 8 };

Test(hash, keys_that_differ_in_any_four_bytes_spread)
{
    static uint64_t hashes[KEYS];
    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++)
        for (size_t n = 4; n <= 40; n++)
            for (size_t at = 0; at + 4 <= n; at++) {
                unsigned char key[40];
                memset(key, 'x', sizeof key);
                for (uint32_t i = 0; i < KEYS; i++) {
                    const uint32_t four = i * UINT32_C(2654435761);
                    memcpy(key + at, &four, sizeof four);
                    hashes[i] = hash_bytes(&seeds[s], key, n);
                }
                cr_assert_leq(most_in_a_bucket(hashes), MOST_BY_CHANCE, "length %zu, bytes %zu to %zu", n, at, at + 3);
            }
}

/* The numbers of a recording are no random ones: addresses are multiples of large powers of two. */
Test(hash, numbers_with_equal_low_bits_spread)
{
    static uint64_t hashes[KEYS];
    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++)
        for (unsigned shift = 0; shift <= 50; shift++)
            for (int which = 0; which < 2; which++) {
                for (uint64_t i = 0; i < KEYS; i++)
                    hashes[i] = which == 0 ? hash_pair(&seeds[s], i << shift, 0) : hash_pair(&seeds[s], 0, i << shift);
                cr_assert_leq(most_in_a_bucket(hashes), MOST_BY_CHANCE, "multiples of 2^%u, number %d", shift, which);
            }
}

Test(hash, keys_that_meet_under_one_seed_part_under_another)
{
    static uint64_t keys[KEYS];
    static uint64_t hashes[KEYS];
    size_t n = 0;
    uint64_t state = 1;
    while (n < KEYS) {
        const uint64_t key = random_next(&state);
        if ((hash_bytes(&seeds[0], &key, sizeof key) & 255) == 0)
            keys[n++] = key;
    }
    for (size_t i = 0; i < KEYS; i++)
        hashes[i] = hash_bytes(&seeds[1], &keys[i], sizeof keys[i]);
    cr_assert_leq(most_in_a_bucket(hashes), MOST_BY_CHANCE);
}

Test(hash, length_counts)
{
    static const unsigned char zeros[64];
    for (size_t a = 0; a < sizeof zeros; a++)
        for (size_t b = a + 1; b < sizeof zeros; b++)
            cr_assert_neq(hash_bytes(&seeds[0], zeros, a), hash_bytes(&seeds[0], zeros, b), "%zu and %zu", a, b);
}

Test(hash, a_process_keeps_its_seed)
{
    const struct hash_seed a = hash_seed(), b = hash_seed();
    cr_assert(memcmp(&a, &b, sizeof a) == 0);
}
