/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#define _GNU_SOURCE                   /* O_DIRECTORY */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *new_file_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

mode_t new_file_mode(mode_t wanted)
{
    const mode_t mask = umask(0);
    umask(mask);
    return wanted & ~mask;
}

bool new_file_sync_folder(const char *path)
{
    char *folder = new_file_folder(path);
    const int fd = folder == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_good = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL || errno == EROFS);
    const int reason = errno;
    if (fd >= 0)
        close(fd);
    free(folder);
    errno = reason;
    return is_good;
}
