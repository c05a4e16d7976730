/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A run as a timeline for https://ui.perfetto.dev and chrome://tracing. Each run is a process:
 *
 *     counters   requested, allocated, active, reserved, inactive split       _/\__/\_
 *     slices     segments, and address ranges with pages mapped on demand     [=======]   [====]
 *                requests, by line of the program, with address and stack       [==] [=] [=====]
 *     instants   refused requests, marks                                       |     |
 *
 * While a lane runs, its lines go to a temporary file of its own. So memory hardly grows with the trace, and lanes in
 * several threads give the same file. Source of the format: "Trace Event Format" (Chromium).
 */
#ifndef REPLAY_REPLAY_EXPORT_PERFETTO_H
#define REPLAY_REPLAY_EXPORT_PERFETTO_H

#include "replay/engine/engine.h"
#include "base/intern.h"

#include <stdio.h>

/* X(name): the counters. All but the last are gauges of the meter. */
#define PERFETTO_COUNTERS(X) X(requested) X(allocated) X(active) X(reserved) X(inactive_split)
#define PERFETTO_ENUM(name) PERFETTO_##name,
enum perfetto_counter { PERFETTO_COUNTERS(PERFETTO_ENUM) PERFETTO_COUNTER_COUNT };
#undef PERFETTO_ENUM

/* The most slices and instants of a run; those beyond are only counted. Counters have no such limit. */
enum { PERFETTO_MARKS_MAX = 1 << 15, PERFETTO_REQUESTS_MAX = 1 << 15 };

/* A request that the run served. */
struct perfetto_request {
    int64_t  event;                  /* our number of the event that asked; -1: it was live at the start */
    uint64_t born_ns, freed_ns;
    uint64_t bytes, addr, block_bytes;
    uint16_t stream;
};

/* One counter in the current stretch of events: its highest value, its last value, and when. */
struct perfetto_track {
    uint64_t peak, peak_ns;
    uint64_t last, last_ns;
    uint64_t written;                /* the value of the last point */
    bool     is_written;
    uint64_t total_peak;             /* of the run so far, by the meter */
};

/* Zero is a valid beginning and end. Do not move it while the lane runs. */
struct perfetto {
    struct lane_watch watch;         /* first, so the two pointers convert */
    FILE    *spool;                  /* lines, each begun by a comma */
    unsigned pid;
    const struct trace_reader *trace;
    bool     has_times;              /* else the number of an event stands for its time in microseconds */
    uint64_t every_events, every_ns; /* length of a stretch: by time if every_ns is not 0, else by events */
    uint64_t n_in_stretch, stretch_ns;   /* events in the stretch; when it began */
    uint64_t now_ns;                 /* time of the last event that ended */
    struct perfetto_track tracks[PERFETTO_COUNTER_COUNT];
    struct device_log log;
    struct device_call *calls;       /* of the current event: its time is only known when it ends */
    struct meter_oom oom;            /* of the current event, if has_oom */
    bool     has_oom;
    size_t   n_calls, room_calls;
    struct pair_map   open;          /* open slices: (address, is it a range) -> number of the slice */
    uint64_t n_marks, n_left_out;    /* slices and instants written; left out */
    struct perfetto_slice { uint64_t addr, bytes; bool is_range; } *slices;      /* by number: all that were begun */
    size_t   n_slices, room_slices;
    struct perfetto_request *requests;       /* in order of birth, the first PERFETTO_REQUESTS_MAX */
    size_t   n_requests, room_requests;
    uint64_t n_requests_left_out;
    uint32_t *request_of;            /* by slot: number of its request, plus 1; 0: none */
    enum err failure;
};

/* Opens the temporary file and listens to a lane; call it between lane_open and replay_run. It takes the lane's watch,
 * its on_oom and its device's log, so the lane must run without audit. A stretch is as long as the distance of samples
 * in `cfg`. ERR_IO, ERR_HOST_NOMEM. */
MUST_USE enum err perfetto_listen(struct perfetto *p, unsigned pid, const char *name, struct lane *l,
                                  const struct trace_reader *trace, const struct replay_config *cfg,
                                  struct err_detail *err);

/* After the run: ends every open slice, and the counters. */
void perfetto_finish(struct perfetto *p, const struct lane *l);

/* Writes all runs as one file; reads the stacks of `trace`, which is the runs'. ERR_IO if a temporary file failed;
 * ERR_HOST_NOMEM, also if memory ran out in a run; the reader's errors. */
MUST_USE enum err perfetto_write(FILE *out, const struct perfetto *runs, size_t n, struct trace_reader *trace,
                                 const char *source, struct err_detail *err);
void perfetto_close(struct perfetto *p);

#endif
