/*
 * The device interface: what a policy asks memory from, and the numbers every device keeps.
 *
 * Policies call the front functions (device_*), never `ops` itself: capacity, the segment table, usage, the call log
 * and injected failures are handled there once, so a simulated and a real device cannot disagree about them, and a test
 * can make either refuse from the n-th call on. The memory calls are the CUDA driver's own, one for one.
 */
#ifndef REPLAY_SIM_DEVICE_H
#define REPLAY_SIM_DEVICE_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_ABI 2

#define DEVICE_PAGE_BYTES (UINT64_C(2) << 20)    /* the driver hands memory out in pages of 2 MiB */
#define DEVICE_UNLIMITED  UINT64_MAX

struct device;
struct stream_queues;                /* sim/stream_queues.h */
struct cuda_api;                     /* sim/cuda_api.h */
struct device_measured;              /* sim/device_measured.h */

enum device_addresses {
    ADDRESSES_RISING,                /* each above the last, never reused: runs are reproducible */
    ADDRESSES_FIRST_FIT,             /* the lowest gap that fits */
    ADDRESSES_DESCENDING,            /* each below the last, never reused */
    ADDRESSES_LIST,                  /* from `address_list`, in order; then rising above them all */
};

struct device_config {
    uint64_t total_bytes;            /* what the card has; DEVICE_UNLIMITED = no end */
    uint64_t context_bytes;          /* of it, taken by the CUDA context and libraries of this process */
    uint64_t others_bytes;           /* of it, held by other processes */
    uint64_t fail_from_call;         /* tests: growing calls report OOM from the n-th on; 0 = never */
    uint64_t alloc_ns, free_ns;      /* modelled driver time per segment call */
    uint64_t map_ns, unmap_ns;       /* the same per mapping call and page */
    bool     packing;                /* requests of at most 1 MiB share pages */
    enum device_addresses addresses;
    const uint64_t *address_list;    /* ADDRESSES_LIST: borrowed, outlives the device */
    size_t   n_addresses;
    uint64_t base_addr;              /* where addresses start; 0 = the device's own choice */
    struct stream_queues *queues;    /* borrowed; NULL: work on every stream is finished at once */

    /* Of a real device only. What `total_bytes`, `context_bytes` and `others_bytes` are, the card says when it is
     * opened: all of it less what is taken, or less than that with a limit. */
    unsigned ordinal;
    uint64_t limit_bytes;            /* most to take from the card; 0 = what it has free */
    bool     touch;                  /* write to all memory when it is obtained */
    const volatile sig_atomic_t *interrupted;    /* not 0: growing calls fail with ERR_INTERRUPTED; NULL: never */
    const struct cuda_api *cuda;     /* tests: functions in place of the host's libraries; borrowed */
};

/* A piece obtained from the device: whole memory (segment_alloc), or an address range that grows by mapping
 * (range_reserve). `bytes` of a range are its addresses; what is mapped is in the device's table. */
struct segment {
    uint64_t addr, bytes;
    uint32_t id;                     /* index into device.segments; dense, reused after the free */
};

/* The table entry of a segment id. Memory behind it is what the segment can hold now. */
struct segment_state {
    uint64_t addr, bytes;            /* bytes 0: the id is vacant */
    uint64_t mapped_bytes;           /* memory behind it: == bytes for a whole segment */
    uint32_t page;                   /* the shared page it lies in (sim/pages.h), or PAGES_NONE */
    bool     is_range;
};

struct device_usage {
    uint64_t reserved_bytes;         /* asked from the device and not given back: the sum of mapped_bytes */
    uint64_t reserved_peak_bytes;
    uint64_t page_bytes;             /* what the driver's pages hold for it: >= reserved unless pages are shared */
    uint64_t page_peak_bytes;
    uint64_t segments, segments_peak;              /* whole segments now */
    uint64_t ranges;                               /* reserved ranges now */
    uint64_t segment_allocs, segment_frees;        /* calls that succeeded */
    uint64_t maps, unmaps;                         /* pages mapped, unmapped */
    uint64_t refusals;                             /* growing calls refused for lack of memory */
    uint64_t calls;                                /* all calls that reached the device */
    uint64_t time_ns;                              /* modelled; what a real device took is in device.measured */
};

