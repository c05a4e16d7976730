/*
 * What a journal of CUDA calls holds, for a program that imports it device by device.
 */
#ifndef REPLAY_TRACES_IMPORT_CALLS_H
#define REPLAY_TRACES_IMPORT_CALLS_H

#include "traces/call_journal_read.h"

struct calls_summary {
    uint32_t pid, parent;
    uint64_t lost;                    /* calls for which there was no room on the disk */
    char command[CALL_JOURNAL_COMMAND];
    struct call_device devices[CALL_DEVICES_MAX];
};

/* Reads a journal's file. Errors of call_journal_read, ERR_IO. */
MUST_USE enum err calls_summarise(const char *path, struct calls_summary *out, struct err_detail *why);

#endif
