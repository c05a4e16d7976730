/*
 * What calls of stand-in libraries do that have to hand something back; all others return 0.
 *
 * A generated library (cudasim/standins.c) jumps here by name. Success is 0 in every one of NVIDIA's libraries.
 */
#include "cudasim/entry.h"

/* ...Create(handle *, ...): a handle unlike all others, so that what is kept per handle is kept apart. */
ENTRY(int, cudasim_standin_create, uint64_t *handle)
{
    *handle = cudasim_new_name();
    return 0;
}

/* cufftCreate and the cufftPlan family: a handle is an int. */
ENTRY(int, cudasim_standin_create_int, int *handle)
{
    static int last;
    *handle = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return 0;
}

/* cublasLtMatmulAlgoGetHeuristic: one algorithm, which needs no workspace. */
ENTRY(int, cudasim_standin_one_algorithm, uint64_t handle, uint64_t operation, uint64_t a, uint64_t b, uint64_t c,
      uint64_t d, uint64_t preference, int wanted, void *results, int *n)
{
    (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)wanted, (void)results;
    *n = 1;
    return 0;
}

/* f(handle, int *): a version, or the state of a communicator, for which 0 means that all is well. */
ENTRY(int, cudasim_standin_second_int_zero, uint64_t handle, int *value)
{
    (void)handle;
    *value = 0;
    return 0;
}

/* ncclGetVersion(int *). */
ENTRY(int, cudasim_standin_nccl_version, int *version)
{
    *version = 22700;
    return 0;
}

/* cudnnGetVersion: newer than any of its major version, as PyTorch asks of the library it finds. */
ENTRY(size_t, cudasim_standin_cudnn_version, void)
{
    return 99900;
}

ENTRY(size_t, cudasim_standin_cudnn8_version, void)
{
    return 8999;
}

ENTRY(const char *, cudasim_standin_text, void)
{
    return "simulated";
}
