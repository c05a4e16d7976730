/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "import/pytorch/frame_platform.h"

#include <stdbool.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* A drive, "C:\" or "C:/", at the begin of a path, which a blank or the text's begin precedes. */
static bool has_drive(const char *text)
{
    for (const char *colon = strchr(text, ':'); colon != NULL; colon = strchr(colon + 1, ':'))
        if (colon > text && is_letter(colon[-1]) && (colon - 1 == text || colon[-2] == ' ') &&
            (colon[1] == '\\' || colon[1] == '/'))
            return true;
    return false;
}

const char *frame_platform_word(const char *text)
{
    static const struct { const char *part, *word; } signs[] = {
        { "torch_npu", "npu" },    { "/opt/rocm", "rocm" },        { "c10/hip/", "rocm" },
        { "/torch/xpu/", "xpu" },  { "/usr/lib/wsl/", "wsl" },     { "/mnt/c/", "wsl" },
    };
    if (has_drive(text))
        return "windows";
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strstr(text, signs[i].part) != NULL)
            return signs[i].word;
    return NULL;
}
