/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One rule, so that no two answers differ in it. */
#include "report/rows/partial_recording.h"

#include <string.h>

bool recording_is_partial(bool has_refusal, const char *begins, const char *ends)
{
    return has_refusal || strcmp(begins, "cut") == 0 || strcmp(ends, "cut") == 0;
}
