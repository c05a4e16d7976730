/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Where a recording was made, as far as its call stacks and its release tell.
 */
#ifndef REPLAY_REPLAY_RECORDING_RECORDED_PLATFORM_H
#define REPLAY_REPLAY_RECORDING_RECORDED_PLATFORM_H

#include "replay/recording/platform.h"
#include "traces/trace.h"

/* What the recording says itself, or the paths of files in its stacks. PLATFORM_UNKNOWN: nothing tells. */
enum platform recorded_platform(const struct trace_reader *trace);

#endif
