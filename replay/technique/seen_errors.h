/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * How far estimates were off where a program was recorded both ways: seen_errors.def.
 */
#ifndef REPLAY_REPLAY_TECHNIQUE_SEEN_ERRORS_H
#define REPLAY_REPLAY_TECHNIQUE_SEEN_ERRORS_H

#include "replay/technique/technique.h"

/* Shares of the true peak in percent. */
struct error_shares { double reserved, live; };

struct seen_error {
    const char *words;               /* of the change: "checkpointing" */
    unsigned    n_pairs;             /* recordings of this tree that differ in the change */
    const char *pairs;               /* what they are, in words */
    struct error_shares of_pairs;
    unsigned    n_programs;          /* that ran both ways under PyTorch for this test alone */
    struct error_shares of_programs;
};

const struct seen_error *seen_error_of(enum technique_change change);

#endif
