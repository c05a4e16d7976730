/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Makes traces of journals while they are written: one for each process and device, in the journals' folder.
 *
 * A look finds new journals and takes the records that came. Memory is small: the records of one stretch, and what is
 * live.
 */
#include "dryrun/run/journal_follow.h"

#include "base/array.h"
#include "import/import_calls.h"
#include "dryrun/run/run_child.h"

#include <assert.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STRETCHES_PER_LOOK = 16, NAME_BYTES = 40 };       /* so that one process does not keep the others waiting */

struct followed {
    char name[NAME_BYTES];            /* "PID.N" */
    const char *folder;
    struct calls_follow *follow;      /* NULL: its traces are ended */
    bool has_ended;                   /* the process had ended at the last look */
    bool has_device[CALL_DEVICES_MAX];           /* its trace was made */
    uint64_t first, last;             /* looks at which its process was running */
};

struct following {
    const char *folder, *command;
    struct followed **at;             /* ascending by name */
    size_t n, room, n_open;
    uint64_t n_looks;
};

enum err following_start(const char *folder, const char *command, struct following **out, struct err_detail *err)
{
    struct following *f = calloc(1, sizeof *f);
    if (f == NULL)
        return err_no_memory(err);
    f->folder = folder;
    f->command = command;
    *out = f;
    return ERR_OK;
}

/* ---- one journal ---- */

static void trace_path(const struct followed *j, unsigned device, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s.gpu%u.zst", j->folder, j->name, device);
}

static enum err create_trace(void *arg, unsigned device, struct trace_writer **out, struct err_detail *err)
{
    struct followed *j = arg;
    char path[PATH_MAX];
    trace_path(j, device, path);
    const enum err e = trace_create_growing(path, out, err);
    j->has_device[device] = e == ERR_OK;
    return e;
}

static void followed_drop(struct following *f, struct followed *j, const struct err_detail *err)
{
    fprintf(stderr, "replay %s: %s: no trace grows with it: %s\n", f->command, j->name, err->text);
    calls_follow_close(j->follow);
    j->follow = NULL;
    assert(f->n_open > 0);
    f->n_open--;
}

static void followed_finish(struct following *f, struct followed *j)
{
    struct err_detail err = { .text = "" };
    struct calls_follow *follow = j->follow;
    j->follow = NULL;
    f->n_open--;
    if (calls_follow_finish(follow, &err) != ERR_OK)
        fprintf(stderr, "replay %s: %s\n", f->command, err.text);
}

/* After its process has ended, a journal gets two more looks: the first may wait for a record that nobody will
 * finish. */
static void followed_look(struct following *f, struct followed *j)
{
    struct err_detail err = { .text = "" };
    const bool has_ended = !process_is_running((unsigned)strtoul(j->name, NULL, 10));
    bool has_more = true;
    if (!has_ended)
        j->last = f->n_looks;
    for (int i = 0; has_more && i < STRETCHES_PER_LOOK; i++)
        if (calls_follow_look(j->follow, &has_more, &err) != ERR_OK) {
            followed_drop(f, j, &err);
            return;
        }
    if (has_ended && j->has_ended && !has_more)
        followed_finish(f, j);
    j->has_ended = has_ended;
}

/* ---- all of them ---- */

/* The index of a name, or the index at which it would be inserted. */
static size_t name_place(const struct following *f, const char *name, bool *is_there)
{
    size_t low = 0, high = f->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(f->at[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *is_there = low < f->n && strcmp(f->at[low]->name, name) == 0;
    return low;
}

/* Starts to follow a journal that was not there before. If it has no head yet, the next look tries again. */
static void follow_new(struct following *f, const char *name)
{
    struct err_detail err = { .text = "" };
    char path[PATH_MAX];
    bool is_there;
    const size_t place = name_place(f, name, &is_there);
    if (is_there || f->n_open == FOLLOWING_MAX)
        return;
    struct followed **at = array_grow(f->at, f->n, &f->room, sizeof *at), *j = calloc(1, sizeof *j);
    if (at != NULL)
        f->at = at;
    if (at == NULL || j == NULL) {
        free(j);
        return;
    }
    strcpy(j->name, name);
    j->folder = f->folder;
    j->first = j->last = f->n_looks;
    snprintf(path, sizeof path, "%s/%s.calls", f->folder, name);
    const struct calls_traces traces = { .create = create_trace, .arg = j };
    if (calls_follow_open(path, &traces, &j->follow, &err) != ERR_OK) {
        free(j);
        return;
    }
    assert(place <= f->n && f->n < f->room);
    memmove(f->at + place + 1, f->at + place, (f->n - place) * sizeof *f->at);
    f->at[place] = j;
    f->n++;
    f->n_open++;
}

static void find_new(struct following *f)
{
    DIR *folder = opendir(f->folder);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const char *end = strstr(entry->d_name, ".calls");
        const size_t n = end == NULL ? 0 : (size_t)(end - entry->d_name);
        char name[NAME_BYTES];
        if (n == 0 || n >= sizeof name || strcmp(end, ".calls") != 0)
            continue;
        memcpy(name, entry->d_name, n);
        name[n] = '\0';
        follow_new(f, name);
    }
    if (folder != NULL)
        closedir(folder);
}

void following_look(struct following *f)
{
    f->n_looks++;
    find_new(f);
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i]->follow != NULL)
            followed_look(f, f->at[i]);
}

enum err following_spans_read(const struct following *f, struct following_spans *out, struct err_detail *err)
{
    *out = (struct following_spans){ .at = calloc(f->n + 1, sizeof *out->at) };
    if (out->at == NULL)
        return err_no_memory(err);
    for (; out->n < f->n; out->n++) {
        const struct followed *j = f->at[out->n];
        out->at[out->n] = (struct following_span){ .pid = (uint32_t)strtoul(j->name, NULL, 10), .first = j->first,
                                                   .last = j->last };
    }
    return ERR_OK;
}

static void remove_traces(const struct followed *j)
{
    char path[PATH_MAX];
    for (unsigned d = 0; d < CALL_DEVICES_MAX; d++)
        if (j->has_device[d]) {
            trace_path(j, d, path);
            unlink(path);
        }
}

void following_end(struct following *f, bool is_removed)
{
    for (size_t i = 0; f != NULL && i < f->n; i++) {
        struct followed *j = f->at[i];
        if (j->follow != NULL && !is_removed)
            followed_finish(f, j);
        calls_follow_close(j->follow);
        if (is_removed)
            remove_traces(j);
        free(j);
    }
    if (f != NULL)
        free(f->at);
    free(f);
}
