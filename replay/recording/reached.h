/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * How far a program came in its first step, as the phases of its requests and what repeats tell.
 */
#ifndef REPLAY_REPLAY_RECORDING_REACHED_H
#define REPLAY_REPLAY_RECORDING_REACHED_H

#include "replay/recording/coverage.h"
#include "replay/recording/phases.h"

enum reached {
    REACHED_UNKNOWN,                 /* no Python stacks were recorded, and nothing repeats */
    REACHED_SETUP,                   /* before its first forward pass, */
    REACHED_FORWARD,                 /* in it, */
    REACHED_BACKWARD,                /* in its first backward pass, */
    REACHED_OPTIMIZER,               /* in its first optimizer step, */
    REACHED_FIRST_STEP,              /* before it repeated a step, whose passes no module tells apart, */
    REACHED_STEPS,                   /* or after it went through all of them, or through several forward passes */
};

/* Live memory comes down in every step: if it did so less often, none was repeated. */
enum { TURNS_OF_STEPS = 2 };

/* At event `moment`. `turns_before`: as struct larger_input has it. */
enum reached reached_at(const struct coverage *c, const struct phases *p, uint64_t moment, unsigned turns_before);

/* Whether it came to its first step and not through it. */
bool reached_is_before_a_step(enum reached r);

/* In the first forward pass, backward pass or step of the optimizer: the model is made. */
bool reached_is_in_passes(enum reached r);

/* Whether a stretch of the phase begins before the moment. */
bool phase_has_begun(const struct phases *p, enum phase phase, uint64_t moment);

/* "forward"; NULL: not known. */
const char *reached_word(enum reached r);

/* "in its first forward pass"; empty if it is not before a step. */
const char *reached_phrase(enum reached r);

#endif
