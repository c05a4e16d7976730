/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Calls that programs know of Linux and that Debian's wasi-libc lacks, as far as replay needs them. Their declarations
 * are in lacking/, in front of the libc's own headers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#undef fcntl

/* ---- files ---- */

/* wasi-libc asks this function, if there is one, which of its folders a name belongs to. All do to the host, which gets
 * them as they are: it knows its own names best, such as "C:\\logs\\train.log" and "..\\x". */
enum { HOST_NAMES = 3 };
int __wasilibc_find_relpath_alloc(const char *path, const char **prefix, char **relative, size_t *room, int can_grow);

int __wasilibc_find_relpath_alloc(const char *path, const char **prefix, char **relative, size_t *room, int can_grow)
{
    (void)room, (void)can_grow;
    *prefix = "";
    *relative = (char *)(uintptr_t)path;
    return HOST_NAMES;
}

/* From the host: whether this process may do so with the file. An error number. */
__attribute__((import_module("vramreplay"), import_name("access"))) int host_access(const char *path, size_t length,
                                                                                    int how);

int lacking_access(const char *path, int how)
{
    const int reason = host_access(path, strlen(path), how);
    errno = reason;
    return reason == 0 ? 0 : -1;
}

/* From the host: takes (1), shares (2) or gives back (0) a part of a file among processes. An error number. */
__attribute__((import_module("vramreplay"), import_name("lock"))) int host_lock(int fd, int how, long long start,
                                                                                  long long length);

static int lock_part(int fd, struct flock *lock)
{
    const int how = lock->l_type == F_UNLCK ? 0 : lock->l_type == F_WRLCK ? 1 : 2;
    const int reason = host_lock(fd, how, lock->l_start, lock->l_len);
    errno = reason;
    return reason == 0 ? 0 : -1;
}

/* From the host: a second descriptor, or less than 0: an error number. */
__attribute__((import_module("vramreplay"), import_name("duplicate"))) int host_duplicate(int fd);

static int duplicate(int fd)
{
    const int made = host_duplicate(fd);
    errno = made < 0 ? -made : 0;
    return made < 0 ? -1 : made;
}

int lacking_fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    struct flock *const lock = command >= F_GETLK && command <= F_SETLKW ? va_arg(arguments, struct flock *) : NULL;
    const int value = command == F_SETFD || command == F_SETFL ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (command == F_GETLK)
        return lock->l_type = F_UNLCK, 0;
    return lock != NULL ? lock_part(fd, lock)
                        : command == F_DUPFD_CLOEXEC ? duplicate(fd) : fcntl(fd, command, value);
}

/* Nothing but a whole file without waiting is ever asked for. */
int flock(int fd, int how)
{
    const int reason = how == (LOCK_EX | LOCK_NB) ? host_lock(fd, 1, 0, 0) : EINVAL;
    errno = reason;
    return reason == 0 ? 0 : -1;
}

int mkstemp(char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char *const end = name + strlen(name) - strlen("XXXXXX");
    for (int tries = 0; tries < 100; tries++) {
        unsigned char chance[6];
        if (getentropy(chance, sizeof chance) != 0)
            return -1;
        for (size_t i = 0; i < sizeof chance; i++)
            end[i] = letters[chance[i] % (sizeof letters - 1)];
        const int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* From the host: the name of a file without links, into out[0, size). Its length, or less than 0: an error number. */
__attribute__((import_module("vramreplay"), import_name("real_path"))) int host_real_path(const char *path,
                                                                                            size_t length, char *out,
                                                                                            size_t size);

char *realpath(const char *path, char *out)
{
    enum { LONGEST = 4096 };
    char *const to = out != NULL ? out : malloc(LONGEST);
    const int n = to == NULL ? -ENOMEM : host_real_path(path, strlen(path), to, LONGEST - 1);
    if (n >= 0)
        return to[n] = '\0', to;
    if (out == NULL)
        free(to);
    errno = -n;
    return NULL;
}

/* SQLite puts it before a name that does not begin with a slash. */
char *getcwd(char *out, size_t size)
{
    const int n = host_real_path(".", 1, out, size - 1);
    errno = n < 0 ? -n : 0;
    if (n < 0)
        return NULL;
    out[n] = '\0';
    return out;
}

/* ---- the machine ---- */

int ioctl(int fd, int request, struct winsize *size)
{
    const char *const typed = getenv("REPLAY_TERMINAL");
    *size = (struct winsize){ 0 };
    (void)fd;
    const bool is_known = request == TIOCGWINSZ && typed != NULL;
    return is_known && sscanf(typed, "%hux%hu", &size->ws_col, &size->ws_row) == 2 ? 0 : -1;
}

unsigned long getauxval(unsigned long what)
{
    static unsigned char chance[16];
    return what == AT_RANDOM && getentropy(chance, sizeof chance) == 0 ? (unsigned long)chance : 0;
}

/* Advice may always be ignored. */
int madvise(void *at, size_t bytes, int advice)
{
    (void)at, (void)bytes, (void)advice;
    return 0;
}

/* Debian's compiler-rt for WebAssembly guards the stack of one of its functions. */
extern const size_t __stack_chk_guard;
const size_t __stack_chk_guard = 0x57fc31a9;
_Noreturn void __stack_chk_fail(void);

_Noreturn void __stack_chk_fail(void)
{
    __builtin_trap();
}
