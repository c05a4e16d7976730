/*
 * The native trace's layout, for its reader and its writer. traces/FORMAT.md is the specification.
 *
 *     head | section | section | ... | index section | foot
 *
 * A section is a 20-byte skippable zstd frame that names it, and a zstd frame with a checksum; head and foot are
 * skippable frames. So the file as a whole is valid zstd, and every byte belongs to exactly one of these. What is there
 * can be read before the index is: all that a section names stands in front of it.
 */
#ifndef REPLAY_TRACES_NATIVE_H
#define REPLAY_TRACES_NATIVE_H

#include "base/units.h"

#include <stdint.h>

enum {
    NATIVE_VERSION        = 4,
    NATIVE_VERSION_BEFORE = 2,           /* is read, too: no column has bits. No changed bit makes one of the other */
    NATIVE_HEAD_BYTES     = 24,
    NATIVE_SECTION_BYTES  = 20,          /* of the frame that names a section */
    NATIVE_FOOT_BYTES     = 28,
    NATIVE_ZSTD_MIN_BYTES = 9,           /* of a section's zstd frame: magic, header, a block, checksum */
    NATIVE_SECTION_EVENTS   = 1 << 16,     /* most events in a section, and slots in a section of slots */
    NATIVE_ROWS           = 1 << 12,     /* most rows in any other section */
    NATIVE_SLOTS_EVERY    = 12,          /* event sections from one list of slots to the next */
    NATIVE_LEVEL          = 12,          /* of zstd; fixed, so that the same trace gives the same bytes */
    NATIVE_EVENT_MATCH    = 6,           /* shortest repeat that zstd looks for among events: in noise it finds shorter
                                          * ones everywhere, which save next to nothing and take their time to read */
    NATIVE_LEVEL_PASSING  = 1,           /* of one that grows while it is read */
    NATIVE_LEVEL_MEMORY   = -50,         /* of one in memory, which nobody keeps: little more than a copy */
    NATIVE_STREAMS_MAX    = 65535,
    NATIVE_POOLS_MAX      = 255,
    NATIVE_FACTS_MAX      = 1024,        /* facts by name in one section */
    NATIVE_STACK_MAX      = 4096         /* frames of one stack */
};
#define NATIVE_SKIP_ENDS    UINT32_C(0x184d2a5e)     /* magic of the skippable frames: head and foot, */
#define NATIVE_SKIP_SECTION UINT32_C(0x184d2a5d)     /* and the one before each section */
#define NATIVE_HEAD_TEXT    "replay trace"           /* 12 bytes each, no terminator */
#define NATIVE_FOOT_TEXT    "replay index"
#define NATIVE_SECTION_MAX  (8 * MIB)                /* most bytes of a section's content, the index apart */
#define NATIVE_TEXT_MAX     (64 * KIB)               /* most bytes of one string, its terminator included */
#define NATIVE_LIVE_MAX     (UINT64_C(1) << 62)      /* most bytes live at once, so that sums cannot wrap */

/* X(name, tag, what): the order is part of the format. */
#define SECTION_LIST(X)                                                        \
    X(META, "meta", "facts; again where some became known later")             \
    X(STREAMS, "strm", "streams but the default one")                          \
    X(POOLS, "pool", "pools but the shared one")                               \
    X(START_SEGMENTS, "sseg", "segments before the first event")               \
    X(START_BLOCKS, "sblk", "blocks before the first event")                   \
    X(SIDES, "side", "what was recorded of the events behind it")              \
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

/* The numbers that the index begins with, and the flags among them. */
enum { INDEX_TOTALS = 14 };
enum {
    INDEX_STARTS_MID_RUN = 1, INDEX_HAS_SOURCE_NUMBERS = 2, INDEX_HAS_ADDRESSES = 4, INDEX_HAS_SEGMENT_EVENTS = 8,
    INDEX_FLAGS = 15
};

/* One section, as the index lists it. */
struct section {
    uint64_t offset;                     /* of its naming frame in the file */
    uint64_t first;                      /* number of its first row among those of its kind; SLOTS: first event */
    uint32_t packed_bytes;               /* of its zstd frame */
    uint32_t rows;
    uint32_t kind;                       /* enum section_kind */
};

#endif
