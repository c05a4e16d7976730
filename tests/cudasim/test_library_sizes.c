/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Workspaces of cuFFT and cuSOLVER: what cards answered comes out, and the most is not below it. */
#include "cudasim/standins/library_sizes.h"

#include <criterion/criterion.h>

/* Bytes that an H200 answered for square matrices in fp32 (PyTorch 2.11, CUDA 13.0). */
static const struct { enum solver_call call; uint64_t rows, bytes; } answers[] = {
    {SOLVER_ORGQR, 64, 148480},    {SOLVER_SYEVJ, 64, 29000},      {SOLVER_GESVDJ, 64, 53632},
    {SOLVER_GEQRF, 300, 3326080},  {SOLVER_ORGQR, 300, 527360},    {SOLVER_SYEVJ, 300, 407896},
    {SOLVER_GESVDJ, 300, 808960},  {SOLVER_ORMQR, 300, 1906048},   {SOLVER_GEQRF, 1024, 6291584},
    {SOLVER_ORGQR, 1024, 1639424}, {SOLVER_SYEVD, 1024, 17429388}, {SOLVER_GESVDJ, 1024, 8675456},
    {SOLVER_ORMQR, 1024, 11801600},
};

Test(library_sizes, a_factorisation_takes_what_the_card_answered)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        cr_expect_eq(4 * solver_workspace_elements(answers[i].call, answers[i].rows, answers[i].rows),
                     answers[i].bytes);
}

static struct transform_shape shape(int n_dimensions, uint64_t a, uint64_t b, uint64_t batch)
{
    return (struct transform_shape){
        .n_dimensions = n_dimensions, .sizes = {a, b}, .batch = batch, .complex_bytes = 8,
    };
}

static uint64_t transform(int n_dimensions, uint64_t a, uint64_t b, uint64_t batch)
{
    const struct transform_shape s = shape(n_dimensions, a, b, batch);
    return transform_workspace_bytes(&s);
}

static uint64_t transform_most(int n_dimensions, uint64_t a, uint64_t b, uint64_t batch)
{
    const struct transform_shape s = shape(n_dimensions, a, b, batch);
    return transform_workspace_most_bytes(&s);
}

Test(library_sizes, a_transform_of_two_dimensions_takes_a_copy_of_its_signal)
{
    cr_expect_eq(transform(2, 100, 1500, 1), 1200000);
    cr_expect_eq(transform(2, 512, 512, 32), 64 << 20);
}

Test(library_sizes, a_short_transform_of_good_length_is_likely_to_take_none)
{
    cr_expect_eq(transform(1, 400, 0, 1000), 0);
    cr_expect_eq(transform_most(1, 400, 0, 1000), 400 * 1000 * 8);
}

Test(library_sizes, a_large_prime_takes_up_to_eight_times_as_much)
{
    cr_expect_eq(transform(1, 1009, 0, 1), 2 * 2048 * 8);
    cr_expect_eq(transform_most(1, 1009, 0, 1), 8 * 1009 * 8);
}

Test(library_sizes, the_most_is_not_below_what_is_likely)
{
    for (uint64_t rows = 1; rows < 40000; rows += 1 + rows / 7) {
        for (int call = 0; call < SOLVER_CALLS; call++)
            cr_expect_leq(solver_workspace_elements((enum solver_call)call, rows, rows),
                          solver_workspace_most_elements((enum solver_call)call, rows, rows));
        cr_expect_leq(transform(1, rows, 0, 3), transform_most(1, rows, 0, 3));
    }
}

Test(library_sizes, nothing_wraps_and_nothing_is_divided_by_none)
{
    cr_expect_eq(transform_most(2, UINT64_MAX / 2, UINT64_MAX / 2, 9), UINT64_MAX);
    cr_expect_eq(transform_most(2, 0, 0, 0), 0);
    cr_expect_eq(solver_workspace_most_elements(SOLVER_GEQRF, 0, 5), 0);
    cr_expect_gt(solver_workspace_most_elements(SOLVER_SPECTRAL, UINT64_MAX, 9), (uint64_t)1 << 50);
}
