/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Workspaces of cuSPARSE: a public report lies between what is likely and the most, and no size wraps. */
#include "cudasim/standins/sparse_sizes.h"

#include <criterion/criterion.h>

static struct sparse_shape square(uint64_t rows, uint64_t elements, unsigned value_bytes)
{
    return (struct sparse_shape){
        .rows = rows, .columns = rows, .elements = elements, .index_bytes = 4, .value_bytes = value_bytes,
    };
}

Test(sparse_sizes, a_product_that_was_reported_lies_between_the_likely_size_and_the_most)
{
    const struct sparse_shape a = square(125025, 13324468, 8);
    const uint64_t products = sparse_even_products(&a, &a), reported = 91587203607;
    cr_expect_leq(sparse_product_bytes(&a, products), reported);
    cr_expect_geq(sparse_product_most_bytes(&a, products), reported);
}

Test(sparse_sizes, a_diagonal_adds_up_one_product_for_each_row)
{
    const struct sparse_shape a = square(1000, 1000, 4);
    cr_expect_eq(sparse_even_products(&a, &a), 1000);
    cr_expect_eq(sparse_product_bytes(&a, 1000), 8000);
}

Test(sparse_sizes, a_matrix_without_elements_has_no_products)
{
    const struct sparse_shape a = square(1000, 0, 4), none = square(0, 0, 4);
    cr_expect_eq(sparse_even_products(&a, &a), 0);
    cr_expect_eq(sparse_even_products(&none, &none), 0);
}

Test(sparse_sizes, a_copy_has_places_and_values_and_the_starts_of_rows)
{
    const struct sparse_shape a = square(99, 500, 4);
    cr_expect_eq(sparse_copy_bytes(&a), 500 * 12 + 100 * 4);
}

Test(sparse_sizes, no_size_wraps)
{
    const struct sparse_shape a = square(1, UINT64_MAX / 2, 8);
    cr_expect_eq(sparse_copy_bytes(&a), UINT64_MAX);
    cr_expect_eq(sparse_product_most_bytes(&a, sparse_even_products(&a, &a)), UINT64_MAX);
}
