/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Names and locks are those of SQLite on Unix; the first page is as in "Database File Format"
 * (https://www.sqlite.org/fileformat2.html), sections 1.3 and 1.6.
 */
#include "base/database_files.h"

#include "base/new_file.h"
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum err database_name(const char *path, char out[DATABASE_NAME_BYTES], struct err_detail *err)
{
    if (path[0] == '\0')
        return err_set(err, ERR_USAGE, 0, "an empty name is not a database");
    char *real = realpath(path, NULL);
    const int n = real != NULL ? snprintf(out, DATABASE_NAME_BYTES, "%s", real)
                               : snprintf(out, DATABASE_NAME_BYTES, "%s%s", path[0] == '/' ? "" : "./", path);
    free(real);
    return n < DATABASE_NAME_BYTES ? ERR_OK : err_at(err, ERR_USAGE, 0, path, "the name is too long");
}

/* ---- what lies beside a database ---- */

static enum err check_beside(const char *name, const char *ending, bool may_hold_data, struct err_detail *err)
{
    char beside[DATABASE_NAME_BYTES];
    struct stat st;
    if ((size_t)snprintf(beside, sizeof beside, "%s%s", name, ending) >= sizeof beside || lstat(beside, &st) != 0)
        return ERR_OK;
    if (!S_ISREG(st.st_mode))
        return err_at(err, ERR_INPUT, 0, beside, "is not a regular file");
    if (!may_hold_data && st.st_size > 0)
        return err_at(err, ERR_INPUT, 0, beside, "by a journal SQLite changes the database and deletes files; replay "
                      "makes none, so it may be a stranger's");
    return ERR_OK;
}

enum err database_files_check(const char *name, struct err_detail *err)
{
    struct stat st;
    if (stat(name, &st) == 0 && !S_ISREG(st.st_mode))
        return err_at(err, ERR_INPUT, 0, name, "is not a regular file, as a database must be");
    enum err e = check_beside(name, "-journal", false, err);
    if (e == ERR_OK)
        e = check_beside(name, "-wal", true, err);
    return e == ERR_OK ? check_beside(name, "-shm", true, err) : e;
}

uint64_t database_log_bytes(const char *name)
{
    char log[DATABASE_NAME_BYTES];
    struct stat st;
    const bool is_there = (size_t)snprintf(log, sizeof log, "%s-wal", name) < sizeof log && stat(log, &st) == 0;
    return is_there ? (uint64_t)st.st_size : 0;
}

void database_unchanged_uri(const char *name, char out[DATABASE_URI_BYTES])
{
    const size_t room = DATABASE_URI_BYTES;
    size_t n = (size_t)snprintf(out, room, "file:");
    for (const char *c = name; *c != '\0'; c++)
        n += (size_t)snprintf(out + n, room - n, strchr("?#%", *c) != NULL ? "%%%02X" : "%c", (unsigned char)*c);
    snprintf(out + n, room - n, "?immutable=1");
}

/* ---- a new database ---- */

enum { DATABASE_MODE = 0644 };       /* as SQLite makes files */
enum { PAGE_BYTES = 4096, LOCK_FIRST = 0x40000000, LOCK_BYTES = 512, LOCK_TRIES = 100, LOCK_PAUSE_NS = 10000000 };

/* To write and to read: with a write-ahead log. */
enum { MODE_AT = 18 };
static const unsigned char mode_log[] = { 2, 2 };

/* A tree of tables that is empty. All that is not 0 lies in the first sector, so a loss of power cannot part it. */
static void fill_first_page(unsigned char page[PAGE_BYTES])
{
    static const char magic[] = "SQLite format 3";
    memset(page, 0, PAGE_BYTES);
    memcpy(page, magic, sizeof magic);
    page[16] = PAGE_BYTES >> 8;
    memcpy(page + MODE_AT, mode_log, sizeof mode_log);
    page[21] = 64, page[22] = 32, page[23] = 32;         /* fractions of a page, which are fixed */
    page[31] = 1;                                        /* pages */
    page[100] = 0x0d;                                    /* a leaf */
    page[105] = PAGE_BYTES >> 8;                         /* where its cells begin: at its end */
}

/* Takes the lock that SQLite calls EXCLUSIVE. False: others hold it, who then make the database. */
static bool lock_whole(int fd)
{
    const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_FIRST, .l_len = LOCK_BYTES };
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (fcntl(fd, F_SETLK, &lock) == 0)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* A log that a removed database has left is not of the new one. Whoever has the lock on an empty file may remove it. */
static bool remove_log(const char *name)
{
    char log[DATABASE_NAME_BYTES];
    if ((size_t)snprintf(log, sizeof log, "%s-wal", name) >= sizeof log || unlink(log) != 0)
        return true;
    return new_file_sync_folder(name);
}

/* Writes the page, or nothing. False with errno. */
static bool write_first_page(int fd)
{
    unsigned char page[PAGE_BYTES];
    fill_first_page(page);
    errno = ENOSPC;                                      /* of a short write */
    if (pwrite(fd, page, sizeof page, 0) == (ssize_t)sizeof page && (fsync(fd) == 0 || errno == EINVAL))
        return true;
    const int reason = errno;
    if (ftruncate(fd, 0) != 0)
        return errno = reason, false;
    errno = reason;
    return false;
}

static enum err cannot_be_written(const char *path, int reason, struct err_detail *err)
{
    return err_at(err, ERR_IO, 0, path, "cannot be written: %s", strerror(reason));
}

enum err database_make(const char *name, const char *path, struct err_detail *err)
{
    struct stat st;
    if (stat(name, &st) == 0 && st.st_size > 0)
        return ERR_OK;
    const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, DATABASE_MODE);
    if (fd < 0)
        return cannot_be_written(path, errno, err);
    bool is_good = true;
    if (lock_whole(fd) && fstat(fd, &st) == 0 && st.st_size == 0)
        is_good = remove_log(name) && write_first_page(fd) && new_file_sync_folder(name);
    const int reason = errno;
    close(fd);
    return is_good ? ERR_OK : cannot_be_written(path, reason, err);
}

