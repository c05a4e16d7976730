/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Who holds the memory, as a flame graph: folded stacks (flamegraph.pl) and a speedscope file. */
#ifndef REPLAY_REPLAY_EXPORT_HELD_PROFILE_H
#define REPLAY_REPLAY_EXPORT_HELD_PROFILE_H

#include "replay/recording/holders.h"

#include <stdio.h>

/* Each stack once, with the bytes that are held by all its requests. A file that is NULL is not written. A stream keeps
 * its own error. ERR_HOST_NOMEM. */
MUST_USE enum err held_profile_write(struct trace_reader *trace, const struct holdings *held, FILE *folded,
                                     FILE *speedscope, struct err_detail *err);

#endif
