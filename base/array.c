/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The room doubles, so that filling an array of n elements copies fewer than 2n of them. */
#include "base/array.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

void *array_reserve(void *array, size_t n, size_t more, size_t *room, size_t size)
{
    enum { ROOM_AT_FIRST = 16 };
    assert(n <= *room && size > 0 && more > 0);
    if (more <= *room - n)
        return array;
    if (more > SIZE_MAX / 2 - n || *room > SIZE_MAX / 2)
        return NULL;
    size_t wanted = *room == 0 ? ROOM_AT_FIRST : 2 * *room;
    if (wanted < n + more)
        wanted = n + more;
    void *p = wanted > SIZE_MAX / size ? NULL : realloc(array, wanted * size);
    if (p != NULL)
        *room = wanted;
    return p;
}

void *array_grow(void *array, size_t n, size_t *room, size_t size)
{
    return array_reserve(array, n, 1, room, size);
}
