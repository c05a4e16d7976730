/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The memory of a program that trains with PyTorch, without the program: storages with reference counts, and a graph of
 * operations that is run backwards.
 *
 * A *storage* is one request; it is freed with its last reference. A *value* is what an operation works on: a storage,
 * and the operation that made it. A *node* is an operation as the backward pass sees it: what it saved, and a function
 * that gives a gradient for each of its inputs. layers.h has the operations.
 *
 * The order of requests and frees is that of PyTorch's engine: nodes run in the reverse order in which they were made;
 * a node's gradients are allocated, then the gradient that came in is dropped, then what the node saved, and only then
 * are the new ones added to others for the same value. Source: torch/csrc/autograd/engine.cpp, input_buffer.cpp.
 */
#ifndef REPLAY_LOADS_TAPE_H
#define REPLAY_LOADS_TAPE_H

#include "traces/trace.h"

enum { TAPE_SAVED_MAX = 5, TAPE_INPUTS_MAX = 3, TAPE_OUTPUTS_MAX = 3 };
#define TAPE_NONE UINT32_MAX             /* no storage, no node */

struct tape;
struct tape_node;

/* A tensor as an operation sees it. */
struct value {
    uint32_t storage;                    /* TAPE_NONE: the value is not there, as a bias that a layer lacks */
    uint32_t node;                       /* that made it; TAPE_NONE: none whose gradient is wanted */
    uint32_t output;                     /* which of the node's outputs it is */
    uint64_t count;                      /* elements */
    unsigned element_bytes;
};

/* Allocates the gradients of the node's inputs, and hands each to tape_give. */
typedef void (*tape_backward)(struct tape *t, struct tape_node *n);

struct tape_node {
    tape_backward backward;
    struct value  inputs[TAPE_INPUTS_MAX];
    uint32_t      saved[TAPE_SAVED_MAX];     /* storages; TAPE_NONE: nothing */
    uint32_t      n_saved;
    uint32_t      gradients[TAPE_OUTPUTS_MAX];   /* that came in, by output */
    uint64_t      sizes[4];                  /* what `backward` needs to know */
    void         *context;
    uint32_t      section;                   /* checkpointed section it belongs to; TAPE_NONE: none */
};

/* `element_bytes` is that of parameters; `context` is the backward functions'. Errors stay in the tape: after one,
 * nothing is written any more, and tape_close returns it. NULL: the host is out of memory. */
struct tape *tape_open(struct trace_writer *w, unsigned element_bytes, void *context, struct err_detail *err);
enum err tape_close(struct tape *t);
unsigned tape_element_bytes(const struct tape *t);
void *tape_context(const struct tape *t);

/* The host is out of memory: an error like any other. */
void tape_no_memory(struct tape *t);

/* ---- storages ---- */

/* Requests `bytes` > 0; the caller has the one reference. */
uint32_t tape_new(struct tape *t, uint64_t bytes);
void tape_keep(struct tape *t, uint32_t storage);
void tape_drop(struct tape *t, uint32_t storage);        /* TAPE_NONE is accepted */
void tape_drop_later(struct tape *t, uint32_t storage);  /* by the next request: another stream used it, too */
void tape_temporary(struct tape *t, uint64_t bytes);     /* requested and freed at once; 0: nothing */
void tape_mark(struct tape *t, const char *label);
void tape_use_pool(struct tape *t, unsigned pool);       /* of a graph capture, for the requests to come; 0: none */
void tape_flush(struct tape *t);                          /* torch.cuda.empty_cache() */
void tape_wait_until(struct tape *t, uint64_t time_ns);  /* time goes on to then, unless it is there */

/* ---- parameters ---- */

/* A parameter of the model, in the order of model.parameters(); its storage is made by tape_place_parameters. */
struct value tape_parameter(struct tape *t, uint64_t count, bool is_trained);
void tape_place_parameters(struct tape *t);

