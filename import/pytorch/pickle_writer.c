/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Opcodes by their letters; numbers little-endian, floats big-endian (CPython, Lib/pickletools.py). */
#include "import/pytorch/pickle_writer.h"

#include "base/array.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { OP_LONG1 = 0x8a, OP_TUPLE2 = 0x86, OP_TRUE = 0x88, OP_FALSE = 0x89, OP_PROTO = 0x80, PROTOCOL = 2 };

static void put_le(FILE *out, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fputc((int)(v >> 8 * i & 0xff), out);
}

struct pickle_writer pickle_writer_open(FILE *out)
{
    fputc(OP_PROTO, out);
    fputc(PROTOCOL, out);
    return (struct pickle_writer){.out = out};
}

void pickle_put_dict(struct pickle_writer *w)
{
    fputs("}(", w->out);
}

void pickle_end_dict(struct pickle_writer *w)
{
    fputc('u', w->out);
}

void pickle_put_list(struct pickle_writer *w)
{
    fputs("](", w->out);
}

void pickle_end_list(struct pickle_writer *w)
{
    fputc('e', w->out);
}

void pickle_list_item(struct pickle_writer *w, uint64_t i)
{
    enum { BATCH = 1000 };
    if (i > 0 && i % BATCH == 0)
        fputs("e(", w->out);
}

uint32_t pickle_name(struct pickle_writer *w)
{
    const bool is_small = w->n_names <= UINT8_MAX;
    fputc(is_small ? 'q' : 'r', w->out);
    put_le(w->out, w->n_names, is_small ? 1 : 4);
    return w->n_names++;
}

void pickle_put_named(struct pickle_writer *w, uint32_t name)
{
    assert(name < w->n_names);
    const bool is_small = name <= UINT8_MAX;
    fputc(is_small ? 'h' : 'j', w->out);
    put_le(w->out, name, is_small ? 1 : 4);
}

static void put_new_text(struct pickle_writer *w, const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t n_bytes = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        const size_t n = utf8_length(s);
        n_bytes += n == 0 ? sizeof replacement - 1 : n;
        s += n == 0 ? 1 : n;
    }
    if (n_bytes > UINT32_MAX) {
        w->is_short = true;
        return;
    }
    fputc('X', w->out);
    put_le(w->out, n_bytes, 4);
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        const size_t n = utf8_length(s);
        fwrite(n == 0 ? replacement : (const char *)s, 1, n == 0 ? sizeof replacement - 1 : n, w->out);
        s += n == 0 ? 1 : n;
    }
}

void pickle_put_text(struct pickle_writer *w, const char *text)
{
    const uint32_t n_before = w->texts.n, id = text_table_put(&w->texts, text, strlen(text));
    if (id == UINT32_MAX || w->is_short) {
        w->is_short = true;
        return;
    }
    if (id < n_before) {
        pickle_put_named(w, w->name_of[id]);
        return;
    }
    uint32_t *names = array_grow(w->name_of, id, &w->room_names, sizeof *names);
    if (names == NULL) {
        w->is_short = true;
        return;
    }
    w->name_of = names;
    put_new_text(w, text);
    names[id] = pickle_name(w);
}

/* Writes the fewest bytes that hold a 64-bit number as two's complement: 9 for an unsigned number with its top bit set.
 * */
static void put_long(struct pickle_writer *w, uint64_t bits, bool is_negative)
{
    const uint8_t fill = is_negative ? 0xff : 0;
    uint8_t bytes[9];
    unsigned n = 9;
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
    bytes[8] = fill;
    while (n > 1 && bytes[n - 1] == fill && (bytes[n - 2] & 0x80) == (fill & 0x80))
        n--;
    fputc(OP_LONG1, w->out);
    fputc((int)n, w->out);
    fwrite(bytes, 1, n, w->out);
}

void pickle_put_number(struct pickle_writer *w, uint64_t number)
{
    if (number > INT32_MAX) {
        put_long(w, number, false);
        return;
    }
    const unsigned n = number <= UINT8_MAX ? 1 : number <= UINT16_MAX ? 2 : 4;
    fputc(n == 1 ? 'K' : n == 2 ? 'M' : 'J', w->out);
    put_le(w->out, number, n);
}

void pickle_put_integer(struct pickle_writer *w, int64_t number)
{
    if (number >= 0) {
        pickle_put_number(w, (uint64_t)number);
    } else if (number < INT32_MIN) {
        put_long(w, (uint64_t)number, true);
    } else {
        fputc('J', w->out);
        put_le(w->out, (uint64_t)number, 4);
    }
}

void pickle_put_bool(struct pickle_writer *w, bool is_true)
{
    fputc(is_true ? OP_TRUE : OP_FALSE, w->out);
}

void pickle_put_float(struct pickle_writer *w, double number)
{
    uint64_t bits;
    static_assert(sizeof bits == sizeof number, "a float of the pickle has 8 bytes");
    memcpy(&bits, &number, sizeof bits);
    fputc('G', w->out);
    for (int i = 7; i >= 0; i--)
        fputc((int)(bits >> 8 * i & 0xff), w->out);
}

void pickle_put_pair(struct pickle_writer *w, uint64_t first, uint64_t second)
{
    pickle_put_number(w, first);
    pickle_put_number(w, second);
    fputc(OP_TUPLE2, w->out);
}

enum err pickle_writer_close(struct pickle_writer *w, struct err_detail *err)
{
    const bool is_short = w->is_short;
    fputc('.', w->out);
    text_table_free(&w->texts);
    free(w->name_of);
    *w = (struct pickle_writer){.out = NULL};
    return is_short ? err_no_memory(err) : ERR_OK;
}
