/*
 * A run as a timeline for https://ui.perfetto.dev and chrome://tracing: what is requested, allocated, active, reserved
 * and inactively split as counters, segments as slices, refusals and marks as instants. Each run is a process.
 *
 * Source of the format: "Trace Event Format" (Chromium). Lines go to a temporary file while a lane runs, so memory does
 * not grow with the trace, and lanes in several threads give the same file.
 */
#ifndef REPLAY_REPLAY_EXPORT_PERFETTO_H
#define REPLAY_REPLAY_EXPORT_PERFETTO_H

#include "replay/engine/engine.h"
#include "traces/intern.h"

#include <stdio.h>

/* X(name): the counters; all but the last are gauges of the meter. */
#define PERFETTO_COUNTERS(X) X(requested) X(allocated) X(active) X(reserved) X(inactive_split)
#define PERFETTO_ENUM(name) PERFETTO_##name,
enum perfetto_counter { PERFETTO_COUNTERS(PERFETTO_ENUM) PERFETTO_COUNTER_COUNT };
#undef PERFETTO_ENUM

/* Slices and instants of a run at most; what is beyond is counted. Counters are kept whole. */
enum { PERFETTO_MARKS_MAX = 1 << 15 };

/* One counter in the stretch of events that is under way: its highest value, the last, and when. */
struct perfetto_track {
    uint64_t peak, peak_ns;
    uint64_t last, last_ns;
    uint64_t written;                /* the value of the last point */
    bool     is_written;
    uint64_t total_peak;             /* of the run so far, as the meter has it */
};

/* Zero is a valid beginning and end; not moved in memory while the lane runs. */
struct perfetto {
    struct lane_watch watch;         /* first, so the two pointers convert */
    FILE    *spool;                  /* lines, each with a comma in front of it */
    unsigned pid;
    const struct trace_reader *trace;
    bool     has_times;              /* otherwise an event's number stands for its microseconds */
    uint64_t every_events, every_ns; /* length of a stretch: by number, or else by time */
    uint64_t n_in_stretch, stretch_ns;
    uint64_t now_ns;                 /* of the event that has ended last */
    struct perfetto_track tracks[PERFETTO_COUNTER_COUNT];
    struct device_log log;
    struct device_call *calls;       /* of the event under way, whose time is told behind it */
    struct meter_oom oom;            /* the same, if has_oom */
    bool     has_oom;
    size_t   n_calls, room_calls;
    struct pair_map   open;          /* slices: address and whether it is a range, to a number */
    uint64_t n_marks, n_left_out;
    uint64_t *slice_bytes;           /* by that number */
    size_t   n_slices, room_slices;
    enum err failure;
};

/* Opens the temporary file and listens to a lane, between lane_open and replay_run: its watch, its on_oom and its
 * device's log are taken, so there is no audit beside it. Of cfg the distance of samples counts. ERR_IO. */
MUST_USE enum err perfetto_listen(struct perfetto *p, unsigned pid, const char *name, struct lane *l,
                                  const struct trace_reader *trace, const struct replay_config *cfg,
                                  struct err_detail *why);

/* After the run: what is still open ends. */
void perfetto_finish(struct perfetto *p, const struct lane *l);

/* Writes all runs as one file. ERR_IO where a temporary file failed, ERR_HOST_NOMEM. */
MUST_USE enum err perfetto_write(FILE *out, const struct perfetto *runs, size_t n, const char *source,
                                 struct err_detail *why);
void perfetto_close(struct perfetto *p);

#endif
