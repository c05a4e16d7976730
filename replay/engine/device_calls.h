/*
 * What a lane asked its device for, call by call, and where two lanes begin to differ.
 *
 * Addresses differ from device to device, so calls are compared by the segment they are about: ids are given in the same
 * order as long as the calls are the same.
 */
#ifndef REPLAY_REPLAY_ENGINE_DEVICE_CALLS_H
#define REPLAY_REPLAY_ENGINE_DEVICE_CALLS_H

#include "sim/device.h"

enum { CALL_TEXT = 96 };

/* Begins as zero. */
struct call_log {
    struct device_call *at;
    size_t n, cap;
    bool   is_cut;                   /* the host had no memory for all of them */
};

/* A listener for device.log or lane.calls; `log` stays where it is while it listens. */
struct device_log call_log_listener(struct call_log *log);
void call_log_close(struct call_log *log);

/* The number of calls, from the first, that are the same in both. */
size_t call_log_common(const struct call_log *a, const struct call_log *b);

/* The addresses that the device gave, in order. ERR_HOST_NOMEM. The caller frees them. */
MUST_USE enum err call_log_addresses(const struct call_log *log, uint64_t **out, size_t *n);

/* "malloc of 20971520 bytes, segment 3"; "no call" behind the last. Returns `buf`. */
const char *call_log_text(const struct call_log *log, size_t i, char buf[CALL_TEXT]);

/* "malloc"; NULL behind the last. */
const char *call_log_kind(const struct call_log *log, size_t i);

#endif
