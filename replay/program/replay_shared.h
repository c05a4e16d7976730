/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * `replay --share a.zst,b.zst@+2s@8GiB,others=curve.csv --device 24GiB`: several processes on one card.
 */
#ifndef REPLAY_REPLAY_PROGRAM_REPLAY_SHARED_H
#define REPLAY_REPLAY_PROGRAM_REPLAY_SHARED_H

#include "replay/program/cli.h"

extern const struct answer_ops answer_of_shared;

#endif
