/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "dryrun/run/recorded_file.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum err recorded_files_add(struct recorded_files *files, const struct recorded_file *f, struct err_detail *err)
{
    char *path = strdup(f->path);
    struct recorded_file *more = path == NULL ? NULL
                                              : array_grow(files->at, files->n, &files->room, sizeof *more);
    if (more == NULL) {
        free(path);
        return err_no_memory(err);
    }
    files->at = more;
    more[files->n] = *f;
    more[files->n++].path = path;
    return ERR_OK;
}

void recorded_files_close(struct recorded_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->at[i].path);
    free(files->at);
}

void recorded_file_json(struct json_writer *json, const struct recorded_file *f)
{
#define ANSWER_TABLE "answers/recorded_file.def"
#include "answers/as_json.def"
}
