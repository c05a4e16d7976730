/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * pytorch: PyTorch's native CUDA caching allocator, decision by decision. The interface between its files.
 *
 * The way of a request, and where each step is:
 *
 *     request --> round --> search --------------------------> split --> hand out      pytorch_alloc.c, pytorch_steps.h
 *                             | nothing fits                      ^
 *                             v                                   |
 *                  collect garbage --> grow --> borrow --> give back and grow again    the attempts: pytorch_alloc.c
 *
 *     pytorch.c               the policy's table: options, controls, counters, views, texts of the report
 *     pytorch_conf.*          PYTORCH_CUDA_ALLOC_CONF, read as a given release reads it
 *     pytorch_rules.*         what differs between releases; the table is pytorch_rules.def
 *     pytorch_steps.h         the inline steps of the hot pair: rounding, splitting, coalescing, freeing
 *     pytorch_alloc.c         a request and its attempts; a free
 *     pytorch_give_back.c     giving memory back: garbage collection, oversize blocks, everything
 *     pytorch_expand.c        expandable segments
 *     pytorch_streams.c       frees that wait for other streams: uses, events, polling
 *     pytorch_pools.c         private pools, captures, and which request goes to which pool
 *     pytorch_order_table.*   the hash table whose slot order decides in which order PyTorch looks at things
 *     pytorch_stats.*         the counters of memory_stats()
 *     pytorch_text.*          the sentences of refusals
 *     pytorch_export.*        what a memory snapshot says of the allocator itself
 *     pytorch_follow.*        taking over a recorded state, and doing what a recording says
 *     pytorch_repeats.c       whether one run tells the result of another
 *
 * The block table, the free sets, and the splitting of blocks are in policies/parts/.
 *
 * Source: PyTorch, c10/cuda/CUDACachingAllocator.cpp.
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_H

#include "base/torch_sizes.h"
#include "policies/policy.h"
#include "policies/parts/block_table.h"
#include "policies/pytorch/pytorch_conf.h"
#include "policies/parts/free_set.h"
#include "policies/pytorch/pytorch_rules.h"
#include "policies/pytorch/pytorch_stats.h"
#include "policies/pytorch/pytorch_order_table.h"
#include "sim/stream_queues.h"

/* The most blocks that one growth and the split after it can make. */
enum { PYTORCH_SPARE_BLOCKS = 8 };

/* The free blocks that are all of their segment or range. So giving back need not look at all free blocks. */
struct pytorch_idle {
    uint32_t oldest, newest;         /* segments by when they became free, linked in `segments`; no ranges */
    uint64_t n;                      /* segments and ranges */
    uint64_t free_since;             /* sum over segments and ranges, modulo 2^64 */
};

/* The small or the large half of a pool. */
struct pytorch_half {
    struct free_set free;
    uint64_t  fit_calls;             /* searches while garbage collection was possible: the clock of ages */
    struct pytorch_idle idle;
    uint32_t *unmapped;              /* unmapped blocks, ascending by stream handle, then address */
    uint32_t  n_unmapped, cap_unmapped;
    uint64_t  least_page_bytes;      /* of the ranges that it has had; 0: none */
    uint64_t  unused[6];             /* up to a power of two: then its place in an array takes no multiplication */
};
static_assert(sizeof(void *) < 8 || sizeof(struct pytorch_half) == 128, "a power of two, for who looks one up");

/* Where a block is kept while it is free. All blocks of a segment have the same home. */
struct pytorch_home {
    struct pytorch_half *half;
    struct free_bins    *bins;       /* of its stream */
};

/* Pool 0 is the shared one; the others are private. */
struct pytorch_pool {
    bool     exists;
    bool     no_split;
    bool     ever_held;
    uint32_t uses;                   /* captures and MemPools; at 0 the pool's memory may be given back */
    uint64_t device_allocs;          /* growths not yet given back, counted as PyTorch does */
    struct pytorch_stat reserved;
};

/* What is known of a segment apart from its blocks. */
struct pytorch_segment {
    uint64_t free_since;             /* the half's fit_calls when the segment last became free as a whole */
    uint32_t older, newer;           /* while it is whole and free: blocks, the neighbours in pytorch_idle's list */
    uint32_t range;                  /* of an expandable segment: index into the ranges */
};

