/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "base/text_stream.h"

#include <stdbool.h>
#include <stdlib.h>

FILE *text_stream_open(struct text_stream *s)
{
    *s = (struct text_stream){ .text = NULL };
    return s->file = open_memstream(&s->text, &s->n);
}

char *text_stream_take(struct text_stream *s)
{
    const bool has_failed = s->file == NULL || ferror(s->file) != 0;
    if ((s->file == NULL || fclose(s->file) == 0) && !has_failed)
        return s->text;
    free(s->text);
    return NULL;
}
