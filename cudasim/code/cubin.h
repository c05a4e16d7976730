/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Machine code for a card, a "cubin": what the driver tells of it. It is an ELF file. Its code is not looked at.
 *
 * A kernel is a function symbol marked as entry (st_other 0x10). Its shared memory is the size of .nv.shared.KERNEL,
 * the module's constants are .nv.constant3. .nv.info has a record for each number that a kernel needs, and
 * .nv.info.KERNEL those of one kernel:
 *
 *     form u8 (3: the value is in the record, 4: bytes follow), attribute u8, value or number of bytes u16
 *
 * Sources: LLVM's BinaryFormat/ELF.h (flags), Hayes and others, "Decoding CUDA Binary" (2019; sections), the attribute
 * names of GVirtuS's CudaRt_internal.h. Each number was compared with what `ptxas -v` of CUDA 12.9 and 13.5 prints.
 */
#ifndef REPLAY_CUDASIM_CODE_CUBIN_H
#define REPLAY_CUDASIM_CODE_CUBIN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cubin_kernel {
    const char *name;
    uint32_t symbol;                 /* its index in the symbol table */
    uint32_t registers;              /* of one thread */
    uint32_t shared_bytes;           /* of one block, without what the launch adds and what the card reserves */
    uint32_t local_bytes;            /* of one thread: its stack */
    uint32_t parameter_bytes;
    uint32_t max_threads;            /* of one block: __launch_bounds__; 0: not said */
};

struct cubin_variable {
    const char *name;
    uint64_t bytes;
    bool     is_constant, is_managed;
    const unsigned char *initial;    /* its first value; NULL: zeros */
};

/* Names and values are lent from the file's bytes. */
struct cubin {
    unsigned capability;             /* 86 for 8.6 */
    uint64_t constant_bytes;
    struct cubin_kernel *kernels;
    struct cubin_variable *variables;
    size_t n_kernels, n_variables;
};

/* The bytes of the cubin that begins at `image`, by its headers; 0: there is none. `most`: what may be read. A caller
 * that has a pointer without a length, as the driver has, gives SIZE_MAX and trusts the headers. */
size_t cubin_extent(const unsigned char *image, size_t most);

/* Reads n bytes. FORMAT: no cubin, or a table lies outside of it. What an attribute says of a kernel that is not there
 * is ignored. cubin_close frees. */
MUST_USE enum err cubin_read(const unsigned char *bytes, size_t n, struct cubin *out, struct err_detail *err);
void cubin_close(struct cubin *c);

const struct cubin_kernel *cubin_kernel(const struct cubin *c, const char *name);
const struct cubin_variable *cubin_variable(const struct cubin *c, const char *name);

#endif