/* An expandable segment: pytorch_expand.c has a picture. */
struct pytorch_range {
    struct segment seg;              /* bytes 0: this entry is vacant */
    uint64_t page_bytes;
    uint32_t **phys;                 /* by page, in chunks: the handle of its memory; 0: none. A chunk is NULL until one
                                      * of its pages has memory: a range is as large as the card */
    uint32_t next_vacant;
};

/* The end of a list of records other than blocks. */
#define LINK_NONE UINT32_MAX

/* Stream uses of one block. The table's values are dense streams; USE_IN_CAPTURE marks one seen during a capture. */
#define USE_IN_CAPTURE (UINT32_C(1) << 16)
struct pytorch_uses {
    struct order_table streams;
    uint32_t events;                 /* recorded and not yet seen complete */
    uint32_t next_vacant;
};

/* A free that waits for an event, in its stream's queue. */
struct pytorch_wait {
    struct stream_event event;
    uint32_t block;
    uint32_t next;
};
struct pytorch_fifo {
    uint32_t head, tail;             /* indexes of waits */
};

/* While this stands, requests that it accepts go to the pool. */
struct pytorch_diversion {
    uint8_t  pool;
    bool     is_capture;             /* accepts requests on its stream only; or else of every stream */
    uint16_t stream;
};

/* Rules that a study takes out to see what they cost (replay/blame). No release works without them. */
enum pytorch_rule {
    RULE_ROUNDING       = 1 << 0,    /* sizes are multiples of 512 bytes, or of what a setting says */
    RULE_SEGMENT_SIZES  = 1 << 1,    /* a segment of 2 or 20 MiB, or of whole 2 MiB above, is held from its start, and
                                      * what grows does so by pages of 2 and 20 MiB. Without it: as much as was used */
    RULE_SIZE_WALL      = 1 << 2,    /* requests of up to 1 MiB have segments of their own */
    RULE_WHOLE_BLOCKS   = 1 << 3,    /* large blocks are not split for a rest of up to 1 MiB, or above max_split_size */
    RULE_FIXED_SEGMENTS = 1 << 4,    /* segments cannot grow: expandable_segments is off */
};

enum refusal_kind { REFUSED_NOT, REFUSED_OOM, REFUSED_REJECTED, REFUSED_BY_DEVICE };

struct pytorch {
    struct policy          base;     /* first, so the two pointers convert */
    struct block_table  blocks;
    struct pytorch_stats   stats;
    uint64_t               limit;    /* bytes that may be held; PYTORCH_UNLIMITED: no limit */
    uint64_t               held;
    struct pytorch_settings settings;
    struct pytorch_rules rules;

    struct pytorch_pool   *pools;    /* by dense number; few exist */
    struct pytorch_half   *halves;   /* of each pool, small and large */
    uint32_t               n_pools;
    const struct stream_name *streams;
    uint16_t              *stream_places;        /* of free_set_places */
    uint64_t              *placed_handles;       /* by stream: the handle that `stream_places` rests on */
    const struct pool_name   *pool_names;
    uint32_t               n_streams;
    uint32_t               ordinal;
    uint32_t               peak_live;
    uint64_t               next_place;       /* the tie of the next segment, or block object */
    bool                   rounds_to_power_of_two;   /* preset pow2: not PyTorch's */
    uint64_t               rounds_to_units;          /* sizes up to here round to TORCH_MIN_BLOCK */
    uint8_t                round_shift[64];          /* log2 of the step for larger sizes, by their power of two */
    bool                   has_no_cache;
    uint64_t               small_max;        /* the largest size of the small half */
    uint64_t               least_rest;       /* the least that is split off a block */
    unsigned               without;          /* enum pytorch_rule: taken out */

    /* streams and events */
    struct pytorch_uses   *uses;     /* vacant ones are linked */
    uint32_t               n_uses, vacant_uses;
    size_t                 cap_uses;
    struct pytorch_wait   *waits;
    uint32_t               n_waits, vacant_waits;
    size_t                 cap_waits;
    struct pytorch_fifo   *fifos;    /* by dense stream */
    struct order_table     fifo_order;
    uint32_t               retired_head, retired_tail;   /* blocks whose end of use the trace tells */
    uint32_t              *deferred; /* frees waiting for the end of a capture, in order */
    uint32_t               n_deferred;
    size_t                 cap_deferred;

