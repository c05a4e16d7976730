/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The calls that a lane made to its device, and the first one in which two lanes differ.
 *
 * Two devices give different addresses, so calls are compared by segment id. As long as the calls are the same, both
 * devices give out ids in the same order.
 */
#ifndef REPLAY_REPLAY_ENGINE_DEVICE_CALLS_H
#define REPLAY_REPLAY_ENGINE_DEVICE_CALLS_H

#include "sim/device.h"

enum { DEVICE_CALL_TEXT = 96 };

/* Zero is a valid beginning. */
struct device_calls {
    struct device_call *at;
    size_t n, cap;
    bool   is_cut;                   /* the host ran out of memory: later calls are missing */
};

/* A listener for device.log or lane.calls. Do not move `calls` while it listens. */
struct device_log device_calls_listener(struct device_calls *calls);
void device_calls_close(struct device_calls *calls);

/* How many calls, counted from the first, are the same in both. */
size_t device_calls_common(const struct device_calls *a, const struct device_calls *b);

/* Lists the addresses that the device gave, in order; free() them. ERR_HOST_NOMEM. */
MUST_USE enum err device_calls_addresses(const struct device_calls *calls, uint64_t **out, size_t *n);

/* "malloc of 20971520 bytes, segment 3"; "no call" if `i` is past the last. Returns `buf`. */
const char *device_calls_text(const struct device_calls *calls, size_t i, char buf[DEVICE_CALL_TEXT]);

/* "malloc"; NULL if `i` is past the last. */
const char *device_calls_kind(const struct device_calls *calls, size_t i);

#endif
