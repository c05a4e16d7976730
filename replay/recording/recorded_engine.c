/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/recording/recorded_engine.h"

#include <string.h>

/* Frames of a program repeat: the first stacks name every folder that matters. */
enum { STACKS_LOOKED_AT = 4096, FRAMES_LOOKED_AT = 64 };

/* On one card neither engine runs code of these folders: an all-reduce returns before it. */
static const char *engine_of(const char *frame)
{
    if (strstr(frame, "vllm/distributed/device_communicators/") != NULL)
        return "vLLM";
    return strstr(frame, "sglang/srt/distributed/device_communicators/") != NULL ? "SGLang" : NULL;
}

const char *recorded_spread_engine(const struct trace_reader *trace)
{
    const char *const *frames, *found = NULL;
    for (uint32_t s = 1; s <= trace_info(trace)->n_stacks && s <= STACKS_LOOKED_AT && found == NULL; s++) {
        const size_t n = trace_stack(trace, s, &frames);
        for (size_t i = 0; i < n && i < FRAMES_LOOKED_AT && found == NULL; i++)
            found = engine_of(frames[i]);
    }
    return found;
}