    /* pools */
    struct pytorch_diversion *diversions;
    uint32_t               n_diversions;
    size_t                 cap_diversions;
    uint32_t               n_captures;
    struct order_table     freeable; /* private pools without users */
    struct order_table     lenders;  /* private pools that lend to the shared one */

    struct pytorch_segment *segments;            /* by the device's id */
    uint32_t               cap_segments;
    struct pytorch_range  *ranges;
    uint32_t               n_ranges, vacant_range;
    size_t                 cap_ranges;

    /* the last refusal, for its sentence */
    enum refusal_kind      refused;
    uint64_t               refused_request, refused_rounded, refused_segment;
    uint64_t               refused_needs;        /* what the device lacked: the segment, or pages of a range */

    uint64_t               follow_steps;         /* blocks that pytorch_follow.c has looked at */

    /* what pytorch_repeats.c decides by */
    uint64_t               largest_segment;      /* bytes; ranges are not counted */
    bool                   has_lacked;           /* a growth failed */
    bool                   has_new_bounds;       /* the settings or the memory fraction changed during the run */

    /* for the report */
    char                  *conf;     /* the settings text in force */
    int64_t                max_split_at_start;
    uint64_t               gc_runs, gc_bytes;
    bool                   has_device_limit;
    bool                   has_given_version;
};

static inline struct block_entry *pytorch_at(const struct pytorch *p, uint32_t b)
{
    return &p->blocks.at[b];
}

static inline enum pytorch_size_class pytorch_class(const struct block_entry *b)
{
    return b->flags & BLOCK_IS_SMALL ? CLASS_SMALL : CLASS_LARGE;
}

static inline struct pytorch_half *pytorch_half(const struct pytorch *p, uint32_t pool, enum pytorch_size_class c)
{
    return &p->halves[2 * pool + c];
}

static inline struct pytorch_half *pytorch_half_of(const struct pytorch *p, const struct block_entry *b)
{
    return pytorch_half(p, b->pool, pytorch_class(b));
}

/* Tells the observer. */
static inline void pytorch_record(const struct pytorch *p, enum record_action action, uint16_t stream, uint8_t pool,
                                  uint64_t addr, uint64_t bytes)
{
    const struct policy_observer *o = p->base.observer;
    if (o->record != NULL)
        o->record(o->arg, &(struct policy_record){.action = action, .stream = stream, .pool = pool, .addr = addr,
                                                  .bytes = bytes});
}

/* ---- pytorch_alloc.c ---- */

/* A request while it is served. */
struct pytorch_attempt {
    uint64_t S, G;                   /* rounded request; segment size, set once a search has failed */
    uint16_t stream;
    uint8_t  pool;
    enum pytorch_size_class class;
    struct pytorch_home home;        /* of the block that serves it */
    bool     is_borrowed;            /* it searches another pool, which may not lend expandable segments */
    bool     is_rejected;            /* out: refused before the device was asked */
    enum err failure;                /* out: anything but lack of memory */
};

/* Whether segments grow without end. */
static inline bool pytorch_expands(const struct pytorch *p)
{
    return p->settings.expandable_segments || (p->without & RULE_FIXED_SEGMENTS) != 0;
}

/* Whether the request may be served from expandable segments. */
static inline bool pytorch_attempt_expands(const struct pytorch *p, const struct pytorch_attempt *a)
{
    if (p->without & RULE_SEGMENT_SIZES)
        return true;                             /* each segment grows page by page up to its size */
    return pytorch_expands(p) && (!a->is_borrowed || p->rules.lends_ranges) &&
           (a->pool == 0 || p->rules.has_shared_expandable);
}

/* Decides how sizes are rounded. Called after every change of the settings. */
void pytorch_plan_rounding(struct pytorch *p);

/* Takes rules out of a policy that has served nothing. Without RULE_SEGMENT_SIZES pages are those of its device, whose
 * `page_bytes` is set. */
