/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#define _GNU_SOURCE                   /* O_DIRECTORY */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *new_file_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

enum { TRIES_MOST = 32 };             /* there are file systems whose numbers of files do not last */

static bool has_name(int fd, const char *path)
{
    struct stat file, named;
    return fstat(fd, &file) == 0 && lstat(path, &named) == 0 && file.st_dev == named.st_dev &&
           file.st_ino == named.st_ino;
}

/* Locks a new file; false if another process has taken it for one of a dead writer, and is removing it. */
static bool lock_new(int fd, const char *path)
{
    int failed;
    while ((failed = flock(fd, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR)
        ;
    return (failed == 0 || errno != EWOULDBLOCK) && has_name(fd, path);
}

int new_file_make(char *temporary)
{
    for (int tries = 1;; tries++) {
        const int fd = mkstemp(temporary);
        if (fd < 0)
            return -1;
        fcntl(fd, F_SETFD, FD_CLOEXEC);      /* not for programs started meanwhile */
        if (lock_new(fd, temporary) || tries == TRIES_MOST)
            return fd;
        close(fd);
        memcpy(temporary + strlen(temporary) - strlen("XXXXXX"), "XXXXXX", strlen("XXXXXX"));
    }
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
