/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Which framework a shared library belongs to, by the library's name. The library that asks the driver for memory tells
 * whose allocator it is: programs often import a second framework that never asks.
 */
#ifndef REPLAY_CAPTURE_CALL_FRAMEWORK_H
#define REPLAY_CAPTURE_CALL_FRAMEWORK_H

#include <stddef.h>
#include <string.h>

/* In the file as FRAMEWORK's `other`: only ever appended. */
enum call_framework { CALL_FRAMEWORK_NONE, CALL_FRAMEWORK_PYTORCH, CALL_FRAMEWORK_JAX, CALL_FRAMEWORK_TENSORFLOW,
                      CALL_FRAMEWORKS };

/* `text`: a path, or a frame's text with one. The names are those of the wheels: jax-cuda12-plugin, jax-cuda13-plugin
 * and jax-rocm-plugin, tensorflow, torch. */
static inline enum call_framework call_framework_of(const char *text)
{
    static const struct { const char *part; enum call_framework is; } libraries[] = {
        { "xla_cuda_plugin.so", CALL_FRAMEWORK_JAX }, { "xla_rocm_plugin.so", CALL_FRAMEWORK_JAX },
        { "/libtensorflow_", CALL_FRAMEWORK_TENSORFLOW }, { "/_pywrap_tensorflow", CALL_FRAMEWORK_TENSORFLOW },
        { "/libc10_", CALL_FRAMEWORK_PYTORCH }, { "/libtorch_", CALL_FRAMEWORK_PYTORCH },
    };
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        if (strstr(text, libraries[i].part) != NULL)
            return libraries[i].is;
    return CALL_FRAMEWORK_NONE;
}

#endif
