/*
 * The processes of one job, when the program was started by mpirun; a program built without MPI is always alone.
 */
#ifndef REPLAY_REPLAY_SWEEP_RANKS_H
#define REPLAY_REPLAY_SWEEP_RANKS_H

#include "base/err.h"

#include <stddef.h>

/* What MPI does for them, in a library beside the program: MPI takes longer to load than many a command to run. */
struct ranks_ops {
    void  (*open)(int *rank, int *n);
    void  (*close)(void);
    void  (*send)(int to, const void *bytes, size_t n);
    void *(*receive)(int *from, size_t *n);
};
extern const struct ranks_ops ranks_mpi;

struct ranks {
    int rank, n;                     /* 0 of 1: alone */
    const struct ranks_ops *ops;     /* NULL: alone */
};

/* Joins the others. ERR_UNSUPPORTED with what to do where mpirun started a program that was built without MPI; ERR_IO
 * where it cannot be loaded. */
MUST_USE enum err ranks_open(struct ranks *out, struct err_detail *why);

/* Leaves; all ranks do so together. */
void ranks_close(struct ranks *r);

/* A rank that fails in these, or has no memory for a message, ends the whole job. */
void ranks_send(const struct ranks *r, int to, const void *bytes, size_t n);

/* Waits, without using the processor, for a message of anybody's; it is the caller's to free. */
void *ranks_receive(const struct ranks *r, int *from, size_t *n);

#endif
