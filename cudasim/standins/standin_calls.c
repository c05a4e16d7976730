/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The calls of stand-in libraries that must hand something back. All others return 0, which is success in each of
 * NVIDIA's libraries. A generated library (cudasim/standins/standins.c) jumps here by name.
 */
#include "cudasim/core/entry.h"
#include "cudasim/standins/standin_arguments.h"

/* All that may write to a device: what the host copied there is no longer known. */
ENTRY(int, cudasim_standin_work, void)
{
    cudasim_values_unknown();
    cudasim_library_work();
    return 0;
}

/* ...Create(handle *, ...): a handle that differs from all others, because programs keep things by handle. */
ENTRY(int, cudasim_standin_create, uint64_t *handle)
{
    *handle = cudasim_new_name();
    return 0;
}

/* cufftCreate, the cufftPlan family and ncclRedOpCreatePreMulSum: a handle is an int. */
ENTRY(int, cudasim_standin_create_int, int *handle)
{
    static int last;
    *handle = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return 0;
}

/* cublasLtMatmulAlgoGetHeuristic: algorithms, which need no workspace. An H200 named eight to XLA's autotuner, which
 * asks for 128 and runs each (doc/prediction.md); PyTorch asks for one. */
struct product_algorithm {
    unsigned char algorithm[64];
    size_t workspace_bytes;
    int    status;                               /* 0: it can be used */
    float  waves;
    int    reserved[4];
};
enum { PRODUCT_ALGORITHMS = 8 };

