/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What `why` says of a recording and of what is left of it: a refusal that became another one is told. */
#ifndef REPLAY_REPLAY_SHRINK_SHRINK_VERDICT_H
#define REPLAY_REPLAY_SHRINK_SHRINK_VERDICT_H

#include "replay/results/result.h"
#include "replay/why/why.h"

/* The verdict on a card, under the recorded policy. why_read's errors. */
MUST_USE enum err shrink_verdict(struct trace_reader *trace, const struct device_choice *device,
                                 enum verdict_kind *out, struct err_detail *err);

#endif
