/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What live requests are for: parameters, gradients, activations and more, told from call stacks and from lives.
 *
 * A rule of categories.c must hold for a request to get its category; otherwise it is unknown.
 */
#ifndef REPLAY_REPLAY_WHO_CATEGORIES_H
#define REPLAY_REPLAY_WHO_CATEGORIES_H

#include "replay/who/holders.h"

/* X(NAME, word) */
#define CATEGORIES(X)                                                                                       \
    X(UNKNOWN, "unknown")                                                                                   \
    X(PARAMETERS, "parameters")                                                                             \
    X(BUFFERS, "buffers")                                                                                   \
    X(GRADIENTS, "gradients")                                                                               \
    X(OPTIMIZER, "optimizer state")                                                                         \
    X(ACTIVATIONS, "activations")                                                                           \
    X(TEMPORARIES, "temporaries")                                                                           \
    X(WORKSPACES, "workspaces")                                                                             \
    X(INPUTS, "inputs")

enum category {
#define CATEGORY(name, word) CATEGORY_##name,
    CATEGORIES(CATEGORY)
#undef CATEGORY
    N_CATEGORIES
};

const char *category_word(unsigned category);

/* Sets holding.category of all that is held. *named_bytes: the bytes whose category is not unknown. Reads all stacks
 * once. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err categories_find(struct trace_reader *trace, struct holdings *h, uint64_t *named_bytes,
                                  struct err_detail *why);

#endif
