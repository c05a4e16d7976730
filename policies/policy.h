/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The policy interface: the only header that a policy author must read.
 *
 * A policy decides where a request lives. It reads no traces, keeps no score and prints nothing. It asks for memory by
 * the front functions of sim/device.h and answers each event with a block. A built-in policy is a const table of
 * functions; a plugin is a shared object that hands out such a table through one symbol.
 */
#ifndef REPLAY_POLICIES_POLICY_H
#define REPLAY_POLICIES_POLICY_H

#include "base/err.h"
#include "base/event.h"
#include "sim/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POLICY_ABI 7              /* raised when an existing member changes; appending only grows size */

enum { POLICY_OPTIONS_MAX = 32 };

/* FUTURE: `foresee` is called with all events before the run, as for a policy that plans (stalloc). It cannot run
 * live. SITES: policy.site tells where the program makes each request. */
enum policy_needs { POLICY_NEEDS_VMM = 1, POLICY_NEEDS_FUTURE = 2, POLICY_NEEDS_SITES = 4 };

enum option_kind {
    OPTION_BYTES,                 /* a size with its unit: 128MiB */
    OPTION_NUMBER,                /* a whole number */
    OPTION_RATIO,                 /* a share, 0 to 1 */
    OPTION_SWITCH,                /* on or off; the bare name means on */
    OPTION_TEXT,                  /* passed on as it is */
    OPTION_PAIRS,                 /* collects every item of the form key:value, joined by commas */
    OPTION_UPSTREAM,              /* a policy with its options, in brackets: upstream=[rmm-pool:initial=1GiB] */
};

/* The engine parses an option, checks its range and lists it in --help. A policy gets the values in declared order. */
struct policy_option {            /* name == NULL ends the list */
    const char      *name;        /* "max-split" */
    enum option_kind kind;
    uint64_t         min, max;    /* OPTION_BYTES and OPTION_NUMBER, inclusive */
    const char      *fallback;    /* as it would be typed; NULL: not set */
    const char      *unit;        /* "bytes", "streams"; NULL if the kind says it */
    const char      *help;        /* what it does, ending in its source */
};

/* The place of a mistake in what was typed, for why->offset of an ERR_USAGE that `create` returns: byte `at` of the
 * value of the option with this index. The message then shows the place to the person. 0: no place. */
#define POLICY_PLACE(option, at) (((uint64_t)(option) + 1) << 32 | (uint32_t)(at))

/* A policy that was named as the value of an option. */
struct policy_choice {
    const struct policy_ops   *ops;
    const struct option_value *values;       /* one per option of `ops` */
};

struct option_value {
    bool        is_given;         /* typed by the person; otherwise the fallback, if there is one */
    bool        is_set;           /* typed, or there is a fallback */
    uint64_t    number;           /* BYTES, NUMBER, SWITCH (0, 1) */
    double      ratio;            /* RATIO */
    const char *text;             /* TEXT and PAIRS: the value; others: as typed. Borrowed for the policy's life */
    const struct policy_choice *choice;      /* UPSTREAM: the policy named; NULL: the device. Borrowed likewise */
};

/* A record of a policy's: what PyTorch would have written into its trace. */
enum record_action {
    RECORD_ALLOC, RECORD_FREE_REQUESTED, RECORD_FREE_COMPLETED, RECORD_SEGMENT_ALLOC, RECORD_SEGMENT_FREE,
    RECORD_SEGMENT_MAP, RECORD_SEGMENT_UNMAP, RECORD_SNAPSHOT, RECORD_OOM, RECORD_ACTIONS
};
struct policy_record {
    enum record_action action;
    uint16_t    stream;           /* dense */
    uint8_t     pool;             /* dense */
    uint64_t    addr;             /* OOM: the device's free bytes */
    uint64_t    bytes;            /* alloc and free: the request; OOM: the rounded request */
};

/* The observer of a policy. Members may be NULL; without them nothing is spent. */
struct policy_observer {
    /* Called for each record, in order, as it happens. */
    void (*record)(void *arg, const struct policy_record *r);
    /* A pending free (retire) was ended early: its slot is vacant, its memory reusable. */
    void (*completed)(void *arg, uint32_t slot);
    /* The block of a live or pending request lies at *to from now on, which has the same size: what a compacting policy
     * tells, in any of its calls, in an order in which no two live blocks ever overlap. NULL: nobody can follow, so no
     * block may be moved. Copying is not priced. */
    void (*moved)(void *arg, uint32_t slot, const struct block *to);
    void *arg;
};

