/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The simulated CUDA as a program sees it that was not linked against CUDA: libraries opened at run time, functions
 * looked up by name.
 */
#ifndef REPLAY_TESTS_CUDASIM_RIG_H
#define REPLAY_TESTS_CUDASIM_RIG_H

#include "base/units.h"
#include "cudasim/core/core.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rig_dim3 { unsigned x, y, z; };
struct rig_extent { size_t width, height, depth; };

/* X(type, name, arguments): the functions that the tests call. */
#define CUDASIM_RIG_RUNTIME(X)                                                                          \
    X(int, cudaGetDeviceCount, (int *))                                                                 \
    X(int, cudaSetDevice, (int))                                                                        \
    X(int, cudaGetDevice, (int *))                                                                      \
    X(int, cudaMalloc, (void **, size_t))                                                               \
    X(int, cudaFree, (void *))                                                                          \
    X(int, cudaMallocManaged, (void **, size_t, unsigned))                                              \
    X(int, cudaHostAlloc, (void **, size_t, unsigned))                                                  \
    X(int, cudaFreeHost, (void *))                                                                      \
    X(int, cudaHostRegister, (void *, size_t, unsigned))                                                \
    X(int, cudaHostUnregister, (void *))                                                                \
    X(int, cudaMemGetInfo, (size_t *, size_t *))                                                        \
    X(int, cudaMemcpy, (void *, const void *, size_t, int))                                             \
    X(int, cudaMemset, (void *, int, size_t))                                                           \
    X(int, cudaLaunchKernel, (const void *, struct rig_dim3, struct rig_dim3, void **, size_t, uint64_t)) \
    X(int, cudaMallocAsync, (void **, size_t, uint64_t))                                                \
    X(int, cudaFreeAsync, (void *, uint64_t))                                                           \
    X(int, cudaMallocFromPoolAsync, (void **, size_t, uint64_t, uint64_t))                              \
    X(int, cudaMemPoolCreate, (uint64_t *, const void *))                                               \
    X(int, cudaMemPoolDestroy, (uint64_t))                                                              \
    X(int, cudaDeviceGetDefaultMemPool, (uint64_t *, int))                                              \
    X(int, cudaMemPoolGetAttribute, (uint64_t, int, void *))                                            \
    X(int, cudaMemPoolSetAttribute, (uint64_t, int, void *))                                            \
    X(int, cudaMemPoolTrimTo, (uint64_t, size_t))                                                       \
    X(int, cudaStreamCreate, (uint64_t *))                                                              \
    X(int, cudaStreamDestroy, (uint64_t))                                                               \
    X(int, cudaStreamSynchronize, (uint64_t))                                                           \
    X(int, cudaStreamQuery, (uint64_t))                                                                 \
    X(int, cudaStreamBeginCapture, (uint64_t, int))                                                     \
    X(int, cudaStreamBeginCaptureToGraph, (uint64_t, uint64_t, const uint64_t *, const void *, size_t, int)) \
    X(int, cudaStreamEndCapture, (uint64_t, uint64_t *))                                                \
    X(int, cudaGraphInstantiateWithFlags, (uint64_t *, uint64_t, uint64_t))                             \
    X(int, cudaGraphLaunch, (uint64_t, uint64_t))                                                       \
    X(int, cudaMemcpy2D, (void *, size_t, const void *, size_t, size_t, size_t, int))                   \
    X(int, cudaFuncSetAttribute, (const void *, int, int))                                              \
    X(int, cudaFuncGetAttributes, (void *, const void *))                                               \
    X(int, cudaLaunchCooperativeKernel, (const void *, struct rig_dim3, struct rig_dim3, void **, size_t, uint64_t))\
    X(void *, __cudaRegisterFatBinary, (const void *))                                                  \
    X(void, __cudaUnregisterFatBinary, (void *))                                                        \
    X(void, __cudaRegisterFunction, (void *, const void *, const char *, const char *))                 \
    X(int, cudaGraphCreate, (uint64_t *, unsigned))                                                     \
    X(int, cudaGraphDestroy, (uint64_t))                                                                \
    X(int, cudaGraphExecDestroy, (uint64_t))                                                            \
    X(int, cudaGraphClone, (uint64_t *, uint64_t))                                                      \
    X(int, cudaGraphUpload, (uint64_t, uint64_t))                                                       \
    X(int, cudaGraphExecUpdate, (uint64_t, uint64_t, void *))                                           \
    X(int, cudaGraphGetNodes, (uint64_t, uint64_t *, size_t *))                                         \
    X(int, cudaGraphNodeGetType, (uint64_t, int *))                                                     \
    X(int, cudaGraphAddEmptyNode, (uint64_t *, uint64_t, const uint64_t *, size_t))                     \
    X(int, cudaGraphAddHostNode, (uint64_t *, uint64_t, const uint64_t *, size_t, const void *))        \
    X(int, cudaGraphAddChildGraphNode, (uint64_t *, uint64_t, const uint64_t *, size_t, uint64_t))      \
    X(int, cudaGraphAddMemAllocNode, (uint64_t *, uint64_t, const uint64_t *, size_t, void *))          \
    X(int, cudaGraphAddMemFreeNode, (uint64_t *, uint64_t, const uint64_t *, size_t, void *))           \
    X(int, cudaDeviceGetGraphMemAttribute, (int, int, uint64_t *))                                      \
    X(int, cudaDeviceSetGraphMemAttribute, (int, int, const uint64_t *))                                \
    X(int, cudaDeviceGraphMemTrim, (int))                                                               \
    X(int, cudaEventCreate, (uint64_t *))                                                               \
    X(int, cudaStreamWaitEvent, (uint64_t, uint64_t, unsigned))                                         \
    X(int, cudaEventRecord, (uint64_t, uint64_t))                                                       \
    X(int, cudaEventQuery, (uint64_t))                                                                  \
    X(int, cudaEventSynchronize, (uint64_t))                                                            \
    X(int, cudaEventElapsedTime, (float *, uint64_t, uint64_t))                                         \
    X(int, cudaDeviceSynchronize, (void))                                                               \
    X(int, cudaDeviceEnablePeerAccess, (int, unsigned))                                                 \
    X(int, cudaDeviceDisablePeerAccess, (int))                                                          \
    X(int, cudaGetLastError, (void))                                                                    \
    X(int, cudaPeekAtLastError, (void))                                                                 \
    X(int, cudaGetDeviceProperties, (void *, int))                                                      \
    X(int, cudaPointerGetAttributes, (void *, const void *))                                            \
    X(int, cudaImportExternalMemory, (void))                                                            \
    X(int, cudaDeviceReset, (void))                                                                     \
    X(int, cudaMallocArray, (uint64_t *, const void *, size_t, size_t, unsigned))                       \
    X(int, cudaMalloc3DArray, (uint64_t *, const void *, struct rig_extent, unsigned))                  \
    X(int, cudaMallocMipmappedArray, (uint64_t *, const void *, struct rig_extent, unsigned, unsigned)) \
    X(int, cudaGetMipmappedArrayLevel, (uint64_t *, uint64_t, unsigned))                                \
    X(int, cudaFreeArray, (uint64_t))                                                                   \
    X(int, cudaFreeMipmappedArray, (uint64_t))                                                          \
    X(int, cudaArrayGetInfo, (void *, struct rig_extent *, unsigned *, uint64_t))                       \
    X(int, cudaMemcpy3D, (const void *))                                                                \
    X(int, cudaMemcpy2DToArray, (uint64_t, size_t, size_t, const void *, size_t, size_t, size_t, int))  \
    X(int, cudaMemcpy2DFromArray, (void *, size_t, uint64_t, size_t, size_t, size_t, size_t, int))      \
    X(int, cudaCreateTextureObject, (uint64_t *, const void *, const void *, const void *))             \
    X(int, cudaDestroyTextureObject, (uint64_t))                                                        \
    X(int, cudaEventCreateWithFlags, (uint64_t *, unsigned))                                            \
    X(int, cudaEventDestroy, (uint64_t))                                                                \
    X(int, cudaIpcGetMemHandle, (struct cudasim_ipc_handle *, void *))                                  \
    X(int, cudaIpcOpenMemHandle, (void **, struct cudasim_ipc_handle, unsigned))                        \
    X(int, cudaIpcCloseMemHandle, (void *))                                                             \
    X(int, cudaIpcGetEventHandle, (struct cudasim_ipc_handle *, uint64_t))                              \
    X(int, cudaIpcOpenEventHandle, (uint64_t *, struct cudasim_ipc_handle))                             \
    X(const char *, cudaGetErrorString, (int))                                                          \
    X(const char *, cudaGetErrorName, (int))

