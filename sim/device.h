/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The device interface: what policies get memory from, and the numbers that every device keeps.
 *
 * Policies call the front functions (device_*), never `ops`. The front functions handle capacity, the segment table,
 * usage, the call log and injected failures in one place. So a simulated and a real device cannot disagree about them,
 * and a test can make either refuse from the n-th call on. The memory calls are the CUDA driver's own, one for one.
 */
#ifndef REPLAY_SIM_DEVICE_H
#define REPLAY_SIM_DEVICE_H

#include "base/err.h"
#include "sim/cards.h"
#include "sim/device_workspaces.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DEVICE_ABI 3

#define DEVICE_PAGE_BYTES (UINT64_C(2) << 20)    /* the driver gives memory out in pages of 2 MiB */
#define DEVICE_UNLIMITED  UINT64_MAX

struct device;
struct stream_queues;                /* sim/stream_queues.h */
struct cuda_api;                     /* sim/cuda_api.h */
struct device_measured;              /* sim/device_measured.h */

enum device_addresses {
    ADDRESSES_RISING,                /* each above the last, never reused, so runs are reproducible */
    ADDRESSES_FIRST_FIT,             /* the lowest gap that fits */
    ADDRESSES_DESCENDING,            /* each below the last, never reused */
    ADDRESSES_LIST,                  /* from `address_list`, in order; then as before it, rising if it came first */
    ADDRESSES_LINUX,                  /* as Linux's driver gives them: sim/device_sim.c */
};

struct device_config {
    uint64_t total_bytes;            /* the card's memory; DEVICE_UNLIMITED: no end */
    uint64_t context_bytes;          /* of it, taken by this process's CUDA context and libraries */
    uint64_t others_bytes;           /* of it, taken by other processes */
    uint64_t fail_from_call;         /* tests: growing calls report OOM from the n-th on; 0: never */
    uint64_t alloc_ns, free_ns;      /* modelled driver time per segment call */
    uint64_t map_ns, unmap_ns;       /* the same per mapping call, per page */
    uint64_t wait_ns, sync_ns;       /* the same to order a stream after another, and to wait for one without work */
    uint64_t page_bytes;             /* a study's smaller page, a power of two; 0: DEVICE_PAGE_BYTES */
    bool     packing;                /* requests of less than 2 MiB share pages */
    enum device_addresses addresses;
    bool     has_addresses;          /* somebody asked for that order; otherwise a recording may show another */
    const uint64_t *address_list;    /* ADDRESSES_LIST: borrowed, outlives the device */
    size_t   n_addresses;
    uint64_t base_addr;              /* the first address; 0: the device chooses */
    uint64_t hole_bytes;             /* ADDRESSES_LINUX: a hole above all spans, filled before a new one is begun */
    struct stream_queues *queues;    /* borrowed; NULL: work on every stream ends at once */

    /* What a simulated card says of itself to a program. */
    const struct device_model *model;            /* the named card; NULL: it was given by size */
    bool     is_windows;             /* the driver is that of Windows, also below WSL: it keeps less of the memory */
    unsigned capability;             /* 86 for 8.6; 0: the model's */
    unsigned multiprocessors;        /* 0: the model's */
    enum device_workspaces workspaces;           /* what libraries ask for */
    uint64_t workspace_bytes;        /* WORKSPACES_FIXED: each convolution */

    /* For a real device only. When it is opened, the card tells `total_bytes`, `context_bytes` and `others_bytes`: all
     * of its memory, less what is taken. A limit replaces them. */
    unsigned ordinal;
    uint64_t limit_bytes;            /* the most to take from the card; 0: what it has free */
    bool     touch;                  /* write to all memory as soon as it is obtained */
    const volatile sig_atomic_t *interrupted;    /* once it is not 0, growing calls fail with ERR_INTERRUPTED; NULL:
                                                  * never */
    const struct cuda_api *cuda;     /* tests: functions instead of the host's libraries; borrowed */
};

/* Memory obtained from the device: a whole piece (segment_alloc), or an address range that grows by mapping
 * (range_reserve). `bytes` of a range counts its addresses; what is mapped is in the device's table. */
struct segment {
    uint64_t addr, bytes;
    uint32_t id;                     /* index into device.segments; dense; used again after the free */
};

