/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Locks of files, and a second descriptor of a stream. Both are a host's business: lacking.c. */
#ifndef REPLAY_PACKAGING_WASM_LACKING_FCNTL_H
#define REPLAY_PACKAGING_WASM_LACKING_FCNTL_H

#include_next <fcntl.h>

#define O_TMPFILE (O_DIRECTORY | O_WRONLY)      /* which no system opens: files without a name are Linux's own */

enum { F_RDLCK, F_WRLCK, F_UNLCK };
enum { F_GETLK = 100, F_SETLK, F_SETLKW, F_DUPFD_CLOEXEC, F_SETLEASE };

int lacking_fcntl(int fd, int command, ...);
#define fcntl lacking_fcntl

#endif