/* X(name, text): the calls as the log names them. */
#define DEVICE_CALL_LIST(X)                                                                                 \
    X(MALLOC, "malloc") X(MALLOC_OOM, "malloc_oom") X(FREE, "free")                                         \
    X(RESERVE, "reserve") X(UNRESERVE, "unreserve") X(CREATE, "create") X(CREATE_OOM, "create_oom")         \
    X(MAP, "map") X(UNMAP, "unmap") X(RELEASE, "release")

#define DEVICE_CALL_ENUM(name, text) DEVICE_CALL_##name,
enum device_call_kind { DEVICE_CALL_LIST(DEVICE_CALL_ENUM) DEVICE_CALL_KINDS };
#undef DEVICE_CALL_ENUM

struct device_call {
    enum device_call_kind kind;
    uint64_t bytes;                  /* as asked for */
    uint64_t addr;                   /* 0 for create, create_oom, malloc_oom and release */
    uint32_t phys;                   /* create, map, release: the handle */
    uint32_t segment;                /* id of the segment or range; 0 where addr is 0 */
    uint64_t offset;                 /* map, unmap: of addr in the range */
};

struct device_log {
    void (*call)(void *arg, const struct device_call *c);
    void *arg;
};

struct device_ops {
    uint32_t    abi, size;           /* DEVICE_ABI, sizeof(struct device_ops) */
    const char *name;                /* "sim", "cuda" */
    enum err (*open)(const struct device_config *cfg, struct device **out, struct err_detail *why);
    void     (*close)(struct device *dev);

    /* Whole segments, as cudaMalloc and cudaFree. Sets addr only. */
    enum err (*segment_alloc)(struct device *dev, uint64_t bytes, uint64_t *addr);
    void     (*segment_free)(struct device *dev, uint64_t addr, uint64_t bytes);

    /* Virtual memory, all six or none (NULL). */
    enum err (*range_reserve)(struct device *dev, uint64_t bytes, uint64_t *addr);
    void     (*range_free)(struct device *dev, uint64_t addr, uint64_t bytes);
    enum err (*phys_create)(struct device *dev, uint64_t bytes, uint32_t *phys);     /* numbered from 1, in order */
    void     (*phys_destroy)(struct device *dev, uint32_t phys, uint64_t bytes);
    enum err (*map)(struct device *dev, uint64_t addr, uint64_t bytes, uint32_t phys);
    void     (*unmap)(struct device *dev, uint64_t addr, uint64_t bytes);

    /* Measured free and total bytes of the card; NULL: the front functions' own count is the truth. */
    void     (*memory_info)(const struct device *dev, uint64_t *free_bytes, uint64_t *total_bytes);

    /* Writes what the hardware says into dev->cfg, behind open. NULL: nothing is left open. */
    void     (*settle)(struct device *dev);

    /* Returns to the card all that is still held. Afterwards only close is called. NULL: there is nothing. */
    void     (*give_back)(struct device *dev);
};

struct device {                      /* first member of every device */
    const struct device_ops *ops;
    struct device_config     cfg;
    struct device_usage      usage;
    uint64_t                 growing_calls;
    size_t                   n_listed;       /* addresses of cfg.address_list that were given */
    struct pages            *shared;         /* pages that small requests share; NULL without packing */
    struct segment_state    *segments;       /* by id */
    uint32_t                 n_segments;     /* entries in use or once used */
    uint32_t                 cap_segments;
    uint32_t                *vacant;         /* stack of ids to reuse */
    uint32_t                 n_vacant, cap_vacant;
    const struct device_log *log;            /* borrowed; NULL: nobody listens */

    /* Of a real device. */
    struct device_measured  *measured;       /* NULL: nothing is measured */
    enum err                 failure;        /* of a call that cannot say so itself: growing calls repeat it */
    struct err_detail        why;            /* the sentence behind the last ERR_DRIVER, UNSUPPORTED, INTERRUPTED */
    bool                     lacks_ranges;   /* the hardware has no virtual memory calls */
    bool                     is_given_back;

    enum device_addresses    opened_with;    /* cfg.addresses, before a list took their place */
};

/* Opens a device. The config is copied; what it points to is borrowed. */
MUST_USE enum err device_open(const struct device_ops *ops, const struct device_config *cfg, struct device **out,
                              struct err_detail *why);

/* Gives everything back. NULL is accepted. */
void device_close(struct device *dev);

/* Returns memory to a real card before the device is closed; what was counted and measured stays to be read. From then
 * on the device takes only frees, which do nothing more on the card. Nothing happens on a simulated one. */
