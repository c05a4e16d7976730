/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * `replay --device cuda --calibrate`, which needs no trace.
 */
#ifndef REPLAY_REPLAY_PROGRAM_CMD_CALIBRATE_H
#define REPLAY_REPLAY_PROGRAM_CMD_CALIBRATE_H

#include "replay/program/cli.h"

extern const struct answer_ops answer_of_calibration;

#endif
