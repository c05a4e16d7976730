/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Two words a step; the last step takes the rest, whose words may overlap. */
#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>

enum { STEP_BYTES = 16 };

static uint64_t word_at(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint64_t half_word_at(const unsigned char *at)
{
    uint32_t half;
    memcpy(&half, at, sizeof half);
    return half;
}

/* The C library uses the same 16 bytes as secrets of its own, so they are not used as they are. */
struct hash_seed hash_seed(void)
{
    static const struct hash_seed fixed = {.word = {UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb)}};
    const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM);
    struct hash_seed seed = fixed;
    for (int i = 0; i < 2 && random != NULL; i++)
        seed.word[i] = hash_pair(&fixed, word_at(random), word_at(random + 8) + (uint64_t)i);
    return seed;
}

/* The last n <= STEP_BYTES bytes as two words. */
static void words_of_rest(const unsigned char *at, size_t n, uint64_t *first, uint64_t *last)
{
    *first = *last = 0;
    if (n >= 8) {
        *first = word_at(at);
        *last = word_at(at + n - 8);
    } else if (n >= 4) {
        *first = half_word_at(at);
        *last = half_word_at(at + n - 4);
    } else if (n > 0) {
        *first = (uint64_t)at[0] << 16 | (uint64_t)at[n / 2] << 8 | at[n - 1];
    }
}

uint64_t hash_bytes(const struct hash_seed *seed, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint64_t h = hash_pair(seed, n, 0), first, last;
    for (size_t left = n; left > STEP_BYTES; left -= STEP_BYTES, at += STEP_BYTES)
        h = hash_fold(word_at(at) ^ seed->word[0], word_at(at + 8) ^ h);
    words_of_rest(at, n - (size_t)(at - (const unsigned char *)bytes), &first, &last);
    return hash_pair(seed, first ^ h, last ^ seed->word[0] ^ h >> 32);
}
