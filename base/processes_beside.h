/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Finds the recordings of single processes, "two.4711.zst", beside a "two.zst" that is not there.
 */
#ifndef REPLAY_BASE_PROCESSES_BESIDE_H
#define REPLAY_BASE_PROCESSES_BESIDE_H

enum { PROCESSES_BESIDE_BYTES = 256 };

/* Writes ": there is two.4711.zst, two.4712.zst"; "" if there is none, or the folder cannot be read. */
void processes_beside(const char *path, char out[static PROCESSES_BESIDE_BYTES]);

#endif
