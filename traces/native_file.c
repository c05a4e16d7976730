/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads sections of a native trace. A pipe is copied into a file without a name first, since the index at the end is
 * read before the sections. Nothing in a file is trusted: sizes are checked before memory is taken or bytes are read.
 */
#include "traces/native_file.h"

#include "base/input.h"
#include "traces/trace.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

const char *section_tag(uint32_t kind)
{
    static const char *const tags[] = {
#define SECTION_TAG(name, tag, what) tag,
        SECTION_LIST(SECTION_TAG)
#undef SECTION_TAG
    };
    assert(kind < SECTION_KINDS);
    return tags[kind];
}

enum err native_damage(const struct native_file *f, const struct section *s, const char *what, struct err_detail *err)
{
    return err_at(err, ERR_FORMAT, s->offset, f->name, "byte %llu: section '%s' %s", (unsigned long long)s->offset,
                  section_tag(s->kind), what);
}

void bytes_put_foot(struct bytes *out, uint64_t offset)
{
    bytes_put_le(out, NATIVE_SKIP_ENDS, 4);
    bytes_put_le(out, NATIVE_FOOT_BYTES - 8, 4);
    bytes_put(out, NATIVE_FOOT_TEXT, 12);
    bytes_put_le(out, offset, 8);
}

/* ---- bytes of the file ---- */

