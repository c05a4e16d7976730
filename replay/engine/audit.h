/*
 * The audit: an independent map of what is live, by which every placement of a policy is checked.
 *
 * It knows nothing of the policy's own tables. What it refuses would corrupt memory on a real card: two live blocks
 * that overlap, a block outside its segment or smaller than its request, memory given back under a live block.
 */
#ifndef REPLAY_REPLAY_ENGINE_AUDIT_H
#define REPLAY_REPLAY_ENGINE_AUDIT_H

#include "base/err.h"
#include "base/event.h"
#include "sim/device.h"

#include <stdint.h>

struct audit;

/* For slots below n_slots. ERR_HOST_NOMEM. */
MUST_USE enum err audit_create(uint32_t n_slots, const struct device *device, struct audit **out);

/* NULL is accepted. */
void audit_destroy(struct audit *a);

/* Enters the block that serves a request of `requested` bytes in a vacant slot. ERR_CORRUPT with the reason; the block
 * is then not entered. */
MUST_USE enum err audit_alloc(struct audit *a, uint32_t slot, uint64_t requested, const struct block *b,
                              struct err_detail *why);

/* Takes a slot's block out; nothing where there is none. To be called before the policy may reuse the memory. */
void audit_free(struct audit *a, uint32_t slot);

/* Listens to a device's calls: memory given back under a live block is an error that audit_check reports. */
void audit_device_call(void *audit, const struct device_call *c);
MUST_USE enum err audit_check(struct audit *a, struct err_detail *why);

#endif
