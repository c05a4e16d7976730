/* Built without MPI. Under mpirun every process would do all of the work and write to one database: that is refused. */
#include "replay/ranks.h"

#include <stdlib.h>
#include <string.h>

enum err ranks_open(struct ranks *out, struct err_detail *why)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    *out = (struct ranks){ .rank = 0, .n = 1 };
    if (size != NULL && strcmp(size, "1") != 0)
        return err_set(why, ERR_UNSUPPORTED, 0, "this program was built without MPI: install libopenmpi-dev and build "
                       "again, or give each process its --shard");
    return ERR_OK;
}

void ranks_close(struct ranks *r)
{
    (void)r;
}

void ranks_send(const struct ranks *r, int to, const void *bytes, size_t n)
{
    (void)r, (void)to, (void)bytes, (void)n;
}

void *ranks_receive(const struct ranks *r, int *from, size_t *n)
{
    (void)r, (void)from, (void)n;
    return NULL;
}
