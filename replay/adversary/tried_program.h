/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A program of requests and frees on one stream, as it is tried: made at random or by a pattern, changed in one place.
 * Each request has a slot of its own, so calls can be put in and taken out without renaming others. If it is asked for,
 * a program makes acts as well, which concern private pools, graph captures and another stream (program_acts.h).
 */
#ifndef REPLAY_REPLAY_ADVERSARY_TRIED_PROGRAM_H
#define REPLAY_REPLAY_ADVERSARY_TRIED_PROGRAM_H

#include "base/event.h"
#include "traces/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRAM_CALLS = 256 };

/* Zero is the empty program. */
struct tried_program {
    struct event calls[PROGRAM_CALLS];
    size_t   n;
    uint32_t n_requests;
};

/* Appends; false if it is full. A request of `bytes`, or the free of request number `request`, which is live. */
bool program_request(struct tried_program *p, uint64_t bytes);
bool program_free(struct tried_program *p, uint32_t request);

/* Most that is live at once. */
uint64_t program_live_peak(const struct tried_program *p);

/* Of `n` calls, by numbers from *random. Sizes are of a list at whose members allocators change what they do, or near
 * it; at most `most_live` bytes are live at once. `acts`: those that may be among the calls; 0: none. */
void program_draw(struct tried_program *p, size_t n, uint64_t most_live, unsigned acts, uint64_t *random);

/* Rounds that leave a small request in what a large one was in, and go on with a larger one; or rounds of requests of
 * twice the size of the last, of which every second is freed (Robson, JACM 21, 1974). */
void program_draw_pattern(struct tried_program *p, size_t n, uint64_t most_live, uint64_t *random);

/* Another size, one call more, or one life less; one of `acts` more or less. False: it could not be changed so. */
bool program_change(struct tried_program *p, size_t most_calls, uint64_t most_live, unsigned acts, uint64_t *random);

/* Without call number i; of a request, without its life. */
void program_take_out(struct tried_program *p, size_t i);

/* Gives request number `request` another size. */
void program_resize(struct tried_program *p, uint32_t request, uint64_t bytes);

/* The i-th of the sizes that are tried in every order; 0: no more. */
uint64_t program_plain_size(size_t i);

/* As a trace, which trace_close closes. */
MUST_USE enum err program_open(const struct tried_program *p, struct trace_reader **out, struct err_detail *err);

/* A trace with room for every program, to open lanes for. An act of a program is the control of its number there. */
MUST_USE enum err program_open_blank(struct trace_reader **out, struct err_detail *err);

#endif
