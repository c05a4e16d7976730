/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Bytes that the host copied to a device, until something may have written there.
 *
 * A simulated card computes nothing, and its kernels do not tell what they write. So what is kept is dropped at the
 * next kernel, graph or library call. A value that is read from the card is either true or zero, never an old one.
 *
 *     copy to the card  [ 3 1 4 ]     kept
 *     copy back         [ 3 1 4 ]     true
 *     a kernel                        all is dropped: it may have written anywhere
 *     copy back         [ 0 0 0 ]     or what python/replay_values.py said before, of a size that PyTorch reads
 */
#ifndef REPLAY_CUDASIM_CORE_VALUES_H
#define REPLAY_CUDASIM_CORE_VALUES_H

#include <stdint.h>

/* The lock is held in all of them. Copies to a device, from a device (the rest reads as zeros), and between device
 * addresses. */
void values_put(uint64_t to, const void *from, uint64_t bytes);
void values_get(void *to, uint64_t from, uint64_t bytes);
void values_copy(uint64_t to, uint64_t from, uint64_t bytes);

/* For the next values_get of this thread: asks whoever knows more (cudasim_values_ask), outside the lock. What it lends
 * stays until this thread asks again. */
void values_ask(uint64_t from, uint64_t bytes);

/* Something wrote there, or the memory was given back. */
void values_drop(uint64_t addr, uint64_t bytes);

#endif
