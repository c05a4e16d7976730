/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The workspaces of cuSPARSE, by the shapes of its matrices.
 *
 * NVIDIA documents no size. Its manual says of a product of two sparse matrices that the default algorithm asks for an
 * upper bound, "generally several times larger" than what it uses. doc/prediction.md has the other sources.
 */
#ifndef REPLAY_CUDASIM_STANDINS_SPARSE_SIZES_H
#define REPLAY_CUDASIM_STANDINS_SPARSE_SIZES_H

#include <stdint.h>

struct sparse_shape {
    uint64_t rows, columns, elements;
    unsigned index_bytes, value_bytes;           /* of one */
};

/* A matrix in another layout: the most of a call that has one sparse matrix; none is likely. UINT64_MAX if it does not
 * fit. */
uint64_t sparse_copy_bytes(const struct sparse_shape *s);

/* How many products of two elements a times b adds up, if the elements of both lie evenly. */
uint64_t sparse_even_products(const struct sparse_shape *a, const struct sparse_shape *b);

/* Of a product of two sparse matrices with so many products of elements: each with its column is likely. */
uint64_t sparse_product_bytes(const struct sparse_shape *a, uint64_t products);
uint64_t sparse_product_most_bytes(const struct sparse_shape *a, uint64_t products);

#endif
