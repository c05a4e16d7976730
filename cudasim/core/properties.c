/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The properties of a simulated card, by CUDA's attribute numbers (the same in cudaDeviceAttr and CUdevice_attribute).
 *
 * What differs from card to card is of sim/cards.h. The rest has been the same on all cards since compute capability 5.
 */
#include "cudasim/core/state.h"

#include "base/units.h"

static const struct { int attribute, value; } common[] = {
    { 1, 1024 },                     /* max threads per block */
    { 2, 1024 }, { 3, 1024 }, { 4, 64 },             /* max block dimensions */
    { 5, 2147483647 }, { 6, 65535 }, { 7, 65535 },   /* max grid dimensions */
    { 8, 49152 },                    /* shared memory per block */
    { 9, 65536 },                    /* constant memory */
    { 10, 32 },                      /* warp size */
    { 11, 2147483647 },              /* max pitch */
    { 14, 512 },                     /* texture alignment */
    { 15, 1 },                       /* copies overlap kernels */
    { 19, 1 },                       /* host memory can be mapped */
    { 30, 512 },                     /* surface alignment */
    { 31, 1 },                       /* concurrent kernels */
    { 40, 3 },                       /* copy engines */
    { 41, 1 },                       /* unified addressing */
    { 51, 32 },                      /* texture pitch alignment */
    { 78, 1 }, { 79, 1 }, { 80, 1 }, /* stream priorities, global and local L1 caching */
    { 82, 65536 },                   /* registers per multiprocessor */
    { 83, 1 },                       /* managed memory */
    { 90, 1 },                       /* compute preemption */
    { 91, 1 },                       /* host pointers of registered memory */
    { 95, 1 },                       /* cooperative launch */
    { 99, 1 },                       /* host memory can be registered */
    { 102, 1 },                      /* virtual memory management */
    { 115, 1 },                      /* memory pools */
    { 121, 1 },                      /* deferred mapping of arrays */
    { 125, 1 },                      /* events between processes */
};

enum { N_COMMON = sizeof common / sizeof common[0], ATTRIBUTES_END = 160 };
enum { WARP_THREADS = 32, WARP_REGISTERS_UNIT = 256, MULTIPROCESSOR_REGISTERS = 65536, PARTITIONS = 4 };
enum { ACCESS_WINDOW_BYTES = 128 << 20 };

/* Cards with HBM, which have ECC; and those that share the host's memory. */
static bool has_hbm(const struct device_model *card)
{
    return card->capability % 10 == 0 && card->capability >= 60 && card->capability <= 100;
}

static bool is_integrated(const struct device_model *card)
{
    const unsigned c = card->capability;
    return c == 53 || c == 72 || c == 87 || c == 110 || c == 121;
}

/* Attributes of this card. False: it is none of those. */
static bool attribute_of_card(int attribute, int device, int *value)
{
    const struct device_model *card = &cudasim.card;
    const struct compute_class *of = compute_class_of(card->capability);
    const bool since_80 = card->capability >= 80;
    const struct { int attribute; unsigned value; } own[] = {
        { 12, of->block_registers }, { 13, card->clock_khz }, { 16, card->multiprocessors },
        { 18, is_integrated(card) }, { 32, has_hbm(card) },
        { 33, (unsigned)device + 1 },                        /* PCI bus */
        { 36, card->memory_clock_khz }, { 37, card->bus_bits }, { 38, card->l2_bytes },
        { 39, of->threads }, { 75, card->capability / 10 }, { 76, card->capability % 10 },
        { 81, of->shared_bytes }, { 97, of->shared_optin_bytes }, { 106, of->blocks },
        { 108, since_80 ? (unsigned)((uint64_t)card->l2_bytes * 7 / 10) : 0 },     /* persisting L2, as on an H100 */
        { 109, since_80 ? ACCESS_WINDOW_BYTES : 0 },
        { 111, of->shared_reserved_bytes }, { 120, card->capability >= 90 },       /* cluster launch */
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i].attribute == attribute) {
            *value = (int)own[i].value;
            return true;
        }
    return false;
}

enum cudasim_code cudasim_attribute(int attribute, int device, int *value)
{
    if (device < 0 || device >= cudasim_device_count())
        return CODE_INVALID_DEVICE;
    if (attribute < 1 || attribute >= ATTRIBUTES_END)
        return CODE_INVALID_VALUE;
    if (attribute_of_card(attribute, device, value))
        return CODE_SUCCESS;
    *value = 0;
    for (int i = 0; i < N_COMMON; i++)
        if (common[i].attribute == attribute)
            *value = common[i].value;
    return CODE_SUCCESS;
}

const char *cudasim_device_name(void)
{
    return cudasim_machine_count() > 0 ? cudasim.card.title : "";
}

