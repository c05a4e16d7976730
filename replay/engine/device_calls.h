/*
 * What a lane asked its device for, call by call, and where two lanes begin to differ.
 *
 * Addresses differ from device to device, so calls are compared by the segment they are about: ids are given in the same
 * order as long as the calls are the same.
 */
#ifndef REPLAY_REPLAY_ENGINE_DEVICE_CALLS_H
#define REPLAY_REPLAY_ENGINE_DEVICE_CALLS_H

#include "sim/device.h"

enum { DEVICE_CALL_TEXT = 96 };

/* Begins as zero. */
struct device_calls {
    struct device_call *at;
    size_t n, cap;
    bool   is_cut;                   /* the host had no memory for all of them */
};

/* A listener for device.log or lane.calls; `log` stays where it is while it listens. */
struct device_log device_calls_listener(struct device_calls *calls);
void device_calls_close(struct device_calls *calls);

/* The number of calls, from the first, that are the same in both. */
size_t device_calls_common(const struct device_calls *a, const struct device_calls *b);

/* The addresses that the device gave, in order. ERR_HOST_NOMEM. The caller frees them. */
MUST_USE enum err device_calls_addresses(const struct device_calls *calls, uint64_t **out, size_t *n);

/* "malloc of 20971520 bytes, segment 3"; "no call" behind the last. Returns `buf`. */
const char *device_calls_text(const struct device_calls *calls, size_t i, char buf[DEVICE_CALL_TEXT]);

/* "malloc"; NULL behind the last. */
const char *device_calls_kind(const struct device_calls *calls, size_t i);

#endif
