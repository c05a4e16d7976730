/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A fuzz target without a fuzzer: takes each file of the folders named once, so that the corpus is a test everywhere.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUT_MAX = 1 << 22 };

static bool run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    uint8_t *whole = malloc(INPUT_MAX);
    const size_t n = whole == NULL ? 0 : fread(whole, 1, INPUT_MAX, file);
    const bool is_read = whole != NULL && ferror(file) == 0;
    fclose(file);
    /* A copy of just the size: reading behind the end is then seen by AddressSanitizer. */
    uint8_t *data = is_read ? realloc(whole, n > 0 ? n : 1) : NULL;
    if (data != NULL)
        LLVMFuzzerTestOneInput(data, n);
    free(data != NULL ? data : whole);
    return data != NULL;
}

static int run_folder(const char *folder, size_t *n_run)
{
    char path[4096];
    int status = EXIT_SUCCESS;
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        fprintf(stderr, "cannot open %s\n", folder);
        return EXIT_FAILURE;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        printf("%s\n", path);
        if (!run_file(path)) {
            fprintf(stderr, "cannot read %s\n", path);
            status = EXIT_FAILURE;
        }
        ++*n_run;
    }
    closedir(dir);
    return status;
}

int main(int argc, char **argv)
{
    int status = EXIT_SUCCESS;
    size_t n_run = 0;
    for (int i = 1; i < argc; i++)
        if (run_folder(argv[i], &n_run) != EXIT_SUCCESS)
            status = EXIT_FAILURE;
    printf("%zu inputs\n", n_run);
    return n_run > 0 ? status : EXIT_FAILURE;
}
