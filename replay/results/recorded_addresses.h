/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * In which order the recorded card handed out addresses: each above the last, as under Windows, or as Linux does.
 *
 * It decides more than where memory lies. PyTorch takes the lowest free block that fits, and the lowest range that can
 * grow: after a refused request there is a range without pages, and whether it lies above or below the others decides
 * which one grows next, and so what is given back, and how often a request is tried again.
 */
#ifndef REPLAY_REPLAY_RESULTS_RECORDED_ADDRESSES_H
#define REPLAY_REPLAY_RESULTS_RECORDED_ADDRESSES_H

#include "traces/trace.h"

/* Whether the recording's segments and ranges show that addresses rose. The errors of trace_segment_events. */
MUST_USE enum err addresses_rose(struct trace_reader *trace, bool *out, struct err_detail *err);

#endif
