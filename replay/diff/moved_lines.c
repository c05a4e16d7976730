/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Files first, then functions, then the lines of each function. */
#define _GNU_SOURCE                          /* memrchr */
#include "replay/diff/moved_lines.h"

#include "traces/stack_frame.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two functions with more pairs of lines than this are joined by their numbers alone. */
enum { PAIRS_MAX = 1 << 14 };

/* One line of one recording. */
struct line {
    struct stack_frame f;
    const struct profile_share *share;
    uint32_t name, file;             /* file: as B knows it */
};

struct lines {
    struct line *at;
    size_t n;
};

/* The files of both recordings. */
struct files {
    struct text_table paths, base_names;
    uint32_t *base;                  /* of a path: its base name */
    bool     *is_of[PROFILE_SIDES];  /* by path */
    uint32_t *in_b;                  /* of a path of A: the path in B */
};

static bool has_share(const struct profile_share *s)
{
    return s->peak_requests > 0 || s->step_requests > 0;
}

/* ---- files ---- */

static bool files_open(struct files *f, size_t n)
{
    *f = (struct files){ .base = calloc(n + 1, sizeof *f->base), .in_b = calloc(n + 1, sizeof *f->in_b) };
    for (int i = 0; i < PROFILE_SIDES; i++)
        f->is_of[i] = calloc(n + 1, sizeof *f->is_of[i]);
    return f->base != NULL && f->in_b != NULL && f->is_of[0] != NULL && f->is_of[1] != NULL;
}

static void files_close(struct files *f)
{
    text_table_free(&f->paths);
    text_table_free(&f->base_names);
    free(f->base);
    free(f->in_b);
    for (int i = 0; i < PROFILE_SIDES; i++)
        free(f->is_of[i]);
}

/* Where a frame's path has its last part. */
static const char *base_name(const struct stack_frame *f)
{
    const char *slash = memrchr(f->file, '/', f->n_file);
    return slash == NULL ? f->file : slash + 1;
}

/* The number of a frame's file; UINT32_MAX without memory. */
static uint32_t files_put(struct files *f, const struct stack_frame *frame, enum profile_side side)
{
    const char *base = base_name(frame);
    const uint32_t path = text_table_put(&f->paths, frame->file, frame->n_file);
    const uint32_t name = text_table_put(&f->base_names, base, frame->n_file - (size_t)(base - frame->file));
    if (path == UINT32_MAX || name == UINT32_MAX)
        return UINT32_MAX;
    f->base[path] = name;
    f->is_of[side][path] = true;
    f->in_b[path] = path;
    return path;
}

/* Pairs the files that only A has with those that only B has: `group` gives the number of the group of a path, and a
 * group pairs if it has one file of each. A group has to have room for n_groups. */
static bool pair_files(struct files *f, uint32_t n_groups, const uint32_t *group, bool *is_paired)
{
    uint32_t *only[PROFILE_SIDES];           /* by group: the file + 1; UINT32_MAX: several */
    for (int i = 0; i < PROFILE_SIDES; i++)
        only[i] = calloc(n_groups + (size_t)1, sizeof *only[i]);
    const bool has_room = only[0] != NULL && only[1] != NULL;
    for (uint32_t path = 0; has_room && path < f->paths.n; path++)
        for (int i = 0; i < PROFILE_SIDES; i++) {
            uint32_t *one = &only[i][group == NULL ? 0 : group[path]];
            if (f->is_of[i][path] && !is_paired[path])
                *one = *one == 0 ? path + 1 : UINT32_MAX;
        }
    for (uint32_t g = 0; has_room && g < n_groups; g++) {
        const uint32_t a = only[PROFILE_A][g], b = only[PROFILE_B][g];
        if (a == 0 || b == 0 || a == UINT32_MAX || b == UINT32_MAX)
            continue;
        f->in_b[a - 1] = b - 1;
        is_paired[a - 1] = is_paired[b - 1] = true;
    }
    free(only[0]);
    free(only[1]);
    return has_room;
}

static bool match_files(struct files *f)
{
    bool *is_paired = calloc(f->paths.n + (size_t)1, sizeof *is_paired);
    for (uint32_t path = 0; is_paired != NULL && path < f->paths.n; path++)
        is_paired[path] = f->is_of[PROFILE_A][path] && f->is_of[PROFILE_B][path];
    const bool is_done = is_paired != NULL && pair_files(f, f->base_names.n, f->base, is_paired) &&
                         pair_files(f, 1, NULL, is_paired);
    free(is_paired);
    return is_done;
}

/* ---- lines ---- */

