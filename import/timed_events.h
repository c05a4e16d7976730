/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Requests and their ends as profilers write them: of several devices, thread by thread, from mid-run on.
 *
 * An importer puts what it reads in any order, chooses a device, and lets the trace be written. The events are put in
 * order of time. What was live before the first event has no address of its own: each end of a request that the profile
 * does not begin is a block of the recorded start, and the rest of the first total is one block more. A request at an
 * address that is still live shows that the end of the one before was not recorded; it is ended there.
 */
#ifndef REPLAY_IMPORT_TIMED_EVENTS_H
#define REPLAY_IMPORT_TIMED_EVENTS_H

#include "base/input.h"
#include "traces/trace.h"

enum { TIMED_DEVICES = 64 };

struct timed_event {
    uint64_t time_ns, order;         /* order: in the file, from 0; no two are equal */
    uint64_t addr;
    uint64_t bytes;                  /* of the block */
    uint64_t requested;              /* of the request; equals `bytes` if the source has one size only */
    uint64_t stream;
    uint64_t allocated, reserved;    /* totals just after it, if has_totals; reserved 0: not recorded */
    uint32_t label;                  /* of a mark */
    uint32_t stack;
    uint8_t  kind;                   /* EVENT_ALLOC, EVENT_FREE, EVENT_MARK or EVENT_OOM */
    uint8_t  device;                 /* below TIMED_DEVICES; a mark belongs to all */
    bool     has_totals;
};

struct timed_events {
    const char *name;                /* the input's, for messages */
    struct trace_writer *w;
    struct sorted_runs *runs;
    uint64_t n;                      /* marks included */
    uint64_t per_device[TIMED_DEVICES];
    uint64_t n_unended;              /* requests without a recorded end whose address was handed out again */
    uint64_t n_start;                /* requests that the profile does not begin */
    uint64_t n_off;                  /* events after which the recorded total is not that of the events */
};

/* `name` is borrowed. ERR_HOST_NOMEM. */
MUST_USE enum err timed_events_open(struct timed_events *t, const char *name, struct trace_writer *w,
                                    struct err_detail *err);
void timed_events_close(struct timed_events *t);

/* ERR_HOST_NOMEM, ERR_IO (sorted_runs_put). */
MUST_USE enum err timed_events_put(struct timed_events *t, const struct timed_event *e, struct err_detail *err);

/* The device to take: `wanted`, or the only one with events if that is -1. ERR_USAGE lists them. *device is -1 if there
 * are no events at all. */
MUST_USE enum err timed_events_choose(const struct timed_events *t, int64_t wanted, int64_t *device,
                                      struct err_detail *err);

/* Writes the recorded start, the events of the device in order of time, all marks, and trace_info.recorded_*; facts and
 * notes are the caller's. Errors as of trace_put, sorted_runs_next. */
MUST_USE enum err timed_events_write(struct timed_events *t, int64_t device, struct err_detail *err);

/* Appends what the events show to be missing to notes[0, size), each as a line after a line break. */
void timed_events_note(const struct timed_events *t, char *notes, size_t size);

#endif
