/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The requests of a trace in the formats of other tools, which our importers read back. Reads the trace once from the
 * front and holds what is live.
 */
#ifndef REPLAY_REPLAY_EXPORT_REQUEST_EXPORT_H
#define REPLAY_REPLAY_EXPORT_REQUEST_EXPORT_H

#include "traces/trace.h"

#include <stdio.h>

struct request_format;

/* The format of this name; NULL: there is none. The i-th; NULL after the last. */
const struct request_format *request_format_find(const char *name);
const struct request_format *request_format_at(size_t i);
const char *request_format_name(const struct request_format *f);

/* X(NAME, text): what a trace may hold that a format does not. */
#define REQUEST_LOSSES(X)                                                                                        \
    X(START, "requests live at the beginning, written as requests at time 0")                                    \
    X(OPEN, "requests live at the end, written as ended there")                                                  \
    X(TIMES, "times, replaced by numbers of events")                                                             \
    X(NANOSECONDS, "times, cut to microseconds")                                                                 \
    X(STREAMS, "requests on other streams, written without the stream")                                          \
    X(POOLS, "requests in private pools, written without the pool")                                              \
    X(PENDING, "frees that waited for a stream, written where they completed")                                   \
    X(REFUSED, "refused requests, left out")                                                                     \
    X(MARKS, "marks, left out")                                                                                  \
    X(CONTROLS, "settings, captures and other controls, left out")                                               \
    X(FLUSHES, "flushes of the cache, left out")                                                                 \
    X(STACKS, "call stacks, left out")

enum request_loss {
#define LOSS(name, text) REQUEST_LOSS_##name,
    REQUEST_LOSSES(LOSS)
#undef LOSS
    REQUEST_LOSS_KINDS
};
const char *request_loss_text(enum request_loss loss);

/* Writes the trace; lost[k] counts what the format does not hold. Errors of writing are left to the stream.
 * ERR_HOST_NOMEM; the reader's errors. */
MUST_USE enum err request_export(struct trace_reader *in, const struct request_format *format, FILE *out,
                                 uint64_t lost[static REQUEST_LOSS_KINDS], struct err_detail *err);

#endif
