/*
 * A native trace as a file of sections: where its bytes are, which section is whole, and where damage is. What the
 * sections mean is the reader's business.
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
    int                  fd;                 /* ours where `is_fd_ours` */
    bool                 is_fd_ours;
    uint64_t             size;
    struct ZSTD_DCtx_s  *zstd;
    unsigned char       *packed, *raw;       /* raw: content of the section read last */
    size_t               packed_room, raw_room;
};

/* Opens a path ("-": standard input), or bytes that are borrowed, or bytes that are freed by native_close; on failure
 * too. Checks the head. ERR_IO, ERR_FORMAT, ERR_HOST_NOMEM. */
MUST_USE enum err native_open_path(struct native_file *f, const char *path, struct err_detail *why);
MUST_USE enum err native_open_bytes(struct native_file *f, const void *bytes, size_t n, void *owned, const char *name,
                                    struct err_detail *why);

/* Of an open file, or of a zeroed one. */
void native_close(struct native_file *f);

/* Where the index is; index->rows is 0 where the file does not end in a foot: it is unfinished, or damaged. */
MUST_USE enum err native_find_index(struct native_file *f, struct section *index, struct err_detail *why);

/* The sections of a file that does not end in a foot, one after the other and without the index: the whole one at
 * `offset`, or SECTION_KINDS as its kind where the file is cut off there. ERR_FORMAT where it is damaged: where there
 * is something else than the beginning of a section, or of what the writer puts behind the last one. */
MUST_USE enum err native_walk(struct native_file *f, uint64_t offset, struct section *out, struct err_detail *why);

/* A section's content, checked: f->raw[0, *n), until the next call. The section lies within the file. */
MUST_USE enum err native_section(struct native_file *f, const struct section *s, size_t *n, struct err_detail *why);

/* Errors: "FILE: byte N: section 'evts' WHAT", and "FILE: the host is out of memory". */
enum err native_damage(const struct native_file *f, const struct section *s, const char *what, struct err_detail *why);
enum err native_nomem(const struct native_file *f, struct err_detail *why);

/* Appends the foot of a file whose index is at `offset`. */
void bytes_put_foot(struct bytes *out, uint64_t offset);

/* Four letters. */
const char *section_tag(uint32_t kind);

#endif
