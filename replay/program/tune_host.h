/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay tune --host FILE`: settings of PyTorch's page-locked host memory. */
#ifndef REPLAY_REPLAY_PROGRAM_TUNE_HOST_H
#define REPLAY_REPLAY_PROGRAM_TUNE_HOST_H

#include "replay/program/cli.h"

extern const struct answer_ops answer_of_host;

#endif
