/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/shrink/shrink_verdict.h"

enum err shrink_verdict(struct trace_reader *trace, const struct device_choice *device, enum verdict_kind *out,
                        struct err_detail *err)
{
    const struct replay_config cfg = { .threads = 1 };
    struct why why;
    const enum err e = why_read(trace, false, device, &cfg, &why, err);
    *out = why.verdict;
    why_close(&why);
    return e;
}
