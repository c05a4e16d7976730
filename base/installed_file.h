/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Finds files that are installed with this program: libraries that it preloads into other programs.
 */
#ifndef REPLAY_BASE_INSTALLED_FILE_H
#define REPLAY_BASE_INSTALLED_FILE_H

#include "base/err.h"

#include <limits.h>

/* Finds `file` ("record/libreplay-record.so"): in the folder of the program, as in a build, else in the installed
 * folder. *out gets its absolute name. ERR_IO with the folder. */
MUST_USE enum err installed_file_find(const char *file, char out[PATH_MAX], struct err_detail *err);

/* The absolute name of the program's own file. ERR_IO. */
MUST_USE enum err installed_file_of_program(char out[PATH_MAX], struct err_detail *err);

#endif
