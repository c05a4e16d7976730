/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One run of a server on a simulated card: until its engine is ready, it ends, or its time is up. */
#ifndef REPLAY_DRYRUN_SERVED_RUN_H
#define REPLAY_DRYRUN_SERVED_RUN_H

#include "dryrun/served_start.h"

struct overlay;

/* Where its files go. Borrowed. */
struct served_place {
    struct overlay *overlay;
    const char *folder;
    size_t n;                        /* runs that were made here */
};

/* Whether the words are those of a server's own command line: then options may be added. SGLang's, or vLLM's. */
bool served_takes_options(const struct served_request *r);
bool served_is_sglang(const struct served_request *r);

/* The cards of one machine that its options spread the server over: tensor times pipeline parallel. 1 if they do not
 * tell, or spread it over several machines. */
unsigned long served_cards_wanted(const struct served_request *r);

/* Whether the host has a part of its card's memory: then the server only may start. */
bool served_shares_host(const struct served_start *s);

/* Runs the server on start->card with start->choice after its words, and fills in the rest. ERR_INTERRUPTED. */
MUST_USE enum err served_run(struct served *s, struct served_place *place, struct served_start *start,
                             struct err_detail *err);

#endif