uint64_t cudasim_driver_bytes(void)
{
    return cudasim_machine_count() > 0 ? cudasim.card.smi_bytes - cudasim.card.total_bytes : 0;
}

unsigned cudasim_capability(void)
{
    return cudasim_machine_count() > 0 ? cudasim.card.capability : 0;
}

/* The limits that NVIDIA's occupancy calculator (cuda_occupancy.h) applies: a warp's registers are taken in units, from
 * one of the multiprocessor's four parts; shared memory is taken in units too. */
static uint64_t blocks_by_registers(int registers, uint64_t warps)
{
    const uint64_t warp = align_up((uint64_t)registers * WARP_THREADS, WARP_REGISTERS_UNIT);
    return warp == 0 ? UINT64_MAX : MULTIPROCESSOR_REGISTERS / PARTITIONS / warp * PARTITIONS / warps;
}

static uint64_t blocks_by_shared(const struct compute_class *of, uint64_t bytes)
{
    const uint64_t unit = cudasim.card.capability >= 80 ? 128 : 256;
    const uint64_t taken = align_up(bytes + of->shared_reserved_bytes, unit);
    return taken == 0 ? UINT64_MAX : of->shared_bytes / taken;
}

enum cudasim_code cudasim_facts_set(struct cudasim_kernel_facts *k, int attribute, int value)
{
    if (attribute == FUNCTION_DYNAMIC_BYTES) {
        const uint64_t most = compute_class_of(cudasim.card.capability)->shared_optin_bytes;
        if (value < 0 || k->shared_bytes + (uint64_t)value > most)
            return CODE_INVALID_VALUE;
        k->dynamic_bytes = (uint64_t)value;
    } else if (attribute < FUNCTION_DYNAMIC_BYTES || attribute >= FUNCTION_ATTRIBUTES ||
               (attribute == FUNCTION_SHARED_PERCENT && (value < -1 || value > 100))) {
        return CODE_INVALID_VALUE;
    }
    return CODE_SUCCESS;
}

enum { ATTRIBUTE_BLOCK_THREADS = 1 };

static unsigned common_attribute(int attribute)
{
    size_t i = 0;
    while (common[i].attribute != attribute)
        i++;
    return (unsigned)common[i].value;
}

static bool is_within_card(const struct cudasim_launch *l)
{
    enum { BLOCK_X = 2, GRID_X = 5 };
    const uint64_t most = common_attribute(ATTRIBUTE_BLOCK_THREADS);
    for (int i = 0; i < 3; i++)
        if (l->block[i] == 0 || l->grid[i] == 0 || l->block[i] > common_attribute(BLOCK_X + i) ||
            l->grid[i] > common_attribute(GRID_X + i))
            return false;
    return (uint64_t)l->block[0] * l->block[1] * l->block[2] <= most;
}

enum cudasim_code cudasim_launch_check(const struct cudasim_kernel_facts *k, const struct cudasim_launch *l)
{
    if (!is_within_card(l))
        return CODE_INVALID_CONFIGURATION;
    const unsigned threads = l->block[0] * l->block[1] * l->block[2];
    if (threads > (unsigned)k->max_threads)
        return CODE_OUT_OF_RESOURCES;
    if (l->dynamic_bytes > k->dynamic_bytes)
        return CODE_INVALID_VALUE;
    const uint64_t most = (uint64_t)cudasim_resident_blocks(k, (int)threads, l->dynamic_bytes) *
                          cudasim.card.multiprocessors;
    const uint64_t plane = (uint64_t)l->grid[0] * l->grid[1];
    return l->is_cooperative && (plane > most || plane * l->grid[2] > most) ? CODE_COOPERATIVE_TOO_LARGE : CODE_SUCCESS;
}

int cudasim_resident_blocks(const struct cudasim_kernel_facts *k, int threads, uint64_t dynamic_bytes)
{
    if (cudasim_device_count() == 0 || threads < 1 || threads > (int)common_attribute(ATTRIBUTE_BLOCK_THREADS))
        return 0;
    const struct compute_class *of = compute_class_of(cudasim.card.capability);
    const uint64_t whole = align_up((uint64_t)threads, WARP_THREADS);
    if (k->shared_bytes + dynamic_bytes > of->shared_optin_bytes)
        return 0;
    const uint64_t limits[] = { of->blocks, of->threads / whole,
                                blocks_by_registers(k->registers, whole / WARP_THREADS),
                                blocks_by_shared(of, k->shared_bytes + dynamic_bytes) };
    uint64_t least = limits[0];
    for (size_t i = 1; i < sizeof limits / sizeof limits[0]; i++)
        least = limits[i] < least ? limits[i] : least;
    return (int)least;
}
