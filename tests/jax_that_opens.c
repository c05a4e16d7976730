/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* In the place of JAX's plugin: it names no library of NVIDIA's and has the names of functions among its constants.
 * tests/cudasim/test_standins.c reads it. */
const char *jax_opens(unsigned i);

const char *jax_opens(unsigned i)
{
    static const char *const names[] = { "cublasLtCreate", "cufftGetVersion", "cufftGetVersion failed: %d",
                                         "cublasLtGetStatusString", "cusparseGetProperty" };
    return names[i % (sizeof names / sizeof names[0])];
}
