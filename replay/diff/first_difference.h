/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The first difference: the first event in which two traces differ; the first request that two policies place
 * differently, and the first call to the device in which they differ.
 *
 *     event      0      1      2      3      4      5
 *     A          = 0x00 = 0x40 = 0x80 ! 0xc0 ...           first placement that differs: event 3
 *     B          = 0x00 = 0x40 = 0x80 ! 0x20 ...
 *     calls of A   malloc                      malloc      first call that differs: A's malloc in event 5,
 *     calls of B   malloc                                  if B makes no further call
 */
#ifndef REPLAY_REPLAY_DIFF_FIRST_DIFFERENCE_H
#define REPLAY_REPLAY_DIFF_FIRST_DIFFERENCE_H

#include "replay/engine/engine.h"

struct trace_difference {
    bool     is_equal;               /* in kind, size, stream and pool of every event; times and addresses may differ */
    uint64_t event;                  /* our number of the first event that differs, the same in both traces */
    bool     has[2];                 /* false: that trace ended before */
    struct event ev[2];
};

/* Reads both traces up to the first event that differs. The reader's errors. */
MUST_USE enum err trace_difference_find(struct trace_reader *a, struct trace_reader *b, struct trace_difference *out,
                            struct err_detail *err);

/* A call to the device, and our number of the event that made it; -1: the start state. */
struct difference_call {
    struct device_call call;
    int64_t event;
};

/* Two lanes over one trace, in one thread. Zero is a valid beginning and end. */
struct run_difference {
    bool     is_placed_differently;  /* a request was placed differently, or refused by only one of the two */
    int64_t  event;                  /* our number of that request */
    uint64_t bytes;                  /* it asked for */
    struct block block[2];           /* the answers; bytes 0: refused */
    bool     calls_differ;
    bool     has_call[2];            /* false: that lane makes no further call */
    struct difference_call call[2];

    /* While it runs. */
    struct difference_watch { struct lane_watch base; struct run_difference *difference; int side; } watches[2];
    struct difference_answer *placed;    /* the first lane's latest answers, by event */
    int64_t   event_now[2];          /* the current event of each lane */
    struct difference_call *calls;   /* [next_call, n_calls): made by the first lane, not yet by the second */
    size_t    n_calls, next_call, room_calls;
    struct device_log log[2];
    enum err  failure;
};

/* Begins to watch two lanes; call it between lane_open and replay_run. That run must have one thread and no audit,
 * since the devices' logs are taken. Do not move `p` until then. ERR_HOST_NOMEM. */
MUST_USE enum err run_difference_listen(struct run_difference *p, struct lane *a, struct lane *b,
                                        struct err_detail *err);

/* After the run: compares what is left. ERR_HOST_NOMEM, also if memory ran out during the run. */
MUST_USE enum err run_difference_finish(struct run_difference *p, struct err_detail *err);
void run_difference_close(struct run_difference *p);

#endif
