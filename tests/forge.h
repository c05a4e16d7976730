/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Forged native traces: unpacks the sections of a file, so that a test can change them and pack them again with right
 * checksums, as an attacker would.
 */
#ifndef REPLAY_TESTS_FORGE_H
#define REPLAY_TESTS_FORGE_H

#include "traces/columns.h"
#include "traces/native.h"
#include "traces/native_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { FORGE_SECTIONS = 128 };

struct forge_section {
    uint32_t     kind, rows;
    struct bytes content;
};

/* The index is kept apart, without its list of sections: packing makes that. */
struct forge {
    struct forge_section sections[FORGE_SECTIONS];
    size_t               n;
    struct bytes         index;
    size_t               gap;            /* unused bytes before the index */
    bool                 lacks_checksums, is_unfinished;     /* is_unfinished: packed without index and foot */
};

static inline void forge_free(struct forge *f)
{
    for (size_t i = 0; i < f->n; i++)
        bytes_free(&f->sections[i].content);
    bytes_free(&f->index);
    free(f);
}

/* The first section of a kind; NULL if there is none. */
static inline struct forge_section *forge_find(struct forge *f, uint32_t kind)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->sections[i].kind == kind)
            return &f->sections[i];
    return NULL;
}

/* Appends the name of a section and its packed content; returns the size of the packed content. */
static inline uint64_t forge_pack_section(struct bytes *file, uint32_t kind, uint32_t rows, const struct bytes *content,
                                          bool has_checksum)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, has_checksum);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 1);
    const size_t room = ZSTD_compressBound(content->n);
    void *packed = malloc(room);
    const size_t n = ZSTD_compress2(zstd, packed, room, content->data, content->n);
    bytes_put_le(file, NATIVE_SKIP_SECTION, 4);
    bytes_put_le(file, NATIVE_SECTION_BYTES - 8, 4);
    bytes_put(file, section_tag(kind), 4);
    bytes_put_le(file, rows, 4);
    bytes_put_le(file, n, 4);
    bytes_put(file, packed, n);
    free(packed);
    ZSTD_freeCCtx(zstd);
    return n;
}

/* A column of the list of sections in an index. `field` 0: their number and kinds, 1: rows, 2: packed bytes. */
static inline void forge_put_list(struct bytes *out, const struct forge *f, const uint64_t *packed, int field)
{
    uint64_t values[FORGE_SECTIONS];
    if (field == 0)
        bytes_put_varint(out, f->n);
    for (size_t i = 0; i < f->n; i++)
        values[i] = field == 0 ? f->sections[i].kind : field == 1 ? f->sections[i].rows : packed[i];
    column_put(out, values, f->n);
}

/* A whole file; bytes_free() it. */
static inline struct bytes forge_pack(const struct forge *f)
{
    struct bytes file = {0}, index = {0};
    uint64_t packed[FORGE_SECTIONS];
    bytes_put_le(&file, NATIVE_SKIP_ENDS, 4);
    bytes_put_le(&file, NATIVE_HEAD_BYTES - 8, 4);
    bytes_put(&file, NATIVE_HEAD_TEXT, 12);
    bytes_put_le(&file, NATIVE_VERSION, 4);
    for (size_t i = 0; i < f->n; i++)
        packed[i] = forge_pack_section(&file, f->sections[i].kind, f->sections[i].rows, &f->sections[i].content,
                                       !f->lacks_checksums);
    if (f->is_unfinished)
        return file;
    bytes_put(&index, f->index.data, f->index.n);
    for (int field = 0; field < 3; field++)
        forge_put_list(&index, f, packed, field);
    for (size_t i = 0; i < f->gap; i++)
        bytes_put_le(&file, 0, 1);
    const uint64_t offset = file.n;
    (void)forge_pack_section(&file, SECTION_INDEX, 1, &index, true);
    bytes_put_foot(&file, offset);
    bytes_free(&index);
    return file;
}

/* Unpacks a section of a file. */
static inline bool forge_take(struct native_file *file, const struct section *s, struct bytes *out)
{
    size_t n;
    if (native_section(file, s, &n, NULL) != ERR_OK)
        return false;
    bytes_put(out, file->raw, n);
    return true;
}

/* Cuts the list of sections off the index. */
static inline bool forge_cut_list(struct forge *f, const uint64_t *packed)
{
    struct bytes list = {0};
    for (int field = 0; field < 3; field++)
        forge_put_list(&list, f, packed, field);
    const bool is_good = list.n <= f->index.n && memcmp(f->index.data + f->index.n - list.n, list.data, list.n) == 0;
    f->index.n -= is_good ? list.n : 0;
    bytes_free(&list);
    return is_good;
}

/* Unpacks a valid file of at most FORGE_SECTIONS sections; forge_free() it. NULL for any other file. */
static inline struct forge *forge_open(const void *bytes, size_t n)
{
    struct forge *f = calloc(1, sizeof *f);
    struct native_file file = {0};
    struct section index = {0}, s = {.offset = NATIVE_HEAD_BYTES};
    uint64_t packed[FORGE_SECTIONS];
    bool is_good = native_open_bytes(&file, bytes, n, NULL, "<forge>", NULL) == ERR_OK &&
                   native_find_index(&file, &index, NULL) == ERR_OK && forge_take(&file, &index, &f->index);
    while (is_good && s.offset < index.offset && f->n < FORGE_SECTIONS) {
        is_good = native_walk(&file, s.offset, &s, NULL) == ERR_OK;
        packed[f->n] = s.packed_bytes;
        f->sections[f->n] = (struct forge_section){.kind = s.kind, .rows = s.rows};
        is_good = is_good && forge_take(&file, &s, &f->sections[f->n++].content);
        s.offset += NATIVE_SECTION_BYTES + (uint64_t)s.packed_bytes;
    }
    is_good = is_good && s.offset == index.offset && forge_cut_list(f, packed);
    native_close(&file);
    if (is_good)
        return f;
    forge_free(f);
    return NULL;
}

#endif
