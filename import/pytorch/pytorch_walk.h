/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Rebuilds what a snapshot does not record: the state of a device before the first record, and who gave segments back.
 *
 * A snapshot holds the last records and the final state. Two passes over the records, backward and forward:
 *
 *     start state <---- undo each segment record ----- final state          pytorch_walk.c
 *         |                                                                 pytorch_forward.c:
 *         +-- record 0 -- record 1 -- ... -- record n-1 ->                  check, size blocks, read segment frees;
 *                                                                           pytorch_ranges.c: where ranges begin
 */
#ifndef REPLAY_IMPORT_PYTORCH_PYTORCH_WALK_H
#define REPLAY_IMPORT_PYTORCH_PYTORCH_WALK_H

#include "import/import.h"
#include "import/pytorch/segment_set.h"
#include "import/pytorch/snapshot.h"

#define WALK_NO_RANK UINT32_MAX

/* A block that was live before the first record. */
struct walk_block {
    uint64_t addr, requested;
    uint64_t bytes;                   /* size of the block */
    uint32_t rank;                    /* of its address */
    uint32_t segment;                 /* index into walk.start; UINT32_MAX: in none */
    uint32_t stream;                  /* the snapshot's index */
    uint16_t pool;
    bool     is_pending;              /* its free was requested before the first record */
    bool     is_sized;                /* bytes is known for certain */
    bool     is_guessed;              /* bytes is only likely */
    bool     is_unmentioned;          /* in the final state, but in no record */
    bool     is_dropped;              /* newer than all records: it was not live at the start */
    bool     is_gone;                 /* during the forward pass: freed by now */
};

/* Contradictions of one kind that are tolerated: how many, and the first record. */
struct walk_contradictions { uint64_t n, first; };

/* Who gave a run of segments back. A run is a sequence of segment frees, see free_run_end. */
enum free_run_reading { FREED_BY_FLUSH, FREED_BY_ALLOCATOR, FREED_WITH_POOL };
struct free_run {
    uint32_t record;                  /* its first record */
    uint16_t pool;                    /* FREED_WITH_POOL: the pool that was dropped */
    uint8_t  reading;                 /* enum free_run_reading */
    bool     is_undecided;            /* the records allow another reading */
    bool     has_waited;              /* the next request would have fitted into it, had it been free in time */
};

struct walk {
    struct snapshot *s;
    struct snapshot_record *records;  /* of this device; missing pools are filled in */
    uint32_t n;
    uint32_t device;
    bool is_npu;                      /* another vendor's rounding: walk_round */
    uint64_t n_npu_sizes, n_cuda_sizes;        /* blocks whose size only that rounding, or only PyTorch's, explains */
    bool has_requests_of_frees;       /* free_requested was recorded, not only free_completed */
    uint64_t *addr;                   /* distinct block addresses, ascending */
    uint32_t n_addr;
    uint32_t *rank;                   /* by record: rank of its block address; WALK_NO_RANK: none */
    struct segment_set start, final;
    struct segment_map undone;        /* during the backward pass: the segments before record i */
    struct segment_set range_starts;  /* of 0 bytes: unmapped beginnings of ranges of the start state */
    struct walk_block *blocks;        /* ascending by address */
    size_t n_blocks;
    uint32_t *block_of;               /* by rank: number in blocks + 1, 0 = none */
    struct free_run *free_runs;
    size_t n_free_runs, free_runs_room;
    bool *calls_flush;                /* by node of the snapshot's stacks: it, or a caller, is empty_cache */
    bool *is_given_up;                /* by the snapshot's pool: a free run says that it was dropped */
    uint32_t *captures;               /* by pool: graph captures into it that were recorded */
    uint64_t start_reserved, peak_reserved, peak_requested;
    uint64_t n_unknown_actions, n_undecided_free_runs;
    uint64_t n_unmatched_final;       /* blocks of the final state, or after the last record, that the other lacks, or
                                       * has with another request */
    uint64_t n_forgotten;            /* live blocks that were requested while recording, in records that are gone */
    uint64_t guessed_bytes;           /* bytes whose block at the start is not known */
    struct walk_contradictions outside;      /* block addresses in no segment */
    struct walk_contradictions segments;     /* segment records that do not fit the segments */
};

/* Both passes over the records of a device. ERR_FORMAT, with the record's number, for contradictions that leave no
 * sense; others are counted. */
MUST_USE enum err walk_device(struct snapshot *s, uint32_t device, enum import_segment_frees segment_frees,
                              struct walk **out, struct err_detail *err);
void walk_free(struct walk *w);


/* Rank of the first block address that is >= addr; walk.n_addr if there is none. */
uint32_t walk_rank_from(const struct walk *w, uint64_t addr);

/* The forward pass, a part of walk_device. */
MUST_USE enum err walk_forward(struct walk *w, enum import_segment_frees segment_frees, struct err_detail *err);

/* Fills in range_starts after both passes; false without memory. */
MUST_USE bool walk_range_starts(struct walk *w);

/* The size of the block for a request of `bytes` under the recorded settings. Source: PyTorch,
 * CUDACachingAllocator.cpp, round_size. The port to Ascend NPUs rounds request + 32 bytes instead. */
uint64_t walk_round(const struct walk *w, uint64_t bytes);

/* Counts a block of a small pool, where sizes are exact, as evidence for one of the two roundings. */
void walk_vote(struct walk *w, uint64_t requested, uint64_t bytes);

/* How much memory the device had for the program, and what it refused. */
struct walk_room {
    uint64_t bytes;                   /* at least this much: the most ever held, or reserved plus free at a refusal */
    bool     is_all;                  /* `bytes` is exact: a refusal reported what was free */
    uint64_t n_refused;
    uint32_t first_refused;           /* record of the first refusal, and what was held then; if n_refused > 0 */
    uint64_t first_held;
    uint64_t limit_below, limit_card;     /* refused though the card had room: the least that was too much, and what was
                                           * held and free then; 0: no refusal was so */
};
struct walk_room walk_room(const struct walk *w);

/* The state when a run of segment frees began. */
struct free_run_scene {
    uint64_t held_bytes, room_bytes;
    bool     leaves_idle_segment;       /* the run leaves a segment without live block */
    uint64_t uncollected_bytes;       /* most that was held while garbage was left uncollected */
};

/* Prepares walk for free_run_read; false without memory. */
MUST_USE bool free_runs_open(struct walk *w);

/* The first record after the run of segment frees that begins at record i. */
uint32_t free_run_end(const struct walk *w, uint32_t i);

/* Decides who gave the run that begins at record i back, and adds it to walk.free_runs. */
MUST_USE enum err free_run_read(struct walk *w, uint32_t i, const struct free_run_scene *scene,
                                enum import_segment_frees wish, struct err_detail *err);

#endif
