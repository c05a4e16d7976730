/*
 * pytorch: PyTorch's native CUDA caching allocator, decision by decision. Internal interface of its parts.
 *
 *     pytorch.c          the policy: options, controls, counters, views
 *     block_table.h   the table of blocks;  free_set.h  those that are free, in order
 *     pytorch_steps.h    rounding, cutting, coalescing, freeing: the steps that the others are made of
 *     pytorch_alloc.c    the way of a request: search, growth, splitting; and of a free
 *     pytorch_give_back.c  giving memory back: garbage collection, oversize blocks, everything
 *     pytorch_expand.c   expandable segments
 *     pytorch_streams.c  stream uses, events, polling
 *     pytorch_pools.c    private pools, diversion, captures
 *     pytorch_follow.c   taking over a recorded state, and following recorded decisions
 *     pytorch_repeats.c  whether a run was another's as well
 *
 * Source: PyTorch, c10/cuda/CUDACachingAllocator.cpp; releases 2.0 to 2.15, differences in pytorch_rules.h.
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_H

#include "policies/policy.h"
#include "policies/parts/block_table.h"
#include "policies/pytorch/pytorch_conf.h"
#include "policies/parts/free_set.h"
#include "policies/pytorch/pytorch_rules.h"
#include "policies/pytorch/pytorch_stats.h"
#include "policies/pytorch/pytorch_order_table.h"
#include "sim/stream_queues.h"

#define PYTORCH_MIN_BLOCK   UINT64_C(512)
#define PYTORCH_SMALL_MAX   (UINT64_C(1) << 20)      /* largest rounded size of the small pool */
#define PYTORCH_SMALL_SEG   (UINT64_C(2) << 20)
#define PYTORCH_EXACT_MIN   (UINT64_C(10) << 20)     /* from here on a segment is made to measure */
#define PYTORCH_LARGE_ROUND (UINT64_C(2) << 20)

/* Blocks that one growth and the split behind it can make at most. */
enum { PYTORCH_SPARE_BLOCKS = 8 };

/* The small or the large half of a pool. */
struct pytorch_half {
    struct free_set free;
    uint32_t *unmapped;              /* unmapped stretches, ascending by stream handle, then address */
    uint32_t  n_unmapped, cap_unmapped;
    uint64_t  fit_calls;             /* counts searches while garbage collection can happen */
};
static_assert(sizeof(struct pytorch_half) == 64, "a power of two, for who looks one up");

/* Where a block belongs while it is free; all blocks of a segment have the same. */
struct pytorch_home {
    struct pytorch_half *half;
    struct free_bins    *bins;       /* its stream's */
};

/* Pool 0 is the shared one; the others are private. */
struct pytorch_pool {
    bool     exists;
    bool     no_split;
    bool     ever_held;
    uint32_t uses;                   /* freeable when it falls to 0 */
    uint64_t device_allocs;          /* growths not yet given back, as the original counts them */
    struct pytorch_stat reserved;
};

/* What is known of a segment beside its blocks. */
struct pytorch_segment {
    uint64_t free_since;             /* its half's fit_calls when it was last free as a whole */
    uint32_t range;                  /* of an expandable one: index into the ranges */
};

/* An expandable segment. */
struct pytorch_range {
    struct segment seg;              /* bytes 0: vacant entry */
    uint64_t page_bytes;
    uint32_t *phys;                  /* handle by page; 0: no memory there */
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

/* Requests that the filter accepts go to the pool. */
struct pytorch_diversion {
    uint8_t  pool;
    bool     is_capture;             /* accepts its stream only; otherwise every stream */
    uint16_t stream;
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
    const struct pool_name   *pool_names;
    uint32_t               n_streams;
    uint32_t               ordinal;
    uint32_t               peak_live;
    uint64_t               next_place;       /* the tie of the next segment, or block object */
    bool                   rounds_to_power_of_two;   /* preset pow2: not PyTorch's */
    uint64_t               rounds_to_units;          /* sizes up to here, to PYTORCH_MIN_BLOCK and no more; else */
    uint8_t                round_shift[64];          /* by their power of two: pytorch_plan_rounding */
    bool                   has_no_cache;

    /* streams and events */
    struct pytorch_uses   *uses;     /* records; vacant ones linked */
    uint32_t               n_uses, cap_uses, vacant_uses;
    struct pytorch_wait   *waits;
    uint32_t               n_waits, cap_waits, vacant_waits;
    struct pytorch_fifo   *fifos;    /* by dense stream */
    struct order_table     fifo_order;
    uint32_t               retired_head, retired_tail;   /* blocks whose end of use comes from the trace */
    uint32_t              *deferred; /* frees waiting for the end of a capture, in order */
    uint32_t               n_deferred, cap_deferred;

