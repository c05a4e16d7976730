/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A stream that writes into a text of its own, for what is printed elsewhere,
 * later or only if all of it could be written. */
#ifndef REPLAY_BASE_TEXT_STREAM_H
#define REPLAY_BASE_TEXT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Stays where it is while the stream is open. */
struct text_stream {
    FILE  *file;
    char  *text;
    size_t n, room;                  /* bytes; n without the end, and all of it once it is taken */
    bool   is_short;                 /* there was no memory for some of it */
};

/* The stream, or NULL without memory. End it with text_stream_take. */
FILE *text_stream_open(struct text_stream *s);

/* What was written so far, until the next write; NULL if there was no memory for all of it, ever. */
const char *text_stream_text(struct text_stream *s);

/* What is written from now on is a text of its own. */
void text_stream_empty(struct text_stream *s);

/* Closes the stream. The text, which the caller frees; NULL if there was no memory for all of it. */
char *text_stream_take(struct text_stream *s);

#endif
