/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A PyTorch memory snapshot in memory: the final segments and blocks, the records of every device, the settings.
 *
 * Source of the layout: PyTorch, torch/csrc/cuda/Module.cpp (Python writer), torch/csrc/cuda/memory_snapshot.cpp (C++
 * writer), torch/csrc/xpu/Module.cpp (_xpu_memorySnapshot: no pools in records, PYTORCH_ALLOC_CONF among the
 * settings), torch/csrc/xpu/memory_snapshot.cpp (the same with all settings), torch_npu/csrc/npu/Module.cpp (no times
 * and no settings; records of its workspaces before the others). torch.accelerator.memory hands on what the device's
 * module writes, or an empty dictionary. Stacks are interned during reading. Nothing else of the file is kept.
 */
#ifndef REPLAY_IMPORT_PYTORCH_SNAPSHOT_H
#define REPLAY_IMPORT_PYTORCH_SNAPSHOT_H

#include "base/input.h"
#include "base/torch_releases.h"
#include "import/import.h"
#include "import/pytorch/pickle.h"
#include "base/intern.h"

/* X(name, text): the actions of records. The last two are no records of PyTorch's: `replay run-sim` and `replay record
 * --torch` put them where a graph capture begins and ends. */
#define ACTION_LIST(X)                       \
    X(ALLOC, "alloc")                        \
    X(FREE_REQUESTED, "free_requested")      \
    X(FREE_COMPLETED, "free_completed")      \
    X(SEGMENT_ALLOC, "segment_alloc")        \
    X(SEGMENT_FREE, "segment_free")          \
    X(SEGMENT_MAP, "segment_map")            \
    X(SEGMENT_UNMAP, "segment_unmap")        \
    X(OOM, "oom")                            \
    X(SNAPSHOT, "snapshot")                  \
    X(CAPTURE_BEGIN, "capture_begin")        \
    X(CAPTURE_END, "capture_end")

#define ACTION_ENUM(name, text) ACTION_##name,
enum snapshot_action { ACTION_LIST(ACTION_ENUM) ACTION_UNKNOWN, ACTION_KINDS };
#undef ACTION_ENUM

struct snapshot_record {
    uint64_t addr;                    /* OOM: the device's free bytes */
    uint64_t size;
    int64_t  time_us;                 /* 0: the release recorded none */
    uint32_t stack;                   /* 0 = none */
    uint32_t stream;                  /* index into snapshot.streams */
    uint16_t pool;                    /* index into snapshot.pools; SNAPSHOT_NO_POOL: not recorded */
    uint8_t  action;                  /* enum snapshot_action */
};
#define SNAPSHOT_NO_POOL UINT16_MAX

enum snapshot_block_state { SNAPSHOT_BLOCK_INACTIVE, SNAPSHOT_BLOCK_ALLOCATED, SNAPSHOT_BLOCK_PENDING };

struct snapshot_block {
    uint64_t addr, size;
    uint64_t requested;               /* of an inactive block: its last request */
    uint8_t  state;                   /* enum snapshot_block_state */
    bool     has_stack;               /* it was requested while the history was recorded, with stacks */
    bool     has_requested;           /* false in old releases: `requested` is then the size */
    bool     has_addr;                /* false in releases up to 2.0: blocks follow each other */
};

struct snapshot_segment {
    uint64_t addr, size;
    uint32_t first_block, n_blocks;
    uint32_t device, stream;          /* stream: index into snapshot.streams */
    uint16_t pool;                    /* index into snapshot.pools */
    bool     is_small, is_expandable;
};

struct snapshot_range { uint32_t first, n; };

struct snapshot_frame { uint32_t name, file, line; };      /* strings by number */

enum { ROUNDUP_CLASSES = 16 };        /* of roundup_power2_divisions: from 1 MiB to 32 GiB */

struct snapshot_settings {
    bool     is_known;
    bool     is_xpu;                  /* of an XPU: its settings stand under the general name */
    bool     is_expandable;
    int64_t  max_split_size;          /* bytes; negative = unlimited */
    double   gc_threshold;
    uint64_t roundup[ROUNDUP_CLASSES];
    uint64_t conf;                    /* a pickle string, or PICKLE_NONE */
};

/* What the file has of the parts by which releases differ, and one that is no release's. */
enum snapshot_sign {
#define TORCH_LAYOUT(name, since, says) SIGN_##name = 1 << LAYOUT_##name,
#include "base/torch_releases.def"
#undef TORCH_LAYOUT
    SIGN_CATEGORY = 1 << TORCH_LAYOUTS
};

struct snapshot {
    struct snapshot_record  *records;
    struct snapshot_block   *blocks;
    struct snapshot_segment *segments;
    size_t n_records, n_blocks, n_segments;
    struct snapshot_range final_segments;      /* the final state */
    uint64_t in_no_block;                      /* bytes of its segments */
    struct snapshot_range *devices;            /* records by device ordinal */
    size_t n_devices;
    bool is_bare_list;                         /* the file holds only a list of segments */
    uint32_t n_others;                         /* snapshots of the same page, which are not read */
    unsigned signs;                            /* enum snapshot_sign */
    bool is_host;                              /* records and state are those of page-locked host memory */
    uint32_t n_host_records;                   /* that the file has */
    struct snapshot_settings settings;
    uint64_t *streams;                         /* raw handles */
    size_t n_streams;
    uint64_t (*pools)[2];                      /* entry 0 is {0, 0} */
    size_t n_pools;
    struct snapshot_frame *frames;
    size_t n_frames;
    struct stack_table stacks;                 /* its "texts" are frame numbers */
    struct pickle *pickle;                     /* owns the strings */
    /* used during reading only */
    struct snapshot_range *ranges;
    size_t n_ranges;
    size_t n_dicts, n_shared;                  /* dictionaries read; rows copied because lists share them */
    size_t room[8];
    struct pair_map stream_map, pool_map, frame_map, stack_map;
    struct hash_seed seed;                     /* of the hashes in stack_map */
    uint64_t roundup[ROUNDUP_CLASSES];
    bool has_top;
    struct input *in;
    const struct import_config *cfg;
};

/* What import_config.columns is for the records of page-locked host memory: --from pytorch-snapshot:host. */
#define SNAPSHOT_HOST "host"

/* Reads one pickle. Of cfg (may be NULL) `progress` and `columns` are used. ERR_FORMAT, ERR_UNSUPPORTED, ERR_IO,
 * ERR_HOST_NOMEM; the message names the byte. */
MUST_USE enum err snapshot_read(struct input *in, const struct import_config *cfg, struct snapshot **out,
                                struct err_detail *err);
void snapshot_free(struct snapshot *s);

/* The text of a string by number; never NULL. */
const char *snapshot_text(const struct snapshot *s, uint32_t string);

#endif
