/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A package's library that takes functions of NVIDIA's without naming their library, as PyTorch has loaded it before,
 * and exports none itself. tests/cudasim/test_standins.c reads it. */
int cublasHgemm(void);
int cufftExecZ2Z(void);

__attribute__((constructor)) static void ask(void)
{
    (void)cublasHgemm();
    (void)cufftExecZ2Z();
}
