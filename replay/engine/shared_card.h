/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Several processes on one card. Each has its own trace, policy and context; what one takes of the card, the others do
 * not have. Events happen in the order of time; of equal times the earlier process in the list goes first.
 *
 *     time ->   0          2 s                5 s
 *     process 0 |-----------------------------|
 *     process 1            |--------------------------|
 *     others        1 GiB  |     4 GiB        |  0        a curve: memory that nobody here holds
 *
 * A process has its context from its first event to its last. Then, or when a request of it is refused and it stops, it
 * gives everything back.
 */
#ifndef REPLAY_REPLAY_ENGINE_SHARED_CARD_H
#define REPLAY_REPLAY_ENGINE_SHARED_CARD_H

#include "replay/engine/engine.h"

/* From time_ns on the others hold `bytes` of the card, or all that is left of it. */
struct others_step { uint64_t time_ns, bytes; };

struct card_process {
    struct trace_reader *trace;              /* borrowed */
    const struct policy_spec *spec;          /* borrowed */
    uint64_t begins_ns;                      /* when its trace's time 0 is */
    uint64_t limit_bytes;                    /* the most of the card that it may take, context included; 0: no limit */
    struct lane lane;                        /* out; shared_card_close closes it */
    bool     has_begun, has_ended, was_refused;          /* out */
    uint64_t ends_ns;                        /* out */
    uint64_t peak_bytes;                     /* out: of the card, context included, at most */
    uint64_t others_at_refusal_bytes;        /* out: of the card, held by everybody else at its first refusal */

    /* The card's own. */
    const struct event *events;
    size_t   n_events, at;
    uint64_t first;                          /* number of events[0] */
};

struct shared_card {
    const struct device_ops *ops;
    struct device_config device;             /* context_bytes: of each process; others_bytes: before the first step */
    struct card_process *processes;
    size_t   n_processes;
    const struct others_step *others;        /* ascending in time; NULL: none */
    size_t   n_others;
    uint64_t peak_bytes, peak_ns;            /* out: of the card, and when */
    size_t   first_refused;                  /* out: n_processes if none was */
    uint64_t first_refused_ns;               /* out */
};

/* Runs all processes to their ends. lane_open's and the readers' errors; a process that fails for another reason than
 * lack of memory. cfg->threads and cfg->chunk are not used. */
MUST_USE enum err shared_card_run(struct shared_card *c, const struct replay_config *cfg, struct err_detail *err);
void shared_card_close(struct shared_card *c);

#endif
