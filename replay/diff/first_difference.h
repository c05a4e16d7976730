/*
 * Where two things part: the first event in which two traces differ, the first request that two policies place
 * differently and the first call to the device that only one of them makes.
 */
#ifndef REPLAY_REPLAY_DIFF_FIRST_DIFFERENCE_H
#define REPLAY_REPLAY_DIFF_FIRST_DIFFERENCE_H

#include "replay/engine/engine.h"

/* The same number of an event in both traces. */
struct trace_difference {
    bool     is_equal;               /* in kind, size, stream and pool of every event; times and places apart */
    uint64_t event;                  /* our number; equal in both up to here */
    bool     has[2];                 /* the trace has that event: false where it ended before */
    struct event ev[2];
};

/* The reader's errors. */
MUST_USE enum err trace_difference_find(struct trace_reader *a, struct trace_reader *b, struct trace_difference *out,
                            struct err_detail *why);

/* A call to the device and the event it was made in (-1: in the start state). */
struct difference_call {
    struct device_call call;
    int64_t event;
};

/* Two lanes over one trace, in one thread. */
struct run_difference {
    bool     is_placed_differently;        /* a request was placed differently, or refused by one of the two */
    int64_t  event;                  /* our number */
    uint64_t bytes;                  /* asked for */
    struct block block[2];           /* bytes 0: refused */
    bool     calls_differ;
    bool     has_call[2];            /* false: no further call at all */
    struct difference_call call[2];

    /* While it runs. */
    struct difference_watch { struct lane_watch base; struct run_difference *difference; int side; } watches[2];
    struct difference_answer *placed;      /* the first lane's answers of late, by event */
    int64_t   event_now[2];          /* of the event under way */
    struct difference_call *calls;         /* the first lane's that the second has not made yet: [next_call, n_calls) */
    size_t    n_calls, next_call, room_calls;
    struct device_log log[2];
    enum err  failure;
};

/* Watches two lanes, between lane_open and replay_run, which then has one thread and no audit: the devices' logs are
 * taken. Not moved in memory until then. ERR_HOST_NOMEM. */
MUST_USE enum err run_difference_listen(struct run_difference *p, struct lane *a, struct lane *b,
                                        struct err_detail *why);

/* After the run: what is left to compare. ERR_HOST_NOMEM where memory was short. */
MUST_USE enum err run_difference_finish(struct run_difference *p, struct err_detail *why);
void run_difference_close(struct run_difference *p);

#endif
