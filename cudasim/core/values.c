/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The kept bytes as a list of pieces that do not overlap. A piece without bytes was too large to keep; if it is read
 * before anything else may have written there, this is said once.
 */
#include "cudasim/core/values.h"

#include "base/array.h"
#include "base/units.h"
#include "cudasim/core/state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond so many pieces all are dropped: a program that copies so often without a kernel loads weights. */
enum { PIECES_MAX = 4096 };

struct piece {
    uint64_t addr, bytes;
    unsigned char *value;            /* NULL: it was too large */
};

static struct {
    struct piece *pieces;
    size_t   n, cap;
    uint64_t kept_bytes, each_bytes, all_bytes;
    bool     is_open, is_said;
    int      is_any;                 /* n > 0; read without the lock before each kernel */
} values;

/* What the next reads of unknown bytes give, in the thread that said so. */
enum { ANSWERS_MAX = 1024 };
static _Thread_local struct {
    int64_t numbers[ANSWERS_MAX];
    size_t  n, next;
} answers;

/* What was lent to this thread. */
static _Thread_local struct {
    uint64_t from, bytes;
    const void *value;               /* NULL: nothing */
} lent;

static cudasim_values_teller *values_teller;

static void open_limits(void)
{
    const char *text = cudasim_setting(CUDASIM_ENV_VALUES);
    if (values.is_open)
        return;
    values.is_open = true;
    values.each_bytes = 16 * MIB;        /* weights of a layer, which nobody branches on, are mostly larger */
    values.all_bytes = 256 * MIB;
    const size_t n = text == NULL ? 0 : strcspn(text, ",");
    if (n > 0)
        (void)units_parse_bytes(text, n, &values.each_bytes);
    if (n > 0 && text[n] == ',')
        (void)units_parse_bytes(text + n + 1, strlen(text + n + 1), &values.all_bytes);
}

static void piece_remove(size_t i)
{
    if (values.pieces[i].value != NULL)
        values.kept_bytes -= values.pieces[i].bytes;
    free(values.pieces[i].value);
    values.pieces[i] = values.pieces[--values.n];
    __atomic_store_n(&values.is_any, values.n > 0, __ATOMIC_RELAXED);
}

/* A piece; `from` NULL, or no memory: one without bytes. */
static void piece_add(uint64_t addr, const void *from, uint64_t bytes)
{
    while (values.n >= PIECES_MAX)
        piece_remove(values.n - 1);
    struct piece *pieces = array_grow(values.pieces, values.n, &values.cap, sizeof *pieces);
    if (pieces == NULL)
        return;
    values.pieces = pieces;
    struct piece *p = &values.pieces[values.n++];
    const bool is_kept = from != NULL && bytes <= values.each_bytes && bytes <= values.all_bytes - values.kept_bytes;
    *p = (struct piece){ .addr = addr, .bytes = bytes, .value = is_kept ? malloc(bytes) : NULL };
    if (p->value != NULL) {
        memcpy(p->value, from, bytes);
        values.kept_bytes += bytes;
    }
    assert(values.kept_bytes <= values.all_bytes);
    __atomic_store_n(&values.is_any, 1, __ATOMIC_RELAXED);
}

/* Cuts [addr, addr + bytes) out of all pieces; what lies on either side stays. */
static void cut_out(uint64_t addr, uint64_t bytes)
{
    for (size_t i = values.n; i-- > 0;) {
        const struct piece p = values.pieces[i];
        if (p.addr >= addr + bytes || addr >= p.addr + p.bytes)
            continue;
        values.pieces[i].value = NULL;           /* borrowed by `p` for the two rests */
        values.kept_bytes -= p.value != NULL ? p.bytes : 0;
        piece_remove(i);
        const uint64_t end = addr + bytes, p_end = p.addr + p.bytes;
        if (p.addr < addr)
            piece_add(p.addr, p.value, addr - p.addr);
        if (p_end > end)
            piece_add(end, p.value == NULL ? NULL : p.value + (end - p.addr), p_end - end);
        free(p.value);
    }
}

void values_put(uint64_t to, const void *from, uint64_t bytes)
{
    open_limits();
    cut_out(to, bytes);
    if (values.each_bytes > 0)
        piece_add(to, from, bytes);
}

static void say_once(uint64_t bytes)
{
    char size[UNITS_TEXT];
    if (values.is_said)
        return;
    values.is_said = true;
    fprintf(stderr, "replay cudasim: %s that were copied to the card are read back as zeros: too large to be kept "
                    "(run-sim --values)\n", units_format_bytes(bytes, size));
}

