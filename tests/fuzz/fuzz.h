/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a fuzz target is: libFuzzer's one function, called with bytes nobody vouches for.
 */
#ifndef REPLAY_TESTS_FUZZ_FUZZ_H
#define REPLAY_TESTS_FUZZ_FUZZ_H

#include "base/input.h"

#include <stddef.h>
#include <stdint.h>

/* Returns 0; what is wrong with the code under test ends the program. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What a packed input may unpack to: a few times what a reader looks at at once. A fuzzer finds small inputs that
 * unpack to much, keeps them, and would do little else from then on. */
enum { FUZZ_UNPACKED_MAX = 1 << 18 };

/* The bytes as an input; NULL: no memory. */
static inline struct input *fuzz_input(const void *data, size_t n)
{
    struct input *in;
    struct err_detail err;
    if (input_open_bytes(data, n, &in, &err) != ERR_OK)
        return NULL;
    input_allow(in, FUZZ_UNPACKED_MAX);
    return in;
}

/* An assertion that holds in every build. */
#define FUZZ_EXPECT(condition) ((condition) ? (void)0 : __builtin_trap())

#endif
