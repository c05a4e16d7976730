/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a page about one recording says of the memory that no request asked for: the parts of `replay blame`.
 */
#ifndef REPLAY_REPLAY_PROGRAM_REPORT_BLAME_H
#define REPLAY_REPLAY_PROGRAM_REPORT_BLAME_H

#include "replay/engine/engine.h"
#include "replay/recording/recorded_platform.h"
#include "report/page/page.h"

/* What the run of a page is. */
struct blamed_run {
    struct trace_reader *trace;
    const char          *device;         /* as typed; NULL: the recorded one */
    enum platform        platform;       /* where the program runs */
    uint64_t             reserved_bytes; /* at its peak */
};

/* Fills in *out: what `replay blame` says of the same file and card. Left as it is if that is about another run than
 * the page's, or cannot tell. The only error is ERR_HOST_NOMEM. `cfg`: threads. */
MUST_USE enum err report_blame_find(const struct blamed_run *of, const struct replay_config *cfg,
                                    struct page_blame *out);

#endif
