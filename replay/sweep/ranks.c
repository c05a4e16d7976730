/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A process is alone unless mpirun started it. Then MPI's part of the program is loaded, and stays loaded. */
#include "replay/sweep/ranks.h"

#include "base/installed_file.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static enum err ranks_load(const struct ranks_ops **out, struct err_detail *err)
{
    char path[PATH_MAX];
    struct err_detail ignored;
    if (installed_file_find("mpi/libreplay-mpi.so", path, &ignored) != ERR_OK)
        return err_set(err, ERR_UNSUPPORTED, 0, "this program was built without MPI: install libopenmpi-dev and build "
                       "again, or give each process its --shard");
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);        /* MPI's own parts look for what it exports */
    const struct ranks_ops *ops = library != NULL ? dlsym(library, "ranks_mpi") : NULL;
    if (ops == NULL)
        return err_set(err, ERR_IO, 0, "%s", dlerror());
    *out = ops;
    return ERR_OK;
}

enum err ranks_open(struct ranks *out, struct err_detail *err)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    *out = (struct ranks){ .rank = 0, .n = 1 };
    if (size == NULL || strcmp(size, "1") == 0)
        return ERR_OK;
    const enum err e = ranks_load(&out->ops, err);
    if (e == ERR_OK)
        out->ops->open(&out->rank, &out->n);
    return e;
}

void ranks_close(struct ranks *r)
{
    if (r->ops != NULL)
        r->ops->close();
}

void ranks_send(const struct ranks *r, int to, const void *bytes, size_t n)
{
    assert(r->ops != NULL && to != r->rank && to < r->n);
    r->ops->send(to, bytes, n);
}

void *ranks_receive(const struct ranks *r, int *from, size_t *n, const volatile sig_atomic_t *interrupted)
{
    return r->ops->receive(from, n, interrupted);
}
