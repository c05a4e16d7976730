/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reserves disk space for a part of a file before the part is mapped. On a full disk this call then fails, instead of a
 * later write to the mapping, which would kill the recorded program with SIGBUS.
 */
#ifndef REPLAY_BASE_FILE_ROOM_H
#define REPLAY_BASE_FILE_ROOM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

/* Reserves [at, at + bytes) of the file; returns 0 or an error number. The program's signals are blocked meanwhile: a
 * signal that comes again and again could keep the file system from ever finishing. (SIGSTOP and the C library's own
 * signals cannot be blocked.) A file beyond the size limit raises SIGXFSZ, which would end the program: that signal is
 * taken back. */
static inline int file_room_take(int fd, off_t at, off_t bytes)
{
    const struct timespec no_time = {0};
    sigset_t all, too_large, before, pending;
    int reason;
    sigfillset(&all);
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    sigpending(&pending);
    do
        reason = posix_fallocate(fd, at, bytes);
    while (reason == EINTR);
    if (reason == EFBIG && sigismember(&pending, SIGXFSZ) == 0)
        sigtimedwait(&too_large, NULL, &no_time);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return reason;
}

#endif
