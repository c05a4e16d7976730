/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The machine that a case runs on: simulated devices that hand out the recorded addresses, one `pytorch` policy on
 * each, and observers of both that note what is compared later.
 */
#ifndef REPLAY_TESTS_GOLDEN_MACHINE_H
#define REPLAY_TESTS_GOLDEN_MACHINE_H

#include "policies/policy.h"
#include "policies/spec.h"
#include "sim/device.h"
#include "sim/stream_queues.h"
#include "tests/golden/case.h"
#include "replay/conform/compare.h"

/* The counters that a case records after its ops, ascending by key, in the order in which a policy visits them. */
#define MACHINE_COLUMNS(X)                                                                              \
    X("active_bytes", "active_bytes.all.current")                                                       \
    X("allocated_bytes", "allocated_bytes.all.current")                                                 \
    X("inactive_split_bytes", "inactive_split_bytes.all.current")                                       \
    X("num_alloc_retries", "num_alloc_retries")                                                         \
    X("num_ooms", "num_ooms")                                                                           \
    X("requested_bytes", "requested_bytes.all.current")                                                 \
    X("reserved_bytes", "reserved_bytes.all.current")                                                   \
    X("segments", "segment.all.current")

enum { MACHINE_N_COLUMNS = 8 };

struct machine_extent {
    uint64_t addr, bytes;
};

/* A private pool, in the order of creation. */
struct machine_pool {
    uint64_t id;                      /* pool or graph as the case numbers them */
    bool     is_graph;
};

struct machine_device {
    struct machine *machine;
    uint32_t        ordinal;
    struct device  *device;
    struct policy  *policy;
    struct device_log log;
    struct policy_observer observer;
    uint64_t       *addresses;        /* recorded, of segments and ranges, in order */
    struct machine_extent *extents;   /* ours, in the same order: their index is the ordinal of a segment */
    size_t          n_extents, cap_extents;
    uint32_t       *handles;          /* by the device's handle: its number over all devices */
    size_t          n_handles;
    json_t         *trace;            /* the policy's records */
};

struct machine {
    const struct golden_case *c;
    struct difference *diff;
    struct policy_spec spec;          /* of the policies; they borrow its texts */
    struct machine_device device[CASE_DEVICES_MAX];
    struct stream_queues *queues;
    struct stream_name *streams;      /* by queue: the shared default stream, then each device's others */
    uint32_t        n_streams;
    uint32_t        first_queue[CASE_DEVICES_MAX];   /* of stream index 1 of a device */
    struct machine_pool pool[CASE_POOLS_MAX + 1];    /* by dense number, from 1 */
    struct pool_name pool_name[CASE_POOLS_MAX + 1];
    uint32_t        n_pools;          /* entries in use, the shared pool included */
    uint32_t        n_pools_made;     /* of them, by ops that ran */
    uint32_t        n_handles;        /* handles made on all devices */
    uint8_t         shown_pool;       /* the only pool that snapshots show; 0: they show all */
    json_t         *device_log;
};

/* Opens devices and policies as the case says. ERR_USAGE or ERR_UNSUPPORTED if the policy refuses the settings:
 * why->text is the reason. Call machine_close also after an error. */
MUST_USE enum err machine_open(const struct golden_case *c, struct difference *diff, struct machine *out,
                               struct err_detail *err);
void machine_close(struct machine *m);

/* The dense number of a stream index of a device; also the number of its queue. */
uint16_t machine_stream(const struct machine *m, uint32_t device, uint32_t index);

/* The dense number of the last pool or graph made under this id; 0 if there is none. */
uint8_t machine_find_pool(const struct machine *m, bool is_graph, uint64_t id);

/* Ordinal and offset of an address among the segments and ranges of a device, [ordinal, offset, address]. */
json_t *machine_place(const struct machine_device *d, uint64_t addr);

/* memory_snapshot(), memory_stats() and the texts of memory_summary(), as the cases write them. */
json_t *machine_segments(const struct machine *m);
json_t *machine_stats(const struct machine_device *d);
json_t *machine_summary(const struct machine_device *d, bool is_abbreviated);

/* The recorded counters of all devices now, in the order of the case's own columns. */
void machine_compare_counters(const struct machine *m, const json_t *want, const char *where);

#endif
