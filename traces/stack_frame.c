/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The last space separates function and file: names of C++ functions contain spaces, file names hardly ever. */
#include "traces/stack_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stack_frame stack_frame_parse(const char *text)
{
    const char *colon = strrchr(text, ':');
    const size_t n = colon == NULL ? strlen(text) : (size_t)(colon - text);
    size_t space = n;
    while (space > 0 && text[space - 1] != ' ')
        space--;
    struct stack_frame f = {.name = text, .file = text + space,
                            .n_name = space > 0 ? space - 1 : 0, .n_file = n - space};
    if (colon != NULL) {
        const unsigned long line = strtoul(colon + 1, NULL, 10);
        f.line = line > UINT32_MAX ? 0 : (uint32_t)line;
    }
    return f;
}

/* True if a path has a folder of this name. */
static bool path_has_folder(const char *path, size_t n, const char *folder)
{
    const size_t n_folder = strlen(folder);
    for (size_t i = 0; i + n_folder < n; i++)
        if ((i == 0 || path[i - 1] == '/') && memcmp(path + i, folder, n_folder) == 0 && path[i + n_folder] == '/')
            return true;
    return false;
}

bool stack_frame_is_program(const struct stack_frame *f)
{
    const bool is_python = f->n_file > 3 && memcmp(f->file + f->n_file - 3, ".py", 3) == 0;
    return is_python && !path_has_folder(f->file, f->n_file, "torch");
}

const char *stack_frame_of_program(const char *const *frames, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (stack_frame_is_program(&f))
            return frames[i];
    }
    return n > 0 ? frames[0] : NULL;
}

void stack_frame_show(const char *text, char *out, size_t size)
{
    const struct stack_frame f = stack_frame_parse(text);
    if (text[0] == '(' || f.n_file == 0)
        snprintf(out, size, "%s", text);
    else
        snprintf(out, size, "%.*s:%" PRIu32 " %.*s", (int)f.n_file, f.file, f.line, (int)f.n_name, f.name);
}
