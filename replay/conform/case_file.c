/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/conform/case_file.h"

#include "base/input.h"

#include <string.h>

struct case_source {
    struct input      *in;
    enum err           outcome;
    struct err_detail *why;
};

static size_t case_pull(void *buffer, size_t n, void *arg)
{
    struct case_source *s = arg;
    const unsigned char *bytes;
    size_t have;
    s->outcome = input_peek(s->in, n < INPUT_PEEK_MAX ? n : INPUT_PEEK_MAX, &bytes, &have, s->why);
    if (s->outcome != ERR_OK)
        return (size_t)-1;
    const size_t take = have < n ? have : n;
    memcpy(buffer, bytes, take);
    input_skip(s->in, take);
    return take;
}

enum err case_load(const char *path, json_t **out, struct err_detail *why)
{
    struct case_source source = {.why = why};
    enum err e = input_open(path, &source.in, why);
    if (e != ERR_OK)
        return e;
    json_error_t at;
    *out = json_load_callback(case_pull, &source, JSON_REJECT_DUPLICATES, &at);
    input_close(source.in);
    if (*out == NULL && source.outcome == ERR_OK)
        e = err_set(why, ERR_FORMAT, (uint64_t)at.position, "%s: byte %d: %s", path, at.position, at.text);
    return source.outcome != ERR_OK ? source.outcome : e;
}
