/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Numbers into bytes and back.
 *
 *     form byte | dictionary, if any | size of escapes | plane 0 | plane 1 | ... | escapes
 *                                                        n low bytes  n next bytes  varints of larger numbers
 *
 * The writer tries widths of 1, 2, 4 and 8 bytes, single bits and a dictionary, and takes the cheapest: a constant
 * costs two bytes. A number that does not fit the width is all ones there and follows among the escapes.
 */
#include "traces/columns.h"

#include "base/array.h"
#include "base/units.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ---- */

bool bytes_reserve(struct bytes *b, size_t more)
{
    if (b->has_failed)
        return false;
    if (more <= b->room - b->n)
        return true;
    unsigned char *data = array_reserve(b->data, b->n, more, &b->room, 1);
    b->has_failed = data == NULL;
    if (data != NULL)
        b->data = data;
    return data != NULL;
}

void bytes_put(struct bytes *b, const void *src, size_t n)
{
    if (n == 0 || !bytes_reserve(b, n))
        return;
    memcpy(b->data + b->n, src, n);
    b->n += n;
}

void bytes_put_le(struct bytes *b, uint64_t v, unsigned width)
{
    unsigned char out[8];
    assert(width <= sizeof out);
    for (unsigned i = 0; i < width; i++)
        out[i] = (unsigned char)(v >> (8 * i));
    bytes_put(b, out, width);
}

void bytes_put_varint(struct bytes *b, uint64_t v)
{
    unsigned char out[10];
    unsigned n = 0;
    for (; v >= 0x80; v >>= 7)
        out[n++] = (unsigned char)(v | 0x80);
    out[n++] = (unsigned char)v;
    bytes_put(b, out, n);
}

void bytes_put_text(struct bytes *b, const char *text)
{
    bytes_put(b, text, strlen(text) + 1);
}

void bytes_cut(struct bytes *b)
{
    if (b->n == (b->n_cuts == 0 ? 0 : b->cuts[b->n_cuts - 1]))
        return;
    size_t *more = array_grow(b->cuts, b->n_cuts, &b->room_cuts, sizeof *more);
    b->has_failed |= more == NULL;
    if (more == NULL)
        return;
    b->cuts = more;
    b->cuts[b->n_cuts++] = b->n;
}

void bytes_clear(struct bytes *b)
{
    b->n = 0;
    b->n_cuts = 0;
}

void bytes_free(struct bytes *b)
{
    free(b->data);
    free(b->cuts);
    *b = (struct bytes){0};
}

/* ---- cursor ---- */

struct cursor cursor_over(const void *data, size_t n)
{
    const unsigned char *at = data;
    return (struct cursor){.at = at, .end = n == 0 ? at : at + n};
}

const unsigned char *cursor_take(struct cursor *c, size_t n)
{
    if (c->is_bad || n > (size_t)(c->end - c->at)) {
        c->is_bad = true;
        return NULL;
    }
    const unsigned char *at = c->at;
    c->at += n;
    return at;
}

uint64_t cursor_le(struct cursor *c, unsigned width)
{
    assert(width <= 8);
    const unsigned char *at = cursor_take(c, width);
    uint64_t v = 0;
    for (unsigned i = 0; at != NULL && i < width; i++)
        v |= (uint64_t)at[i] << (8 * i);
    return v;
}

uint64_t cursor_varint(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && !c->is_bad && c->at < c->end; shift += 7) {
        const unsigned char byte = *c->at++;
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    c->is_bad = true;
    return 0;
}

uint64_t cursor_varint_at_most(struct cursor *c, uint64_t max)
{
    const uint64_t v = cursor_varint(c);
    if (v <= max)
        return v;
    c->is_bad = true;
    return 0;
}

const char *cursor_text(struct cursor *c)
{
    const size_t left = c->is_bad ? 0 : (size_t)(c->end - c->at);
    const unsigned char *end = left == 0 ? NULL : memchr(c->at, 0, left);
    if (end == NULL) {
        c->is_bad = true;
        return "";
    }
    const char *text = (const char *)c->at;
    c->at = end + 1;
    return text;
}

/* ---- writing a column ---- */

/* The form byte: the width in its low four bits (bytes, or COLUMN_BITS), and whether numbers are indices of a
 * dictionary. */
enum { COLUMN_WIDTH_MASK = 15, COLUMN_HAS_DICT = 16 };

