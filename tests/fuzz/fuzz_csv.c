/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: any bytes are a log of requests, or are refused. The first line is a mapping, as after --from csv:, if
 * it begins with '='.
 */
#include "tests/fuzz/fuzz_importer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *end = n > 0 && data[0] == '=' ? memchr(data, '\n', n) : NULL;
    char *columns = end == NULL ? NULL : strndup((const char *)data + 1, (size_t)(end - data) - 1);
    const size_t skipped = end == NULL ? 0 : (size_t)(end - data) + 1;
    fuzz_importer(&importer_csv, columns, data + skipped, n - skipped);
    free(columns);
    return 0;
}
