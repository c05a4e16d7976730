/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A pickle writer, protocol 2: dictionaries, lists, texts, numbers, and names for values that are written again.
 *
 * It uses only the opcodes of PyTorch's C++ writer (torch/csrc/jit/serialization/pickler.cpp), so that every reader of
 * PyTorch's files reads these. It keeps one copy of each text and four bytes for its number.
 */
#ifndef REPLAY_IMPORT_PYTORCH_PICKLE_WRITER_H
#define REPLAY_IMPORT_PYTORCH_PICKLE_WRITER_H

#include "base/err.h"
#include "base/intern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pickle_writer {
    FILE    *out;                    /* borrowed; errors of writing stay in it */
    uint32_t n_names;                /* memo numbers given out */
    struct text_table texts;
    uint32_t *name_of;               /* of each text */
    size_t   room_names;
    bool     is_short;               /* the host ran out of memory: the pickle is unusable */
};

struct pickle_writer pickle_writer_open(FILE *out);

/* Items are written between the two calls of a container; those of a dictionary as key, value, key, value. */
void pickle_put_dict(struct pickle_writer *w);
void pickle_end_dict(struct pickle_writer *w);
void pickle_put_list(struct pickle_writer *w);
void pickle_end_list(struct pickle_writer *w);

/* Call this before the i-th item, from 0, of a list that may be long: it splits the items into batches, as CPython's
 * pickler does. MemoryViz passes a batch to one call of JavaScript's push, which accepts some ten thousand values. */
void pickle_list_item(struct pickle_writer *w, uint64_t i);

/* Bytes of a text that are not UTF-8 become U+FFFD. */
void pickle_put_text(struct pickle_writer *w, const char *text);
void pickle_put_number(struct pickle_writer *w, uint64_t number);
void pickle_put_integer(struct pickle_writer *w, int64_t number);
void pickle_put_bool(struct pickle_writer *w, bool is_true);
void pickle_put_float(struct pickle_writer *w, double number);
void pickle_put_pair(struct pickle_writer *w, uint64_t first, uint64_t second);

/* Gives the value just written a number (its name), for pickle_put_named. */
uint32_t pickle_name(struct pickle_writer *w);
void pickle_put_named(struct pickle_writer *w, uint32_t name);

/* Ends the pickle and frees the writer's memory. ERR_HOST_NOMEM if the host ran out of memory at any time. */
MUST_USE enum err pickle_writer_close(struct pickle_writer *w, struct err_detail *err);

#endif
