/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The captures of CUDA graphs in a recording, and the requests that each made.
 *
 *     events   ... | begin  requests and frees of the capture  end | frees after it ... | begin  the next capture ...
 *                  |<------------------ region of the capture ------------------------->|
 *
 * A private pool serves the requests of captures only, so what happens outside of them does not change its size.
 */
#ifndef REPLAY_REPLAY_GRAPHS_CAPTURES_H
#define REPLAY_REPLAY_GRAPHS_CAPTURES_H

#include "base/err.h"
#include "traces/trace.h"

/* A request that was made in a capture. */
struct graph_request {
    uint64_t bytes;
    uint32_t capture;                /* in which it was made */
    uint32_t line;                   /* number of the program's line that made it; 0 without stacks */
    uint32_t freed_in;               /* the capture in whose region it was freed; UINT32_MAX: none */
    uint16_t stream;                 /* dense */
    bool     is_freed_inside;        /* between the begin and the end of its own capture */
    bool     is_once;                /* the first capture on its stream made it for all: a library's workspace */
};

/* A request or free of a captured request. */
struct graph_event {
    uint64_t event;                  /* our number */
    uint64_t time_ns;
    uint32_t request;                /* index into captures.requests */
    uint32_t capture;                /* in whose region it lies */
    uint8_t  kind;                   /* enum event_kind: ALLOC or a free */
    bool     is_inside;              /* between the begin and the end of a capture */
};

struct graph_capture {
    uint64_t begin, end;             /* events [begin, end): our numbers */
    uint64_t pool[2];                /* id of the pool that it was recorded into */
    uint16_t stream;                 /* dense */
    uint8_t  pool_number;            /* dense */
    uint32_t first_on_stream;        /* the first capture on its stream: itself or an earlier one */
    bool     has_once;               /* it made requests for all */
    bool     is_matched;             /* a later capture on its stream does the same work: see alike.h */
    uint32_t first_request, n_requests;
    uint32_t first_event, n_events;  /* of its region: range of captures.events */
    uint64_t peak_bytes;             /* most of its own requests that were live at once, as requested */
};

/* Two captures side by side. */
struct alignment {
    uint32_t a, b;
    uint32_t *other;                 /* by request of `a`: the request of `b`, UINT32_MAX: none. Both count from the
                                      * first request of their capture. NULL: not made yet */
    bool is_alike;                   /* all that the captures keep corresponds, apart from what is made once */
};

/* How the captures were found. */
enum captures_how {
    CAPTURES_NONE,
    CAPTURES_BY_RECORD,              /* their begins and ends were recorded */
    CAPTURES_BY_POOL,                /* by the pools that captures make for themselves; a shared pool counts as one */
    CAPTURES_MIXED,                  /* the pools were used in turns, so they do not tell the captures apart */
};

struct captures {
    struct trace_reader  *trace;     /* borrowed */
    enum captures_how     how;
    struct graph_capture *at;        /* n of them, in the order recorded */
    struct graph_request *requests;
    struct graph_event   *events;
    uint64_t             *around;    /* n_around events that a program without graphs does not have, ascending: controls
                                      * of graphs, what torch.cuda.graph flushes, the state of random numbers */
    size_t   n, n_requests, n_events, n_around;
    size_t   room, requests_room, events_room, around_room;
    size_t   n_cross;                /* of its events: frees inside a capture of another one's request */
    struct alignment *with_first;    /* by capture: with the first on its stream, made when it is asked for */
    struct alignment  last;          /* of other captures: the last one that was made */
    uint64_t cells_left;             /* work that alignments may still take: see alike.h */
    uint32_t *score;                 /* their table, score_room cells */
    size_t   score_room;
    bool     has_lines;              /* the recording has call stacks */
    bool     has_earlier;            /* private pools held memory before the recording began */
};

/* Reads the events of a trace twice. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err captures_read(struct trace_reader *trace, struct captures *out, struct err_detail *err);
void captures_close(struct captures *c);

#endif
