/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A memory snapshot of a run: the file that torch.cuda.memory._dump_snapshot() would have written if the replayed
 * program had really run with this policy.
 *
 *     while the lane runs     records (alloc, free, segment ...) go to a temporary file
 *     at one event            the state is taken: segments and blocks
 *     after the run           the pickle: segments first, then the records (device_traces)
 *
 * Source of the layout, by release: PyTorch, torch/csrc/cuda/Module.cpp.
 */
#ifndef REPLAY_REPLAY_EXPORT_SNAPSHOT_EXPORT_H
#define REPLAY_REPLAY_EXPORT_SNAPSHOT_EXPORT_H

#include "policies/pytorch/pytorch_export.h"
#include "replay/engine/engine.h"

#include <stdio.h>

#define SNAPSHOT_EXPORT_AT_END UINT64_MAX

/* A record in the temporary file. Records wait there because the pickle has the segments first, which are known last.
 * */
struct snapshot_export_record {
    struct policy_record record;
    int64_t  event;                  /* our number of the event that made it; -1: the start state */
    uint64_t time_ns;
};

struct snapshot_export_block {
    struct block_view view;
    uint32_t stack;                  /* of the request that it serves; TRACE_NO_STACK: unknown */
    uint32_t segment_stack;          /* first block of a segment: of the request that the segment was made for */
};

/* Zero is a valid beginning and end. Do not move it while the lane runs. */
struct snapshot_export {
    struct lane_watch watch;         /* first, so the two pointers convert */
    uint64_t event;                  /* take the state before this one, by our number; or SNAPSHOT_EXPORT_AT_END */
    bool     is_taken;
    enum err failure;                /* the first thing that went wrong */

    FILE    *spool;                  /* n_records times struct snapshot_export_record */
    uint64_t n_records;
    struct policy_record *now;       /* records of the current event: its time is only known when it ends */
    size_t   n_now, room_now;
    struct snapshot_export_block *blocks;       /* by address */
    size_t   n_blocks, room_blocks;
    struct pytorch_export allocator;
    char    *conf;
};

/* Opens the temporary file. `event`: as above. ERR_IO. */
MUST_USE enum err snapshot_export_open(struct snapshot_export *d, uint64_t event, struct err_detail *err);
void snapshot_export_close(struct snapshot_export *d);

/* Listens to a lane, as its watch and through its observer; call it between lane_open and replay_run. */
void snapshot_export_listen(struct snapshot_export *d, struct lane *l);

/* Takes the state as it is now, unless one was taken before. */
void snapshot_export_take_state(struct snapshot_export *d, const struct lane *l);

/* Writes the pickle after the run. If the run ended before the chosen event, the state is the last one. ERR_IO for the
 * temporary file; ERR_UNSUPPORTED for a policy that does not keep blocks as PyTorch does; ERR_HOST_NOMEM; the reader's
 * errors. */
MUST_USE enum err snapshot_export_write(struct snapshot_export *d, const struct lane *l, struct trace_reader *trace,
                                        FILE *out, struct err_detail *err);

#endif
