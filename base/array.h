/*
 * Arrays that grow as they are filled.
 */
#ifndef REPLAY_BASE_ARRAY_H
#define REPLAY_BASE_ARRAY_H

#include <stddef.h>

/* Makes room for at least one element more than the `n` of `array` (NULL: none yet); an element has `size` bytes and
 * *room elements fit. Returns the array, which may have moved. NULL if the host is out of memory: the array is then as
 * it was. */
void *array_grow(void *array, size_t n, size_t *room, size_t size);

#endif
