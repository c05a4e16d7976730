/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a recorded training would request with another optimizer, or with states of another precision.
 *
 * The change is made to the trace, request by request, and the trace is replayed like any other. Steps of the optimizer
 * are as PyTorch's own make them, without weight decay that asks for memory:
 *
 *     none, sgd    no request
 *     momentum     one tensor of each gradient's size, made in the first step and kept
 *     adam         two of them; in each step one more for each gradient until the step ends
 */
#ifndef REPLAY_REPLAY_TECHNIQUE_TECHNIQUE_H
#define REPLAY_REPLAY_TECHNIQUE_TECHNIQUE_H

#include "replay/technique/course.h"

enum technique_optimizer { OPTIMIZER_RECORDED, OPTIMIZER_NONE, OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM };

/* Zero changes nothing. */
struct technique {
    enum technique_optimizer optimizer;
    unsigned state_bits, recorded_state_bits;      /* of one element; both 0: as recorded */
};

/* What is requested and not freed where that is most, by category. */
struct technique_peak { uint64_t bytes, by_category[CATEGORY_KINDS]; };

/* How a changed trace came to be. */
enum technique_way {
    TECHNIQUE_UNCHANGED,             /* nothing was recorded that the change touches */
    TECHNIQUE_EDITED,                /* recorded requests are left out or have other sizes */
    TECHNIQUE_INSERTED,              /* steps of the optimizer are put in behind backward passes */
};

/* Writes the changed trace to `path`, or with NULL opens it in memory as *out. Call stacks are kept. ERR_UNSUPPORTED if
 * nothing tells the recorded states from other requests; ERR_HOST_NOMEM, the reader's and writer's errors. */
MUST_USE enum err technique_apply(const struct course *c, const struct technique *t, const char *path,
                                  struct trace_reader **out, struct technique_peak *peak, enum technique_way *way,
                                  struct err_detail *why);

#endif
