/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Writes this process's journal (capture/call_journal.h): an append-only file in mapped pages.
 *
 * A record is a store to memory that belongs to the file, so it survives whatever ends the process and costs no system
 * call. The file grows by windows of 1 MiB. Each window gets its room on the disk before it is mapped: a full disk is
 * an answer here, never a signal in the program. One descriptor stays open, with a high number: a program that gives up
 * its rights or its root could not open the file again. A program may close it and reuse its number; the file is then
 * opened by its name.
 *
 * The file is compiled into every library that records. These libraries are loaded into other people's programs, so
 * this code allocates no memory, never ends the process, and asserts at compile time only.
 */
#ifndef REPLAY_CAPTURE_JOURNAL_FILE_H
#define REPLAY_CAPTURE_JOURNAL_FILE_H

#include "capture/call_journal.h"

#include <stdbool.h>
#include <stdint.h>

#define JOURNAL_FILE_LOST UINT64_MAX

/* Names the folder, an absolute path, which is copied. The first record makes the file, <folder>/PID.N.calls, for its
 * owner only. Without a folder (NULL) records go nowhere. `forked` (may be NULL) is called in the child of a fork,
 * before its first record, at least once: threads that the child does not have may hold locks. Call it once, before any
 * record. */
void journal_file_begin(const char *folder, enum call_card card, bool has_stacks, void (*forked)(void));

/* Appends a record and sets its is_whole. Returns its number, or JOURNAL_FILE_LOST if the file could not grow; the
 * first such record is reported on standard error. Any thread may call it. */
uint64_t journal_file_put(const struct call_record *r);

/* True for the first caller that names this device in this process's journal. */
bool journal_file_first_of(uint8_t device);

/* Changes with every journal: numbers that one journal gave mean nothing in the next. 0 before the first record. */
uint32_t journal_file_owner(void);

/* Call it in the child of a fork, before its first record: leaves the parent's journal alone and begins a new one. */
void journal_file_forked(void);

/* Does so in a child whose fork called no handlers (_Fork, the system call itself), and nothing otherwise. Call it
 * before you take a lock that another thread of the parent may have held. It costs two loads. */
void journal_file_notice_fork(void);

#endif
