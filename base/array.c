/* Room is doubled, so that filling an array of n elements copies fewer than 2n of them. */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

void *array_grow(void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return array;
    const size_t more = *room == 0 ? 16 : 2 * *room;
    void *p = more > SIZE_MAX / size ? NULL : realloc(array, more * size);
    if (p != NULL)
        *room = more;
    return p;
}