    /* pools */
    struct pytorch_diversion *diversions;
    uint32_t               n_diversions, cap_diversions;
    uint32_t               n_captures;
    struct order_table     freeable; /* private pools nobody uses */
    struct order_table     lenders;  /* private pools that were opened to requests of the shared one */

    struct pytorch_segment *segments;            /* by the device's id */
    uint32_t               cap_segments;
    struct pytorch_range  *ranges;
    uint32_t               n_ranges, cap_ranges;

    /* the last refusal, for its sentence */
    enum refusal_kind      refused;
    uint64_t               refused_request, refused_rounded, refused_segment;
    uint64_t               refused_needs;        /* of the device: the segment, or pages for what it lacks in a range */

    /* what decides whether this run was another's as well: pytorch_repeats.c */
    uint64_t               largest_segment;      /* bytes, of all that were made; none of them a range */
    bool                   has_lacked;           /* a growth failed */
    bool                   has_new_bounds;       /* settings or a fraction came while it was running */

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

/* Tells whoever listens. */
static inline void pytorch_record(const struct pytorch *p, enum record_action action, uint16_t stream, uint8_t pool,
                                  uint64_t addr, uint64_t bytes)
{
    const struct policy_observer *o = p->base.observer;
    if (o->record != NULL)
        o->record(o->arg, &(struct policy_record){.action = action, .stream = stream, .pool = pool, .addr = addr,
                                                  .bytes = bytes});
}

/* ---- pytorch_alloc.c ---- */

/* A request on its way. */
struct pytorch_attempt {
    uint64_t S, G;                   /* rounded request; segment size, which is not needed before a search fails */
    uint16_t stream;
    uint8_t  pool;
    enum pytorch_size_class class;
    struct pytorch_home home;        /* of the block it gets */
    bool     is_borrowed;            /* another pool's: expandable segments are not for it */
    bool     is_rejected;            /* out: refused before the device was asked */
    enum err failure;                /* out: anything but lack of memory */
};

/* Whether it may use expandable segments. */
static inline bool pytorch_attempt_expands(const struct pytorch *p, const struct pytorch_attempt *a)
{
    return p->settings.expandable_segments && (!a->is_borrowed || p->rules.lends_ranges) &&
           (a->pool == 0 || p->rules.has_shared_expandable);
}

/* Decides how sizes are rounded; after every change of the settings. */
void pytorch_plan_rounding(struct pytorch *p);

/* The size that a request of n (> 0) bytes is served with. */
uint64_t pytorch_round_by_plan(const struct pytorch *p, uint64_t n);

/* Size of the segment to ask for, for a block of S bytes. */
uint64_t pytorch_segment_size(const struct pytorch *p, uint64_t S);

/* Takes the best free block for the attempt that this home has, BLOCK_NONE when there is none; only one candidate is
 * examined. */
uint32_t pytorch_fit(struct pytorch *p, const struct pytorch_attempt *a, struct pytorch_home home);

/* Makes room for all blocks that there can be until the device is asked again: a live one for each request, and free
 * ones, of which each has a live one or the end of a segment behind it. Beyond some size the table grows as needed. */
enum err pytorch_hold_blocks(struct pytorch *p);

/* Bytes that may be held before throw_on_cudamalloc_oom rejects a growth; PYTORCH_UNLIMITED: it does not. */
uint64_t pytorch_rejection_limit(const struct pytorch *p);

/* Makes room for what is known of a new segment or range, and finds the tie of the one block that it is. */
enum err pytorch_segment_enter(struct pytorch *p, const struct segment *seg, uint64_t *tie);

/* A new segment of the device, of a->G bytes, as one block that is in no set yet. */
uint32_t pytorch_grow_segment(struct pytorch *p, struct pytorch_attempt *a);

/* Cuts the block to size if the rules say so, and hands it out. */
void pytorch_finish(struct pytorch *p, uint32_t b, const struct pytorch_attempt *a, uint64_t requested,
                    struct block *out);

/* The block is no longer in use: merges it with its neighbours and makes it available. */
void pytorch_complete_free(struct pytorch *p, uint32_t b);

/* The policy's hot pair. */
enum err pytorch_alloc(struct policy *base, const struct event *req, struct block *out);
void pytorch_free(struct policy *base, const struct event *req, const struct block *b);

/* Bytes come or go: held, and the reserved counters of the size class and of a private pool. */
void pytorch_hold(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t bytes);
void pytorch_unhold(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t bytes);

/* ---- pytorch_give_back.c ---- */

/* Gives one ordinary block, a whole segment, back to the device. */
void pytorch_give_back_segment(struct pytorch *p, uint32_t b);

/* Whether garbage collection can happen: it has a threshold, and something to take it of. */
static inline bool pytorch_has_gc(const struct pytorch *p)
{
    return p->limit != PYTORCH_UNLIMITED && p->settings.garbage_collection_threshold > 0;
}

/* Bytes held above which garbage is collected; PYTORCH_UNLIMITED: it never is. */
uint64_t pytorch_gc_start(const struct pytorch *p);

/* pytorch_has_gc says that it can happen. */
void pytorch_collect_garbage(struct pytorch *p);

/* Releases blocks of at least max_split_size that could make room for S bytes; true when enough was. */
bool pytorch_give_back_oversize(struct pytorch *p, struct pytorch_half *half, uint64_t S, uint16_t stream);

/* Releases what is free: in all freeable private pools and, unless a capture is under way, the default ones; or
 * (pool > 0) in that private pool. */
void pytorch_give_back_all(struct pytorch *p, uint8_t pool, bool is_capturing);

/* ---- pytorch_expand.c ---- */

/* Bytes that a new reservation starts from. */
uint64_t pytorch_reserve(const struct pytorch *p);

/* A new range of `reserve` bytes or somewhat more, as one unmapped block; BLOCK_NONE when the device refuses, or when
 * the release sees that it would be of no use for S bytes. */
enum err pytorch_create_range(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t S, uint16_t stream,
                              uint64_t reserve, uint32_t *out);

/* Puts memory behind the first n bytes, or somewhat more, of an unmapped block, which then swallows its free
 * neighbours. False when the device has not enough, or *failure is set. */
bool pytorch_map_part(struct pytorch *p, uint32_t u, uint64_t n, enum err *failure);

/* The lowest start of a run that can grow to S bytes; BLOCK_NONE: a new range is needed. */
uint32_t pytorch_find_run(const struct pytorch *p, const struct pytorch_half *half, uint64_t S, uint16_t stream);

/* The pages that pytorch_grow_expandable would have to get from the device now. */
uint64_t pytorch_expandable_needs(const struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t S,
                                  uint16_t stream);

enum err pytorch_grow_expandable(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t S,
                                 uint16_t stream, uint32_t *out);
/* Takes the memory from all whole pages of a free block. */
void pytorch_unmap(struct pytorch *p, uint32_t b);
void pytorch_insert_unmapped(struct pytorch *p, uint32_t b);
void pytorch_remove_unmapped(struct pytorch *p, uint32_t b);
void pytorch_ranges_close(struct pytorch *p);
const struct pytorch_range *pytorch_range_of(const struct pytorch *p, const struct block_entry *b);

/* ---- pytorch_streams.c ---- */

/* Whether a graph capture (or what the release takes for one) is under way: to calls that name no stream, of which it
 * is supposed that they come from the captured one; and to a request on a stream, which goes to a pool. */
bool pytorch_is_capturing(const struct pytorch *p);
bool pytorch_is_capturing_stream(const struct pytorch *p, uint16_t stream, uint8_t pool);

/* Whether there is more to a request than the request. One question for all, because every request asks it. */
static inline bool pytorch_has_more(const struct pytorch *p)
{
    return (p->has_no_cache | p->base.failure | p->fifo_order.count | p->n_deferred | p->n_diversions) != 0;
}

/* Completes frees whose events have finished. */
void pytorch_poll(struct pytorch *p);

/* Waits for all events, or (pool > 0) for those of the pool's blocks; and for frees that a capture put off, unless one
 * is under way. */
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
enum err pytorch_pool_control(struct pytorch *p, const struct control *c, struct err_detail *why);
void pytorch_pools_close(struct pytorch *p);

/* ---- pytorch_follow.c (the rest of it is in pytorch_follow.h) ---- */

enum err pytorch_restore(struct policy *base, const struct trace_segment *segments, size_t n_segments,
                         const struct trace_block *blocks, size_t n_blocks, struct block *live, struct err_detail *why);

/* ---- pytorch_repeats.c ---- */

/* The policy's answer: policies/policy.h. */
bool pytorch_repeats(const struct policy *done_base, const struct policy *fresh_base);

extern const struct policy_ops policy_pytorch;

#endif
