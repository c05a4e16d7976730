/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the lines of the program itself do over and over: which of them make one tensor for each parameter, which keep
 * what they made in turn after turn, and when another line takes over.
 */
#ifndef REPLAY_REPLAY_RECORDING_OWN_LINES_H
#define REPLAY_REPLAY_RECORDING_OWN_LINES_H

#include "base/intern.h"
#include "replay/recording/phases.h"

struct own_line {
    uint64_t bytes, bytes_alike;     /* asked for outside of modules, optimizers and backward passes; of these, in
                                      * requests of a parameter's size */
    uint64_t n_released;             /* freed by a backward pass, by the stack of the free */
    uint64_t n_released_within;      /* freed while a backward pass went on */
    uint32_t n_sizes;                /* different ones among bytes_alike */
    bool     asks_afresh;            /* also before the first forward pass of a step */
    uint32_t n_turns, most_turns;    /* stretches that it holds something from: now, and the most */
    uint64_t last_turn;              /* the stretch that it asked in last, + 1 */
};

struct own_lines {
    struct own_line *of;             /* by line, as in phases.line_of */
    uint8_t  *convolves;             /* by stack: a layer of convolutions asks, for itself */
    bool      has_convolutions;
    bool      asks_gradients;        /* torch.autograd.grad is called, which may leave a graph for another pass */
    bool      has_free_stacks;       /* frees have their own stacks; PyTorch's context="alloc" repeats the request's */
    struct phase_starts changes;     /* where another line of the program begins to ask, or another phase */
    struct phase_starts ends;        /* the last request of each stretch, as in phases.all */
    struct pair_map lasting;         /* (bytes, 0): sizes of requests that were not given back at once */
};

/* Reads all stacks and all events once. ERR_HOST_NOMEM, the reader's errors. Released with own_lines_close, also on
 * error. */
MUST_USE enum err own_lines_read(struct trace_reader *trace, const struct phases *p, struct own_lines *out,
                                 struct err_detail *err);
void own_lines_close(struct own_lines *o);

/* The line goes through the parameters: most of what it asks for has their sizes, and more than one of them. A copy of
 * the weights, clones of gradients, a step away from the weights. */
bool own_line_is_per_parameter(const struct own_line *line);

/* A backward pass frees what the line makes: it is part of a graph. */
bool own_line_is_released(const struct own_lines *o, const struct own_line *line);

/* Whether a backward pass asked before and after this event, and nothing else in between. */
bool own_lines_within_backward(const struct own_lines *o, const struct phases *p, uint64_t event);

/* The line has kept what it made in several turns at once, always after a forward pass. */
bool own_line_keeps_results(const struct own_line *line);

#endif
