/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fat binaries: the choice of an image, and its unpacking.
 */
#include "cudasim/code/fat_binary.h"

#include <assert.h>
#include <limits.h>
#include <lz4.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define WRAPPER_MAGIC UINT32_C(0x466243b1)
#define BINARY_MAGIC  UINT32_C(0xba55ed50)

enum { KIND_PTX = 1, KIND_CODE = 2, PACKED_LZ4 = 0x2000, PACKED_ZSTD = 0x8000, IMAGE_BYTES_MOST = 1 << 30 };

struct fat_wrapper {
    uint32_t magic, version;
    const unsigned char *binary;
};

struct fat_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

struct fat_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t stored_bytes;
    uint32_t packed_bytes, unused[2], capability, unused_too[2];
    uint64_t flags, unused_last, unpacked_bytes;
};
static_assert(sizeof(struct fat_header) == 16 && sizeof(struct fat_entry) == 64, "as nvcc writes them");

/* Byte by byte, because what a pointer without a length points to may be shorter than a magic number. */
static bool has_magic(const unsigned char *image, size_t most, uint32_t magic)
{
    for (unsigned i = 0; i < 4; i++)
        if (i >= most || image[i] != (magic >> 8 * i & 0xff))
            return false;
    return true;
}

bool fat_binary_is_wrapper(const unsigned char *image, size_t most)
{
    return most >= sizeof(struct fat_wrapper) && has_magic(image, most, WRAPPER_MAGIC);
}

const unsigned char *fat_binary_unwrap(const void *wrapper)
{
    struct fat_wrapper w;
    memcpy(&w, wrapper, sizeof w);
    return w.binary;
}

size_t fat_binary_extent(const unsigned char *image, size_t most)
{
    struct fat_header h;
    if (most < sizeof h || !has_magic(image, most, BINARY_MAGIC))
        return 0;
    memcpy(&h, image, sizeof h);
    const bool is_whole = h.header_bytes <= most && h.bytes <= IMAGE_BYTES_MOST && h.bytes <= most - h.header_bytes;
    return is_whole && h.header_bytes >= sizeof h ? (size_t)(h.header_bytes + h.bytes) : 0;
}

/* Takes the entry's image if it fits the card better than what was taken before. */
static void consider(struct fat_choice *c, const struct fat_entry *e, const unsigned char *image, unsigned card)
{
    const bool is_code = e->kind == KIND_CODE && e->capability / 10 == card / 10;
    unsigned *best = is_code ? &c->code : e->kind == KIND_PTX ? &c->ptx : NULL;
    if (best == NULL || e->capability > card || e->capability <= *best)
        return;
    *best = e->capability;
    if (!is_code)
        return;
    const bool is_packed = (e->flags & (PACKED_LZ4 | PACKED_ZSTD)) != 0;
    c->image = image;
    c->flags = e->flags;
    c->stored_bytes = is_packed && e->packed_bytes <= e->stored_bytes ? e->packed_bytes : (size_t)e->stored_bytes;
    c->image_bytes = is_packed ? (size_t)e->unpacked_bytes : (size_t)e->stored_bytes;
}

enum err fat_binary_choose(const unsigned char *bytes, size_t n, unsigned capability, struct fat_choice *out,
                           struct err_detail *err)
{
    struct fat_header h;
    struct fat_entry e;
    struct fat_choice c = { .image = NULL };
    const size_t end = fat_binary_extent(bytes, n);
    if (end == 0)
        return err_set(err, ERR_FORMAT, 0, "no fat binary, or its header is wrong about its length");
    memcpy(&h, bytes, sizeof h);
    for (size_t at = h.header_bytes; end - at >= sizeof e;) {
        memcpy(&e, bytes + at, sizeof e);
        if (e.header_bytes < sizeof e || e.header_bytes > end - at || e.stored_bytes > end - at - e.header_bytes)
            break;
        consider(&c, &e, bytes + at + e.header_bytes, capability);
        at += e.header_bytes + e.stored_bytes;
    }
    *out = c;
    return ERR_OK;
}

static bool unpack_lz4(const struct fat_choice *c, unsigned char *to)
{
    static_assert(IMAGE_BYTES_MOST <= INT_MAX, "LZ4 counts in int");
    return c->stored_bytes <= INT_MAX &&
           LZ4_decompress_safe((const char *)c->image, (char *)to, (int)c->stored_bytes, (int)c->image_bytes) ==
           (int)c->image_bytes;
}

static bool unpack_into(const struct fat_choice *c, unsigned char *to)
{
    if ((c->flags & PACKED_ZSTD) != 0)
        return ZSTD_decompress(to, c->image_bytes, c->image, c->stored_bytes) == c->image_bytes;
    if ((c->flags & PACKED_LZ4) != 0)
        return unpack_lz4(c, to);
    memcpy(to, c->image, c->image_bytes);
    return true;
}

enum err fat_binary_unpack(const struct fat_choice *c, unsigned char **out, struct err_detail *err)
{
    if (c->image == NULL)
        return err_set(err, ERR_FORMAT, 0, "no machine code for this card");
    if (c->image_bytes == 0 || c->image_bytes > IMAGE_BYTES_MOST)
        return err_set(err, ERR_FORMAT, 0, "machine code of %zu bytes", c->image_bytes);
    unsigned char *to = malloc(c->image_bytes);
    if (to == NULL)
        return err_no_memory(err);
    if (!unpack_into(c, to)) {
        free(to);
        return err_set(err, ERR_FORMAT, 0, "packed machine code is damaged");
    }
    *out = to;
    return ERR_OK;
}
