/*
 * The journal of a process's CUDA memory calls, as it lies in a file: written by record/, read by import_calls.c.
 *
 * record/JOURNAL.md describes it byte by byte. A head, then records of one size in the order in which they were begun;
 * integers in the byte order of the machine that wrote it, which the head tells.
 */
#ifndef REPLAY_TRACES_CALL_JOURNAL_H
#define REPLAY_TRACES_CALL_JOURNAL_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_JOURNAL_MAGIC "replay-calls-1\n"           /* with its terminator: 16 bytes */

enum {
    CALL_JOURNAL_ORDER = 0x01020304,
    CALL_JOURNAL_VERSION = 1,
    CALL_JOURNAL_COMMAND = 176,
    CALL_TEXT_BYTES = 40,
    CALL_WHOLE = 1,                   /* call_record.is_whole of a finished record */
};

/* The order of both lists is part of the format: append only. */
enum call_kind {
    CALL_NONE,
    CALL_ALLOC,                       /* addr, bytes; written when the call has returned */
    CALL_FREE,                        /* addr; written before the call */
    CALL_OOM,                         /* bytes; addr = free bytes of the device, 0 = unknown */
    CALL_UNDO,                        /* other = number of the FREE, RELEASE, UNMAP or RESET whose call failed */
    CALL_CREATE,                      /* other = handle of physical memory, bytes */
    CALL_RELEASE,                     /* other = handle; written before the call */
    CALL_RETAIN,                      /* other = handle, which takes one more release; addr = where it is mapped */
    CALL_MAP,                         /* addr, bytes, other = handle */
    CALL_UNMAP,                       /* addr, bytes: one or several whole mappings; written before the call */
    CALL_DEVICE,                      /* a device's first record: bytes = its memory, other = free of it */
    CALL_TEXT,                        /* a part of a text */
    CALL_FRAME,                       /* addr = program counter, other = its text's, stack = its caller's record, + 1 */
    CALL_RESET,                       /* all of the device's memory is released; written before the call */
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
    uint64_t time_ns;                 /* CLOCK_MONOTONIC */
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
    uint8_t  call;                    /* line of record/calls.def, from 0 */
    uint32_t is_whole;                /* CALL_WHOLE; stored last */
};
static_assert(sizeof(struct call_record) == 64, "records are an array in the file");

/* A CALL_TEXT in the same 64 bytes. */
struct call_text {
    uint64_t before;                  /* number of the record with the part before this one, + 1; 0 = the first part */
    char     text[CALL_TEXT_BYTES];   /* without a terminator where it is full */
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
    uint64_t start_ns;                /* CLOCK_MONOTONIC at the first call */
    uint64_t epoch_ns;                /* the wall clock then, since 1970 */
    uint64_t lost;                    /* records for which there was no room on the disk, at the end or in between */
    uint64_t has_stacks;
    uint64_t unused;
    char     command[CALL_JOURNAL_COMMAND];      /* words, each with its terminator; cut where it is long */
};
static_assert(sizeof(struct call_head) == 256, "records begin at byte 256");

#endif
