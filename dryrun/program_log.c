/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Cuts the middle out of a log. The program appends to the file itself, so that nothing stands between the two. */
#define _GNU_SOURCE
#include "dryrun/program_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The bytes between beginning and end; 0: the log is short, or is not there. */
static off_t middle_bytes(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 2 * (off_t)LOG_END_BYTES
         ? st.st_size - 2 * (off_t)LOG_END_BYTES : 0;
}

void program_log_trim(const char *path)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const off_t n = middle_bytes(fd);
    if (n > 0)                       /* a refusal changes nothing: program_log_cut makes the file short */
        (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, LOG_END_BYTES, n);
    if (fd >= 0)
        close(fd);
}

/* Moves the rest of a file from one place to an earlier one, and ends the file there. */
static bool move_end(int fd, off_t from, off_t to)
{
    char bytes[65536];
    ssize_t n;
    while ((n = pread(fd, bytes, sizeof bytes, from)) > 0) {
        if (pwrite(fd, bytes, (size_t)n, to) != n)
            return false;
        from += n;
        to += n;
    }
    return n == 0 && ftruncate(fd, to) == 0;
}

enum err program_log_cut(const char *path, uint64_t *cut_bytes, struct err_detail *err)
{
    char line[128];
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const off_t middle = middle_bytes(fd);
    const int n = snprintf(line, sizeof line, "\nreplay predict: %" PRIu64 " bytes are not kept here\n",
                           (uint64_t)middle);
    bool is_done = fd >= 0;
    if (middle > n)                  /* the line takes the place of something longer */
        is_done = pwrite(fd, line, (size_t)n, LOG_END_BYTES) == n &&
                  move_end(fd, LOG_END_BYTES + middle, LOG_END_BYTES + n);
    const int reason = is_done ? 0 : errno;
    if (fd >= 0)
        close(fd);
    *cut_bytes = middle > n ? (uint64_t)middle : 0;
    return reason == 0 ? ERR_OK : err_at(err, ERR_IO, 0, path, "cannot be cut: %s", strerror(reason));
}
