/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Which rule of PyTorch's allocator holds how much of what was reserved beyond the live peak.
 *
 *     live peak                                                            peak reserved
 *     |--------------------------------------------------------------------------|
 *      no allocator needs less | rounding | segment sizes | walls | ... | order of addresses
 *
 * A rule's part is what the peak falls by if the rule is taken out, on average over all orders in which all rules can
 * be taken out (fair_shares.h). For that the recording is replayed once for each set of rules that can matter. The last
 * rule, the order of addresses, is out where blocks may be moved (moved_blocks.h): then no run is needed. With all
 * rules out the live peak is left, so the parts sum to the whole on every recording. A part is below 0 if its rule
 * saves more memory than it costs.
 */
#ifndef REPLAY_REPLAY_BLAME_BLAME_H
#define REPLAY_REPLAY_BLAME_BLAME_H

#include "replay/results/single_run.h"

/* X(name, key, words, what it does): the rules, in the order of the answer. */
#define BLAME_LIST(X)                                                                                       \
    X(ROUNDING, "rounding", "rounding of sizes", "to 512 bytes or as set")                                  \
    X(SEGMENTS, "segment_sizes", "segment sizes", "2 MiB, 20 MiB: never used")                              \
    X(SIZE_WALL, "size_wall", "small apart from large", "two kinds of segments")                            \
    X(STREAMS, "streams", "streams apart", "none serves another")                                           \
    X(POOLS, "pools", "pools apart", "graphs, MemPools")                                                    \
    X(WHOLE, "whole_blocks", "blocks not split", "rests, max_split_size_mb")                                \
    X(LATE, "late_uses", "late uses", "after record_stream")                                                \
    X(FIXED, "fixed_segments", "segments cannot grow", "not expandable")                                    \
    X(ORDER, "order", "order of addresses", "free, but in pieces")

#define BLAME_ENUM(name, key, words, does) BLAME_##name,
enum blame_rule { BLAME_LIST(BLAME_ENUM) BLAME_RULES };
#undef BLAME_ENUM

const char *blame_key(enum blame_rule rule);         /* "size_wall" */
const char *blame_words(enum blame_rule rule);       /* "small apart from large" */
const char *blame_does(enum blame_rule rule);

struct blame_part {
    bool    matters;                 /* the recording can show it: it has several streams, late uses and so on */
    int64_t bytes;
};

struct blame {
    uint64_t reserved_bytes;         /* peak of the run as it is */
    uint64_t live_bytes;             /* live peak: no allocator needs less */
    struct blame_part parts[BLAME_RULES];        /* sum to the difference of the two */
    uint64_t growing_bytes;          /* peak reserved if segments grow and all else is as it is; 0: they do already */
    bool     is_growing_refused;     /* ... but not on this card: a request was refused */
    bool     is_cut;                 /* the card refused a request: what came before it is explained */
    uint64_t n_events;               /* explained, with those that place what was live at the start */
    unsigned n_replays;
};

/* `run`: opened for the trace and not run. ERR_UNSUPPORTED for another policy than PyTorch's, or one that caches
 * nothing; lane_open's and replay_run's errors. `threads` and
 * `progress`: as in replay_config. */
MUST_USE enum err blame_find(const struct single_run *run, unsigned threads,
                             void (*progress)(void *arg, uint64_t done, uint64_t total), void *progress_arg,
                             struct blame *out, struct err_detail *err);

/* The rule that holds most; BLAME_RULES: none holds anything. */
enum blame_rule blame_largest(const struct blame *b);

#endif
