/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "base/sorted_runs.h"

#include "base/array.h"
#include "base/temporary_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN_BUFFER_MIN = 4096 };

/* One run while it is merged: records [next, n) of the file, of which buffer[begin, end) are in memory. */
struct run {
    uint64_t first, n, next;
    unsigned char *buffer;
    size_t   begin, end;
};

struct sorted_runs {
    size_t   size;
    int    (*compare)(const void *a, const void *b);
    size_t   fit;                            /* records that memory holds */
    unsigned char *records;
    size_t   n, room;                        /* of the records in memory */
    uint64_t n_written;                      /* records in the file */
    int      fd;                             /* -1: all records are in memory */
    bool     is_sorted;
    size_t   at;                             /* of the records in memory, the next to lend */
    struct run *runs;
    size_t   n_runs, runs_room;
    size_t   per_buffer;                     /* records */
    struct run **heap;                       /* of the runs that have records left; the least is on top */
    size_t   n_heap;
    bool     is_lent;                        /* the top's first record was lent and is taken at the next call */
};

enum err sorted_runs_create(size_t size, int (*compare)(const void *a, const void *b), size_t memory_bytes,
                            struct sorted_runs **out, struct err_detail *err)
{
    struct sorted_runs *s = calloc(1, sizeof *s);
    if (s == NULL)
        return err_no_memory(err);
    *s = (struct sorted_runs){ .size = size, .compare = compare, .fit = memory_bytes / size + 1, .fd = -1 };
    *out = s;
    return ERR_OK;
}

static void drop_buffers(struct sorted_runs *s)
{
    for (size_t i = 0; i < s->n_runs; i++) {
        free(s->runs[i].buffer);
        s->runs[i].buffer = NULL;
    }
    free(s->heap);
    s->heap = NULL;
}

void sorted_runs_destroy(struct sorted_runs *s)
{
    if (s == NULL)
        return;
    drop_buffers(s);
    if (s->fd >= 0)
        close(s->fd);
    free(s->runs);
    free(s->records);
    free(s);
}

/* ---- runs into the file ---- */

/* Sorts what is in memory and makes it a run of the file. */
static enum err write_run(struct sorted_runs *s, struct err_detail *err)
{
    enum err e = s->fd < 0 ? temporary_file_open(&s->fd, err) : ERR_OK;
    if (e != ERR_OK)
        return e;
    struct run *runs = array_grow(s->runs, s->n_runs, &s->runs_room, sizeof *runs);
    if (runs == NULL)
        return err_no_memory(err);
    s->runs = runs;
    qsort(s->records, s->n, s->size, s->compare);
    if ((e = temporary_file_append(s->fd, s->records, s->n * s->size, err)) != ERR_OK)
        return e;
    s->runs[s->n_runs++] = (struct run){ .first = s->n_written, .n = s->n };
    s->n_written += s->n;
    s->n = 0;
    return ERR_OK;
}

enum err sorted_runs_put(struct sorted_runs *s, const void *record, struct err_detail *err)
{
    if (s->n == s->fit) {
        const enum err e = write_run(s, err);
        if (e != ERR_OK)
            return e;
    }
    unsigned char *records = array_grow(s->records, s->n, &s->room, s->size);
    if (records == NULL)
        return err_no_memory(err);
    s->records = records;
    memcpy(records + s->n++ * s->size, record, s->size);
    return ERR_OK;
}

/* ---- runs out of the file ---- */

static const unsigned char *run_record(const struct sorted_runs *s, const struct run *r)
{
    return r->buffer + r->begin * s->size;
}

/* Reads the next records of a run into its empty buffer. */
static enum err fill(const struct sorted_runs *s, struct run *r, struct err_detail *err)
{
    const uint64_t left = r->n - r->next;
    const size_t want = left < s->per_buffer ? (size_t)left : s->per_buffer;
    for (size_t done = 0; done < want * s->size;) {
        const ssize_t n = pread(s->fd, r->buffer + done, want * s->size - done,
                                (off_t)((r->first + r->next) * s->size + done));
        if (n == 0 || (n < 0 && errno != EINTR))
            return err_set(err, ERR_IO, 0, "temporary file: %s", n == 0 ? "is cut off" : strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    r->begin = 0;
    r->end = want;
    r->next += want;
    return ERR_OK;
}

static void sift_down(struct sorted_runs *s, size_t i)
{
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < s->n_heap; child++)
            if (s->compare(run_record(s, s->heap[child]), run_record(s, s->heap[least])) < 0)
                least = child;
        if (least == i)
            return;
        struct run *moved = s->heap[i];
        s->heap[i] = s->heap[least];
        s->heap[least] = moved;
        i = least;
    }
}

/* Takes the record that was lent, which is the top's first. */
static enum err take_lent(struct sorted_runs *s, struct err_detail *err)
{
    struct run *top = s->heap[0];
    s->is_lent = false;
    if (++top->begin == top->end && top->next == top->n)
        s->heap[0] = s->heap[--s->n_heap];
    else if (top->begin == top->end) {
        const enum err e = fill(s, top, err);
        if (e != ERR_OK)
            return e;
    }
    if (s->n_heap > 0)
        sift_down(s, 0);
    return ERR_OK;
}

static enum err start_merging(struct sorted_runs *s, struct err_detail *err)
{
    drop_buffers(s);
    const size_t bytes = s->fit * s->size / s->n_runs;
    s->per_buffer = (bytes < RUN_BUFFER_MIN ? RUN_BUFFER_MIN : bytes) / s->size + 1;
    s->n_heap = 0;
    s->is_lent = false;
    s->heap = calloc(s->n_runs, sizeof *s->heap);
    if (s->heap == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < s->n_runs; i++) {
        struct run *r = &s->runs[i];
        r->next = 0;
        r->buffer = malloc(s->per_buffer * s->size);
        if (r->buffer == NULL)
            return err_no_memory(err);
        const enum err e = fill(s, r, err);
        if (e != ERR_OK)
            return e;
        s->heap[s->n_heap++] = r;
    }
    for (size_t i = s->n_heap; i-- > 0;)
        sift_down(s, i);
    return ERR_OK;
}

enum err sorted_runs_rewind(struct sorted_runs *s, struct err_detail *err)
{
    s->at = 0;
    if (!s->is_sorted && s->fd >= 0 && s->n > 0) {
        const enum err e = write_run(s, err);
        if (e != ERR_OK)
            return e;
    }
    if (!s->is_sorted && s->fd >= 0) {
        free(s->records);
        s->records = NULL;
        s->room = 0;
    } else if (!s->is_sorted && s->n > 0) {
        qsort(s->records, s->n, s->size, s->compare);
    }
    s->is_sorted = true;
    return s->fd >= 0 ? start_merging(s, err) : ERR_OK;
}

enum err sorted_runs_next(struct sorted_runs *s, const void **record, struct err_detail *err)
{
    *record = NULL;
    if (s->fd < 0) {
        *record = s->at < s->n ? s->records + s->at++ * s->size : NULL;
        return ERR_OK;
    }
    if (s->is_lent) {
        const enum err e = take_lent(s, err);
        if (e != ERR_OK)
            return e;
    }
    s->is_lent = s->n_heap > 0;
    *record = s->is_lent ? run_record(s, s->heap[0]) : NULL;
    return ERR_OK;
}
