/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Journals of CUDA calls, for a program that imports them device by device or follows them while they are written.
 */
#ifndef REPLAY_IMPORT_IMPORT_CALLS_H
#define REPLAY_IMPORT_IMPORT_CALLS_H

#include "import/call_journal_read.h"
#include "traces/trace.h"

struct calls_summary {
    uint32_t pid, parent;
    uint64_t lost;                    /* records that are missing because the journal could not grow */
    char command_line[CALL_COMMAND_LINE_BYTES];
    struct call_device devices[CALL_DEVICES_MAX];
};

/* Reads a journal's file. Errors of call_journal_read, ERR_IO. */
MUST_USE enum err calls_summarise(const char *path, struct calls_summary *out, struct err_detail *err);

/* Imports one device of a journal into a trace, as trace_import does, but the trace does not name the journal's file:
 * for one in a folder that is gone afterwards. The errors of trace_import. */
MUST_USE enum err calls_import_file(const char *path, unsigned device, const char *out_path, struct err_detail *err);

/* ---- while it is written ---- */

/* Makes the trace of a device when its first event comes. */
struct calls_traces {
    enum err (*create)(void *arg, unsigned device, struct trace_writer **out, struct err_detail *err);
    void *arg;
};

struct calls_follow;

/* Follows a journal from its first record on. ERR_FORMAT if its head is not there yet; the other errors of
 * call_journal_read; ERR_IO. */
MUST_USE enum err calls_follow_open(const char *path, const struct calls_traces *traces, struct calls_follow **out,
                                    struct err_detail *err);

/* Takes the next records, at most CALL_STRETCH_RECORDS, into the traces and flushes these. *has_more: there were that
 * many, so there may be more. A free that was taken and turns out to have failed later stays in the trace, unlike in an
 * import. */
MUST_USE enum err calls_follow_look(struct calls_follow *f, bool *has_more, struct err_detail *err);

/* Ends the following. The first finishes the traces, the second drops them and accepts NULL. */
MUST_USE enum err calls_follow_finish(struct calls_follow *f, struct err_detail *err);
void calls_follow_close(struct calls_follow *f);

#endif
