/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a program was doing when it asked for memory: told from call stacks of PyTorch's Python frames.
 *
 *     set up | own lines | forward | own lines | backward | optimizer | own lines | forward ...
 *
 * Requests in a row in one phase are a stretch. Autograd's threads run no Python, so in a recording with stacks a
 * request without one belongs to a backward pass.
 */
#ifndef REPLAY_REPLAY_RECORDING_PHASES_H
#define REPLAY_REPLAY_RECORDING_PHASES_H

#include "base/err.h"
#include "traces/trace.h"

enum phase {
    PHASE_OWN,                       /* the program's own lines, outside of all that follows */
    PHASE_SETUP,                     /* a module is made, moved, copied or loaded */
    PHASE_BUFFER,                    /* the same, of its buffers */
    PHASE_STATES,                    /* an optimizer is given its states, as from a checkpoint: no step of it */
    PHASE_BUCKETS,                   /* DistributedDataParallel makes its buckets of gradients */
    PHASE_FORWARD,                   /* inside a call of a module */
    PHASE_BACKWARD,
    PHASE_RECOMPUTE,                 /* a forward pass again, inside a backward pass */
    PHASE_OPTIMIZER,
    PHASES
};

/* Where stretches begin: event numbers, ascending. */
struct phase_starts { uint64_t *at; size_t n, room; };

struct phases {
    uint8_t  *of_stack;              /* enum phase, by stack */
    bool      has_python;            /* a stack shows Python; otherwise nothing is known, and there are no starts */
    bool      is_checkpointing;      /* a stack goes through torch.utils.checkpoint */
    struct phase_starts starts[PHASES], all;
    struct phase_starts graphs;      /* starts of those forward stretches that leave something for a backward pass */
    struct phase_starts refusals;    /* event numbers of refused requests */
    uint32_t *line_of;               /* by stack: number of the program's own line; 0: it has none */
    int64_t  *released;              /* by line: of its requests in PHASE_OWN that a backward pass met, how many more
                                      * the backward pass freed than others did */
};

/* Reads all stacks once and all events once. ERR_HOST_NOMEM, the reader's errors. Released with phases_close, also on
 * error. */
MUST_USE enum err phases_read(struct trace_reader *trace, struct phases *out, struct err_detail *err);
void phases_close(struct phases *p);

/* Whether the stack loads a file: torch.load, or safetensors' load_file. */
bool stack_loads_file(const struct trace_reader *trace, uint32_t stack);

/* Whether the stack copies a module or a tensor with copy.deepcopy. */
bool stack_copies_module(const struct trace_reader *trace, uint32_t stack);

/* Puts one more at the end. False without memory. */
MUST_USE bool phase_starts_add(struct phase_starts *s, uint64_t event);

/* How many starts are up to `event`; below 0: before all. */
size_t phase_starts_up_to(const struct phase_starts *s, int64_t event);

/* Of a program that learned: where its last backward pass, or step of an optimizer, before event `until` begins. 0: it
 * did not. */
uint64_t phases_last_learning(const struct phases *p, uint64_t until);

/* The most calls of modules, one after the other, that a backward pass came after, before event `until`. */
uint64_t phases_most_calls(const struct phases *p, uint64_t until);

/* The first start after `event`, the last one up to `event`; UINT64_MAX: none. */
uint64_t phase_starts_after(const struct phase_starts *s, uint64_t event);
uint64_t phase_starts_before(const struct phase_starts *s, uint64_t event);

#endif
