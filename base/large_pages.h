/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Large pages, for tables that are read in random order and are larger than the processor's TLB covers with small
 * pages.
 */
#ifndef REPLAY_BASE_LARGE_PAGES_H
#define REPLAY_BASE_LARGE_PAGES_H

#include <stddef.h>

/* Asks for large pages for `bytes` from `at` on, before they are touched. A hint: without effect for small tables and
 * on systems without large pages. */
void large_pages_want(void *at, size_t bytes);

#endif
