/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#define _GNU_SOURCE                          /* memmem */
#include "import/json_objects.h"

#include <inttypes.h>
#include <string.h>

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Takes bytes up to and with `what`, of n letters. */
static enum err skip_past(struct input *in, const char *what, size_t n, bool *is_found, struct err_detail *why)
{
    for (;;) {
        const unsigned char *bytes;
        size_t have;
        const enum err e = input_peek(in, INPUT_PEEK_MAX, &bytes, &have, why);
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

enum err json_objects_find(struct input *in, const char *key, bool *is_found, struct err_detail *why)
{
    const enum err e = skip_past(in, key, strlen(key), is_found, why);
    return e == ERR_OK && *is_found ? skip_past(in, "[", 1, is_found, why) : e;
}

/* The length of the balanced object that begins bytes[0, n); 0: it does not end there. */
static size_t object_length(const unsigned char *bytes, size_t n)
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
static enum err skip_blanks(struct input *in, unsigned char *next, struct err_detail *why)
{
    for (;;) {
        const unsigned char *bytes;
        size_t have, i = 0;
        const enum err e = input_peek(in, 1, &bytes, &have, why);
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

enum err json_objects_next(struct input *in, const char **text, size_t *n, struct err_detail *why)
{
    const unsigned char *bytes;
    unsigned char next;
    size_t have;
    *n = 0;
    enum err e = skip_blanks(in, &next, why);
    if (e != ERR_OK || next == ']')
        return e;
    if (next != '{')
        return err_set(why, ERR_FORMAT, input_offset(in), "%s: byte %" PRIu64 ": %s", input_name(in), input_offset(in),
                       next == 0 ? "the list of events does not end: the file is cut off" : "an event is no object");
    if ((e = input_peek(in, INPUT_PEEK_MAX, &bytes, &have, why)) != ERR_OK)
        return e;
    *n = object_length(bytes, have);
    *text = (const char *)bytes;
    input_skip(in, *n);
    if (*n > 0)
        return ERR_OK;
    return err_set(why, ERR_FORMAT, input_offset(in), "%s: byte %" PRIu64 ": %s", input_name(in), input_offset(in),
                   have < INPUT_PEEK_MAX ? "an event does not end: the file is cut off"
                                         : "an event is longer than 64 KiB");
}
