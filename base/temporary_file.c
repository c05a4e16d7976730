/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "base/temporary_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

const char *temporary_place(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

enum err temporary_file_open(int *fd, struct err_detail *err)
{
    char path[PATH_BYTES];
    const char *folder = temporary_place();
    if (snprintf(path, sizeof path, "%s/replay-XXXXXX", folder) >= (int)sizeof path)
        return err_set(err, ERR_IO, 0, "TMPDIR is too long a path");
    *fd = mkstemp(path);
    if (*fd < 0)
        return err_at(err, ERR_IO, 0, folder, "no temporary file: %s", strerror(errno));
    unlink(path);
    return ERR_OK;
}

enum err temporary_stream_open(FILE **out, struct err_detail *err)
{
    int fd;
    const enum err e = temporary_file_open(&fd, err);
    if (e != ERR_OK)
        return e;
    *out = fdopen(fd, "w+b");
    if (*out != NULL)
        return ERR_OK;
    close(fd);
    return err_no_memory(err);
}

enum err temporary_file_append(int fd, const void *bytes, size_t n, struct err_detail *err)
{
    for (size_t done = 0; done < n;) {
        const ssize_t written = write(fd, (const char *)bytes + done, n - done);
        if (written < 0 && errno != EINTR)
            return err_set(err, ERR_IO, 0, "temporary file: %s", strerror(errno));
        done += written > 0 ? (size_t)written : 0;
    }
    return ERR_OK;
}
