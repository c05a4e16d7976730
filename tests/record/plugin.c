/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A library for the tests of recording. Its constructor asks for memory, and so under the dynamic linker's lock.
 */
#include "tests/record/called_cuda.h"

/* It is in program.c. */
void plugin_is_loading(void);

__attribute__((constructor)) static void plugin_begin(void)
{
    uint64_t addr;
    plugin_is_loading();
    (void)cudaMalloc(&addr, 4096);
}
