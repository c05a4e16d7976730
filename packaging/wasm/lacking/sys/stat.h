/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#ifndef REPLAY_PACKAGING_WASM_LACKING_SYS_STAT_H
#define REPLAY_PACKAGING_WASM_LACKING_SYS_STAT_H

#include_next <sys/stat.h>

/* The host gives a new file its permissions. */
static inline mode_t umask(mode_t mask)
{
    (void)mask;
    return 022;
}

static inline int lacking_fchmod(int fd, mode_t mode)
{
    (void)fd, (void)mode;
    return 0;
}

#define fchmod lacking_fchmod

#endif
