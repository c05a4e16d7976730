/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The functions of NVIDIA's libraries that a real device uses, each with its parameters, in one list.
 *
 * CUDA is no part of the build: the libraries are opened at run time. The types are macros, so that the list can be
 * read twice: with our own types (sim/cuda_api.h), and, if the CUDA Toolkit is installed, with NVIDIA's, which compares
 * every line with the headers (tests/check_cuda_decls.c).
 * Source: CUDA Runtime API, CUDA Driver API and NVML reference manuals.
 */
#ifndef REPLAY_SIM_CUDA_CALLS_H
#define REPLAY_SIM_CUDA_CALLS_H

/* X(result, name, parameters) */
#define CUDA_RUNTIME_CALLS(X)                                                                               \
    X(CUDA_ERROR, cudaGetDeviceCount, (int *))                                                              \
    X(CUDA_ERROR, cudaMalloc, (void **, size_t))                                                            \
    X(CUDA_ERROR, cudaFree, (void *))                                                                       \
    X(CUDA_ERROR, cudaMemGetInfo, (size_t *, size_t *))                                                     \
    X(CUDA_ERROR, cudaGetLastError, (void))                                                                 \
    X(CUDA_ERROR, cudaRuntimeGetVersion, (int *))                                                           \
    X(CUDA_ERROR, cudaMemset, (void *, int, size_t))                                                        \
    X(CUDA_ERROR, cudaDeviceSynchronize, (void))

/* Every driver must have these. */
#define CUDA_DRIVER_CALLS(X)                                                                                \
    X(CU_RESULT, cuInit, (unsigned))                                                                        \
    X(CU_RESULT, cuDeviceGetCount, (int *))                                                                 \
    X(CU_RESULT, cuDeviceGet, (CU_DEVICE *, int))                                                           \
    X(CU_RESULT, cuDeviceGetAttribute, (int *, CU_ATTRIBUTE, CU_DEVICE))                                    \
    X(CU_RESULT, cuDevicePrimaryCtxRetain, (CU_CONTEXT *, CU_DEVICE))                                       \
    X(CU_RESULT, cuCtxSetCurrent, (CU_CONTEXT))

/* These may be missing; the memory functions only if the runtime library has them. */
#define CUDA_DRIVER_EXTRAS(X)                                                                               \
    X(CU_RESULT, cuDevicePrimaryCtxRelease_v2, (CU_DEVICE))                                                 \
    X(CU_RESULT, cuDriverGetVersion, (int *))                                                               \
    X(CU_RESULT, cuDeviceGetName, (char *, int, CU_DEVICE))                                                 \
    X(CU_RESULT, cuDeviceGetPCIBusId, (char *, int, CU_DEVICE))                                             \
    X(CU_RESULT, cuGetErrorName, (CU_RESULT, const char **))                                                \
    X(CU_RESULT, cuMemAlloc_v2, (CU_PTR *, size_t))                                                         \
    X(CU_RESULT, cuMemFree_v2, (CU_PTR))                                                                    \
    X(CU_RESULT, cuMemGetInfo_v2, (size_t *, size_t *))                                                     \
    X(CU_RESULT, cuMemsetD8_v2, (CU_PTR, unsigned char, size_t))                                            \
    X(CU_RESULT, cuCtxSynchronize, (void))

/* Virtual memory, since CUDA 10.2: all or none. */
#define CUDA_VIRTUAL_CALLS(X)                                                                               \
    X(CU_RESULT, cuMemGetAllocationGranularity, (size_t *, const CU_PROP *, CU_GRANULARITY))                \
    X(CU_RESULT, cuMemAddressReserve, (CU_PTR *, size_t, size_t, CU_PTR, unsigned long long))               \
    X(CU_RESULT, cuMemAddressFree, (CU_PTR, size_t))                                                        \
    X(CU_RESULT, cuMemCreate, (CU_HANDLE *, size_t, const CU_PROP *, unsigned long long))                   \
    X(CU_RESULT, cuMemRelease, (CU_HANDLE))                                                                 \
    X(CU_RESULT, cuMemMap, (CU_PTR, size_t, size_t, CU_HANDLE, unsigned long long))                         \
    X(CU_RESULT, cuMemUnmap, (CU_PTR, size_t))                                                              \
    X(CU_RESULT, cuMemSetAccess, (CU_PTR, size_t, const CU_ACCESS *, size_t))

/* What nvidia-smi shows; each may be missing. */
#define CUDA_NVML_CALLS(X)                                                                                  \
    X(NVML_RESULT, nvmlInit_v2, (void))                                                                     \
    X(NVML_RESULT, nvmlShutdown, (void))                                                                    \
    X(NVML_RESULT, nvmlSystemGetDriverVersion, (char *, unsigned))                                          \
    X(NVML_RESULT, nvmlDeviceGetHandleByPciBusId_v2, (const char *, NVML_DEVICE *))                         \
    X(NVML_RESULT, nvmlDeviceGetMemoryInfo_v2, (NVML_DEVICE, NVML_MEMORY_V2 *))                             \
    X(NVML_RESULT, nvmlDeviceGetMemoryInfo, (NVML_DEVICE, NVML_MEMORY *))                                   \
    X(NVML_RESULT, nvmlDeviceGetComputeRunningProcesses_v3, (NVML_DEVICE, unsigned *, NVML_PROCESS *))

#endif
