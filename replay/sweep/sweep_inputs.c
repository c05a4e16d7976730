/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Walks folders, and reads ranks from names. */
#include "replay/sweep/sweep_inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { FOLDER_DEPTH_MAX = 8, RANK_DIGITS = 9 };

/* The number in a name such as "rank3", "rank_03" or "snapshot-rank-3.pickle"; -1 if there is none. */
static int64_t rank_of_name(const char *name, size_t n)
{
    for (size_t i = 0; i + 4 < n; i++) {
        if (strncasecmp(name + i, "rank", 4) != 0)
            continue;
        size_t at = i + 4 + (strchr("_-.", name[i + 4]) != NULL);
        const size_t first = at;
        int64_t rank = 0;
        for (; at < n && at - first < RANK_DIGITS && name[at] >= '0' && name[at] <= '9'; at++)
            rank = rank * 10 + (name[at] - '0');
        if (at > first)
            return rank;
    }
    return -1;
}

/* Finds the last part of the path that names a rank; the path before it is the job. */
static enum err find_rank(struct sweep_input *in, struct err_detail *err)
{
    in->rank = -1;
    for (size_t end = strlen(in->path); end > 0;) {
        size_t begin = end;
        while (begin > 0 && in->path[begin - 1] != '/')
            begin--;
        if ((in->rank = rank_of_name(in->path + begin, end - begin)) >= 0) {
            in->job = begin > 1 ? strndup(in->path, begin - 1) : strdup(begin == 1 ? "/" : ".");
            return in->job != NULL ? ERR_OK : err_no_memory(err);
        }
        end = begin > 0 ? begin - 1 : 0;
    }
    return ERR_OK;
}

static enum err add_file(struct sweep_inputs *in, const char *path, uint64_t bytes, bool is_found,
                         struct err_detail *err)
{
    struct sweep_input *grown = realloc(in->at, (in->n + 1) * sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    in->at = grown;
    struct sweep_input *one = &grown[in->n];
    *one = (struct sweep_input){ .path = strdup(path), .bytes = bytes, .is_found = is_found };
    if (one->path == NULL)
        return err_no_memory(err);
    in->n++;
    return find_rank(one, err);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static enum err add_path(struct sweep_inputs *in, const char *path, unsigned depth, struct err_detail *err);

static enum err add_folder(struct sweep_inputs *in, const char *path, unsigned depth, struct err_detail *err)
{
    struct dirent **names;
    enum err e = ERR_OK;
    const int n = scandir(path, &names, is_shown, alphasort);
    if (n < 0 && depth > 0)
        return add_file(in, path, 0, true, err);     /* the same of a folder that may not be read */
    if (n < 0)
        return err_at(err, err_of_open(errno), 0, path, "%s", strerror(errno));
    for (int i = 0; i < n; i++) {
        const size_t room = strlen(path) + strlen(names[i]->d_name) + 2;
        char *joined = e == ERR_OK ? malloc(room) : NULL;
        if (joined != NULL) {
            const bool has_slash = path[0] != '\0' && path[strlen(path) - 1] == '/';
            snprintf(joined, room, "%s%s%s", path, has_slash ? "" : "/", names[i]->d_name);
            e = add_path(in, joined, depth + 1, err);
        } else if (e == ERR_OK) {
            e = err_no_memory(err);
        }
        free(joined);
        free(names[i]);
    }
    free(names);
    return e;
}

static enum err add_path(struct sweep_inputs *in, const char *path, unsigned depth, struct err_detail *err)
{
    struct stat s;
    if (stat(path, &s) != 0 && depth > 0)
        return add_file(in, path, 0, true, err);     /* a dead link: whoever opens it says so, and goes on */
    if (stat(path, &s) != 0)
        return err_at(err, ERR_INPUT, 0, path, "%s", strerror(errno));
    if (S_ISDIR(s.st_mode))
        return depth < FOLDER_DEPTH_MAX ? add_folder(in, path, depth, err) : ERR_OK;
    if (!S_ISREG(s.st_mode) && depth == 0)
        return err_at(err, ERR_USAGE, 0, path, "is not a file; a sweep reads its traces more than once");
    return S_ISREG(s.st_mode) ? add_file(in, path, (uint64_t)s.st_size, depth > 0, err) : ERR_OK;
}

enum err sweep_inputs_add(struct sweep_inputs *in, const char *path, struct err_detail *err)
{
    return add_path(in, path, 0, err);
}

/* The copies name files and jobs by texts of their own, so that each input is closed alike. */
static bool copy_input(const struct sweep_input *from, uint64_t seed, struct sweep_input *out)
{
    *out = *from;
    out->is_copy = true;
    out->seed = seed;
    out->path = strdup(from->path);
    out->job = from->job != NULL ? strdup(from->job) : NULL;
    return out->path != NULL && (from->job == NULL || out->job != NULL);
}

enum err sweep_inputs_copy(struct sweep_inputs *in, uint64_t first_seed, uint64_t n, struct err_detail *err)
{
    struct sweep_inputs all = { .at = calloc(in->n * (n + 1) + 1, sizeof *all.at) };
    bool is_done = all.at != NULL;
    for (size_t i = 0; i < in->n && is_done; i++) {
        all.at[all.n] = in->at[i];
        in->at[i] = (struct sweep_input){ .path = NULL };
        const size_t original = all.n++;
        for (uint64_t k = 0; k < n && is_done; k++)
            is_done = copy_input(&all.at[original], first_seed + k, &all.at[all.n++]);
    }
    if (all.at == NULL)
        return err_no_memory(err);
    sweep_inputs_close(in);
    *in = all;
    return is_done ? ERR_OK : err_no_memory(err);
}

static int size_compare(const void *a, const void *b)
{
    const struct sweep_input *x = *(struct sweep_input *const *)a, *y = *(struct sweep_input *const *)b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : (x > y) - (x < y);
}

enum err sweep_inputs_deal(struct sweep_inputs *in, size_t n_each, struct err_detail *err)
{
    const size_t n = in->n / n_each;
    struct sweep_input **files = calloc(n + 1, sizeof *files);
    if (files == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++)
        files[i] = &in->at[i * n_each];
    qsort(files, n, sizeof *files, size_compare);
    for (size_t turn = 0; turn < n; turn++)
        for (size_t k = 0; k < n_each; k++)
            files[turn][k].turn = turn;
    free(files);
    return ERR_OK;
}

void sweep_inputs_close(struct sweep_inputs *in)
{
    for (size_t i = 0; i < in->n; i++) {
        free(in->at[i].path);
        free(in->at[i].job);
    }
    free(in->at);
    *in = (struct sweep_inputs){ .at = NULL };
}