/* A number is little-endian, so its first bytes are a smaller number. A longer read takes several, if all are there. */
static void answer_take(void *to, uint64_t bytes)
{
    const uint64_t each = sizeof answers.numbers[0], n = (bytes + each - 1) / each;
    if (n > answers.n - answers.next || (n > 1 && bytes % each != 0))
        return;
    memcpy(to, &answers.numbers[answers.next], bytes);
    answers.next += n;
}

void values_get(void *to, uint64_t from, uint64_t bytes)
{
    uint64_t found = 0;
    memset(to, 0, bytes);
    for (size_t i = 0; i < values.n; i++) {
        const struct piece *p = &values.pieces[i];
        const uint64_t first = p->addr > from ? p->addr : from;
        const uint64_t end = p->addr + p->bytes < from + bytes ? p->addr + p->bytes : from + bytes;
        if (first >= end)
            continue;
        if (p->value != NULL)
            memcpy((char *)to + (first - from), p->value + (first - p->addr), end - first);
        else
            say_once(p->bytes);
        found += end - first;
    }
    if (found < bytes && lent.value != NULL && lent.from == from && lent.bytes == bytes)
        memcpy(to, lent.value, bytes);
    else if (found == 0)
        answer_take(to, bytes);
}

void cudasim_values_ask(cudasim_values_teller *teller)
{
    __atomic_store_n(&values_teller, teller, __ATOMIC_RELEASE);
}

void values_ask(uint64_t from, uint64_t bytes)
{
    cudasim_values_teller *teller = __atomic_load_n(&values_teller, __ATOMIC_ACQUIRE);
    lent.value = NULL;
    if (teller == NULL)
        return;
    lent.from = from;
    lent.bytes = bytes;
    lent.value = teller(from, bytes);
}

int64_t cudasim_values_next_answer(void)
{
    int64_t number = 0;
    answer_take(&number, sizeof number);
    return number;
}

void cudasim_values_answer(const int64_t *numbers, uint64_t n)
{
    answers.n = n < ANSWERS_MAX ? n : ANSWERS_MAX;
    answers.next = 0;
    if (n > 0)
        memcpy(answers.numbers, numbers, answers.n * sizeof *numbers);
}

bool cudasim_values_known(uint64_t from, void *to, uint64_t bytes)
{
    uint64_t found = 0;
    cudasim_lock();
    for (size_t i = 0; i < values.n; i++) {
        const struct piece *p = &values.pieces[i];
        const uint64_t first = p->addr > from ? p->addr : from;
        const uint64_t end = p->addr + p->bytes < from + bytes ? p->addr + p->bytes : from + bytes;
        if (first >= end || p->value == NULL)
            continue;
        memcpy((char *)to + (first - from), p->value + (first - p->addr), end - first);
        found += end - first;
    }
    cudasim_unlock();
    return found == bytes;
}

void cudasim_values_keep(uint64_t to, const void *from, uint64_t bytes)
{
    cudasim_lock();
    values_put(to, from, bytes);
    cudasim_unlock();
}

/* The pieces under the source are copied out first, because the two may overlap. */
void values_copy(uint64_t to, uint64_t from, uint64_t bytes)
{
    struct piece *under = calloc(values.n + 1, sizeof *under);
    size_t n = 0;
    for (size_t i = 0; under != NULL && i < values.n; i++) {
        const struct piece *p = &values.pieces[i];
        const uint64_t first = p->addr > from ? p->addr : from;
        const uint64_t end = p->addr + p->bytes < from + bytes ? p->addr + p->bytes : from + bytes;
        if (first >= end)
            continue;
        unsigned char *value = p->value != NULL ? malloc(end - first) : NULL;
        if (value != NULL)
            memcpy(value, p->value + (first - p->addr), end - first);
        under[n++] = (struct piece){ .addr = to + (first - from), .bytes = end - first, .value = value };
    }
    cut_out(to, bytes);
    for (size_t i = 0; i < n; i++) {
        piece_add(under[i].addr, under[i].value, under[i].bytes);
        free(under[i].value);
    }
    free(under);
}

void values_drop(uint64_t addr, uint64_t bytes)
{
    cut_out(addr, bytes);
}

void cudasim_values_unknown(void)
{
    if (__atomic_load_n(&values.is_any, __ATOMIC_RELAXED) == 0)
        return;
    cudasim_lock();
    while (values.n > 0)
        piece_remove(values.n - 1);
    cudasim_unlock();
}
