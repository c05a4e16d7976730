/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * struct cudaDeviceProp as CUDA 11, 12 and 13 lay it out, by CUDART_MAJOR (NVIDIA: driver_types.h of each version).
 *
 * CUDA 12's struct begins with CUDA 11's. There, cudaGetDeviceProperties fills only that part and
 * cudaGetDeviceProperties_v2 fills all. CUDA 13 removed the members that are now attributes only.
 */
#ifndef REPLAY_CUDASIM_API_DEVICE_PROP_H
#define REPLAY_CUDASIM_API_DEVICE_PROP_H

#include <assert.h>
#include <stddef.h>

#if CUDART_MAJOR < 13
#define BEFORE_13(members) members
#else
#define BEFORE_13(members)
#endif

struct device_prop {
    char   name[256];
    unsigned char uuid[16], luid[8];
    unsigned luid_node_mask;
    size_t total_memory, shared_per_block;
    int    registers_per_block, warp_size;
    size_t max_pitch;
    int    max_threads, max_block[3], max_grid[3];
    BEFORE_13(int clock_khz;)
    size_t constant_memory;
    int    major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    BEFORE_13(int overlap;)
    int    multiprocessors;
    BEFORE_13(int has_timeout;)
    int    is_integrated, can_map_host;
    BEFORE_13(int compute_mode;)
    int    texture_1d[2];
    BEFORE_13(int texture_1d_linear;)
    int    textures[23], surfaces[14];
    size_t surface_alignment;
    int    concurrent_kernels, has_ecc, pci_bus, pci_device, pci_domain, is_tcc, copy_engines, unified_addressing;
    BEFORE_13(int memory_clock_khz;)
    int    bus_bits, l2_bytes, l2_persisting, threads_per_multiprocessor, stream_priorities, l1_global, l1_local;
    size_t shared_per_multiprocessor;
    int    registers_per_multiprocessor, managed_memory, is_multi_board, board_group, host_atomics;
    BEFORE_13(int double_ratio;)
    int    pageable_access, concurrent_managed, preemption, registered_host_pointers, cooperative;
    BEFORE_13(int cooperative_devices;)
    size_t shared_per_block_optin;
    int    pageable_tables, managed_from_host, blocks_per_multiprocessor, access_window;
    size_t shared_reserved;
#if CUDART_MAJOR >= 12
    int    host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools, rdma;
    unsigned rdma_flush;
    int    rdma_order;
    unsigned pool_handle_types;
    int    deferred_arrays, ipc_events, cluster_launch, unified_functions;
    int    tail[63];                 /* names and uses differ; zeros */
#endif
};

#if CUDART_MAJOR >= 13
static_assert(sizeof(struct device_prop) == 1008, "as sizeof(struct cudaDeviceProp) of CUDA 13.0");
#elif CUDART_MAJOR == 12
static_assert(sizeof(struct device_prop) == 1032, "as sizeof(struct cudaDeviceProp) of CUDA 12.4");
static_assert(offsetof(struct device_prop, host_register) == 728, "sizeof of CUDA 11's");
#else
static_assert(sizeof(struct device_prop) == 728, "as sizeof(struct cudaDeviceProp) of CUDA 11.8");
#endif

#endif
