/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads a JSON file, plain or compressed, for tests. */
#ifndef REPLAY_TESTS_JSON_FILE_H
#define REPLAY_TESTS_JSON_FILE_H

#include "base/input.h"

#include <jansson.h>
#include <stdlib.h>

static size_t json_file_read(void *buffer, size_t n, void *in)
{
    const unsigned char *bytes;
    size_t got;
    if (input_peek(in, 1, &bytes, &got, NULL) != ERR_OK)
        return (size_t)-1;
    if (got > n)
        got = n;
    for (size_t i = 0; i < got; i++)
        ((unsigned char *)buffer)[i] = bytes[i];
    input_skip(in, got);
    return got;
}

/* NULL where the file cannot be read; the caller releases the value with json_decref. */
static inline json_t *json_file_load(const char *path)
{
    struct input *in;
    if (input_open(path, &in, NULL) != ERR_OK)
        return NULL;
    json_t *root = json_load_callback(json_file_read, in, 0, NULL);
    input_close(in);
    return root;
}

#endif