void pytorch_take_out(struct pytorch *p, unsigned rules);

/* The size that a request of n (> 0) bytes is served with. */
uint64_t pytorch_round_by_plan(const struct pytorch *p, uint64_t n);

/* Bytes of the segment to ask the device for, to serve a block of S bytes; of the addresses that it may grow to. */
uint64_t pytorch_segment_size(const struct pytorch *p, uint64_t S);
uint64_t pytorch_segment_span(const struct pytorch *p, uint64_t S);

/* The best free block of this home; BLOCK_NONE if there is none. Only one candidate is examined: if the rules refuse
 * it, the search has failed. */
uint32_t pytorch_choose(struct pytorch *p, const struct pytorch_attempt *a, struct pytorch_home home);

/* Makes room for every block that can exist until the device is asked again: one per live request, plus the free ones.
 * Free blocks never touch: each is followed by a live block or by its segment's end. Beyond 2^20 blocks the table grows
 * as needed. */
enum err pytorch_hold_blocks(struct pytorch *p);

/* The bytes above which throw_on_cudamalloc_oom rejects a growth; PYTORCH_UNLIMITED: never. */
uint64_t pytorch_rejection_limit(const struct pytorch *p);

/* Enters a new segment or range in the table, and decides the tie of its first block. */
enum err pytorch_segment_enter(struct pytorch *p, const struct segment *seg, uint64_t *tie);

/* A new segment of a->G bytes from the device, as one block in no set. BLOCK_NONE if there is none. */
uint32_t pytorch_grow_segment(struct pytorch *p, struct pytorch_attempt *a);

/* Splits the block if the rules say so, and hands it out. */
void pytorch_finish(struct pytorch *p, uint32_t b, const struct pytorch_attempt *a, uint64_t requested,
                    struct block *out);

/* The block is no longer in use: coalesces it with its neighbours and puts it into its free set. */
void pytorch_complete_free(struct pytorch *p, uint32_t b);

/* The policy's hot pair. */
enum err pytorch_alloc(struct policy *base, const struct event *req, struct block *out);
void pytorch_free(struct policy *base, const struct event *req, const struct block *b);

/* Counts bytes that come from or go back to the device: `held`, and the reserved counters of the size class and of a
 * private pool. */
void pytorch_hold(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t bytes);
void pytorch_unhold(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t bytes);

/* ---- pytorch_give_back.c ---- */

/* Gives a free block that is a whole segment, and no range, back to the device. */
void pytorch_give_back_segment(struct pytorch *p, uint32_t b);

/* Whether garbage collection is possible: there is a threshold, and a limit that it is a share of. */
static inline bool pytorch_has_gc(const struct pytorch *p)
{
    return p->limit != PYTORCH_UNLIMITED && p->settings.garbage_collection_threshold > 0;
}

/* The bytes held above which garbage is collected; PYTORCH_UNLIMITED: never. */
uint64_t pytorch_gc_start(const struct pytorch *p);

/* Gives old segments back if too much is held. Only if pytorch_has_gc. */
void pytorch_collect_garbage(struct pytorch *p);

/* Gives back blocks of at least max_split_size to make room for S bytes; true if enough was given back. */
bool pytorch_give_back_oversize(struct pytorch *p, struct pytorch_half *half, uint64_t S, uint16_t stream);

/* Gives back everything that is free. pool 0: in all private pools without users and, unless a capture is under way, in
 * the shared pool. pool > 0: in that private pool only. */
void pytorch_give_back_all(struct pytorch *p, uint8_t pool, bool is_capturing);

/* ---- pytorch_expand.c ---- */

/* The size of a new reservation, before it is rounded up to pages. */
uint64_t pytorch_reserve(const struct pytorch *p);

/* A new range of `reserve` bytes, rounded up to pages, as one unmapped block. BLOCK_NONE if the device refuses, or if
 * the release checks that S bytes fit and they do not. */
enum err pytorch_create_range(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t S, uint16_t stream,
                              uint64_t reserve, uint32_t *out);

/* Maps memory to the first n bytes of an unmapped block, rounded up to pages; the mapped block then swallows its free
 * neighbours. False if the device has not enough, or if *failure is set. */
