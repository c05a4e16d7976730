/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * How far SQLite may go with a database of a stranger. Whoever includes this links SQLite.
 */
#ifndef REPLAY_BASE_FOREIGN_DATABASE_H
#define REPLAY_BASE_FOREIGN_DATABASE_H

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

/* open(2) for SQLite, which opens by name what was looked at before: it waits for nobody if that is a pipe by now.
 * SQLite also opens folders, to sync them, and /dev/urandom. */
static inline int foreign_database_file(const char *path, int flags, int mode)
{
    struct stat st;
    const int fd = open(path, flags | O_NONBLOCK, mode);
    if (fd < 0 || (fstat(fd, &st) == 0 && !S_ISFIFO(st.st_mode)))
        return fd;
    close(fd);
    errno = ENXIO;
    return -1;
}

/* Makes SQLite open no pipe, in the whole process. Once, before other threads run. */
static inline void foreign_database_no_pipes(void)
{
    sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    if (files != NULL && files->iVersion >= 3)
        files->xSetSystemCall(files, "open", (sqlite3_syscall_ptr)foreign_database_file);
}

/* No text or row is longer than `most_bytes`. The schema is not trusted: no trigger runs, and nothing that it computes
 * may call what has side effects. */
static inline void foreign_database_limit(sqlite3 *handle, int most_bytes)
{
    const struct { int what, most; } limits[] = {
        { SQLITE_LIMIT_LENGTH, most_bytes }, { SQLITE_LIMIT_SQL_LENGTH, 1 << 20 }, { SQLITE_LIMIT_EXPR_DEPTH, 200 },
        { SQLITE_LIMIT_COMPOUND_SELECT, 20 }, { SQLITE_LIMIT_ATTACHED, 1 }, { SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
        { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100 }, { SQLITE_LIMIT_WORKER_THREADS, 0 },
    };
    static const struct { int what, is_on; } switches[] = {
        { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 }, { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_DEFENSIVE, 1 },
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        sqlite3_limit(handle, limits[i].what, limits[i].most);
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        sqlite3_db_config(handle, switches[i].what, switches[i].is_on, NULL);
}

#endif
