/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Our declarations of CUDA's calls, held against the CUDA Toolkit's headers. Compiled where these are; nothing runs.
 *
 * Every call of sim/cuda_calls.h is read a second time with NVIDIA's types and assigned from NVIDIA's prototype: a
 * wrong parameter does not compile. What sim/cuda_api.h puts in place of these types has their size and layout.
 */
#include "sim/cuda_api.h"

#include <assert.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stddef.h>

/* ---- calls ---- */

#undef CUDA_ERROR
#undef CU_RESULT
#undef CU_DEVICE
#undef CU_ATTRIBUTE
#undef CU_CONTEXT
#undef CU_PTR
#undef CU_HANDLE
#undef CU_PROP
#undef CU_ACCESS
#undef CU_GRANULARITY
#define CUDA_ERROR     cudaError_t
#define CU_RESULT      CUresult
#define CU_DEVICE      CUdevice
#define CU_ATTRIBUTE   CUdevice_attribute
#define CU_CONTEXT     CUcontext
#define CU_PTR         CUdeviceptr
#define CU_HANDLE      CUmemGenericAllocationHandle
#define CU_PROP        CUmemAllocationProp
#define CU_ACCESS      CUmemAccessDesc
#define CU_GRANULARITY CUmemAllocationGranularity_flags

#define HOLD(result, name, parameters) extern result (*const check_##name) parameters;
CUDA_RUNTIME_CALLS(HOLD)
CUDA_DRIVER_CALLS(HOLD)
CUDA_DRIVER_EXTRAS(HOLD)
CUDA_VIRTUAL_CALLS(HOLD)
#undef HOLD
#define HOLD(result, name, parameters) result (*const check_##name) parameters = name;
CUDA_RUNTIME_CALLS(HOLD)
CUDA_DRIVER_CALLS(HOLD)
CUDA_DRIVER_EXTRAS(HOLD)
CUDA_VIRTUAL_CALLS(HOLD)
#undef HOLD

/* ---- types ---- */

static_assert(sizeof(cudaError_t) == sizeof(int) && sizeof(CUresult) == sizeof(int), "results");
static_assert(sizeof(CUdevice) == sizeof(int) && sizeof(CUdevice_attribute) == sizeof(int), "devices");
static_assert(sizeof(CUcontext) == sizeof(void *), "contexts");
static_assert(sizeof(CUdeviceptr) == sizeof(uint64_t), "addresses");
static_assert(sizeof(CUmemGenericAllocationHandle) == sizeof(uint64_t), "handles");
static_assert(sizeof(CUmemAllocationGranularity_flags) == sizeof(int), "granularity");

#define SAME_PLACE(ours, member, theirs, their_member)                                                      \
    static_assert(offsetof(struct ours, member) == offsetof(theirs, their_member) &&                        \
                      sizeof(((struct ours *)0)->member) == sizeof(((theirs *)0)->their_member),            \
                  #theirs "." #their_member)
static_assert(sizeof(struct cuda_location) == sizeof(CUmemLocation), "CUmemLocation");
static_assert(sizeof(struct cuda_allocation) == sizeof(CUmemAllocationProp), "CUmemAllocationProp");
static_assert(sizeof(struct cuda_access) == sizeof(CUmemAccessDesc), "CUmemAccessDesc");
SAME_PLACE(cuda_location, type, CUmemLocation, type);
SAME_PLACE(cuda_location, id, CUmemLocation, id);
SAME_PLACE(cuda_allocation, type, CUmemAllocationProp, type);
SAME_PLACE(cuda_allocation, handle_types, CUmemAllocationProp, requestedHandleTypes);
SAME_PLACE(cuda_allocation, location, CUmemAllocationProp, location);
SAME_PLACE(cuda_allocation, win32, CUmemAllocationProp, win32HandleMetaData);
SAME_PLACE(cuda_allocation, flags, CUmemAllocationProp, allocFlags);
SAME_PLACE(cuda_access, location, CUmemAccessDesc, location);
SAME_PLACE(cuda_access, flags, CUmemAccessDesc, flags);

/* ---- numbers ---- */

#define SAME_NUMBER(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs)
SAME_NUMBER(CUDA_DONE, CUDA_SUCCESS);
SAME_NUMBER(CUDA_DONE, cudaSuccess);
SAME_NUMBER(CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME_NUMBER(CUDA_OUT_OF_MEMORY, cudaErrorMemoryAllocation);
SAME_NUMBER(CUDA_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
SAME_NUMBER(CUDA_NO_DEVICE, cudaErrorNoDevice);
SAME_NUMBER(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME_NUMBER(CUDA_ATTRIBUTE_VIRTUAL_MEMORY, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME_NUMBER(CUDA_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_NUMBER(CUDA_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_NUMBER(CUDA_ACCESS_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME_NUMBER(CUDA_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_MINIMUM);

/* ---- NVML, which not every toolkit brings ---- */

#if __has_include(<nvml.h>)
#include <nvml.h>

#undef NVML_RESULT
#undef NVML_DEVICE
#undef NVML_MEMORY
#undef NVML_MEMORY_V2
#undef NVML_PROCESS
#define NVML_RESULT    nvmlReturn_t
#define NVML_DEVICE    nvmlDevice_t
#define NVML_MEMORY    nvmlMemory_t
#define NVML_MEMORY_V2 nvmlMemory_v2_t
#define NVML_PROCESS   nvmlProcessInfo_t

#define HOLD(result, name, parameters) extern result (*const check_##name) parameters;
CUDA_NVML_CALLS(HOLD)
#undef HOLD
#define HOLD(result, name, parameters) result (*const check_##name) parameters = name;
CUDA_NVML_CALLS(HOLD)
#undef HOLD

static_assert(sizeof(nvmlReturn_t) == sizeof(int) && sizeof(nvmlDevice_t) == sizeof(void *), "results and devices");
static_assert(sizeof(struct nvml_memory) == sizeof(nvmlMemory_t), "nvmlMemory_t");
static_assert(sizeof(struct nvml_memory_v2) == sizeof(nvmlMemory_v2_t), "nvmlMemory_v2_t");
static_assert(sizeof(struct nvml_process) == sizeof(nvmlProcessInfo_t), "nvmlProcessInfo_t");
SAME_PLACE(nvml_memory, used, nvmlMemory_t, used);
SAME_PLACE(nvml_memory_v2, version, nvmlMemory_v2_t, version);
SAME_PLACE(nvml_memory_v2, used, nvmlMemory_v2_t, used);
SAME_PLACE(nvml_process, pid, nvmlProcessInfo_t, pid);
SAME_PLACE(nvml_process, used, nvmlProcessInfo_t, usedGpuMemory);
static_assert(NVML_MEMORY_VERSION_2 == nvmlMemory_v2, "nvmlMemory_v2");
#endif