struct policy_config {
    struct device  *device;       /* borrowed; outlives the policy */
    uint32_t        ordinal;      /* number of the device in its program; some decisions and texts use it */
    uint32_t        peak_live;    /* most requests live at once, to size tables by; 0: unknown */
    uint64_t        seed;         /* the only source of randomness: --seed */
    const struct option_value *values;       /* one per declared option, in that order */
    const struct stream_name  *streams;      /* by dense number; borrowed for the policy's life */
    uint32_t        n_streams;               /* at least 1 */
    const struct pool_name    *pools;        /* by dense number; entry 0 is the shared pool */
    uint32_t        n_pools;                 /* at least 1 */
};

/* X(name, meaning): counters common to all policies; each policy counts its own. */
#define POLICY_COUNTERS(X)                                                                                  \
    X(hits, "requests served from the cache")                                                               \
    X(misses, "requests that needed device memory")                                                         \
    X(splits, "free blocks cut to fit")                                                                     \
    X(coalesces, "free blocks merged")                                                                      \
    X(retries, "requests tried again after the cache was given back")                                         \
    X(collected, "segments given back because of their age")                                                \
    X(moves, "live blocks that a compaction moved")

struct policy_counters {
#define POLICY_COUNTER(name, meaning) uint64_t name;
    POLICY_COUNTERS(POLICY_COUNTER)
#undef POLICY_COUNTER
};

struct policy {                   /* first member of every policy */
    const struct policy_ops *ops;
    struct device           *device;
    const struct policy_observer *observer;  /* borrowed; not NULL after policy_create */
    struct policy_counters   count;
    enum err                 failure;        /* a failure of the host in a call that cannot report it; it ends the
                                              * run */
    uint32_t                 site;           /* POLICY_NEEDS_SITES, during alloc: a number for the request's call stack,
                                              * the same for equal stacks; 0: not recorded, or live before the start */
};

/* One block of a segment, for walk(). */
enum block_state { BLOCK_FREE, BLOCK_ALLOCATED, BLOCK_PENDING, BLOCK_UNMAPPED };
struct block_view {
    uint64_t addr, bytes;
    uint64_t requested;           /* bytes of the request it serves, or served last; 0: none */
    uint64_t segment_addr;        /* where its segment starts */
    uint32_t segment;             /* its id on the device */
    uint16_t stream;
    uint8_t  pool;
    uint8_t  state;               /* enum block_state */
    bool     is_small;            /* belongs to a pool of small blocks, if the policy has one */
    uint64_t page_bytes;          /* its segment is a range that grows by pages of so many bytes; 0: is no range */
};
typedef void (*block_visit)(void *arg, const struct block_view *b);

/* Bytes of the whole pages between the start of one block of a range and the end of that block or a later one; 0 if
 * their segment is no range. */
static inline uint64_t block_view_pages(const struct block_view *low, const struct block_view *high)
{
    const uint64_t page = low->page_bytes, offset = low->addr - low->segment_addr;
    if (page == 0)
        return 0;
    const uint64_t first = offset / page + (offset % page != 0);
    const uint64_t end = (high->addr - high->segment_addr + high->bytes) / page;
    return end > first ? (end - first) * page : 0;
}

/* Bytes of a free block that can be given back while the rest of its segment is in use. In a private pool: none. */
static inline uint64_t block_view_idle_pages(const struct block_view *b)
{
    return b->pool == 0 ? block_view_pages(b, b) : 0;
}

/* A counter, by the key under which PyTorch publishes it ("allocated_bytes.all.peak"). */
typedef void (*stat_visit)(void *arg, const char *key, int64_t value);

/* A sentence for the report. The result rests on an assumption; a warning asks the person to act. */
enum remark_kind { REMARK_ASSUMPTION, REMARK_WARNING };
typedef void (*remark_visit)(void *arg, enum remark_kind kind, const char *sentence);

/* The error that a program would have seen: its type's name and its message. */
struct refusal {
    const char *type;             /* "OutOfMemoryError"; static */
    char        text[1200];
    uint64_t    rounded_bytes;    /* the request after rounding; 0: not said */
    uint64_t    segment_bytes;    /* what it needed from the device: a new segment, or pages of a range; 0: not said */
};

