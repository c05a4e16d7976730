/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The processes of one job that mpirun started. A program built without MPI is always alone.
 */
#ifndef REPLAY_REPLAY_SWEEP_RANKS_H
#define REPLAY_REPLAY_SWEEP_RANKS_H

#include "base/err.h"

#include <signal.h>
#include <stddef.h>

/* MPI's part, in a library next to the program: to load MPI takes longer than many commands run. */
struct ranks_ops {
    void  (*open)(int *rank, int *n);
    void  (*close)(void);
    void  (*send)(int to, const void *bytes, size_t n);
    void *(*receive)(int *from, size_t *n, const volatile sig_atomic_t *interrupted);
};
extern const struct ranks_ops ranks_mpi;

struct ranks {
    int rank, n;                     /* 0 of 1: alone */
    const struct ranks_ops *ops;     /* NULL: alone */
};

/* Joins the others. ERR_UNSUPPORTED, with what to do, if mpirun started a program built without MPI; ERR_IO if the
 * library cannot be loaded. */
MUST_USE enum err ranks_open(struct ranks *out, struct err_detail *err);

/* Leaves the job; all ranks do so together, so a rank that does not wait for the others ends without it: mpirun ends
 * them then. */
void ranks_close(struct ranks *r);

/* A rank that fails in these functions, or has no memory for a message, ends the whole job. */
void ranks_send(const struct ranks *r, int to, const void *bytes, size_t n);

/* Waits for a message from any rank, without using the processor. The caller frees it. NULL if *interrupted is not 0;
 * `interrupted` may be NULL. */
void *ranks_receive(const struct ranks *r, int *from, size_t *n, const volatile sig_atomic_t *interrupted);

#endif
