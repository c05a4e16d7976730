/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: any bytes are a shared object whose needs can be read, or are refused with a sentence.
 */
#include "cudasim/standins/elf_needs.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>

static bool on_library(void *arg, const char *soname)
{
    *(size_t *)arg += strlen(soname);
    return true;
}

static bool on_symbol(void *arg, const char *name, const char *version, const char *library)
{
    FUZZ_EXPECT((version == NULL) == (library == NULL));
    *(size_t *)arg += strlen(name) + (version == NULL ? 0 : strlen(version) + strlen(library));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t length = 0;
    struct err_detail err = { .text = "" };
    const struct elf_visitor v = { .library = on_library, .symbol = on_symbol, .arg = &length };
    if (elf_needs(data, n, &v, &err) != ERR_OK)
        FUZZ_EXPECT(err.text[0] != '\0');
    return 0;
}
