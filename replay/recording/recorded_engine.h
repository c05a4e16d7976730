/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether a recording is of a serving engine that has its model on several cards, as far as its call stacks tell.
 */
#ifndef REPLAY_REPLAY_RECORDING_RECORDED_ENGINE_H
#define REPLAY_REPLAY_RECORDING_RECORDED_ENGINE_H

#include "traces/trace.h"

/* "vLLM" or "SGLang" if memory was asked for while its cards talked to each other; such an engine ends under expandable
 * segments, whose memory its own all-reduce cannot share (vllm-project/vllm#42609, sgl-project/sglang#27593). NULL: the
 * stacks do not show it. Static. */
const char *recorded_spread_engine(const struct trace_reader *trace);

/* Why no one is told to set them there: a clause. */
#define SPREAD_ENGINE_WHY                                                                                          \
    "with several cards the engine's own all-reduce cannot share such memory, and most releases end while they " \
    "capture graphs"

#endif
