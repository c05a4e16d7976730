/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * From an image to the cubin that the card runs, and from its numbers to those that CUDA tells.
 */
#include "cudasim/code/machine_code.h"

#include "base/units.h"
#include "cudasim/code/fat_binary.h"

#include <stdlib.h>
#include <string.h>

/* What a kernel is taken for whose code is not at hand, and the limits of every card since capability 5. */
enum { SHARED_BYTES_MOST = 49152 };     /* of a block, unless a program sets more for the kernel */
enum { REGISTERS_TYPICAL = 32, BLOCK_THREADS_MOST = 1024, WARP_THREADS = 32, WARP_REGISTERS_UNIT = 256,
       MULTIPROCESSOR_REGISTERS = 65536, PARTITIONS = 4 };

static enum cudasim_code load_fat_binary(const unsigned char *binary, size_t bytes, unsigned card,
                                         struct machine_code *m)
{
    struct fat_choice c;
    struct err_detail err;
    if (fat_binary_choose(binary, bytes, card, &c, &err) != ERR_OK)
        return CODE_INVALID_IMAGE;
    if (c.code == 0 && c.ptx == 0)
        return CODE_NO_BINARY;
    m->code = c.code;
    m->ptx = c.ptx;
    unsigned char *image = NULL;
    if (c.code == 0 || fat_binary_unpack(&c, &image, &err) != ERR_OK)
        return CODE_SUCCESS;
    if (cubin_read(image, c.image_bytes, &m->cubin, &err) == ERR_OK)
        m->image = image;
    else
        free(image);
    return CODE_SUCCESS;
}

static enum cudasim_code load_cubin(const unsigned char *cubin, uint64_t bytes, unsigned card, struct machine_code *m)
{
    struct err_detail err;
    unsigned char *image = malloc(bytes);
    if (image == NULL)
        return CODE_OUT_OF_MEMORY;
    memcpy(image, cubin, bytes);
    enum cudasim_code code = cubin_read(image, bytes, &m->cubin, &err) == ERR_OK ? CODE_SUCCESS : CODE_INVALID_IMAGE;
    m->code = m->ptx = m->cubin.capability;
    if (code == CODE_SUCCESS && (m->code / 10 != card / 10 || m->code > card)) {
        cubin_close(&m->cubin);
        code = CODE_NO_BINARY;
    }
    if (code == CODE_SUCCESS)
        m->image = image;
    else
        free(image);
    return code;
}

/* A wrapper points elsewhere, to memory of the program. */
static enum cudasim_code load_wrapped(const void *wrapper, unsigned card, struct machine_code *m)
{
    const unsigned char *binary = fat_binary_unwrap(wrapper);
    const size_t bytes = binary == NULL ? 0 : fat_binary_extent(binary, SIZE_MAX);
    return bytes == 0 ? CODE_INVALID_IMAGE : load_fat_binary(binary, bytes, card, m);
}

/* Whether an image begins as a cubin or a fat binary does. PTX is text. */
static bool is_binary(const unsigned char *image, size_t most)
{
    return most >= 2 && ((image[0] == 0x7f && image[1] == 'E') || (image[0] == 0x50 && image[1] == 0xed));
}

static enum cudasim_code load_image(const void *image, size_t most, unsigned card, struct machine_code *m)
{
    if (fat_binary_is_wrapper(image, most))
        return load_wrapped(image, card, m);
    const size_t fat = fat_binary_extent(image, most);
    if (fat > 0)
        return load_fat_binary(image, fat, card, m);
    const size_t cubin = cubin_extent(image, most);
    return cubin > 0 ? load_cubin(image, cubin, card, m) : is_binary(image, most) ? CODE_INVALID_IMAGE : CODE_SUCCESS;
}

enum cudasim_code machine_code_load(const void *image, size_t most, unsigned card, struct machine_code *out)
{
    struct machine_code m = { .image = NULL };
    const enum cudasim_code code = load_image(image, most, card, &m);
    if (code == CODE_SUCCESS)
        *out = m;
    return code;
}

void machine_code_close(struct machine_code *m)
{
    cubin_close(&m->cubin);
    free(m->image);
}

/* A block's threads are limited by the registers of one multiprocessor, which its four parts hold in equal shares. */
static int threads_by_registers(uint32_t registers)
{
    const uint64_t warp = align_up((uint64_t)registers * WARP_THREADS, WARP_REGISTERS_UNIT);
    const uint64_t warps = warp == 0 ? BLOCK_THREADS_MOST : MULTIPROCESSOR_REGISTERS / PARTITIONS / warp * PARTITIONS;
    return warps * WARP_THREADS < BLOCK_THREADS_MOST ? (int)(warps * WARP_THREADS) : BLOCK_THREADS_MOST;
}

enum cudasim_code machine_code_facts(const struct machine_code *m, const char *name, unsigned card,
                                     struct cudasim_kernel_facts *out)
{
    *out = (struct cudasim_kernel_facts){
        .dynamic_bytes = SHARED_BYTES_MOST,
        .registers = REGISTERS_TYPICAL, .max_threads = BLOCK_THREADS_MOST,
        .binary = (int)(m->code != 0 ? m->code : card),
        .ptx = (int)(m->code != 0 ? m->code : m->ptx != 0 ? m->ptx : card),
    };
    if (m->image == NULL)
        return CODE_SUCCESS;
    const struct cubin_kernel *k = cubin_kernel(&m->cubin, name);
    if (k == NULL)
        return CODE_NOT_FOUND;
    const int most = threads_by_registers(k->registers);
    out->registers = (int)k->registers;
    out->shared_bytes = k->shared_bytes;
    out->dynamic_bytes = k->shared_bytes < SHARED_BYTES_MOST ? SHARED_BYTES_MOST - k->shared_bytes : 0;
    out->local_bytes = k->local_bytes;
    out->parameter_bytes = k->parameter_bytes;
    out->constant_bytes = m->cubin.constant_bytes;
    out->max_threads = k->max_threads != 0 && (int)k->max_threads < most ? (int)k->max_threads : most;
    return CODE_SUCCESS;
}
