/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The layout of a native trace, for its reader and its writer. traces/FORMAT.md is the specification.
 *
 *     +------+---------+---------+-- ... --+---------------+------+
 *     | head | section | section |         | index section | foot |
 *     +------+---------+---------+-- ... --+---------------+------+
 *      24 B   |                   |                          28 B: offset of the index section
 *             +-----------+-------+---------------+
 *             | name,     | content, compressed,  |
 *             | 20 bytes  | with a checksum       |
 *             +-----------+-----------------------+
 *
 * The name of a section, the head and the foot are skippable zstd frames, and a content is a zstd frame: so the whole
 * file is valid zstd, and every byte belongs to exactly one of these. A section refers only to sections before it, so a
 * file can be read while it is still growing and has no index.
 */
#ifndef REPLAY_TRACES_NATIVE_H
#define REPLAY_TRACES_NATIVE_H

#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    NATIVE_VERSION        = 4,
    NATIVE_VERSION_BEFORE = 2,           /* read as well: the same without columns of bits. The two differ in two bits,
                                          * so that one damaged bit never turns one version into the other */
    NATIVE_HEAD_BYTES     = 24,
    NATIVE_SECTION_BYTES  = 20,          /* of the name of a section */
    NATIVE_FOOT_BYTES     = 28,
    NATIVE_ZSTD_MIN_BYTES = 9,           /* fewest bytes of a compressed content */
#ifdef REPLAY_SMALL_PARTS                /* so that what a fuzzer makes has several sections, and each trace is cheap */
    NATIVE_SECTION_EVENTS = 1 << 10,
    NATIVE_SLOTS_EVERY    = 2,
#else
    NATIVE_SECTION_EVENTS = 1 << 16,     /* most events in a section; most slots in a section of slots */
    NATIVE_SLOTS_EVERY    = 12,          /* event sections from one list of slots to the next */
#endif
    NATIVE_ROWS           = 1 << 12,     /* most rows in any other section */
    NATIVE_LEVEL          = 12,          /* of zstd; fixed, so that the same trace gives the same bytes */
    NATIVE_EVENT_MATCH    = 6,           /* shortest repeat that zstd looks for among events: shorter ones are found
                                          * everywhere in noise, save next to nothing and cost time to read */
    NATIVE_LEVEL_PASSING  = 1,           /* of a trace that is read while it grows */
    NATIVE_LEVEL_MEMORY   = -50,         /* of a trace in memory, which nobody keeps: little more than a copy */
    NATIVE_STREAMS_MAX    = 65535,
    NATIVE_POOLS_MAX      = 255,
    NATIVE_FACTS_MAX      = 1024,        /* most facts by name in one section */
    NATIVE_STACK_MAX      = 4096         /* most stack frames of one stack */
};
#define NATIVE_SKIP_ENDS    UINT32_C(0x184d2a5e)     /* zstd's magic of the head and the foot */
#define NATIVE_SKIP_SECTION UINT32_C(0x184d2a5d)     /* zstd's magic of the name of a section */
#define NATIVE_HEAD_TEXT    "replay trace"           /* 12 bytes each, without terminator */
#define NATIVE_FOOT_TEXT    "replay index"
#define NATIVE_SECTION_MAX  (8 * MIB)                /* most bytes of a section's content, the index apart */
#define NATIVE_TEXT_MAX     (64 * KIB)               /* most bytes of one string, its terminator included */
#define NATIVE_LIVE_MAX     (UINT64_C(1) << 62)      /* most bytes live at once: sums cannot wrap */

/* What a trace may ask for in memory (FORMAT.md, "Memory"). A replay keeps some hundred bytes for each live request,
 * some studies a few for each event, and who reads each stack to its end reads all frames. */
#define NATIVE_MEMORY_FREE  (64 * MIB)               /* whatever the size of its file */
#define NATIVE_FRAMES_MAX   (16 * GIB)               /* of all stacks, which share frames; the writer refuses more */
enum {
    NATIVE_MEMORY_RATIO = 256,                       /* else so many bytes for each of the file */
    NATIVE_MEMORY_LIVE  = 80,
    NATIVE_MEMORY_EVENT = 8,
    NATIVE_MEMORY_FRAME = 8,
    NATIVE_FRAME_TEXT   = 16                         /* one more byte of a frame for so many of its text */
};

/* True if a file of so many bytes may ask for that memory. */
static inline bool native_allows(uint64_t file_bytes, uint64_t memory_bytes)
{
    return memory_bytes <= NATIVE_MEMORY_FREE || memory_bytes / NATIVE_MEMORY_RATIO <= file_bytes;
}

/* What a frame with a text of so many bytes counts for. */
static inline uint64_t native_frame_memory(uint64_t text_bytes)
{
    return NATIVE_MEMORY_FRAME + text_bytes / NATIVE_FRAME_TEXT;
}

/* X(name, tag, what): the order is part of the format. */
#define SECTION_LIST(X)                                                        \
    X(META, "meta", "facts; a later section adds or replaces some")           \
    X(STREAMS, "strm", "streams but the default one")                          \
    X(POOLS, "pool", "pools but the shared one")                               \
    X(START_SEGMENTS, "sseg", "segments before the first event")               \
    X(START_BLOCKS, "sblk", "blocks before the first event")                   \
    X(SIDES, "side", "what was recorded beside the events of the next section")\
    X(EVENTS, "evts", "events by column")                                      \
    X(SLOTS, "slot", "live requests at this place")                            \
    X(SEGMENT_EVENTS, "sevt", "recorded segment events")                       \
    X(CONTROLS, "cmds", "controls")                                            \
    X(STRINGS, "strs", "texts of stack frames and commands")                   \
    X(NODES, "node", "stack frames and who called them")                       \
    X(STACKS, "stck", "stacks, as nodes")                                      \
    X(LABELS, "labl", "texts of marks")                                        \
    X(INDEX, "indx", "totals, and where each section is")

#define SECTION_ENUM(name, tag, what) SECTION_##name,
enum section_kind { SECTION_LIST(SECTION_ENUM) SECTION_KINDS };
#undef SECTION_ENUM

/* The totals at the start of the index, and the flags among them. */
enum { INDEX_TOTALS = 14 };
enum {
    INDEX_STARTS_MID_RUN = 1, INDEX_HAS_SOURCE_NUMBERS = 2, INDEX_HAS_ADDRESSES = 4, INDEX_HAS_SEGMENT_EVENTS = 8,
    INDEX_FLAGS = 15
};

/* One section, as the index lists it. */
struct section {
    uint64_t offset;                     /* of its name in the file */
    uint64_t first;                      /* number of its first row in its kind; SLOTS: of the next event */
    uint32_t packed_bytes;               /* of its compressed content */
    uint32_t rows;
    uint32_t kind;                       /* enum section_kind */
};

#endif
