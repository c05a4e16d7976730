/*
 * Streams and events of a simulated device: when is the work recorded so far on a stream finished?
 *
 * An event is a place in one stream's queue. It is finished at once unless its stream is held; held streams finish
 * their events when told to, in order of recording, or when somebody waits for them.
 */
#ifndef REPLAY_SIM_STREAM_QUEUES_H
#define REPLAY_SIM_STREAM_QUEUES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct stream_queues;

/* An event: the n-th recorded on its stream, from 1. */
struct stream_event {
    uint64_t nth;
    uint32_t stream;
};

MUST_USE enum err stream_queues_create(uint32_t n_streams, struct stream_queues **out);
void stream_queues_destroy(struct stream_queues *q);

/* Records an event behind the work on a stream. With q == NULL it is finished. */
struct stream_event stream_event_record(struct stream_queues *q, uint32_t stream);
bool stream_event_is_done(const struct stream_queues *q, struct stream_event e);

/* Waits: finishes the event and the earlier ones of its stream. */
void stream_event_wait(struct stream_queues *q, struct stream_event e);

/* Whether everything recorded on a stream is finished. */
bool stream_is_idle(const struct stream_queues *q, uint32_t stream);

/* Finishes everything on one stream, or on all of [first, first + n). */
void stream_queues_sync(struct stream_queues *q, uint32_t first, uint32_t n);

/* Holds or releases all streams; releasing finishes those not held one by one. */
void stream_queues_hold_all(struct stream_queues *q, bool is_held);
void stream_queues_hold(struct stream_queues *q, uint32_t stream, bool is_held);

/* Finishes the next n unfinished events of a stream. */
void stream_queues_complete(struct stream_queues *q, uint32_t stream, uint64_t n);

#endif
