/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a program does beside requests and frees: it makes a private pool and sends requests there, captures graphs,
 * lets another stream use what it requested, gives the cache back. A program has one pool of its own, and all its
 * captures go to one other pool. All requests are on one stream: a program that captures does so on a stream that it
 * made.
 */
#ifndef REPLAY_REPLAY_ADVERSARY_PROGRAM_ACTS_H
#define REPLAY_REPLAY_ADVERSARY_PROGRAM_ACTS_H

#include "replay/adversary/tried_program.h"

/* The number of an act is the slot of its EVENT_CONTROL. A use has ACT_USE + the number of its request; a flush is an
 * EVENT_FLUSH. */
enum program_act_kind {
    ACT_POOL_MAKE,                   /* a pool of the program's */
    ACT_POOL_MAKE_LENDING,           /* one that the shared pool may borrow from before it refuses a request */
    ACT_POOL_ENTER, ACT_POOL_LEAVE,  /* requests between these go to the pool */
    ACT_POOL_DROP,
    ACT_CAPTURE_BEGIN, ACT_CAPTURE_END,
    ACT_GRAPH_RESET,                 /* the captured graph is gone */
    ACT_USE,                         /* another stream uses a live request (record_stream) */
    ACT_FLUSH,                       /* the cache is given back */
    ACT_KINDS
};

#define PROGRAM_NO_REQUEST UINT32_MAX

/* The request that a call makes, frees or uses; PROGRAM_NO_REQUEST: none. */
uint32_t program_request_of(const struct event *c);

/* Appends an act; `request` is for ACT_USE. False: it may not follow, or the program is full. */
bool program_act(struct tried_program *p, unsigned act, uint32_t request);

/* Whether each call may follow those before it, as PyTorch allows it. */
bool program_is_valid(const struct tried_program *p);

bool program_has_acts(const struct tried_program *p);

/* Its requests and frees. */
void program_without_acts(const struct tried_program *p, struct tried_program *out);

/* Kind, pool, stream and request of an act, as trace_put takes them. */
void program_put_act(const struct event *c, struct trace_record *out);

#endif
