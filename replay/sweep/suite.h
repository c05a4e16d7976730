/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The frozen benchmark: fixed traces, each through every policy on cards of 1.02, 1.05, 1.10 and 1.25 times the memory
 * that no allocator can do without, and on a roomy one. edition_1.def lists traces, proved bounds and policies.
 */
#ifndef REPLAY_REPLAY_SWEEP_SUITE_H
#define REPLAY_REPLAY_SWEEP_SUITE_H

#include "replay/sweep/expand.h"
#include "report/rows/run_table.h"
#include "report/rows/survival.h"

#include <signal.h>

/* What stands for all policies of the edition among those asked for. */
#define SUITE_EDITION "edition"

struct suite_request {
    const char *folder;              /* of samples */
    const char *const *policies;     /* as typed, braces and all, or SUITE_EDITION; n_policies 0: that one */
    size_t      n_policies;
    const char *db;                  /* where runs are stored, and found if they were done before; NULL: nowhere */
    unsigned    threads;             /* 0: one per core */
    const volatile sig_atomic_t *interrupted;        /* NULL: never */
};

struct suite {
    struct expansion policies;       /* what the rows of `survival` name */
    struct survival  survival;
    size_t           n_traces;
};

/* The i-th policy of the edition; NULL after the last. Likewise a built-in that is left out, with *why. */
const char *suite_policy_at(size_t i);
const char *suite_left_out_at(size_t i, const char **reason);

/* Runs the benchmark and appends its runs to `table`, in which a card is called "1.02 x bound". ERR_FORMAT for a trace
 * that is not the edition's; ERR_UNSUPPORTED for a policy that cannot run on all of it; sweep's errors. Close it also
 * after an error. */
MUST_USE enum err suite_run(const struct suite_request *asked, struct run_table *table, struct suite *out,
                            struct err_detail *err);
void suite_close(struct suite *s);

#endif
