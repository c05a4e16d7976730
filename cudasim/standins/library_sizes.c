/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * cuFFT: transforms of several dimensions take one copy of the signal (public reports of plans of 100 x 100 to
 * 100 x 1500, 512 x 512 and 512 x 512 x 32 elements; cuFFT of CUDA 7.5 and 11). Long transforms of one dimension are
 * expected to do so, too. A factor above 127 makes cuFFT use Bluestein's algorithm, whose two copies are padded to a
 * power of two; NVIDIA's manual says "up to eight times" of that.
 *
 * cuSOLVER: an H200's answers for 64, 300 and 1,024 rows and columns (CUDA 13.0), and straight lines between them.
 */
#include "cudasim/standins/library_sizes.h"

#include "base/units.h"

#include <stddef.h>

enum { LONGEST_IN_ONE_KERNEL = 32768, LARGEST_RADIX = 127, GOOD_RADIX = 7, BLUESTEIN_MOST = 8 };

/* UINT64_MAX if it does not fit. */
static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t largest_factor(uint64_t n)
{
    uint64_t largest = 1;
    for (uint64_t factor = 2; factor <= LARGEST_RADIX; factor++)
        for (; n % factor == 0; n /= factor)
            largest = factor;
    return n > 1 ? n : largest;
}

static uint64_t power_of_two_from(uint64_t n)
{
    uint64_t power = 1;
    while (power < n && power < (uint64_t)1 << 62)
        power *= 2;
    return power;
}

/* The largest prime factor of a length, and the elements of all signals. */
struct signal { uint64_t factor, elements; };

static struct signal signal_of(const struct transform_shape *s)
{
    struct signal all = {.factor = 1, .elements = s->batch};
    for (int i = 0; i < s->n_dimensions; i++) {
        const uint64_t largest = s->sizes[i] > 0 ? largest_factor(s->sizes[i]) : 1;
        all.factor = largest > all.factor ? largest : all.factor;
        all.elements = times(all.elements, s->sizes[i]);
    }
    return all;
}

/* Of a real signal half the spectrum is kept. */
uint64_t transform_workspace_bytes(const struct transform_shape *s)
{
    const uint64_t last = s->sizes[s->n_dimensions - 1];
    const struct signal all = signal_of(s);
    if (all.elements == 0)
        return 0;
    if (all.factor > LARGEST_RADIX)
        return times(times(2 * power_of_two_from(times(2, last)), all.elements / last), s->complex_bytes);
    if (s->n_dimensions == 1 && last <= LONGEST_IN_ONE_KERNEL && all.factor <= GOOD_RADIX)
        return 0;
    return times(s->is_real ? all.elements / last * (last / 2 + 1) : all.elements, s->complex_bytes);
}

uint64_t transform_workspace_most_bytes(const struct transform_shape *s)
{
    const struct signal all = signal_of(s);
    const uint64_t copies = times(s->complex_bytes, all.factor > GOOD_RADIX ? BLUESTEIN_MOST : 1);
    const uint64_t likely = transform_workspace_bytes(s), most = times(all.elements, copies);
    return most > likely ? most : likely;
}

/* ---- cuSOLVER ---- */

enum { ASKED = 3 };
static const uint64_t asked_rows[ASKED] = {64, 300, 1024};

/* Elements at these sizes; and the most of calls that were not asked, in matrices. PyTorch gives small matrices to
 * cuBLAS or to other calls, so a few were asked at one or two sizes: GEQRF and ORMQR at no 64, SYEVJ at no 1,024 and
 * SYEVD at 1,024 only. There the sizes are the nearest one's (QR), or in proportion to the matrix. */
static const struct { uint64_t elements[ASKED], most_matrices; } solver_sizes[SOLVER_CALLS] = {
    [SOLVER_GEQRF] = {{831520, 831520, 1572896}, 0},
    [SOLVER_ORGQR] = {{37120, 131840, 409856}, 0},
    [SOLVER_ORMQR] = {{476512, 476512, 2950400}, 0},
    [SOLVER_SYEVJ] = {{7250, 101974, 1188089}, 0},
    [SOLVER_SYEVD] = {{17021, 373996, 4357347}, 0},
    [SOLVER_GESVDJ] = {{13408, 202240, 2168864}, 0},
    [SOLVER_SPECTRAL] = {{0}, 5},
    [SOLVER_TRIANGULAR] = {{0}, 1},
};
#define LARGEST_MATRIX ((uint64_t)1 << 48)       /* elements: larger than any card, and no sum wraps */
#define LEAST_MOST MIB               /* elements: 4 MiB of fp32, a little above what small matrices take */

/* Nothing is open where the card was asked. */
static bool was_asked(enum solver_call call, uint64_t matrix)
{
    bool was = false;
    for (int i = 0; i < ASKED; i++)
        was = was || matrix == asked_rows[i] * asked_rows[i];
    return was && solver_sizes[call].most_matrices == 0;
}

/* On the straight line between the two sizes that were asked; beyond them, as the matrix grows. */
static uint64_t on_the_line(const uint64_t *elements, uint64_t matrix)
{
    uint64_t areas[ASKED];
    for (int i = 0; i < ASKED; i++)
        areas[i] = asked_rows[i] * asked_rows[i];
    if (matrix <= areas[0])
        return elements[0];
    for (int i = 1; i < ASKED; i++)
        if (matrix <= areas[i]) {
            const double part = (double)(matrix - areas[i - 1]) / (double)(areas[i] - areas[i - 1]);
            return elements[i - 1] + (uint64_t)(part * (double)(elements[i] - elements[i - 1]));
        }
    const double times_asked = (double)matrix / (double)areas[ASKED - 1];
    return (uint64_t)(times_asked * (double)elements[ASKED - 1]);
}

static uint64_t matrix_of(uint64_t rows, uint64_t columns)
{
    const uint64_t area = times(rows, columns);
    return area < LARGEST_MATRIX ? area : LARGEST_MATRIX;
}

uint64_t solver_workspace_elements(enum solver_call call, uint64_t rows, uint64_t columns)
{
    const uint64_t matrix = matrix_of(rows, columns);
    return matrix == 0 ? 0 : on_the_line(solver_sizes[call].elements, matrix);
}

uint64_t solver_workspace_most_elements(enum solver_call call, uint64_t rows, uint64_t columns)
{
    const uint64_t matrix = matrix_of(rows, columns), likely = solver_workspace_elements(call, rows, columns);
    if (matrix == 0 || was_asked(call, matrix))
        return likely;
    return 2 * likely + solver_sizes[call].most_matrices * matrix + LEAST_MOST;
}
