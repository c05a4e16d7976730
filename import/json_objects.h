/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The objects or lists of a long JSON array, one at a time, so that memory does not grow with the file.
 */
#ifndef REPLAY_IMPORT_JSON_OBJECTS_H
#define REPLAY_IMPORT_JSON_OBJECTS_H

#include "base/input.h"

#include <jansson.h>

/* Moves to the first object of the array that stands under `key` (with its quotes, "\"traceEvents\""). *is_found is
 * false if the input ends before. input_peek's errors. */
MUST_USE enum err json_objects_find(struct input *in, const char *key, bool *is_found, struct err_detail *err);

/* Lends the text of the next object until the next call; *n is 0 behind the last one. The text is balanced in braces
 * and quotes, and otherwise not checked. ERR_FORMAT for an object longer than INPUT_PEEK_MAX, for anything else than an
 * object, and for an array that does not end; input_peek's errors. */
MUST_USE enum err json_objects_next(struct input *in, const char **text, size_t *n, struct err_detail *err);

/* The same for an array of lists that is the whole text: first its opening bracket, then list by list. */
MUST_USE enum err json_lists_begin(struct input *in, struct err_detail *err);
MUST_USE enum err json_lists_next(struct input *in, const char **text, size_t *n, struct err_detail *err);

/* Reads the text that json_objects_next lent, for json_decref. ERR_FORMAT, with the byte; ERR_HOST_NOMEM. */
MUST_USE enum err json_objects_load(struct input *in, const char *text, size_t n, json_t **out, struct err_detail *err);

#endif
