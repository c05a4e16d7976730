/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Results in SQLite: one row per run, written whole or not at all. SCHEMA.md describes tables and views.
 *
 * SQLite keeps a write-ahead log, and runs that end together are one transaction. A process that is killed, or a
 * machine that loses power, loses only its unfinished runs. Several processes may write to one database.
 *
 * A database may come from anyone: reading one or merging it takes work in proportion to its size, and never runs what
 * its schema holds.
 */
#ifndef REPLAY_REPORT_ROWS_RESULTS_DB_H
#define REPLAY_REPORT_ROWS_RESULTS_DB_H

#include "base/sha256.h"
#include "report/rows/result_columns.h"

#include <signal.h>
#include <stdbool.h>

struct results_db;

/* What the owner of a database does while it waits for another process; lent until results_db_close. NULL: nothing. */
struct results_db_watch {
    const volatile sig_atomic_t *interrupted;        /* not 0: statements end with ERR_INTERRUPTED; NULL: none does */
    void (*waits)(const char *path);                 /* told once, after the first second; NULL: nobody is told */
};

/* What tells a run from all others. The same identity gives the same result. */
struct run_identity {
    const char *trace_path;          /* as typed, or as found in a folder */
    const char *trace_digest;        /* SHA-256 of the file */
    const char *policy, *device;     /* as typed */
    const char *start, *on_oom, *releases, *from;    /* from: "" if the format was recognised */
    int64_t     gpu;                 /* -1: not given */
    unsigned    copy_percent;        /* of a changed copy: sizes changed by up to this much; 0: the trace itself */
    uint64_t    copy_seed;           /* of a changed copy */
};

/* The identity in 64 hexadecimal digits, the program's version included. */
void run_identity_key(const struct run_identity *id, char key[SHA256_HEX]);

/* Opens a database to write to it, or makes it unless `must_exist`; NULL makes one that lives in this process only. A
 * name is taken literally, ":memory:" too; ERR_USAGE for an empty one. A database of an older version gets the columns
 * and views of this one. ERR_IO, also if another process has locked it for a minute; ERR_FORMAT for a file that is no
 * database of results, or one of a version that this program only reads: the text says how to convert it. */
MUST_USE enum err results_db_open(const char *path, bool must_exist, const struct results_db_watch *watch,
                                  struct results_db **out, struct err_detail *err);
void results_db_close(struct results_db *db);                       /* NULL is accepted */

/* Makes a database of an empty file that no other process knows (struct new_database): SQLite keeps no other file
 * beside it, and nothing is surely on disk. `path`: for messages. ERR_IO. */
MUST_USE enum err results_db_open_new(const char *temporary, const char *path, const struct results_db_watch *watch,
                                      struct results_db **out, struct err_detail *err);

enum stored_run {
    STORED_NOT,
    STORED_RESULT,                   /* it got through, or was out of memory */
    STORED_FAILED,                   /* it ended in an error, or failed the audit: its figures are no result */
};

/* Whether a run is in the database. Ask between look and look_away: all questions then read one state of the database,
 * which is faster. Nothing may be put in between. ERR_IO. */
MUST_USE enum err results_db_look(struct results_db *db, struct err_detail *err);
MUST_USE enum err results_db_look_away(struct results_db *db, struct err_detail *err);
MUST_USE enum err results_db_has(struct results_db *db, const char *key, enum stored_run *out, struct err_detail *err);

/* Writes the report's only run, unless it is there already. `job`: the folder that holds the ranks; NULL: there are no
 * ranks, and `rank` does not count. */
MUST_USE enum err results_db_put(struct results_db *db, const struct run_identity *id, const char *job, int64_t rank,
                                 const struct report *report, struct err_detail *err);

/* All runs put between begin and end are one transaction, which is faster than one for each run. Other writers wait
 * meanwhile. A second begin, or a second end, does nothing. ERR_IO. */
MUST_USE enum err results_db_begin_puts(struct results_db *db, struct err_detail *err);
MUST_USE enum err results_db_end_puts(struct results_db *db, struct err_detail *err);

/* ERR_IO if the database no longer lies under the name by which it was opened: nobody will find what was written. An
 * end of puts looks, too. */
MUST_USE enum err results_db_check_there(struct results_db *db, struct err_detail *err);

/* Copies the runs of another database of any version, all or none. ERR_CORRUPT if both have a run and differ in it. */
MUST_USE enum err results_db_merge(struct results_db *db, const char *path, uint64_t *n_added, struct err_detail *err);

/* The whole database as bytes, to be freed with results_db_free_bytes; and the merge of these bytes, which stay the
 * caller's. ERR_HOST_NOMEM; ERR_FORMAT if they are no database. */
MUST_USE enum err results_db_bytes(struct results_db *db, unsigned char **bytes, size_t *n, struct err_detail *err);
void results_db_free_bytes(unsigned char *bytes);
MUST_USE enum err results_db_merge_bytes(struct results_db *db, unsigned char *bytes, size_t n, uint64_t *n_added,
                                         struct err_detail *err);

/* The price of driver time that the database compares runs at (winner.h); the default unless *is_there. */
MUST_USE enum err results_db_price(struct results_db *db, uint64_t *out, bool *is_there, struct err_detail *err);
MUST_USE enum err results_db_set_price(struct results_db *db, uint64_t price_bytes_per_ms, struct err_detail *err);

MUST_USE enum err results_db_count(struct results_db *db, uint64_t *out, struct err_detail *err);

/* The table `runs` has at most this many columns. */
enum { RESULTS_COLUMNS = COLUMN_KINDS * FIELDS_MAX };

/* The names of the columns of `runs`, in the order of rows. Returns how many. */
size_t results_db_columns(struct field out[RESULTS_COLUMNS]);

/* Opens an existing database to read it; nothing is written to it. Any version will do: columns that it lacks are null.
 * ERR_IO, also if another process has locked it for a minute; ERR_FORMAT for a file that is no database of results. */
MUST_USE enum err results_db_open_read(const char *path, const struct results_db_watch *watch, struct results_db **out,
                                       struct err_detail *err);

/* Calls `row` for each run, in order of trace, policy and device. Texts are valid during the call only. */
MUST_USE enum err results_db_each_run(struct results_db *db,
                                      void (*row)(void *arg, const struct field *fields, size_t n), void *arg,
                                      struct err_detail *err);

/* Calls `remark` for each assumption, then for each warning, with the number of runs that have it, most first. */
MUST_USE enum err results_db_each_remark(struct results_db *db,
                                         void (*remark)(void *arg, bool is_warning, const char *text, uint64_t n_runs),
                                         void *arg, struct err_detail *err);

/* All runs, ordered by trace, policy and device. */
MUST_USE enum err results_db_write_csv(struct results_db *db, FILE *out, struct err_detail *err);
MUST_USE enum err results_db_write_json(struct results_db *db, FILE *out, struct err_detail *err);

/* For people: which policies failed on which traces, how often, and why: the first few. Nothing if none did. */
MUST_USE enum err results_db_write_failed(struct results_db *db, FILE *out, struct err_detail *err);

/* For people: a table with the best setting of each trace and card, in lines of so many columns, and the worst rank of
 * each job. */
MUST_USE enum err results_db_write_table(struct results_db *db, FILE *out, size_t columns, struct err_detail *err);

#endif
