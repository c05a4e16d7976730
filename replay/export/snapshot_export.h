/*
 * A memory snapshot of a run: what torch.cuda.memory._dump_snapshot() would have written had the replayed program been
 * the real one. Records are taken while the lane runs, the state at one moment, and both are written as a pickle.
 *
 * Source of the layout, by release: PyTorch, torch/csrc/cuda/Module.cpp.
 */
#ifndef REPLAY_REPLAY_EXPORT_SNAPSHOT_EXPORT_H
#define REPLAY_REPLAY_EXPORT_SNAPSHOT_EXPORT_H

#include "policies/pytorch/pytorch_export.h"
#include "replay/engine/engine.h"

#include <stdio.h>

#define SNAPSHOT_EXPORT_AT_END UINT64_MAX

/* A record as it waits on disk to be written: segments stand in front of records in the pickle, and are known last. */
struct snapshot_export_record {
    struct policy_record record;
    int64_t  event;                  /* our number of the event it happened in; -1: in the start state */
    uint64_t time_ns;
};

struct snapshot_export_block {
    struct block_view view;
    uint32_t stack;                  /* of the request it serves; TRACE_NO_STACK: none is known */
    uint32_t segment_stack;          /* of the request its segment was made for, where it is the first block of one */
};

/* Zero is a valid beginning and end; not moved in memory while the lane runs. */
struct snapshot_export {
    struct lane_watch watch;         /* first, so the two pointers convert */
    uint64_t event;                  /* the state in front of this one, by our number, is taken; SNAPSHOT_EXPORT_AT_END */
    bool     is_taken;
    enum err failure;                /* the first thing that went wrong */

    FILE    *spool;                  /* snapshot_export_record */
    uint64_t n_records;
    struct policy_record *now;       /* of the event under way, whose time is told behind it */
    size_t   n_now, room_now;
    struct snapshot_export_block *blocks;       /* by address */
    size_t   n_blocks, room_blocks;
    struct pytorch_export allocator;
    char    *conf;
};

/* Opens the file for records. ERR_IO. */
MUST_USE enum err snapshot_export_open(struct snapshot_export *d, uint64_t event, struct err_detail *why);
void snapshot_export_close(struct snapshot_export *d);

/* Listens to a lane, between lane_open and replay_run, as its watch and through its observer. */
void snapshot_export_listen(struct snapshot_export *d, struct lane *l);

/* Takes the state as it is now, unless it was taken before. */
void snapshot_export_take_state(struct snapshot_export *d, const struct lane *l);

/* Writes the pickle, after the run; where the moment did not come, the state is the lane's last. The spool's ERR_IO,
 * ERR_HOST_NOMEM, ERR_UNSUPPORTED for a policy that is not PyTorch's, the reader's errors. */
MUST_USE enum err snapshot_export_write(struct snapshot_export *d, const struct lane *l, struct trace_reader *trace,
                                        FILE *out, struct err_detail *why);

#endif