#define POLICY_ALL_STREAMS UINT32_MAX

/* X(name): the structs that a policy and the program hand each other. A plugin brings its sizes of them along, so that
 * one that was built against other headers is refused, not run. */
#define POLICY_STRUCTS(X)                                                                                   \
    X(policy) X(policy_config) X(policy_option) X(policy_choice) X(option_value) X(policy_counters)         \
    X(policy_record) X(policy_observer) X(block_view) X(refusal) X(event) X(block) X(control)               \
    X(stream_name) X(pool_name) X(trace_segment) X(trace_block) X(err_detail)                               \
    X(device) X(device_config) X(device_usage) X(device_call) X(device_log) X(segment) X(segment_state)

struct policy_size {              /* name == NULL ends the list */
    const char *name;
    size_t      bytes;
};

struct policy_ops {
    uint32_t    abi, size;        /* POLICY_ABI, sizeof(struct policy_ops) */
    const struct policy_size *sizes;         /* policy_sizes: whether plugin and program know the same structs */
    const char *name;             /* as typed after --policy; [a-z0-9-]+ */
    const char *summary;          /* one line for --list, ending in its source */
    const struct policy_option *options;     /* NULL: none */
    uint32_t    needs;            /* enum policy_needs */

    /* policy_create fills in *out's first member afterwards; until then only what `create` itself put there is set. A
     * policy that reserves memory at its start asks for it here, from cfg->device, unless it has `restore`: that comes
     * after `create`. ERR_DEVICE_OOM is a refusal before the first event. ERR_USAGE for options: POLICY_PLACE. */
    enum err (*create)(const struct policy_config *cfg, struct policy **out, struct err_detail *err);
    void     (*destroy)(struct policy *p);   /* may leave segments to device_close */

    /* The hot pair, called once per event: no host malloc except to grow tables, no I/O. alloc: places req->bytes (> 0)
     * for req->stream in req->pool; ERR_DEVICE_OOM leaves live blocks as they were. free: b is a copy of what alloc
     * returned; cannot fail; req->stream is the stream on which it was freed. Also ends a free that retire began.
     * Requests of 0 bytes reach no policy: all allocators that we know answer a null pointer and do nothing. */
    enum err (*alloc)(struct policy *p, const struct event *req, struct block *out);
    void     (*free)(struct policy *p, const struct event *req, const struct block *b);

