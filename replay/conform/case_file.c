/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/conform/case_file.h"

#include "base/array.h"
#include "base/input.h"
#include "base/load_json.h"

#include <stdlib.h>
#include <string.h>

struct case_text {
    char  *at;
    size_t n, room;
};

/* Reads the rest of an input. */
static enum err case_read(struct input *in, struct case_text *text, struct err_detail *err)
{
    for (;;) {
        const unsigned char *bytes;
        size_t n;
        const enum err e = input_peek(in, INPUT_PEEK_MAX, &bytes, &n, err);
        if (e != ERR_OK || n == 0)
            return e;
        char *grown = array_reserve(text->at, text->n, n, &text->room, 1);
        if (grown == NULL)
            return err_no_memory(err);
        text->at = grown;
        memcpy(grown + text->n, bytes, n);
        text->n += n;
        input_skip(in, n);
    }
}

enum err case_load(const char *path, json_t **out, struct err_detail *err)
{
    struct input *in;
    struct case_text text = {.at = NULL};
    enum err e = input_open(path, &in, err);
    if (e != ERR_OK)
        return e;
    e = case_read(in, &text, err);
    if (e == ERR_OK)
        e = load_json(text.at == NULL ? "" : text.at, text.n, JSON_REJECT_DUPLICATES, UINT64_MAX, path, out, err);
    free(text.at);
    input_close(in);
    return e;
}
