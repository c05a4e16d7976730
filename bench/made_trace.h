/*
 * Traces to measure with. `what` names them:
 *
 *     mix:LIVE          as `replay generate` makes them
 *     mix:LIVE/N        the same, each request on one of N streams
 *     a file's path     the recorded step, over and over; at the end of each round everything still live is freed
 */
#ifndef REPLAY_BENCH_MADE_TRACE_H
#define REPLAY_BENCH_MADE_TRACE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* A trace of about `events` events, into the file `path`, or where that is NULL into *bytes (free() them). */
MUST_USE enum err made_trace(const char *path, const char *what, uint64_t events, void **bytes, size_t *n,
                             struct err_detail *why);

#endif
