/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Does a recorded program fit a card, and what does it take of it?
 */
#ifndef REPLAY_REPLAY_ADVISE_CARD_ANSWER_H
#define REPLAY_REPLAY_ADVISE_CARD_ANSWER_H

#include "replay/trials/trial_runs.h"
#include "replay/results/result.h"

/* Processes that are on the card at the same time as the recorded one. Zero: none. */
struct card_others {
    unsigned n;
    uint64_t bytes;                  /* what they hold at most together, without their contexts */
};

struct card_answer {
    struct device_choice device;     /* config.others_bytes has what is below, too */
    uint64_t others_bytes;           /* what others hold, with a context for each */
    bool     fits;
    struct trial trial;              /* on this card; its `spec` is borrowed */
    uint64_t peak_reserved_bytes;    /* reserved at most, on the card if it fits, else on one without an end */
    uint64_t card_peak_bytes;        /* the same of the whole card, with context and others */
};

/* Replays a recording on a card (`text`: as after --device, with a capacity), with what context and libraries take of
 * it, and others on it, and on one without an end. cfg->on_oom says what a request does that was refused when recorded.
 * trials_run's and device_choose_for_advice's errors. */
MUST_USE enum err card_answer_find(struct trace_reader *trace, const struct policy_spec *spec, const char *text,
                                   const struct card_others *others, const struct replay_config *cfg,
                                   struct card_answer *out, struct err_detail *err);

/* What a recording takes of a card, and whether it fits, in whatever order its addresses come: best fit takes the lower
 * of two blocks of equal size, so the order decides a little. */
struct card_bounds {
    uint64_t least_bytes, most_bytes;            /* of the whole card, as card_peak_bytes */
    bool     fits_always, fits_ever;
};

/* Replays it on the card of an answer in the orders that a process may meet: that of the answer; Linux's, also with a
 * hole that libraries left (sim/device_sim.c); rising, as below WSL; descending. Only in the first one if somebody
 * asked for an order or a system. trials_run's errors. */
MUST_USE enum err card_answer_bound(struct trace_reader *trace, const struct policy_spec *spec,
                                    const struct card_answer *answer, const struct replay_config *cfg,
                                    struct card_bounds *out, struct err_detail *err);

#endif
