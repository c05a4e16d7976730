/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Arrays that grow as they are filled.
 */
#ifndef REPLAY_BASE_ARRAY_H
#define REPLAY_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of n elements, as malloc wants them. SIZE_MAX, which no host has, if that is too many for a size_t: on
 * 32-bit hosts, such as WebAssembly, a size_t holds less than 4 GiB. */
static inline size_t array_bytes(uint64_t n, size_t size)
{
    return n > SIZE_MAX / size ? SIZE_MAX : (size_t)n * size;
}

/* Makes room for `more` elements after the first `n` of `array` (NULL: no array yet). *room is the number of elements
 * that fit, `size` the bytes of one. Returns the array, which may have moved; NULL if the host is out of memory, and
 * then array and *room are as before. */
void *array_reserve(void *array, size_t n, size_t more, size_t *room, size_t size);

/* array_reserve for one element more. */
void *array_grow(void *array, size_t n, size_t *room, size_t size);

#endif