/* The value in the planes that stands for the next escape. */
static uint64_t column_escape(unsigned width)
{
    assert(width == 1 || width == 2 || width == 4 || width == 8);
    return width == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * width)) - 1;
}

static unsigned varint_bytes(uint64_t v)
{
    return v == 0 ? 1 : log2_floor(v) / 7 + 1;
}

/* The price of an escape beside its own bytes. It costs a reader time, and zstd the run of equal bytes that it
 * interrupts: wider numbers with upper planes of zeros give smaller files and are read faster than a few escapes in
 * every batch. */
enum { COLUMN_ESCAPE_COST = 4 };

/* Cost of `n` numbers at a width, in bytes, the price of escapes included. */
static uint64_t column_cost(const uint64_t *values, size_t n, unsigned width)
{
    const uint64_t escape = column_escape(width);
    uint64_t cost = (uint64_t)n * width;
    if (width < 8)
        for (size_t i = 0; i < n; i++)
            cost += values[i] >= escape ? COLUMN_ESCAPE_COST + varint_bytes(values[i] - escape) : 0;
    return cost;
}

/* True if a column of zeros and ones repeats itself. zstd finds repeats among bytes, but hardly among bits, where they
 * start anywhere in a byte. One window of 32 numbers in 16 is looked at, chosen by its content, so that both
 * occurrences of a repeat are chosen. */
static bool column_bits_repeat(const uint64_t *values, size_t n)
{
    enum { SEEN = 1 << 12 };
    uint32_t seen[SEEN] = {0}, window = 0;
    size_t n_windows = 0, n_again = 0;
    for (size_t i = 0; i < n; i++) {
        window = window << 1 | (uint32_t)values[i];
        const uint32_t hash = window * UINT32_C(0x9e3779b1);
        if (i < 31 || hash >> 28 != 0)
            continue;
        uint32_t *before = &seen[hash >> 16 & (SEEN - 1)];
        n_windows++;
        n_again += *before == window;
        *before = window;
    }
    return 4 * n_again > n_windows;
}

/* True if the numbers shall have a bit each. Of a few numbers this would save next to nothing. */
static bool column_is_bits(const uint64_t *values, size_t n)
{
    enum { LEAST = 64 };
    uint64_t all = 0;
    if (n < LEAST)
        return false;
    for (size_t i = 0; i < n; i++)
        all |= values[i];
    return all == 1 && !column_bits_repeat(values, n);
}

/* The cheapest width. A bit each only if zstd could not do better with bytes. */
static unsigned column_best_width(const uint64_t *values, size_t n, uint64_t *cost)
{
    size_t i = 1;
    while (i < n && values[i] == values[0])
        i++;
    unsigned best = 0;
    *cost = varint_bytes(values[0]);
    if (i == n)
        return best;
    *cost = UINT64_MAX;
    for (unsigned width = 1; width <= 8; width *= 2) {
        const uint64_t c = column_cost(values, n, width);
        if (c < *cost) {
            *cost = c;
            best = width;
        }
        if (c == (uint64_t)n * width)
            break;                               /* no escapes: wider only costs more */
    }
    if (best == 1 && column_is_bits(values, n)) {
        *cost = (n + 7) / 8;
        best = COLUMN_BITS;
    }
    return best;
}

/* The distinct numbers in order of first appearance, and each number's index among them. */
struct column_dict {
    uint64_t values[COLUMN_DICT_MAX];
    uint16_t table[4 * COLUMN_DICT_MAX];      /* open addressing; index + 1, 0 = vacant */
    size_t   n;
    uint64_t indices[];
};

/* NULL if there are too many distinct numbers for a dictionary, or no memory for one: then `out` has failed, because
 * the same trace gives the same bytes or none. */
static struct column_dict *column_dict_make(struct bytes *out, const uint64_t *values, size_t n)
{
    const size_t limit = n / 4 < COLUMN_DICT_MAX ? n / 4 : COLUMN_DICT_MAX;
    if (limit == 0)
        return NULL;
    struct column_dict *d = malloc(sizeof *d + n * sizeof d->indices[0]);
    out->has_failed |= d == NULL;
    if (d == NULL)
        return NULL;
    d->n = 0;
    memset(d->table, 0, sizeof d->table);
    for (size_t i = 0; i < n; i++) {
        size_t h = (size_t)(values[i] * UINT64_C(0x9e3779b97f4a7c15) >> 50);
        while (d->table[h] != 0 && d->values[d->table[h] - 1] != values[i])
            h = (h + 1) % (4 * COLUMN_DICT_MAX);
        if (d->table[h] == 0) {
            if (d->n == limit) {
                free(d);
                return NULL;
            }
            d->values[d->n++] = values[i];
            d->table[h] = (uint16_t)d->n;
        }
        d->indices[i] = d->table[h] - 1u;
    }
    return d;
}