#define CUDASIM_RIG_DRIVER(X)                                                                           \
    X(int, cuInit, (unsigned))                                                                          \
    X(int, cuCtxCreate_v2, (uint64_t *, unsigned, int))                                                 \
    X(int, cuCtxGetCurrent, (uint64_t *))                                                               \
    X(int, cuCtxDestroy_v2, (uint64_t))                                                                 \
    X(int, cuMemAlloc_v2, (uint64_t *, size_t))                                                         \
    X(int, cuMemFree_v2, (uint64_t))                                                                    \
    X(int, cuMemGetInfo_v2, (size_t *, size_t *))                                                       \
    X(int, cuPointerGetAttribute, (void *, int, uint64_t))                                              \
    X(int, cuPointerGetAttributes, (unsigned, const int *, void **, uint64_t))                          \
    X(int, cuMemAddressReserve, (uint64_t *, size_t, size_t, uint64_t, uint64_t))                       \
    X(int, cuMemAddressFree, (uint64_t, size_t))                                                        \
    X(int, cuMemCreate, (uint64_t *, size_t, const void *, uint64_t))                                   \
    X(int, cuMemRelease, (uint64_t))                                                                    \
    X(int, cuMemMap, (uint64_t, size_t, size_t, uint64_t, uint64_t))                                    \
    X(int, cuMemUnmap, (uint64_t, size_t))                                                              \
    X(int, cuMemSetAccess, (uint64_t, size_t, const void *, size_t))                                    \
    X(int, cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                                           \
    X(int, cuMemcpyDtoH_v2, (void *, uint64_t, size_t))                                                 \
    X(int, cuModuleLoad, (uint64_t *, const char *))                                                    \
    X(int, cuModuleLoadData, (uint64_t *, const void *))                                                \
    X(int, cuLibraryLoadFromFile, (uint64_t *, const char *, const void *, const void *, unsigned, const void *,     \
                                   const void *, unsigned))                                             \
    X(int, cuModuleUnload, (uint64_t))                                                                  \
    X(int, cuModuleGetFunction, (uint64_t *, uint64_t, const char *))                                   \
    X(int, cuModuleGetGlobal_v2, (uint64_t *, size_t *, uint64_t, const char *))                        \
    X(int, cuFuncGetAttribute, (int *, int, uint64_t))                                                  \
    X(int, cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, uint64_t, int, size_t))                 \
    X(int, cuArray3DCreate_v2, (uint64_t *, const void *))                                              \
    X(int, cuArrayDestroy, (uint64_t))                                                                  \
    X(int, cuMemExportToShareableHandle, (int *, uint64_t, int, uint64_t))                              \
    X(int, cuMemImportFromShareableHandle, (uint64_t *, void *, int))                                   \
    X(int, cuFuncSetAttribute, (uint64_t, int, int))                                                    \
    X(int, cuLaunchKernel, (uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                            uint64_t, void **, void **))                                                \
    X(int, cuGraphCreate, (uint64_t *, unsigned))                                                       \
    X(int, cuGraphAddKernelNode_v2, (uint64_t *, uint64_t, const uint64_t *, size_t, const void *))     \
    X(int, cuGraphAddChildGraphNode, (uint64_t *, uint64_t, const uint64_t *, size_t, uint64_t))        \
    X(int, cuGraphAddMemAllocNode, (uint64_t *, uint64_t, const uint64_t *, size_t, void *))            \
    X(int, cuGraphAddNode_v2, (uint64_t *, uint64_t, const uint64_t *, const void *, size_t, void *))   \
    X(int, cuGraphGetNodes, (uint64_t, uint64_t *, size_t *))                                           \
    X(int, cuGraphNodeGetType, (uint64_t, int *))                                                       \
    X(int, cuGraphInstantiateWithFlags, (uint64_t *, uint64_t, uint64_t))                               \
    X(int, cuGraphLaunch, (uint64_t, uint64_t))                                                         \
    X(int, cuDeviceGetGraphMemAttribute, (int, int, uint64_t *))                                        \
    X(int, cuDeviceGraphMemTrim, (int))                                                                 \
    X(int, cuIpcOpenMemHandle_v2, (uint64_t *, struct cudasim_ipc_handle, unsigned))                    \
    X(int, cuIpcOpenEventHandle, (uint64_t *, struct cudasim_ipc_handle))                               \
    X(int, cuStreamWaitEvent, (uint64_t, uint64_t, unsigned))                                           \
    X(int, cuEventQuery, (uint64_t))                                                                    \
    X(int, cuEventDestroy_v2, (uint64_t))                                                               \
    X(int, cuGetExportTable, (const void **, const void *))                                             \
    X(int, cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))

