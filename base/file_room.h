/*
 * Room on the disk for a part of a file, taken before the part is mapped: a full disk is then an answer here and no
 * fault in the program, which knows nothing of our file.
 */
#ifndef REPLAY_BASE_FILE_ROOM_H
#define REPLAY_BASE_FILE_ROOM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

/* Takes room for [at, at + bytes); 0 or an error number. The program's signals wait meanwhile: one that comes again and
 * again could keep a file system from ever finishing. SIGSTOP and the C library's own signals cannot be kept back. A
 * file that is too large also raises SIGXFSZ, which would end the program: it is taken away again. */
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
