/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: a file of results from a stranger: a database, a JSON, compressed or not. Letters in front of an input
 * compress it first (forged_input.h).
 */
#include "tests/fuzz/forged_input.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/use_results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t n_file;
    void *file = forged_file(data, n, &n_file);
    const char *path = input_file_write(file, n_file);
    free(file);
    if (path == NULL)
        return 0;
    use_results(path);
    database_remove(path);
    input_file_remove();
    return 0;
}
