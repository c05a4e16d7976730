/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Tells a Python interpreter from a program that is only named like one. */
#include "dryrun/run/python_found.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "/usr/bin/python3.12" is, and python3.13t (without the lock) and python3.12d (for debugging);
 * "/home/me/python-launch.sh" is not. */
static bool is_python_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    if (strncmp(name, "python", 6) != 0 && strncmp(name, "pypy", 4) != 0)
        return false;
    name += name[1] == 'y' && name[2] == 't' ? 6 : 4;
    return name[strspn(name, "0123456789.td")] == '\0';
}

static bool is_machine_code(const char *path)
{
    char magic[SELFMAG] = "";
    FILE *f = fopen(path, "rb");
    const bool is_read = f != NULL && fread(magic, 1, sizeof magic, f) == sizeof magic;
    if (f != NULL)
        fclose(f);
    return is_read && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool is_interpreter(const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) != NULL && is_python_name(real) && is_machine_code(real);
}

static bool is_shim(const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash == NULL ? 0 : (size_t)(slash - path), k = strlen("/shims");
    return n >= k && strncmp(path + n - k, "/shims", k) == 0;
}

/* The first program of this name on PATH is the one that would run: later ones are not looked at. */
static bool find_on_path(const char *word, char path[static PATH_MAX])
{
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        const size_t n = strcspn(at, ":");
        if ((size_t)snprintf(path, PATH_MAX, "%.*s/%s", n == 0 ? 1 : (int)n, n == 0 ? "." : at, word) < PATH_MAX &&
            is_program(path))
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

bool python_found(const char *word, char path[static PATH_MAX])
{
    if (!is_python_name(word))
        return false;
    if (strchr(word, '/') != NULL)
        return (size_t)snprintf(path, PATH_MAX, "%s", word) < PATH_MAX && is_interpreter(path);
    return find_on_path(word, path) && (is_interpreter(path) || is_shim(path));
}
