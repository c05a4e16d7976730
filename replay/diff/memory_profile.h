/*
 * What two traces ask for, side by side: what lives at their peaks, and what a step of each requests.
 */
#ifndef REPLAY_REPLAY_DIFF_MEMORY_PROFILE_H
#define REPLAY_REPLAY_DIFF_MEMORY_PROFILE_H

#include "traces/intern.h"
#include "traces/trace.h"

enum profile_side { PROFILE_A, PROFILE_B, PROFILE_SIDES };

/* How a step was found. */
enum step_how {
    STEP_NONE,                       /* nothing repeats: the whole trace stands for one */
    STEP_BY_MARK,                    /* between the last two marks with the same label */
    STEP_BY_REPETITION,              /* the last requests, which those before them repeat in size, stream and pool */
};

struct profile_step {
    enum step_how how;
    uint32_t label;                  /* STEP_BY_MARK */
    uint64_t first, end;             /* events [first, end), our numbers */
    uint64_t repeated;               /* STEP_BY_REPETITION: requests before them that fit the pattern */
    uint64_t requests, requested_bytes;      /* in the step */
    uint64_t peak_bytes, least_bytes;        /* requested and not released at once */
    uint64_t duration_ns;
};

/* One trace. Bytes are as requested. */
struct profile {
    uint64_t peak_bytes;             /* most requested and not released at once */
    uint64_t peak_event;             /* our number of the event that reached it first; UINT64_MAX: the start state */
    uint64_t peak_requests;          /* live then */
    uint64_t start_bytes, start_requests;    /* live before the first event */
    struct profile_step step;
};

/* Requests that belong together, of both traces. */
struct profile_row {
    struct profile_share {
        uint64_t peak_bytes, peak_requests;  /* live at the peak */
        uint64_t step_bytes, step_requests;  /* made in the step */
    } side[PROFILE_SIDES];
};

/* Rows with names. */
struct profile_table {
    struct text_table   names;
    struct profile_row *rows;        /* by number of the name */
    size_t              room;
};

enum { PROFILE_CLASSES = 65 };

struct profile_pair {
    struct profile       of[PROFILE_SIDES];
    struct profile_row   classes[PROFILE_CLASSES];   /* by profile_class */
    struct profile_table lines;      /* of the program: see stack_frame_of_program */
};

/* Reads one of the two traces, twice over. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err profile_read(struct trace_reader *trace, enum profile_side side, struct profile_pair *out,
                               struct err_detail *why);
void profile_close(struct profile_pair *p);

/* Requests up to this size come from PyTorch's small segments (kSmallSize, c10/cuda/CUDACachingAllocator.cpp). */
#define PROFILE_SMALL_MAX (UINT64_C(1) << 20)

/* The class of a request: the smallest k with bytes <= 2^k, at least 9: PyTorch's smallest block has 512 bytes. */
unsigned profile_class(uint64_t bytes);

/* The number of the shortest tail that is repeated by what stands before it, so that both together are the longest
 * stretch; 0: none. `*repeated`: how many elements before the tail fit. ERR_HOST_NOMEM. */
MUST_USE enum err profile_period(const uint64_t *values, size_t n, size_t *period, size_t *repeated,
                                 struct err_detail *why);

#endif
