/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Workspaces of cuFFT and cuSOLVER: what cards answered comes out, and the three answers are in order. */
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
        cr_expect_eq(4 * solver_workspace_elements(answers[i].call, answers[i].rows, answers[i].rows,
                                                        WORKSPACES_LIKELY), answers[i].bytes);
}

static uint64_t transform(int n_dimensions, uint64_t a, uint64_t b, uint64_t batch, enum device_workspaces workspaces)
{
    const struct transform_shape s = {
        .n_dimensions = n_dimensions, .sizes = {a, b}, .batch = batch, .complex_bytes = 8,
    };
    return transform_workspace_bytes(&s, workspaces);
}

Test(library_sizes, a_transform_of_two_dimensions_takes_a_copy_of_its_signal)
{
    cr_expect_eq(transform(2, 100, 1500, 1, WORKSPACES_LIKELY), 1200000);
    cr_expect_eq(transform(2, 512, 512, 32, WORKSPACES_LIKELY), 64 << 20);
}

Test(library_sizes, a_short_transform_of_good_length_is_likely_to_take_none)
{
    cr_expect_eq(transform(1, 400, 0, 1000, WORKSPACES_LIKELY), 0);
    cr_expect_eq(transform(1, 400, 0, 1000, WORKSPACES_MOST), 400 * 1000 * 8);
}

Test(library_sizes, a_large_prime_takes_up_to_eight_times_as_much)
{
    cr_expect_eq(transform(1, 1009, 0, 1, WORKSPACES_LIKELY), 2 * 2048 * 8);
    cr_expect_eq(transform(1, 1009, 0, 1, WORKSPACES_MOST), 8 * 1009 * 8);
}

Test(library_sizes, the_three_answers_are_in_order)
{
    for (uint64_t rows = 1; rows < 40000; rows += 1 + rows / 7) {
        for (int call = 0; call < SOLVER_CALLS; call++) {
            const uint64_t likely = solver_workspace_elements((enum solver_call)call, rows, rows, WORKSPACES_LIKELY);
            cr_expect_eq(solver_workspace_elements((enum solver_call)call, rows, rows, WORKSPACES_FIXED), 0);
            cr_expect_leq(likely, solver_workspace_elements((enum solver_call)call, rows, rows, WORKSPACES_MOST));
        }
        cr_expect_eq(transform(1, rows, 0, 3, WORKSPACES_FIXED), 0);
        cr_expect_leq(transform(1, rows, 0, 3, WORKSPACES_LIKELY), transform(1, rows, 0, 3, WORKSPACES_MOST));
    }
}

Test(library_sizes, nothing_wraps_and_nothing_is_divided_by_none)
{
    cr_expect_eq(transform(2, UINT64_MAX / 2, UINT64_MAX / 2, 9, WORKSPACES_MOST), UINT64_MAX);
    cr_expect_eq(transform(2, 0, 0, 0, WORKSPACES_MOST), 0);
    cr_expect_eq(solver_workspace_elements(SOLVER_GEQRF, 0, 5, WORKSPACES_MOST), 0);
    cr_expect_gt(solver_workspace_elements(SOLVER_SPECTRAL, UINT64_MAX, 9, WORKSPACES_MOST), (uint64_t)1 << 50);
}