/* The table entry of a segment id. */
struct segment_state {
    uint64_t addr, bytes;            /* bytes 0: the id is vacant */
    uint64_t mapped_bytes;           /* bytes of its memory, without what another range counts: == bytes for a whole
                                      * segment */
    uint32_t page;                   /* its piece of a shared page (sim/pages.h), or PAGES_NONE */
    uint32_t next_moved;             /* of the list device.moved, 1 + an id; 0: it is the last */
    bool     is_range;
    bool     is_moved;               /* it is in that list */
    bool     is_host;                /* in the host's memory: counted in usage.host_bytes alone */
};

struct device_usage {
    uint64_t reserved_bytes;         /* obtained and not given back: the sum of mapped_bytes */
    uint64_t reserved_peak_bytes;
    uint64_t page_bytes;             /* bytes of the driver's pages for it: >= reserved, unless pages are shared */
    uint64_t page_peak_bytes;
    uint64_t segments, segments_peak;              /* whole segments now */
    uint64_t ranges;                               /* reserved ranges now */
    uint64_t segment_allocs, segment_frees;        /* calls that succeeded */
    uint64_t maps, unmaps;                         /* pages mapped, unmapped */
    uint64_t waits, syncs;                         /* a stream was ordered after another; the host waited for one */
    uint64_t refusals;                             /* growing calls that were refused for lack of memory */
    uint64_t host_bytes, host_peak_bytes;          /* of the host's memory, page-locked */
    uint64_t calls;                                /* all calls that reached the device */
    uint64_t recounts;                             /* memory counted elsewhere: device_count_in */
    uint64_t changes;                              /* calls + recounts: while it stays, nothing has changed */
    uint64_t time_ns;                              /* modelled; a real device's times are in device.measured */
};

/* X(name, text): the calls, as the log names them. */
#define DEVICE_CALL_LIST(X)                                                                                 \
    X(MALLOC, "malloc") X(MALLOC_OOM, "malloc_oom") X(FREE, "free")                                         \
    X(RESERVE, "reserve") X(UNRESERVE, "unreserve") X(CREATE, "create") X(CREATE_OOM, "create_oom")         \
    X(MAP, "map") X(UNMAP, "unmap") X(RELEASE, "release")                                                   \
    X(HOST_MALLOC, "host_malloc") X(HOST_FREE, "host_free")                                                 \
    X(WAIT_EVENT, "wait_event") X(STREAM_SYNC, "stream_sync") X(DEVICE_SYNC, "device_sync")

#define DEVICE_CALL_ENUM(name, text) DEVICE_CALL_##name,
enum device_call_kind { DEVICE_CALL_LIST(DEVICE_CALL_ENUM) DEVICE_CALL_KINDS };
#undef DEVICE_CALL_ENUM

struct device_call {
    enum device_call_kind kind;
    uint64_t bytes;                  /* as asked for */
    uint64_t addr;                   /* 0 for create, create_oom, malloc_oom and release */
    uint32_t phys;                   /* create, map, release: the handle */
    uint32_t segment;                /* id of the segment or range; 0 if addr is 0 */
    uint64_t offset;                 /* map, unmap: bytes from the range's start to addr */
};

struct device_log {
    void (*call)(void *arg, const struct device_call *c);
    void *arg;
};

struct device_ops {
    uint32_t    abi, size;           /* DEVICE_ABI, sizeof(struct device_ops) */
    const char *name;                /* "sim", "cuda" */
    enum err (*open)(const struct device_config *cfg, struct device **out, struct err_detail *err);
    void     (*close)(struct device *dev);

    /* Whole segments, as by cudaMalloc and cudaFree. Sets addr only. */
    enum err (*segment_alloc)(struct device *dev, uint64_t bytes, uint64_t *addr);
    void     (*segment_free)(struct device *dev, uint64_t addr, uint64_t bytes);

    /* Virtual memory: all six functions or none (NULL). */
    enum err (*range_reserve)(struct device *dev, uint64_t bytes, uint64_t *addr);
    void     (*range_free)(struct device *dev, uint64_t addr, uint64_t bytes);
    enum err (*phys_create)(struct device *dev, uint64_t bytes, uint32_t *phys);     /* numbered from 1, in order */
    void     (*phys_destroy)(struct device *dev, uint32_t phys, uint64_t bytes);
    enum err (*map)(struct device *dev, uint64_t addr, uint64_t bytes, uint32_t phys);
    void     (*unmap)(struct device *dev, uint64_t addr, uint64_t bytes);

