/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The files of an SQLite database, looked at before SQLite opens any of them.
 *
 * SQLite believes what lies beside a database. By NAME-journal it rewrites the database, and then deletes the file that
 * the journal names as its super-journal, which may be any file of the user. A pipe as NAME-wal makes it wait without
 * end. So a database of a stranger is opened only if what lies beside it can do neither.
 */
#ifndef REPLAY_BASE_DATABASE_FILES_H
#define REPLAY_BASE_DATABASE_FILES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { DATABASE_NAME_BYTES = 4096 + 16 };        /* the longest path, and an ending */

/* The name that SQLite's files are beside: behind links, if there is such a file, else as typed. It holds a slash, so
 * that SQLite takes ":memory:" and "file:..." for names of files, too. ERR_USAGE for an empty or a long name. */
MUST_USE enum err database_name(const char *path, char out[DATABASE_NAME_BYTES], struct err_detail *err);

/* Refuses, with ERR_INPUT, a database that is no regular file, or beside which lies a journal that is not empty, or
 * anything but a regular file under a name of SQLite's. Our databases keep a write-ahead log and have no journal at any
 * time. `name`: of database_name. A file that is not there is no fault. */
MUST_USE enum err database_files_check(const char *name, struct err_detail *err);

/* Bytes of the write-ahead log beside a database: what another process has left, or is writing. 0: there is none. */
uint64_t database_log_bytes(const char *name);

/* A URI by which SQLite reads a database as one that nobody changes: it makes no files of its own beside it, and does
 * not look at the log, so that is to be empty. `name`: of database_name. */
enum { DATABASE_URI_BYTES = 3 * DATABASE_NAME_BYTES + 32 };
void database_unchanged_uri(const char *name, char out[DATABASE_URI_BYTES]);

/* Makes a database without tables that keeps a write-ahead log, if there is no such file or an empty one. SQLite alone
 * would need a journal for that, which a kill leaves. Several processes may do it at once. `path`: for messages.
 * ERR_IO. */
MUST_USE enum err database_make(const char *name, const char *path, struct err_detail *err);

/* A database that appears under its name whole or not at all. Until then it is a file NAME.replay-XXXXXX, which the
 * next output of that name removes if a kill leaves it (base/output.h). */
struct new_database {
    const char *path;                            /* as typed, borrowed */
    char name[DATABASE_NAME_BYTES], temporary[DATABASE_NAME_BYTES];
    int  fd;                                     /* of the temporary file, which is locked for as long */
};

/* Makes the temporary file, empty. It must be written to without a log. database_files_check's errors; ERR_IO. */
MUST_USE enum err new_database_open(const char *path, struct new_database *out, struct err_detail *err);

/* Gives the database its name, once SQLite has closed it. Nothing is replaced: *is_named is false if another process
 * has made a file of that name meanwhile, if a log lies there, or if the file system has no links. Then the temporary
 * file is still whole, and is to be copied. ERR_IO. */
MUST_USE enum err new_database_publish(struct new_database *n, bool *is_named, struct err_detail *err);

/* Removes the temporary file, published or not. */
void new_database_close(struct new_database *n);

#endif
