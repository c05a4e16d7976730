/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Call stacks of recorded calls. A frame is a record of the journal that names its caller's record, so equal stacks are
 * kept once.
 */
#ifndef REPLAY_RECORD_CALL_STACKS_H
#define REPLAY_RECORD_CALL_STACKS_H

#include <stdint.h>

/* Loads what unwinding needs (libgcc) now, not in the middle of a call. */
void call_stacks_begin(void);

/* Puts this thread's stack into the journal, from the frame of `caller` (a return address) outwards; frames that are
 * there already are not put again. Returns the number of the innermost frame's record, + 1; 0 if there was no room. */
uint64_t call_stack_put(const void *caller);

/* Call it in the child of a fork: the child's journal has no stacks yet. */
void call_stacks_forked(void);

#endif
