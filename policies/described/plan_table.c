/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "policies/described/plan_table.h"

#include "base/array.h"
#include "base/read_files.h"
#include "base/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char plan_heading[] = "id,lower,upper,size,offset", loop_heading[] = "id,lower,upper,size,offset,loop";

enum { PLAN_FILE_MAX = 128 << 20, PLAN_READ_STEP = 1 << 16 };

/* ---- one row ---- */

/* A number, and the byte after it, which is `after`. */
static bool read_number(const char **at, const char *end, char after, uint64_t *out)
{
    uint64_t value = 0;
    const char *c = *at;
    for (; c < end && *c >= '0' && *c <= '9'; c++) {
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = 10 * value + (uint64_t)(*c - '0');
    }
    const bool is_number = c > *at && (c == end ? after == '\n' : *c == after);
    *at = c + (c < end);
    *out = value;
    return is_number;
}

/* A line without its end. The id may be any text. *loop is read if the file has that column. */
static bool read_row(const char *line, const char *end, bool has_loop, struct plan_place *out, uint64_t *loop)
{
    const char *at = memchr(line, ',', (size_t)(end - line));
    if (at == NULL)
        return false;
    at++;
    return read_number(&at, end, ',', &out->lower) && read_number(&at, end, ',', &out->upper) &&
           read_number(&at, end, ',', &out->bytes) && read_number(&at, end, has_loop ? ',' : '\n', &out->offset) &&
           (!has_loop || (read_number(&at, end, '\n', loop) && *loop <= 1)) && at == end;
}

/* What is wrong with a row; NULL: nothing. */
static const char *row_fault(const struct plan_place *row)
{
    if (row->bytes == 0)
        return "asks for 0 bytes";
    if (row->upper <= row->lower)
        return "ends before it begins";
    if (add_capped(row->offset, row->bytes) > UINT64_MAX - PLAN_PLACE_UNIT)
        return "ends after the last address";
    return NULL;
}

static enum err rows_add(struct plan_table *rows, const struct plan_place *row, bool is_loop, struct err_detail *err)
{
    struct plan_place *grown = array_grow(rows->at, rows->n, &rows->cap, sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    rows->at = grown;
    rows->loop = is_loop ? rows->loop : rows->n + 1;
    rows->at[rows->n++] = *row;
    const uint64_t end = align_up(row->offset + row->bytes, PLAN_PLACE_UNIT);
    rows->arena_bytes = end > rows->arena_bytes ? end : rows->arena_bytes;
    return ERR_OK;
}

/* ---- what is live at once ---- */

/* A request begins or ends. */
struct plan_edge {
    uint64_t time, bytes;
    bool     begins;
};

/* By time; what ends does so before what begins. */
static int edge_compare(const void *a, const void *b)
{
    const struct plan_edge *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time) : (int)x->begins - (int)y->begins;
}

static enum err find_live(struct plan_table *rows, struct err_detail *err)
{
    uint64_t live = 0;
    struct plan_edge *edges = malloc(array_bytes(2 * rows->n + 1, sizeof *edges));
    if (edges == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < rows->n; i++) {
        const struct plan_place *row = &rows->at[i];
        edges[2 * i] = (struct plan_edge){.time = row->lower, .bytes = row->bytes, .begins = true};
        edges[2 * i + 1] = (struct plan_edge){.time = row->upper, .bytes = row->bytes, .begins = false};
    }
    qsort(edges, 2 * rows->n, sizeof *edges, edge_compare);
    for (size_t i = 0; i < 2 * rows->n; i++) {
        live = edges[i].begins ? add_capped(live, edges[i].bytes) : live - edges[i].bytes;
        rows->live_bytes = live > rows->live_bytes ? live : rows->live_bytes;
    }
    free(edges);
    return ERR_OK;
}

/* ---- the file ---- */

/* The end of the line that begins at `at`, without its "\r". */
static const char *line_end(const char *at, const char *end, const char **next)
{
    const char *newline = at == end ? NULL : memchr(at, '\n', (size_t)(end - at));
    const char *stop = newline == NULL ? end : newline;
    *next = newline == NULL ? end : newline + 1;
    return stop > at && stop[-1] == '\r' ? stop - 1 : stop;
}

static bool line_is(const char *line, const char *end, const char *words)
{
    return (size_t)(end - line) == strlen(words) && memcmp(line, words, strlen(words)) == 0;
}

static enum err read_rows(const char *at, const char *end, bool has_loop, const char *path, uint64_t place,
                          struct plan_table *rows, struct err_detail *err)
{
    for (size_t line = 2; at < end; line++) {
        struct plan_place row;
        uint64_t loop = 0;
        const char *next, *stop = line_end(at, end, &next);
        if (rows->n == PLAN_ROWS_MAX)
            return err_at(err, ERR_USAGE, place, path, "has more than %d requests, the most that are planned",
                          PLAN_ROWS_MAX);
        if (!read_row(at, stop, has_loop, &row, &loop))
            return err_at(err, ERR_USAGE, place, path, "line %zu is not %s, or it is cut", line,
                          has_loop ? loop_heading : plan_heading);
        const char *fault = row_fault(&row);
        if (fault != NULL)
            return err_at(err, ERR_USAGE, place, path, "line %zu: the request %s", line, fault);
        const enum err e = rows_add(rows, &row, loop == 1, err);
        if (e != ERR_OK)
            return e;
        at = next;
    }
    return find_live(rows, err);
}

enum err plan_table_read(const char *text, size_t n, const char *path, uint64_t place, struct plan_table *out,
                        struct err_detail *err)
{
    struct plan_table rows = {.n = 0};
    const char *end = text + n, *next, *stop = line_end(text, end, &next);
    const bool has_loop = line_is(text, stop, loop_heading);
    if (!has_loop && !line_is(text, stop, plan_heading))
        return err_at(err, ERR_USAGE, place, path, "is not a plan: its first line is not %s", plan_heading);
    const enum err e = read_rows(next, end, has_loop, path, place, &rows, err);
    if (e == ERR_OK)
        *out = rows;
    else
        plan_table_close(&rows);
    return e;
}

void plan_table_close(struct plan_table *rows)
{
    free(rows->at);
    *rows = (struct plan_table){.n = 0};
}

/* All of a file, up to PLAN_FILE_MAX bytes; free() the text. */
static enum err read_text(FILE *file, const char *path, uint64_t place, char **text, size_t *n, struct err_detail *err)
{
    size_t cap = 0, got = 1;
    while (got > 0 && *n <= PLAN_FILE_MAX) {
        char *grown = array_reserve(*text, *n, PLAN_READ_STEP, &cap, 1);
        if (grown == NULL)
            return err_no_memory(err);
        *text = grown;
        got = fread(*text + *n, 1, PLAN_READ_STEP, file);
        *n += got;
    }
    if (ferror(file))
        return err_at(err, ERR_IO, 0, path, "cannot be read: %s", strerror(errno));
    if (*n > PLAN_FILE_MAX)
        return err_at(err, ERR_USAGE, place, path, "is larger than %d MiB, which no plan is", PLAN_FILE_MAX >> 20);
    return ERR_OK;
}

enum err plan_table_load(const char *path, uint64_t place, struct plan_table *out, struct err_detail *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return err_at(err, errno == ENOMEM ? ERR_HOST_NOMEM : ERR_USAGE, place, path, "%s", strerror(errno));
    read_files_note(fileno(file));
    enum err e = read_text(file, path, place, &text, &n, err);
    fclose(file);
    if (e == ERR_OK)
        e = plan_table_read(text, n, path, place, out, err);
    free(text);
    return e;
}