static void column_put_bits(struct bytes *out, const uint64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        unsigned byte = 0;
        for (size_t k = i; k < n && k < i + 8; k++)
            byte |= (unsigned)values[k] << (k - i);
        bytes_put_le(out, byte, 1);
    }
}

/* A block of zstd costs some bytes and a table of codes, so planes of fewer numbers than this share a block. */
enum { COLUMN_CUT = 1024 };

/* Puts everything after the form byte and the dictionary. Planes go into separate blocks of zstd: a low one is often
 * noise, which zstd stores as it is, a high one nearly empty. */
static void column_put_numbers(struct bytes *out, const uint64_t *values, size_t n, unsigned width)
{
    if (width == 0) {
        bytes_put_varint(out, values[0]);
        return;
    }
    if (width == COLUMN_BITS) {
        column_put_bits(out, values, n);
        return;
    }
    const uint64_t escape = column_escape(width);
    struct bytes escapes = {0};
    for (size_t i = 0; width < 8 && i < n; i++)
        if (values[i] >= escape)
            bytes_put_varint(&escapes, values[i] - escape);
    bytes_put_varint(out, escapes.n);
    if (bytes_reserve(out, n * width)) {
        unsigned char *at = out->data + out->n;
        for (unsigned plane = 0; plane < width; plane++) {
            if (plane > 0 && n >= COLUMN_CUT)
                bytes_cut(out);
            for (size_t i = 0; i < n; i++)
                *at++ = (unsigned char)((values[i] < escape ? values[i] : escape) >> (8 * plane));
            out->n += n;
        }
    }
    bytes_put(out, escapes.data, escapes.n);
    out->has_failed |= escapes.has_failed;
    bytes_free(&escapes);
}

void column_put(struct bytes *out, const uint64_t *values, size_t n)
{
    if (n == 0)
        return;
    uint64_t plain_cost, dict_cost = UINT64_MAX;
    unsigned width = column_best_width(values, n, &plain_cost), dict_width = 0;
    struct column_dict *dict = width <= 1 || width == COLUMN_BITS ? NULL : column_dict_make(out, values, n);
    if (dict != NULL) {
        dict_width = column_best_width(dict->indices, n, &dict_cost);
        for (size_t i = 0; i < dict->n; i++)
            dict_cost += varint_bytes(dict->values[i]);
    }
    if (dict_cost < plain_cost) {
        bytes_put_le(out, COLUMN_HAS_DICT | dict_width, 1);
        bytes_put_varint(out, dict->n);
        for (size_t i = 0; i < dict->n; i++)
            bytes_put_varint(out, dict->values[i]);
        column_put_numbers(out, dict->indices, n, dict_width);
    } else {
        bytes_put_le(out, width, 1);
        column_put_numbers(out, values, n, width);
    }
    free(dict);
}

/* ---- reading a column ---- */

void column_open(struct column *c, struct cursor *in, size_t n)
{
    c->n = n;
    c->done = 0;
    c->width = 0;
    c->constant = 0;
    c->n_dict = 0;
    c->main = NULL;
    c->escapes = (struct cursor){0};
    if (n == 0)
        return;
    const unsigned form = (unsigned)cursor_le(in, 1);
    c->width = form & COLUMN_WIDTH_MASK;
    const bool is_bits = c->width == COLUMN_BITS, is_bytes = c->width <= 8 && (c->width & (c->width - 1)) == 0;
    in->is_bad |= (!is_bits && !is_bytes) || (form & ~(unsigned)COLUMN_WIDTH_MASK) > COLUMN_HAS_DICT;
    if ((form & COLUMN_HAS_DICT) != 0) {
        c->n_dict = (size_t)cursor_varint_at_most(in, COLUMN_DICT_MAX);
        in->is_bad |= c->n_dict == 0;
    }
    for (size_t i = 0; i < c->n_dict; i++)
        c->dict[i] = cursor_varint(in);
    if (c->width == 0) {
        c->constant = cursor_varint(in);
        return;
    }
    if (is_bits) {
        c->main = in->is_bad ? NULL : cursor_take(in, (n + 7) / 8);
        in->is_bad |= n % 8 != 0 && c->main != NULL && c->main[n / 8] >> n % 8 != 0;
        return;
    }
    const uint64_t escape_bytes = cursor_varint_at_most(in, (uint64_t)n * 10);
    if (in->is_bad)
        return;
    c->main = cursor_take(in, n * c->width);
    const unsigned char *escapes = cursor_take(in, (size_t)escape_bytes);
    if (escapes != NULL)
        c->escapes = cursor_over(escapes, (size_t)escape_bytes);
}

