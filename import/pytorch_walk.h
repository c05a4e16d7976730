/*
 * What a snapshot tells about one device beyond its records: the state before the first of them, and how the
 * releases of memory are to be read.
 *
 * A snapshot holds the last records and the final state. Going back from there gives the segments that stood, and the
 * blocks that lived, before the first record; going forward again checks that all of it is possible.
 */
#ifndef REPLAY_IMPORT_PYTORCH_WALK_H
#define REPLAY_IMPORT_PYTORCH_WALK_H

#include "import/import.h"
#include "import/segment_set.h"
#include "import/snapshot.h"

#define WALK_NO_RANK UINT32_MAX

/* A block that lived before the first record. */
struct walk_block {
    uint64_t addr, requested;
    uint64_t bytes;                   /* of the block */
    uint32_t rank;                    /* of its address */
    uint32_t segment;                 /* index into walk.start; UINT32_MAX: in none */
    uint32_t stream;                  /* the snapshot's index */
    uint16_t pool;
    bool     is_pending;              /* its free was requested before the first record */
    bool     is_sized;                /* bytes is known for certain */
    bool     is_guessed;              /* bytes is only likely */
    bool     is_unmentioned;          /* in the final state, in no record */
    bool     is_dropped;              /* newer than the records: it did not live at the start */
    bool     is_gone;                 /* while walking forward: freed by now */
};

/* Records of one sort of contradiction that is borne. */
struct walk_trouble { uint64_t n, first; };

/* How a run of releases came about; its first record. */
enum free_run_reading { FREED_BY_FLUSH, FREED_BY_ALLOCATOR, FREED_WITH_POOL };
struct free_run {
    uint32_t record;
    uint16_t pool;                    /* FREED_WITH_POOL: which one was given up */
    uint8_t  reading;                 /* enum free_run_reading */
    bool     is_undecided;            /* the record allows another reading */
    bool     has_waited;              /* what was released would have served the request behind, had it been free */
};

struct walk {
    struct snapshot *s;
    struct snapshot_record *records;  /* of this device; pools are filled in where the release wrote none */
    uint32_t n;
    uint32_t device;
    bool is_npu;                      /* another vendor's rounding: walk_round */
    uint64_t n_npu_sizes, n_cuda_sizes;        /* blocks whose size only that rounding explains, or only PyTorch's */
    bool has_requests_of_frees;       /* free_requested was recorded, not only free_completed */
    uint64_t *addr;                   /* distinct block addresses, ascending */
    uint32_t n_addr;
    uint32_t *rank;                   /* of each record's block address; WALK_NO_RANK where it has none */
    struct segment_set start, final;
    struct segment_set range_starts;  /* of 0 bytes: where ranges of the start begin that have no memory there */
    struct walk_block *blocks;        /* ascending by address */
    size_t n_blocks;
    uint32_t *block_of;               /* by rank: number in blocks + 1, 0 = none */
    struct free_run *free_runs;
    size_t n_free_runs, free_runs_room;
    uint64_t start_reserved, peak_reserved, peak_requested;
    uint64_t n_unknown_actions, n_unmatched_final, n_undecided_free_runs;
    uint64_t guessed_bytes;           /* bytes whose owner at the start is not known */
    struct walk_trouble outside;      /* addresses in no segment */
    struct walk_trouble segments;     /* segment records that do not fit the segments */
};

/* Both passes. Contradictions that leave no sense are ERR_FORMAT with the record's number; others are counted. */
MUST_USE enum err walk_device(struct snapshot *s, uint32_t device, enum import_segment_frees segment_frees,
                              struct walk **out, struct err_detail *why);
void walk_free(struct walk *w);

/* "FILE: no memory for the records of the snapshot". */
enum err walk_nomem(const struct walk *w, struct err_detail *why);

/* Rank of the first block address that is >= addr; walk.n_addr if there is none. */
uint32_t walk_rank_from(const struct walk *w, uint64_t addr);

/* The forward pass, and how it reads the run of releases that begins at record i: parts of walk_device. */
MUST_USE enum err walk_forward(struct walk *w, enum import_segment_frees segment_frees, struct err_detail *why);

/* Fills in range_starts, once the passes are done; false without memory. */
MUST_USE bool walk_range_starts(struct walk *w);

/* The size of the block that serves a request, by the recorded settings. Source: PyTorch, CUDACachingAllocator.cpp,
 * round_size. The port to Ascend NPUs rounds request + 32 bytes instead. */
uint64_t walk_round(const struct walk *w, uint64_t bytes);

/* A block of a small pool, where sizes are exact, votes for one of the two roundings. */
void walk_vote(struct walk *w, uint64_t requested, uint64_t bytes);

/* What the device had for us, and what it refused. */
struct walk_room {
    uint64_t bytes;                   /* at least: the most that was ever held, or what is known by `is_all` */
    bool     is_all;                  /* at a refusal it reported what was free beside that: there was no more */
    uint64_t n_refused;
    uint32_t first_refused;           /* its record, and what was held then; valid when n_refused > 0 */
    uint64_t first_held;
};
struct walk_room walk_room(const struct walk *w);

/* What stood when a run of releases began. */
struct free_run_scene {
    uint64_t held_bytes, room_bytes;
    bool     leaves_idle_segment;       /* a segment without a live block stays */
    uint64_t uncollected_bytes;       /* with this much held it did not collect garbage, though there was some */
};

/* First record behind the run of releases that begins at record i. */
uint32_t free_run_end(const struct walk *w, uint32_t i);

/* Adds how it is to be read to walk.releases. */
MUST_USE enum err free_run_read(struct walk *w, uint32_t i, const struct free_run_scene *scene,
                                enum import_segment_frees wish, struct err_detail *why);

#endif
