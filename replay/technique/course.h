/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The course of a recorded training: every request with its category and its phase, and where steps of the optimizer
 * belong.
 */
#ifndef REPLAY_REPLAY_TECHNIQUE_COURSE_H
#define REPLAY_REPLAY_TECHNIQUE_COURSE_H

#include "replay/recording/categories.h"

/* Parameters, gradients and states of one size. */
struct size_class {
    uint64_t bytes;
    bool     is_of_parameter;
    uint64_t n_states;               /* requests of the optimizer's state, in all */
    uint64_t n_gradients;            /* the most that are live where a step of the optimizer belongs */
    uint64_t n_live;                 /* gradients that are live now, while the course is read */
    bool     is_changed;             /* n_live did change since the last step */
};

#define STATES_UNKNOWN UINT32_MAX

struct course {
    struct trace_reader *trace;      /* borrowed */
    struct holdings all;             /* every request, in the order of the ALLOC events */
    uint8_t  *phase;                 /* enum phase, by request */
    uint64_t *step_ends;             /* events in front of which a step belongs: a backward pass is over. Ascending */
    size_t    n_step_ends, room;
    struct size_class *sizes;        /* n_sizes, ascending */
    size_t    n_sizes;
    bool      has_gradients;         /* other than buckets of DistributedDataParallel, which hold the same once more */
    bool      has_replaced;          /* a step of the optimizer frees parameters */
    uint32_t  states_each;           /* tensors of state for each gradient, requested one after the other.
                                      * STATES_UNKNOWN: not the same number for all, or in another order, or parameters
                                      * among them */
};

/* Reads the events several times. ERR_UNSUPPORTED if requests were live before the recording began, or nothing shows
 * what requests are for; ERR_HOST_NOMEM; the reader's errors. Released with course_close, also on error. */
MUST_USE enum err course_read(struct trace_reader *trace, struct course *out, struct err_detail *err);
void course_close(struct course *c);

/* A gradient of a parameter; where buckets alone are known, a bucket. */
bool course_is_gradient(const struct course *c, size_t request);

/* A request of the optimizer that outlives its step, and one that ends with it. */
bool course_is_state(const struct course *c, size_t request);
bool course_is_step_temporary(const struct course *c, size_t request);

/* Whether a parameter has this size. */
bool course_has_parameter(const struct course *c, uint64_t bytes);

/* A copy of a parameter in half the precision, as autocast makes one directly before the operation that reads it: a
 * request of the same line follows. */
bool course_is_copy(const struct course *c, size_t request);

/* A counter of steps, as some optimizers keep one for each parameter: a number of 4 or 8 bytes that no gradient has the
 * size of. */
bool course_is_counter(const struct size_class *s);

/* The class of a size; NULL: neither a parameter, a gradient nor a state has it. */
struct size_class *course_size(const struct course *c, uint64_t bytes);

#endif
