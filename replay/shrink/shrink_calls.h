/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The calls that are left, for a person. */
#ifndef REPLAY_REPLAY_SHRINK_SHRINK_CALLS_H
#define REPLAY_REPLAY_SHRINK_SHRINK_CALLS_H

#include "replay/shrink/shrink.h"

/* The number, from 1, of the request that a call makes, frees or uses; 0 of a call without one, such as a flush. */
size_t shrunk_request_number(const struct shrunk *s, size_t call);

/* "request", "free", "free-later" (while a stream still uses it), "complete", "flush"; of a control, its name in
 * CONTROL_LIST. */
const char *shrunk_call_word(const struct shrunk *s, size_t call);

/* A line for each, at most 50. */
void shrunk_print_calls(FILE *out, const struct shrunk *s);

/* A policy as it was typed, or `otherwise` if that is too long for a line of text. */
const char *shrunk_policy_word(const struct policy_spec *spec, const char *otherwise);

#endif
