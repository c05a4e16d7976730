/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The memory profile of a trace: what is live at its peak, and what one step of the program requests. Two profiles
 * stand side by side, by size class and by line of the program.
 *
 *     requested      peak            A step is one iteration of a training loop:
 *        ^          _/\_             between the last two equal marks, or the shortest
 *        |    _/\__/    \__/\_      pattern that repeats at the end of the trace.
 *        |  _/                 \
 *        +-----------|step|------> events
 */
#ifndef REPLAY_REPLAY_DIFF_MEMORY_PROFILE_H
#define REPLAY_REPLAY_DIFF_MEMORY_PROFILE_H

#include "base/intern.h"
#include "traces/trace.h"

enum profile_side { PROFILE_A, PROFILE_B, PROFILE_SIDES };

/* How a step was found. */
enum step_how {
    STEP_NONE,                       /* nothing repeats: the whole trace counts as one step */
    STEP_BY_MARK,                    /* between the last two marks of the most frequent label */
    STEP_BY_REPETITION,              /* the last requests; those before them repeat size, stream and pool */
};

struct profile_step {
    enum step_how how;
    uint32_t label;                  /* STEP_BY_MARK */
    uint64_t first, end;             /* events [first, end), our numbers */
    uint64_t repeated;               /* STEP_BY_REPETITION: requests before the step that follow the pattern */
    uint64_t requests, requested_bytes;      /* in the step */
    uint64_t peak_bytes, least_bytes;        /* most and least live at once, as requested */
    uint64_t duration_ns;
};

/* One trace. Bytes are as requested; a request is live until the program frees it. */
struct profile {
    uint64_t peak_bytes;             /* most live at once */
    uint64_t peak_event;             /* our number of the event that reached it first; UINT64_MAX: the start state */
    uint64_t peak_requests;          /* live then */
    uint64_t start_bytes, start_requests;    /* live before the first event */
    struct profile_step step;
};

/* Requests of one size class or of one line, in both traces. */
struct profile_row {
    struct profile_share {
        uint64_t peak_bytes, peak_requests;  /* live at the peak */
        uint64_t step_bytes, step_requests;  /* requested in the step */
    } side[PROFILE_SIDES];
};

/* Rows with names. */
struct profile_table {
    struct text_table   names;
    struct profile_row *rows;        /* by the number of the name */
    size_t              room;
};

enum { PROFILE_CLASSES = 65 };

struct profile_pair {
    struct profile       of[PROFILE_SIDES];
    struct profile_row   classes[PROFILE_CLASSES];   /* by profile_class */
    struct profile_table lines;      /* by line of the program: see stack_frame_of_program */
};

/* Reads the whole of one of the two traces, twice. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err profile_read(struct trace_reader *trace, enum profile_side side, struct profile_pair *out,
                               struct err_detail *why);
void profile_close(struct profile_pair *p);

/* The size class of a request: the smallest k >= 9 with bytes <= 2^k. PyTorch's smallest block has 512 = 2^9 bytes. */
unsigned profile_class(uint64_t bytes);

/* Finds the period of the end of a sequence: the length of the last piece that the elements before it repeat, chosen so
 * that the piece and its repetitions together are longest; the shortest such piece. *period is 0 if nothing repeats.
 * *repeated: how many elements before the piece follow the pattern (at least *period). ERR_HOST_NOMEM. */
MUST_USE enum err profile_period(const uint64_t *values, size_t n, size_t *period, size_t *repeated,
                                 struct err_detail *why);

#endif
