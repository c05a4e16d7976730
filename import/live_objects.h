/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The objects of a heap profile, which says of each call stack how many are live and their bytes in all: each becomes a
 * request that is never freed. A line may claim any number of objects, so there are no more requests than the bytes
 * read explain, and some that any file may have; beyond that a line is one request.
 */
#ifndef REPLAY_IMPORT_LIVE_OBJECTS_H
#define REPLAY_IMPORT_LIVE_OBJECTS_H

#include "base/input.h"
#include "traces/trace.h"

/* Of the bytes that any file may unpack to, so many allow one object: by default 16,384 objects. A few lines that claim
 * more would cost each command as much as a long recording. */
enum { LIVE_OBJECTS_FREE_BYTES = 1024 };

struct live_objects {
    uint64_t n_free;                 /* allowed whatever was read: input_free_bytes / LIVE_OBJECTS_FREE_BYTES */
    uint64_t n;                      /* requests put so far; their pointers count from 1 */
    uint64_t n_together;             /* lines that became one request */
};

/* Puts `count` requests of `bytes` in all, both above 0. Errors as of trace_put. */
MUST_USE enum err live_objects_put(struct live_objects *o, const struct input *in, struct trace_writer *w,
                                   uint64_t count, uint64_t bytes, uint64_t record, uint32_t stack,
                                   struct err_detail *err);

/* What a trace's notes say of n_together. */
#define LIVE_OBJECTS_TOGETHER "lines with more objects than the file's size explains, each put as one request"

#endif
