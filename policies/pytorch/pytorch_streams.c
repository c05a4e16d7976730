/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Blocks that other streams use: their frees wait for events.
 *
 * The end of a use is known in one of two ways. A program tells its uses (CONTROL_USE, then a free), and events on the
 * device's streams say when they end. A trace tells only when a free was requested and when it was completed (retire,
 * then free): between the two such a block is on the retired list.
 */
#include "policies/pytorch/pytorch_steps.h"

#include "base/array.h"

#include <stdlib.h>

bool pytorch_is_capturing(const struct pytorch *p)
{
    return p->rules.has_capture_by_region ? p->n_diversions > 0 : p->n_captures > 0;
}

bool pytorch_is_capturing_stream(const struct pytorch *p, uint16_t stream, uint8_t pool)
{
    if (pool != 0 && (p->rules.has_capture_by_region || p->pool_names[pool].id[0] != 0))
        return true;                     /* in a snapshot's trace only the pool tells of regions and captures */
    if (!p->rules.has_capture_by_stream)
        return pytorch_is_capturing(p);
    for (uint32_t i = 0; i < p->n_diversions; i++) {
        const struct pytorch_diversion *d = &p->diversions[i];
        if (d->is_capture && (d->stream == stream || d->pool == pool))      /* its pool: the stream has joined */
            return true;
    }
    return false;
}

/* PyTorch's hash of a stream: device type, ordinal, stream number. */
static uint64_t stream_hash(const struct pytorch *p, uint32_t stream)
{
    return UINT64_C(1) << 56 | (uint64_t)p->ordinal << 48 |
           (p->streams[stream].number & ((UINT64_C(1) << 48) - 1));
}

/* ---- records of uses ---- */

static enum err uses_attach(struct pytorch *p, struct block_entry *block)
{
    if (p->vacant_uses == LINK_NONE) {
        struct pytorch_uses *uses = array_grow(p->uses, p->n_uses, &p->cap_uses, sizeof *uses);
        if (uses == NULL)
            return ERR_HOST_NOMEM;
        p->uses = uses;
    }
    uint32_t i = p->vacant_uses;
    if (i != LINK_NONE)
        p->vacant_uses = p->uses[i].next_vacant;
    else
        i = p->n_uses++;
    p->uses[i] = (struct pytorch_uses){.next_vacant = LINK_NONE};
    block->left = i;
    block->flags |= BLOCK_HAS_USES;
    return ERR_OK;
}

static void uses_detach(struct pytorch *p, struct block_entry *block)
{
    const uint32_t i = block->left;
    order_table_close(&p->uses[i].streams);
    p->uses[i].next_vacant = p->vacant_uses;
    p->vacant_uses = i;
    block->flags &= (uint8_t)~BLOCK_HAS_USES;
}

enum err pytorch_use(struct pytorch *p, uint32_t b, uint16_t stream)
{
    struct block_entry *block = pytorch_at(p, b);
    if (stream == block->stream)
        return ERR_OK;
    enum err e = block->flags & BLOCK_HAS_USES ? ERR_OK : uses_attach(p, block);
    if (e != ERR_OK)
        return e;
    struct order_table *streams = &p->uses[block->left].streams;
    const uint64_t hash = stream_hash(p, stream);
    if (order_table_find(streams, hash, stream) == NULL && (e = order_table_insert(streams, hash, stream)) != ERR_OK)
        return e;
    if (pytorch_is_capturing(p))
        order_table_find(streams, hash, stream)->value |= USE_IN_CAPTURE;
    return ERR_OK;
}

/* ---- queues of waits ---- */

/* Appends a wait to its stream's queue. */
static enum err fifo_append(struct pytorch *p, struct stream_event event, uint32_t block)
{
    if (p->vacant_waits == LINK_NONE) {
        struct pytorch_wait *waits = array_grow(p->waits, p->n_waits, &p->cap_waits, sizeof *waits);
        if (waits == NULL)
            return ERR_HOST_NOMEM;
        p->waits = waits;
    }
    struct pytorch_fifo *fifo = &p->fifos[event.stream];
    if (fifo->head == LINK_NONE) {
        const enum err e = order_table_insert(&p->fifo_order, stream_hash(p, event.stream), event.stream);
        if (e != ERR_OK)
            return e;
    }
    uint32_t w = p->vacant_waits;
    if (w != LINK_NONE)
        p->vacant_waits = p->waits[w].next;
    else
        w = p->n_waits++;
    p->waits[w] = (struct pytorch_wait){.event = event, .block = block, .next = LINK_NONE};
    if (fifo->head == LINK_NONE)
        fifo->head = w;
    else
        p->waits[fifo->tail].next = w;
    fifo->tail = w;
    return ERR_OK;
}

