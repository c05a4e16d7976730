/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The workspaces of cuFFT's plans and of cuSOLVER's factorisations, by their shapes.
 *
 * NVIDIA documents neither. What is likely is read off a few answers of cards, and most of what lies between them was
 * not asked: so there are three answers, none, the likely one and the most. doc/prediction.md has the sources.
 */
#ifndef REPLAY_CUDASIM_STANDINS_LIBRARY_SIZES_H
#define REPLAY_CUDASIM_STANDINS_LIBRARY_SIZES_H

#include <stdbool.h>
#include <stdint.h>

enum { TRANSFORM_DIMENSIONS = 3 };   /* of cuFFT's plans */

struct transform_shape {
    int      n_dimensions;           /* 1 to 3 */
    uint64_t sizes[TRANSFORM_DIMENSIONS];    /* elements of one transform, the contiguous dimension last */
    uint64_t batch;
    bool     is_real;                /* on one side */
    unsigned complex_bytes;          /* of one complex element: 4, 8 or 16 */
};

/* What is likely, and the most; UINT64_MAX if it does not fit. */
uint64_t transform_workspace_bytes(const struct transform_shape *s);
uint64_t transform_workspace_most_bytes(const struct transform_shape *s);

enum solver_call {
    SOLVER_GEQRF,                    /* QR: the factorisation */
    SOLVER_ORGQR,                    /* Q as a matrix */
    SOLVER_ORMQR,                    /* Q times a matrix */
    SOLVER_SYEVJ,                    /* eigenvalues of a symmetric matrix, by Jacobi's rotations */
    SOLVER_SYEVD,                    /* the same, by divide and conquer */
    SOLVER_GESVDJ,                   /* singular values */
    SOLVER_SPECTRAL,                 /* other eigenvalues and singular values */
    SOLVER_TRIANGULAR,               /* LU, Cholesky, LDL */
    SOLVER_CALLS
};

/* In elements, as an H200 answered for square matrices in fp32. */
uint64_t solver_workspace_elements(enum solver_call call, uint64_t rows, uint64_t columns);
uint64_t solver_workspace_most_elements(enum solver_call call, uint64_t rows, uint64_t columns);

#endif
