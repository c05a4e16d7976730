/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A mixture of experts: a router sends each token to some of several feed-forward layers.
 *
 * Which token goes where hangs on values, so the load states how many go to each: the most popular expert gets `skew`
 * times as many as the least popular one, and the others lie between. The requests are those of a plain loop over the
 * experts (tests/against-torch/load_programs.py). They are not exact one by one: an index that PyTorch sorts takes
 * temporaries that are left out here.
 */
#ifndef REPLAY_LOADS_EXPERTS_H
#define REPLAY_LOADS_EXPERTS_H

#include "loads/layers.h"

enum { EXPERTS_MAX = 512 };

struct experts {
    uint64_t n, chosen, skew, width, hidden;
    struct value router, *up, *down;         /* up, down: weight and bias of each expert */
};

/* Makes the parameters. ERR_HOST_NOMEM; experts_free frees, also a zeroed struct. */
MUST_USE enum err experts_make(struct experts *e, struct tape *t, struct err_detail *err);
void experts_free(struct experts *e);

/* Tokens of `n_rows`, each sent to `chosen` experts, that expert `i` gets. All add up to n_rows * chosen. */
uint64_t experts_rows(const struct experts *e, uint64_t n_rows, uint64_t i);

struct value experts_run(struct layers *l, const struct experts *e, struct value x, uint64_t n_rows);

#endif