    /* The card's measured free and total bytes. NULL: the front functions' count is the truth. */
    void     (*memory_info)(const struct device *dev, uint64_t *free_bytes, uint64_t *total_bytes);

    /* After open, writes what the hardware says into dev->cfg. NULL: everything is known. */
    void     (*settle)(struct device *dev);

    /* Gives the card back all that is still held; after this only close is called. NULL: nothing to do. */
    void     (*give_back)(struct device *dev);
};

struct device {                      /* first member of every device */
    const struct device_ops *ops;
    struct device_config     cfg;
    struct device_usage      usage;
    uint64_t                 growing_calls;
    uint64_t                 refused_bytes;  /* what the last refused call asked for */
    size_t                   n_listed;       /* addresses of cfg.address_list that were handed out */
    struct pages            *shared;         /* pages that small requests share; NULL without packing */
    struct segment_state    *segments;       /* by id */
    uint32_t                 n_segments;     /* entries in use or once used */
    uint32_t                 cap_segments;
    uint32_t                *vacant;         /* stack of ids to reuse */
    uint32_t                 n_vacant, cap_vacant;
    uint32_t                 moved;          /* list of the ranges that gained or lost memory since the meter looked */
    const struct device_log *log;            /* borrowed; NULL: nobody listens */

    /* Of a real device. */
    struct device_measured  *measured;       /* NULL: nothing is measured */
    enum err                 failure;        /* of a call that cannot report it; growing calls report it instead */
    struct err_detail        err;            /* the sentence of the last ERR_DRIVER, UNSUPPORTED or INTERRUPTED */
    bool                     lacks_ranges;   /* the hardware has no virtual memory calls */
    bool                     is_given_back;

    enum device_addresses    opened_with;    /* cfg.addresses, before a list replaced it; LIST: rising after the list */
};

/* Opens a device. The config is copied; what it points to is borrowed. */
MUST_USE enum err device_open(const struct device_ops *ops, const struct device_config *cfg, struct device **out,
                              struct err_detail *err);

/* Gives everything back and frees the device. NULL is accepted. */
void device_close(struct device *dev);

/* Gives a real card its memory back before the device is closed; counts and measurements stay readable. After this the
 * device takes only frees, which do nothing on the card. No effect on a simulated device. */
void device_give_back(struct device *dev);

/* Whether the device takes memory from a card that others see too, so that two devices cannot be used at once. */
bool device_is_real(const struct device_ops *ops);

/* A new segment of `bytes` (> 0). ERR_DEVICE_OOM if it does not fit; ERR_HOST_NOMEM; ERR_DRIVER. */
MUST_USE enum err device_segment_alloc(struct device *dev, uint64_t bytes, struct segment *out);
void device_segment_free(struct device *dev, const struct segment *seg);

/* An address range without memory. ERR_UNSUPPORTED if the device has no virtual memory calls. */
MUST_USE enum err device_range_reserve(struct device *dev, uint64_t bytes, struct segment *out);
void device_range_free(struct device *dev, const struct segment *range);

/* Memory without an address. ERR_DEVICE_OOM. */
MUST_USE enum err device_phys_create(struct device *dev, uint64_t bytes, uint32_t *phys);
void device_phys_destroy(struct device *dev, uint32_t phys, uint64_t bytes);

/* Maps memory to [range->addr + offset, + bytes). Unmap a page before its memory is destroyed. */
MUST_USE enum err device_map(struct device *dev, const struct segment *range, uint64_t offset, uint64_t bytes,
                             uint32_t phys);
void device_unmap(struct device *dev, const struct segment *range, uint64_t offset, uint64_t bytes);

/* The same for memory that is mapped elsewhere and stays so: it then has two addresses. It is counted once, where it
 * was mapped first; the call is charged as each first one is, with making the memory. Unmap all but that one by
 * device_unmap_again, before the memory is destroyed. */
MUST_USE enum err device_map_again(struct device *dev, const struct segment *range, uint64_t offset, uint64_t bytes,
                                   uint32_t phys);
void device_unmap_again(struct device *dev, const struct segment *range, uint64_t offset, uint64_t bytes);

/* Memory that two ranges map counts in `to` from now on, no longer in `from`: in the one under whose addresses it is in
 * use, so that what lies idle beside it is told right. */