/* Ends a wait: its block may be free now. */
static void wait_end(struct pytorch *p, uint32_t w)
{
    const uint32_t b = p->waits[w].block;
    p->waits[w].next = p->vacant_waits;
    p->vacant_waits = w;
    struct block_entry *block = pytorch_at(p, b);
    if (--p->uses[block->left].events > 0)
        return;
    uses_detach(p, block);
    block->flags &= (uint8_t)~BLOCK_IS_BUSY;
    pytorch_complete_free(p, b);
}

/* Records one event on each stream that uses the block, in the table's order. The block keeps its record of uses until
 * the last of these events has completed. */
static void record_events(struct pytorch *p, uint32_t b)
{
    struct block_entry *block = pytorch_at(p, b);
    const uint32_t u = block->left;
    struct order_table streams = p->uses[u].streams;
    p->uses[u].streams = (struct order_table){0};
    block->flags |= BLOCK_IS_BUSY;
    for (uint32_t i = 0; (i = order_table_from(&streams, i)) != MAX_TREE_NONE; i++) {
        const uint32_t stream = streams.slots[i].value & ORDER_NUMBER;
        const struct stream_event event = stream_event_record(p->base.device->cfg.queues, stream);
        const enum err e = fifo_append(p, event, b);
        if (e == ERR_OK)
            p->uses[u].events++;
        else
            p->base.failure = e;
    }
    order_table_close(&streams);
}

static enum err defer(struct pytorch *p, uint32_t b)
{
    uint32_t *deferred = array_grow(p->deferred, p->n_deferred, &p->cap_deferred, sizeof *deferred);
    if (deferred == NULL)
        return ERR_HOST_NOMEM;
    p->deferred = deferred;
    p->deferred[p->n_deferred++] = b;
    pytorch_at(p, b)->flags |= BLOCK_IS_BUSY;
    return ERR_OK;
}

void pytorch_free_used(struct pytorch *p, uint32_t b)
{
    if (!pytorch_is_capturing(p))
        record_events(p, b);
    else if (defer(p, b) != ERR_OK)
        p->base.failure = ERR_HOST_NOMEM;
}

/* Drops the uses marked during a capture: they are graph nodes, not work on a stream. */
static enum err drop_capture_uses(struct order_table *streams)
{
    struct order_table kept = {0};
    enum err e = ERR_OK;
    for (uint32_t i = 0; e == ERR_OK && (i = order_table_from(streams, i)) != MAX_TREE_NONE; i++)
        if (!(streams->slots[i].value & USE_IN_CAPTURE))
            e = order_table_insert(&kept, streams->slots[i].hash, streams->slots[i].value);
    order_table_close(streams);
    *streams = kept;
    return e;
}

/* Carries out the frees that a capture put off. */
static void settle_deferred(struct pytorch *p)
{
    const uint32_t n = p->n_deferred;
    p->n_deferred = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t b = p->deferred[i];
        struct block_entry *block = pytorch_at(p, b);
        struct order_table *streams = &p->uses[block->left].streams;
        if (!p->rules.keeps_capture_uses && drop_capture_uses(streams) != ERR_OK)
            p->base.failure = ERR_HOST_NOMEM;
        if (streams->count > 0) {
            record_events(p, b);
            continue;
        }
        uses_detach(p, block);
        block->flags &= (uint8_t)~BLOCK_IS_BUSY;
        pytorch_complete_free(p, b);
    }
}

/* Takes waits off the front of a queue while `goes` holds for them. True if the queue is empty then. */
static bool fifo_drain(struct pytorch *p, struct pytorch_fifo *fifo)
{
    while (fifo->head != LINK_NONE) {
        const uint32_t w = fifo->head;
        if (!stream_event_is_done(p->base.device->cfg.queues, p->waits[w].event))
            return false;
        fifo->head = p->waits[w].next;
        wait_end(p, w);
    }
    return true;
}

