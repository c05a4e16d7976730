/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * For which compute capability a kernel's code on this card was compiled: libraries such as cub choose their kernels,
 * and with them the size of their temporary storage, by that.
 *
 * nvcc puts a "fat binary" into a program: one image for each capability that it was compiled for, as machine code or
 * as PTX. The driver takes the machine code of the card's major capability with the highest minor not above the card's,
 * otherwise it compiles the highest PTX not above the card. The layout is that of fatbinary.h and of what nvcc writes:
 *
 *     wrapper: magic u32, version u32, -> fat binary
 *     header:  magic u32, version u16, header bytes u16, bytes of all entries u64
 *     entry:   kind u16 (1 PTX, 2 machine code), version u16, header bytes u32, image bytes u64, at 28 capability u32
 */
#include "cudasim/state.h"

#include <stdlib.h>
#include <string.h>

#define WRAPPER_MAGIC UINT32_C(0x466243b1)
#define BINARY_MAGIC  UINT32_C(0xba55ed50)

struct fat_wrapper {
    uint32_t magic, version;
    const unsigned char *binary;
};

struct fat_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

struct fat_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t image_bytes;
    uint32_t unused[3], capability;
};

enum { KIND_PTX = 1, KIND_CODE = 2 };

struct kernel {
    const void *function;
    const unsigned char *binary;     /* a fat binary; NULL: it was not one */
};

/* Programs register all their kernels when they are loaded, 100,000 and more, and ask for few of them. */
static struct {
    struct kernel *all;
    size_t n, cap;
    bool   is_sorted;
} kernels;

void *cudasim_binary_register(const void *wrapper)
{
    const struct fat_wrapper *w = wrapper;
    static void *none[2];
    void **handle = calloc(2, sizeof *handle);
    if (handle == NULL || w == NULL || w->magic != WRAPPER_MAGIC) {
        free(handle);
        return none;
    }
    memcpy(handle, &w->binary, sizeof w->binary);
    return handle;
}

void cudasim_kernel_register(void *handle, const void *function)
{
    cudasim_lock();
    if (kernels.n == kernels.cap) {
        const size_t cap = kernels.cap == 0 ? 4096 : 2 * kernels.cap;
        struct kernel *all = realloc(kernels.all, cap * sizeof *all);
        kernels.all = all != NULL ? all : kernels.all;
        kernels.cap = all != NULL ? cap : kernels.cap;
    }
    if (kernels.n < kernels.cap && handle != NULL) {
        struct kernel *k = &kernels.all[kernels.n++];
        k->function = function;
        memcpy(&k->binary, handle, sizeof k->binary);
        kernels.is_sorted = false;
    }
    cudasim_unlock();
}

static int compare_kernels(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const struct kernel *)a)->function;
    const uintptr_t y = (uintptr_t)((const struct kernel *)b)->function;
    return (x > y) - (x < y);
}

/* The fat binary of a registered kernel; NULL. The lock is held. */
static const unsigned char *binary_of(const void *function)
{
    if (kernels.n == 0)
        return NULL;
    if (!kernels.is_sorted)
        qsort(kernels.all, kernels.n, sizeof *kernels.all, compare_kernels);
    kernels.is_sorted = true;
    const struct kernel wanted = { .function = function };
    const struct kernel *k = bsearch(&wanted, kernels.all, kernels.n, sizeof *kernels.all, compare_kernels);
    return k == NULL ? NULL : k->binary;
}

/* The best image of each kind for the card; 0: there is none. */
static void images_of(const unsigned char *binary, unsigned card, unsigned *code, unsigned *ptx)
{
    struct fat_header h;
    *code = *ptx = 0;
    memcpy(&h, binary, sizeof h);
    if (h.magic != BINARY_MAGIC || h.header_bytes < sizeof h)
        return;
    for (uint64_t at = 0; h.bytes - at >= sizeof(struct fat_entry);) {
        struct fat_entry e;
        memcpy(&e, binary + h.header_bytes + at, sizeof e);
        const bool is_code = e.kind == KIND_CODE && e.capability / 10 == card / 10;
        unsigned *best = is_code ? code : e.kind == KIND_PTX ? ptx : NULL;
        if (best != NULL && e.capability <= card && e.capability > *best)
            *best = e.capability;
        if (e.header_bytes < sizeof e || e.image_bytes > h.bytes - at || e.header_bytes > h.bytes - at - e.image_bytes)
            return;
        at += e.header_bytes + e.image_bytes;
    }
}

void cudasim_kernel_versions(const void *function, int *binary, int *ptx)
{
    const unsigned card = cudasim_capability();
    unsigned code = 0, compiled = 0;
    cudasim_lock();
    const unsigned char *fat = binary_of(function);
    if (fat != NULL)
        images_of(fat, card, &code, &compiled);
    cudasim_unlock();
    *binary = (int)(code != 0 ? code : card);
    *ptx = (int)(code != 0 ? code : compiled != 0 ? compiled : card);
}
