/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Paths without the folders of the machine that they are from, for what is handed on.
 *
 *     /opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py    torch/nn/modules/module.py
 *     /usr/lib/python3.11/threading.py                                     python3.11/threading.py
 *     /home/ada/project/models/gpt.py                                      models/gpt.py, if the folder of the program
 *                                                                          is known; else gpt.py
 */
#ifndef REPLAY_REPORT_TEXT_SHORT_PATHS_H
#define REPLAY_REPORT_TEXT_SHORT_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a path names folders from the root or a drive on. */
bool path_is_absolute(const char *path, size_t n);

/* How many letters of an absolute path are folders of the machine; `folder` is the program's own, ending in a slash, or
 * NULL. 0: the path is not absolute. */
size_t path_folders_length(const char *path, size_t n, const char *folder);

/* The folder that absolute paths share, ending in a slash: `n` letters of `path`, as far as `other` has the same. 0:
 * they share no more than the root and one folder, which tells nothing of a program. */
size_t path_shared_folder(const char *path, size_t n, const char *other);

/* Leaves out of a text the folders of the machine in paths of files of code ("x.py", "x.cu:12"), with `all` in every
 * path. */
void short_paths(char *text, const char *folder, bool all);

/* A copy that is so shortened. free() it; NULL without memory. */
char *short_paths_copy(const char *text, const char *folder, bool all);

#endif
