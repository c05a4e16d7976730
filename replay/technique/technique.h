/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a recorded training would request in another way of training.
 *
 * The change is made to the trace, request by request, and the trace is replayed like any other. Several changes are
 * made one after the other, in the order of struct technique.
 */
#ifndef REPLAY_REPLAY_TECHNIQUE_TECHNIQUE_H
#define REPLAY_REPLAY_TECHNIQUE_TECHNIQUE_H

#include "replay/technique/changed_trace.h"

/*
 * Steps of the optimizer are as PyTorch's own make them, without weight decay that asks for memory:
 *
 *     none, sgd    no request
 *     momentum     one tensor of each gradient's size, made in the first step and kept
 *     adam         two of them; in each step one more for each gradient until the step ends
 */
enum technique_optimizer { OPTIMIZER_RECORDED, OPTIMIZER_NONE, OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM };

/* Zero changes nothing. */
struct technique {
    bool        is_in_place;                       /* activation functions write over their input */
    const char *checkpoint;                        /* modules whose forward pass runs again in the backward pass: those
                                                    * that the line "model.py:34" calls; "": that one line calls several
                                                    * times in a row; NULL: none */
    unsigned    accumulate;                        /* each forward and backward pass runs so often before a step; 0: as
                                                    * recorded */
    bool        is_split;                          /* those passes share the recorded batch, instead of having one
                                                    * each */
    enum technique_optimizer optimizer;
    unsigned state_bits, recorded_state_bits;      /* of one element; both 0: as recorded */
};

enum { TECHNIQUE_ACCUMULATE_MAX = 64 };

/* The changes, in the order in which they are made. */
enum technique_change { CHANGE_IN_PLACE, CHANGE_CHECKPOINTING, CHANGE_ACCUMULATION, CHANGE_SPLIT, CHANGE_OPTIMIZER,
                        CHANGE_STATES, TECHNIQUE_CHANGES };

/* Whether a technique makes this change. Accumulation of parts of the batch is CHANGE_SPLIT alone. */
bool technique_changes(const struct technique *t, enum technique_change change);

/* How a changed trace came to be. */
enum technique_way {
    TECHNIQUE_UNCHANGED,             /* nothing was recorded that the change touches */
    TECHNIQUE_EDITED,                /* recorded requests are left out, end earlier, or have other sizes */
    TECHNIQUE_INSERTED,              /* requests are put in: steps of the optimizer, passes */
};

struct technique_result {
    struct technique_peak peak;
    enum technique_way way;
    size_t n_calls;                  /* of modules that run again in the backward pass */
    size_t n_passes;                 /* forward and backward passes that were repeated */
    size_t n_joined;                 /* results that lie where their input lay */
};

/* Writes the changed trace and opens it as *out: to the file `path`, or with NULL in memory. Call stacks are kept.
 * ERR_UNSUPPORTED if nothing tells what the change touches from other requests; ERR_USAGE for a line that calls no
 * module; ERR_HOST_NOMEM, the reader's and writer's errors. */
MUST_USE enum err technique_apply(const struct course *c, const struct technique *t, const char *path,
                                  struct trace_reader **out, struct technique_result *result, struct err_detail *err);

#endif