ENTRY(int, cudasim_standin_product_algorithms, uint64_t handle, uint64_t operation, uint64_t a, uint64_t b, uint64_t c,
      uint64_t d, uint64_t preference, int wanted, struct product_algorithm *results, int *n)
{
    (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
    *n = wanted < PRODUCT_ALGORITHMS ? wanted : PRODUCT_ALGORITHMS;
    for (int i = 0; i < *n; i++)
        results[i] = (struct product_algorithm){ .waves = 1 };
    return 0;
}

/* f(handle, int *): a version, or the state of a communicator, where 0 means that all is well. */
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

/* cudnnGetVersion: newer than any of its major version, so that PyTorch's check for the version it was built with
 * passes. */
ENTRY(size_t, cudasim_standin_cudnn_version, void)
{
    return 99900;
}

ENTRY(size_t, cudasim_standin_cudnn8_version, void)
{
    return 8999;
}

/* cudnnGetProperty(which, int *): the same version in its three parts. */
ENTRY(int, cudasim_standin_cudnn_property, int which, int *value)
{
    static const int parts[] = {9, 99, 0};
    *value = which >= 0 && which < 3 ? parts[which] : 0;
    return 0;
}

ENTRY(int, cudasim_standin_cudnn8_property, int which, int *value)
{
    static const int parts[] = {8, 9, 99};
    *value = which >= 0 && which < 3 ? parts[which] : 0;
    return 0;
}

/* Versions of libraries whose soname has the major one: newer than any of it, so that a check for the version that a
 * program was built with passes. By part: ...GetProperty(which, int *); in one number: f(int *), f(handle, int *). */
#define LIBRARY_VERSION(a)                                                         \
    ENTRY(int, cudasim_standin_property_##a, int which, int *value)                \
    {                                                                              \
        static const int parts[] = { a, 9, 99 };                                   \
        *value = which >= 0 && which < 3 ? parts[which] : 0;                       \
        return 0;                                                                  \
    }                                                                              \
    ENTRY(int, cudasim_standin_version_##a, int *version)                          \
    {                                                                              \
        *version = a * 1000 + 999;                                                 \
        return 0;                                                                  \
    }                                                                              \
    ENTRY(int, cudasim_standin_second_version_##a, uint64_t handle, int *version)  \
    {                                                                              \
        (void)handle;                                                              \
        *version = a * 1000 + 999;                                                 \
        return 0;                                                                  \
    }

LIBRARY_VERSION(11)
LIBRARY_VERSION(12)
LIBRARY_VERSION(13)

/* cublasGetVersion(handle, int *): 120999 is 12.9.99. */
#define CUBLAS_VERSION(a)                                                          \
    ENTRY(int, cudasim_standin_cublas##a##_version, uint64_t handle, int *version) \
    {                                                                              \
        (void)handle;                                                              \
        *version = a * 10000 + 999;                                                \
        return 0;                                                                  \
    }

CUBLAS_VERSION(12)
CUBLAS_VERSION(13)

/* nvrtcVersion(int *major, int *minor): the last of each major version, as cudaRuntimeGetVersion says. */
#define NVRTC_VERSION(a, b)                                                    \
    ENTRY(int, cudasim_standin_nvrtc##a##_version, int *major, int *minor)     \
    {                                                                          \
        *major = a;                                                            \
        *minor = b;                                                            \
        return 0;                                                              \
    }

NVRTC_VERSION(11, 8)
NVRTC_VERSION(12, 8)
NVRTC_VERSION(13, 0)

/* nvrtcGetPTXSize, nvrtcGetCUBINSize(program, size_t *): code of one byte, which cuModuleLoadData does not look at. */
ENTRY(int, cudasim_standin_second_size_one, uint64_t program, size_t *size)
{
    (void)program;
    *size = 1;
    return 0;
}

/* nvrtcGetLoweredName(program, expression, const char **name). */
ENTRY(int, cudasim_standin_third_text, uint64_t program, const char *expression, const char **name)
{
    (void)program, (void)expression;
    *name = "simulated";
    return 0;
}

/* Sizes of workspaces: no workspace is needed. The k-th argument points to the size. */
#define NO_WORKSPACE(type, k)                               \
    ENTRY(int, cudasim_standin_##type##_##k, ARGUMENTS)     \
    {                                                       \
        const uint64_t arguments[] = POINTERS;              \
        *(type *)(uintptr_t)arguments[k - 1] = 0;           \
        return 0;                                           \
    }

NO_WORKSPACE(int, 12)
NO_WORKSPACE(int, 14)
NO_WORKSPACE(size_t, 6)
NO_WORKSPACE(size_t, 7)
NO_WORKSPACE(size_t, 9)
NO_WORKSPACE(size_t, 11)
NO_WORKSPACE(size_t, 12)
NO_WORKSPACE(size_t, 20)

/* Work whose errors the library says in host memory, at the k-th argument: there were none. */
#define WORK_WITH_INFO(k)                                   \
    ENTRY(int, cudasim_standin_work_info_##k, ARGUMENTS)    \
    {                                                       \
        const uint64_t arguments[] = POINTERS;              \
        *(int *)(uintptr_t)arguments[k - 1] = 0;            \
        return cudasim_standin_work();                      \
    }

WORK_WITH_INFO(7)
WORK_WITH_INFO(10)

/* cusparseXcsrgeam2Nnz: a sum has as many elements as its terms have together, at most. */
ENTRY(int, cudasim_standin_sum_elements, ARGUMENTS)
{
    const uint64_t arguments[] = POINTERS;
    *(int *)(uintptr_t)arguments[13] = (int)arguments[4] + (int)arguments[8];
    return cudasim_standin_work();
}

/* cusparseSpMatGetSize(matrix, rows, columns, elements), of a product: what was said before of it, or none. */
ENTRY(int, cudasim_standin_product_elements, uint64_t matrix, int64_t *rows, int64_t *columns, int64_t *elements)
{
    (void)matrix;
    *rows = *columns = 0;
    *elements = cudasim_values_next_answer();
    return 0;
}

/* What a convolution needs by calls that older releases make, whose shapes are not read: a size that was typed. */
static uint64_t typed_workspace(void)
{
    uint64_t bytes = 0;
    return cudasim_workspaces(WORKSPACES_OF_CUDNN, &bytes) == WORKSPACES_FIXED ? bytes : 0;
}

/* cudnnGetConvolution...WorkspaceSize: the seventh argument points to the size. */
ENTRY(int, cudasim_standin_convolution_workspace, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5,
      uint64_t a6, size_t *bytes)
{
    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6;
    *bytes = typed_workspace();
    return 0;
}

/* cudnnGetConvolution...Algorithm_v7 and cudnnFindConvolution...AlgorithmEx: one algorithm, deterministic, with that
 * workspace. The k-th argument points to how many there are, the next one to what each needs. */
struct algorithm_facts {
    int    algorithm, status;
    float  time_ms;
    size_t workspace_bytes;
    int    is_deterministic, math, reserved[3];
};

#define ONE_ALGORITHM(k)                                                            \
    ENTRY(int, cudasim_standin_algorithms_##k, ARGUMENTS)                           \
    {                                                                               \
        const uint64_t arguments[] = POINTERS;                                      \
        *(int *)(uintptr_t)arguments[k - 1] = 1;                                    \
        *(struct algorithm_facts *)(uintptr_t)arguments[k] = (struct algorithm_facts){ \
            .algorithm = 1, .is_deterministic = 1,                                  \
            .workspace_bytes = typed_workspace(),                                   \
        };                                                                          \
        return 0;                                                                   \
    }

ONE_ALGORITHM(7)
ONE_ALGORITHM(10)

/* PyTorch asks an NCCL communicator for its rank and the number of ranks. The handle carries both. */
enum { RANK_BITS = 16 };

struct unique_id {
    char bytes[128];
};

static uint64_t communicator(int n_ranks, int rank)
{
    return cudasim_new_name() << 2 * RANK_BITS | (uint64_t)(unsigned)n_ranks << RANK_BITS | (unsigned)rank;
}

/* ncclCommInitRank, ncclCommInitRankConfig. */
ENTRY(int, cudasim_standin_comm, uint64_t *comm, int n_ranks, struct unique_id id, int rank)
{
    (void)id;
    *comm = communicator(n_ranks, rank);
    return 0;
}

ENTRY(int, cudasim_standin_comm_scalable, uint64_t *comm, int n_ranks, int rank)
{
    *comm = communicator(n_ranks, rank);
    return 0;
}

/* ncclCommInitAll(comms, n, devices): all ranks in one process. */
ENTRY(int, cudasim_standin_comm_all, uint64_t *comms, int n_ranks, const int *devices)
{
    (void)devices;
    for (int i = 0; i < n_ranks; i++)
        comms[i] = communicator(n_ranks, i);
    return 0;
}

/* ncclCommSplit(comm, color, key, new): a rank without a colour gets none. How many ranks share the colour is not known
 * here, so the new communicator says 0. PyTorch gives the rank as the key. */
ENTRY(int, cudasim_standin_comm_split, uint64_t comm, int color, int key, uint64_t *split)
{
    (void)comm;
    *split = color < 0 ? 0 : communicator(0, key);
    return 0;
}

ENTRY(int, cudasim_standin_comm_count, uint64_t comm, int *n)
{
    *n = (int)(comm >> RANK_BITS & 0xffff);
    return 0;
}

ENTRY(int, cudasim_standin_comm_rank, uint64_t comm, int *rank)
{
    *rank = (int)(comm & 0xffff);
    return 0;
}

ENTRY(int, cudasim_standin_comm_device, uint64_t comm, int *device)
{
    (void)comm;
    *device = cudasim_current_device();
    return 0;
}

/* ncclMemAlloc, ncclMemFree: device memory in whole pages. A failed call of CUDA is ncclUnhandledCudaError. */
ENTRY(int, cudasim_standin_nccl_alloc, void **p, size_t bytes)
{
    uint64_t addr = 0;
    const enum cudasim_code code = cudasim_malloc(bytes, &addr);
    *p = (void *)(uintptr_t)addr;
    return code == CODE_SUCCESS ? 0 : 1;
}

ENTRY(int, cudasim_standin_nccl_free, void *p)
{
    return cudasim_free((uintptr_t)p) == CODE_SUCCESS ? 0 : 1;
}

ENTRY(const char *, cudasim_standin_text, void)
{
    return "simulated";
}
