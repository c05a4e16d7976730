/*
 * A journal of CUDA memory calls, read into memory: whole records only, calls that failed taken out.
 */
#ifndef REPLAY_TRACES_CALL_JOURNAL_READ_H
#define REPLAY_TRACES_CALL_JOURNAL_READ_H

#include "base/input.h"
#include "traces/call_journal.h"
#include "traces/intern.h"

#include <stdbool.h>

enum { CALL_DEVICES_MAX = UINT8_MAX + 1 };

struct call_journal {
    struct call_head head;
    struct call_record *records;      /* in the order of the file; kind CALL_NONE where there is nothing to be read */
    uint32_t n;
    uint64_t n_torn;                  /* records that were begun and never finished, before the last whole one */
    struct call_device {
        uint64_t requests, ooms;      /* a device with either has events */
        uint64_t total_bytes;         /* 0 = unknown */
    } devices[CALL_DEVICES_MAX];
    struct pair_map text_of;          /* a text's last record -> id in texts */
    struct text_table texts;
};

bool call_journal_sniff(const unsigned char *head, size_t n);

/* Reads a journal, torn or not. ERR_FORMAT with the offset; ERR_UNSUPPORTED for one of another version or byte order;
 * ERR_HOST_NOMEM. A record that does not fit the others is refused only where nothing could be made of it. */
MUST_USE enum err call_journal_read(struct input *in, struct call_journal **out, struct err_detail *why);
void call_journal_free(struct call_journal *log);

/* The frames of a record's stack as ids of log->texts, innermost first, at most `max`; 0 where it has none. *has_memory
 * is false where memory ran out. */
size_t call_journal_stack(struct call_journal *log, const struct call_record *r, uint32_t *texts, size_t max,
                          bool *has_memory);

/* The command's words, separated by spaces. */
void call_journal_command(const struct call_journal *log, char *text, size_t n);

#endif
