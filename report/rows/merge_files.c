/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "report/rows/merge_files.h"

#include "base/database_files.h"

#include <unistd.h>

/* Into a database that is open. */
static enum err merge_inputs(const struct merge_files *m, struct results_db *db, struct err_detail *err)
{
    uint64_t n_added;
    enum err e = ERR_OK;
    for (size_t i = 0; i < m->n_inputs && e == ERR_OK; i++) {
        e = results_db_merge(db, m->inputs[i], &n_added, err);
        if (e == ERR_OK && m->added != NULL)
            m->added(m->inputs[i], n_added);
    }
    return e;
}

static enum err merge_into_old(const struct merge_files *m, struct err_detail *err)
{
    struct results_db *db = NULL;
    enum err e = results_db_open(m->out, false, m->watch, &db, err);
    if (e == ERR_OK)
        e = merge_inputs(m, db, err);
    results_db_close(db);
    return e;
}

/* Fills the temporary file. */
static enum err fill_new(const struct merge_files *m, const char *temporary, struct err_detail *err)
{
    struct results_db *db = NULL;
    enum err e = results_db_open_new(temporary, m->out, m->watch, &db, err);
    if (e == ERR_OK)
        e = merge_inputs(m, db, err);
    results_db_close(db);
    return e;
}

/* For a database that got its name from somebody else meanwhile. */
static enum err copy_new(const struct merge_files *m, const char *temporary, struct err_detail *err)
{
    const struct merge_files whole = { .inputs = &temporary, .n_inputs = 1, .out = m->out, .watch = m->watch };
    return merge_into_old(&whole, err);
}

static enum err merge_into_new(const struct merge_files *m, struct err_detail *err)
{
    struct new_database made;
    bool is_named = false;
    enum err e = new_database_open(m->out, &made, err);
    if (e == ERR_OK)
        e = fill_new(m, made.temporary, err);
    if (e == ERR_OK)
        e = new_database_publish(&made, &is_named, err);
    if (e == ERR_OK && !is_named)
        e = copy_new(m, made.temporary, err);
    new_database_close(&made);
    return e;
}

enum err merge_files(const struct merge_files *m, struct err_detail *err)
{
    return access(m->out, F_OK) == 0 ? merge_into_old(m, err) : merge_into_new(m, err);
}
