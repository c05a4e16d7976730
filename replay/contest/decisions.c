/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A lane that is listened to. What a free makes the allocator do is told after the free, what a request makes it do
 * before it: calls wait in a list until the event is over.
 */
#include "replay/contest/decisions.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct decisions {
    struct lane_watch  watch;        /* first: it is handed back as this */
    gzFile             file;
    bool               is_short;     /* a line was lost */
    char              *path;
    struct device_call *calls;       /* of the event under way */
    size_t             n_calls, room;
};

enum err decisions_open(const char *path, struct decisions **out, struct err_detail *err)
{
    struct decisions *d = calloc(1, sizeof *d);
    if (d == NULL || (d->path = strdup(path)) == NULL) {
        free(d);
        return err_no_memory(err);
    }
    d->file = gzopen(path, "wb4");
    if (d->file == NULL) {
        (void)decisions_close(d, NULL);
        return err_at(err, ERR_IO, 0, path, "cannot be written");
    }
    d->is_short = gzputs(d->file, "contest 2\n") < 0;
    *out = d;
    return ERR_OK;
}

enum err decisions_close(struct decisions *d, struct err_detail *err)
{
    enum err e = ERR_OK;
    if (d == NULL)
        return ERR_OK;
    d->is_short |= d->file != NULL && gzclose(d->file) != Z_OK;
    if (d->is_short)
        e = err != NULL ? err_at(err, ERR_IO, 0, d->path, "could not be written to its end") : ERR_IO;
    free(d->path);
    free(d->calls);
    free(d);
    return e;
}

void decisions_put_trace(struct decisions *d, const char *stratum, const struct contest_trace *t)
{
    d->is_short |= gzprintf(d->file, "trace %s %s %" PRIu64 " %" PRIu64 " %s\n", stratum, t->digest, t->bound_bytes,
                            t->seed, t->text) <= 0;
}

static void put_call(struct decisions *d, const struct device_call *c)
{
    int n = 1;
    if (c->kind == DEVICE_CALL_MALLOC)
        n = gzprintf(d->file, "+ %" PRIu64 " %" PRIu64 "\n", c->addr, c->bytes);
    else if (c->kind == DEVICE_CALL_FREE)
        n = gzprintf(d->file, "- %" PRIu64 "\n", c->addr);
    else if (c->kind == DEVICE_CALL_CREATE)
        n = gzprintf(d->file, "c %u %" PRIu64 "\n", c->phys, c->bytes);
    else if (c->kind == DEVICE_CALL_RELEASE)
        n = gzprintf(d->file, "d %u\n", c->phys);
    else if (c->kind == DEVICE_CALL_MAP)
        n = gzprintf(d->file, "m %" PRIu64 " %" PRIu64 " %u\n", c->addr, c->bytes, c->phys);
    else if (c->kind == DEVICE_CALL_UNMAP)
        n = gzprintf(d->file, "u %" PRIu64 " %" PRIu64 "\n", c->addr, c->bytes);
    d->is_short |= n <= 0;
}

static void put_calls(struct decisions *d)
{
    for (size_t i = 0; i < d->n_calls; i++)
        put_call(d, &d->calls[i]);
    d->n_calls = 0;
}

static void take_call(void *arg, const struct device_call *c)
{
    struct decisions *d = arg;
    struct device_call *more = array_grow(d->calls, d->n_calls, &d->room, sizeof *more);
    d->is_short |= more == NULL;
    if (more == NULL)
        return;
    d->calls = more;
    d->calls[d->n_calls++] = *c;
}

static void take_event(struct lane_watch *w, const struct lane *l, const struct event *ev, uint64_t done)
{
    struct decisions *d = (struct decisions *)w;
    int n = 1;
    (void)done;
    if (ev == NULL || ev->kind == EVENT_ALLOC)
        put_calls(d);
    if (ev != NULL && ev->kind == EVENT_ALLOC)
        n = gzprintf(d->file, "a %u %" PRIu64 " %u %u %" PRIu64 "\n", ev->slot, ev->bytes, ev->stream, ev->pool,
                     l->live[ev->slot].addr);
    else if (ev != NULL && (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_COMPLETED))
        n = gzprintf(d->file, "f %u\n", ev->slot);
    else if (ev != NULL && ev->kind == EVENT_FLUSH)
        n = gzputs(d->file, "e\n");
    d->is_short |= n <= 0;
    put_calls(d);
}

enum err decisions_put_run(struct decisions *d, struct trace_reader *trace, const struct trial *t, const char *card,
                           struct err_detail *err)
{
    const struct replay_config cfg = { .threads = 1 };
    const struct device_log log = { take_call, d };
    struct lane lane;
    const uint64_t capacity = t->device.total_bytes == DEVICE_UNLIMITED ? 0 : t->device.total_bytes;
    d->watch.event = take_event;
    d->n_calls = 0;
    d->is_short |= gzprintf(d->file, "run %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %s\n", capacity, t->card_peak_bytes,
                            t->device_calls, t->spec->typed, card) <= 0;
    enum err e = lane_open(t->spec, &device_sim, &t->device, trace, 0, &lane, err);
    if (e != ERR_OK)
        return e;
    lane.calls = &log;
    lane.watch = &d->watch;
    e = replay_run(trace, &lane, 1, &cfg, err);
    if (e == ERR_OK)
        e = lane_failure(&lane, err);
    lane.calls = NULL;
    lane_close(&lane);
    return e;
}
