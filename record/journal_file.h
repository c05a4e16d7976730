/*
 * This process's journal: an append-only file in mapped pages.
 *
 * A record is a store to memory that belongs to the file: what was put is there however the process ends, and costs no
 * system call. The file grows by windows, each given its room on the disk before it is mapped, so that a full disk is
 * an answer here and never a signal in the program. No descriptor stays open: a program may close all that it did not
 * open itself, and give the number to a file of its own.
 */
#ifndef REPLAY_RECORD_JOURNAL_FILE_H
#define REPLAY_RECORD_JOURNAL_FILE_H

#include "traces/call_journal.h"

#include <stdbool.h>
#include <stdint.h>

#define JOURNAL_FILE_LOST UINT64_MAX

/* Names the folder, an absolute path that stays the caller's; the file in it, PID.N.calls, is made by the first record.
 * Without a folder (NULL) records go nowhere. Once, before any record. */
void journal_file_begin(const char *folder, bool has_stacks);

/* Appends a record, whose is_whole is set here. Returns its number, JOURNAL_FILE_LOST where there was no room; that is
 * said once on standard error. Any thread. */
uint64_t journal_file_put(const struct call_record *r);

/* True for the first caller in this process's journal that names this device. */
bool journal_file_first_of(uint8_t device);

/* Changes with every journal: what was numbered in another one has no meaning in this. 0 before the first record. */
uint32_t journal_file_owner(void);

/* In the child of a fork, before its first record: the parent's journal is left alone, and one of its own begins. */
void journal_file_forked(void);

#endif
