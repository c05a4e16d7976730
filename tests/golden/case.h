/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A golden case: a program of allocator calls, and what PyTorch's caching allocator answered to each on a simulated
 * device.
 *
 * Cases are JSON, plain or gzip, one per file. The calls are decoded here. The answers stay JSON, because they are only
 * compared.
 */
#ifndef REPLAY_TESTS_GOLDEN_CASE_H
#define REPLAY_TESTS_GOLDEN_CASE_H

#include "base/err.h"
#include "policies/pytorch/pytorch_rules.h"
#include "replay/conform/case_file.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CASE_DEVICES_MAX = 16, CASE_STREAMS_MAX = 4096, CASE_POOLS_MAX = 255 };

/* X(kind, name, arguments). Arguments by letter: i request, p pool or graph, s stream index, n whole number, x number,
 * t text; D device and O options may be left out. */
#define CASE_OPS(X)                                                                                     \
    X(ALLOC, "a", "isnD")                                                                               \
    X(FREE, "f", "i")                                                                                   \
    X(USE, "rs", "is")                                                                                  \
    X(HOLD, "hold", "n")                                                                                \
    X(HOLD_STREAM, "hold_stream", "sn")                                                                 \
    X(COMPLETE, "complete", "sn")                                                                       \
    X(SYNC, "sync", "")                                                                                 \
    X(EMPTY_CACHE, "empty_cache", "")                                                                   \
    X(RESET_PEAK, "reset_peak", "")                                                                     \
    X(RESET_ACCUMULATED, "reset_accumulated", "")                                                       \
    X(SET_FRACTION, "set_fraction", "x")                                                                \
    X(GET_FRACTION, "get_fraction", "")                                                                 \
    X(SET_CONF, "set_conf", "t")                                                                        \
    X(POOL_NEW, "pool_new", "pO")                                                                       \
    X(POOL_BEGIN, "pool_begin", "p")                                                                    \
    X(POOL_END, "pool_end", "p")                                                                        \
    X(POOL_DEL, "pool_del", "p")                                                                        \
    X(CAPTURE_BEGIN, "capture_begin", "ps")                                                             \
    X(CAPTURE_END, "capture_end", "")                                                                   \
    X(GRAPH_RESET, "graph_reset", "p")                                                                  \
    X(SNAPSHOT, "snapshot", "")                                                                         \
    X(STATS, "stats", "")                                                                               \
    X(SUMMARY, "summary", "")

#define CASE_OP(kind, name, arguments) OP_##kind,
enum op_kind { CASE_OPS(CASE_OP) OP_KINDS };
#undef CASE_OP

struct case_op {
    enum op_kind kind;
    uint32_t     slot;            /* ALLOC, FREE, USE: dense number of the request, < n_requests */
    uint32_t     device;          /* of the request; 0 for all others */
    uint32_t     stream;          /* index on that device */
    uint64_t     id;              /* request, pool or graph as the case numbers them */
    uint64_t     number;          /* ALLOC: bytes; HOLD...: on or off; COMPLETE: events */
    double       ratio;           /* SET_FRACTION */
    const char  *text;            /* SET_CONF */
    uint64_t     flags;           /* POOL_NEW: enum pool_flags */
    bool         failed_outside;  /* Python refused the call: it never reached the allocator */
    const json_t *op;             /* as written */
    const json_t *answer;         /* the recorded answer; NULL in a case that ended at start-up */
    const json_t *counters;       /* counters recorded after this op; NULL: not recorded */
};

/* All pointers point into `root`, except `ops` and `streams`, which the case owns. */
struct golden_case {
    json_t      *root;
    const char  *name;
    const char  *torch;               /* "2.15.0+cu132" */
    enum torch_release release;
    int          turned_rule;         /* a row of pytorch_rules.def that the policy has turned round; -1: none */
    const char  *conf;                /* settings text in force at the start; NULL: none */
    bool         is_uncached;         /* caching is switched off */
    bool         is_tensor;           /* requests were made as tensors */
    bool         has_fraction;
    double       fraction;            /* set on every device before the first op */
    uint64_t     device_total_bytes;
    uint64_t     overhead_bytes;      /* of it, taken before the start */
    uint32_t     n_devices;
    const json_t *init_error;         /* [type, text]: the settings were refused; NULL: they were not */
    uint64_t    *streams[CASE_DEVICES_MAX];   /* raw handle by stream index */
    uint32_t     n_streams[CASE_DEVICES_MAX];
    struct case_op *ops;
    size_t       n_ops;
    uint32_t     n_requests;
};

/* Checks one case: every index is in range, each request is made once and freed at most once, after it was
 * made. ERR_FORMAT with the op's number. Close it with case_close. `path` is for messages. */
MUST_USE enum err case_parse(json_t *root, const char *path, struct golden_case *out, struct err_detail *err);

/* case_load and case_parse. */
MUST_USE enum err case_read(const char *path, struct golden_case *out, struct err_detail *err);
void case_close(struct golden_case *c);

/* A recorded field of the case, by name; NULL if it is absent or null. */
const json_t *case_field(const struct golden_case *c, const char *name);

#endif
