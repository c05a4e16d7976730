/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A growing buffer; zlib; base64 as in RFC 4648. */
#include "report/packed_columns.h"

#include "base/array.h"

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

static size_t base64_write(const unsigned char *in, size_t n, char *out)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *to = out;
    for (size_t i = 0; i < n; i += 3) {
        const size_t here = n - i < 3 ? n - i : 3;
        uint32_t group = (uint32_t)in[i] << 16;
        if (here > 1)
            group |= (uint32_t)in[i + 1] << 8;
        if (here > 2)
            group |= in[i + 2];
        *to++ = letters[group >> 18];
        *to++ = letters[group >> 12 & 63];
        *to++ = '=';
        *to++ = '=';
        if (here > 1)
            to[-2] = letters[group >> 6 & 63];
        if (here > 2)
            to[-1] = letters[group & 63];
    }
    *to = '\0';
    return (size_t)(to - out);
}

static enum err deflate_to(const struct packed_columns *p, char **base64, size_t *n)
{
    uLongf n_deflated = compressBound((uLong)p->n);
    unsigned char *deflated = malloc(n_deflated);
    char *text = malloc((n_deflated / 3 + 1) * 4 + 1);
    const bool is_done = deflated != NULL && text != NULL &&
                         compress2(deflated, &n_deflated, p->at, (uLong)p->n, Z_BEST_COMPRESSION) == Z_OK;
    if (is_done)
        *n = base64_write(deflated, n_deflated, text);
    else
        free(text);
    free(deflated);
    if (is_done)
        *base64 = text;
    return is_done ? ERR_OK : ERR_HOST_NOMEM;
}

enum err packed_finish(struct packed_columns *p, char **base64, size_t *n)
{
    const enum err e = p->is_short || p->n == 0 ? ERR_HOST_NOMEM : deflate_to(p, base64, n);
    free(p->at);
    *p = (struct packed_columns){ .at = NULL };
    return e;
}
