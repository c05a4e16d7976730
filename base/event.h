/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The values that flow through a replay. An event comes from a trace; a block is a policy's answer to it; a control is
 * one of the rare things that happen to an allocator beside requests and frees.
 */
#ifndef REPLAY_BASE_EVENT_H
#define REPLAY_BASE_EVENT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_ALLOC,             /* a new request; its slot was vacant */
    EVENT_FREE,              /* freed, reusable at once; the slot is vacant again */
    EVENT_FREE_REQUESTED,    /* freed, but a stream may still use the block */
    EVENT_FREE_COMPLETED,    /* no stream uses the block any more; the slot is vacant again */
    EVENT_FLUSH,             /* the program asked the allocator to give cached memory back */
    EVENT_OOM,               /* a request that was refused in the recording; it has no slot and no free */
    EVENT_CONTROL,           /* slot is an index into the trace's table of controls */
    EVENT_MARK,              /* a boundary: step, phase; slot is a label id */
    EVENT_KINDS
};

/* One event as the engine sees it. A trace file holds the same fields by column; decoding an event section yields
 * these. */
struct event {
    uint64_t time_ns;        /* since the first event; never decreases */
    uint64_t bytes;          /* size of the request (> 0), repeated in its free */
    uint32_t slot;           /* number of a live request, < trace_info.peak_live; reused after its free */
    uint16_t stream;         /* dense stream number; 0 is the default stream */
    uint8_t  kind;           /* enum event_kind */
    uint8_t  pool;           /* dense private-pool number; 0 is the shared pool */
};
static_assert(sizeof(struct event) == 24, "an event has three words");

/* Where a policy put a request. The engine keeps one per slot and hands it back on free. */
struct block {
    uint64_t addr;           /* device address of the first byte */
    uint64_t bytes;          /* >= the request; 0 in the engine's table: it was refused */
    uint32_t segment;        /* id of the segment that holds [addr, addr + bytes) */
    uint32_t cookie;         /* the policy's own index; the engine never looks at it */
};

/* What the dense numbers of streams and pools stand for in the recorded program. Entry 0 of each is the default. */
struct stream_name {
    uint64_t handle;         /* raw handle; PyTorch gives segments back in the order of handles */
    uint64_t number;         /* PyTorch's own stream number; PyTorch polls streams in this order */
};
struct pool_name {
    uint64_t id[2];          /* {0, n}: n-th pool of the user; {n, 0}: n-th graph capture's */
};

/* X(name, text, meaning): the kinds of control. The order is part of the trace format. */
#define CONTROL_LIST(X)                                                                                     \
    X(SETTINGS, "settings", "new settings text, as PYTORCH_CUDA_ALLOC_CONF (text)")                         \
    X(FRACTION, "fraction", "new per-process memory fraction (number)")                                     \
    X(RESET_PEAK, "reset-peak", "peaks become the current values")                                          \
    X(RESET_ACCUMULATED, "reset-accumulated", "accumulated counts become zero")                             \
    X(USE, "use", "another stream uses the request in slot (slot, stream)")                                 \
    X(POOL_CREATE, "pool-create", "a private pool is made (pool, flags)")                                   \
    X(POOL_ENTER, "pool-enter", "requests of this thread go to the pool (pool)")                            \
    X(POOL_LEAVE, "pool-leave", "they no longer do (pool)")                                                 \
    X(POOL_DROP, "pool-drop", "the program gives the pool up (pool)")                                       \
    X(CAPTURE_BEGIN, "capture-begin", "a graph capture on a stream, into a pool (pool, stream)")            \
    X(CAPTURE_END, "capture-end", "the capture ends (pool)")                                                \
    X(GRAPH_RESET, "graph-reset", "the graph that owns the pool is gone (pool)")                            \
    X(SNAPSHOT, "snapshot", "the program took a snapshot")                                                  \
    X(THREAD, "thread", "another thread makes the requests that follow (number)")                           \
    X(WAIT, "wait", "the program waits for a stream (stream), or for all of them (number 1)")

#define CONTROL_ENUM(name, text, meaning) CONTROL_##name,
enum control_kind { CONTROL_LIST(CONTROL_ENUM) CONTROL_KINDS };
#undef CONTROL_ENUM

/* "settings", "pool-enter": as CONTROL_LIST has it. */
static inline const char *control_text(enum control_kind kind)
{
    static const char *const texts[] = {
#define CONTROL_WORD(name, text, meaning) text,
        CONTROL_LIST(CONTROL_WORD)
#undef CONTROL_WORD
    };
    return texts[kind];
}

enum pool_flags { POOL_NO_SPLIT = 1, POOL_USE_ON_OOM = 2 };

/* One control; members that its kind does not name are zero. */
struct control {
    uint8_t     kind;        /* enum control_kind */
    uint8_t     pool;
    uint16_t    stream;
    uint32_t    slot;
    uint64_t    flags;       /* enum pool_flags */
    double      number;
    const char *text;        /* borrowed; NULL where the kind has none */
};

/* The state before the first event of a trace that starts in mid-run: segments and blocks, each ascending by address.
 * */
#define TRACE_NO_SLOT UINT32_MAX

/* More than any card has: addresses further apart never belong to one reservation, whatever a record says. */
#define TRACE_RANGE_MAX (UINT64_C(16) << 40)

struct trace_segment {
    uint64_t addr, bytes;             /* 0 bytes, ranges only: one begins here, unmapped */
    uint16_t stream;                  /* dense */
    uint8_t  pool;                    /* dense */
    bool     is_small;
    bool     is_range;                /* mapped part of an expandable segment */
    bool     is_guessed;              /* the recording does not tell its extent */
};
struct trace_block {
    uint64_t addr, bytes;             /* bytes: size of the block in the recorded allocator; 0 = unknown */
    uint64_t requested;
    uint32_t slot;                    /* TRACE_NO_SLOT for a free block */
    uint32_t segment;                 /* index into the segments; UINT32_MAX: unknown */
    uint16_t stream;
    uint8_t  pool;
    bool     is_pending;              /* its free was requested before the first event */
    bool     is_size_guessed;
};

#endif
