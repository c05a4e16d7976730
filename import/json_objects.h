/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The objects of a long JSON array, one at a time, so that memory does not grow with the file.
 */
#ifndef REPLAY_IMPORT_JSON_OBJECTS_H
#define REPLAY_IMPORT_JSON_OBJECTS_H

#include "base/input.h"

/* Moves to the first object of the array that stands under `key` (with its quotes, "\"traceEvents\""). *is_found is false
 * if the input ends before. input_peek's errors. */
MUST_USE enum err json_objects_find(struct input *in, const char *key, bool *is_found, struct err_detail *why);

/* Lends the text of the next object until the next call; *n is 0 behind the last one. The text is balanced in braces and
 * quotes, and otherwise not checked. ERR_FORMAT for an object longer than INPUT_PEEK_MAX, for anything else than an
 * object, and for an array that does not end; input_peek's errors. */
MUST_USE enum err json_objects_next(struct input *in, const char **text, size_t *n, struct err_detail *why);

#endif
