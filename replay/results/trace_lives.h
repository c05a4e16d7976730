/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The requests of a trace as lives, for a page that draws each of them, and what was recorded beside them.
 */
#ifndef REPLAY_REPLAY_RESULTS_TRACE_LIVES_H
#define REPLAY_REPLAY_RESULTS_TRACE_LIVES_H

#include "replay/recording/categories.h"
#include "replay/recording/steps.h"
#include "replay/results/recorded_reserved.h"
#include "report/measure/lives.h"
#include "base/intern.h"
#include "traces/trace.h"

enum {
    LIVES_MAX = 200000,              /* requests of a trace that are drawn one by one */
    LIVE_SAMPLES = 1024,             /* moments, evenly spaced, at which all live bytes are known */
    MARKS_MAX = 2000,
    FLUSHES_MAX = 4000,
    STEPS_DRAWN_MAX = 4000,
    RECORDED_REFUSALS_MAX = 64,               /* requests that were refused when recorded */
    FRAME_BYTES_MAX = 300,           /* of a frame's text */
    NUMBERED_MAX = 1000000,          /* events of a trace whose numbers in the source are all kept */
};

struct trace_lives {
    struct lives requests;           /* by birth; LIVES_MAX at most */
    uint64_t  n_events;
    uint64_t  live_peak_moment;      /* the first at which most requested bytes were live */
    uint64_t  live[LIVE_SAMPLES + 1];        /* requested bytes of all live requests, drawn or not, at moment
                                              * n_events * i / LIVE_SAMPLES */
    uint8_t  *categories;            /* by request: enum category, and CATEGORY_KINDS more if it is a guess; NULL: not
                                      * looked for, as of a trace with more than LIVES_MAX requests: the rules compare
                                      * each with all */
    int64_t  *places;                /* by request: its event as results name events; -1: the start */
    uint32_t *freers;                /* by request: the stack of its free, as life.stack; 0: not recorded, as if all
                                      * are those of their requests, which PyTorch writes if it records no others */
    uint64_t *numbers;               /* by event: its number in the source; NULL: not kept, there are none, or they do
                                      * not rise */
    struct trace_mark { uint64_t moment; uint32_t label; } *marks;   /* the first MARKS_MAX */
    size_t    n_marks, room_marks;
    uint64_t  n_all_marks;
    uint64_t *flushes;               /* moments: the program gave cached memory back; the first FLUSHES_MAX */
    size_t    n_flushes, room_flushes;
    uint64_t *steps;                 /* moments: where each whole step begins, and where the last one ends; the first
                                      * STEPS_DRAWN_MAX */
    size_t    n_steps, room_steps;
    struct trace_refusal { uint64_t moment, bytes; } *refusals;     /* as recorded: the first RECORDED_REFUSALS_MAX */
    size_t    n_refusals, room_refusals;
    struct recorded_reserved reserved;
    struct text_table  frames;       /* of the drawn requests' stacks */
    struct stack_table stacks;       /* life.stack is a number of these; 0: none */
    uint32_t *lines;                 /* by stack - 1: the frame that tells a person where it comes from */
    size_t    room_lines;
};

/* Reads a trace from end to end, then what was recorded beside the requests that stay; `steps`: its steps, NULL: not
 * looked for. ERR_HOST_NOMEM; the reader's errors. Closed with trace_lives_close, also after an error. */
MUST_USE enum err trace_lives_read(struct trace_reader *trace, const struct steps *steps, struct trace_lives *out,
                                   struct err_detail *err);
void trace_lives_close(struct trace_lives *t);

#endif
