/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Opcodes and their arguments: CPython, Lib/pickletools.py. */
#include "tests/fuzz/mutators.h"

#include "tests/fuzz/forged_input.h"

#include <stdbool.h>
#include <string.h>

enum {
    OPS_MAX = 1 << 14,
    PLAIN_SHARE = 8,                         /* one change in so many is left to `bytes` */
    PART_MAX = 1 << 12,                      /* the longest text or content that is changed as bytes */
    SECTION_HEAD = 5                         /* kind, rows - 1, length */
};

/* ---- chance ---- */

/* SplitMix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t n)
{
    return n == 0 ? 0 : (size_t)(draw(state) % n);
}

/* ---- parts of a buffer ---- */

struct buffer {
    uint8_t *data;
    size_t   n, room;
};

/* Replaces data[at, at + old) by `n` bytes of `part`, which may lie in the buffer. False without room. */
static bool splice(struct buffer *b, size_t at, size_t old, const uint8_t *part, size_t n)
{
    uint8_t copy[PART_MAX];
    if (n > sizeof copy || b->n - old + n > b->room)
        return false;
    memcpy(copy, part, n);
    memmove(b->data + at + n, b->data + at + old, b->n - at - old);
    memcpy(b->data + at, copy, n);
    b->n += n - old;
    return true;
}

static uint64_t little(const uint8_t *bytes, size_t n)
{
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;)
        v = v << 8 | bytes[i];
    return v;
}

static void put_little(uint8_t *bytes, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++, v >>= 8)
        bytes[i] = (uint8_t)v;
}

/* Changes data[at, at + n) as bytes, to at most `most`. Returns the new length; `n` if there is no room. */
static size_t change_part(struct buffer *b, size_t at, size_t n, size_t most, mutate_bytes bytes)
{
    uint8_t part[PART_MAX];
    if (n > sizeof part)
        return n;
    memcpy(part, b->data + at, n);
    const size_t changed = bytes(part, n, most < sizeof part ? most : sizeof part);
    return splice(b, at, n, part, changed) ? changed : n;
}

/* ---- pickles ---- */

struct op {
    size_t at, n;                            /* bytes, the opcode included */
    size_t fixed;                            /* bytes of a number, or of the length of a text; 0: neither */
    bool   is_text;
};

struct ops {
    struct op at[OPS_MAX];
    size_t n;
};

/* What follows an opcode. Digits: a number of so many bytes; a letter: a text after a length of 1, 4 or 8 bytes (a, d,
 * h); n: to the end of the line; m: two lines; 0: nothing. */
static char argument_of(uint8_t opcode)
{
    static const char kinds[] =
        "K1h1q1\x80" "1\x82" "1M2\x83" "2J4j4r4\x84" "4G8\x95" "8\x8c" "aUa\x8a" "aCaXdTdBd\x8b" "d\x8dh\x8eh\x96h"
        "InLnFnSnVngnpnPncmim";
    for (size_t i = 0; i + 1 < sizeof kinds; i += 2)
        if ((uint8_t)kinds[i] == opcode)
            return kinds[i + 1];
    return '0';
}

static size_t line_length(const uint8_t *at, size_t n)
{
    const uint8_t *end = memchr(at, '\n', n);
    return end == NULL ? n : (size_t)(end - at) + 1;
}

static struct op read_op(const struct buffer *b, size_t at)
{
    const uint8_t *p = b->data + at;
    const size_t left = b->n - at - 1;
    const char kind = argument_of(p[0]);
    struct op op = { .at = at };
    size_t n = 0;
    if (kind >= '0' && kind <= '8') {
        n = op.fixed = (size_t)(kind - '0');
    } else if (kind == 'n' || kind == 'm') {
        n = line_length(p + 1, left);
        n += kind == 'm' && n < left ? line_length(p + 1 + n, left - n) : 0;
    } else {
        op.fixed = kind == 'a' ? 1 : kind == 'd' ? 4 : 8;
        op.is_text = true;
        const uint64_t length = op.fixed <= left ? little(p + 1, op.fixed) : 0;
        n = length > left ? left : op.fixed + (size_t)length;
    }
    op.n = 1 + (n < left ? n : left);
    if (op.n < 1 + op.fixed)
        op.fixed = 0;
    return op;
}

static void read_ops(const struct buffer *b, struct ops *ops)
{
    ops->n = 0;
    for (size_t at = 0; at < b->n && ops->n < OPS_MAX; at += ops->at[ops->n++].n)
        ops->at[ops->n] = read_op(b, at);
}

