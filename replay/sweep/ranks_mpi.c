/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Messages by MPI. An error of MPI ends the whole job (MPI_ERRORS_ARE_FATAL, the default); what was written stays. */
#include "replay/sweep/ranks.h"

#include "base/exit_status.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

enum { MESSAGE_TAG = 1 };

static void mpi_open(int *rank, int *n)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, n);
}

static void mpi_close(void)
{
    MPI_Finalize();
}

static void mpi_send(int to, const void *bytes, size_t n)
{
    if (bytes == NULL || n > INT_MAX)
        MPI_Abort(MPI_COMM_WORLD, STATUS_OURS);
    MPI_Send(bytes, (int)n, MPI_BYTE, to, MESSAGE_TAG, MPI_COMM_WORLD);
}

static void *mpi_receive(int *from, size_t *n, const volatile sig_atomic_t *interrupted)
{
    const struct timespec pause = { .tv_nsec = 1000000 };    /* MPI_Probe itself would spin */
    MPI_Status status;
    int is_there = 0, length = 0;
    while (MPI_Iprobe(MPI_ANY_SOURCE, MESSAGE_TAG, MPI_COMM_WORLD, &is_there, &status), !is_there) {
        if (interrupted != NULL && *interrupted != 0)
            return NULL;
        nanosleep(&pause, NULL);
    }
    MPI_Get_count(&status, MPI_BYTE, &length);
    void *bytes = malloc((size_t)length + 1);
    if (bytes == NULL)
        MPI_Abort(MPI_COMM_WORLD, STATUS_OURS);
    MPI_Recv(bytes, length, MPI_BYTE, status.MPI_SOURCE, MESSAGE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *from = status.MPI_SOURCE;
    *n = (size_t)length;
    return bytes;
}

const struct ranks_ops ranks_mpi = { .open = mpi_open, .close = mpi_close, .send = mpi_send, .receive = mpi_receive };
