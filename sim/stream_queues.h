/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Streams and events of a simulated device: when has a stream finished the work recorded so far?
 *
 * An event is a place in one stream's queue. It finishes at once unless its stream is held. A held stream finishes its
 * events in order of recording: when it is told to, or when someone waits for them.
 */
#ifndef REPLAY_SIM_STREAM_QUEUES_H
#define REPLAY_SIM_STREAM_QUEUES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct stream_queues;

/* The n-th event recorded on its stream, from 1. */
struct stream_event {
    uint64_t nth;
    uint32_t stream;
};

MUST_USE enum err stream_queues_create(uint32_t n_streams, struct stream_queues **out);
void stream_queues_destroy(struct stream_queues *q);

/* Records an event after the work on a stream. With q == NULL it is finished already. */
struct stream_event stream_event_record(struct stream_queues *q, uint32_t stream);
bool stream_event_is_done(const struct stream_queues *q, struct stream_event e);

/* Waits for an event: finishes it and the earlier ones of its stream. */
void stream_event_wait(struct stream_queues *q, struct stream_event e);

/* Whether all events recorded on a stream have finished. */
bool stream_is_idle(const struct stream_queues *q, uint32_t stream);

/* Finishes everything on one stream, or on all of [first, first + n). */
void stream_queues_sync(struct stream_queues *q, uint32_t first, uint32_t n);

/* Holds all streams, or lets them go on; then all finish that are not held one by one. */
void stream_queues_hold_all(struct stream_queues *q, bool is_held);
void stream_queues_hold(struct stream_queues *q, uint32_t stream, bool is_held);

/* Finishes the next n unfinished events of a stream. */
void stream_queues_complete(struct stream_queues *q, uint32_t stream, uint64_t n);

#endif
