/* By MPI. Its errors end the whole job (MPI_ERRORS_ARE_FATAL, the default), and what was written stays. */
#include "replay/ranks.h"

#include "replay/cli.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGE_TAG = 1 };

enum err ranks_open(struct ranks *out, struct err_detail *why)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    (void)why;
    *out = (struct ranks){ .rank = 0, .n = 1 };
    if (size == NULL || strcmp(size, "1") == 0)      /* alone: MPI's start would cost a quarter of a second */
        return ERR_OK;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &out->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &out->n);
    return ERR_OK;
}

void ranks_close(struct ranks *r)
{
    if (r->n > 1)
        MPI_Finalize();
}

void ranks_send(const struct ranks *r, int to, const void *bytes, size_t n)
{
    (void)r;
    if (bytes == NULL || n > INT_MAX)
        MPI_Abort(MPI_COMM_WORLD, STATUS_OURS);
    MPI_Send(bytes, (int)n, MPI_BYTE, to, MESSAGE_TAG, MPI_COMM_WORLD);
}

void *ranks_receive(const struct ranks *r, int *from, size_t *n)
{
    const struct timespec pause = { .tv_nsec = 1000000 };    /* MPI_Probe itself would spin */
    MPI_Status status;
    int is_there = 0, length = 0;
    (void)r;
    while (MPI_Iprobe(MPI_ANY_SOURCE, MESSAGE_TAG, MPI_COMM_WORLD, &is_there, &status), !is_there)
        nanosleep(&pause, NULL);
    MPI_Get_count(&status, MPI_BYTE, &length);
    void *bytes = malloc((size_t)length + 1);
    if (bytes == NULL)
        MPI_Abort(MPI_COMM_WORLD, STATUS_OURS);
    MPI_Recv(bytes, length, MPI_BYTE, status.MPI_SOURCE, MESSAGE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *from = status.MPI_SOURCE;
    *n = (size_t)length;
    return bytes;
}
