/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A block is a row of sequences. The last one ends after its literals:
 *
 *     token | more of n_literals | literals | offset u16 | more of n_match
 *     token: n_literals << 4 | n_match - 4; 15 means that further bytes are added, up to one that is not 255
 */
#include "cudasim/code/lz4_block.h"

#include <string.h>

enum { MATCH_LEAST = 4, HALF_BYTE = 15, BYTE_MOST = 255 };

struct lz4_reader {
    const unsigned char *at, *end;
};

/* A length whose first part is `n`. False if it is cut off. */
static bool read_length(struct lz4_reader *r, size_t *n)
{
    unsigned char more = BYTE_MOST;
    if (*n != HALF_BYTE)
        return true;
    while (more == BYTE_MOST) {
        if (r->at == r->end)
            return false;
        more = *r->at++;
        *n += more;                          /* cannot overflow: each byte of memory adds at most 255 */
    }
    return true;
}

/* Copies n bytes that begin `offset` before `to`. The two may overlap, and then the bytes repeat. */
static void copy_match(unsigned char *to, size_t offset, size_t n)
{
    const unsigned char *from = to - offset;
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

bool lz4_block_unpack(const unsigned char *from, size_t n, unsigned char *to, size_t room)
{
    struct lz4_reader r = { from, from + n };
    size_t done = 0;
    while (r.at < r.end) {
        const unsigned char token = *r.at++;
        size_t n_literals = token >> 4, n_match = token & HALF_BYTE;
        if (!read_length(&r, &n_literals) || n_literals > (size_t)(r.end - r.at) || n_literals > room - done)
            return false;
        memcpy(to + done, r.at, n_literals);
        r.at += n_literals;
        done += n_literals;
        if (r.at == r.end)
            return done == room;
        if (r.end - r.at < 2)
            return false;
        const size_t offset = r.at[0] | (size_t)r.at[1] << 8;
        r.at += 2;
        if (!read_length(&r, &n_match) || offset == 0 || offset > done || n_match + MATCH_LEAST > room - done)
            return false;
        copy_match(to + done, offset, n_match + MATCH_LEAST);
        done += n_match + MATCH_LEAST;
    }
    return false;
}
