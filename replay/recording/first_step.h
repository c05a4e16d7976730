/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether a recording ends before the program's first step did, and what was still to come. Then what the program needs
 * is not known, whether or not a request was refused:
 *
 *     weights | forward pass |                 the recording ends, or a request is refused
 *                            ^ gradients and the states of the optimizer are not in any figure
 *
 * One that ends with the first step of the optimizer shows all of it, but not its states beside a pass:
 *
 *     weights | forward and backward pass | gradients, states |      and then: weights, states | a pass
 *
 * A recording that begins in mid-run may show what it shows for the hundredth time: of it only a graph, and no step of
 * the optimizer after it, tells that more is to come.
 */
#ifndef REPLAY_REPLAY_RECORDING_FIRST_STEP_H
#define REPLAY_REPLAY_RECORDING_FIRST_STEP_H

#include "replay/recording/to_come.h"

struct first_step {
    enum reached reached;            /* before the refusal that ended the program, or at the end of the recording */
    bool is_cut;                     /* it ends before the first step did */
    bool is_refused;                 /* by a refused request */
    uint64_t next_bytes;             /* live at once in the next step, of one that ends with the optimizer's: most
                                      * before that, and its states; 0: it ends elsewhere */
    bool learns;                     /* gradients or steps of an optimizer were computed, or nothing tells */
    struct to_come to_come;          /* told only of one that is cut */
};

/* Nothing is told of a program that was seen to end. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err first_step_read(struct trace_reader *trace, const struct coverage *c, struct first_step *out,
                                  struct err_detail *err);

/* "The program died in its first forward pass, so how much more it needs is not known." and what is still to come.
 * Nothing if it is not cut. */
void first_step_say(struct words *w, const struct first_step *f);

/* The same as a paragraph for a screen, and an empty line after it. */
void first_step_print(FILE *out, const struct first_step *f);

/* The members of answers/first_step.def. */
void first_step_json(struct json_writer *json, const struct first_step *f);

#endif