    /* The rest may be NULL. */
    void     (*retire)(struct policy *p, const struct event *req, const struct block *b);
             /* The program freed the block, but a stream may still use it: free() follows. A policy that waits for all
              * streams before it reports OOM ends such frees early and tells the observer; free() is then not called
              * for them. */
    void     (*flush)(struct policy *p, uint32_t stream);
             /* Gives cached segments back: those of one dense stream, or POLICY_ALL_STREAMS. A policy that does not
              * keep streams apart gives back all. */
    enum err (*reserve)(struct policy *p, const struct event *req, struct block *out);
             /* As alloc, for a request that wants memory of its own past the cache (ONNX Runtime's Reserve). */
    enum err (*control)(struct policy *p, const struct control *c, const struct block *b, struct err_detail *err);
             /* b: the block in c->slot for CONTROL_USE, else NULL. ERR_UNSUPPORTED: the policy knows no such
              * control. CONTROL_THREAD says which thread makes the requests that follow; before the first it is
              * thread 0. */
    enum err (*foresee)(struct policy *p, const struct event *ev, size_t n);  /* offline planners: all events first */
    enum err (*walk)(const struct policy *p, block_visit visit, void *arg);   /* all blocks, by address;
                                                                                * ERR_HOST_NOMEM */
    uint64_t (*largest_free)(const struct policy *p);                         /* bytes; NULL: found by walk */
    void     (*stats)(const struct policy *p, stat_visit visit, void *arg);   /* keys in byte order; an upstream's are
                                                                                * among them */
    void     (*remarks)(const struct policy *p, remark_visit visit, void *arg);
    void     (*refusal)(const struct policy *p, struct refusal *out);         /* of the alloc just refused */
    enum err (*check)(const struct policy *p, struct err_detail *err);        /* every invariant */
    enum err (*restore)(struct policy *p, const struct trace_segment *segments, size_t n_segments,
                        const struct trace_block *blocks, size_t n_blocks, struct block *live, struct err_detail *err);
             /* Takes over the recorded state before the first event; live[slot] gets the blocks. Called once, before
              * all other calls. Asks the device for one segment per recorded one, and for one range per stream, pool
              * and size class that has any, in the order of their first appearance: the device hands out the recorded
              * addresses. */
    void     (*expect)(const struct policy *p, const struct event *ev, const struct block *b, bool is_next);
             /* A hint that changes nothing: `ev` will be given to alloc or free some events later. Called twice: with
              * is_next false, then with true shortly before. b: what its slot holds now, perhaps a block long gone.
              * Time to prefetch; called only if the blocks exceed the caches. */
    bool     (*repeats)(const struct policy *done, const struct policy *fresh);
             /* Whether `fresh`, which has served nothing, would have answered everything that `done` was told by the
              * same decisions: device calls, addresses, counters, refusals; and would remark the same. Then one run is
              * enough for both. False if that is not certain. If `done` has served nothing either, true means: nothing
              * speaks against it so far, and `done` is the one to run. Both have this same function, the same streams
              * and pools, and the same value of every option that is not in `compared`. The caller checks that, and
              * that their devices would answer the calls alike; those may differ in capacity and in what is taken of it
              * if no request was refused. */
    enum err (*walk_free)(const struct policy *p, block_visit visit, void *arg);
             /* Instead of walk: the free blocks alone, in any order. The program keeps what was handed out and shows it
              * between them; such a policy has no `restore`, and gets no hints. */
    uint64_t    compared;
             /* Bit i: `repeats` itself compares what the option with this index means, so that its values may differ. A
              * bit that is not set costs a run, never a wrong result. */
    void     (*mark)(struct policy *p, uint32_t label);
             /* The program passed a boundary, such as the end of a step. Equal labels have equal numbers. */
};

#define POLICY_SIZE_ROW(name) {#name, sizeof(struct name)},
static const struct policy_size policy_sizes[] = {POLICY_STRUCTS(POLICY_SIZE_ROW) {NULL, 0}};
#undef POLICY_SIZE_ROW

/* How every table of operations begins. */
#define POLICY_HEAD .abi = POLICY_ABI, .size = sizeof(struct policy_ops), .sizes = policy_sizes

/* A plugin's one symbol: `const struct policy_ops *policy_plugin(void);`, found by this name. */
#define POLICY_PLUGIN_SYMBOL "policy_plugin"

/* The i-th built-in; NULL after the last. */
const struct policy_ops *policy_at(size_t i);

/* A built-in by name; NULL if there is none. */
const struct policy_ops *policy_find(const char *name);

/* Loads a shared object. *out is a copy in which members unknown to the plugin are NULL; policy_unload frees it.
 * ERR_IO; ERR_ABI, with both numbers. */
MUST_USE enum err policy_load(const char *path, const struct policy_ops **out, void **handle, struct err_detail *err);
void policy_unload(const struct policy_ops *ops, void *handle);

/* What policy_load does with a table: checks it, reading nothing beyond its `size`, and copies it; free() the copy.
 * `path` is for messages. ERR_ABI; ERR_FORMAT; ERR_HOST_NOMEM. */
MUST_USE enum err policy_take_table(const struct policy_ops *ops, const char *path, struct policy_ops **out,
                                    struct err_detail *err);

/* Creates a policy and fills in its first member, struct policy. ERR_UNSUPPORTED if the device lacks what it needs. If
 * the device refuses the memory that `create` asks for, *out is a policy that refuses every request: see
 * policy_is_refused. */
MUST_USE enum err policy_create(const struct policy_ops *ops, const struct policy_config *cfg, struct policy **out,
                                struct err_detail *err);

/* Whether the device refused the memory that the policy reserves at its start; *bytes: the last call that it
 * refused. */
bool policy_is_refused(const struct policy *p, uint64_t *bytes);

/* NULL is accepted. */
void policy_destroy(struct policy *p);

/* Bytes of the largest free block, by largest_free or walk; 0 if the policy has neither, or if walk has no memory. */
uint64_t policy_largest_free(const struct policy *p);

#ifdef __cplusplus
}
#endif

#endif
