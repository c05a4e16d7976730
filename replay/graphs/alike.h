/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Captures of the same work at different sizes, aligned request by request.
 *
 * Requests correspond that come from the same line in the same order, and of which both or neither outlive their
 * capture. What is freed within its capture may be missing in the other: kernels take temporary memory by the size of
 * the work. The first capture on a stream may also keep more: libraries request a workspace once for each stream.
 *
 *     first    [ out ][ workspace ][ relu ][ temporary ] free out ...
 *     second   [ out ]             [ relu ]              free out ...       so the workspace is made once
 */
#ifndef REPLAY_REPLAY_GRAPHS_ALIKE_H
#define REPLAY_REPLAY_GRAPHS_ALIKE_H

#include "replay/graphs/captures.h"

/* Finds the requests that are made once: sets first_on_stream, is_matched, has_once, is_once, and cells_left for all
 * alignments of the recording. ERR_HOST_NOMEM. */
MUST_USE enum err captures_match(struct captures *c, struct err_detail *err);

/* Aligns captures `a` and `b`. *out is lent until the captures are closed, or, unless `a` is the first on the stream of
 * `b`, until the next call. Captures of many thousand requests are not aligned: they are not alike. Nor are any once
 * all alignments together took work for CELLS_PER_REQUEST pairs for each request of the recording. ERR_HOST_NOMEM. */
MUST_USE enum err captures_align(struct captures *c, uint32_t a, uint32_t b, const struct alignment **out,
                                 struct err_detail *err);
void alignments_close(struct captures *c);

#endif
