/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Takes the records and the state while the lane runs. */
#include "replay/export/snapshot_export.h"

#include "base/array.h"
#include "base/temporary_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum err snapshot_export_open(struct snapshot_export *d, uint64_t event, struct err_detail *err)
{
    *d = (struct snapshot_export){.event = event};
    return temporary_stream_open(&d->spool, err);
}

void snapshot_export_close(struct snapshot_export *d)
{
    if (d->spool != NULL)
        fclose(d->spool);
    free(d->now);
    free(d->blocks);
    free(d->conf);
    *d = (struct snapshot_export){.spool = NULL};
}

static void take_record(void *lane, const struct policy_record *r)
{
    struct snapshot_export *d = (struct snapshot_export *)((const struct lane *)lane)->watch;
    if (d->is_taken || d->failure != ERR_OK)
        return;
    struct policy_record *now = array_grow(d->now, d->n_now, &d->room_now, sizeof *now);
    if (now == NULL) {
        d->failure = ERR_HOST_NOMEM;
        return;
    }
    d->now = now;
    now[d->n_now++] = *r;
}

/* Writes the records of the event that has just ended to the temporary file. */
static void spool_records(struct snapshot_export *d, int64_t event, uint64_t time_ns)
{
    for (size_t i = 0; i < d->n_now && d->failure == ERR_OK; i++) {
        const struct snapshot_export_record row = {.record = d->now[i], .event = event, .time_ns = time_ns};
        if (fwrite(&row, sizeof row, 1, d->spool) != 1)
            d->failure = ERR_IO;
        d->n_records++;
    }
    d->n_now = 0;
}

static void take_block(void *export, const struct block_view *b)
{
    struct snapshot_export *d = export;
    assert(d->n_blocks == 0 || d->blocks[d->n_blocks - 1].view.addr <= b->addr);     /* bsearch relies on it */
    struct snapshot_export_block *blocks = array_grow(d->blocks, d->n_blocks, &d->room_blocks, sizeof *blocks);
    if (blocks == NULL) {
        d->failure = ERR_HOST_NOMEM;
        return;
    }
    d->blocks = blocks;
    blocks[d->n_blocks++] = (struct snapshot_export_block){.view = *b};
}

void snapshot_export_take_state(struct snapshot_export *d, const struct lane *l)
{
    if (d->is_taken || d->failure != ERR_OK)
        return;
    d->is_taken = true;
    if (!pytorch_export(l->policy, &d->allocator)) {
        d->failure = ERR_UNSUPPORTED;
        return;
    }
    d->conf = strdup(d->allocator.conf);
    if (d->conf == NULL || l->policy->ops->walk(l->policy, take_block, d) != ERR_OK)
        d->failure = ERR_HOST_NOMEM;
}

/* After each event; `ev` is NULL when the start state is placed. */
static void take_event(struct lane_watch *watch, const struct lane *l, const struct event *ev, uint64_t done)
{
    struct snapshot_export *d = (struct snapshot_export *)watch;
    if (ev == NULL && l->is_restored)
        d->n_now = 0;                    /* the recorded state was there before the recording: it has no records */
    spool_records(d, (int64_t)done - 1, ev == NULL ? 0 : ev->time_ns);
    if (done == d->event && (ev == NULL || done > 0))
        snapshot_export_take_state(d, l);
}

void snapshot_export_listen(struct snapshot_export *d, struct lane *l)
{
    d->watch.event = take_event;
    l->watch = &d->watch;
    l->observer.record = take_record;
}
