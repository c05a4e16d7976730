/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The file of what a program prints, kept short: its first and its last LOG_END_BYTES stay.
 *
 *     while it grows      | beginning |  hole, takes no disk  | at least LOG_END_BYTES |
 *     afterwards          | beginning | a line that says so | end |
 */
#ifndef REPLAY_DRYRUN_PROGRAM_LOG_H
#define REPLAY_DRYRUN_PROGRAM_LOG_H

#include "base/err.h"

#include <stdint.h>

enum { LOG_END_BYTES = 8 << 20 };

/* While the program runs: gives back the disk of the middle. A file system without holes keeps it until the end. */
void program_log_trim(const char *path);

/* After the program and all that it started: makes the file short. *cut_bytes: how much is not kept. ERR_IO. */
MUST_USE enum err program_log_cut(const char *path, uint64_t *cut_bytes, struct err_detail *err);

#endif