static void column_read_bits(const struct column *c, uint64_t *out, size_t k)
{
    for (size_t i = 0, at = c->done; i < k; i++, at++)
        out[i] = c->main[at / 8] >> at % 8 & 1;
}

/* Reads k values from the planes. Compilers turn these loops into vector code. */
static void column_read_main(const struct column *c, uint64_t *out, size_t k)
{
    const unsigned char *p = c->main + c->done;
    const size_t n = c->n;
    switch (c->width) {
    case 1:
        for (size_t i = 0; i < k; i++)
            out[i] = p[i];
        break;
    case 2:
        for (size_t i = 0; i < k; i++)
            out[i] = p[i] | (uint64_t)p[n + i] << 8;
        break;
    case 4:
        for (size_t i = 0; i < k; i++)
            out[i] = p[i] | (uint64_t)p[n + i] << 8 | (uint64_t)p[2 * n + i] << 16 | (uint64_t)p[3 * n + i] << 24;
        break;
    default:
        for (size_t i = 0; i < k; i++) {
            out[i] = 0;
            for (unsigned plane = 0; plane < 8; plane++)
                out[i] |= (uint64_t)p[plane * n + i] << (8 * plane);
        }
    }
}

/* True if one of the k numbers from `done` on may be an escape: all bytes of an escape are 0xff. */
static bool column_has_escape(const struct column *c, size_t k)
{
    const unsigned char *p = c->main + c->done;
    unsigned char found = 0;
    if (c->width == 1) {
        for (size_t i = 0; i < k; i++)
            found |= p[i] == 0xff;
    } else {
        const unsigned char *q = p + c->n;
        for (size_t i = 0; i < k; i++)
            found |= (p[i] & q[i]) == 0xff;
    }
    return found != 0;
}

/* Replaces the escapes among the k numbers from `done` on by their numbers. */
static bool column_read_escapes(struct column *c, uint64_t *out, size_t k)
{
    assert(c->width < 8);                        /* numbers of 8 bytes need no escapes */
    const uint64_t escape = column_escape(c->width);
    for (size_t i = 0; i < k; i++)
        if (out[i] == escape) {
            const uint64_t above = cursor_varint(&c->escapes);
            if (c->escapes.is_bad || above > UINT64_MAX - escape)
                return false;
            out[i] = escape + above;
        }
    return true;
}

/* Replaces k indices by the numbers of the dictionary. */
static bool column_look_up(const struct column *c, uint64_t *out, size_t k)
{
    bool is_good = true;
    for (size_t i = 0; i < k; i++) {
        is_good &= out[i] < c->n_dict;
        out[i] = c->dict[out[i] & (COLUMN_DICT_MAX - 1)];
    }
    return is_good;
}

bool column_read(struct column *c, uint64_t *out, size_t k)
{
    assert(c->done <= c->n);
    if (k > c->n - c->done || (c->width != 0 && c->main == NULL))
        return false;
    if (c->width == 0) {
        for (size_t i = 0; i < k; i++)
            out[i] = c->constant;
        c->done += k;
    } else {
        if (c->width == COLUMN_BITS)
            column_read_bits(c, out, k);
        else
            column_read_main(c, out, k);
        if (c->width < 8 && column_has_escape(c, k) && !column_read_escapes(c, out, k))
            return false;
        c->done += k;
        if (c->done == c->n && c->escapes.at != c->escapes.end)
            return false;
    }
    return c->n_dict == 0 || column_look_up(c, out, k);
}

bool column_read_all(struct column *c, struct cursor *in, uint64_t *out, size_t n)
{
    column_open(c, in, n);
    for (size_t i = 0; i < n && !in->is_bad; i += COLUMN_BATCH)
        in->is_bad |= !column_read(c, out + i, n - i < COLUMN_BATCH ? n - i : COLUMN_BATCH);
    return !in->is_bad;
}
