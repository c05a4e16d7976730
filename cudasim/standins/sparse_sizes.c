/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A product of two sparse matrices: a public report (ginkgo-project/ginkgo#1794) has a request of 91,587,203,607 bytes
 * for the square of a matrix of 125,025 rows and 13,324,468 elements. If these lie evenly, 1.42e9 products of elements
 * are added up: 64.5 bytes for each, which is 5.4 times a value of 8 bytes and a column of 4.
 */
#include "cudasim/standins/sparse_sizes.h"

#include <stddef.h>

enum { TIMES_MOST = 6 };

/* UINT64_MAX if it does not fit. */
static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t sparse_copy_bytes(const struct sparse_shape *s)
{
    const uint64_t longer = s->rows > s->columns ? s->rows : s->columns;
    return plus(times(s->elements, 2 * s->index_bytes + s->value_bytes), times(plus(longer, 1), s->index_bytes));
}

uint64_t sparse_even_products(const struct sparse_shape *a, const struct sparse_shape *b)
{
    if (a->elements == 0 || b->elements == 0 || b->rows == 0)
        return 0;
    const double products = (double)a->elements * (double)b->elements / (double)b->rows;
    return products < 1 ? 1 : products < (double)(UINT64_MAX / 2) ? (uint64_t)products : UINT64_MAX;
}

uint64_t sparse_product_bytes(const struct sparse_shape *a, uint64_t products)
{
    return times(products, a->index_bytes + a->value_bytes);
}

uint64_t sparse_product_most_bytes(const struct sparse_shape *a, uint64_t products)
{
    return plus(times(sparse_product_bytes(a, products), TIMES_MOST), sparse_copy_bytes(a));
}