#define CUDASIM_RIG_CORE(X)                                                                             \
    X(void, cudasim_fail_from, (int, uint64_t))                                                         \
    X(void, cudasim_hold, (uint64_t, int))                                                              \
    X(void, cudasim_complete, (uint64_t, int))

#define CUDASIM_RIG_MEMBER(type, name, arguments) type (*name) arguments;
struct cudasim_rig {
    CUDASIM_RIG_RUNTIME(CUDASIM_RIG_MEMBER)
    CUDASIM_RIG_DRIVER(CUDASIM_RIG_MEMBER)
    CUDASIM_RIG_CORE(CUDASIM_RIG_MEMBER)
};
#undef CUDASIM_RIG_MEMBER

static inline void *cudasim_rig_library(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", CUDASIM_DIR, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    cr_assert_not_null(library, "%s", dlerror());
    return library;
}

static inline void cudasim_rig_find(void *library, const char *name, void *member)
{
    void *found = dlsym(library, name);
    cr_assert_not_null(found, "%s is missing", name);
    memcpy(member, &found, sizeof found);
}

/* Opens the libraries on a device. `runtime`: "libcudart.so.12", or NULL for a program that uses the driver alone. */
static inline void cudasim_rig_open(struct cudasim_rig *r, const char *device, const char *runtime)
{
    setenv(CUDASIM_ENV_DEVICE, device, 1);
    void *core = cudasim_rig_library("libreplay-cudasim.so"), *driver = cudasim_rig_library("libcuda.so.1");
#define CUDASIM_RIG_FIND(type, name, arguments) cudasim_rig_find(library, #name, &r->name);
    void *library = core;
    CUDASIM_RIG_CORE(CUDASIM_RIG_FIND)
    library = driver;
    CUDASIM_RIG_DRIVER(CUDASIM_RIG_FIND)
    if (runtime == NULL)
        return;
    library = cudasim_rig_library(runtime);
    CUDASIM_RIG_RUNTIME(CUDASIM_RIG_FIND)
#undef CUDASIM_RIG_FIND
}

static inline uint64_t cudasim_rig_free_bytes(const struct cudasim_rig *r)
{
    size_t free_bytes = 0, total_bytes;
    cr_expect_eq(r->cudaMemGetInfo(&free_bytes, &total_bytes), CODE_SUCCESS);
    return free_bytes;
}

#endif
