/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The memory profile of a trace: what is live at its peak, and what its last whole step requests (replay/coverage/
 * steps.h). Two profiles stand side by side, by size class and by line of the program.
 *
 *     requested      peak
 *        ^          _/\_
 *        |    _/\__/    \__/\_
 *        |  _/                 \
 *        +-----------|step|------> events
 */
#ifndef REPLAY_REPLAY_DIFF_MEMORY_PROFILE_H
#define REPLAY_REPLAY_DIFF_MEMORY_PROFILE_H

#include "base/intern.h"
#include "replay/recording/steps.h"
#include "traces/trace.h"

enum profile_side { PROFILE_A, PROFILE_B, PROFILE_SIDES };

struct profile_step {
    struct steps found;              /* STEPS_NONE: the whole trace counts as one step */
    uint64_t first, end;             /* events [first, end), our numbers */
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

/* Reads the whole of one of the two traces, three times. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err profile_read(struct trace_reader *trace, enum profile_side side, struct profile_pair *out,
                               struct err_detail *err);
void profile_close(struct profile_pair *p);

/* The size class of a request: the smallest k >= 9 with bytes <= 2^k. PyTorch's smallest block has 512 = 2^9 bytes. */
unsigned profile_class(uint64_t bytes);

#endif
