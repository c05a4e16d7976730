/*
 * Where two things part: the first event in which two traces differ, the first request that two policies place
 * differently and the first call to the device that only one of them makes.
 */
#ifndef REPLAY_REPLAY_DIFF_FIRST_DIFFERENCE_H
#define REPLAY_REPLAY_DIFF_FIRST_DIFFERENCE_H

#include "replay/engine/engine.h"

/* The same number of an event in both traces. */
struct part_traces {
    bool     is_equal;               /* in kind, size, stream and pool of every event; times and places apart */
    uint64_t event;                  /* our number; equal in both up to here */
    bool     has[2];                 /* the trace has that event: false where it ended before */
    struct event ev[2];
};

/* The reader's errors. */
MUST_USE enum err part_find(struct trace_reader *a, struct trace_reader *b, struct part_traces *out,
                            struct err_detail *why);

/* A call to the device and the event it was made in (-1: in the start state). */
struct part_call {
    struct device_call call;
    int64_t event;
};

/* Two lanes over one trace, in one thread. */
struct part_runs {
    bool     is_placed_apart;        /* a request was placed differently, or refused by one of the two */
    int64_t  event;                  /* our number */
    uint64_t bytes;                  /* asked for */
    struct block block[2];           /* bytes 0: refused */
    bool     calls_differ;
    bool     has_call[2];            /* false: no further call at all */
    struct part_call call[2];

    /* While it runs. */
    struct part_watch { struct lane_watch base; struct part_runs *part; int side; } watches[2];
    struct part_placed *placed;      /* the first lane's answers of late, by event */
    int64_t   event_now[2];          /* of the event under way */
    struct part_call *calls;         /* the first lane's that the second has not made yet: [next_call, n_calls) */
    size_t    n_calls, next_call, room_calls;
    struct device_log log[2];
    enum err  failure;
};

/* Watches two lanes, between lane_open and replay_run, which then has one thread and no audit: the devices' logs are
 * taken. Not moved in memory until then. ERR_HOST_NOMEM. */
MUST_USE enum err part_listen(struct part_runs *p, struct lane *a, struct lane *b, struct err_detail *why);

/* After the run: what is left to compare. ERR_HOST_NOMEM where memory was short. */
MUST_USE enum err part_finish(struct part_runs *p, struct err_detail *why);
void part_close(struct part_runs *p);

#endif
