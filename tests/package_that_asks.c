/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A package's library that takes functions of NVIDIA's without naming their library, as PyTorch has loaded it before.
 * tests/test_standins.c reads it. */
int cublasHgemm(void);
int cufftExecZ2Z(void);
int package_that_asks(void);

int package_that_asks(void)
{
    return cublasHgemm() + cufftExecZ2Z();
}