/* The end, exclusive, of the item that begins with op i: from a mark, or the empty container before it, to what uses
 * the mark up. i + 1 for all others. */
static size_t item_end(const struct buffer *b, const struct ops *ops, size_t i)
{
    size_t depth = 0, k = i;
    if (strchr("})]", b->data[ops->at[i].at]) != NULL && i + 1 < ops->n && b->data[ops->at[i + 1].at] != '(')
        return i + 1;
    for (; k < ops->n; k++) {
        const uint8_t opcode = b->data[ops->at[k].at];
        depth += opcode == '(';
        if (depth > 0 && opcode != 0 && strchr("uetdl1", opcode) != NULL && --depth == 0)
            return k + 1;
        if (depth == 0 && k > i)
            break;
    }
    return i + 1;
}

/* Bytes of the ops [from, to). */
static size_t run_bytes(const struct ops *ops, size_t from, size_t to)
{
    return from == to ? 0 : ops->at[to - 1].at + ops->at[to - 1].n - ops->at[from].at;
}

/* Another op with an argument of the same kind; `i` itself if none turns up. */
static size_t similar_op(const struct buffer *b, const struct ops *ops, size_t i, uint64_t *state)
{
    for (int tries = 0; tries < 32; tries++) {
        const size_t k = below(state, ops->n);
        if (k != i && ops->at[k].fixed > 0 && ops->at[k].is_text == ops->at[i].is_text &&
            b->data[ops->at[k].at] == b->data[ops->at[i].at])
            return k;
    }
    return i;
}

/* Changes a text as bytes, and its length with it. */
static void change_text(struct buffer *b, const struct op *op, mutate_bytes bytes)
{
    const size_t n = op->n - 1 - op->fixed, most = op->fixed == 1 ? 255 : PART_MAX;
    const size_t changed = change_part(b, op->at + 1 + op->fixed, n, most, bytes);
    put_little(b->data + op->at + 1, changed, op->fixed);
}

static void change_number(struct buffer *b, const struct op *op, uint64_t *state)
{
    static const uint64_t edges[] = { 0, 1, 255, 256, 511, 512, 1 << 20, 2 << 20, 20 << 20, INT32_MAX, UINT32_MAX,
                                      INT64_MAX, UINT64_MAX };
    uint8_t *at = b->data + op->at + 1;
    const uint64_t old = little(at, op->fixed);
    const uint64_t to[] = { edges[below(state, sizeof edges / sizeof edges[0])], old + 1, old - 1, old << 1, old >> 1,
                            old ^ UINT64_C(1) << below(state, 8 * op->fixed), old + 512, old + (2 << 20) };
    put_little(at, to[below(state, sizeof to / sizeof to[0])], op->fixed);
}

/* One op's argument: a number or a text, its own or that of another. */
static void change_argument(struct buffer *b, const struct ops *ops, size_t i, uint64_t *state, mutate_bytes bytes)
{
    const struct op *op = &ops->at[i];
    if (op->fixed == 0)
        return;
    const size_t k = similar_op(b, ops, i, state);
    if (k != i && below(state, 2) == 0)
        splice(b, op->at, op->n, b->data + ops->at[k].at, ops->at[k].n);
    else if (op->is_text)
        change_text(b, op, bytes);
    else
        change_number(b, op, state);
}

/* Drops, repeats or moves the item that begins with op i, or puts it in the place of another. */
static void change_run(struct buffer *b, const struct ops *ops, size_t i, uint64_t *state)
{
    const size_t to = item_end(b, ops, i), n = run_bytes(ops, i, to), from = ops->at[i].at;
    const size_t k = below(state, ops->n), n_other = run_bytes(ops, k, item_end(b, ops, k));
    switch (below(state, 4)) {
    case 0: splice(b, from, n, b->data, 0); break;
    case 1: splice(b, from + n, 0, b->data + from, n); break;
    case 2: splice(b, ops->at[k].at, 0, b->data + from, n); break;
    default: splice(b, ops->at[k].at, n_other, b->data + from, n); break;
    }
}

