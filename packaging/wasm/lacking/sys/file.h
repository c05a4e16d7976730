/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#ifndef REPLAY_PACKAGING_WASM_LACKING_SYS_FILE_H
#define REPLAY_PACKAGING_WASM_LACKING_SYS_FILE_H

#define LOCK_EX 2
#define LOCK_NB 4

int flock(int fd, int how);              /* only of LOCK_EX | LOCK_NB: lacking.c */

#endif
