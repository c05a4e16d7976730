/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Fuzz target: any bytes are a memory timeline of torch.profiler, or are refused. */
#include "tests/fuzz/fuzz_importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_importer(&importer_timeline, NULL, data, n);
    return 0;
}