void device_count_in(struct device *dev, const struct segment *from, const struct segment *to, uint64_t bytes);

bool device_has_ranges(const struct device *dev);

/* Page-locked memory of the host, as by cudaHostAlloc: a second kind of memory, which a kernel reads over the bus. It
 * is a segment like others, and a request may be placed in it; but it takes nothing of the card, and what is reserved
 * does not count it. Charged as a segment of the card, without an end.
 * ERR_UNSUPPORTED on a real card; ERR_HOST_NOMEM. */
MUST_USE enum err device_host_alloc(struct device *dev, uint64_t bytes, struct segment *out);
void device_host_free(struct device *dev, const struct segment *seg);

/* What an allocator does before it hands memory of one stream to another: it orders the second stream after the first
 * (`wait_event`), or lets the host wait for the stream or for the whole card. Here these calls are only counted, logged
 * and charged: nothing computes on the device's memory. */
void device_wait_event(struct device *dev);
void device_stream_sync(struct device *dev);
void device_sync(struct device *dev);

/* The next addresses that a simulated device hands out, in order; after them its own order goes on, beside them all. No
 * addresses (n 0) end a list. Borrowed until they are used up or replaced. */
void device_list_addresses(struct device *dev, const uint64_t *addresses, size_t n);

/* Starts counts, peaks and times again; what is held stays. */
void device_reset_usage(struct device *dev);

/* What cudaMemGetInfo would say. On a real card with a limit: what is left below the limit, and never more than the
 * card says. */
void device_memory_info(const struct device *dev, uint64_t *free_bytes, uint64_t *total_bytes);

/* Whether `fresh`, which was never called, would have answered all calls to `done` in the same way. If `done` was not
 * called yet either: whether nothing speaks against it. False if that is not certain, for a real card, and if `fresh`
 * has more room. It may have less if `done` refused nothing and all that it held would have fitted. */
bool device_repeats(const struct device *done, const struct device *fresh);

/* From now on other processes hold that much of a simulated card. */
void device_set_others(struct device *dev, uint64_t bytes);

/* Whether two cards have the same memory, of which context and others take the same. */
bool device_is_as_large(const struct device *a, const struct device *b);

/* What nvidia-smi would show for the card, and for this process: page_bytes plus the context, and plus others. */
uint64_t device_card_bytes(const struct device *dev, uint64_t page_bytes);
uint64_t device_process_bytes(const struct device *dev, uint64_t page_bytes);

extern const struct device_ops device_sim;

/* A real card. If opening it fails, `err` says what is missing: the driver, a card, room for a context.
 * ERR_UNSUPPORTED, ERR_DRIVER, ERR_DEVICE_OOM, ERR_HOST_NOMEM. */
extern const struct device_ops device_cuda;

/* "sim", "sim:24GiB", "sim:24GiB,context=450MiB,others=2GiB", "sim:h100-80g", "A100 80GB", "sim:unlimited"; further
 * options: capability=8.6, multiprocessors=84, system=linux|windows|wsl, workspaces=likely|most|none|128MiB,
 * packing=on|off, addresses=linux|rising|first-fit|descending, and call costs (alloc_ns=, ... sync_ns=). `has_total`
 * says whether the text gave a capacity. ERR_USAGE with the place and reason. */
MUST_USE enum err device_parse(const char *text, struct device_config *out, const struct device_ops **ops,
                               bool *has_total, struct err_detail *err);

/* The same, plus "cuda", "cuda:1", "cuda:0,limit=8GiB"; further options: packing= and call costs. `is_real` says
 * which of the two it is, device_sim or device_cuda. A real card has a total. */
MUST_USE enum err device_parse_any(const char *text, struct device_config *out, bool *is_real, bool *has_total,
                                   struct err_detail *err);

/* The card that a program finds: the named one; by size only, a typical one of the given capability, or an H100, with
 * the title "NVIDIA simulated GPU", because libraries ask for the maker. What was typed stands in place of the card's
 * own. */
struct device_model device_found(const struct device_config *cfg);

/* The config of plain "sim": unlimited, packing on, Linux's order of addresses, the default call costs. */
struct device_config device_defaults(void);

/* As a person types it after addresses=; "list" for a list. */
const char *device_addresses_name(enum device_addresses addresses);

#ifdef __cplusplus
}
#endif

#endif
