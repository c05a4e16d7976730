/*
 * Memory of the system's larger pages, for tables that are read in any order and are larger than what the processor
 * remembers of small pages.
 */
#ifndef REPLAY_BASE_LARGE_PAGES_H
#define REPLAY_BASE_LARGE_PAGES_H

#include <stddef.h>

/* Asks that the `bytes` from `at` on lie in large pages, before they are touched. A hint: small tables and systems
 * without such pages stay as they are. */
void large_pages_want(void *at, size_t bytes);

#endif
