/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "dryrun/bisect/what_grew.h"

#include "base/array.h"
#include "replay/recording/categories.h"
#include "replay/recording/holders.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static enum err add(struct grown_rows *rows, const char *name, uint64_t before, uint64_t after, struct err_detail *err)
{
    struct grown_row *at = array_grow(rows->at, rows->n, &rows->room, sizeof *at);
    if (at == NULL)
        return err_no_memory(err);
    rows->at = at;
    rows->at[rows->n] = (struct grown_row){ .before_bytes = before, .after_bytes = after };
    snprintf(rows->at[rows->n++].name, GREW_NAME, "%.*s", GREW_NAME - 1, name);
    return ERR_OK;
}

static uint64_t distance(const struct grown_row *r)
{
    return r->after_bytes > r->before_bytes ? r->after_bytes - r->before_bytes : r->before_bytes - r->after_bytes;
}

/* What grew comes before what shrank; then the larger difference. */
static int grown_order(const void *a, const void *b)
{
    const struct grown_row *x = a, *y = b;
    const bool x_grew = x->after_bytes > x->before_bytes, y_grew = y->after_bytes > y->before_bytes;
    if (x_grew != y_grew)
        return x_grew ? -1 : 1;
    const uint64_t p = distance(x), q = distance(y);
    return p != q ? (p > q ? -1 : 1) : strcmp(x->name, y->name);
}

static void keep_different(struct grown_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (distance(&rows->at[i]) > 0)
            rows->at[n++] = rows->at[i];
    rows->n = n;
    if (n > 1)
        qsort(rows->at, n, sizeof *rows->at, grown_order);
}

/* ---- lines ---- */

static enum err find_lines(struct trace_reader *const traces[2], const char *folder, struct what_grew *out,
                           struct err_detail *err)
{
    struct profile_pair *pair = calloc(1, sizeof *pair);
    struct joined_lines lines = { .n = 0 };
    enum err e = pair != NULL ? ERR_OK : err_no_memory(err);
    for (int i = 0; i < PROFILE_SIDES && e == ERR_OK; i++)
        e = profile_read(traces[i], (enum profile_side)i, pair, err);
    if (e == ERR_OK)
        e = joined_lines_open(&pair->lines, &lines, err);
    for (size_t i = 0; i < lines.n && e == ERR_OK; i++) {
        char name[PATH_MAX];
        joined_line_show(&pair->lines, &lines.names[i], name, sizeof name);
        const char *at = strncmp(name, folder, strlen(folder)) == 0 ? name + strlen(folder) : name;
        e = add(&out->lines, at, lines.rows[i].side[PROFILE_A].peak_bytes, lines.rows[i].side[PROFILE_B].peak_bytes,
                err);
    }
    if (e == ERR_OK) {
        out->before_bytes = pair->of[PROFILE_A].peak_bytes;
        out->after_bytes = pair->of[PROFILE_B].peak_bytes;
    }
    joined_lines_close(&lines);
    if (pair != NULL)
        profile_close(pair);
    free(pair);
    return e;
}

/* ---- categories and modules ---- */

static uint64_t bytes_of(const struct holders *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++)
        if (strcmp(holder_name(h, i), name) == 0)
            return h->at[i].bytes;
    return 0;
}

static enum err join(const struct holders held[2], struct grown_rows *out, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < held[0].n && e == ERR_OK; i++)
        e = add(out, holder_name(&held[0], i), held[0].at[i].bytes, bytes_of(&held[1], holder_name(&held[0], i)), err);
    for (size_t i = 0; i < held[1].n && e == ERR_OK; i++)
        if (bytes_of(&held[0], holder_name(&held[1], i)) == 0)
            e = add(out, holder_name(&held[1], i), 0, held[1].at[i].bytes, err);
    return e;
}

static enum err find_held(struct trace_reader *const traces[2], enum holder_key key, struct grown_rows *out,
                          struct err_detail *err)
{
    struct holders held[2] = { { .n = 0 }, { .n = 0 } };
    enum err e = ERR_OK;
    for (int i = 0; i < 2 && e == ERR_OK; i++) {
        struct holdings h = { .n = 0 };
        struct category_facts facts = { .named_bytes = 0 };
        e = holdings_read(traces[i], MOMENT_PEAK, 0, &h, err);
        if (e != ERR_OK)
            break;
        if (key == HOLDER_CATEGORY)
            e = categories_find(traces[i], &h, &facts, err);
        if (e == ERR_OK)
            e = holders_group(traces[i], &h, key, &held[i], err);
        holdings_close(&h);
    }
    if (e == ERR_OK)
        e = join(held, out, err);
    holders_close(&held[0]);
    holders_close(&held[1]);
    return e;
}

static enum err find_all(struct trace_reader *const traces[2], const char *folder, struct what_grew *out,
                         struct err_detail *err)
{
    enum err e = find_lines(traces, folder, out, err);
    if (e == ERR_OK)
        e = find_held(traces, HOLDER_CATEGORY, &out->categories, err);
    if (e == ERR_OK && holders_are_labelled(traces[0]) && holders_are_labelled(traces[1]))
        e = find_held(traces, HOLDER_MODULE, &out->modules, err);
    keep_different(&out->lines);
    keep_different(&out->categories);
    keep_different(&out->modules);
    return e;
}

enum err what_grew_find(const char *before, const char *after, const char *folder, struct what_grew *out,
                        struct err_detail *err)
{
    struct trace_reader *traces[2] = { NULL, NULL };
    *out = (struct what_grew){ .is_known = false };
    enum err e = trace_open(before, &traces[0], err);
    if (e == ERR_OK)
        e = trace_open(after, &traces[1], err);
    if (e == ERR_OK)
        e = find_all(traces, folder, out, err);
    out->is_known = e == ERR_OK;
    trace_close(traces[0]);
    trace_close(traces[1]);
    return e;
}

void what_grew_close(struct what_grew *g)
{
    free(g->lines.at);
    free(g->categories.at);
    free(g->modules.at);
    *g = (struct what_grew){ .is_known = false };
}
