/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Fuzz target: any bytes are a heap profile of pprof, or are refused. */
#include "tests/fuzz/fuzz_importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_importer(&importer_pprof, NULL, data, n);
    return 0;
}
