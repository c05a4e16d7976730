/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Listens to the device for memory, and looks up blocks when their requests are born. */
#include "replay/results/lane_lives.h"

#include "base/array.h"

#include <stdlib.h>

/* ---- memory ---- */

static uint32_t take_index(struct lane_lives *w)
{
    if (w->n_vacant > 0)
        return w->vacant[--w->n_vacant];
    struct life *open = array_grow(w->open, w->n_open, &w->room_open, sizeof *open);
    w->is_short |= open == NULL;
    if (open == NULL)
        return UINT32_MAX;
    w->open = open;
    return (uint32_t)w->n_open++;
}

static void begin_memory(struct lane_lives *w, const struct device_call *c, enum life_kind kind)
{
    const uint32_t i = take_index(w);
    if (i == UINT32_MAX)
        return;
    w->open[i] = (struct life){ .bytes = c->bytes, .addr = c->addr, .born = w->n_moments, .kind = (uint8_t)kind };
    w->is_short |= !pair_map_add(&w->held, c->addr, kind == LIFE_MAPPED, i);
}

/* A life that begins and ends within one event is at no moment, so nothing shows it. */
static void put_memory(struct lane_lives *w, const struct life *held)
{
    struct life life = *held;
    life.ended = life.freed = w->n_moments;
    if (life.ended > life.born)
        w->is_short |= lives_put(&w->memory, &life) != ERR_OK;
}

static void end_memory(struct lane_lives *w, const struct device_call *c, bool is_mapped)
{
    const uint32_t *found = pair_map_find(&w->held, c->addr, is_mapped);
    if (found == NULL)
        return;
    const uint32_t i = *found;
    pair_map_remove(&w->held, c->addr, is_mapped);
    put_memory(w, &w->open[i]);
    w->open[i].bytes = 0;
    uint32_t *vacant = array_grow(w->vacant, w->n_vacant, &w->room_vacant, sizeof *vacant);
    if (vacant == NULL)
        return;                      /* its place in `open` is lost, nothing else */
    w->vacant = vacant;
    vacant[w->n_vacant++] = i;
}

static void take_call(void *arg, const struct device_call *c)
{
    struct lane_lives *w = arg;
    switch (c->kind) {
    case DEVICE_CALL_MALLOC:    begin_memory(w, c, LIFE_SEGMENT); break;
    case DEVICE_CALL_RESERVE:   begin_memory(w, c, LIFE_RANGE); break;
    case DEVICE_CALL_MAP:       begin_memory(w, c, LIFE_MAPPED); break;
    case DEVICE_CALL_FREE:
    case DEVICE_CALL_UNRESERVE: end_memory(w, c, false); break;
    case DEVICE_CALL_UNMAP:     end_memory(w, c, true); break;
    default: break;
    }
}

/* ---- requests ---- */

static void take_block(struct lane_lives *w, const struct lane *l, size_t request)
{
    const struct block *b = &l->live[w->requests->at[request].slot];
    w->addr[request] = b->bytes > 0 ? b->addr : LANE_LIFE_NOWHERE;
    w->bytes[request] = b->bytes;
}

static void take_refusal(struct lane_lives *w, uint64_t moment, uint64_t bytes)
{
    if (w->n_refusals < REFUSALS_MAX)
        w->refusals[w->n_refusals++] = (struct lane_refusal){ .moment = moment, .bytes = bytes };
}

void lane_lives_event(struct lane_lives *w, const struct lane *l, const struct event *ev, uint64_t done)
{
    if (ev != NULL && done == 0)
        return;                      /* the start state is looked at when it is complete */
    for (; w->next < w->requests->n && w->requests->at[w->next].born <= done; w->next++)
        take_block(w, l, w->next);
    if (l->meter.ooms > w->n_all_refusals)
        take_refusal(w, done, ev != NULL ? ev->bytes : l->meter.first_oom.requested_bytes);
    w->n_all_refusals = l->meter.ooms;
    w->n_moments = done + 1;         /* calls from here on belong to the next event */
}

/* ---- opening ---- */

enum err lane_lives_open(struct lane_lives *out, struct lane *lane, const struct lives *requests)
{
    *out = (struct lane_lives){ .requests = requests, .memory.max = MEMORY_MAX };
    out->addr = calloc(requests->n + 1, sizeof *out->addr);
    out->bytes = calloc(requests->n + 1, sizeof *out->bytes);
    out->refusals = calloc(REFUSALS_MAX, sizeof *out->refusals);
    if (out->addr == NULL || out->bytes == NULL || out->refusals == NULL)
        return ERR_HOST_NOMEM;
    out->log = (struct device_log){ .call = take_call, .arg = out };
    lane->calls = &out->log;
    return ERR_OK;
}

enum err lane_lives_finish(struct lane_lives *w)
{
    for (size_t i = 0; i < w->n_open; i++)
        if (w->open[i].bytes > 0)
            put_memory(w, &w->open[i]);
    lives_cut(&w->memory, MEMORY_MAX);
    return w->is_short ? ERR_HOST_NOMEM : ERR_OK;
}

void lane_lives_close(struct lane_lives *w)
{
    lives_close(&w->memory);
    pair_map_free(&w->held);
    free(w->addr);
    free(w->bytes);
    free(w->refusals);
    free(w->open);
    free(w->vacant);
    *w = (struct lane_lives){ .addr = NULL };
}
