/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Captures of the same work at different sizes.
 *
 * Two captures are alike if they request and free in the same order, from the same lines. The first capture on a stream
 * may make more: libraries request a workspace once for each stream, and keep it.
 *
 *     first    [ out ][ workspace ][ relu ] free out ...
 *     second   [ out ]             [ relu ] free out ...       so the workspace is made once
 */
#ifndef REPLAY_REPLAY_GRAPHS_ALIKE_H
#define REPLAY_REPLAY_GRAPHS_ALIKE_H

#include "replay/graphs/captures.h"

/* Finds the requests that are made once, and numbers the others of their captures anew: sets is_first_on_stream,
 * is_matched, has_once, is_once and ordinal. */
void captures_match(struct captures *c);

/* True if captures `a` and `b` are alike, apart from what is made once. */
bool captures_are_alike(const struct captures *c, uint32_t a, uint32_t b);

/* The request of capture `b` that does what `request` does in its own capture; UINT32_MAX if there is none. The captures
 * are alike. */
uint32_t captures_counterpart(const struct captures *c, uint32_t request, uint32_t b);

#endif
