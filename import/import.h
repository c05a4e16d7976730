/*
 * Importers: other formats into the native one, and the one door through which every file comes in.
 */
#ifndef REPLAY_IMPORT_IMPORT_H
#define REPLAY_IMPORT_IMPORT_H

#include "base/input.h"
#include "traces/trace.h"

/* How to read a release of segments that no request followed (import/import_pytorch.c says when it matters). */
enum import_segment_frees { SEGMENT_FREES_AUTO, SEGMENT_FREES_PROGRAM, SEGMENT_FREES_ALLOCATOR };

struct import_config {
    int64_t gpu;                      /* device ordinal; -1: the only one with events */
    enum import_segment_frees segment_frees;
    bool without_stacks;              /* call stacks are left out: whoever asked names none */
    bool final_state;                 /* see trace_open_final_state, which sets it */
    void  (*progress)(void *arg, uint64_t bytes_read, uint64_t bytes_total);   /* may be NULL; total 0 = unknown */
    void   *progress_arg;
};

struct importer {
    const char *name;                                           /* as typed after --from */
    const char *summary;
    bool has_final_state;             /* its import heeds import_config.final_state */
    bool     (*sniff)(const unsigned char *head, size_t n);     /* recognises the first bytes, decompressed */
    enum err (*import)(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                       struct err_detail *why);
    /* Says what the file holds, a line per fact. NULL: the summary is all that can be said. */
    enum err (*describe)(struct input *in, void (*line)(void *arg, const char *text), void *arg,
                         struct err_detail *why);
};

/* The importers there are: import_pytorch.c, import_calls.c. */
extern const struct importer importer_pytorch, importer_calls;

/* The i-th importer; NULL behind the last. */
const struct importer *importer_at(size_t i);

/* What importer->describe says; the importer's summary if it has no describe. */
MUST_USE enum err importer_describe(const struct importer *importer, struct input *in,
                                    void (*line)(void *arg, const char *text), void *arg, struct err_detail *why);

/* Opens any file that we read: a native trace directly, everything else imported into memory on the fly. `from`: an
 * importer's name, or NULL to recognise it. `path` may be "-". ERR_UNSUPPORTED for a file of final state only. */
MUST_USE enum err trace_open_any(const char *path, const char *from, const struct import_config *cfg,
                                 struct trace_reader **out, struct err_detail *why);

/* The state that a file shows behind its last event, as a trace that starts from it and has no events. ERR_UNSUPPORTED
 * for a format, ERR_USAGE for a native trace, that shows none. */
MUST_USE enum err trace_open_final_state(const char *path, const char *from, const struct import_config *cfg,
                                         struct trace_reader **out, struct err_detail *why);

/* Imports `path` into a native file. */
MUST_USE enum err trace_import(const char *path, const char *from, const struct import_config *cfg, const char *out_path,
                               struct err_detail *why);

/* What a file holds that cannot be replayed, or not without a choice: for `replay info`. One line per fact. */
MUST_USE enum err trace_describe(const char *path, const char *from, void (*line)(void *arg, const char *text), void *arg,
                                 struct err_detail *why);

#endif
