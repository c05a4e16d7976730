/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "report/rows/row_keys.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool row_keys_open(struct row_keys *out)
{
    *out = (struct row_keys){ .key = { .file = NULL } };
    return text_stream_open(&out->key) != NULL;
}

void row_keys_close(struct row_keys *k)
{
    free(text_stream_take(&k->key));
    text_table_free(&k->texts);
    *k = (struct row_keys){ .key = { .file = NULL } };
}

static void put_cell(FILE *out, const struct field *f)
{
    switch (f->kind) {
    case FIELD_TEXT:
        fprintf(out, "%zu:%s", strlen(f->text), f->text);
        break;
    case FIELD_NULL:
        fputs("n ", out);
        break;
    case FIELD_NUMBER:
        fprintf(out, "i%" PRId64 " ", f->number);
        break;
    case FIELD_RATIO:
        fprintf(out, "r%.17g ", f->ratio);
        break;
    }
}

void row_keys_put(struct row_keys *k, const struct run_table *t, size_t row, const char *const columns[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_cell(k->key.file, run_table_cell(t, row, columns[i]));
}

uint32_t row_keys_number(struct row_keys *k)
{
    const char *text = text_stream_text(&k->key);
    const uint32_t number = text == NULL ? UINT32_MAX : text_table_put(&k->texts, text, strlen(text));
    text_stream_empty(&k->key);
    return number;
}
