/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The audit: checks every placement of a policy against its own map of the live blocks.
 *
 * It knows nothing of the policy's tables. It refuses what would corrupt memory on a real card:
 *
 *     segment    |-------------------------|
 *     overlap        [ live block ]
 *                           [ new block ]
 *     outside                      [ new block ]
 *     too small      [ block ]   for a request of   |-----------|
 *     given back                 the segment under a live block
 */
#ifndef REPLAY_REPLAY_ENGINE_AUDIT_H
#define REPLAY_REPLAY_ENGINE_AUDIT_H

#include "base/err.h"
#include "base/event.h"
#include "sim/device.h"

#include <stdint.h>

struct audit;

/* Makes a map for slots below n_slots. `device` must outlive it. ERR_HOST_NOMEM. */
MUST_USE enum err audit_create(uint32_t n_slots, const struct device *device, struct audit **out);

/* Accepts NULL. */
void audit_destroy(struct audit *a);

/* Enters the block that serves a request of `requested` bytes. The slot must be vacant. ERR_CORRUPT with the reason;
 * the block is then not entered. */
MUST_USE enum err audit_alloc(struct audit *a, uint32_t slot, uint64_t requested, const struct block *b,
                              struct err_detail *err);

/* Takes a slot's block out of the map; does nothing if the slot is vacant. Call it before the policy may reuse the
 * memory. */
void audit_free(struct audit *a, uint32_t slot);

/* Hears a call to the device. If it gives memory back under a live block, audit_check fails from then on. */
void audit_device_call(void *audit, const struct device_call *c);

/* ERR_CORRUPT, with the reason, if a device call took memory from under a live block. */
MUST_USE enum err audit_check(struct audit *a, struct err_detail *err);

#endif