/* ---- a new database that is filled first ---- */

/* What outputs of this name that were killed have left. */
static enum err remove_left_behind(const char *name, struct err_detail *err)
{
    struct output *o = NULL;
    const enum err e = output_open(name, &o, err);
    output_abandon(o);
    return e;
}

enum err new_database_open(const char *path, struct new_database *out, struct err_detail *err)
{
    *out = (struct new_database){ .path = path, .fd = -1 };
    enum err e = database_name(path, out->name, err);
    if (e == ERR_OK)
        e = database_files_check(out->name, err);
    if (e == ERR_OK)
        e = remove_left_behind(out->name, err);
    if (e != ERR_OK)
        return e;
    const size_t room = sizeof out->temporary;
    if ((size_t)snprintf(out->temporary, room, "%s%s", out->name, NEW_FILE_ENDING) >= room)
        return err_at(err, ERR_USAGE, 0, path, "the name is too long");
    out->fd = new_file_make(out->temporary);
    if (out->fd >= 0 && fchmod(out->fd, new_file_mode(DATABASE_MODE)) == 0)
        return ERR_OK;
    const enum err failed = cannot_be_written(path, errno, err);
    new_database_close(out);
    return failed;
}

static bool has_log(const char *name)
{
    char log[DATABASE_NAME_BYTES];
    struct stat st;
    return (size_t)snprintf(log, sizeof log, "%s-wal", name) < sizeof log && lstat(log, &st) == 0;
}

enum err new_database_publish(struct new_database *n, bool *is_named, struct err_detail *err)
{
    *is_named = false;
    errno = ENOSPC;                                      /* of a short write */
    bool is_good = pwrite(n->fd, mode_log, sizeof mode_log, MODE_AT) == (ssize_t)sizeof mode_log &&
                   (fsync(n->fd) == 0 || errno == EINVAL);
    if (is_good && !has_log(n->name)) {
        *is_named = link(n->temporary, n->name) == 0;
        is_good = *is_named ? new_file_sync_folder(n->name) : errno == EEXIST || errno == EPERM || errno == EOPNOTSUPP;
    }
    return is_good ? ERR_OK : cannot_be_written(n->path, errno, err);
}

void new_database_close(struct new_database *n)
{
    if (n->fd < 0)
        return;
    unlink(n->temporary);
    close(n->fd);
    n->fd = -1;
}
