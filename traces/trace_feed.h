/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Puts the events of one trace into another, changed: with other times, sizes and names of streams. What was live
 * before the first event becomes requests at the beginning. Beside what is live nothing is held, whatever the
 * number of events.
 *
 * Recorded addresses, segments and the numbers of the source are left out: a changed trace is no recording any more.
 */
#ifndef REPLAY_TRACES_TRACE_FEED_H
#define REPLAY_TRACES_TRACE_FEED_H

#include "traces/trace_copy.h"

/* One live request of the trace that is read. */
struct feed_live {
    uint64_t ptr;                    /* its name in the trace that is written; 0: the slot is vacant */
    uint64_t bytes;                  /* as read */
    uint64_t born;                   /* number of its event; UINT64_MAX: from before the first */
    uint32_t stack;                  /* if has_stack: as read, TRACE_NO_STACK: none */
    uint16_t stream;
    uint8_t  pool;
    bool     is_pending;             /* its free was requested */
    bool     has_stack;              /* it was looked up already */
};

struct trace_feed {
    struct trace_reader *in;
    struct trace_writer *out;
    struct feed_live *live;          /* by slot; trace_info.peak_live of them */
    uint64_t *next_ptr;              /* shared by the feeds of one writer */
    uint64_t shift_ns;               /* added to each time */
    double   factor;                 /* of sizes; 1: as they are */
    unsigned tag;                    /* 0 to 255; streams and pools of feeds with other tags are others */
    uint64_t number;                 /* of the next event */
    struct stack_copies stacks;
};

/* The factor is 1 and the tag 0 until the caller sets them. The reader, the writer and next_ptr are borrowed until
 * trace_feed_close. ERR_HOST_NOMEM. */
MUST_USE enum err trace_feed_open(struct trace_feed *f, struct trace_reader *in, struct trace_writer *out,
                                  uint64_t *next_ptr, struct err_detail *err);
void trace_feed_close(struct trace_feed *f);

/* Puts what is live, oldest first, each as a request at the time of `time_ns` + shift_ns. Without trace_feed_skip that
 * is what the recording begins with. */
MUST_USE enum err trace_feed_put_live(struct trace_feed *f, uint64_t time_ns, struct err_detail *err);

/* Puts the next event of the trace, which is `ev`. */
MUST_USE enum err trace_feed_put(struct trace_feed *f, const struct event *ev, struct err_detail *err);

/* Passes over the next event: of requests and frees only what is live is kept.
 * Settings and the making of pools are put. */
MUST_USE enum err trace_feed_skip(struct trace_feed *f, const struct event *ev, struct err_detail *err);

/* Puts a mark. */
MUST_USE enum err trace_feed_mark(struct trace_feed *f, const char *label, uint64_t time_ns, struct err_detail *err);

/* Puts a request like `live` once more, with another name, and makes it the request of the slot. `live` remembers its
 * stack from then on. */
MUST_USE enum err trace_feed_put_again(struct trace_feed *f, uint32_t slot, struct feed_live *live, uint64_t time_ns,
                                       struct err_detail *err);

#endif
