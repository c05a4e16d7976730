/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a fuzz target is: libFuzzer's one function, called with bytes nobody vouches for.
 */
#ifndef REPLAY_TESTS_FUZZ_FUZZ_H
#define REPLAY_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0; what is wrong with the code under test ends the program. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* An assertion that holds in every build. */
#define FUZZ_EXPECT(condition) ((condition) ? (void)0 : __builtin_trap())

#endif
