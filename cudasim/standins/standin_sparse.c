/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * cuSPARSE, by the calls of its generic interface (cusparse.h): which shape a matrix has, and the workspace that a
 * product with it asks for. The products themselves do nothing, as all of a stand-in.
 *
 * A descriptor of a sparse matrix is memory of its own: its handle is the address.
 */
#include "cudasim/core/entry.h"
#include "cudasim/standins/sparse_sizes.h"
#include "cudasim/standins/standin_arguments.h"

#include <stdlib.h>

enum {
    OK = 0, ALLOC_FAILED = 2, INVALID_VALUE = 3,     /* cusparseStatus_t */
    INDEX_64 = 3,                                    /* cusparseIndexType_t */
    REAL_32 = 0, REAL_64 = 1, COMPLEX_32 = 4, COMPLEX_64 = 5, COMPLEX_16 = 6, COMPLEX_BFLOAT16 = 15,
    WIDEST = 16, USUAL = 2,
};

static unsigned value_bytes(uint64_t type)
{
    switch (type) {
    case COMPLEX_64: return WIDEST;
    case REAL_64: case COMPLEX_32: return sizeof(double);
    case REAL_32: case COMPLEX_16: case COMPLEX_BFLOAT16: return sizeof(float);
    default: return USUAL;
    }
}

/* Where a call that makes a matrix has what decides its shape: places of arguments, from 1; 0: it has none. */
struct matrix_places {
    int index_type, value_type;
    int block_rows, block_columns;
};

static uint64_t side(const uint64_t *arguments, int place)
{
    return place == 0 ? 1 : arguments[place - 1];
}

/* cusparseCreate...(descriptor *, rows, columns, elements, ...). Of blocks these count blocks. */
static int make_matrix(const struct matrix_places *at, const uint64_t *arguments)
{
    struct sparse_shape **const out = (struct sparse_shape **)(uintptr_t)arguments[0];
    const uint64_t high = side(arguments, at->block_rows), wide = side(arguments, at->block_columns);
    if (out == NULL)
        return INVALID_VALUE;
    *out = malloc(sizeof **out);
    if (*out == NULL)
        return ALLOC_FAILED;
    **out = (struct sparse_shape){
        .rows = arguments[1] * high, .columns = arguments[2] * wide, .elements = arguments[3] * high * wide,
        .index_bytes = (uint32_t)arguments[at->index_type - 1] == INDEX_64 ? sizeof(int64_t) : sizeof(int32_t),
        .value_bytes = value_bytes((uint32_t)arguments[at->value_type - 1]),
    };
    return OK;
}

#define MATRIX(name, ...)                                                                         \
    ENTRY(int, cudasim_standin_##name, ARGUMENTS)                                                 \
    {                                                                                             \
        static const struct matrix_places places = { __VA_ARGS__ };                               \
        const uint64_t arguments[] = POINTERS;                                                    \
        return make_matrix(&places, arguments);                                                   \
    }

MATRIX(sparse_coo, 8, 10, 0, 0)
MATRIX(sparse_compressed, 9, 11, 0, 0)
MATRIX(sparse_blocks, 10, 12, 5, 6)

/* Layouts that nothing is known of: no elements. */
ENTRY(int, cudasim_standin_sparse_other, struct sparse_shape **out)
{
    *out = calloc(1, sizeof **out);
    return *out == NULL ? ALLOC_FAILED : OK;
}

/* What is answered: none, the likely size, or the most. */
static size_t answered(uint64_t likely, uint64_t most)
{
    uint64_t unused;
    switch (cudasim_workspaces(WORKSPACES_OF_CUSPARSE, &unused)) {
    case WORKSPACES_LIKELY: return likely;
    case WORKSPACES_MOST: return most;
    case WORKSPACES_FIXED: break;
    }
    return 0;
}

/* ...bufferSize of a call with one sparse matrix at the k-th argument, which puts the size where the n-th points. */
#define ONE_SPARSE(k, n)                                                                          \
    ENTRY(int, cudasim_standin_sparse_##k##_##n, ARGUMENTS)                                       \
    {                                                                                             \
        const uint64_t arguments[] = POINTERS;                                                    \
        const struct sparse_shape *const matrix = (const void *)(uintptr_t)arguments[k - 1];      \
        *(size_t *)(uintptr_t)arguments[n - 1] =                                                  \
            matrix == NULL ? 0 : answered(0, sparse_copy_bytes(matrix));                          \
        return OK;                                                                                \
    }

ONE_SPARSE(4, 10)
ONE_SPARSE(5, 11)
ONE_SPARSE(8, 11)

/* cusparseSpGEMM_compute: at first it is asked for the size, without a buffer. How many products of elements are added
 * up is said by who knows where the elements lie (replay_values.py); else they are taken to lie evenly. */
ENTRY(int, cudasim_standin_sparse_product, ARGUMENTS)
{
    const uint64_t arguments[] = POINTERS;
    const struct sparse_shape *const a = (const void *)(uintptr_t)a5, *const b = (const void *)(uintptr_t)a6;
    size_t *const size = (size_t *)(uintptr_t)arguments[11];
    if (a13 != 0 || a == NULL || b == NULL) {
        cudasim_values_unknown();
        cudasim_library_work();
        return OK;
    }
    const int64_t said = cudasim_values_next_answer();
    const uint64_t products = said > 0 ? (uint64_t)said : sparse_even_products(a, b);
    *size = answered(sparse_product_bytes(a, products), sparse_product_most_bytes(a, products));
    return OK;
}
