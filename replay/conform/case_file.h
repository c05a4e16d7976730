/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The file of a recorded case.
 */
#ifndef REPLAY_REPLAY_CONFORM_CASE_FILE_H
#define REPLAY_REPLAY_CONFORM_CASE_FILE_H

#include "base/err.h"

#include <jansson.h>

/* Reads a file of JSON, plain or gzip. *out is to be freed. ERR_IO; ERR_FORMAT with the byte. */
MUST_USE enum err case_load(const char *path, json_t **out, struct err_detail *err);

#endif