/* By file, function and number. */
static int line_order(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    const size_t n = x->f.n_name < y->f.n_name ? x->f.n_name : y->f.n_name;
    const int order = memcmp(x->f.name, y->f.name, n);
    if (order != 0 || x->f.n_name != y->f.n_name)
        return order != 0 ? order : x->f.n_name < y->f.n_name ? -1 : 1;
    if (x->f.line != y->f.line)
        return x->f.line < y->f.line ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static bool is_one_function(const struct line *a, const struct line *b)
{
    return a->file == b->file && a->f.n_name == b->f.n_name && memcmp(a->f.name, b->f.name, a->f.n_name) == 0;
}

/* Collects the lines of both sides. What is no line of a file, as "(no stack recorded)", has the same name in both. */
static bool collect(const struct profile_table *t, struct files *f, struct lines sides[PROFILE_SIDES])
{
    for (uint32_t i = 0; i < t->names.n; i++)
        for (int k = 0; k < PROFILE_SIDES; k++) {
            const struct stack_frame frame = stack_frame_parse(text_table_at(&t->names, i));
            if (!has_share(&t->rows[i].side[k]))
                continue;
            const uint32_t file = files_put(f, &frame, (enum profile_side)k);
            if (file == UINT32_MAX)
                return false;
            sides[k].at[sides[k].n++] =
                (struct line){ .f = frame, .share = &t->rows[i].side[k], .name = i, .file = file };
        }
    if (!match_files(f))
        return false;
    for (size_t i = 0; i < sides[PROFILE_A].n; i++)
        sides[PROFILE_A].at[i].file = f->in_b[sides[PROFILE_A].at[i].file];
    for (int k = 0; k < PROFILE_SIDES; k++)
        if (sides[k].n > 0)
            qsort(sides[k].at, sides[k].n, sizeof *sides[k].at, line_order);
    return true;
}

/* ---- joining ---- */

/* One row of a line of A, of B, or of both. */
static void join(struct joined_lines *out, const struct line *a, const struct line *b)
{
    struct profile_row *row = &out->rows[out->n];
    *row = (struct profile_row){ .side = { { 0 } } };
    if (a != NULL)
        row->side[PROFILE_A] = *a->share;
    if (b != NULL)
        row->side[PROFILE_B] = *b->share;
    out->names[out->n++] = (struct joined_name){ .side = { a != NULL ? a->name : b->name,
                                                           b != NULL ? b->name : a->name } };
}

/* Lines between two that were joined: in order if there are as many of both, else each by itself. */
static void join_gap(struct joined_lines *out, const struct lines *a, const struct lines *b)
{
    for (size_t i = 0; i < a->n; i++)
        join(out, &a->at[i], a->n == b->n ? &b->at[i] : NULL);
    for (size_t i = 0; i < b->n && a->n != b->n; i++)
        join(out, NULL, &b->at[i]);
}

static void join_by_number(struct joined_lines *out, const struct lines *a, const struct lines *b)
{
    size_t k = 0;
    for (size_t i = 0; i < a->n; i++) {
        for (; k < b->n && b->at[k].f.line < a->at[i].f.line; k++)
            join(out, NULL, &b->at[k]);
        const bool is_there = k < b->n && b->at[k].f.line == a->at[i].f.line;
        join(out, &a->at[i], is_there ? &b->at[k++] : NULL);
    }
    for (; k < b->n; k++)
        join(out, NULL, &b->at[k]);
}

/* How much speaks for it that two lines of a function are the same; 0: nothing. */
static uint32_t likeness(const struct line *a, const struct line *b)
{
    const struct profile_share *x = a->share, *y = b->share;
    const uint32_t has_number = a->f.line == b->f.line;
    if (x->peak_requests != y->peak_requests || x->step_requests != y->step_requests)
        return 3 * has_number;
    return (x->peak_bytes == y->peak_bytes && x->step_bytes == y->step_bytes ? 6u : 4u) + has_number;
}

/* Aligns the lines of a function; likest[i][k] is the most likeness that A's lines from i on and B's from k on have.
 * Source: Needleman and Wunsch, J. Mol. Biol. 48, 1970; a gap costs nothing. */
static void align(struct joined_lines *out, const struct lines *a, const struct lines *b, uint32_t *likest)
{
    const size_t width = b->n + 1;
    size_t i = 0, k = 0, first_i = 0, first_k = 0;
    for (size_t at = (a->n + 1) * width; at-- > 0;) {
        const size_t x = at / width, y = at % width;
        if (x == a->n || y == b->n) {
            likest[at] = 0;
            continue;
        }
        const uint32_t joined = likest[at + width + 1] + likeness(&a->at[x], &b->at[y]);
        const uint32_t apart = likest[at + width] > likest[at + 1] ? likest[at + width] : likest[at + 1];
        likest[at] = joined > apart ? joined : apart;
    }
    while (i < a->n && k < b->n) {
        const uint32_t like = likeness(&a->at[i], &b->at[k]), *here = &likest[i * width + k];
        if (like == 0 || *here != here[width + 1] + like) {
            *here == here[width] ? i++ : k++;
            continue;
        }
        join_gap(out, &(struct lines){ &a->at[first_i], i - first_i }, &(struct lines){ &b->at[first_k], k - first_k });
        join(out, &a->at[i++], &b->at[k++]);
        first_i = i;
        first_k = k;
    }
    join_gap(out, &(struct lines){ &a->at[first_i], a->n - first_i },
             &(struct lines){ &b->at[first_k], b->n - first_k });
}

static bool join_function(struct joined_lines *out, const struct lines *a, const struct lines *b)
{
    if (a->n > PAIRS_MAX / (b->n + 1)) {
        join_by_number(out, a, b);
        return true;
    }
    uint32_t *likest = malloc((a->n + 1) * (b->n + 1) * sizeof *likest);
    if (likest != NULL)
        align(out, a, b, likest);
    free(likest);
    return likest != NULL;
}

/* Takes the lines of one function from the front. */
static struct lines take_function(struct lines *from, const struct line *function)
{
    struct lines taken = { .at = from->at };
    while (taken.n < from->n && is_one_function(&from->at[taken.n], function))
        taken.n++;
    from->at += taken.n;
    from->n -= taken.n;
    return taken;
}

/* Whether the first line of A belongs to an earlier function than B's. */
static bool is_earlier(const struct line *a, const struct line *b)
{
    return !is_one_function(a, b) && line_order(a, b) < 0;
}

static bool join_all(struct joined_lines *out, struct lines a, struct lines b)
{
    bool is_done = true;
    while (is_done && (a.n > 0 || b.n > 0)) {
        const struct line *function = b.n == 0 || (a.n > 0 && is_earlier(a.at, b.at)) ? a.at : b.at;
        const struct lines of_a = take_function(&a, function), of_b = take_function(&b, function);
        is_done = join_function(out, &of_a, &of_b);
    }
    return is_done;
}

enum err joined_lines_open(const struct profile_table *t, struct joined_lines *out, struct err_detail *err)
{
    struct files files;
    struct lines sides[PROFILE_SIDES];
    const size_t most = PROFILE_SIDES * (size_t)t->names.n + 1;
    *out = (struct joined_lines){ .rows = calloc(most, sizeof *out->rows), .names = calloc(most, sizeof *out->names) };
    for (int k = 0; k < PROFILE_SIDES; k++)
        sides[k] = (struct lines){ .at = calloc(t->names.n + (size_t)1, sizeof *sides[k].at) };
    const bool is_done = files_open(&files, most) && out->rows != NULL && out->names != NULL && sides[0].at != NULL &&
                         sides[1].at != NULL && collect(t, &files, sides) &&
                         join_all(out, sides[PROFILE_A], sides[PROFILE_B]);
    files_close(&files);
    free(sides[PROFILE_A].at);
    free(sides[PROFILE_B].at);
    assert(out->n < most);
    if (is_done)
        return ERR_OK;
    joined_lines_close(out);
    return err_no_memory(err);
}

void joined_lines_close(struct joined_lines *j)
{
    free(j->rows);
    free(j->names);
    *j = (struct joined_lines){ .n = 0 };
}

void joined_line_show(const struct profile_table *t, const struct joined_name *name, char *out, size_t size)
{
    const char *a = text_table_at(&t->names, name->side[PROFILE_A]);
    const char *b = text_table_at(&t->names, name->side[PROFILE_B]);
    const struct stack_frame x = stack_frame_parse(a), y = stack_frame_parse(b);
    const char *file = base_name(&x), *file_in_b = base_name(&y);
    const int n_file = (int)(x.file + x.n_file - file);
    const bool is_same_file = y.file + y.n_file - file_in_b == n_file && memcmp(file, file_in_b, (size_t)n_file) == 0;
    stack_frame_show_line(b, out, size);
    const size_t n = strlen(out);
    if (!is_same_file)
        snprintf(out + n, size - n, " (A: %.*s:%" PRIu32 ")", n_file, file, x.line);
    else if (x.line != y.line)
        snprintf(out + n, size - n, " (A: %" PRIu32 ")", x.line);
}
