/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The journal of one process's CUDA memory calls, as it lies in a file.
 *
 * capture/journal_file.c writes it, in libreplay-record.so on a real card and in libreplay-cudasim.so on a simulated
 * one; import/call_journal_read.c reads it. JOURNAL.md describes it byte by byte: a head, then records of one size, in
 * the order in which they were begun. Integers have the byte order of the machine that wrote them; the head tells
 * which.
 *
 * Old journals stay readable: kinds, spaces and cards are only ever appended.
 */
#ifndef REPLAY_CAPTURE_CALL_JOURNAL_H
#define REPLAY_CAPTURE_CALL_JOURNAL_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_JOURNAL_MAGIC "replay-calls-1\n"           /* with its terminator: 16 bytes */
#define CALL_JOURNAL_ENDING ".calls"                    /* of the file's name: PID.N.calls */

/* A file beside the journals, made before the program starts: a uint64_t, the calls of processes that have no journal,
 * because there was no room for one or it could not be opened. Who looks after the journals makes it. */
#define CALL_UNRECORDED_NAME "unrecorded"

enum {
    CALL_JOURNAL_ORDER = 0x01020304,
    CALL_JOURNAL_VERSION = 1,
    CALL_COMMAND_LINE_BYTES = 176,
    CALL_TEXT_BYTES = 40,
    CALL_NAME_BYTES = CALL_TEXT_BYTES - 1,      /* of an entry point, in NO_EFFECT, REFUSED, MISSING; cut if longer */
    CALL_WHOLE = 1,                   /* call_record.is_whole of a finished record */
    CALL_NO_LINE = UINT8_MAX,         /* call_record.call: no line of record/calls.def */
};

/* Whose calls they are. */
enum call_card {
    CALL_CARD_REAL,                   /* NVIDIA's libraries; time is CLOCK_MONOTONIC */
    CALL_CARD_SIMULATED,              /* cudasim; time is the virtual clock, which starts at 0 */
    CALL_CARDS
};

enum call_kind {
    CALL_NONE,
    CALL_ALLOC,                       /* addr, bytes; written when the call has returned */
    CALL_FREE,                        /* addr; written before the call. Simulated card: bytes as well */
    CALL_OOM,                         /* bytes that were refused; addr = free bytes of the device, 0 = unknown */
    CALL_UNDO,                        /* other = number of the FREE, RELEASE, UNMAP or RESET whose call failed */
    CALL_CREATE,                      /* other = handle of physical memory, bytes */
    CALL_RELEASE,                     /* other = handle; written before the call */
    CALL_RETAIN,                      /* other = handle, which takes one more cuMemRelease; addr = where it is mapped */
    CALL_MAP,                         /* addr, bytes, other = handle */
    CALL_UNMAP,                       /* addr, bytes: one or several whole mappings; written before the call */
    CALL_DEVICE,                      /* a device's first record: bytes = its memory, other = free of it */
    CALL_TEXT,                        /* a part of a text */
    CALL_FRAME,                       /* addr = program counter, other = its text's, stack = its caller's record, + 1 */
    CALL_RESET,                       /* frees all that was allocated on the device; written before the call */
    /* From here on: what only a simulated card knows. */
    CALL_SEGMENT,                     /* a memory pool takes memory from the card: bytes, other = pool */
    CALL_SEGMENT_FREE,                /* it gives some back: bytes, other = pool */
    CALL_PHYSICAL_FREE,               /* nothing holds physical memory any longer: other = handle, bytes */
    CALL_RANGE,                       /* an address range is reserved: addr, bytes */
    CALL_RANGE_FREE,
    CALL_NO_EFFECT,                   /* first call of an entry point that does nothing; a call_text with its name */
    CALL_REFUSED,                     /* first call of an entry point that is not simulated; as NO_EFFECT */
    CALL_MISSING,                     /* an entry point was looked up by name and does not exist; as NO_EFFECT */
    CALL_WORKSPACE,                   /* a library's first question for a workspace: addr = enum workspace_library,
                                       * other = enum device_workspaces, bytes = the size, if it is one for all */
    CALL_WAIT,                        /* the program waits for a stream; other = 1: for all of the device's */
    CALL_ALGORITHM_SEARCH,            /* cuDNN was tried out: the first plan that ran twice with the same operands */
    CALL_EVENT_ASKED,                 /* it was asked whether work was done, for the first time */
    CALL_FRAMEWORK,                   /* the first time that a framework's library asks for memory: other = which
                                       * (capture/call_framework.h) */
    CALL_KINDS
};

enum call_space {
    CALL_SPACE_DEVICE,                /* cudaMalloc and its like */
    CALL_SPACE_POOL,                  /* from a memory pool; other = the pool's handle, 0 = the current one */
    CALL_SPACE_MANAGED,
    CALL_SPACE_HOST,                  /* page-locked host memory */
    CALL_SPACE_PHYSICAL,              /* cuMemCreate */
    CALL_SPACE_ARRAY,                 /* arrays, with and without mipmaps; addr = handle */
    CALL_SPACES
};

struct call_record {
    uint64_t time_ns;                 /* since call_head.start_ns's origin */
    uint64_t addr;
    uint64_t bytes;
    uint64_t stream;                  /* raw handle */
    uint64_t other;
    uint64_t stack;                   /* number of the innermost frame's record, + 1; 0 = none */
    uint32_t thread;                  /* the kernel's number of it */
    int32_t  code;                    /* OOM, UNDO: what the call returned */
    uint8_t  kind;                    /* enum call_kind */
    uint8_t  space;                   /* enum call_space */
    uint8_t  device;
    uint8_t  call;                    /* line of record/calls.def, from 0; or CALL_NO_LINE */
    uint32_t is_whole;                /* CALL_WHOLE; stored last */
};
static_assert(sizeof(struct call_record) == 64, "records are an array in the file");

/* A TEXT, NO_EFFECT, REFUSED or MISSING in the same 64 bytes. */
struct call_text {
    uint64_t before;                  /* number of the record with the part before this one, + 1; 0 = the first part */
    char     text[CALL_TEXT_BYTES];   /* no terminator if it is full */
    uint64_t unused;
    uint8_t  kind;
    uint8_t  padding[3];
    uint32_t is_whole;
};
static_assert(sizeof(struct call_text) == sizeof(struct call_record), "any record may be a text");
static_assert(offsetof(struct call_text, kind) == offsetof(struct call_record, kind), "the kind tells which");
static_assert(offsetof(struct call_text, is_whole) == offsetof(struct call_record, is_whole), "and both are published");

struct call_head {
    char     magic[16];
    uint32_t order;                   /* CALL_JOURNAL_ORDER */
    uint32_t version;
    uint32_t record_bytes, head_bytes;
    uint32_t pid, parent;
    uint64_t start_ns;                /* time of the first call; 0 on a simulated card */
    uint64_t epoch_ns;                /* the wall clock then, since 1970 */
    uint64_t lost;                    /* records without room on the disk, at the end or in between */
    uint64_t has_stacks;
    uint64_t card;                    /* enum call_card */
    char     command_line[CALL_COMMAND_LINE_BYTES];      /* words, each with its terminator; cut if it is longer */
};
static_assert(sizeof(struct call_head) == 256, "records begin at byte 256");
static_assert(offsetof(struct call_head, card) == 72, "0 in the journals of a time without simulated ones");
static_assert(sizeof(struct call_head) % sizeof(struct call_record) == 0, "records are aligned to their size");

#endif