/* Fills `out`. The caller has checked that the file is long enough. */
static enum err native_pread(const struct native_file *f, void *out, size_t n, uint64_t offset, struct err_detail *err)
{
    unsigned char *at = out;
    while (n > 0) {
        const ssize_t got = pread(f->fd, at, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return err_at(err, ERR_INPUT, offset, f->name, "byte %llu: cannot be read: %s", (unsigned long long)offset,
                          got < 0 ? strerror(errno) : "the file became shorter");
        at += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return ERR_OK;
}

/* Bytes [offset, offset + n) of the file, lent until the next call. The caller has checked that the file has them. */
static enum err native_bytes(struct native_file *f, uint64_t offset, size_t n, const unsigned char **out,
                             struct err_detail *err)
{
    assert(offset <= f->size && n <= f->size - offset);
    if (f->bytes != NULL) {
        *out = f->bytes + offset;
        return ERR_OK;
    }
    if (n > f->packed_room) {
        unsigned char *packed = realloc(f->packed, n);
        if (packed == NULL)
            return err_no_memory(err);
        f->packed = packed;
        f->packed_room = n;
    }
    *out = f->packed;
    return native_pread(f, f->packed, n, offset, err);
}

/* True if the name of a section agrees with the index. */
static bool section_head_is(const unsigned char *head, const struct section *s)
{
    struct cursor c = cursor_over(head, NATIVE_SECTION_BYTES);
    const bool is_skippable = cursor_le(&c, 4) == NATIVE_SKIP_SECTION && cursor_le(&c, 4) == NATIVE_SECTION_BYTES - 8;
    const bool is_named = memcmp(cursor_take(&c, 4), section_tag(s->kind), 4) == 0;
    const bool is_sized = cursor_le(&c, 4) == s->rows;
    return is_skippable && is_named && is_sized && cursor_le(&c, 4) == s->packed_bytes;
}

/* Makes room for a section's content of n bytes, of which at most `most` are allowed. */
static enum err native_raw_room(struct native_file *f, const struct section *s, unsigned long long n, uint64_t most,
                                struct err_detail *err)
{
    if (n == ZSTD_CONTENTSIZE_UNKNOWN || n == ZSTD_CONTENTSIZE_ERROR || n > most)
        return native_damage(f, s, "does not begin with a zstd frame of a valid size", err);
    if (f->raw != NULL && n <= f->raw_room)
        return ERR_OK;
    unsigned char *raw = realloc(f->raw, (size_t)n + 1);
    if (raw == NULL)
        return err_no_memory(err);
    f->raw = raw;
    f->raw_room = (size_t)n;
    return ERR_OK;
}

enum err native_section(struct native_file *f, const struct section *s, size_t *n, struct err_detail *err)
{
    enum { ZSTD_HAS_CHECKSUM = 4 };                      /* RFC 8878, 3.1.1.1.1: a bit of the byte after the magic */
    const unsigned char *head;
    const uint64_t most = s->kind == SECTION_INDEX ? NATIVE_SECTION_MAX + 2 * f->size : NATIVE_SECTION_MAX;
    enum err e = native_bytes(f, s->offset, NATIVE_SECTION_BYTES + (size_t)s->packed_bytes, &head, err);
    if (e != ERR_OK)
        return e;
    if (!section_head_is(head, s))
        return native_damage(f, s, "is not where the index says", err);
    const unsigned char *packed = head + NATIVE_SECTION_BYTES;
    if (ZSTD_findFrameCompressedSize(packed, s->packed_bytes) != s->packed_bytes ||
        (packed[4] & ZSTD_HAS_CHECKSUM) == 0)
        return native_damage(f, s, "is not one zstd frame with a checksum", err);
    e = native_raw_room(f, s, ZSTD_getFrameContentSize(packed, s->packed_bytes), most, err);
    if (e != ERR_OK)
        return e;
    *n = ZSTD_decompressDCtx(f->zstd, f->raw, f->raw_room, packed, s->packed_bytes);
    if (ZSTD_isError(*n))
        return err_at(err, ERR_FORMAT, s->offset, f->name, "byte %llu: section '%s' is damaged: %s",
                      (unsigned long long)s->offset, section_tag(s->kind), ZSTD_getErrorName(*n));
    return ERR_OK;
}

/* ---- a file without an index ---- */

static enum err native_damaged_at(const struct native_file *f, uint64_t offset, struct err_detail *err)
{
    return err_at(err, ERR_FORMAT, offset, f->name, "byte %llu: the trace is damaged here", (unsigned long long)offset);
}

/* The kind of section that the first n bytes of a name stand for, SECTION_KINDS for none. NATIVE_SECTION_BYTES make a
 * whole name and fill in s->rows and s->packed_bytes; of a shorter one the first kind that it may stand for is
 * returned. */
static uint32_t section_kind_of(const unsigned char *head, size_t n, struct section *s)
{
    static const unsigned char start[] = {0x5d, 0x2a, 0x4d, 0x18, NATIVE_SECTION_BYTES - 8, 0, 0, 0};
    const size_t n_start = n < sizeof start ? n : sizeof start;
    const size_t n_tag = n < sizeof start + 4 ? n - n_start : 4;
    uint32_t kind = 0;
    while (kind < SECTION_KINDS && memcmp(head + n_start, section_tag(kind), n_tag) != 0)
        kind++;
    if (n == NATIVE_SECTION_BYTES) {
        struct cursor c = cursor_over(head + sizeof start + 4, 8);
        s->rows = (uint32_t)cursor_le(&c, 4);
        s->packed_bytes = (uint32_t)cursor_le(&c, 4);
    }
    return memcmp(head, start, n_start) == 0 ? kind : SECTION_KINDS;
}

/* The bytes after a whole index must be the beginning of its foot. */
static enum err native_check_foot(struct native_file *f, uint64_t index, uint64_t offset, struct err_detail *err)
{
    struct bytes foot = {0};
    const unsigned char *left;
    const uint64_t n = f->size - offset;
    bytes_put_foot(&foot, index);
    enum err e = foot.has_failed ? err_no_memory(err) : ERR_OK;
    if (e == ERR_OK && n >= NATIVE_FOOT_BYTES)
        e = native_damaged_at(f, offset, err);
    if (e == ERR_OK)
        e = native_bytes(f, offset, (size_t)n, &left, err);
    if (e == ERR_OK && memcmp(left, foot.data, (size_t)n) != 0)
        e = native_damaged_at(f, offset, err);
    bytes_free(&foot);
    return e;
}

/* Checks that a section which reaches beyond the end of the file is cut off rather than damaged: its zstd frame must
 * not end before the file does. */
static enum err native_check_cut(struct native_file *f, const struct section *s, struct err_detail *err)
{
    enum { ZSTD_MAGIC_BYTES = 4 };
    static const unsigned char magic[ZSTD_MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};
    const unsigned char *left;
    const uint64_t offset = s->offset + NATIVE_SECTION_BYTES, n = f->size - offset;
    const uint64_t most = 2 * NATIVE_SECTION_MAX + NATIVE_FRAMES_MAX / NATIVE_MEMORY_RATIO;      /* with padding */
    const enum err e = n > most ? native_damaged_at(f, s->offset, err)
                                : native_bytes(f, offset, (size_t)n, &left, err);
    if (e != ERR_OK)
        return e;
    if (memcmp(left, magic, n < ZSTD_MAGIC_BYTES ? (size_t)n : ZSTD_MAGIC_BYTES) != 0 ||
        !ZSTD_isError(ZSTD_findFrameCompressedSize(left, (size_t)n)))
        return native_damaged_at(f, s->offset, err);
    return ERR_OK;
}

enum err native_walk(struct native_file *f, uint64_t offset, struct section *out, struct err_detail *err)
{
    assert(offset <= f->size);
    struct section s = {.offset = offset, .kind = SECTION_KINDS};
    const uint64_t left = f->size - offset;
    const size_t n = left < NATIVE_SECTION_BYTES ? (size_t)left : NATIVE_SECTION_BYTES;
    const unsigned char *head = (const unsigned char *)"";
    enum err e = n == 0 ? ERR_OK : native_bytes(f, offset, n, &head, err);
    if (e == ERR_OK && (s.kind = section_kind_of(head, n, &s)) == SECTION_KINDS)
        e = native_damaged_at(f, offset, err);
    const uint64_t end = offset + NATIVE_SECTION_BYTES + s.packed_bytes;
    if (e == ERR_OK && n == NATIVE_SECTION_BYTES && end > f->size)
        e = native_check_cut(f, &s, err);
    else if (e == ERR_OK && n == NATIVE_SECTION_BYTES && s.kind == SECTION_INDEX)
        e = native_check_foot(f, offset, end, err);
    if (n < NATIVE_SECTION_BYTES || end > f->size || s.kind == SECTION_INDEX)
        s.kind = SECTION_KINDS;
    *out = s;
    return e;
}

/* ---- opening ---- */

static enum err native_check_head(struct native_file *f, struct err_detail *err)
{
    const unsigned char *head = (const unsigned char *)"";
    const size_t n = f->size < NATIVE_HEAD_BYTES ? (size_t)f->size : NATIVE_HEAD_BYTES;
    const enum err e = native_bytes(f, 0, n, &head, err);
    if (e != ERR_OK)
        return e;
    if (!trace_is_native(head, n))
        return err_at(err, ERR_FORMAT, 0, f->name, "byte 0: not a native trace");
    struct cursor c = cursor_over(head + NATIVE_HEAD_BYTES - 4, 4);
    const uint64_t version = cursor_le(&c, 4);
    if (version != NATIVE_VERSION && version != NATIVE_VERSION_BEFORE)
        return err_at(err, ERR_FORMAT, NATIVE_HEAD_BYTES - 4, f->name, "byte %d: version %llu of the format; this "
                      "program reads %d and %d", NATIVE_HEAD_BYTES - 4, (unsigned long long)version,
                      NATIVE_VERSION_BEFORE, NATIVE_VERSION);
    return ERR_OK;
}

bool trace_is_native(const unsigned char *head, size_t n)
{
    struct cursor c = cursor_over(head, n);
    return n >= NATIVE_HEAD_BYTES && cursor_le(&c, 4) == NATIVE_SKIP_ENDS &&
           cursor_le(&c, 4) == NATIVE_HEAD_BYTES - 8 && memcmp(cursor_take(&c, 12), NATIVE_HEAD_TEXT, 12) == 0;
}

enum err native_find_index(struct native_file *f, struct section *index, struct err_detail *err)
{
    const uint64_t least = NATIVE_HEAD_BYTES + NATIVE_SECTION_BYTES + NATIVE_ZSTD_MIN_BYTES + NATIVE_FOOT_BYTES;
    *index = (struct section){.kind = SECTION_INDEX};
    if (f->size < least)
        return ERR_OK;
    const unsigned char *foot;
    const uint64_t foot_offset = f->size - NATIVE_FOOT_BYTES;
    const enum err e = native_bytes(f, foot_offset, NATIVE_FOOT_BYTES, &foot, err);
    if (e != ERR_OK)
        return e;
    struct cursor c = cursor_over(foot, NATIVE_FOOT_BYTES);
    const bool is_foot = cursor_le(&c, 4) == NATIVE_SKIP_ENDS && cursor_le(&c, 4) == NATIVE_FOOT_BYTES - 8 &&
                         memcmp(cursor_take(&c, 12), NATIVE_FOOT_TEXT, 12) == 0;
    const uint64_t offset = cursor_le(&c, 8);
    if (!is_foot)
        return ERR_OK;
    if (offset < NATIVE_HEAD_BYTES || offset > foot_offset - NATIVE_SECTION_BYTES - NATIVE_ZSTD_MIN_BYTES ||
        foot_offset - offset - NATIVE_SECTION_BYTES > UINT32_MAX)
        return native_damaged_at(f, foot_offset, err);
    *index = (struct section){.offset = offset, .kind = SECTION_INDEX, .rows = 1,
                              .packed_bytes = (uint32_t)(foot_offset - offset - NATIVE_SECTION_BYTES)};
    return ERR_OK;
}

/* Finds the size of the file f->fd. */
static enum err native_measure(struct native_file *f, struct err_detail *err)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return err_at(err, ERR_INPUT, 0, f->name, "cannot be read: %s", strerror(errno));
    f->size = (uint64_t)st.st_size;
    return ERR_OK;
}

/* The common end of both ways of opening. */
static enum err native_begin(struct native_file *f, struct err_detail *err)
{
    f->zstd = ZSTD_createDCtx();
    return f->zstd == NULL ? err_no_memory(err) : native_check_head(f, err);
}

enum err native_open_path(struct native_file *f, const char *path, struct err_detail *err)
{
    struct input *in = NULL;
    int fd;
    *f = (struct native_file){.name = NULL};
    enum err e = input_open(path, &in, err);
    if (e != ERR_OK)
        return e;
    input_keep_raw(in);
    e = input_whole_file(in, &fd, err);
    if (e == ERR_OK)
        e = native_open_file(f, fd, input_name(in), err);
    input_close(in);
    return e;
}

enum err native_open_file(struct native_file *f, int fd, const char *name, struct err_detail *err)
{
    *f = (struct native_file){.name = strdup(name), .fd = fd, .is_fd_ours = true};
    if (f->name == NULL)
        return err_no_memory(err);
    const enum err e = native_measure(f, err);
    return e == ERR_OK ? native_begin(f, err) : e;
}

enum err native_open_bytes(struct native_file *f, const void *bytes, size_t n, void *owned, const char *name,
                           struct err_detail *err)
{
    *f = (struct native_file){.name = strdup(name), .size = n, .owned = owned,
                              .bytes = n == 0 ? (const unsigned char *)"" : bytes};
    if (f->name == NULL)
        return err_no_memory(err);
    return native_begin(f, err);
}

void native_close(struct native_file *f)
{
    if (f->is_fd_ours)
        close(f->fd);
    ZSTD_freeDCtx(f->zstd);
    free(f->owned);
    free(f->name);
    free(f->packed);
    free(f->raw);
    *f = (struct native_file){0};
}
