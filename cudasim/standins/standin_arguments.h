/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Calls of libraries whose arguments are looked at by their place. A call that has fewer arguments than these leaves
 * the rest as it is, and nothing looks at them.
 */
#ifndef REPLAY_CUDASIM_STANDINS_STANDIN_ARGUMENTS_H
#define REPLAY_CUDASIM_STANDINS_STANDIN_ARGUMENTS_H

#include <stdint.h>

#define ARGUMENTS                                                                                               \
    uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8,     \
    uint64_t a9, uint64_t a10, uint64_t a11, uint64_t a12, uint64_t a13, uint64_t a14, uint64_t a15,            \
    uint64_t a16, uint64_t a17, uint64_t a18, uint64_t a19, uint64_t a20
#define POINTERS                                                                                                \
    { a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20 }

#endif
