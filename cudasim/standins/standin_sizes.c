/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The questions of cuFFT and cuSOLVER that hand back the size of a workspace. */
#include "cudasim/core/entry.h"
#include "cudasim/standins/library_sizes.h"
#include "cudasim/standins/standin_arguments.h"

/* cudaDataType of CUDA. */
enum { REAL_32 = 0, REAL_64 = 1, REAL_16 = 2, COMPLEX_32 = 4, COMPLEX_64 = 5, REAL_BFLOAT16 = 14 };

static unsigned real_bytes(uint64_t type)
{
    return type == REAL_64 || type == COMPLEX_64 ? 8 : type == REAL_32 || type == COMPLEX_32 ? 4 : 2;
}

static bool is_real(uint64_t type)
{
    return type <= REAL_16 || type == REAL_BFLOAT16;
}

/* ---- cuFFT ---- */

static uint64_t transform_bytes(const struct transform_shape *s)
{
    uint64_t unused;
    switch (cudasim_workspaces(WORKSPACES_OF_CUFFT, &unused)) {
    case WORKSPACES_LIKELY: return transform_workspace_bytes(s);
    case WORKSPACES_MOST: return transform_workspace_most_bytes(s);
    case WORKSPACES_FIXED: break;
    }
    return 0;
}

/* cufftXtMakePlanMany. */
ENTRY(int, cudasim_standin_transform, int plan, int n_dimensions, const long long *sizes, const long long *in_embed,
      long long in_stride, long long in_distance, int in_type, const long long *out_embed, long long out_stride,
      long long out_distance, int out_type, long long batch, size_t *bytes)
{
    (void)plan, (void)in_embed, (void)in_stride, (void)in_distance;
    (void)out_embed, (void)out_stride, (void)out_distance;
    struct transform_shape s = {
        .n_dimensions = n_dimensions, .batch = batch > 0 ? (uint64_t)batch : 0,
        .is_real = is_real((unsigned)in_type) || is_real((unsigned)out_type),
        .complex_bytes = 2 * real_bytes((unsigned)in_type),
    };
    *bytes = 0;
    for (int i = 0; i < n_dimensions && i < TRANSFORM_DIMENSIONS; i++)
        s.sizes[i] = sizes[i] > 0 ? (uint64_t)sizes[i] : 0;
    if (n_dimensions >= 1 && n_dimensions <= TRANSFORM_DIMENSIONS)
        *bytes = transform_bytes(&s);
    return 0;
}

/* ---- cuSOLVER ---- */

/* Where a call has what decides its workspace: places of arguments, from 1; 0: it has none. */
struct solver_places {
    int rows, columns, batch;
    int type;                        /* of the elements: the size is in bytes and followed by that of the host's */
    int size;
};

static uint64_t solver_elements(enum solver_call call, uint64_t rows, uint64_t columns)
{
    uint64_t unused;
    switch (cudasim_workspaces(WORKSPACES_OF_CUSOLVER, &unused)) {
    case WORKSPACES_LIKELY: return solver_workspace_elements(call, rows, columns);
    case WORKSPACES_MOST: return solver_workspace_most_elements(call, rows, columns);
    case WORKSPACES_FIXED: break;
    }
    return 0;
}

static int solver_answer(enum solver_call call, const struct solver_places *at, const uint64_t *arguments)
{
    const uint64_t batch = at->batch == 0 ? 1 : (uint32_t)arguments[at->batch - 1];
    const uint64_t columns = (uint32_t)arguments[at->columns - 1], rows = (uint32_t)arguments[at->rows - 1] * batch;
    const uint64_t elements = solver_elements(call, rows, columns);
    void *const size = (void *)(uintptr_t)arguments[at->size - 1];
    if (at->type == 0) {
        *(int *)size = elements < INT32_MAX ? (int)elements : INT32_MAX;
        return 0;
    }
    const uint64_t type = (uint32_t)arguments[at->type - 1];
    *(size_t *)size = elements * real_bytes(type) * (is_real(type) ? 1 : 2);
    *(size_t *)(uintptr_t)arguments[at->size] = 0;
    return 0;
}

#define SOLVER(name, call, ...)                                                                   \
    ENTRY(int, cudasim_standin_##name, ARGUMENTS)                                                 \
    {                                                                                             \
        static const struct solver_places places = { __VA_ARGS__ };                               \
        const uint64_t arguments[] = POINTERS;                                                    \
        return solver_answer(call, &places, arguments);                                           \
    }

/* cusolverDn.h: rows, columns, batch, type, size. */
SOLVER(xgeqrf, SOLVER_GEQRF, 3, 4, 0, 5, 11)
SOLVER(xpotrf, SOLVER_TRIANGULAR, 4, 4, 0, 5, 9)
SOLVER(xsytrs, SOLVER_TRIANGULAR, 3, 3, 0, 5, 12)
SOLVER(xsyevd, SOLVER_SYEVD, 5, 5, 0, 6, 12)
SOLVER(xsyev_batched, SOLVER_SPECTRAL, 5, 5, 14, 6, 12)
SOLVER(xgeev, SOLVER_SPECTRAL, 5, 5, 0, 6, 18)
SOLVER(geqrf, SOLVER_GEQRF, 2, 3, 0, 0, 6)
SOLVER(getrf, SOLVER_TRIANGULAR, 2, 3, 0, 0, 6)
SOLVER(potrf, SOLVER_TRIANGULAR, 3, 3, 0, 0, 6)
SOLVER(sytrf, SOLVER_TRIANGULAR, 2, 2, 0, 0, 5)
SOLVER(orgqr, SOLVER_ORGQR, 2, 3, 0, 0, 8)
SOLVER(ormqr, SOLVER_ORMQR, 4, 5, 0, 0, 12)
SOLVER(syevd, SOLVER_SYEVD, 4, 4, 0, 0, 8)
SOLVER(syevj, SOLVER_SYEVJ, 4, 4, 0, 0, 8)
SOLVER(syevj_batched, SOLVER_SPECTRAL, 4, 4, 10, 0, 8)
SOLVER(gesvd, SOLVER_SPECTRAL, 2, 3, 0, 0, 4)
SOLVER(gesvdj, SOLVER_GESVDJ, 4, 5, 0, 0, 13)
SOLVER(gesvdj_batched, SOLVER_SPECTRAL, 3, 4, 14, 0, 12)
SOLVER(gesvda, SOLVER_SPECTRAL, 4, 5, 18, 0, 17)
