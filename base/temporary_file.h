/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Files without a name, for what memory does not hold: they are gone when they are closed, also after a kill.
 */
#ifndef REPLAY_BASE_TEMPORARY_FILE_H
#define REPLAY_BASE_TEMPORARY_FILE_H

#include "base/err.h"

#include <stddef.h>
#include <stdio.h>

/* The folder for what is temporary: the one that TMPDIR names, else /tmp. */
const char *temporary_place(void);

/* Opens an empty file there, for reading and writing. The caller closes *fd. ERR_IO. */
MUST_USE enum err temporary_file_open(int *fd, struct err_detail *err);

/* The same as a stream. ERR_IO, ERR_HOST_NOMEM. */
MUST_USE enum err temporary_stream_open(FILE **out, struct err_detail *err);

/* Appends all n bytes. ERR_IO. */
MUST_USE enum err temporary_file_append(int fd, const void *bytes, size_t n, struct err_detail *err);

#endif
