/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Pages that small requests share.
 *
 * The driver gives memory out in pages of 2 MiB and packs requests of at most 1 MiB into common ones (PyTorch's pull
 * request 17120 describes it). Only the free room of a page is kept, not its layout: how the driver arranges requests
 * in a page is not documented, so whether its free room is in one piece is not modelled.
 */
#ifndef REPLAY_SIM_PAGES_H
#define REPLAY_SIM_PAGES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define PAGES_SHARED_MAX (UINT64_C(1) << 20)    /* larger requests get pages of their own */
#define PAGES_NONE       UINT32_MAX

struct pages;

MUST_USE enum err pages_create(struct pages **out);
void pages_destroy(struct pages *p);

/* The first page with room for `bytes` (<= PAGES_SHARED_MAX); PAGES_NONE if a new one is needed. */
uint32_t pages_find(const struct pages *p, uint64_t bytes);

/* Puts a request into the page that pages_find names, or into a new one; *page says which. ERR_HOST_NOMEM. */
MUST_USE enum err pages_put(struct pages *p, uint64_t bytes, uint32_t *page);

/* Takes a request out. True if its page is empty now and goes back to the driver. */
bool pages_take(struct pages *p, uint64_t bytes, uint32_t page);

#endif
