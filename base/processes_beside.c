/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A program of several processes has a recording of each, with its process's number before the ending. */
#include "base/processes_beside.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = 3 };
static const char ENDING[] = ".zst";

/* Whether `name` is the stem, a number and the ending. */
static bool is_of_process(const char *name, const char *stem, size_t n_stem)
{
    if (strncmp(name, stem, n_stem) != 0 || name[n_stem] != '.')
        return false;
    const size_t n_digits = strspn(name + n_stem + 1, "0123456789");
    return n_digits > 0 && strcmp(name + n_stem + 1 + n_digits, ENDING) == 0;
}

/* Adds a name to the list; the first one begins it, one too many ends it. */
static void add_name(char out[static PROCESSES_BESIDE_BYTES], size_t n_found, const char *name)
{
    const size_t n = strlen(out);
    snprintf(out + n, PROCESSES_BESIDE_BYTES - n, "%s%s", n_found == 1 ? ": there is " : ", ",
             n_found > NAMES_MOST ? "..." : name);
}

void processes_beside(const char *path, char out[static PROCESSES_BESIDE_BYTES])
{
    char folder[PATH_MAX];
    struct dirent **names = NULL;
    const char *slash = strrchr(path, '/'), *file = slash == NULL ? path : slash + 1;
    const size_t n = strlen(file), n_stem = n - (sizeof ENDING - 1);
    out[0] = '\0';
    if (n < sizeof ENDING || strcmp(file + n_stem, ENDING) != 0 ||
        (size_t)snprintf(folder, sizeof folder, "%.*s.", (int)(file - path), path) >= sizeof folder)
        return;
    const int n_names = scandir(folder, &names, NULL, alphasort);
    size_t n_found = 0;
    for (int i = 0; i < n_names; i++) {
        if (n_found <= NAMES_MOST && is_of_process(names[i]->d_name, file, n_stem))
            add_name(out, ++n_found, names[i]->d_name);
        free(names[i]);
    }
    free(names);
}
