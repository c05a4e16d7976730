/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#define _GNU_SOURCE                          /* memmem */
#include "import/json_objects.h"

#include "base/load_json.h"

#include <inttypes.h>
#include <string.h>

enum { ITEM_OFTEN = 1024 };                 /* bytes that most items fit into */

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Takes bytes up to and with `what`, of n letters. */
static enum err skip_past(struct input *in, const char *what, size_t n, bool *is_found, struct err_detail *err)
{
    for (;;) {
        const unsigned char *bytes;
        size_t have;
        const enum err e = input_peek(in, INPUT_PEEK_MAX, &bytes, &have, err);
        if (e != ERR_OK)
            return e;
        const unsigned char *at = memmem(bytes, have, what, n);
        *is_found = at != NULL;
        if (at != NULL || have < INPUT_PEEK_MAX) {
            input_skip(in, at != NULL ? (size_t)(at - bytes) + n : have);
            return ERR_OK;
        }
        input_skip(in, have - n + 1);        /* its beginning may be the window's end */
    }
}

enum err json_objects_find(struct input *in, const char *key, bool *is_found, struct err_detail *err)
{
    const enum err e = skip_past(in, key, strlen(key), is_found, err);
    return e == ERR_OK && *is_found ? skip_past(in, "[", 1, is_found, err) : e;
}

/* The length of the balanced object or list that begins bytes[0, n); 0: it does not end there. */
static size_t balanced_length(const unsigned char *bytes, size_t n)
{
    size_t depth = 0;
    bool in_text = false;
    for (size_t i = 0; i < n; i++) {
        if (in_text && bytes[i] == '\\')
            i++;
        else if (bytes[i] == '"')
            in_text = !in_text;
        else if (!in_text && (bytes[i] == '{' || bytes[i] == '['))
            depth++;
        else if (!in_text && (bytes[i] == '}' || bytes[i] == ']') && --depth == 0)
            return i + 1;
    }
    return 0;
}

/* Takes blanks and commas. *next is the letter that follows; 0 at the end. */
static enum err skip_blanks(struct input *in, unsigned char *next, struct err_detail *err)
{
    for (;;) {
        const unsigned char *bytes;
        size_t have, i = 0;
        const enum err e = input_peek(in, 1, &bytes, &have, err);
        if (e != ERR_OK)
            return e;
        while (i < have && (is_blank(bytes[i]) || bytes[i] == ','))
            i++;
        *next = i < have ? bytes[i] : 0;
        input_skip(in, i);
        if (i < have || have == 0)
            return ERR_OK;
    }
}

/* The next item of an array, which begins with `opening`: a brace or a bracket. */
static enum err next_item(struct input *in, char opening, const char **text, size_t *n, struct err_detail *err)
{
    const unsigned char *bytes;
    unsigned char next;
    size_t have;
    *n = 0;
    enum err e = skip_blanks(in, &next, err);
    if (e != ERR_OK || next == ']')
        return e;
    if (next != opening)
        return err_at(err, ERR_FORMAT, input_offset(in), input_name(in), "byte %" PRIu64 ": %s", input_offset(in),
                      next == 0        ? "the list of events does not end: the file is cut off"
                      : opening == '{' ? "an event is not an object"
                                       : "an event is not a list");
    if ((e = input_peek(in, ITEM_OFTEN, &bytes, &have, err)) != ERR_OK)
        return e;
    *n = balanced_length(bytes, have);
    if (*n == 0 && (e = input_peek(in, INPUT_PEEK_MAX, &bytes, &have, err)) != ERR_OK)
        return e;
    if (*n == 0)
        *n = balanced_length(bytes, have);
    *text = (const char *)bytes;
    input_skip(in, *n);
    if (*n > 0)
        return ERR_OK;
    return err_at(err, ERR_FORMAT, input_offset(in), input_name(in), "byte %" PRIu64 ": %s", input_offset(in),
                  have < INPUT_PEEK_MAX ? "an event does not end: the file is cut off"
                                        : "an event is longer than 64 KiB");
}

enum err json_objects_next(struct input *in, const char **text, size_t *n, struct err_detail *err)
{
    return next_item(in, '{', text, n, err);
}

enum err json_lists_begin(struct input *in, struct err_detail *err)
{
    bool is_found;
    return skip_past(in, "[", 1, &is_found, err);
}

enum err json_lists_next(struct input *in, const char **text, size_t *n, struct err_detail *err)
{
    return next_item(in, '[', text, n, err);
}

enum err json_objects_load(struct input *in, const char *text, size_t n, json_t **out, struct err_detail *err)
{
    struct err_detail broken;
    const enum err e = load_json(text, n, 0, UINT64_MAX, "", out, &broken);
    if (e == ERR_HOST_NOMEM)
        return err_at(err, e, 0, input_name(in), "no memory to read it");
    if (e != ERR_OK)
        return err_at(err, e, input_offset(in), input_name(in), "byte %" PRIu64 ": an event is no JSON",
                      input_offset(in) - n + broken.offset);
    return ERR_OK;
}
