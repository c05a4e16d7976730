/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Moves a file.
 */
#ifndef REPLAY_DRYRUN_RUN_FILE_MOVE_H
#define REPLAY_DRYRUN_RUN_FILE_MOVE_H

#include "base/err.h"

/* Moves a file; copies it if the two folders are on different disks, and then the caller removes `from`. A file of the
 * new name is replaced. ERR_IO. */
MUST_USE enum err file_move(const char *from, const char *to, struct err_detail *err);

#endif
