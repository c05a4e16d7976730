/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What another way of training would save of what is full: each lever is tried on the recording (replay/technique).
 */
#ifndef REPLAY_REPLAY_WHY_LEVERS_H
#define REPLAY_REPLAY_WHY_LEVERS_H

#include "base/err.h"
#include "traces/trace.h"

#include <stdbool.h>

/* From LEVER_BF16 on another precision: a recording tells no type, so they hold if what was recorded is of 32 bits. */
enum lever { LEVER_HALF_BATCH, LEVER_CHECKPOINT, LEVER_SGD, LEVER_BF16, LEVER_AUTOCAST, LEVER_STATES_8, LEVER_KINDS };

/* Of the most that is live at once. */
struct levers {
    bool     is_tried[LEVER_KINDS];  /* false: nothing tells what the lever touches */
    bool     is_taken[LEVER_KINDS];  /* `replay technique` is known to take it on this recording */
    uint64_t saves[LEVER_KINDS];     /* bytes; 0: nothing */
};

/* "half-batch" */
const char *lever_word(enum lever lever);

/* Tries them, but nothing that changes a backward pass or a step if the program has none (`learns`), not checkpointing
 * if the program does that already, nor weights in 16 bits and autocast if copies of parameters in half their size show
 * that it computes under autocast. Recordings of more than 2^20 events, and those without what a technique needs, are
 * not tried. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err levers_try(struct trace_reader *trace, bool learns, bool is_checkpointing, struct levers *out,
                             struct err_detail *err);

#endif
