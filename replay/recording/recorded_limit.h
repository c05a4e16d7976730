/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A limit below the card's capacity, as far as the recorded refusals show it: with room on the card, requests were
 * refused all the same.
 */
#ifndef REPLAY_REPLAY_RECORDING_RECORDED_LIMIT_H
#define REPLAY_REPLAY_RECORDING_RECORDED_LIMIT_H

#include "traces/trace.h"

/* Bytes. */
struct recorded_limit {
    uint64_t least;                  /* so much was held under it at once */
    uint64_t below;                  /* so much would have exceeded it */
    uint64_t card;                   /* held and free at a refusal, together: the card, without contexts and others */
};

/* False: the recording shows no such limit. */
bool recorded_limit_read(const struct trace_reader *trace, struct recorded_limit *out);

/* The same of the fact's text, which is in the form that this program writes. */
bool recorded_limit_parse(const char *text, struct recorded_limit *out);

#endif
