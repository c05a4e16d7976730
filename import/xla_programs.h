/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The compiled programs of an XLA profile: what each asks the allocator for when it runs, and for which line of Python.
 *
 * A profile holds the HloProto of each program that ran: its instructions with the Python stack that each comes from,
 * and the buffer assignment, which says what lies in each request. A request of a run is found again by the program's
 * name and its size. If several share both, what is named is the line that all of them came through; if some are
 * results and some temporaries, nothing is.
 *
 * A stack is that of the line that made what the request holds. Of temporaries, of which one request holds all, it is
 * the innermost that all instructions share. The innermost frames say what it is, and what lies in temporaries at their
 * peak:
 *
 *     jit_step temporaries train.py:40, 96.00 MiB of 128.00 MiB at their peak are of train.py:8 layer, main train.py:40
 *
 * A line is where XLA saw it first: a program that is compiled once and called at several lines has that of one.
 */
#ifndef REPLAY_IMPORT_XLA_PROGRAMS_H
#define REPLAY_IMPORT_XLA_PROGRAMS_H

#include "base/err.h"
#include "base/intern.h"
#include "import/xla_donation.h"

#include <protobuf-c/protobuf-c.h>

#include <stddef.h>
#include <stdint.h>

/* What a program takes while it runs, as its buffer assignment has it: jax's memory_analysis() says the same. */
struct xla_sizes { uint32_t name; uint64_t arguments, results, temporaries; };
enum { XLA_LARGEST = 3 };

/* What a run asks for: its results one by one, then all temporaries. */
struct xla_outline { uint32_t next, n_results; uint64_t largest_result, temporaries; };
#define XLA_NO_OUTLINE UINT32_MAX

struct xla_programs {
    struct text_table texts;         /* names of programs, frames */
    struct pair_map   names;         /* of programs -> the last of its outlines, which leads to those before */
    struct xla_outline *outlines;
    size_t    n_outlines, room_outlines;
    struct pair_map   by_size;       /* (name, bytes) -> number in `requests` */
    struct xla_request { uint32_t first, n; bool is_result; } *requests;     /* their frames; n is 0: not known */
    uint32_t *frames;                /* texts, innermost first */
    size_t    n_requests, room_requests, n_frames, room_frames;
    struct xla_sizes largest[XLA_LARGEST];       /* the programs that take most, from the largest on */
    size_t    n_largest;
    struct xla_donations donations;  /* by names */
};

void xla_programs_open(struct xla_programs *p);
void xla_programs_close(struct xla_programs *p);

/* Adds the program of an HloProto, decoded in `memory`. Bytes that are none, and what is missing in them, are passed
 * over: a program without lines is no error. What `memory` lacks is for the caller to find. ERR_HOST_NOMEM. */
MUST_USE enum err xla_programs_put(struct xla_programs *p, const void *bytes, size_t n, ProtobufCAllocator *memory,
                                   struct err_detail *err);

/* The number of the program of this name; XLA_NO_PROGRAM: none has it. */
#define XLA_NO_PROGRAM UINT32_MAX
uint32_t xla_programs_find(struct xla_programs *p, const char *name, size_t n);

/* What a run of the program asked for that was granted so many requests and then refused one, as nothing of more than
 * `largest_free` bytes was free; 0: not known. Of several programs of the name, the least that it can have been. */
uint64_t xla_programs_refused(const struct xla_programs *p, uint32_t program, uint64_t n_granted,
                              uint64_t largest_free);

enum { XLA_FRAMES_MOST = 64 };

/* The frames of a request of `bytes` that a run of the program makes, innermost first; 0: not known. */
size_t xla_programs_frames(const struct xla_programs *p, uint32_t program, uint64_t bytes,
                           const char *frames[static XLA_FRAMES_MOST]);

#endif