void device_give_back(struct device *dev);

/* Whether memory is taken from a card that others see, so that two devices cannot be used at once. */
bool device_is_real(const struct device_ops *ops);

/* A new segment of `bytes` (> 0). ERR_DEVICE_OOM when it does not fit; ERR_HOST_NOMEM; ERR_DRIVER. */
MUST_USE enum err device_segment_alloc(struct device *dev, uint64_t bytes, struct segment *out);
void device_segment_free(struct device *dev, const struct segment *seg);

/* An address range without memory. ERR_UNSUPPORTED where the device has no virtual memory calls. */
MUST_USE enum err device_range_reserve(struct device *dev, uint64_t bytes, struct segment *out);
void device_range_free(struct device *dev, const struct segment *range);

/* Memory without an address. */
MUST_USE enum err device_phys_create(struct device *dev, uint64_t bytes, uint32_t *phys);
void device_phys_destroy(struct device *dev, uint32_t phys, uint64_t bytes);

/* Puts memory behind [range->addr + offset, + bytes). A page is unmapped before its memory is destroyed. */
MUST_USE enum err device_map(struct device *dev, const struct segment *range, uint64_t offset, uint64_t bytes,
                             uint32_t phys);
void device_unmap(struct device *dev, const struct segment *range, uint64_t offset, uint64_t bytes);

bool device_has_ranges(const struct device *dev);

/* The next addresses that a simulated device gives, in order; after them they rise. Borrowed until they are used up or
 * replaced. */
void device_list_addresses(struct device *dev, const uint64_t *addresses, size_t n);

/* Counts, peaks and times begin anew; what is held stays. */
void device_reset_usage(struct device *dev);

/* What cudaMemGetInfo would say; on a real card what is left below the limit, and never more than it says. */
void device_memory_info(const struct device *dev, uint64_t *free_bytes, uint64_t *total_bytes);

/* Whether `fresh`, which nobody has called, would have answered all calls to `done` in the very same way; where `done`
 * was not called yet, whether nothing speaks against it. False where that is not certain, for a real card, and where
 * `fresh` has more room. It may have less where `done` has refused nothing, and all that it held would have fitted. */
bool device_repeats(const struct device *done, const struct device *fresh);

/* Whether two cards have the same memory, and as much of it is taken by the context and by others. */
bool device_is_as_large(const struct device *a, const struct device *b);

/* What nvidia-smi would show for the card and for this process: page_bytes, the context and others. */
uint64_t device_card_bytes(const struct device *dev, uint64_t page_bytes);
uint64_t device_process_bytes(const struct device *dev, uint64_t page_bytes);

extern const struct device_ops device_sim;

/* A real card. Opening it says in `why` what is missing: the driver, a card, room for a context. ERR_UNSUPPORTED,
 * ERR_DRIVER, ERR_DEVICE_OOM, ERR_HOST_NOMEM. */
extern const struct device_ops device_cuda;

/* "sim", "sim:24GiB", "sim:24GiB,context=450MiB,others=2GiB", "sim:h100-80g", "sim:unlimited"; further options:
 * packing=on|off, addresses=rising|first-fit|descending, alloc_ns=, free_ns=, map_ns=, unmap_ns=. `has_total` says
 * whether the text gave a capacity. ERR_USAGE with the place and reason. */
MUST_USE enum err device_parse(const char *text, struct device_config *out, const struct device_ops **ops,
                               bool *has_total, struct err_detail *why);

/* The same, and "cuda", "cuda:1", "cuda:0,limit=8GiB"; further options: packing=, alloc_ns=, free_ns=, map_ns=,
 * unmap_ns=. `is_real` says which of the two it is, device_sim or device_cuda; a real card has a total. */
MUST_USE enum err device_parse_any(const char *text, struct device_config *out, bool *is_real, bool *has_total,
                                   struct err_detail *why);

/* The config of plain "sim": unlimited, packing on, rising addresses, the default call costs. */
struct device_config device_defaults(void);

/* A card by name, with the memory its driver reports. */
struct device_model {
    const char *name, *title;        /* "h100-80g", "NVIDIA H100 80GB HBM3" */
    uint64_t    total_bytes;
};

/* The i-th of the named cards, ascending by memory; NULL behind the last. */
const struct device_model *device_model_at(size_t i);

/* The smallest named card with at least `bytes`; NULL when none has. */
const struct device_model *device_model_for(uint64_t bytes);

#endif
