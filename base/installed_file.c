/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A build keeps the files in folders next to the program, an installation in LIBDIR/replay. */
#include "base/installed_file.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum err installed_file_of_program(char out[PATH_MAX], struct err_detail *err)
{
    const ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0)
        return err_set(err, ERR_IO, 0, "the folder of this program cannot be found: %s", strerror(errno));
    out[n] = '\0';
    return ERR_OK;
}

enum err installed_file_find(const char *file, char out[PATH_MAX], struct err_detail *err)
{
    static const char *const places[] = { "", "../" REPLAY_LIBDIR "/replay/" };
    char program[PATH_MAX];
    const enum err e = installed_file_of_program(program, err);
    if (e != ERR_OK)
        return e;
    const char *folder = dirname(program);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/%s%s", folder, places[i], file);
        if (access(path, R_OK) == 0 && realpath(path, out) != NULL)
            return ERR_OK;
    }
    return err_set(err, ERR_IO, 0, "%s is not in %s, the folder of this program, nor installed", file, folder);
}
