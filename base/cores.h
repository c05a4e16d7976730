/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * How many processors this process may use.
 */
#ifndef REPLAY_BASE_CORES_H
#define REPLAY_BASE_CORES_H

/* At least 1. Fewer than the machine has if a job scheduler, mpirun or taskset bound the process to some of them. */
unsigned cores_usable(void);

#endif
