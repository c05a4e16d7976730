/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What XLA lists with an error: the memory that a compiled program takes, and its largest buffers. On cards and hosts
 * that is BufferAssignment's list, on a TPU the compiler's of HBM.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_XLA_H
#define REPLAY_REPLAY_WHY_LOG_XLA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { LOG_XLA_BUFFERS = 3, LOG_XLA_NAME = 72 };

struct log_xla_buffer {
    uint64_t bytes;
    char operation[LOG_XLA_NAME];    /* the end of its name: "attention/dot_general"; "": not told */
    char line[LOG_XLA_NAME];         /* "model.py:88"; "": not told */
    char shape[LOG_XLA_NAME];        /* "f32[16,32,2048,2048]"; "": not told */
    bool is_argument;
};

/* Bytes; UINT64_MAX: not told. */
struct log_xla {
    bool     is_found;               /* a list is; the sizes of the error's own line may be known without */
    uint64_t asked, free;            /* in the error's line */
    uint64_t used, capacity;         /* of HBM */
    bool     has_map;                /* of what BFC has of the card, in its log */
    int      map_percent;            /* in use by that map */
    uint64_t arguments, results, temporaries, total;
    struct log_xla_buffer at[LOG_XLA_BUFFERS];       /* in the order of the list: the largest first */
    size_t   n;
};

/* Of the list nearest to the error at text[at], which may stand before or after it. */
void log_xla_read(const char *text, size_t n, size_t at, struct log_xla *out);

/* Paragraphs after "- ": what BFC's map shows, what the program takes, its largest buffers, and what makes the largest
 * part smaller. Of the list nothing if none was found. */
void log_xla_print(FILE *out, const struct log_xla *x);

#endif
