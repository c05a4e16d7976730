/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The call stack of each request, in order, for those who walk over the events. */
#ifndef REPLAY_REPLAY_RECORDING_REQUEST_STACKS_H
#define REPLAY_REPLAY_RECORDING_REQUEST_STACKS_H

#include "base/err.h"
#include "traces/trace.h"

/* Of the requests before event `moment`; TRACE_NO_STACK for one without. The caller frees *out. ERR_HOST_NOMEM, the
 * reader's errors. */
MUST_USE enum err request_stacks_read(struct trace_reader *trace, uint64_t moment, uint32_t **out,
                                      struct err_detail *err);

#endif
