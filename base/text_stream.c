/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* glibc's own stream of this kind (open_memstream) loses letters without a word where it cannot grow. */
#define _GNU_SOURCE                   /* fopencookie */
#include "base/text_stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096 };

/* Room for n letters more, and the end. */
static bool text_stream_grow(struct text_stream *s, size_t n)
{
    size_t room = s->room == 0 ? FIRST_ROOM : s->room;
    while (room - s->n <= n && room <= SIZE_MAX / 2)
        room *= 2;
    char *text = room - s->n > n ? realloc(s->text, room) : NULL;
    if (text == NULL)
        return false;
    s->text = text;
    s->room = room;
    return true;
}

static ssize_t text_stream_write(void *stream, const char *letters, size_t n)
{
    struct text_stream *s = stream;
    if (s->room - s->n <= n && !text_stream_grow(s, n)) {
        s->is_short = true;
        errno = ENOMEM;
        return 0;                                    /* as fopencookie wants it: an error */
    }
    memcpy(s->text + s->n, letters, n);
    s->n += n;
    return (ssize_t)n;
}

FILE *text_stream_open(struct text_stream *s)
{
    *s = (struct text_stream){ .text = NULL };
    return s->file = fopencookie(s, "w", (cookie_io_functions_t){ .write = text_stream_write });
}

/* The text with its end, once all letters have come; NULL without memory. */
static char *text_stream_end(struct text_stream *s)
{
    if (s->is_short || (s->text == NULL && !text_stream_grow(s, 0)))
        return NULL;
    s->text[s->n] = '\0';
    return s->text;
}

const char *text_stream_text(struct text_stream *s)
{
    return fflush(s->file) == 0 ? text_stream_end(s) : NULL;
}

void text_stream_empty(struct text_stream *s)
{
    (void)fflush(s->file);
    s->n = 0;
}

char *text_stream_take(struct text_stream *s)
{
    char *text = s->file != NULL && fclose(s->file) == 0 ? text_stream_end(s) : NULL;
    if (text == NULL)
        free(s->text);
    return text;
}