void pytorch_poll(struct pytorch *p)
{
    settle_deferred(p);
    for (uint32_t i = 0; (i = order_table_from(&p->fifo_order, i)) != MAX_TREE_NONE;) {
        if (fifo_drain(p, &p->fifos[p->fifo_order.slots[i].value]))
            order_table_remove(&p->fifo_order, i);
        else
            i++;
    }
}

/* Waits for the entries of the queue: all, or those of one pool's blocks. */
static void fifo_wait(struct pytorch *p, struct pytorch_fifo *fifo, uint8_t pool)
{
    uint32_t *link = &fifo->head, last = LINK_NONE;
    while (*link != LINK_NONE) {
        const uint32_t w = *link;
        if (pool != 0 && pytorch_at(p, p->waits[w].block)->pool != pool) {
            last = w;
            link = &p->waits[w].next;
            continue;
        }
        stream_event_wait(p->base.device->cfg.queues, p->waits[w].event);
        *link = p->waits[w].next;
        wait_end(p, w);
    }
    fifo->tail = last;
}

/* ---- frees that the trace ends ---- */

void pytorch_retire_block(struct pytorch *p, uint32_t b, uint32_t slot)
{
    struct block_entry *block = pytorch_at(p, b);
    if (block->flags & BLOCK_HAS_USES)
        uses_detach(p, block);                   /* the trace says when the uses end */
    block->flags |= BLOCK_IS_BUSY | BLOCK_IS_RETIRED;
    block->below = slot;
    block->left = p->retired_tail;
    block->right = BLOCK_NONE;
    if (p->retired_tail != BLOCK_NONE)
        pytorch_at(p, p->retired_tail)->right = b;
    else
        p->retired_head = b;
    p->retired_tail = b;
}

void pytorch_unretire(struct pytorch *p, uint32_t b)
{
    struct block_entry *block = pytorch_at(p, b);
    if (block->left != BLOCK_NONE)
        pytorch_at(p, block->left)->right = block->right;
    else
        p->retired_head = block->right;
    if (block->right != BLOCK_NONE)
        pytorch_at(p, block->right)->left = block->left;
    else
        p->retired_tail = block->left;
    block->flags &= (uint8_t) ~(BLOCK_IS_BUSY | BLOCK_IS_RETIRED);
}

/* Ends the retired frees in the order of their requests, and tells the observer. */
static void retired_end(struct pytorch *p, uint8_t pool)
{
    uint32_t next;
    for (uint32_t b = p->retired_head; b != BLOCK_NONE; b = next) {
        next = pytorch_at(p, b)->right;
        if (pool != 0 && pytorch_at(p, b)->pool != pool)
            continue;
        const uint32_t slot = pytorch_at(p, b)->below;
        const struct policy_observer *o = p->base.observer;
        pytorch_unretire(p, b);
        pytorch_complete_free(p, b);
        if (o->completed != NULL)
            o->completed(o->arg, slot);
    }
}

void pytorch_wait_all(struct pytorch *p, uint8_t pool, bool is_capturing)
{
    p->stats.num_sync_all_streams++;
    if (!is_capturing)
        settle_deferred(p);
    for (uint32_t i = 0; (i = order_table_from(&p->fifo_order, i)) != MAX_TREE_NONE;) {
        struct pytorch_fifo *fifo = &p->fifos[p->fifo_order.slots[i].value];
        fifo_wait(p, fifo, pool);
        if (pool != 0 && fifo->head == LINK_NONE)
            order_table_remove(&p->fifo_order, i);
        else
            i++;
    }
    if (pool == 0)
        order_table_clear(&p->fifo_order);
    retired_end(p, pool);
}

void pytorch_streams_close(struct pytorch *p)
{
    for (uint32_t i = 0; i < p->n_uses; i++)
        order_table_close(&p->uses[i].streams);
    free(p->uses);
    free(p->waits);
    free(p->fifos);
    free(p->deferred);
    order_table_close(&p->fifo_order);
}
