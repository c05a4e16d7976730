/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * All recorded cases of an allocator, run through a policy that is to do the same.
 */
#ifndef REPLAY_REPLAY_CONFORM_CONFORM_H
#define REPLAY_REPLAY_CONFORM_CONFORM_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* The allocators that have recorded cases, for messages. */
#define CONFORM_ALLOCATORS \
    "cupy, mxnet, ort, paddle, rmm-arena, rmm-binning, rmm-fixed, rmm-limiting, rmm-pool, tf-bfc, torch-host"

struct conform_case {
    char *name;
    char *difference;                /* the first; NULL: equal */
};

/* Zero is a valid beginning and end. */
struct conform {
    struct conform_case *cases;      /* in order of their folders and names */
    size_t n, cap, n_equal;
    size_t n_refused_options;        /* cases with an option that the policy does not take */
    char   version[32];              /* of the recorded library, of the last case */
};

/* Runs the cases below `folder` that our policy `allocator` reproduces ("rmm-pool") through `policy`, as typed after
 * --policy without options: it gets those of each case. ERR_USAGE if there is no case of that allocator, or if the
 * policy cannot be loaded; ERR_IO, ERR_FORMAT, ERR_HOST_NOMEM. */
MUST_USE enum err conform_run(const char *folder, const char *allocator, const char *policy, struct conform *out,
                              struct err_detail *err);
void conform_close(struct conform *c);

#endif
