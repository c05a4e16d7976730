/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What `report`, `diff` and `merge` do with a file of results from a stranger: the verdict, Markdown, CSV, the data of
 * a page, and the merge into a database.
 */
#ifndef REPLAY_TESTS_FUZZ_USE_RESULTS_H
#define REPLAY_TESTS_FUZZ_USE_RESULTS_H

#include "base/shown.h"
#include "replay/results/results_file.h"
#include "report/page/page.h"
#include "report/rows/verdict.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

#include <stdlib.h>

enum { EMPTY_DATABASE_MAX = 1 << 18 };

static inline void expect_clean(const char *text, size_t n)
{
    for (size_t i = 0, left_out; i < n;) {
        const size_t length = shown_length(text + i, n - i, &left_out);
        FUZZ_EXPECT(length > 0 || text[i] == '\n');
        i += length > 0 ? length : 1;
    }
}

/* Writes with `write`. What a terminal may show holds nothing that it obeys. */
static inline void write_page(void (*write)(FILE *out, const struct page *page), const struct page *page, bool is_shown)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (out == NULL)
        return;
    write(out, page);
    fclose(out);
    if (is_shown)
        expect_clean(text, n);
    free(text);
}

static inline void write_csv(FILE *out, const struct page *page)
{
    run_table_write_csv(out, page->verdict->table);
}

static inline void use_table(const struct run_table *t)
{
    struct verdict v;
    if (t->n_rows == 0 || verdict_open(t, &v) != ERR_OK)
        return;
    const struct page page = { .verdict = &v };
    write_page(page_write_markdown, &page, true);
    write_page(page_write_html, &page, false);
    write_page(write_csv, &page, true);
    verdict_close(&v);
}

/* Writes an empty database of results. It is made once and copied from then on: to make one takes longer than all that
 * is done with it. */
static inline bool empty_database_write(const char *path)
{
    static uint8_t image[EMPTY_DATABASE_MAX];
    static size_t n;
    if (n == 0) {
        struct results_db *db;
        if (results_db_open(path, false, NULL, &db, NULL) != ERR_OK)
            return false;
        results_db_close(db);
        FILE *f = fopen(path, "rb");
        n = f == NULL ? 0 : fread(image, 1, sizeof image, f);
        FUZZ_EXPECT(n > 0 && n < sizeof image);
        fclose(f);
    }
    return file_write(path, image, n);
}

static inline void merge_results(const char *path)
{
    char to[80];
    struct results_db *db = NULL;
    struct err_detail err = { .text = "" };
    uint64_t n_added;
    snprintf(to, sizeof to, "%s-merged", path);
    if (empty_database_write(to) && results_db_open(to, true, NULL, &db, NULL) == ERR_OK &&
        results_db_merge(db, path, &n_added, &err) != ERR_OK)
        FUZZ_EXPECT(err.text[0] != '\0');
    results_db_close(db);
    database_remove(to);
}

/* All of it, with a file. */
static inline void use_results(const char *path)
{
    struct run_table t;
    struct err_detail err = { .text = "" };
    bool is_results = false;
    run_table_open(&t);
    if (results_file_add(&t, path, 0, NULL, &is_results, &err) != ERR_OK)
        FUZZ_EXPECT(err.text[0] != '\0');
    use_table(&t);
    run_table_close(&t);
    if (is_results)                  /* `merge` opens what else there is only to refuse it */
        merge_results(path);
}

#endif
