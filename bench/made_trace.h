/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Traces to measure with, made on demand. `what` is one of:
 *
 *     mix:LIVE          as `replay generate` makes it, with about LIVE live requests
 *     mix:LIVE/N        the same, each request on one of N streams
 *     a file's path     a recorded step, repeated; everything that is still live is freed after each round
 */
#ifndef REPLAY_BENCH_MADE_TRACE_H
#define REPLAY_BENCH_MADE_TRACE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Makes a trace of about `events` events, in the file `path`, or in *bytes if that is NULL (free() them). ERR_USAGE for
 * a recording that is too long to repeat; ERR_HOST_NOMEM; the errors of reading and writing traces. */
MUST_USE enum err made_trace(const char *path, const char *what, uint64_t events, void **bytes, size_t *n,
                             struct err_detail *err);

#endif