/* A tensor that lies among the parameters and has no gradient, as the running mean of a norm. */
void tape_buffer(struct tape *t, uint64_t bytes);

/* Which parameter is it? SIZE_MAX: none whose gradient is wanted. */
size_t tape_parameter_of(struct value v);

/* The i-th parameter or buffer, and its gradient (TAPE_NONE: none); false after the last one. */
struct tape_parameter {
    uint32_t storage, gradient;
    uint64_t bytes;
    uint32_t arrival;                    /* 1 for the first that got a gradient, then 2, ...; 0: none has come */
    bool     is_trained;
};
bool tape_parameter_at(const struct tape *t, size_t i, struct tape_parameter *out);
void tape_drop_gradients(struct tape *t);

/* Another storage of that size for the i-th parameter; another gradient. The reference goes to the tape; that of the
 * old storage goes to the caller, the old gradient is dropped. */
void tape_replace_parameter(struct tape *t, size_t i, uint32_t storage, uint64_t bytes);
void tape_replace_gradient(struct tape *t, size_t i, uint32_t gradient);

/* ---- operations ---- */

/* Whether operations are to be run backwards, as outside of torch.no_grad(); true at first. */
void tape_want_gradients(struct tape *t, bool are_wanted);

/* Begins an operation on these inputs. NULL if none of them wants a gradient: nothing is saved then. */
struct tape_node *tape_operation(struct tape *t, tape_backward backward, const struct value *inputs, size_t n);

/* Keeps a storage until the node has run; `n` may be NULL. In a section that is run again, the storage goes to the node
 * of the first run. */
void tape_save(struct tape *t, struct tape_node *n, uint32_t storage);

/* The value of the operation's i-th output; `like` says how large an element is. */
struct value tape_output(const struct tape *t, const struct tape_node *n, uint32_t output, uint32_t storage,
                         uint64_t count, struct value like);

/* In a backward function: `saved[i]` is not used any more. Where it was computed anew for this node, it is freed now,
 * otherwise when the node is done. */
void tape_used(struct tape *t, struct tape_node *n, uint32_t i);

/* In a backward function: the gradient of inputs[i]. The caller's reference goes to the tape, which casts it if its
 * size is not the input's. is_view: it passes through a change of shape; PyTorch then does not add another one to it in
 * place. */
void tape_give(struct tape *t, struct tape_node *n, uint32_t i, uint32_t gradient, bool is_view);

/* Runs the graph backwards from `loss`, and forgets it. `loss` keeps its storage. */
void tape_run_backward(struct tape *t, struct value loss);

/* The same where several graphs wait, one after the other: tape_here before a graph's first operation is its
 * `first_node`. `gradient`, which stays the caller's, is that of `from`; TAPE_NONE: 1. Returns the gradient of the
 * part's leaf, whose reference goes to the caller; TAPE_NONE: it has none. tape_forget when all graphs have run. */
uint32_t tape_here(const struct tape *t);
uint32_t tape_run_part(struct tape *t, struct value from, uint32_t first_node, uint32_t gradient);
void tape_forget(struct tape *t);

/* A tensor that nothing here made, and whose gradient is wanted. The storage stays the caller's. */
struct value tape_leaf(struct tape *t, uint32_t storage, uint64_t count, struct value like);
bool tape_is_backward(const struct tape *t);             /* is that running? */

/* ---- checkpointed sections ---- */

/* Runs `forward` without saving anything but `input`. When a node of it needs what it would have saved, it is run again
 * up to the last such operation (torch.utils.checkpoint, use_reentrant=False). `again` is handed to it. The reference
 * of `input` stays the caller's. */
typedef struct value (*tape_section)(struct tape *t, struct value input, const void *again);
struct value tape_checkpoint(struct tape *t, tape_section forward, struct value input, const void *again);

/* Is a section being run again, and all that was wanted of it is there? Then operations do nothing. */
bool tape_has_stopped(const struct tape *t);

#endif
