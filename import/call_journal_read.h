/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads a journal of CUDA memory calls (capture/call_journal.h), of a real card or a simulated one: all at once, or a
 * stretch at a time while it is written. It keeps whole records only and drops frees whose call failed.
 */
#ifndef REPLAY_IMPORT_CALL_JOURNAL_READ_H
#define REPLAY_IMPORT_CALL_JOURNAL_READ_H

#include "base/input.h"
#include "capture/call_journal.h"
#include "base/intern.h"

#include <stdbool.h>

enum { CALL_DEVICES_MAX = UINT8_MAX + 1, CALL_STRETCH_RECORDS = 1 << 16 };

struct call_journal {
    struct call_head head;
    struct call_record *records;      /* numbers [first, first + n), in order; kind CALL_NONE where there is nothing */
    uint32_t first, n;
    size_t room;
    uint64_t n_newer;                 /* records of a kind, and requests of a kind of memory, that are not known */
    uint64_t n_torn;                  /* records that were begun and never finished, before the last whole one */
    struct call_device {
        uint64_t requests, ooms;      /* a device with either has events */
        uint64_t total_bytes;         /* 0 = unknown */
        uint64_t free_bytes;          /* of it, when the device was opened or first used */
    } devices[CALL_DEVICES_MAX];      /* of all records up to here */
    char *path;                       /* NULL: it was read at once */
    uint32_t awaited;                 /* record that was not whole although later ones were; UINT32_MAX: none */
};

bool call_journal_sniff(const unsigned char *head, size_t n);

/* Reads a journal, torn or not. ERR_FORMAT with the offset; ERR_UNSUPPORTED for another version, byte order or card;
 * ERR_HOST_NOMEM. Records that contradict each other are no error here. */
MUST_USE enum err call_journal_read(struct input *in, struct call_journal **out, struct err_detail *err);

/* Opens a journal that may still be written: reads its head, and no records. ERR_FORMAT if the head is not there
 * yet. */
MUST_USE enum err call_journal_open(const char *path, struct call_journal **out, struct err_detail *err);

/* Replaces the records at hand by the next ones that are whole by now, at most CALL_STRETCH_RECORDS; n == 0 if there
 * are none. A record that is not whole is waited for once: a call that finds it first in line takes nothing, and if the
 * next call finds the same, it skips the record. An UNDO takes back only what is in the same stretch. ERR_IO,
 * ERR_HOST_NOMEM; ERR_UNSUPPORTED for too many records. */
MUST_USE enum err call_journal_more(struct call_journal *log, struct err_detail *err);

void call_journal_free(struct call_journal *log);

/* The command line's words, separated by spaces. */
void call_journal_command_line(const struct call_journal *log, char *text, size_t n);

/* Whether the journal is a simulated card's. */
static inline bool call_journal_is_simulated(const struct call_journal *log)
{
    return log->head.card == CALL_CARD_SIMULATED;
}

/* The text of a TEXT, NO_EFFECT, REFUSED or MISSING record, terminated. */
void call_record_text(const struct call_record *r, char text[static CALL_TEXT_BYTES + 1]);

/* ---- use of a simulated card ---- */

/* What a process took of one simulated card. */
struct call_use {
    uint64_t total_bytes, taken_bytes;               /* of the card; of it by context and other processes */
    uint64_t held_bytes, peak_bytes;                 /* segments and physical memory, as asked for */
    uint64_t calls, refusals, last_refused_bytes;    /* calls that took memory or gave it back; those refused */
};

/* Adds what the records at hand say to `use`, an element for each device. A real card's journal does not say when
 * memory of pools goes back to the card, so its sums are too large. */
void call_journal_sum(const struct call_journal *log, struct call_use use[static CALL_DEVICES_MAX]);

/* ---- stacks ---- */

/* The frames that records name, by number. All zero: none. */
struct call_frames {
    struct pair_map text_of, frame_of;       /* (record, 0) -> id in texts, of a text up to there -> index of a frame */
    struct text_table texts;
    struct call_frame { uint32_t text, caller; } *frames;            /* caller: index + 1; 0 = none is known */
    size_t n, room;
};

/* Takes the record with this number, if it is a frame or a part of a text. Records must come in the file's order: a
 * frame whose caller did not come before has none, so chains of callers end. False without memory. */
bool call_frames_take(struct call_frames *f, uint32_t number, const struct call_record *r);

/* The frames of a record's stack as ids of f->texts, innermost first, at most `max`. Returns how many; 0 for none. */
size_t call_frames_stack(const struct call_frames *f, const struct call_record *r, uint32_t *texts, size_t max);
void call_frames_free(struct call_frames *f);

#endif
