/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether a program died of an input that is larger than those before, and freed: one long batch, a curriculum.
 *
 * Requests of one operation at one line of the program are compared: those that are live at the moment with those of
 * earlier turns, by their sizes, and by all that the operation holds at once, for a longer input may be more requests.
 * What a leak keeps of earlier passes counts as well: an operation that did as much in one of them is not larger.
 * Without stacks all requests are, by their sizes.
 */
#ifndef REPLAY_REPLAY_RECORDING_LARGER_INPUT_H
#define REPLAY_REPLAY_RECORDING_LARGER_INPUT_H

#include "base/err.h"
#include "replay/recording/phases.h"
#include "traces/trace.h"

/* Bytes. */
struct larger_input {
    uint64_t largest_before;         /* the largest request that was served */
    unsigned turns_before;           /* how often live memory came down again before the last turn */
    uint64_t last_turn;              /* our number of the event with which the last turn begins */
    bool     is_larger;              /* most of what the last turn requested is larger than all before */
    double   times;                  /* as large as the median of the earlier ones; of many operations the mean */
    double   times_most;             /* as large as the largest of the earlier ones, likewise */
    uint64_t bytes;                  /* of what is larger, with the request that was refused */
    uint64_t need_bytes;             /* live at most in the whole turn, if all of it grows as the operation does
                                      * that grows most, of those that held a share that tells */
    uint64_t turn_bytes;             /* live at most in the step that was cut off, if it takes as much on top of what
                                      * stays as the largest before. 0: no step was made */
    uint64_t rise_bytes;             /* the low of live memory rose by so much from the second quarter to the last */
    bool     is_open;                /* it is larger by the number of requests: how many would follow is not known, and
                                      * need_bytes is what it needs at least */
    bool     is_trend;               /* inputs got larger again and again */
    uint64_t over_most;              /* so much less it would be if as large as the largest of the earlier ones */
};

/* Looks at what is live before event `moment`, at which `asked_bytes` are refused. ERR_HOST_NOMEM, the reader's
 * errors. */
MUST_USE enum err larger_input_find(struct trace_reader *trace, const struct phases *phases, uint64_t moment,
                                    uint64_t asked_bytes, struct larger_input *out, struct err_detail *err);

#endif
