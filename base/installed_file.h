/*
 * What belongs to this program and lies in files of its own: libraries that other programs are started with.
 */
#ifndef REPLAY_BASE_INSTALLED_FILE_H
#define REPLAY_BASE_INSTALLED_FILE_H

#include "base/err.h"

#include <limits.h>

/* Finds `file` ("record/libreplay-record.so"): beside the program, as it is built, else where it is installed. *out is
 * its absolute name. ERR_IO with where it was looked for. */
MUST_USE enum err beside_find(const char *file, char out[PATH_MAX], struct err_detail *why);

/* The program's own file. ERR_IO. */
MUST_USE enum err beside_program(char out[PATH_MAX], struct err_detail *why);

#endif