size_t mutate_pickle(uint8_t *data, size_t n, size_t room, uint32_t seed, mutate_bytes bytes)
{
    static struct ops ops;
    struct buffer b = { .data = data, .n = n, .room = room };
    uint64_t state = seed;
    if (n < 2 || data[0] != 0x80 || below(&state, PLAIN_SHARE) == 0)
        return bytes(data, n, room);
    for (size_t left = 1 + below(&state, 4); left > 0; left--) {
        read_ops(&b, &ops);
        const size_t i = 1 + below(&state, ops.n - 1);       /* the protocol stays */
        if (i >= ops.n)
            break;
        if (below(&state, 2) == 0)
            change_argument(&b, &ops, i, &state, bytes);
        else
            change_run(&b, &ops, i, &state);
    }
    return b.n;
}

/* ---- native traces ---- */

/* Bytes of the section at `at`, its head included; 0 if none begins there. */
static size_t section_bytes(const struct buffer *b, size_t at)
{
    if (at + SECTION_HEAD > b->n)
        return 0;
    const size_t length = (size_t)little(b->data + at + 3, 2), left = b->n - at - SECTION_HEAD;
    return SECTION_HEAD + (length < left ? length : left);
}

static size_t count_sections(const struct buffer *b)
{
    size_t n = 0;
    for (size_t at = 1, step; (step = section_bytes(b, at)) > 0; at += step)
        n++;
    return n;
}

static size_t find_section(const struct buffer *b, size_t which)
{
    size_t at = 1;
    while (which-- > 0)
        at += section_bytes(b, at);
    return at;
}

static void change_section(struct buffer *b, size_t at, size_t other, uint64_t *state, mutate_bytes bytes)
{
    const size_t n = section_bytes(b, at), n_other = section_bytes(b, other);
    switch (below(state, 8)) {
    case 0: splice(b, at, n, b->data, 0); break;
    case 1: splice(b, other, 0, b->data + at, n); break;
    case 2: splice(b, other, n_other, b->data + at, n); break;
    case 3: b->data[at] = (uint8_t)below(state, 16); break;
    case 4: put_little(b->data + at + 1, little(b->data + at + 1, 2) + below(state, 5) - 2, 2); break;
    default: put_little(b->data + at + 3, change_part(b, at + SECTION_HEAD, n - SECTION_HEAD, UINT16_MAX, bytes), 2);
    }
}

size_t mutate_native(uint8_t *data, size_t n, size_t room, uint32_t seed, mutate_bytes bytes)
{
    struct buffer b = { .data = data, .n = n, .room = room };
    uint64_t state = seed;
    if (n < 1 + SECTION_HEAD || !forged_is_sections(data, n) || below(&state, PLAIN_SHARE) == 0)
        return bytes(data, n, room);
    for (size_t left = 1 + below(&state, 3); left > 0; left--) {
        const size_t n_sections = count_sections(&b);
        if (n_sections == 0)
            break;
        const size_t at = find_section(&b, below(&state, n_sections));
        const size_t other = find_section(&b, below(&state, n_sections));
        change_section(&b, at, other, &state, bytes);
    }
    return b.n;
}

/* ---- files ---- */

size_t mutate_file(uint8_t *data, size_t n, size_t room, uint32_t seed, mutate_bytes bytes)
{
    uint64_t state = seed;
    size_t letters = 0;
    while (letters < n && memchr("ZGH", data[letters], 3) != NULL)
        letters++;
    if (letters == n || below(&state, 2 * PLAIN_SHARE) == 0)
        return bytes(data, n, room);
    uint8_t *rest = data + letters;
    const uint32_t further = (uint32_t)draw(&state);
    if (forged_is_sections(rest, n - letters))
        return letters + mutate_native(rest, n - letters, room - letters, further, bytes);
    return letters + mutate_pickle(rest, n - letters, room - letters, further, bytes);
}

size_t mutate_command(uint8_t *data, size_t n, size_t room, uint32_t seed, mutate_bytes bytes)
{
    uint64_t state = seed;
    struct buffer b = { .data = data, .n = n, .room = room };
    const uint8_t *end = n > 1 ? memchr(data + 1, '\n', n - 1) : NULL;
    if (end == NULL || end + 1 == data + n)
        return bytes(data, n, room);
    const size_t line = (size_t)(end - data) + 1;
    const uint32_t further = (uint32_t)draw(&state);
    switch (below(&state, 8)) {
    case 0: data[0] = (uint8_t)draw(&state); return n;
    case 1: change_part(&b, 1, line - 2, PART_MAX, bytes); return b.n;
    default: return line + mutate_file(data + line, n - line, room - line, further, bytes);
    }
}
