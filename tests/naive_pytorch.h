/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A model of PyTorch's caching allocator that is written to be obviously right: a list of blocks, and every question
 * answered by looking at all of them. It shares no code with the policy that it is compared with.
 *
 * It covers requests and frees on several streams, uses by other streams and their events, frees ended by the trace,
 * every option that affects placement, expandable segments, private pools, captures, statistics and records.
 */
#ifndef REPLAY_TESTS_NAIVE_PYTORCH_H
#define REPLAY_TESTS_NAIVE_PYTORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAIVE_UNLIMITED UINT64_MAX

enum { NAIVE_ROUNDUPS = 16, NAIVE_SLOTS = 512, NAIVE_KEY = 96, NAIVE_STREAMS = 24, NAIVE_POOLS = 5 };

/* What a settings text says. Bytes unless a name says otherwise. */
struct naive_settings {
    uint64_t max_split, non_split_rounding, large_segment;
    uint64_t roundup[NAIVE_ROUNDUPS];
    double   gc_threshold;           /* 0: off */
    double   fraction;               /* the option; 1: the whole device */
    bool     is_expandable, throws;
    uint64_t reserve;                /* cap on an expandable reservation; NAIVE_UNLIMITED: none */
};

struct naive_config {
    unsigned        minor;           /* release 2.minor, a measured one */
    uint64_t        total;           /* of the device */
    const uint64_t *addresses;       /* the device hands these out in order; borrowed */
    const uint64_t *stream_handles;  /* by dense stream; borrowed */
    const uint64_t *stream_numbers;  /* PyTorch's own, by dense stream; borrowed */
    unsigned        ordinal;         /* of the device */
    const uint64_t (*pool_ids)[2];   /* by dense pool, ascending by the bytes of their keys; borrowed */
    struct naive_settings settings;
    uint64_t        limit;           /* NAIVE_UNLIMITED: none */
};

/* 'a'lloc, 'f'ree requested, 'c'ompleted, 'S'egment made, 'R'eleased, 'M'apped, 'U'nmapped, 'o'ut of memory. */
struct naive_record {
    char     action;
    unsigned stream, pool;
    uint64_t addr, bytes;
};

struct naive_view {
    uint64_t addr, bytes, requested;
    unsigned stream, pool;
    char     state;                  /* 'f'ree, 'a'llocated, 'p'ending, 'u'nmapped */
    bool     is_small;
    uint64_t page_bytes;             /* 0: its segment is not expandable */
};

struct naive;

struct naive *naive_open(const struct naive_config *cfg);
void naive_close(struct naive *n);

/* False: refused. The slot must be vacant. */
bool naive_alloc(struct naive *n, unsigned slot, unsigned stream, uint64_t bytes, uint64_t *addr);
void naive_free(struct naive *n, unsigned slot);
/* Freed, but still in use until naive_complete, or until the allocator waits for everything. */
void naive_retire(struct naive *n, unsigned slot);
void naive_complete(struct naive *n, unsigned slot);
void naive_flush(struct naive *n);

/* A stream uses the request in the slot; its work is marked done by the calls below. */
void naive_use(struct naive *n, unsigned slot, unsigned stream);
void naive_hold(struct naive *n, unsigned stream, bool is_held);
void naive_finish(struct naive *n, unsigned stream, uint64_t events);

/* Private pools, by dense number from 1. */
void naive_pool_create(struct naive *n, unsigned pool, bool no_split, bool lends);
void naive_pool_enter(struct naive *n, unsigned pool);
void naive_pool_leave(struct naive *n, unsigned pool);
void naive_pool_drop(struct naive *n, unsigned pool);
void naive_capture_begin(struct naive *n, unsigned pool, unsigned stream);
void naive_capture_end(struct naive *n);
void naive_graph_reset(struct naive *n, unsigned pool);

void naive_set(struct naive *n, const struct naive_settings *s);
void naive_set_limit(struct naive *n, uint64_t limit);
void naive_reset_peak(struct naive *n);
void naive_reset_accumulated(struct naive *n);

/* True if the last call did something that PyTorch leaves undefined: the comparison must end before it. */
bool naive_is_undefined(const struct naive *n);

/* What happened since the last call of naive_forget. */
const struct naive_record *naive_records(const struct naive *n, size_t *count);
const unsigned *naive_ended(const struct naive *n, size_t *count);      /* slots of pending frees ended early */
void naive_forget(struct naive *n);

/* The blocks that a snapshot shows, by address; released with free. */
struct naive_view *naive_views(const struct naive *n, size_t *count);

/* Every counter in byte order of its key. */
void naive_stats(const struct naive *n, void (*visit)(void *arg, const char *key, int64_t value), void *arg);

uint64_t naive_device_used(const struct naive *n);

#endif
