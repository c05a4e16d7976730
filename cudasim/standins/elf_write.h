/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Writes a small shared object without a compiler. Its functions return 0 or jump to a function of another library.
 */
#ifndef REPLAY_CUDASIM_STANDINS_ELF_WRITE_H
#define REPLAY_CUDASIM_STANDINS_ELF_WRITE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct elf_function {
    const char *name;
    const char *version;             /* the version node it is defined under; NULL: none */
    const char *target;              /* a symbol to jump to, of a library in `needed`; NULL: return 0 */
};

struct elf_library {
    const char *soname;
    const char *needed;              /* the library that targets are found in */
    const struct elf_function *functions;
    size_t n_functions;
};

/* Makes the bytes of the library, which the caller free()s. Equal input gives equal bytes. ERR_UNSUPPORTED on
 * processors other than x86-64 and aarch64; ERR_HOST_NOMEM. */
MUST_USE enum err elf_write(const struct elf_library *lib, void **bytes, size_t *n, struct err_detail *err);

#endif
