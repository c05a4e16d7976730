/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The steps of a program that repeats itself: training steps, or batches.
 *
 * Marks name the steps if the recording has them. Otherwise a step is the shortest run of requests that the requests
 * before it repeat in size, stream and pool, and after which as much is live as before it. The second condition keeps
 * the layers of one forward pass from counting as steps: each layer leaves its activations behind.
 */
#ifndef REPLAY_REPLAY_RECORDING_STEPS_H
#define REPLAY_REPLAY_RECORDING_STEPS_H

#include "base/err.h"
#include "traces/trace.h"

enum steps_how {
    STEPS_NONE,                      /* nothing repeats */
    STEPS_BY_MARK,                   /* from mark to mark of the label that stands most often */
    STEPS_BY_REPETITION,
};

struct steps {
    enum steps_how how;
    uint32_t label;                  /* STEPS_BY_MARK */
    uint64_t whole;                  /* steps recorded from beginning to end; 0: none */
    uint64_t requests;               /* STEPS_BY_REPETITION: in one step */
    int64_t  growth_bytes;           /* live bytes at the end of the last whole step, less those at its beginning */
    uint64_t first, end;             /* the last whole step: events [first, end), our numbers; 0, 0: none */
    uint64_t begin, begin_end;       /* the first whole step, likewise */
    uint64_t previous;               /* where the step before it begins; == first if it is the only one */
    bool     reach_refusal;          /* STEPS_BY_MARK: the recording ends with a refused request, the whole steps had at
                                      * least as much live at once as was live with it, and the last one kept nothing:
                                      * so the cut step, too, needs no more than they did */
};

/* Whether live memory grows from step to step, by what matters. */
bool steps_leak(const struct steps *s);

/* The events before which parts of a run end (replay_config.borders): where the first whole step begins, where it ends,
 * and, if there are several, where the last one ends. Returns how many; 0: there are no steps. */
unsigned steps_borders(const struct steps *s, uint64_t out[3]);

/* What was live before the first event. */
uint64_t steps_start_live_bytes(const struct trace_reader *trace);

/* Reads all events once. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err steps_find(struct trace_reader *trace, struct steps *out, struct err_detail *err);

#endif
