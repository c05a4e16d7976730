/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Who holds more and more: a leak, told from what fills once and from what a step frees.
 *
 * What each line of the program holds (without stacks: each size) is looked at up to the low mark: the least that is
 * live in the last part of the recording, so that the turn that was cut off does not count. At any time a line counts
 * with the least that it holds from then until the low mark. So what a step frees counts nothing, and what is filled
 * once rises once:
 *
 *     live |               /|    /|            o: what a line that leaks counts with. It rises evenly,
 *          |     /|   /|  / |   / |               again and again, up to the low mark
 *          |    / |  / | o  |_ o  |_ o
 *          |   o  |_o  |_/     ^ low mark
 *
 * It must rise in many turns of the program, not in one: a forward pass holds more with every layer, and loading a
 * model with every weight. And it must be what made the difference between the turns that fitted and the end. If
 * nothing is found, low marks nearer to the end are tried, then the part after the low mark by itself, and so on: a
 * leak may come seldom, or begin late.
 */
#ifndef REPLAY_REPLAY_RECORDING_GROWTH_H
#define REPLAY_REPLAY_RECORDING_GROWTH_H

#include "replay/recording/growth_rhythm.h"
#include "replay/recording/holders.h"

enum growth_turn {
    TURN_STEP,                       /* an optimizer's step */
    TURN_FORWARD,                    /* a forward pass */
    TURN_BACKWARD,                   /* a backward pass, of training whose optimizer asks for nothing */
    TURN_RUN,                        /* a run of the line that grows most */
};

/* Bytes, and our numbers of events. */
struct growth {
    bool     is_found;
    uint64_t since, until;           /* it grows between them; `until` is the low mark */
    uint64_t bytes;                  /* by so much */
    bool     is_one_request;         /* at the low mark it is one tensor, which is replaced by a larger one */
    bool     may_be_one_pass;        /* no backward pass was seen since, and what grows may be the graph of one long
                                      * forward pass: a recurrent network that the program unrolls itself. `why` sets
                                      * it, too, where it may be that of an inner loop */
    bool     may_be_meant;           /* no backward pass was ever seen, and what grows is replaced by a larger one again
                                      * and again: a cache of one generation, or results that are put together */
    bool     grows_in_input;         /* nothing was found, and such a cache that had been given up before grows */
    bool     holds_graphs;           /* nothing was found, as no backward pass came after many calls of modules whose
                                      * graphs are held: one input, or evaluations */
    bool     keeps_one_result;       /* of each forward pass one request is held, always from one place: no graph, as
                                      * that would hold more; .detach() frees nothing */
    bool     of_evaluation;          /* it began after the last backward pass and step: results of an evaluation */
    bool     of_refusal;             /* what a refused request that the program caught left behind: it came at once, and
                                      * `turns` is 0 (growth_refused.h) */
    bool     of_two_sets;            /* two sets alone, which may be meant (growth_sets.h) */
    bool     of_two_turns;           /* two turns alone, of which each left a graph (growth_few.h) */
    unsigned phases;                 /* a bit for each enum phase in which the line that grows most requests it */
    enum growth_turn turn;
    uint64_t turns;                  /* between them; 0: without stacks nothing tells */
    uint64_t began;                  /* the first request that is held of the lines that grow; 0: not known */
    uint64_t turns_held;             /* from there to the moment that is asked about; 0: not known */
    uint64_t bytes_per_turn;         /* what most turns leave behind, or the mean if they differ */
    struct growth_rhythm rhythm;     /* of the turns */
    struct holders lines;            /* that grow, the one that grew most first, and what they hold at the moment that
                                      * is asked about: of recordings without stacks sizes */
    uint64_t held_bytes, held_requests;          /* the same in all */
    uint64_t before_bytes, before_requests;      /* of them from before the recording, taken for the same by their size;
                                                  * `lines` is without them (growth_before.h) */
};

/* Looks at what happens before event `moment`, at which `need_bytes` are live and asked for. Recordings of more than
 * 2^22 events are not looked at. Reads all events four times at most. ERR_HOST_NOMEM, the reader's
 * errors. Released with growth_close, also on error. */
MUST_USE enum err growth_find(struct trace_reader *trace, uint64_t moment, uint64_t need_bytes, struct growth *out,
                              struct err_detail *err);

/* The same of a run in which nothing is refused: at its end, and if nothing is found there at its peak, because what
 * was kept goes when the program ends. At the peak a line must be known, and what may be something else is none. */
MUST_USE enum err growth_find_in_run(struct trace_reader *trace, struct growth *out, struct err_detail *err);

/* For those that find a growth: takes the lines of what is held of it, `h`, with all that they hold before event
 * `moment`. */
MUST_USE enum err growth_take_lines(struct trace_reader *trace, const struct holdings *h, uint64_t moment,
                                    struct growth *out, struct err_detail *err);
void growth_close(struct growth *g);

#endif
