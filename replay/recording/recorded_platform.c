/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/recording/recorded_platform.h"

#include "import/pytorch/frame_platform.h"
#include "replay/recording/recorded_settings.h"

#include <string.h>

/* Frames of a program repeat: the first stacks name every folder that matters. */
enum { STACKS_LOOKED_AT = 4096, FRAMES_LOOKED_AT = 64 };

static enum platform frame_platform(const char *frame)
{
    enum platform p = PLATFORM_UNKNOWN;
    const char *word = frame_platform_word(frame);
    if (word != NULL)
        return platform_find(word, &p) ? p : PLATFORM_UNKNOWN;
    return strstr(frame, " /") != NULL ? PLATFORM_LINUX : PLATFORM_UNKNOWN;
}

/* Of several the most particular: the last of the enum. */
static enum platform stack_platform(const struct trace_reader *trace, uint32_t stack)
{
    const char *const *frames;
    const size_t n = trace_stack(trace, stack, &frames);
    enum platform found = PLATFORM_UNKNOWN;
    for (size_t i = 0; i < n && i < FRAMES_LOOKED_AT; i++) {
        const enum platform p = frame_platform(frames[i]);
        found = p > found ? p : found;
    }
    return found;
}

enum platform recorded_platform(const struct trace_reader *trace)
{
    enum platform found = PLATFORM_UNKNOWN;
    const char *release = trace_meta(trace, TRACE_META_RELEASE), *said = trace_meta(trace, TRACE_META_PLATFORM);
    if (said != NULL && platform_find(said, &found))
        return found;
    if (recorded_from_xla(trace))
        return PLATFORM_JAX;                 /* a profile that was imported before its platform was noted */
    if (release != NULL && strcmp(release, "npu") == 0)
        return PLATFORM_NPU;
    for (uint32_t s = 1; s <= trace_info(trace)->n_stacks && s <= STACKS_LOOKED_AT; s++) {
        const enum platform p = stack_platform(trace, s);
        found = p > found ? p : found;
    }
    return found;
}
