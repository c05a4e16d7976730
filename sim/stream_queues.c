/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Each stream is two counts: events recorded, and events finished. Events finish in order, so two counts are enough. */
#include "sim/stream_queues.h"

#include <stdlib.h>

struct stream_queue {
    uint64_t recorded, finished;
    bool     is_held;
};

struct stream_queues {
    uint32_t n_streams;
    bool     is_all_held;
    struct stream_queue queue[];
};

enum err stream_queues_create(uint32_t n_streams, struct stream_queues **out)
{
    struct stream_queues *q = calloc(1, sizeof *q + n_streams * sizeof q->queue[0]);
    if (q == NULL)
        return ERR_HOST_NOMEM;
    q->n_streams = n_streams;
    *out = q;
    return ERR_OK;
}

void stream_queues_destroy(struct stream_queues *q)
{
    free(q);
}

static void stream_queue_settle(struct stream_queues *q, struct stream_queue *s)
{
    if (!q->is_all_held && !s->is_held)
        s->finished = s->recorded;
}

struct stream_event stream_event_record(struct stream_queues *q, uint32_t stream)
{
    if (q == NULL || stream >= q->n_streams)
        return (struct stream_event){.stream = stream};
    struct stream_queue *s = &q->queue[stream];
    s->recorded++;
    stream_queue_settle(q, s);
    return (struct stream_event){.nth = s->recorded, .stream = stream};
}

bool stream_event_is_done(const struct stream_queues *q, struct stream_event e)
{
    return e.nth == 0 || q == NULL || q->queue[e.stream].finished >= e.nth;
}

bool stream_is_idle(const struct stream_queues *q, uint32_t stream)
{
    return q == NULL || stream >= q->n_streams || q->queue[stream].finished == q->queue[stream].recorded;
}

void stream_event_wait(struct stream_queues *q, struct stream_event e)
{
    if (!stream_event_is_done(q, e))
        q->queue[e.stream].finished = e.nth;
}

void stream_queues_sync(struct stream_queues *q, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; q != NULL && i < q->n_streams && i - first < n; i++)
        q->queue[i].finished = q->queue[i].recorded;
}

void stream_queues_hold_all(struct stream_queues *q, bool is_held)
{
    q->is_all_held = is_held;
    for (uint32_t i = 0; i < q->n_streams; i++)
        stream_queue_settle(q, &q->queue[i]);
}

void stream_queues_hold(struct stream_queues *q, uint32_t stream, bool is_held)
{
    q->queue[stream].is_held = is_held;
    stream_queue_settle(q, &q->queue[stream]);
}

void stream_queues_complete(struct stream_queues *q, uint32_t stream, uint64_t n)
{
    struct stream_queue *s = &q->queue[stream];
    const uint64_t unfinished = s->recorded - s->finished;
    s->finished += n < unfinished ? n : unfinished;
}
