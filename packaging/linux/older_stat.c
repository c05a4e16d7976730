/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The family of stat, which until glibc 2.32 was part of every program: it calls functions that are told which struct
 * stat the program means. Newer ones still have these.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#if defined(__x86_64__)
enum { STAT_OF_LINUX = 1 };                 /* _STAT_VER of <bits/stat.h> until 2.32 */
#elif defined(__aarch64__)
enum { STAT_OF_LINUX = 0 };
#else
#error "which struct stat does this machine have?"
#endif

int __xstat(int version, const char *path, struct stat *to);
int __lxstat(int version, const char *path, struct stat *to);
int __fxstat(int version, int fd, struct stat *to);
int __fxstatat(int version, int folder, const char *path, struct stat *to, int flags);

int stat(const char *restrict path, struct stat *restrict to)
{
    return __xstat(STAT_OF_LINUX, path, to);
}

int lstat(const char *restrict path, struct stat *restrict to)
{
    return __lxstat(STAT_OF_LINUX, path, to);
}

int fstat(int fd, struct stat *to)
{
    return __fxstat(STAT_OF_LINUX, fd, to);
}

int fstatat(int folder, const char *restrict path, struct stat *restrict to, int flags)
{
    return __fxstatat(STAT_OF_LINUX, folder, path, to, flags);
}

/* These machines have one struct stat of 64 bits under both names. */
int stat64(const char *restrict path, struct stat64 *restrict to) __attribute__((alias("stat")));
int lstat64(const char *restrict path, struct stat64 *restrict to) __attribute__((alias("lstat")));
int fstat64(int fd, struct stat64 *to) __attribute__((alias("fstat")));
int fstatat64(int folder, const char *restrict path, struct stat64 *restrict to, int flags)
    __attribute__((alias("fstatat")));
