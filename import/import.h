/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Importers turn other formats into native traces. Every input file of the program is opened through this header,
 * native traces included.
 */
#ifndef REPLAY_IMPORT_IMPORT_H
#define REPLAY_IMPORT_IMPORT_H

#include "base/input.h"
#include "traces/trace.h"

/* Who gave segments back when the recording does not tell: the program (empty_cache) or the allocator itself. AUTO
 * decides by the rules of import/pytorch/pytorch_segment_frees.c. */
enum import_segment_frees { SEGMENT_FREES_AUTO, SEGMENT_FREES_PROGRAM, SEGMENT_FREES_ALLOCATOR };

/* In place of a device's ordinal: of several devices in a snapshot the one with most records, or of a final state with
 * most memory. */
enum { IMPORT_GPU_MOST = -2 };

struct import_config {
    int64_t gpu;                      /* device ordinal; -1: the only device with events; IMPORT_GPU_MOST */
    enum import_segment_frees segment_frees;
    bool without_stacks;              /* leave out call stacks */
    bool without_path;                /* the trace does not name the file, which is gone afterwards */
    const char *ends;                 /* TRACE_EXIT, TRACE_INTERRUPTED: the recorder saw the program end; NULL: nobody
                                       * did. Only a recorder sets it, */
    bool is_cut;                      /* or that the recording ends before the program would have */
    uint64_t capacity_bytes;          /* of the card for the program, if the recorder knows it; 0: nobody does */
    const char *capability;           /* of the card, "8.6", if the recorder knows it; NULL: nobody does */
    bool final_state;                 /* set by trace_open_final_state */
    bool again;                       /* the name was opened before: input_open_again */
    uint64_t memory_limit;            /* what an input may unpack to, in bytes; 0: by its size (input.h, trace.h) */
    const char *columns;              /* what stands after the colon of --from, "time=ts,ptr=addr"; NULL: nothing */
    void  (*progress)(void *arg, uint64_t bytes_read, uint64_t bytes_total);   /* may be NULL; total 0 = unknown */
    void   *progress_arg;
};

struct importer {
    const char *name;                                           /* as typed after --from */
    const char *summary;
    bool has_final_state;             /* import supports import_config.final_state */
    bool     (*sniff)(const unsigned char *head, size_t n);     /* recognises the first, decompressed bytes */
    enum err (*import)(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                       struct err_detail *err);
    /* Says what the file holds, a line per fact. NULL: the summary is all that can be said. */
    enum err (*describe)(struct input *in, void (*line)(void *arg, const char *text), void *arg,
                         struct err_detail *err);
};

/* Each in the file import_NAME.c. */
extern const struct importer importer_pytorch, importer_calls, importer_csv, importer_profiler, importer_timeline,
    importer_xplane, importer_pprof, importer_nsys, importer_malloc;

/* The i-th importer; NULL after the last. */
const struct importer *importer_at(size_t i);

/* What importer->describe says; the importer's summary if it has no describe. */
MUST_USE enum err importer_describe(const struct importer *importer, struct input *in,
                                    void (*line)(void *arg, const char *text), void *arg, struct err_detail *err);

/* Opens a native trace as it is, or imports any other file into memory. `from`: an importer's name, or NULL to
 * recognise the format. `path` may be "-". ERR_UNSUPPORTED for a file that holds a final state only. */
MUST_USE enum err trace_open_any(const char *path, const char *from, const struct import_config *cfg,
                                 struct trace_reader **out, struct err_detail *err);

/* What a file is: a native trace (*importer NULL), or the importer that reads it. Only its first bytes are read. */
MUST_USE enum err trace_recognise(const char *path, const char *from, const struct import_config *cfg,
                                  const struct importer **importer, struct err_detail *err);

/* Opens the state of a file after its last event, as a trace that starts from this state and has no events. The file
 * was opened before (input_open_again). ERR_UNSUPPORTED for a format without final state, ERR_USAGE for a native
 * trace. */
MUST_USE enum err trace_open_final_state(const char *path, const char *from, const struct import_config *cfg,
                                         struct trace_reader **out, struct err_detail *err);

/* Imports `path` into a native file. ERR_USAGE for a native trace. */
MUST_USE enum err trace_import(const char *path, const char *from, const struct import_config *cfg,
                               const char *out_path, struct err_detail *err);

/* Says what a file that was opened before holds that cannot be replayed, or not without a choice (`replay info`), one
 * line per fact. */
MUST_USE enum err trace_describe(const char *path, const char *from, const struct import_config *cfg,
                                 void (*line)(void *arg, const char *text), void *arg, struct err_detail *err);

#endif
