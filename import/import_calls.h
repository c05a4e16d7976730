/*
 * What a journal of CUDA calls holds, for a program that imports it device by device; and journals that are followed
 * while they are written.
 */
#ifndef REPLAY_IMPORT_IMPORT_CALLS_H
#define REPLAY_IMPORT_IMPORT_CALLS_H

#include "import/call_journal_read.h"
#include "traces/trace.h"

struct calls_summary {
    uint32_t pid, parent;
    uint64_t lost;                    /* calls for which there was no room on the disk */
    char command_line[CALL_COMMAND_LINE_BYTES];
    struct call_device devices[CALL_DEVICES_MAX];
};

/* Reads a journal's file. Errors of call_journal_read, ERR_IO. */
MUST_USE enum err calls_summarise(const char *path, struct calls_summary *out, struct err_detail *why);

/* Imports one device of a journal into a trace, as trace_import does, but the trace does not name the journal's file:
 * for one in a folder that is gone afterwards. The errors of trace_import. */
MUST_USE enum err calls_import_file(const char *path, unsigned device, const char *out_path, struct err_detail *why);

/* ---- while it is written ---- */

/* Makes the trace of a device when the first of its events comes. */
struct calls_traces {
    enum err (*create)(void *arg, unsigned device, struct trace_writer **out, struct err_detail *why);
    void *arg;
};

struct calls_follow;

/* Follows a journal from its first record on. ERR_FORMAT where its head is not there yet; other errors of
 * call_journal_read, ERR_IO. */
MUST_USE enum err calls_follow_open(const char *path, const struct calls_traces *traces, struct calls_follow **out,
                                    struct err_detail *why);

/* Takes the records that came, at most CALL_STRETCH_RECORDS; what they say is then in the traces, flushed. *has_more:
 * there were as many. A release that was taken and then turns out to have failed stays one, unlike in an import. */
MUST_USE enum err calls_follow_look(struct calls_follow *f, bool *has_more, struct err_detail *why);

/* Ends all, with the traces finished; or with the traces dropped, and then NULL is accepted. */
MUST_USE enum err calls_follow_finish(struct calls_follow *f, struct err_detail *why);
void calls_follow_close(struct calls_follow *f);

#endif