bool pytorch_map_part(struct pytorch *p, uint32_t u, uint64_t n, enum err *failure);

/* The first block of the lowest run of free blocks that can grow to S bytes; BLOCK_NONE: a new range is needed. */
uint32_t pytorch_find_run(const struct pytorch *p, const struct pytorch_half *half, uint64_t S, uint16_t stream);

/* Bytes of the pages that pytorch_grow_expandable would need from the device now. */
uint64_t pytorch_expandable_needs(const struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t S,
                                  uint16_t stream);

enum err pytorch_grow_expandable(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t S,
                                 uint16_t stream, uint32_t *out);

/* Whether a block has whole pages of a range. */
bool pytorch_has_pages(const struct pytorch *p, const struct block_entry *block);

/* Gives back the memory of all whole pages of a free block. */
void pytorch_unmap(struct pytorch *p, uint32_t b);
void pytorch_insert_unmapped(struct pytorch *p, uint32_t b);

/* The unmapped block of a stream that covers an address; BLOCK_NONE if there is none. */
uint32_t pytorch_find_unmapped(const struct pytorch *p, const struct pytorch_half *half, uint16_t stream,
                               uint64_t addr);
void pytorch_remove_unmapped(struct pytorch *p, uint32_t b);
void pytorch_ranges_close(struct pytorch *p);
const struct pytorch_range *pytorch_range_of(const struct pytorch *p, const struct block_entry *b);

/* ---- pytorch_streams.c ---- */

/* Whether a graph capture is under way, or what the release takes for one. First form: for calls without a stream,
 * which are assumed to come from the captured one. Second form: for a request on a stream, which goes to a pool. */
bool pytorch_is_capturing(const struct pytorch *p);
bool pytorch_is_capturing_stream(const struct pytorch *p, uint16_t stream, uint8_t pool);

/* Whether a request is more than a search: caching is off, frees wait, or requests are diverted. One test for all,
 * because every request makes it. */
static inline bool pytorch_has_more(const struct pytorch *p)
{
    return (p->has_no_cache | p->base.failure | p->fifo_order.count | p->n_deferred | p->n_diversions) != 0;
}

/* Completes frees whose events have finished. */
void pytorch_poll(struct pytorch *p);

/* Waits for all events, or (pool > 0) for those of the pool's blocks. Unless a capture is under way, also ends the
 * frees that a capture put off. */
void pytorch_wait_all(struct pytorch *p, uint8_t pool, bool is_capturing);
enum err pytorch_use(struct pytorch *p, uint32_t b, uint16_t stream);
/* The free of a block that has stream uses. */
void pytorch_free_used(struct pytorch *p, uint32_t b);
void pytorch_retire_block(struct pytorch *p, uint32_t b, uint32_t slot);
void pytorch_unretire(struct pytorch *p, uint32_t b);
void pytorch_streams_close(struct pytorch *p);

/* ---- pytorch_pools.c ---- */

uint8_t pytorch_choose_pool(const struct pytorch *p, const struct event *req);
enum err pytorch_pool_open(struct pytorch *p, uint8_t pool, uint64_t flags);

/* Finds the order of the streams, by the handles that they have now. ERR_HOST_NOMEM. */
enum err pytorch_place_streams(struct pytorch *p);

/* Makes bins for a stream in a half. The live allocator learns handles as streams appear: then the order of all is
 * found anew. ERR_HOST_NOMEM. */
enum err pytorch_add_stream(struct pytorch *p, struct pytorch_half *half, uint16_t stream);
enum err pytorch_pool_control(struct pytorch *p, const struct control *c, struct err_detail *err);
void pytorch_pools_close(struct pytorch *p);

/* ---- pytorch_follow.c (the rest of it is in pytorch_follow.h) ---- */

enum err pytorch_restore(struct policy *base, const struct trace_segment *segments, size_t n_segments,
                         const struct trace_block *blocks, size_t n_blocks, struct block *live, struct err_detail *err);

/* ---- pytorch_repeats.c ---- */

/* The member `repeats` of the policy: policies/policy.h. */
bool pytorch_repeats(const struct policy *done_base, const struct policy *fresh_base);

extern const struct policy_ops policy_pytorch;

#endif
