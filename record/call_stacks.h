/*
 * Call stacks of recorded calls, each kept once: frames are records that name their caller's.
 */
#ifndef REPLAY_RECORD_CALL_STACKS_H
#define REPLAY_RECORD_CALL_STACKS_H

#include <stdint.h>

/* What must be loaded for it is loaded now, not in the middle of a call. */
void call_stacks_begin(void);

/* Puts the stack of this thread into the journal, from the frame that `caller` (a return address) lies in outwards, as
 * far as it is not there yet. Returns the number of the innermost frame's record, + 1; 0 without room. */
uint64_t call_stack_put(const void *caller);

/* In the child of a fork: nothing is known of its journal yet. */
void call_stacks_forked(void);

#endif
