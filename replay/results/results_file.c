/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The first bytes of a file tell which kind of results it holds, if any. */
#include "replay/results/results_file.h"

#include "base/input.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_BYTES_MAX = 1 << 30 };

/* Memory of a parsed JSON, whatever the file's size and for each of its bytes. Honest results take ten times their
 * text, which packs to a twentieth. */
enum { JSON_MEMORY_FREE = 64 << 20, JSON_MEMORY_RATIO = 256 };

/* The same for the runs of a file, of which each takes 4 KB and its texts. Honest results hold a KB for each, which
 * packs to a twentieth. */
enum { RUNS_MEMORY_FREE = 16 << 20, RUNS_MEMORY_RATIO = 256 };

/* Limits what the runs of a file take; `n_bytes`: of the file. */
static void allow_runs(struct run_table *t, const struct input *in, uint64_t memory_limit, uint64_t n_bytes)
{
    run_table_allow(t, input_name(in),
                    memory_limit != 0 ? memory_limit : RUNS_MEMORY_FREE + RUNS_MEMORY_RATIO * n_bytes);
}

/* Reads a whole JSON into memory; *out is freed with free(). */
static enum err read_all(struct input *in, char **out, size_t *n, struct err_detail *err)
{
    char *bytes = NULL;
    size_t cap = 0;
    *n = 0;
    for (;;) {
        const unsigned char *more;
        size_t k;
        const enum err e = input_peek(in, 1, &more, &k, err);
        if (e == ERR_OK && k == 0)
            break;
        if (e == ERR_OK && cap < *n + k) {
            cap = 2 * (*n + k);
            char *grown = cap <= JSON_BYTES_MAX ? realloc(bytes, cap) : NULL;
            if (grown == NULL) {
                free(bytes);
                return err_no_memory(err);
            }
            bytes = grown;
        }
        if (e != ERR_OK) {
            free(bytes);
            return e;
        }
        assert(*n + k <= cap);
        memcpy(bytes + *n, more, k);
        *n += k;
        input_skip(in, k);
    }
    *out = bytes;
    return ERR_OK;
}

static enum err add_json(struct run_table *t, struct input *in, uint64_t memory_limit, struct err_detail *err)
{
    char *bytes = NULL;
    size_t n;
    enum err e = read_all(in, &bytes, &n, err);
    allow_runs(t, in, memory_limit, input_raw_offset(in));
    if (e == ERR_OK)
        e = run_table_add_json(t, bytes, n, memory_limit != 0 ? memory_limit
                               : JSON_MEMORY_FREE + JSON_MEMORY_RATIO * input_raw_offset(in), input_name(in), err);
    free(bytes);
    return e;
}

static enum err add_db(struct run_table *t, const struct input *in, const char *path, uint64_t memory_limit,
                       const struct results_db_watch *watch, struct err_detail *err)
{
    struct results_db *db = NULL;
    allow_runs(t, in, memory_limit, input_raw_size(in));
    enum err e = results_db_open_read(path, watch, &db, err);
    if (e == ERR_OK)
        e = run_table_add_db(t, db, err);
    results_db_close(db);
    return e;
}

enum err results_file_add(struct run_table *t, const char *path, uint64_t memory_limit,
                          const struct results_db_watch *watch, bool *is_results, struct err_detail *err)
{
    static const unsigned char sqlite[] = "SQLite format 3";
    struct err_detail reason;
    const unsigned char *head;
    struct input *in = NULL;
    size_t n = 0, at = 0;
    *is_results = false;
    enum err e = input_open(path, &in, &reason);
    if (e == ERR_OK)
        input_allow(in, memory_limit);
    if (e == ERR_OK && (e = input_peek(in, sizeof sqlite, &head, &n, &reason)) != ERR_OK)
        input_close(in);
    if (e != ERR_OK) {
        const bool is_hosts = e == ERR_HOST_NOMEM || e == ERR_IO;
        if (is_hosts)
            *err = reason;
        return is_hosts ? e : ERR_OK;                    /* opening it as a trace will say what is wrong with it */
    }
    while (at < n && memchr(" \t\r\n", head[at], 4) != NULL)
        at++;
    const bool is_db = n >= sizeof sqlite && memcmp(head, sqlite, sizeof sqlite) == 0;
    *is_results = is_db || (at < n && head[at] == '{');
    if (*is_results)
        e = is_db ? add_db(t, in, path, memory_limit, watch, err) : add_json(t, in, memory_limit, err);
    run_table_allow(t, NULL, UINT64_MAX);
    if (*is_results && e == ERR_OK)
        input_is_of_use(in);
    input_close(in);
    return e;
}
