/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A growing buffer; zlib; base 85. */
#include "report/page/packed_columns.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void packed_put_bytes(struct packed_columns *p, const void *bytes, size_t n)
{
    unsigned char *at = p->is_short ? NULL : array_reserve(p->at, p->n, n, &p->room, 1);
    if (at == NULL) {
        p->is_short = true;
        return;
    }
    p->at = at;
    memcpy(at + p->n, bytes, n);
    p->n += n;
}

void packed_put(struct packed_columns *p, uint64_t number)
{
    unsigned char bytes[10];
    size_t n = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[n++] = (unsigned char)(number | 0x80);
    bytes[n++] = (unsigned char)number;
    packed_put_bytes(p, bytes, n);
}

void packed_put_difference(struct packed_columns *p, uint64_t from, uint64_t to)
{
    const uint64_t up = to - from;
    packed_put(p, up >> 63 != 0 ? ~(up << 1) : up << 1);
}

void packed_put_text(struct packed_columns *p, const char *text, size_t n)
{
    packed_put(p, n);
    if (n > 0)
        packed_put_bytes(p, text, n);
}

/* Letters that mean nothing in HTML, in JSON, or in the template of a page. */
static const char base85[] =
    "!#$%()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz|~";
static_assert(sizeof base85 == 85 + 1, "a number below 85 has one letter");

/* 4 bytes become 5 letters, the highest digit first; 1 to 3 bytes at the end become one letter more than they are. */
static size_t base85_write(const unsigned char *in, size_t n, char *out)
{
    char *to = out;
    for (size_t i = 0; i < n; i += 4) {
        const size_t here = n - i < 4 ? n - i : 4;
        uint32_t group = 0;
        char five[5];
        for (size_t k = 0; k < 4; k++)
            group = group << 8 | (k < here ? in[i + k] : 0);
        for (int k = 4; k >= 0; k--, group /= 85)
            five[k] = base85[group % 85];
        memcpy(to, five, here + 1);
        to += here + 1;
    }
    *to = '\0';
    return (size_t)(to - out);
}

static enum err deflate_to(const struct packed_columns *p, char **out, size_t *n)
{
    uLongf n_deflated = compressBound((uLong)p->n);
    unsigned char *deflated = malloc(n_deflated);
    char *text = malloc((n_deflated / 4 + 1) * 5 + 1);
    const bool is_done = deflated != NULL && text != NULL &&
                         compress2(deflated, &n_deflated, p->at, (uLong)p->n, Z_BEST_COMPRESSION) == Z_OK;
    if (is_done)
        *n = base85_write(deflated, n_deflated, text);
    else
        free(text);
    free(deflated);
    if (is_done)
        *out = text;
    return is_done ? ERR_OK : ERR_HOST_NOMEM;
}

enum err packed_finish(struct packed_columns *p, char **out, size_t *n)
{
    const enum err e = p->is_short || p->n == 0 ? ERR_HOST_NOMEM : deflate_to(p, out, n);
    free(p->at);
    *p = (struct packed_columns){ .at = NULL };
    return e;
}
