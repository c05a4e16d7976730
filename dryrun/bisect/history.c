/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "dryrun/bisect/history.h"

#include "base/array.h"
#include "base/temporary_file.h"
#include "dryrun/run/python_found.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMIT_SHOWN = 12 };

static enum err make_folder(struct history *h, struct err_detail *err)
{
    if (getcwd(h->here, sizeof h->here) == NULL)
        return err_set(err, ERR_IO, 0, "the working folder is not known: %s", strerror(errno));
    const int reason = scratch_folder_make(temporary_place(), "replay-bisect", &h->folder);
    return reason == 0 ? ERR_OK : err_at(err, ERR_IO, 0, temporary_place(), "no folder can be made in it: %s",
                                         strerror(reason));
}

enum err history_open(const struct history_request *request, struct history *h, struct err_detail *err)
{
    const char *path = getenv("PYTHONPATH");
    *h = (struct history){ .asked = *request, .words = calloc(request->n_words + 1, sizeof *h->words),
                           .made_words = calloc(request->n_words + 1, sizeof *h->made_words),
                           .first_parent = calloc(1, sizeof *h->first_parent),
                           .python_path = path != NULL ? strdup(path) : NULL };
    if (h->words == NULL || h->made_words == NULL || h->first_parent == NULL ||
        (path != NULL && h->python_path == NULL))
        return err_no_memory(err);
    memcpy(h->words, request->program, request->n_words * sizeof *h->words);
    if (!python_found(request->program[0], h->python))
        h->python[0] = '\0';
    const enum err e = make_folder(h, err);
    if (e != ERR_OK)
        return e;
    return request->package != NULL ? package_history_open(h, err) : git_history_open(h, err);
}

static void put_python_path_back(struct history *h)
{
    if (h->has_python_path && (h->python_path != NULL ? setenv("PYTHONPATH", h->python_path, 1)
                                                      : unsetenv("PYTHONPATH")) != 0)
        fprintf(stderr, "replay bisect: PYTHONPATH cannot be set back: %s\n", strerror(errno));
    free(h->python_path);
}

static void version_close(struct version *v)
{
    free(v->name);
    free(v->author);
    free(v->day);
    free(v->subject);
}

enum err history_go_back(const struct history *h, struct err_detail *err)
{
    return h->here[0] == '\0' || chdir(h->here) == 0
         ? ERR_OK : err_at(err, ERR_IO, 0, h->here, "is not there any more: %s", strerror(errno));
}

void history_close(struct history *h)
{
    if (h->has_tree)
        git_history_close(h);
    put_python_path_back(h);
    scratch_folder_remove(&h->folder, "bisect");
    version_close(&h->good);
    for (size_t i = 0; i < h->n; i++)
        version_close(&h->at[i]);
    for (size_t i = 0; h->made_words != NULL && i < h->asked.n_words; i++)
        free(h->made_words[i]);
    free(h->at);
    free(h->first_parent);
    free(h->parents);
    free(h->words);
    free(h->made_words);
    *h = (struct history){ .n = 0 };
}

enum err history_add(struct history *h, const char *name, size_t n_name, struct err_detail *err)
{
    const size_t room_before = h->room;
    struct version *at = array_grow(h->at, h->n, &h->room, sizeof *at);
    if (at == NULL)
        return err_no_memory(err);
    h->at = at;
    if (h->room != room_before) {
        size_t *first = realloc(h->first_parent, (h->room + 1) * sizeof *first);
        if (first == NULL)
            return err_no_memory(err);
        h->first_parent = first;
    }
    h->at[h->n] = (struct version){ .name = strndup(name, n_name), .author = strdup(""), .day = strdup(""),
                                    .subject = strdup("") };
    const struct version *v = &h->at[h->n++];
    h->first_parent[h->n] = h->n_parents;
    return v->name != NULL && v->author != NULL && v->day != NULL && v->subject != NULL ? ERR_OK : err_no_memory(err);
}

enum err history_add_parent(struct history *h, size_t parent, struct err_detail *err)
{
    size_t *parents = array_grow(h->parents, h->n_parents, &h->room_parents, sizeof *parents);
    if (parents == NULL)
        return err_no_memory(err);
    h->parents = parents;
    h->parents[h->n_parents++] = parent;
    h->first_parent[h->n] = h->n_parents;
    return ERR_OK;
}

const struct version *history_version(const struct history *h, size_t version)
{
    return version == SIZE_MAX ? &h->good : &h->at[version];
}

const char *history_name(const struct history *h, size_t version, char out[static VERSION_NAME])
{
    const char *name = history_version(h, version)->name;
    snprintf(out, VERSION_NAME, "%.*s", h->asked.package == NULL ? COMMIT_SHOWN : VERSION_NAME - 1, name);
    return out;
}

enum err history_bring(struct history *h, size_t version, bool *is_there, char reason[static QUIET_REASON],
                       struct err_detail *err)
{
    const char *name = history_version(h, version)->name;
    reason[0] = '\0';
    return h->asked.package != NULL ? package_history_bring(h, name, is_there, reason, err)
                                    : git_history_bring(h, name, is_there, reason, err);
}

enum err history_put_python_path(struct history *h, const char *folders, struct err_detail *err)
{
    const char *before = h->python_path != NULL ? h->python_path : "";
    const size_t n = strlen(folders) + strlen(before) + 2;
    char *path = malloc(n);
    if (path == NULL)
        return err_no_memory(err);
    snprintf(path, n, "%s%s%s", folders, folders[0] != '\0' && before[0] != '\0' ? ":" : "", before);
    h->has_python_path = setenv("PYTHONPATH", path, 1) == 0;
    free(path);
    return h->has_python_path ? ERR_OK : err_no_memory(err);
}
