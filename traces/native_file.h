/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A native trace as a file of sections: reads bytes from a file, a pipe or memory, finds and checks sections, and says
 * where damage is. The meaning of the sections is the reader's business.
 */
#ifndef REPLAY_TRACES_NATIVE_FILE_H
#define REPLAY_TRACES_NATIVE_FILE_H

#include "base/err.h"
#include "traces/columns.h"
#include "traces/native.h"

#include <stdbool.h>
#include <stddef.h>

struct native_file {
    char                *name;               /* for messages */
    const unsigned char *bytes;              /* NULL: read from fd */
    void                *owned;              /* freed with the file */
    int                  fd;                 /* closed by native_close if is_fd_ours */
    bool                 is_fd_ours;
    uint64_t             size;
    struct ZSTD_DCtx_s  *zstd;
    unsigned char       *packed, *raw;       /* raw: content of the section read last */
    size_t               packed_room, raw_room;
};

/* Opens a path ("-": standard input), a regular file or bytes, and checks the head. `fd` and `owned` (NULL: the bytes
 * are borrowed) are given up by native_close, which must be called after a failure as well. ERR_INPUT, ERR_IO,
 * ERR_FORMAT, ERR_HOST_NOMEM. */
MUST_USE enum err native_open_path(struct native_file *f, const char *path, struct err_detail *err);
MUST_USE enum err native_open_file(struct native_file *f, int fd, const char *name, struct err_detail *err);
MUST_USE enum err native_open_bytes(struct native_file *f, const void *bytes, size_t n, void *owned, const char *name,
                                    struct err_detail *err);

/* Closes an open file; accepts a zeroed struct. */
void native_close(struct native_file *f);

/* Finds the index by the foot. index->rows is 0 if the file has no foot: it is unfinished, or damaged. */
MUST_USE enum err native_find_index(struct native_file *f, struct section *index, struct err_detail *err);

/* Reads the section at `offset` of a file that has no foot. out->kind is SECTION_KINDS if the file is cut off there: in
 * this section, in the index or in the foot. ERR_FORMAT if the bytes are not the beginning of any of these. */
MUST_USE enum err native_walk(struct native_file *f, uint64_t offset, struct section *out, struct err_detail *err);

/* Decompresses a section, which must lie within the file, and checks it: its content is f->raw[0, *n) until the next
 * call. */
MUST_USE enum err native_section(struct native_file *f, const struct section *s, size_t *n, struct err_detail *err);

/* Errors: "FILE: byte N: section 'evts' WHAT", and "FILE: the host is out of memory". */
enum err native_damage(const struct native_file *f, const struct section *s, const char *what, struct err_detail *err);

/* Appends the foot of a file whose index section is at `offset`. */
void bytes_put_foot(struct bytes *out, uint64_t offset);

/* The four letters that name a kind of section. */
const char *section_tag(uint32_t kind);

#endif
